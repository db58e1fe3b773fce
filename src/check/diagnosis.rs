//! The diagnosis of failed recorded cases: on the worst of the judged channels only, since a recorded run may be large
//! and every fault model is computed over what it is compared with.

use std::collections::BTreeMap;

use crate::judge::budget;
use crate::judge::contract::Contract;
use crate::judge::diagnose::{Case, Effort, Models, diagnose};
use crate::judge::scan::Want;
use crate::method::Method;
use crate::problem::Problem;
use crate::problem::recorded::RecordedOutput;
use crate::results::{CaseResult, Diagnosis, Verdict};
use crate::truth::TruthError;
use crate::truth::scan::ScanTruth;

/// Positions × states that all models together are computed for, over all failed cases of a run, before the next
/// case goes without a diagnosis: some ten seconds on two cores.
const WORK: usize = 2_000_000;

/// The same for one case, unless its worst channel alone is longer.
const CASE: usize = 100_000;

/// Fills in the diagnosis of failed cases, `outputs` and `cases` being in the same order.
pub fn fill(
    problem: &mut Problem,
    outputs: &[RecordedOutput],
    truths: &BTreeMap<Method, Result<ScanTruth, TruthError>>,
    cases: &mut [CaseResult],
) {
    let judged = problem.judged_channels.clone();
    let channel = problem.shape.seqlen.saturating_mul(problem.shape.dstate);
    let mut left = WORK;
    for (output, case) in outputs.iter().zip(cases) {
        let Some(Ok(truth)) = truths.get(&case.method) else { continue };
        let count = (CASE / channel.max(1)).clamp(1, judged.len());
        let work = channel.saturating_mul(count);
        if case.verdict != Verdict::Fail || !case.reason.is_empty() || work > left {
            continue;
        }
        left -= work;
        let rows = worst_rows(problem, output, truth, count);
        problem.judged_channels = rows.iter().map(|&row| judged[row]).collect();
        case.diagnosis = of_rows(problem, output, truth, &rows);
        problem.judged_channels.clone_from(&judged);
    }
}

/// The judged channels with the largest errors in units of their bounds, in their own order.
fn worst_rows(problem: &Problem, output: &RecordedOutput, truth: &ScanTruth, count: usize) -> Vec<usize> {
    let budget = budget::scan(truth.method, problem, &Contract::FRAMEWORK);
    let (seqlen, dstate, width) = (problem.shape.seqlen, problem.shape.dstate, problem.weights.width());
    let mut worst = vec![0.0f64; problem.judged_channels.len()];
    let mut add = |row: usize, got: f64, want: f64, bound: f64| {
        let share = (got - want).abs() / bound;
        worst[row] = worst[row].max(if got.is_nan() { f64::INFINITY } else { share });
    };
    for (i, &got) in problem.judged_sequences(&output.out).iter().enumerate() {
        add(i / seqlen, got, truth.out[i], budget.out[i]);
    }
    let states = output.last_state.as_ref().map(|values| problem.judged_states(values)).unwrap_or_default();
    for (i, &got) in states.iter().enumerate() {
        add(i / (dstate * width), got, truth.last_state[i], budget.last_state[i / width]);
    }
    let mut rows: Vec<usize> = (0..worst.len()).collect();
    rows.sort_by(|&a, &b| worst[b].total_cmp(&worst[a]));
    rows.truncate(count);
    rows.sort_unstable();
    rows
}

/// The diagnosis on `problem`, whose judged channels are those rows of the truth.
fn of_rows(problem: &Problem, output: &RecordedOutput, truth: &ScanTruth, rows: &[usize]) -> Vec<Diagnosis> {
    let method = truth.method;
    let states = problem.shape.dstate * problem.weights.width();
    let chosen = |values: &[f64], len: usize| -> Vec<f64> {
        rows.iter().flat_map(|row| &values[row * len..(row + 1) * len]).copied().collect()
    };
    let last_state = output.last_state.as_ref().map(|values| problem.judged_states(values));
    let case = Case {
        method,
        problem,
        out: &problem.judged_sequences(&output.out),
        last_state: last_state.as_deref(),
        want: Want {
            out: &chosen(&truth.out, problem.shape.seqlen),
            last_state: &chosen(&truth.last_state, states),
        },
        budget: &budget::scan(method, problem, &Contract::FRAMEWORK),
    };
    diagnose(&case, &Models::of(method, problem), Effort::default())
}
