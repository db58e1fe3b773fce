//! Diagnoses the failed cases of a run that are to be explained: each is solved once more, so that a run without
//! failures keeps nothing for it.

use rayon::prelude::*;

use super::{Known, Plan};
use crate::case;
use crate::judge::budget::gradient::Pass;
use crate::judge::diagnose::{Case, Searches, Work};
use crate::judge::explain;
use crate::judge::lost_digits;
use crate::kernel::Backend;
use crate::problem::plan::Spec;
use crate::results::explained::{self, Explanations};
use crate::results::{CaseResult, Diagnosis, Results, Search};
use crate::tensor::{ComputedName, Named};

/// What a few failed cases of each method, weight type and pass look like, as far as the searches go; `told` is called after each.
pub fn explain(
    plan: &Plan,
    known: &Known,
    results: &Results,
    (searches, told): (&Searches, &(dyn Fn() + Sync)),
) -> Explanations {
    let of = |at: usize| {
        let case = &results.cases[at];
        let (seed, spec) = (case.shown_seed(results.seed), plan.spec_of(case)?);
        let work = searches.of_case(&[]);
        let explain = if case.is_backward() { of_pass } else { of_case };
        let found = work.as_ref().map(|work| explain((plan.backend(), known), spec, seed, case, work));
        told();
        let search = match &work {
            None => Some(Search::NotBegun(searches.of_all())),
            Some(work) => {
                let is_named = found.iter().flat_map(Named::values).any(|named| !named.is_empty());
                work.is_open(is_named).then(|| Search::Ended(searches.of_each()))
            }
        };
        Some(((case.id.clone(), seed), found, search))
    };
    let mut explanations = Explanations::default();
    let all: Vec<_> = explained::chosen(&results.cases).into_par_iter().filter_map(of).collect();
    for (judged, found, search) in all {
        explanations.searches.extend(search.map(|search| (judged.clone(), search)));
        explanations.cases.extend(found.map(|found| (judged, found)));
    }
    explanations
}

fn of_pass(
    (backend, _): (&dyn Backend, &Known),
    spec: &Spec,
    seed: u64,
    failed: &CaseResult,
    work: &Work,
) -> Named<Vec<Diagnosis>, ComputedName> {
    let problem = spec.draw(seed);
    let given = spec.draw_given(&problem, seed);
    let (Some(method), Some(contract)) = (failed.method.method(), backend.promise().backward) else {
        return Named::default();
    };
    let Some(Ok(got)) = backend.gradients(method, &problem, &given) else { return Named::default() };
    let pass = Pass { form: method.into(), problem: &problem, given: &given, contract: &contract };
    case::diagnose_gradients(pass, &got, &explained::failing_gradients(failed), work).under()
}

fn of_case(
    (backend, known): (&dyn Backend, &Known),
    spec: &Spec,
    seed: u64,
    failed: &CaseResult,
    work: &Work,
) -> Named<Vec<Diagnosis>, ComputedName> {
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
        work,
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
        return failing.into_iter().zip(lost).map(|(name, lost)| (name.into(), vec![lost])).collect();
    }
    let found = explain::explained(&case, &failing);
    if work.is_cut() { Named::default() } else { found.under() }
}
