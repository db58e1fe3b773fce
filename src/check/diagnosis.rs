//! The diagnosis of failed recorded cases: on the worst of the judged channels and a few that pass, which are evidence, too, since a
//! recorded run may be large and every hypothesis is computed over what it is compared with.

use super::meant::Rounded;
use crate::formula::Form;
use crate::judge::budget;
use crate::judge::diagnose::{Case, Work};
use crate::judge::lean::{self, Likeness};
use crate::problem::recorded::RecordedOutput;
use crate::problem::{Problem, Stages};
use crate::promise::{Contract, Promise};
use crate::results::{CaseResult, Diagnosis, explained};
use crate::tensor::{Named, TensorName};
use crate::truth::scan::ScanTruth;

/// Positions × states that each model is computed for, unless the worst channel alone is longer.
const CASE: usize = 100_000;

/// What explains the failing tensors of a case.
pub type Explains = fn(&Case, &[TensorName]) -> Named<Vec<Diagnosis>>;

/// Channels that are looked at, of which one may be one that passes.
const PASSING: usize = 4;

/// Names what explains a case's failing tensors that have no diagnosis, unless the work ends before that is known.
pub fn of_case(
    (problem, contract): (&mut Problem, &Contract),
    output: &RecordedOutput,
    truth: &ScanTruth<Form>,
    (explains, work): (Explains, &Work),
    case: &mut CaseResult,
) {
    let judged = problem.judged_channels.clone();
    let mut failing = explained::failing_outputs(case);
    // A sequence that is looked at alone may keep no last state.
    let is_shown = |name: &TensorName| output.tensors.get(*name).is_some();
    failing.retain(|name| case.tensors[*name].diagnosis.is_empty() && is_shown(name));
    if judged.is_empty() || failing.is_empty() || work.is_over() {
        return;
    }
    let channel = problem.shape.seqlen.saturating_mul(problem.shape.dstate);
    let count = (CASE / channel.max(1)).clamp(1, judged.len());
    // A cause of the channels that are finite may be one of the others, too.
    let mut of_finite: Named<Vec<Diagnosis>> = Named::default();
    for is_finite in [true, false] {
        let (rows, beyond) = worst_rows((problem, contract), output, truth, count, is_finite);
        // Nothing is to be seen of what fails elsewhere, or by all elements together.
        if beyond == 0 {
            continue;
        }
        problem.judged_channels = rows.iter().map(|&row| judged[row]).collect();
        let asking = Work::for_names(of_finite.values().flatten().map(|one| one.name.clone()));
        let asked = if of_finite.is_empty() { work } else { &asking };
        let found = of_rows((problem, contract), output, truth, &rows, &failing, (explains, asked));
        problem.judged_channels = judged.clone();
        if work.is_cut() {
            return;
        }
        let is_named = found.values().any(|found| !found.is_empty());
        match is_named {
            true if is_finite => of_finite = found,
            true => return explained::diagnosed(case, found),
            false => {}
        }
    }
    for one in of_finite.iter_mut().flat_map(|(_, found)| found) {
        one.name += " + not-a-number";
        one.what += "; of the channels that are finite: it does not explain what is no number";
    }
    explained::diagnosed(case, of_finite);
}

/// An output with the truth of its judged channels, where there is one.
pub struct Solved<'a> {
    pub problem: &'a Problem,
    pub contract: &'a Contract,
    pub output: &'a RecordedOutput,
    pub truth: Option<&'a ScanTruth<Form>>,
}

