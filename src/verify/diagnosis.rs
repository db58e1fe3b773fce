//! Which failed cases of a run are diagnosed, and on what: each is solved once more, so that a run without
//! failures keeps nothing for it.

use rayon::prelude::*;

use super::{Request, cost};
use crate::judge::diagnose::{Case, Effort, Models, by_tensor};
use crate::judge::{budget, lost_digits, scan};
use crate::kernel::Backend;
use crate::method::Method;
use crate::problem::Weights;
use crate::problem::plan::Spec;
use crate::results::{CaseResult, Diagnosis, Verdict};
use crate::tensor::Named;
use crate::truth;

/// Cases diagnosed for each method and weight type: those that a report shows first, and the smallest ones of
/// different regimes, which tell most faults apart. A run in which everything fails thus pays for 72.
const WORST: usize = 2;
const SMALLEST: usize = 4;

/// Fills in the diagnosis of a few failed cases of each method and weight type.
pub fn fill(request: &Request, backend: &dyn Backend, specs: &[Spec], cases: &mut [CaseResult]) {
    let mut chosen: Vec<(usize, &Spec)> = Vec::new();
    for &method in &request.methods {
        for weights in Weights::ALL {
            chosen.extend(choose(specs, cases, method, weights));
        }
    }
    let diagnoses: Vec<(usize, Named<Vec<Diagnosis>>)> =
        chosen.into_par_iter().map(|(at, spec)| (at, of_case(request, backend, spec, &cases[at]))).collect();
    for (at, diagnoses) in diagnoses {
        scan::diagnosed(&mut cases[at], diagnoses);
    }
}

/// Indices of the failed cases of one method to diagnose. A kernel that returned nothing has no output to explain.
fn choose<'a>(
    specs: &'a [Spec],
    cases: &[CaseResult],
    method: Method,
    weights: Weights,
) -> Vec<(usize, &'a Spec)> {
    let failed = |case: &CaseResult| {
        case.verdict == Verdict::Fail
            && (case.reason.is_empty() || case.relative.is_some_and(|relative| !relative.passes()))
            && case.method == method
            && case.weights == weights
    };
    let spec_of = |case: &CaseResult| {
        specs.iter().find(|spec| spec.key() == (&case.regime, case.weights, case.input, case.b, case.c))
    };
    let mut failing: Vec<(usize, &Spec)> = cases
        .iter()
        .enumerate()
        .filter(|(_, case)| failed(case))
        .filter_map(|(at, case)| Some((at, spec_of(case)?)))
        .collect();
    let ratio = |at: usize| cases[at].worst.as_ref().map_or(f64::NAN, |worst| worst.ratio);
    failing.sort_by(|a, b| ratio(b.0).total_cmp(&ratio(a.0)));
    let mut chosen: Vec<(usize, &Spec)> = failing.iter().take(WORST).copied().collect();
    failing.sort_by_key(|(_, spec)| cost(spec));
    let mut regimes: Vec<&str> = Vec::new();
    for (at, spec) in failing {
        if regimes.len() < SMALLEST && !regimes.contains(&spec.regime.name.as_str()) {
            regimes.push(&spec.regime.name);
            if chosen.iter().all(|(other, _)| *other != at) {
                chosen.push((at, spec));
            }
        }
    }
    chosen
}

fn of_case(
    request: &Request,
    backend: &dyn Backend,
    spec: &Spec,
    failed: &CaseResult,
) -> Named<Vec<Diagnosis>> {
    let (problem, method) = (spec.draw(request.seed), failed.method);
    let (Ok(truths), Ok(output)) = (truth::scan::solve(&problem, &[method]), backend.scan(method, &problem))
    else {
        return Named::default();
    };
    let promise = backend.promise();
    let case = Case {
        method,
        problem: &problem,
        got: &problem.judged(&output),
        want: &truths[0].tensors,
        budget: &budget::scan(method, &problem, &promise.contract),
    };
    let failing = scan::failing(failed);
    // A lifted run that is judged has a verdict of its own.
    if !promise.lifted_is_judged
        && let Some(Ok(lifted)) = backend.lifted(method, &problem)
        && let Some(lost) = failing
            .iter()
            .map(|&name| lost_digits::diagnose(&case, name, &lifted))
            .collect::<Option<Vec<_>>>()
    {
        return failing.into_iter().zip(lost).map(|(name, lost)| (name, vec![lost])).collect();
    }
    by_tensor(&case, &failing, &Models::of(method, &problem), Effort::default())
}
