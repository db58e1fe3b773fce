//! The results as a table for query engines, in Parquet: a row for each judged tensor of a case, each coefficient of a sweep and
//! each invariant; of functions that were swept, a row for each function at each sign and exponent; of a benchmark, a row for each
//! timing. The guide's page
//! `results.md` documents every column.
//!
//! The same results make the same bytes. Unlike JSON, a table holds infinities and NaNs; what there is not is null.

mod columns;

use std::borrow::Cow;

use self::columns::Column::{Flag, Float, List, Text, Unsigned, Whole};
use self::columns::{Named, table};
use super::ReportError;
use super::failures::Failure;
use super::write::{FUNCTIONS, TIMINGS, file_name};
use crate::results::bench::{Spread, Timed};
use crate::results::functions::FunctionRange;
use crate::results::{
    CaseResult, CoefficientResult, Conclusion, Diagnosis, InvariantResult, Lifting, OfSeeds, Results,
    TensorResult, Verdict, Worst,
};
use crate::tensor::ComputedName;

/// The table of these results, as a file's content.
pub fn to_bytes(results: &Results) -> Result<Vec<u8>, ReportError> {
    Ok(match file_name(results) {
        FUNCTIONS => {
            let rows = results.functions.iter().map(|range| RangeRow { run: results, range });
            table("functions", &function_columns(), rows)?
        }
        TIMINGS => {
            let rows = results.bench.iter().map(|timed| TimingRow { run: results, timed });
            table("timings", &timing_columns(), rows)?
        }
        _ => table("tensors", &tensor_columns(), tensor_rows(results))?,
    })
}

/// What was judged of one tensor.
struct TensorRow<'a> {
    run: &'a Results,
    kind: &'static str,
    id: Cow<'a, str>,
    /// Of a sweep and of an invariant its name.
    regime: &'a str,
    of: Failure<'a>,
    backend: &'a str,
    case: Option<&'a CaseResult>,
    /// Of an invariant: of the worst element.
    problem: Option<&'a str>,
    tensor: Option<&'a str>,
    verdict: Verdict,
    reason: &'a str,
    /// Elements compared.
    judged: usize,
    /// Of a case's tensor alone.
    found: Option<&'a TensorResult>,
    worst: Option<&'a Worst>,
    diagnosis: &'a [Diagnosis],
    /// Of the whole case, sweep or invariant.
    whole: Verdict,
    lifted: Option<&'a Lifting>,
    seeds: Option<&'a OfSeeds>,
}

fn tensor_rows(run: &Results) -> impl Iterator<Item = TensorRow<'_>> {
    let cases = run.cases.iter().flat_map(move |case| of_case(run, case));
    let sweeps = run.coefficients.iter().flat_map(move |sweep| of_sweep(run, sweep));
    cases.chain(sweeps).chain(run.invariants.iter().map(move |law| of_invariant(run, law)))
}

/// A row for each tensor; one without a tensor where there are none.
fn of_case<'a>(run: &'a Results, case: &'a CaseResult) -> Vec<TensorRow<'a>> {
    let row = || TensorRow {
        run,
        kind: "case",
        id: Cow::Borrowed(&case.id),
        regime: &case.regime,
        of: Failure::Case(case),
        backend: &case.backend,
        case: Some(case),
        problem: None,
        tensor: None,
        verdict: case.verdict,
        reason: &case.reason,
        judged: case.judged,
        found: None,
        worst: case.worst.as_ref(),
        diagnosis: &case.diagnosis,
        whole: case.verdict,
        lifted: case.lifted.as_ref(),
        seeds: case.seeds.as_ref(),
    };
    if case.tensors.is_empty() {
        return vec![row()];
    }
    let of_tensor = |(name, found): (ComputedName, &'a TensorResult)| TensorRow {
        tensor: Some(name.name()),
        verdict: found.verdict,
        reason: &found.reason,
        judged: found.judged,
        found: Some(found),
        worst: found.worst.as_ref(),
        diagnosis: &found.diagnosis,
        ..row()
    };
    case.tensors.iter().map(of_tensor).collect()
}

