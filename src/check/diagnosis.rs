//! The diagnosis of failed recorded cases: on the worst of the judged channels only, since a recorded run may be large
//! and every fault model is computed over what it is compared with.

use rayon::prelude::*;

use super::Truths;
use crate::judge::diagnose::{Case, Effort, Models, by_tensor};
use crate::judge::{budget, quick, scan};

use crate::formula::Form;
use crate::problem::conventions::{self, ComplexOutput, Reads, StateHolds};
use crate::problem::recorded::RecordedOutput;
use crate::problem::{Conventions, InputType, Operand, Problem, Stage, Stages, Weights};
use crate::promise::{Contract, Promise};
use crate::results::{CaseResult, Diagnosis, Verdict};
use crate::tensor::{Named, TensorName};
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
    truths: &Truths,
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
    truth: &ScanTruth<Form>,
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
    truth: &ScanTruth<Form>,
    rows: &[usize],
    failing: &[TensorName],
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
    };
    by_tensor(&case, failing, &Models::compute(form, problem), Effort::default())
}

/// What a recording did not state, and may have meant: its form, its conventions, its arithmetic.
struct Meant {
    name: String,
    what: String,
    form: Form,
    conventions: Conventions,
    stages: Stages,
    /// Whether B and C are exchanged.
    exchanged: bool,
    /// Whether it is tried only where nothing before it explains the failure.
    is_last_resort: bool,
}

/// What may have been meant in place of `form` as `problem` states it, the likeliest first.
fn meant(form: Form, problem: &Problem) -> Vec<Meant> {
    let (stated, input) = (problem.conventions, problem.input);
    let of_stages = |(name, stages): (&str, Stages)| Meant {
        // It allows whatever one stage does.
        is_last_resort: stages == Stages::all(input),
        name: format!("{name}-in-{input}"),
        what: format!("rounded to {input} on the way, which --arithmetic '{stages}' accepts"),
        form,
        conventions: stated,
        stages,
        exchanged: false,
    };
    let alone = Stage::ALL.into_iter().map(|stage| (stage.name(), Stages::alone(stage, input)));
    let stages = alone.chain([("arithmetic", Stages::all(input))]);
    let stages = stages.filter(|_| input != InputType::F32).map(of_stages);
    let naive = problem.delta_softplus.then(|| Meant {
        name: "naive-softplus".to_owned(),
        what: format!(
            "softplus is log(1 + exp(x)) without log1p, which loses the digits of a small Δ; --arithmetic '{}' accepts it",
            Stages::NAIVE_SOFTPLUS
        ),
        form,
        conventions: stated,
        stages: Stages::NAIVE_SOFTPLUS,
        exchanged: false,
        is_last_resort: false,
    });
    let before = Conventions { reads: Reads::BeforeUpdate, ..stated };
    let alone = Conventions { state: StateHolds::InputAlone, ..stated };
    let once = Conventions { output: ComplexOutput::RealPart, ..stated };
    let of_conventions = |(conventions, (key, value)): (Conventions, (&str, &str))| {
        let fits = match key {
            conventions::STATE => problem.b_operand == Operand::Constant,
            conventions::OUTPUT => problem.weights == Weights::Complex,
            _ => true,
        };
        (fits && conventions != stated).then(|| Meant {
            name: format!("{}-{value}", key.replace('_', "-")),
            what: format!("it is the form, but for what the metadata {key} = {value} states"),
            form,
            conventions,
            stages: Stages::NONE,
            exchanged: false,
            is_last_resort: false,
        })
    };
    let statements = [before, alone, once].map(|c| (c, c.statements()));
    let statements = statements.into_iter().zip([0, 2, 1]).map(|((c, all), at)| (c, all[at]));
    let others = Form::all().filter(|other| *other != form && before != stated).map(|other| Meant {
        name: format!("runs-as-{other} + reads-before-update"),
        what: format!(
            "it computes {other}, and reads states before their update (metadata reads = before-update)"
        ),
        form: other,
        conventions: before,
        stages: Stages::NONE,
        exchanged: false,
        is_last_resort: true,
    });
    let exchanged = (problem.b_operand == problem.c_operand).then(|| Meant {
        name: "b-and-c-exchanged".to_owned(),
        what: "it is the form for C in the place of B and B in the place of C".to_owned(),
        form,
        conventions: stated,
        stages: Stages::NONE,
        exchanged: true,
        is_last_resort: false,
    });
    naive
        .into_iter()
        .chain(exchanged)
        .chain(stages)
        .chain(statements.filter_map(of_conventions))
        .chain(others)
        .collect()
}

