//! Other people's scans beside the kernels: on the same tensors, in turn with them, and judged as recorded runs are.

use std::cell::Cell;
use std::path::PathBuf;
use std::str::FromStr;

use super::runner::{Runner, Scan};
use crate::judge::{budget, scan};
use crate::kernel::KernelError;
use crate::kernel::launch::{Clock, Repeats, Returned, Series, Timing};
use crate::promise::{Contract, Tier};
use crate::results::Verdict;
use crate::tensor::Tensors;
use crate::truth::scan::ScanTruth;

/// A library with the function of `kernels/bench/holdfast_peer.h`, and what it is called here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub name: String,
    pub library: PathBuf,
}

impl FromStr for Peer {
    type Err = String;

    /// `NAME=LIB.so`; the library must be there.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            "NAME=LIB.so, a name of at most 24 letters, digits, hyphens, dots and underscores, and a file that is there".to_owned()
        };
        let (name, library) = text.split_once('=').ok_or_else(expected)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let library = std::fs::canonicalize(library).ok().filter(|library| library.is_file());
        match library {
            Some(library) if !name.is_empty() && name.len() <= 24 && name.chars().all(plain) => {
                Ok(Peer { name: name.to_owned(), library })
            }
            _ => Err(expected()),
        }
    }
}

/// How one of them did: its times, and what its outputs are worth.
pub struct Raced {
    pub series: Series,
    /// Bytes that the kernels need beside inputs and outputs.
    pub workspace: usize,
    pub verdict: Verdict,
    /// The largest share of a bound.
    pub share: Option<f64>,
    /// What is wrong with its outputs; empty where nothing is.
    pub reason: String,
}

/// Times a scan by the kernels and by each peer, in turn, and judges what they computed by the truth of the judged channels.
///
/// # Errors
/// Nothing could be run. That one of them could not is its own error.
pub fn race(
    runner: &Runner,
    scan: Scan,
    truth: &ScanTruth,
    peers: &[Peer],
    repeats: Repeats,
) -> Result<Vec<Result<Raced, KernelError>>, KernelError> {
    let worker = runner.worker().ok_or_else(|| {
        KernelError::Unavailable("peers are timed beside kernels, not beside the reference path".to_owned())
    })?;
    let timing = Timing {
        // Each has as long as it would have alone.
        repeats: Repeats { seconds: repeats.seconds * (1 + peers.len()) as f64, ..repeats },
        clock: Clock::Device,
        flush: runner.flush(),
        collect: true,
        peers: peers.iter().map(|peer| peer.library.clone()).collect(),
    };
    let workspace = Cell::new(0);
    let job = || {
        let job = scan.job();
        workspace.set(job.workspace.bytes());
        job
    };
    let all = worker.race(scan.kernel(), job, &timing)?;
    let jury = Jury { scan, truth, tier: runner.tier(), workspace: workspace.get() };
    Ok(all.into_iter().enumerate().map(|(at, one)| one.map(|one| jury.judged(at, one))).collect())
}

/// What the outputs of those who race are judged by.
pub(super) struct Jury<'a> {
    pub scan: Scan<'a>,
    pub truth: &'a ScanTruth,
    /// Of the kernels, which are the first.
    pub tier: Tier,
    pub workspace: usize,
}

impl Jury<'_> {
    /// How number `at` of them did.
    pub fn judged(&self, at: usize, (series, returned): (Series, Option<Returned>)) -> Raced {
        // The fast tier by its own promise, all else by that of a careful framework.
        let contract =
            if at == 0 && self.tier == Tier::Fast { &Contract::FAST } else { &Contract::FRAMEWORK };
        let outputs = returned.map(|returned| returned.scan(self.scan.problem));
        let (verdict, share, reason) = match outputs {
            Some(outputs) => judge(self.scan, &outputs, self.truth, contract),
            None => (Verdict::Unmeasured, None, "nothing came back".to_owned()),
        };
        Raced { series, workspace: self.workspace, verdict, share, reason }
    }
}

/// The verdict on outputs, and the largest share of a bound.
fn judge(
    of: Scan,
    outputs: &Tensors<f32>,
    truth: &ScanTruth,
    contract: &Contract,
) -> (Verdict, Option<f64>, String) {
    let budget = budget::scan(of.method, of.problem, contract);
    let tensors = scan::judge(of.method, of.problem, outputs, &truth.tensors, &budget);
    let verdict = scan::verdict(&tensors);
    let shares = tensors.values().filter_map(|tensor| Some(tensor.worst.as_ref()?.ratio));
    let share = shares.reduce(|a, b| if b > a || b.is_nan() { b } else { a });
    let reason = match verdict {
        Verdict::Pass => String::new(),
        _ => {
            let said =
                tensors.values().map(|tensor| tensor.reason.as_str()).find(|reason| !reason.is_empty());
            said.unwrap_or("its outputs are beyond their bounds").to_owned()
        }
    };
    (verdict, share, reason)
}
