//! What a benchmark found: how long kernels took, and what their device can do.

use serde::{Deserialize, Serialize};

use super::verdict::Verdict;
use crate::method::Method;
use crate::operation::Operation;
use crate::problem::{InputType, Shape, Weights};

named! {
    /// What was timed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Work: "work" {
        Forward => "forward": "the scan",
        Backward => "backward": "its gradients",
        Operation => "operation": "a single operation",
        Dense => "dense": "Ā and B̄ of dense systems",
        DenseScan => "dense-scan": "a scan with a dense A",
        DenseBackward => "dense-backward": "its gradients",
        DenseScanConstant => "dense-scan-constant": "a scan with a dense A, and a Δ, B and C for each channel",
        DenseBackwardConstant => "dense-backward-constant": "its gradients",
    }
}

impl Work {
    /// Those of scans with a dense A.
    pub const DENSE_SCANS: [Work; 4] =
        [Work::DenseScan, Work::DenseBackward, Work::DenseScanConstant, Work::DenseBackwardConstant];

    pub fn is_backward(self) -> bool {
        matches!(self, Work::Backward | Work::DenseBackward | Work::DenseBackwardConstant)
    }
}

/// One thing that was timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// `forward/real/f32/b8-d512-n16-l1024/zoh/cuda`, of an operation `operation/exp/cuda`; unique.
    pub id: String,
    pub work: Work,
    pub scan: Option<TimedScan>,
    pub operation: Option<Operation>,
    pub backend: String,
    /// `pass` where it was timed and, if its outputs were judged, these pass.
    pub verdict: Verdict,
    pub reason: String,
    pub cost: Cost,
    /// What an earlier run has used is still in the caches; none where it was not timed.
    pub warm: Option<Spread>,
    /// The caches were flushed before each run; none where there is no flush.
    pub cold: Option<Spread>,
    pub first: Option<f64>,
    pub kernel: Option<KernelUse>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Largest ‖got − Ā‖/‖Ā‖ of the dense systems that were judged, in Frobenius' norm, or that of an output or a gradient of a scan with
    /// them; none of other work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// What a scan was of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedScan {
    pub method: Method,
    pub weights: Weights,
    pub input: InputType,
    pub shape: Shape,
}

/// What one run does at least, whatever the kernel makes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// batch·dim·seqlen of a scan; values of an operation.
    pub elements: f64,
    /// Every input read once and every output written once.
    pub bytes: f64,
    /// Additions, multiplications and quotients of the formula.
    pub flops: f64,
    /// Exponentials, logarithms, sines and cosines of it.
    pub specials: f64,
}

/// What a kernel takes of its device; 0 where there is nothing to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelUse {
    pub blocks: u32,
    /// Of a block.
    pub threads: u32,
    /// Of a thread.
    pub registers: u32,
    /// Bytes of a thread in memory of its own.
    pub local_bytes: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// The share of a multiprocessor's threads that its blocks can fill.
    pub occupancy: f64,
    /// Bytes that the kernel needs beside inputs and outputs.
    pub workspace_bytes: f64,
}

/// How a time spreads over runs, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub samples: usize,
    pub median: f64,
    /// What the median of all runs is in, with a confidence of 95 %; none of fewer than six runs.
    pub interval: Option<[f64; 2]>,
    pub fastest: f64,
    pub slowest: f64,
}

impl Spread {
    /// Of these times in any order; none of none. A time that is no number is left out.
    pub fn of(times: &[f64]) -> Option<Spread> {
        let mut times: Vec<f64> = times.iter().copied().filter(|time| time.is_finite()).collect();
        times.sort_by(f64::total_cmp);
        let (&fastest, &slowest) = (times.first()?, times.last()?);
        let middle = times.len() / 2;
        let median =
            if times.len() % 2 == 1 { times[middle] } else { 0.5 * (times[middle - 1] + times[middle]) };
        let interval = interval_rank(times.len()).map(|rank| [times[rank], times[times.len() - 1 - rank]]);
        Some(Spread { samples: times.len(), median, interval, fastest, slowest })
    }