/// Names what explains a failure that nothing else does: with it stated, every element of these channels is within its
/// bound.
pub fn name_what_was_meant(
    problem: &mut Problem,
    channels: &[(usize, usize)],
    output: &RecordedOutput,
    case: &mut CaseResult,
) {
    let unexplained: Vec<TensorName> =
        scan::failing(case).into_iter().filter(|name| case.tensors[*name].diagnosis.is_empty()).collect();
    if case.verdict != Verdict::Fail || unexplained.is_empty() {
        return;
    }
    let stated = problem.conventions;
    let contract = Promise::RECORDED.contract;
    let fails = |&&at: &&(usize, usize)| {
        let tallies = quick::judge((case.method, &contract), problem, at, &output.tensors);
        unexplained.iter().any(|name| tallies[*name].failed > 0)
    };
    let Some(&failing) = channels.par_iter().find_any(fails) else { return };
    let mut found: Named<Vec<Diagnosis>> = Named::default();
    let exchange = |problem: &mut Problem, exchanged: bool| {
        if exchanged {
            std::mem::swap(&mut problem.b, &mut problem.c);
        }
    };
    for Meant { name, what, form, conventions, stages, exchanged, is_last_resort } in
        meant(case.method, problem)
    {
        problem.conventions = conventions;
        exchange(problem, exchanged);
        let contract = Promise::recorded(stages).contract;
        // Of each tensor the largest share of a bound, where all of it is within its bounds.
        let of_channel = |&at: &(usize, usize)| -> Named<Option<f64>> {
            let tallies = quick::judge((form, &contract), &*problem, at, &output.tensors);
            tallies.map(|_, tally| (tally.passed == tally.elements()).then_some(tally.share))
        };
        let both = |one: &Named<Option<f64>>, other: &Named<Option<f64>>| {
            let most = |(name, one, other): (_, &Option<f64>, &Option<f64>)| {
                (name, one.zip(*other).map(|(one, other)| one.max(other)))
            };
            one.zip(other).map(most).collect::<Named<Option<f64>>>()
        };
        // Nearly all are refuted by a channel that fails.
        let mut shares = of_channel(&failing);
        if shares.values().any(Option::is_some) {
            let others = channels.par_iter().map(of_channel).reduce_with(|one, other| both(&one, &other));
            shares = others.map_or_else(|| shares.clone(), |others| both(&shares, &others));
        }
        exchange(problem, exchanged);
        // Another form, or another arithmetic throughout, has to fit everything.
        if is_last_resort && shares.values().any(Option::is_none) {
            continue;
        }
        for &tensor in &unexplained {
            let known = found.get(tensor).is_some();
            let Some(residual) = shares[tensor].filter(|_| !(is_last_resort && known)) else { continue };
            let diagnosis = Diagnosis { name: name.clone(), what: what.clone(), residual };
            match found.get_mut(tensor) {
                Some(diagnoses) => diagnoses.push(diagnosis),
                None => found.insert(tensor, vec![diagnosis]),
            }
        }
    }
    problem.conventions = stated;
    for (_, diagnoses) in found.iter_mut() {
        diagnoses.sort_by(|one, other| one.residual.total_cmp(&other.residual));
    }
    scan::diagnosed(case, found);
}
