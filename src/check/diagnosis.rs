//! The diagnosis of failed recorded cases: on the worst of the judged channels only, since a recorded run may be large
//! and every fault model is computed over what it is compared with.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use rayon::prelude::*;

use super::every;
use crate::judge::diagnose::{Case, Effort, Models, by_tensor};
use crate::judge::{budget, scan};

use crate::method::Method;
use crate::problem::recorded::{OutputName, RecordError, RecordedOutput, Recording};
use crate::problem::{InputType, Problem, Stage, Stages};
use crate::promise::{Contract, Promise};
use crate::results::{CaseResult, Diagnosis, Verdict};
use crate::tensor::{Named, TensorName};
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
    contract: &Contract,
    cases: &mut [CaseResult],
) {
    let judged = problem.judged_channels.clone();
    if judged.is_empty() {
        return;
    }
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
        let rows = worst_rows((problem, contract), output, truth, count);
        problem.judged_channels = rows.iter().map(|&row| judged[row]).collect();
        let diagnoses = of_rows((problem, contract), output, truth, &rows, &scan::failing(case));
        scan::diagnosed(case, diagnoses);
        problem.judged_channels.clone_from(&judged);
    }
}

/// The judged channels with the largest errors in units of their bounds, in their own order.
fn worst_rows(
    (problem, contract): (&Problem, &Contract),
    output: &RecordedOutput,
    truth: &ScanTruth,
    count: usize,
) -> Vec<usize> {
    let budget = budget::scan(truth.method, problem, contract);
    let mut worst = vec![0.0f64; problem.judged_channels.len()];
    let got = problem.judged(&output.tensors);
    for (name, got, want) in got.zip(&truth.tensors) {
        let (bounds, row_len) = (&budget.tensors[name].bound, got.values.len() / worst.len());
        for (i, (&got, exact)) in got.values.iter().zip(&want.values).enumerate() {
            let share = (got - exact).abs() / bounds[i / want.width];
            let row = &mut worst[i / row_len];
            *row = row.max(if got.is_nan() { f64::INFINITY } else { share });
        }
    }
    let mut rows: Vec<usize> = (0..worst.len()).collect();
    rows.sort_by(|&a, &b| worst[b].total_cmp(&worst[a]));
    rows.truncate(count);
    rows.sort_unstable();
    rows
}

/// The diagnosis on `problem`, whose judged channels are those rows of the truth.
fn of_rows(
    (problem, contract): (&Problem, &Contract),
    output: &RecordedOutput,
    truth: &ScanTruth,
    rows: &[usize],
    failing: &[TensorName],
) -> Named<Vec<Diagnosis>> {
    let method = truth.method;
    let want = truth.tensors.map(|name, tensor| {
        let row_len = tensor.values.len() / tensor.shape[0];
        let chosen = rows.iter().flat_map(|row| &tensor.values[row * row_len..(row + 1) * row_len]);
        problem.judged_tensor(name, chosen.copied().collect())
    });
    let case = Case {
        method,
        problem,
        got: &problem.judged(&output.tensors),
        want: &want,
        budget: &budget::scan(method, problem, contract),
    };
    by_tensor(&case, failing, &Models::compute(method, problem), Effort::default())
}

/// Names the stages whose rounding to the input type explains a failure that nothing else does: with them stated, every
/// element of these rows is within its bound.
///
/// # Errors
/// What cannot be read.
pub fn name_stages<R: Read + Seek + Send>(
    recording: &Recording<R>,
    rows: &[usize],
    output: (&OutputName, &Named<String>),
    case: &mut CaseResult,
) -> Result<(), RecordError> {
    let (failing, input) = (scan::failing(case), recording.layout().input);
    if input == InputType::F32
        || case.verdict != Verdict::Fail
        || failing.is_empty()
        || failing.iter().any(|name| !case.tensors[*name].diagnosis.is_empty())
    {
        return Ok(());
    }
    // None where some element is beyond its bound, or could not be read, which is kept.
    let share = |stages: Stages| {
        let contract = Promise::recorded(stages).contract;
        let of_row = |row: &usize| -> Result<f64, Option<RecordError>> {
            let tallies = every::judge(recording, output, &contract, *row).map_err(Some)?;
            let passes = tallies.values().all(|tally| tally.passed == tally.elements());
            let most = tallies.values().fold(0.0, |most: f64, tally| most.max(tally.share));
            if passes { Ok(most) } else { Err(None) }
        };
        let most = rows.par_iter().map(of_row).try_reduce(|| 0.0, |one, other| Ok(f64::max(one, other)));
        match most {
            Ok(most) => Ok(Some(most)),
            Err(None) => Ok(None),
            Err(Some(error)) => Err(error),
        }
    };
    let alone = Stage::ALL.into_iter().map(|stage| (stage.name(), Stages::alone(stage, input)));
    let named = alone.chain([("arithmetic", Stages::all(input))]);
    let mut diagnoses: Vec<Diagnosis> = Vec::new();
    for (name, stages) in named {
        let Some(residual) = share(stages)? else { continue };
        // All of them together allow whatever one does.
        if name != "arithmetic" || diagnoses.is_empty() {
            let what = format!("rounded to {input} on the way, which --arithmetic '{stages}' accepts");
            diagnoses.push(Diagnosis { name: format!("{name}-in-{input}"), what, residual });
        }
    }
    diagnoses.sort_by(|one, other| one.residual.total_cmp(&other.residual));
    scan::diagnosed(case, failing.into_iter().map(|name| (name, diagnoses.clone())).collect());
    Ok(())
}
