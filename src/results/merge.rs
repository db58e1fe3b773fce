//! One run made of its parts. A plan is a list of items, each with a stable id; a part has solved some of them and names
//! them all ([`PlanPart`]). Merged, the parts of one plan are the undivided run: the same items in the same order, the same
//! totals, the same matrices, curves and explanations shown.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::explained;
use super::pairs::{PairTotals, PairwiseMatrix, shown};
use super::profile::ErrorProfile;
use super::schema::{CaseResult, Results};
use crate::problem::{InputType, Weights};

/// Which share of a plan a run has solved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanPart {
    /// From 0 on.
    pub index: usize,
    /// How many parts there are.
    pub of: usize,
    /// The ids of all items of the plan, in the order of the undivided run.
    pub plan: Vec<String>,
}

/// The parts do not make up one run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("nothing to merge, expected the parts of a run (hint: name their results)")]
    Nothing,
    #[error("the results are of a whole run, expected one of its parts (hint: there is nothing to merge)")]
    Whole,
    #[error("the parts have other {what}s, {one} and {other}, expected the same (hint: repeat one of them)")]
    Other { what: &'static str, one: String, other: String },
    #[error(
        "part {index} of {of} is there twice, expected each part once (hint: two runs took the same part)"
    )]
    Twice { index: usize, of: usize },
    #[error(
        "{count} of the plan's {all} items are missing, expected all; the first is `{first}` (hint: a part is missing or was cut short)"
    )]
    Missing { count: usize, all: usize, first: String },
    #[error(
        "`{id}` is in no plan, or twice in the parts, expected each planned item once (hint: another version wrote a part)"
    )]
    Unplanned { id: String },
}

/// Merges the parts of one plan, in any order.
///
/// # Errors
/// [`MergeError`], where something is missing, there twice, or of another run.
pub fn merge(parts: Vec<Results>) -> Result<Results, MergeError> {
    let plan = check(&parts)?;
    let position: HashMap<&str, usize> = plan.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
    let mut parts = parts.into_iter();
    let mut whole = parts.next().ok_or(MergeError::Nothing)?;
    let (mut histograms, mut sequences) = (whole.errors.histograms, whole.errors.sequences);
    for part in parts {
        whole.cases.extend(part.cases);
        whole.coefficients.extend(part.coefficients);
        whole.invariants.extend(part.invariants);
        whole.pairwise.extend(part.pairwise);
        whole.sensitivity.extend(part.sensitivity);
        histograms.extend(part.errors.histograms);
        sequences.extend(part.errors.sequences);
        whole.pairs = PairTotals::sum([whole.pairs, part.pairs]);
    }
    let at = |id: &str| position.get(id).copied().unwrap_or(usize::MAX);
    whole.cases.sort_by_key(|case| at(&case.id));
    whole.coefficients.sort_by_key(|sweep| at(&sweep.id()));
    whole.invariants.sort_by_key(|invariant| at(&invariant.id()));
    // Problems in the order of their first cases; what a part shows of a problem lies together.
    let mut problems: HashMap<String, usize> = HashMap::new();
    for (i, case) in whole.cases.iter().enumerate() {
        problems.entry(case.problem()).or_insert(i);
    }
    let order = |problem: &str| problems.get(problem).copied().unwrap_or(usize::MAX);
    whole.sensitivity.sort_by_key(|s| order(&s.problem));
    whole.pairwise.sort_by_key(|matrix| order(&matrix.problem));
    let pairs: Vec<[PairwiseMatrix; 2]> =
        whole.pairwise.chunks_exact(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect();
    whole.pairwise = shown(&pairs);
    sequences.retain(|sequence| {
        longest(&whole.cases, sequence.weights) == problem_of(&whole.cases, &sequence.case)
    });
    sequences.sort_by_key(|sequence| (sequence.weights, at(&sequence.case)));
    whole.errors = ErrorProfile::collect(histograms.iter(), sequences);
    explained::keep_chosen(&mut whole.cases);
    whole.part = None;
    Ok(whole)
}

/// The plan of the parts, which all have the same, and which is complete.
fn check(parts: &[Results]) -> Result<Vec<String>, MergeError> {
    let first = parts.first().ok_or(MergeError::Nothing)?;
    let plan = first.part.as_ref().ok_or(MergeError::Whole)?;
    let mut seen = vec![false; plan.of];
    for part in parts {
        let own = part.part.as_ref().ok_or(MergeError::Whole)?;
        let texts = |results: &Results, part: &PlanPart| {
            [
                ("version", results.version.clone()),
                ("seed", results.seed.to_string()),
                ("backend", results.backend.clone()),
                ("kernel source", results.kernel_source.clone()),
                ("number of part", part.of.to_string()),
                ("plan", format!("one of {} items", part.plan.len())),
            ]
        };
        for ((what, one), (_, other)) in texts(first, plan).into_iter().zip(texts(part, own)) {
            if one != other || what == "plan" && plan.plan != own.plan {
                return Err(MergeError::Other { what, one, other });
            }
        }
        match seen.get_mut(own.index) {
            Some(known) if !*known => *known = true,
            _ => return Err(MergeError::Twice { index: own.index, of: own.of }),
        }
    }
    let mut left: HashMap<&str, usize> = plan.plan.iter().map(|id| (id.as_str(), 1)).collect();
    for id in parts.iter().flat_map(ids) {
        match left.get_mut(id.as_str()) {
            Some(count) if *count == 1 => *count = 0,
            _ => return Err(MergeError::Unplanned { id }),
        }
    }
    let mut missing = plan.plan.iter().filter(|id| left[id.as_str()] == 1);
    let count = missing.clone().count();
    if let Some(first) = missing.next() {
        return Err(MergeError::Missing { count, all: plan.plan.len(), first: first.clone() });
    }
    Ok(plan.plan.clone())
}

/// The ids of everything that a run has solved.
fn ids(results: &Results) -> Vec<String> {
    let cases = results.cases.iter().map(|case| case.id.clone());
    let sweeps = results.coefficients.iter().map(|sweep| sweep.id());
    cases.chain(sweeps).chain(results.invariants.iter().map(|invariant| invariant.id())).collect()
}

fn problem_of(cases: &[CaseResult], id: &str) -> Option<String> {
    cases.iter().find(|case| case.id == id).map(CaseResult::problem)
}

/// The first of the longest f32 problems of a weight type: the one whose errors are shown along the sequence.
fn longest(cases: &[CaseResult], weights: Weights) -> Option<String> {
    let f32_ones = cases.iter().filter(|case| case.weights == weights && case.input == InputType::F32);
    // `max_by_key` takes the last of equals.
    f32_ones.rev().max_by_key(|case| case.shape.seqlen).map(CaseResult::problem)
}
