//! Runs a backend over the probes of every invariant. What is compared, and against what, is the judge's
//! ([`crate::judge::invariants`]); here is which problems a kernel has to solve for it.

mod gradients;
mod laws;
mod nan;
mod stored;

use self::laws::Bench;
use super::Request;
use crate::judge::invariants::{Comparison, Invariant};
use crate::kernel::{Backend, KernelError};
use crate::method::Method;
use crate::problem::probe::Probe;
use crate::problem::{InputType, Weights};
use crate::promise::Contract;
use crate::results::{InvariantResult, Verdict, Worst};

/// Every invariant that applies to a method and a weight type and that is asked for, in the order of [`Invariant::ALL`].
pub fn run(
    request: &Request,
    backend: &dyn Backend,
    method: Method,
    weights: Weights,
) -> Vec<InvariantResult> {
    let inputs = match &request.filter.inputs[..] {
        [] => &InputType::ALL[..],
        asked => asked,
    };
    let promise = backend.promise();
    let subject = Subject { backend, contract: promise.contract, seed: request.seed, inputs };
    let applying = Invariant::ALL
        .into_iter()
        .filter(|invariant| invariant.applies(method, weights))
        .filter(|&invariant| request.judges_law(invariant, promise));
    let judged = applying.map(|invariant| {
        let mut result = check(subject, invariant, method, weights);
        result.rerun.push_str(&request.rerun);
        result
    });
    judged.collect()
}

/// What is probed, what it promises of its coefficients, and with which inputs.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub backend: &'a dyn Backend,
    pub contract: Contract,
    pub seed: u64,
    /// Of the laws of stores and of NaN; all others are probed in f32.
    pub inputs: &'a [InputType],
}

/// One invariant of one method of the subject, over every probe that it says something about.
pub fn check(subject: Subject, invariant: Invariant, method: Method, weights: Weights) -> InvariantResult {
    let Subject { backend, seed, .. } = subject;
    let mut result = InvariantResult {
        name: invariant.name().to_owned(),
        what: invariant.what().to_owned(),
        method,
        weights,
        problem: String::new(),
        backend: backend.name().to_owned(),
        verdict: Verdict::Unmeasured,
        reason: "it was probed on nothing".to_owned(),
        judged: 0,
        worst: None,
        seeds: None,
        rerun: format!(
            "holdfast verify --invariants-only --method {method} --weights {weights} --backend {} --seed {seed}",
            backend.name()
        ),
    };
    for &probe in probes(invariant) {
        let checked = Bench::new(subject, method, weights, probe)
            .and_then(|bench| Ok((laws::compare(&bench, invariant)?, bench.describe(invariant))));
        match checked {
            Ok((comparison, problem)) => add(&mut result, &comparison, problem),
            Err(error) => not_run(&mut result, probe.name().to_owned(), &error),
        }
    }
    result
}

/// A probe without an output: a failure stays a failure, and what could not be run is no pass.
fn not_run(result: &mut InvariantResult, problem: String, error: &KernelError) {
    let verdict = crate::case::verdict_of(error);
    if verdict > result.verdict || result.problem.is_empty() {
        (result.problem, result.worst) = (problem, None);
        (result.verdict, result.reason) = (verdict, error.to_string());
    }
}

/// Adds one probe's comparison: the worst element stays, and a failure stays a failure.
fn add(result: &mut InvariantResult, comparison: &Comparison, problem: String) {
    let verdict = comparison.verdict();
    let share = |worst: &Option<Worst>| worst.as_ref().map_or(-1.0, |w| w.share);
    let first = result.problem.is_empty();
    let worse = (verdict, share(&comparison.worst)) > (result.verdict, share(&result.worst));
    result.judged += comparison.judged;
    if first || worse {
        result.problem = problem;
        result.worst = comparison.worst.clone();
        result.verdict = verdict;
        result.reason = match verdict {
            Verdict::Unmeasured => "nothing could be compared: a bound is infinite".to_owned(),
            _ => comparison.broken.clone(),
        };
    }
}

/// Where an invariant is probed: those that concern the sequence also past the edges of chunks.
fn probes(invariant: Invariant) -> &'static [Probe] {
    use Invariant::*;
    match invariant {
        TimeScaleStep | SmallStep | Stability | StoredRounding => &[Probe::Constant],
        GroupIndependence => &[Probe::Grouped],
        Splitting => &[Probe::Carried, Probe::Long],
        ZeroStep => &[Probe::Constant],
        UHomogeneous | UAdditive | Causality | TimeReversal | GradientAdditive | DotProduct
        | GradientCausality | GradientReversal => &[Probe::Grouped, Probe::Constant, Probe::Long],
        _ => &[Probe::Grouped, Probe::Constant],
    }
}
