//! Diagnoses the failed cases of a run that are to be explained: each is solved once more, so that a run without
//! failures keeps nothing for it.

use rayon::prelude::*;

use super::{Known, Plan};
use crate::judge::diagnose::{Case, Effort, Work, by_tensor};
use crate::judge::lost_digits;
use crate::kernel::Backend;
use crate::problem::plan::Spec;
use crate::results::explained::{self, Judged};
use crate::results::{CaseResult, Diagnosis, Results};
use crate::tensor::{ComputedName, Named};

/// What a few failed cases of each method and weight type look like.
pub fn explain(
    plan: &Plan,
    known: &Known,
    results: &Results,
) -> Vec<(Judged, Named<Vec<Diagnosis>, ComputedName>)> {
    explained::chosen(&results.cases)
        .into_par_iter()
        .filter_map(|at| {
            let case = &results.cases[at];
            let seed = case.shown_seed(results.seed);
            let diagnoses = of_case(plan.backend(), known, plan.spec_of(case)?, seed, case);
            Some(((case.id.clone(), seed), diagnoses.under()))
        })
        .collect()
}

fn of_case(
    backend: &dyn Backend,
    known: &Known,
    spec: &Spec,
    seed: u64,
    failed: &CaseResult,
) -> Named<Vec<Diagnosis>> {
    let (problem, Some(method)) = (spec.draw(seed), failed.method.method()) else {
        return Named::default();
    };
    let known = known.of(&problem);
    let (Ok(truths), Ok(output)) = (known.truths(&[method]), backend.scan(method, &problem)) else {
        return Named::default();
    };
    let promise = backend.promise();
    let case = Case {
        form: method.into(),
        problem: &problem,
        got: &problem.judged(&output),
        want: &truths[0].tensors,
        budget: &known.budget(method, &promise.contract),
        work: &Work::default(),
    };
    let failing = explained::failing_outputs(failed);
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
    by_tensor(&case, &failing, &known.models(method), Effort::default())
}