/// A row for Ā and one for B̄.
fn of_sweep<'a>(run: &'a Results, sweep: &'a CoefficientResult) -> [TensorRow<'a>; 2] {
    [("a_bar", &sweep.worst_a_bar), ("b_bar", &sweep.worst_b_bar)].map(|(tensor, worst)| TensorRow {
        run,
        kind: "sweep",
        id: Cow::Owned(sweep.id()),
        regime: &sweep.sweep,
        of: Failure::Sweep(sweep),
        backend: &sweep.backend,
        case: None,
        problem: None,
        tensor: Some(tensor),
        // A coefficient within its bound is not what fails.
        verdict: match worst {
            Some(worst) if worst.ratio <= 1.0 && sweep.verdict == Verdict::Fail => Verdict::Pass,
            _ => sweep.verdict,
        },
        reason: &sweep.reason,
        judged: sweep.points.len(),
        found: None,
        worst: worst.as_ref(),
        diagnosis: &sweep.diagnosis,
        whole: sweep.verdict,
        lifted: sweep.lifted.as_ref(),
        seeds: sweep.seeds.as_ref(),
    })
}

fn of_invariant<'a>(run: &'a Results, law: &'a InvariantResult) -> TensorRow<'a> {
    TensorRow {
        run,
        kind: "invariant",
        id: Cow::Owned(law.id()),
        regime: &law.name,
        of: Failure::Invariant(law),
        backend: &law.backend,
        case: None,
        problem: (!law.problem.is_empty()).then_some(&law.problem),
        tensor: law.worst.as_ref().map(|worst| tensor_and_part(&worst.tensor).0),
        verdict: law.verdict,
        reason: &law.reason,
        judged: law.judged,
        found: None,
        worst: law.worst.as_ref(),
        diagnosis: &[],
        whole: law.verdict,
        lifted: None,
        seeds: law.seeds.as_ref(),
    }
}

/// `last_state.re` is a part of `last_state`.
fn tensor_and_part(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('.') {
        Some((tensor, part @ ("re" | "im"))) => (tensor, Some(part)),
        _ => (name, None),
    }
}

/// As `results.json` has it.
fn conclusion(of: Conclusion) -> &'static str {
    match of {
        Conclusion::Rounding => "rounding",
        Conclusion::WrongFormula => "wrong-formula",
    }
}

fn whole(number: usize) -> Option<i64> {
    i64::try_from(number).ok()
}