    /// The interval; where there is none, nothing is known but what was seen.
    pub fn range(&self) -> [f64; 2] {
        self.interval.unwrap_or([self.fastest, self.slowest])
    }
}

/// What the intervals leave out, on both sides together.
const LEFT_OUT: f64 = 0.05;

/// How many of `n` sorted samples lie below the interval, and as many above, in which the median is with a confidence of 95 %: an
/// interval of order statistics, which asks nothing of how times spread (H. A. David, Order Statistics, §7.1). The median is below the
/// sample of rank k (from 0) where at most k of the samples are below it: with the probability P(X ≤ k) of a binomial X with n and ½. So k
/// is the largest with 2 P(X ≤ k) ≤ 5 %; none for n < 6, where 2·2⁻ⁿ is more.
pub fn interval_rank(n: usize) -> Option<usize> {
    let (mut below, mut choose) = (0.0, 0.0);
    let mut rank = None;
    for k in 0..n / 2 {
        // ln of n over k, so that no power of two leaves f64.
        if k > 0 {
            choose += ((n - k + 1) as f64 / k as f64).ln();
        }
        below += (choose - n as f64 * std::f64::consts::LN_2).exp();
        if 2.0 * below > LEFT_OUT {
            break;
        }
        rank = Some(k);
    }
    rank
}

/// What a device did at most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peaks {
    /// Bytes a second that a copy reads and writes together.
    pub copy: f64,
    /// Operations a second of fused multiply-adds, two each.
    pub fused: f64,
    /// Exponentials of base 2 a second.
    pub special: f64,
}

/// A device, as it was when something was timed on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub backend: String,
    pub device: String,
    /// Measured on it; none where that failed.
    pub peaks: Option<Peaks>,
    /// Multiprocessors, or threads of a CPU.
    pub multiprocessors: u32,
    /// Bytes of its last cache; 0 where it is not known.
    pub cache_bytes: u64,
    /// The highest clock in Hz that it states; 0 where it does not.
    pub clock: f64,
    /// Its clock under load, in Hz, before the first and after the last timing; empty where it tells none.
    pub clocks: Vec<f64>,
}

impl Machine {
    /// How much slower the clock was in the end than in the beginning, as a share; none where it is not known.
    pub fn slowed(&self) -> Option<f64> {
        match self.clocks[..] {
            [first, .., last] if first > 0.0 => Some(1.0 - last / first),
            _ => None,
        }
    }
}

/// How fast something ran.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// A second each.
    pub elements: f64,
    pub bytes: f64,
    pub flops: f64,
    /// The time that the device needs at least, over that which it took; none where its peaks are not known.
    pub roofline: Option<f64>,
    /// What takes that time.
    pub bound_by: Option<&'static str>,
}

impl Timed {
    /// How fast it ran, by the median of warm runs.
    pub fn rates(&self, machines: &[Machine]) -> Option<Rates> {
        let time = self.warm?.median;
        let peaks = machines.iter().find(|machine| machine.backend == self.backend).and_then(|m| m.peaks);
        let least = peaks.map(|peaks| self.cost.least_time(&peaks));
        Some(Rates {
            elements: self.cost.elements / time,
            bytes: self.cost.bytes / time,
            flops: self.cost.flops / time,
            roofline: least.map(|(least, _)| least / time),
            bound_by: least.map(|(_, what)| what),
        })
    }

    /// Everything that it shares with those that it is compared with: all but method and backend.
    pub fn group(&self) -> (Work, Option<(Weights, InputType, Shape)>) {
        (self.work, self.scan.map(|scan| (scan.weights, scan.input, scan.shape)))
    }
}

