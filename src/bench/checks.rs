//! The usual mistakes of benchmarks, tried on this very machine: whether the timings of [`super::plan`] can be believed.
//!
//! Each is a check of its own, by name ([`Check`]); what was measured is its reason. Nothing here times what a report shows.

use std::collections::BTreeSet;

use super::plan::Drawn;
use super::problems;
use super::runner::{Runner, Scan};
use crate::kernel::launch::{Clock, Job, Repeats, Series, Timing};
use crate::kernel::registry::Kernel;
use crate::kernel::{Backend, KernelError, ReferenceBackend};
use crate::method::Method;
use crate::operation::Operation;
use crate::problem::{InputType, Shape, Weights};
use crate::results::Verdict;
use crate::results::bench::{Check, Checked, Spread, Work};

/// How far two times that should be the same may be apart, as a share of one of them; below [`LEAST`] nothing is known.
const APART: f64 = 0.2;
/// Seconds that a host needs to notice that a device is done, and more.
const LEAST: f64 = 50e-6;
/// How far a reciprocal may be off one by a matrix, as a share: a few roundings of f32.
const SAME_VALUE: f64 = 1e-6;

/// What is checked, and on what.
pub struct Checks<'a> {
    pub runners: &'a [Runner],
    pub methods: &'a [Method],
    /// On a problem of this shape, real weights and f32.
    pub shape: Shape,
    pub repeats: Repeats,
    /// Left out, but listed.
    pub skip: &'a [Check],
}

/// Whether a check holds, and what was measured; the error is why nothing could be.
type Outcome = Result<(bool, String), KernelError>;

