//! Diagnoses the failed cases of a run that are to be explained: each is solved once more, so that a run without
//! failures keeps nothing for it.

use rayon::prelude::*;

use super::{Known, Request};
use crate::judge::diagnose::{Case, Effort, by_tensor};
use crate::judge::{lost_digits, scan};
use crate::kernel::Backend;
use crate::problem::plan::Spec;
use crate::results::{CaseResult, Diagnosis, explained};
use crate::tensor::Named;

/// Fills in the diagnosis of a few failed cases of each method and weight type.
pub fn fill(
    request: &Request,
    known: &Known,
    backend: &dyn Backend,
    specs: &[Spec],
    cases: &mut [CaseResult],
) {
    let spec_of = |case: &CaseResult| {
        specs.iter().find(|spec| spec.key() == (&case.regime, case.weights, case.input, case.b, case.c))
    };
    let diagnoses: Vec<(usize, Named<Vec<Diagnosis>>)> = explained::chosen(cases)
        .into_par_iter()
        .filter_map(|at| Some((at, of_case(request, known, backend, spec_of(&cases[at])?, &cases[at]))))
        .collect();
    for (at, diagnoses) in diagnoses {
        scan::diagnosed(&mut cases[at], diagnoses);
    }
}

fn of_case(
    request: &Request,
    known: &Known,
    backend: &dyn Backend,
    spec: &Spec,
    failed: &CaseResult,
) -> Named<Vec<Diagnosis>> {
    let (problem, Some(method)) = (spec.draw(request.seed), failed.method.method()) else {
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
    by_tensor(&case, &failing, &known.models(method), Effort::default())
}