fn unless_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn tensor_columns<'a>() -> Vec<Named<TensorRow<'a>>> {
    vec![
        ("kind", Text(|row| Some(row.kind))),
        ("id", Text(|row| Some(&row.id))),
        ("regime", Text(|row| Some(row.regime))),
        ("method", Text(|row| Some(row.of.method().name()))),
        ("weights", Text(|row| Some(row.of.weights().name()))),
        ("input", Text(|row| row.case.map(|case| case.input.name()))),
        ("b", Text(|row| row.case.map(|case| case.b.name()))),
        ("c", Text(|row| row.case.map(|case| case.c.name()))),
        ("pass", Text(|row| row.case.map(|case| if case.is_backward() { "backward" } else { "forward" }))),
        ("batch", Whole(|row| whole(row.case?.shape.batch))),
        ("dim", Whole(|row| whole(row.case?.shape.dim))),
        ("dstate", Whole(|row| whole(row.case?.shape.dstate))),
        ("seqlen", Whole(|row| whole(row.case?.shape.seqlen))),
        ("groups", Whole(|row| whole(row.case?.shape.groups))),
        ("inputs", Text(|row| unless_empty(&row.case?.inputs))),
        ("problem", Text(|row| row.problem)),
        ("tensor", Text(|row| row.tensor)),
        ("verdict", Text(|row| Some(row.verdict.name()))),
        ("reason", Text(|row| unless_empty(row.reason))),
        ("judged", Whole(|row| whole(row.judged))),
        ("quick", Whole(|row| whole(row.found?.quick))),
        ("beyond", Text(|row| Some(row.found?.beyond.name()))),
        ("worst_case_ratio", Float(|row| Some(row.measured()?.worst_case_ratio))),
        ("max_ulp", Float(|row| Some(row.measured()?.max_ulp))),
        ("rel_l2", Float(|row| Some(row.measured()?.rel_l2))),
        ("worst_part", Text(|row| tensor_and_part(&row.worst?.tensor).1)),
        ("worst_index", List(|row| Some(row.worst?.index.iter().map(|&at| at as i64).collect()))),
        ("worst_got", Float(|row| Some(row.worst?.got))),
        ("worst_want", Float(|row| Some(row.worst?.want))),
        ("worst_error", Float(|row| Some(row.worst?.error))),
        ("worst_bound", Float(|row| Some(row.worst?.bound))),
        ("worst_ratio", Float(|row| Some(row.worst?.ratio))),
        ("worst_share", Float(|row| Some(row.worst?.share))),
        ("worst_ulp", Float(|row| Some(row.worst?.ulp))),
        ("diagnosis", Text(|row| Some(&row.diagnosis.first()?.name))),
        ("diagnosis_residual", Float(|row| Some(row.diagnosis.first()?.residual))),
        ("whole_verdict", Text(|row| Some(row.whole.name()))),
        ("relative_ratio", Float(|row| Some(row.case?.relative?.ratio))),
        ("relative_tensor", Text(|row| Some(row.case?.relative?.tensor?.name()))),
        ("lifted_verdict", Text(|row| Some(row.lifted?.verdict.name()))),
        ("lifted_shrink", Float(|row| row.lifted?.shrink)),
        ("lifted_conclusion", Text(|row| Some(conclusion(row.lifted?.conclusion?)))),
        ("seed", Unsigned(|row| Some(row.seeds.map_or(row.run.seed, |seeds| seeds.shown)))),
        ("seeds_judged", Whole(|row| whole(row.seeds?.judged))),
        ("seeds_failed", Whole(|row| whole(row.seeds?.failed.len()))),
        ("seeds_unmeasured", Whole(|row| whole(row.seeds?.unmeasured.len()))),
        ("rerun", Text(|row| Some(row.of.rerun()))),
        ("backend", Text(|row| Some(row.backend))),
        ("device", Text(|row| unless_empty(&row.run.device))),
        ("kernel_source", Text(|row| unless_empty(&row.run.kernel_source))),
        ("version", Text(|row| Some(&row.run.version))),
    ]
}

impl TensorRow<'_> {
    /// Errors, where anything was measured that they could be of.
    fn measured(&self) -> Option<&TensorResult> {
        self.found.filter(|found| found.judged > 0)
    }
}

/// A function at arguments of one sign and exponent.
struct RangeRow<'a> {
    run: &'a Results,
    range: &'a FunctionRange,
}

impl RangeRow<'_> {
    /// The range, where any of its arguments was judged.
    fn measured(&self) -> Option<&FunctionRange> {
        Some(self.range).filter(|range| range.judged > 0)
    }
}