impl Checks<'_> {
    /// Every check on every runner.
    pub fn run(&self) -> Vec<Checked> {
        let drawn = Drawn::new(self.shape, Weights::Real, InputType::F32);
        let mut all = Vec::new();
        for runner in self.runners {
            for check in Check::ALL {
                let mut checked = Checked {
                    check,
                    backend: runner.name().to_owned(),
                    verdict: Verdict::Unmeasured,
                    skipped: self.skip.contains(&check),
                    reason: "skipped, as was asked for".to_owned(),
                };
                if !checked.skipped {
                    let outcome = self.one(check, runner, &drawn);
                    (checked.verdict, checked.reason) = match outcome {
                        Ok((true, reason)) => (Verdict::Pass, reason),
                        Ok((false, reason)) => (Verdict::Fail, reason),
                        Err(error) => (Verdict::Unmeasured, error.to_string()),
                    };
                }
                all.push(checked);
            }
        }
        all
    }

    fn one(&self, check: Check, runner: &Runner, drawn: &Drawn) -> Outcome {
        match check {
            Check::SamePath => self.same_path(runner, drawn),
            Check::Synchronised => self.synchronised(runner, drawn),
            Check::WarmUp => self.warm_up(runner, drawn),
            Check::HostCopies => self.host_copies(runner, drawn),
            Check::Compilation => self.compilation(runner, drawn),
            Check::ScalarInverse => self.scalar_inverse(runner),
            Check::Threads => Ok(threads(|name| std::env::var(name).ok())),
        }
    }

    /// The first method that was asked for.
    fn scan<'d>(&self, runner: &Runner, drawn: &'d Drawn) -> Scan<'d> {
        drawn.scan(Work::Forward, self.methods.first().copied().unwrap_or(Method::Zoh), runner)
    }

    fn series(&self, runner: &Runner, scan: Scan, clock: Clock) -> Result<Series, KernelError> {
        let timing = Timing { clock, ..Timing::warm(self.repeats) };
        runner.time(scan.kernel(), || scan.job(), &timing).map(|(series, _)| series)
    }

    fn same_path(&self, runner: &Runner, drawn: &Drawn) -> Outcome {
        if runner.worker().is_none() {
            let methods = self.methods.len();
            return Ok((true, format!("{methods} methods by one sequential loop, from the same tensors")));
        }
        let once = Repeats { warmups: 1, samples: 1, ..self.repeats };
        let (mut launches, mut sources) = (BTreeSet::new(), BTreeSet::new());
        for &method in self.methods {
            let scan = drawn.scan(Work::Forward, method, runner);
            let (series, _) = runner.scan(scan, once)?;
            sources.insert(scan.kernel().source());
            launches.extend(series.footprints.iter().map(|f| (f.blocks, f.threads, f.shared_bytes)));
        }
        let said: Vec<String> =
            launches.iter().map(|(b, t, s)| format!("{b} × {t} threads, {s} bytes shared")).collect();
        let sources: Vec<&str> = sources.into_iter().collect();
        let reason = format!(
            "{} methods of {}, from the same tensors, by launches of {}",
            self.methods.len(),
            sources.join(" and "),
            said.join(" and ")
        );
        Ok((sources.len() == 1 && launches.len() == 1, reason))
    }

    fn synchronised(&self, runner: &Runner, drawn: &Drawn) -> Outcome {
        if runner.worker().is_none() {
            return Ok((true, "it runs on the host: a call returns when it is done".to_owned()));
        }
        let median =
            |clock| self.series(runner, self.scan(runner, drawn), clock).map(|series| middle(&series.warm));
        let [device, host, launch] = [median(Clock::Device)?, median(Clock::Host)?, median(Clock::Launch)?];
        let apart = (host - device).abs();
        let reason = format!(
            "{} by the device's clock, {} by the host's; who does not wait measures {}",
            shown(device),
            shown(host),
            shown(launch)
        );
        Ok((apart <= APART * device + LEAST, reason))
    }

    fn warm_up(&self, runner: &Runner, drawn: &Drawn) -> Outcome {
        let (series, _) = runner.scan(self.scan(runner, drawn), self.repeats)?;
        let (first, second) = series.warm.split_at(series.warm.len() / 2);
        let (Some(early), Some(late)) = (Spread::of(first), Spread::of(second)) else {
            return Err(KernelError::Unavailable(format!("{} runs are too few", series.warm.len())));
        };
        let ([early_low, early_high], [late_low, late_high]) = (early.range(), late.range());
        let meet = early_low <= late_high && late_low <= early_high;
        let near = (early.median - late.median).abs() <= 0.1 * late.median + LEAST;
        let reason = format!(
            "{} in the first half of {} runs, {} in the second; the very first took {}",
            shown(early.median),
            series.warm.len(),
            shown(late.median),
            shown(series.first)
        );
        Ok((meet || near, reason))
    }

    fn host_copies(&self, runner: &Runner, drawn: &Drawn) -> Outcome {
        let Some(worker) = runner.worker() else {
            return Ok((true, "its tensors are the host's".to_owned()));
        };
        let scan = self.scan(runner, drawn);
        let alone = middle(&self.series(runner, scan, Clock::Device)?.warm);
        let begun = std::time::Instant::now();
        worker.scan(scan.method, scan.problem)?;
        let whole = begun.elapsed().as_secs_f64();
        let reason = format!(
            "{} for the launches alone, {} with the way of all tensors there and back",
            shown(alone),
            shown(whole)
        );
        Ok((alone < whole, reason))
    }

    fn compilation(&self, runner: &Runner, drawn: &Drawn) -> Outcome {
        let Some(worker) = runner.worker() else {
            return Ok((true, "it was compiled with this program".to_owned()));
        };
        let scan = self.scan(runner, drawn);
        worker.prepare(scan.kernel()).map_err(|error| KernelError::Unavailable(error.to_string()))?;
        let before = worker.statistics();
        let series = self.series(runner, scan, Clock::Device)?;
        let after = worker.statistics();
        let compiled = after.compiled - before.compiled;
        let reason = match worker.info().needs_images {
            true => format!("{compiled} kernels compiled during {} runs", series.warm.len()),
            false => "the kernels were compiled with this program".to_owned(),
        };
        Ok((compiled == 0, reason))
    }

    fn scalar_inverse(&self, runner: &Runner) -> Outcome {
        if runner.worker().is_none() {
            // What the reference path does is a division, and there is no matrix to compare it with.
            let device = ReferenceBackend.device();
            return Ok((true, format!("it divides: {device}")));
        }
        let z = problems::arguments(if runner.is_gpu() { 1 << 20 } else { 1 << 13 });
        let run = |operation| {
            let timing = Timing { collect: true, ..Timing::warm(self.repeats) };
            let timed = runner.time(Kernel::Measure(operation), || Job::operation(operation, &z), &timing);
            timed.map(|(series, returned)| {
                (
                    middle(&series.warm),
                    returned.map(|returned| returned.values().concat()).unwrap_or_default(),
                )
            })
        };
        let (scalar, values) = run(Operation::Inverse)?;
        let (matrix, others) = run(Operation::InverseMatrix)?;
        let apart = values.iter().zip(&others).map(|(a, b)| (a - b).abs() / a.abs()).fold(0.0, f64::max);
        let same = values.len() == z.len() && others.len() == z.len() && apart <= SAME_VALUE;
        let reason = format!(
            "{} by scalars, {} by matrices of 16 states, {} × as long; values at most {apart:.1e} apart",
            shown(scalar),
            shown(matrix),
            (matrix / scalar).round()
        );
        Ok((same && scalar < matrix, reason))
    }
}

/// The variables that set how many threads a library has.
const THREAD_VARIABLES: [&str; 4] =
    ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"];

/// Whether the threads of this process are those of every timing.
pub fn threads(variable: impl Fn(&str) -> Option<String>) -> (bool, String) {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let used = rayon::current_num_threads();
    let set: Vec<(&str, String)> =
        THREAD_VARIABLES.into_iter().filter_map(|name| Some((name, variable(name)?))).collect();
    // Each says the same as the others, and no more than there is.
    let fits = |(_, text): &(&str, String)| {
        text.is_empty() || text.trim().parse::<usize>().is_ok_and(|number| number == used)
    };
    let said: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let said = if said.is_empty() { "no variable says otherwise".to_owned() } else { said.join(", ") };
    (
        used <= processors && set.iter().all(fits),
        format!("{used} threads on {processors} processors for every timing; {said}"),
    )
}

fn middle(times: &[f64]) -> f64 {
    Spread::of(times).map_or(f64::NAN, |spread| spread.median)
}

fn shown(seconds: f64) -> String {
    format!("{:.3} ms", 1e3 * seconds)
}
