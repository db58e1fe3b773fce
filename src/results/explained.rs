//! Which failed cases of a run are explained: diagnosing each of them would cost more than the run.

use super::schema::CaseResult;
use super::verdict::Verdict;
use crate::formula::Form;
use crate::problem::Weights;

/// Cases explained for each method and weight type: those that a report shows first, and the smallest ones of
/// different regimes, which tell most faults apart. A run in which everything fails thus pays for 72.
const WORST: usize = 2;
const SMALLEST: usize = 4;

/// Indices of the cases to explain.
pub fn chosen(cases: &[CaseResult]) -> Vec<usize> {
    let all = Form::all().flat_map(|method| Weights::ALL.map(|weights| (method, weights)));
    all.flat_map(|(method, weights)| choose(cases, method, weights)).collect()
}

/// Takes the explanations of all other cases away: parts of a run have each chosen their own.
pub fn keep_chosen(cases: &mut [CaseResult]) {
    let chosen = chosen(cases);
    for (_, case) in cases.iter_mut().enumerate().filter(|(i, _)| !chosen.contains(i)) {
        case.diagnosis.clear();
        case.tensors.iter_mut().for_each(|(_, tensor)| tensor.diagnosis.clear());
    }
}

/// Of the failed cases of one method. A kernel that returned nothing has no output to explain.
fn choose(cases: &[CaseResult], method: Form, weights: Weights) -> Vec<usize> {
    let failed = |case: &CaseResult| {
        case.verdict == Verdict::Fail
            && case.worst.is_some()
            && case.method == method
            && case.weights == weights
    };
    let mut failing: Vec<usize> = (0..cases.len()).filter(|&at| failed(&cases[at])).collect();
    let ratio = |at: usize| cases[at].worst.as_ref().map_or(f64::NAN, |worst| worst.ratio);
    failing.sort_by(|&a, &b| ratio(b).total_cmp(&ratio(a)));
    let mut chosen: Vec<usize> = failing.iter().take(WORST).copied().collect();
    // As long as it takes to solve: positions times states of the judged channels.
    failing.sort_by_key(|&at| cases[at].judged * cases[at].shape.dstate);
    let mut regimes: Vec<&str> = Vec::new();
    for at in failing {
        if regimes.len() < SMALLEST && !regimes.contains(&cases[at].regime.as_str()) {
            regimes.push(&cases[at].regime);
            if !chosen.contains(&at) {
                chosen.push(at);
            }
        }
    }
    chosen
}