fn function_columns<'a>() -> Vec<Named<RangeRow<'a>>> {
    fn count(number: u64) -> Option<i64> {
        i64::try_from(number).ok()
    }
    vec![
        ("function", Text(|row| Some(row.range.function.name()))),
        ("negative", Flag(|row| Some(row.range.negative))),
        ("exponent", Whole(|row| Some(row.range.exponent.into()))),
        ("every", Whole(|row| Some(row.range.every.into()))),
        ("verdict", Text(|row| Some(row.range.verdict.name()))),
        ("judged", Whole(|row| count(row.range.judged))),
        ("outside", Whole(|row| count(row.range.outside))),
        ("nans", Whole(|row| count(row.range.nans))),
        ("lost_nans", Whole(|row| count(row.range.lost_nans))),
        ("failing", Whole(|row| count(row.range.failing))),
        ("undecided", Whole(|row| count(row.range.undecided))),
        ("misrounded", Whole(|row| count(row.range.misrounded))),
        ("ties", Whole(|row| count(row.range.ties))),
        ("falls", Whole(|row| count(row.range.falls))),
        ("wrong_signs", Whole(|row| count(row.range.wrong_signs))),
        ("worst_share", Float(|row| Some(row.measured()?.worst_share))),
        ("worst_share_at", Float(|row| Some(row.measured()?.worst_share_at.into()))),
        ("worst_ulp", Float(|row| Some(row.measured()?.worst_ulp))),
        ("worst_ulp_at", Float(|row| Some(row.measured()?.worst_ulp_at.into()))),
        ("first_failing", Float(|row| row.range.first_failing.map(f64::from))),
        ("first_fall", Float(|row| row.range.first_fall.map(f64::from))),
        ("first_wrong_sign", Float(|row| row.range.first_wrong_sign.map(f64::from))),
        ("histogram", List(|row| Some(row.range.histogram.iter().map(|&count| count as i64).collect()))),
        ("backend", Text(|row| Some(&row.run.backend))),
        ("device", Text(|row| unless_empty(&row.run.device))),
        ("kernel_source", Text(|row| unless_empty(&row.run.kernel_source))),
        ("version", Text(|row| Some(&row.run.version))),
    ]
}

struct TimingRow<'a> {
    run: &'a Results,
    timed: &'a Timed,
}

fn timing_columns<'a>() -> Vec<Named<TimingRow<'a>>> {
    fn samples(spread: Option<Spread>) -> Option<i64> {
        whole(spread?.samples)
    }
    vec![
        ("id", Text(|row| Some(&row.timed.id))),
        ("work", Text(|row| Some(row.timed.work.name()))),
        ("operation", Text(|row| Some(row.timed.operation?.name()))),
        ("method", Text(|row| Some(row.timed.scan?.method.name()))),
        ("weights", Text(|row| Some(row.timed.scan?.weights.name()))),
        ("input", Text(|row| Some(row.timed.scan?.input.name()))),
        ("batch", Whole(|row| whole(row.timed.scan?.shape.batch))),
        ("dim", Whole(|row| whole(row.timed.scan?.shape.dim))),
        ("dstate", Whole(|row| whole(row.timed.scan?.shape.dstate))),
        ("seqlen", Whole(|row| whole(row.timed.scan?.shape.seqlen))),
        ("groups", Whole(|row| whole(row.timed.scan?.shape.groups))),
        ("verdict", Text(|row| Some(row.timed.verdict.name()))),
        ("reason", Text(|row| unless_empty(&row.timed.reason))),
        ("warm_samples", Whole(|row| samples(row.timed.warm))),
        ("warm_median", Float(|row| Some(row.timed.warm?.median))),
        ("warm_low", Float(|row| Some(row.timed.warm?.interval?[0]))),
        ("warm_high", Float(|row| Some(row.timed.warm?.interval?[1]))),
        ("cold_samples", Whole(|row| samples(row.timed.cold))),
        ("cold_median", Float(|row| Some(row.timed.cold?.median))),
        ("cold_low", Float(|row| Some(row.timed.cold?.interval?[0]))),
        ("cold_high", Float(|row| Some(row.timed.cold?.interval?[1]))),
        ("first", Float(|row| row.timed.first)),
        ("elements", Float(|row| Some(row.timed.cost.elements))),
        ("bytes", Float(|row| Some(row.timed.cost.bytes))),
        ("flops", Float(|row| Some(row.timed.cost.flops))),
        ("specials", Float(|row| Some(row.timed.cost.specials))),
        ("share", Float(|row| row.timed.share)),
        ("backend", Text(|row| Some(&row.timed.backend))),
        ("device", Text(|row| unless_empty(&row.run.device))),
        ("kernel_source", Text(|row| unless_empty(&row.run.kernel_source))),
        ("version", Text(|row| Some(&row.run.version))),
        ("created", Text(|row| unless_empty(&row.run.created))),
    ]
}