impl Cost {
    /// Seconds that a device needs at least, and for what: where memory, arithmetic and special functions overlap perfectly.
    pub fn least_time(&self, peaks: &Peaks) -> (f64, &'static str) {
        let times = [
            (self.bytes / peaks.copy, "memory"),
            (self.flops / peaks.fused, "arithmetic"),
            (self.specials / peaks.special, "special functions"),
        ];
        times.into_iter().fold((0.0, "memory"), |most, one| if one.0 > most.0 { one } else { most })
    }
}

named! {
    /// What a timing must not fall for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Check: "check" {
        SamePath => "same-path": "every method is timed on the same path: one source file, one launch, the same inputs; none falls back to another implementation",
        Synchronised => "synchronised": "a timing waits for the device: its clock and the host's say the same of a run, while one that does not wait says how long a launch takes",
        WarmUp => "warm-up": "what is timed is warmed up: the first half of the runs takes as long as the second one",
        HostCopies => "host-copies": "no copy between host and device is timed: the tensors lie where the kernel reads them before its time begins",
        Compilation => "compilation": "nothing is compiled while it is timed: each kernel is compiled once, before its first run",
        ScalarInverse => "scalar-inverse": "a diagonal A takes scalar reciprocals: as a matrix's inverse they give the same values and take longer",
        Threads => "threads": "threads are the same for every method, no more than there are processors, and no variable says otherwise",
    }
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    pub check: Check,
    pub backend: String,
    pub verdict: Verdict,
    /// Whether it was left out because that was asked for: its verdict counts for nothing then.
    #[serde(default)]
    pub skipped: bool,
    /// What was measured, or why nothing was.
    pub reason: String,
}

/// How a time grows with one size of the shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    pub size: &'static str,
    pub work: Work,
    pub method: Method,
    pub weights: Weights,
    pub input: InputType,
    pub backend: String,
    /// The size and the median of warm runs, ascending; at least three.
    pub points: Vec<(f64, f64)>,
    /// The time grows as the size to this power: least squares of the logarithms.
    pub exponent: f64,
}

/// How times grow, where three shapes or more differ in one size alone.
pub fn scalings(bench: &[Timed]) -> Vec<Scaling> {
    type Of = fn(&mut Shape) -> &mut usize;
    let sizes: [(&'static str, Of); 4] = [
        ("seqlen", |shape| &mut shape.seqlen),
        ("dim", |shape| &mut shape.dim),
        ("batch", |shape| &mut shape.batch),
        ("dstate", |shape| &mut shape.dstate),
    ];
    let mut found: Vec<Scaling> = Vec::new();
    for (size, of) in sizes {
        let mut begun: Vec<(Shape, Scaling)> = Vec::new();
        for timed in bench {
            let (Some(TimedScan { method, weights, input, shape }), Some(warm)) = (timed.scan, timed.warm)
            else {
                continue;
            };
            let mut others = shape;
            let at = std::mem::take(of(&mut others)) as f64;
            let one = Scaling {
                size,
                work: timed.work,
                method,
                weights,
                input,
                backend: timed.backend.clone(),
                points: Vec::new(),
                exponent: f64::NAN,
            };
            let key = |s: &Scaling| (s.work, s.method, s.weights, s.input, s.backend.clone());
            let place = begun.iter().position(|(rest, known)| *rest == others && key(known) == key(&one));
            let place = place.unwrap_or_else(|| {
                begun.push((others, one));
                begun.len() - 1
            });
            begun[place].1.points.push((at, warm.median));
        }
        for (_, mut scaling) in begun {
            scaling.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            scaling.points.dedup_by_key(|point| point.0);
            if scaling.points.len() >= 3 {
                scaling.exponent = slope(&scaling.points);
                found.push(scaling);
            }
        }
    }
    found
}

/// The slope of the least-squares line through the logarithms.
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let (over, under) = logs.iter().fold((0.0, 0.0), |(over, under), point| {
        (over + (point.0 - x) * (point.1 - y), under + (point.0 - x).powi(2))
    });
    over / under
}