impl Rounded for Solved<'_> {
    /// Half of its elements are beyond their bounds, and so is the first one of half of the channels. Of a fault in what is carried the
    /// first position shows nothing.
    fn is_off_everywhere(&self) -> bool {
        let Solved { problem, contract, output, truth: Some(truth) } = *self else { return true };
        let budget = budget::scan(truth.method, problem, contract);
        let got = problem.judged(&output.tensors);
        let Some(want) = truth.tensors.get(TensorName::Out) else { return false };
        let bounds = &budget.tensors[TensorName::Out].bound;
        let elements = got[TensorName::Out].values.iter().zip(&want.values).zip(bounds);
        let is_off: Vec<bool> = elements.map(|((got, want), bound)| (got - want).abs() > *bound).collect();
        let most = |some: &[bool]| 2 * some.iter().filter(|is_off| **is_off).count() >= some.len();
        let first: Vec<bool> = is_off.iter().copied().step_by(problem.shape.seqlen).collect();
        most(&is_off) && most(&first)
    }

    fn looks_like(&self, stages: Stages) -> Option<Likeness> {
        let Solved { problem, output, truth: Some(truth), .. } = *self else {
            return Some(Likeness::default());
        };
        let contract = Promise::recorded(stages).contract;
        let budget = budget::scan(truth.method, problem, &contract);
        let got = (&problem.judged(&output.tensors), &truth.tensors);
        lean::looks_like(truth.method, problem, &contract, got, &budget)
    }
}

/// The judged channels with the largest errors in units of their bounds, in their own order; and how many have any beyond its
/// bound. What is no number says less than what is: of channels that have such, finite errors count, and a third of the chosen
/// ones are others; or all of them, and none where all are finite, with `is_finite`.
fn worst_rows(
    (problem, contract): (&Problem, &Contract),
    output: &RecordedOutput,
    truth: &ScanTruth<Form>,
    count: usize,
    is_finite: bool,
) -> (Vec<usize>, usize) {
    let budget = budget::scan(truth.method, problem, contract);
    let mut worst = vec![0.0f64; problem.judged_channels.len()];
    let mut has_lost = vec![false; worst.len()];
    let got = problem.judged(&output.tensors);
    for (name, got, want) in got.zip(&truth.tensors) {
        let (bounds, row_len) = (&budget.tensors[name].bound, got.values.len() / worst.len());
        for (i, (&got, exact)) in got.values.iter().zip(&want.values).enumerate() {
            let share = (got - exact).abs() / bounds[i / want.width];
            let row = i / row_len;
            has_lost[row] |= !got.is_finite();
            worst[row] = worst[row].max(if got.is_finite() { share } else { 0.0 });
        }
    }
    let mut rows: Vec<usize> = (0..worst.len()).collect();
    if is_finite {
        let any = has_lost.contains(&true);
        rows.retain(|&row| any && !has_lost[row]);
    }
    let beyond = rows.iter().filter(|&&row| has_lost[row] || worst[row] > 1.0).count();
    rows.sort_by(|&a, &b| worst[b].total_cmp(&worst[a]));
    if rows.len() > count {
        // The right ones stand last.
        let passing = (rows.len() - beyond).min(count / PASSING);
        let kept = count - passing;
        rows.drain(kept..rows.len() - passing);
    }
    let (mut rows, others): (Vec<usize>, Vec<usize>) = rows.into_iter().partition(|&row| has_lost[row]);
    rows.truncate(count - others.len().min(count / 3));
    rows.extend(others);
    rows.truncate(count);
    rows.sort_unstable();
    (rows, beyond)
}

/// The diagnosis on `problem`, whose judged channels are those rows of the truth.
fn of_rows(
    (problem, contract): (&Problem, &Contract),
    output: &RecordedOutput,
    truth: &ScanTruth<Form>,
    rows: &[usize],
    failing: &[TensorName],
    (explains, work): (Explains, &Work),
) -> Named<Vec<Diagnosis>> {
    let form = truth.method;
    let want = truth.tensors.map(|name, tensor| {
        let row_len = tensor.values.len() / tensor.shape[0];
        let chosen = rows.iter().flat_map(|row| &tensor.values[row * row_len..(row + 1) * row_len]);
        problem.judged_tensor(name, chosen.copied().collect())
    });
    let case = Case {
        form,
        problem,
        got: &problem.judged(&output.tensors),
        want: &want,
        budget: &budget::scan(form, problem, contract),
        work,
    };
    explains(&case, failing)
}
