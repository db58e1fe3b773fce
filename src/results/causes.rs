//! What is wrong with a method, over all its cases and sweeps: one line for each method and weight type.

use std::collections::{BTreeMap, BTreeSet};

use super::explained;
use super::schema::{CaseResult, Diagnosis, Results, Search};
use super::verdict::Verdict;
use crate::formula::Form;
use crate::problem::Weights;

/// Kinds of what is counted, each apart from the others everywhere.
pub const KINDS: [&str; 3] = ["case", "backward case", "sweep"];

/// A method that fails for some weights.
#[derive(Clone, Debug)]
pub struct Cause<'a> {
    pub method: Form,
    pub weights: Weights,
    /// Those that fail, of how many: of each of [`KINDS`].
    pub failing: [(usize, usize); 3],
    /// What explains failures, each with how many of those that were looked at: one if all agree, the commonest first.
    pub found: Vec<(&'a Diagnosis, usize)>,
    /// Failures that were looked at and have no name.
    pub unexplained: usize,
    /// Why some failure has no output; empty where all have one.
    pub reason: &'a str,
    /// A command that reruns one of the failures.
    pub rerun: &'a str,
}

/// Those that fail, methods in their order.
pub fn of(results: &Results) -> Vec<Cause<'_>> {
    let all = Form::all().flat_map(|method| Weights::ALL.map(|weights| (method, weights)));
    all.filter_map(|(method, weights)| cause(results, method, weights)).collect()
}

fn cause<'a>(results: &'a Results, method: Form, weights: Weights) -> Option<Cause<'a>> {
    let cases: Vec<_> =
        results.cases.iter().filter(|case| case.method == method && case.weights == weights).collect();
    let sweeps: Vec<_> = results
        .coefficients
        .iter()
        .filter(|sweep| method == sweep.method && sweep.weights == weights)
        .collect();
    let failing_cases: Vec<_> = cases.iter().filter(|case| case.verdict == Verdict::Fail).collect();
    let failing_sweeps: Vec<_> = sweeps.iter().filter(|sweep| sweep.verdict == Verdict::Fail).collect();
    let count = |backward: bool| {
        let of_pass = |case: &&&CaseResult| case.is_backward() == backward;
        (failing_cases.iter().copied().filter(of_pass).count(), cases.iter().filter(of_pass).count())
    };
    // Of ordinary cases: the smallest problem shows the least beside the fault.
    let first = failing_cases.iter().min_by_key(|case| case.judged * case.shape.dstate);
    let rerun = first.map(|case| &case.rerun).or(failing_sweeps.first().map(|sweep| &sweep.rerun))?;
    let mut reasons = failing_cases
        .iter()
        .map(|case| &*case.reason)
        .chain(failing_sweeps.iter().map(|sweep| &*sweep.reason));
    // Of a case that fails as another does the first cause alone is known to be the same.
    let diagnosis = |case: &'a CaseResult| -> &'a [Diagnosis] {
        match &case.search {
            Some(Search::As(id)) if case.diagnosis.is_empty() => {
                let like = cases.iter().find(|other| other.id == *id);
                like.and_then(|like| like.diagnosis.get(..1)).unwrap_or_default()
            }
            _ => &case.diagnosis,
        }
    };
    let diagnoses: Vec<&[Diagnosis]> = failing_cases
        .iter()
        .map(|case| diagnosis(case))
        .chain(failing_sweeps.iter().map(|sweep| sweep.diagnosis.as_slice()))
        .filter(|diagnosis| !diagnosis.is_empty())
        .collect();
    // Some failures of a run here are looked at, and all of recordings.
    let chosen: BTreeSet<&str> =
        explained::chosen(&results.cases).into_iter().map(|at| &*results.cases[at].id).collect();
    let looked_at =
        |case: &CaseResult| results.planned.is_none() || chosen.contains(&*case.id) || case.search.is_some();
    let is_unexplained =
        |case: &'a CaseResult| looked_at(case) && case.reason.is_empty() && diagnosis(case).is_empty();
    let unexplained = failing_cases.iter().filter(|case| is_unexplained(case)).count();
    Some(Cause {
        method,
        weights,
        failing: [count(false), count(true), (failing_sweeps.len(), sweeps.len())],
        found: agreed(&diagnoses),
        unexplained,
        reason: reasons.find(|reason| !reason.is_empty()).unwrap_or_default(),
        rerun,
    })
}

/// The first name that every diagnosis has; failing that, the fewest names that each diagnosis has one of, the commonest
/// first. A name that some case refutes is thus given for others only.
fn agreed<'a>(diagnoses: &[&'a [Diagnosis]]) -> Vec<(&'a Diagnosis, usize)> {
    let mut left: Vec<&'a [Diagnosis]> = diagnoses.to_vec();
    let mut found = Vec::new();
    while let Some(&first) = left.first() {
        // One name may say more than one thing: a formula is another in another case.
        let key = |one: &'a Diagnosis| (&*one.name, one.sentence());
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for one in left.iter().flat_map(|one| one.iter()) {
            *counts.entry(key(one)).or_default() += 1;
        }
        // Of names that are as common the one that comes first where it is given.
        let all = left.iter().flat_map(|one| one.iter().enumerate());
        let best = all.max_by(|(i, a), (j, b)| counts[&key(a)].cmp(&counts[&key(b)]).then(j.cmp(i)));
        let (_, best) = best.unwrap_or((0, &first[0]));
        left.retain(|one| !one.iter().any(|other| key(other) == key(best)));
        found.push((best, counts[&key(best)]));
    }
    found
}
