//! What the methods of a foreign header compute, for those that fail: one cause for a method and a weight type, wherever it
//! explains what fails.

use std::collections::BTreeMap;

use num_complex::Complex64;
use rayon::prelude::*;

use crate::judge::reconstruct::expansion::Point;
use crate::judge::reconstruct::{self, Reconstruction};
use crate::judge::{lost_digits, scan};
use crate::kernel::Backend;
use crate::method::Method;
use crate::problem::plan::Spec;
use crate::problem::sweep::Sweep;
use crate::problem::{CoefficientProblem, Operand, Problem, Weights};
use crate::results::{CaseResult, CoefficientResult, Diagnosis, Verdict, explained};
use crate::tensor::TensorName;

/// Positions of a channel, and channels, whose elements a cause is held against: enough to meet a place that matters.
const POSITIONS: usize = 48;
const CHANNELS: usize = 4;

/// What was found, by method, weights and layout of B.
type Found = BTreeMap<(Method, Weights, bool), Reconstruction>;

/// Puts what a backend's source is found to compute in the place of what the explained cases look like, where it explains the
/// errors at their own elements, and beside it where they lose digits. Nothing changes where the backend cannot be asked, or
/// where its formulas are right.
pub fn fill(
    backend: &dyn Backend,
    seed: u64,
    specs: &[Spec],
    sweeps: &[Sweep],
    cases: &mut [CaseResult],
    judged: &mut [CoefficientResult],
) {
    let chosen = of_either_layout(cases, explained::chosen(cases));
    let mut failing: Vec<(Method, Weights, bool)> = chosen
        .iter()
        .filter_map(|&at| {
            let case = &cases[at];
            Some((case.method.method()?, case.weights, case.b == Operand::Constant))
        })
        .chain(
            judged
                .iter()
                .filter(|sweep| sweep.verdict == Verdict::Fail)
                .map(|one| (one.method, one.weights, false)),
        )
        .collect();
    failing.sort_unstable();
    failing.dedup();
    let identify = |(method, weights, constant)| {
        let evaluate = |elements: &_| backend.probed(method, operand(constant), elements)?.ok();
        Some(((method, weights, constant), reconstruct::identify(method, weights, &evaluate)?))
    };
    let found: Found = failing.par_iter().copied().filter_map(identify).collect();
    if found.is_empty() {
        return;
    }
    let explains = |key: (Method, Weights, bool), points: &[Point]| {
        let evaluate = |elements: &_| backend.probed(key.0, operand(key.2), elements)?.ok();
        let explained = found.get(&key)?.explains(points, &evaluate)?;
        // Where the other layout fails for another reason, this is said of one alone.
        let (method, weights, constant) = key;
        let other = (method, weights, !constant);
        let scope = match (failing.contains(&other) && !found.contains_key(&other), constant) {
            (false, _) => "",
            (true, true) => "where B is constant, ",
            (true, false) => "where B varies, ",
        };
        Some(Diagnosis { what: format!("{scope}{}", explained.what), ..explained })
    };
    for at in chosen {
        let case = &mut cases[at];
        let spec =
            specs.iter().find(|spec| spec.key() == (&case.regime, case.weights, case.input, case.b, case.c));
        let (Some(method), Some(spec)) = (case.method.method(), spec) else { continue };
        let key = (method, case.weights, case.b == Operand::Constant);
        let Some(found) = explains(key, &of_problem(&spec.draw(seed))) else { continue };
        let said = |name: TensorName| {
            // What is lost in single alone is no less true for what else there is.
            let rounding = case.tensors[name].diagnosis.iter().find(|one| one.name == lost_digits::NAME);
            rounding.map_or_else(
                || found.clone(),
                |lost| Diagnosis { what: format!("{}; {}", lost.what, found.what), ..lost.clone() },
            )
        };
        let diagnoses = scan::failing(case).into_iter().map(|name| (name, vec![said(name)])).collect();
        scan::diagnosed(case, diagnoses);
    }
    for result in judged.iter_mut().filter(|one| one.verdict == Verdict::Fail) {
        let drawn = sweeps.iter().find(|sweep| sweep.name == result.sweep && sweep.weights == result.weights);
        let points = drawn.map(|sweep| of_sweep(&sweep.draw(seed)));
        let found = points.and_then(|points| explains((result.method, result.weights, false), &points));
        result.diagnosis = found.map_or_else(|| std::mem::take(&mut result.diagnosis), |found| vec![found]);
    }
}

/// With them the smallest failing case of each layout of B that none of them has: its cause may be another.
fn of_either_layout(cases: &[CaseResult], mut chosen: Vec<usize>) -> Vec<usize> {
    let key = |case: &CaseResult| (case.method, case.weights, case.b);
    let mut failing: Vec<usize> = (0..cases.len())
        .filter(|&at| cases[at].verdict == Verdict::Fail && cases[at].worst.is_some())
        .collect();
    failing.sort_by_key(|&at| cases[at].judged * cases[at].shape.dstate);
    for at in failing {
        if chosen.iter().all(|&other| key(&cases[other]) != key(&cases[at])) {
            chosen.push(at);
        }
    }
    chosen
}

fn operand(constant: bool) -> Operand {
    if constant { Operand::Constant } else { Operand::Variable }
}

fn weight(weights: Weights, values: &[f32], at: usize) -> Complex64 {
    let im = if weights == Weights::Complex { values[at + 1].into() } else { 0.0 };
    Complex64::new(values[at].into(), im)
}

/// Elements of a sweep, with u = 1.
fn of_sweep(problem: &CoefficientProblem) -> Vec<Point> {
    let (weights, width) = (problem.weights, problem.weights.width());
    let point = |(i, &delta): (usize, &f32)| Point {
        delta: delta.into(),
        a: weight(weights, &problem.a, i * width),
        b: weight(weights, &problem.b, i * width),
        u: 1.0,
    };
    problem.delta.iter().enumerate().map(point).collect()
}

/// Elements of a problem's judged channels, with Δ as the step has it.
fn of_problem(problem: &Problem) -> Vec<Point> {
    let (seqlen, weights) = (problem.shape.seqlen, problem.weights);
    let mut points = Vec::new();
    for &channel in problem.judged_channels.iter().take(CHANNELS) {
        for l in (0..seqlen).step_by(seqlen.div_ceil(POSITIONS)) {
            let at = problem.sequence_index(channel.0, channel.1, l);
            let raw = problem.delta[at] + problem.delta_bias.as_ref().map_or(0.0, |bias| bias[channel.1]);
            let delta =
                if problem.delta_softplus && raw <= 20.0 { f64::from(raw).exp().ln_1p() as f32 } else { raw };
            points.extend((0..problem.shape.dstate).map(|n| Point {
                delta: delta.into(),
                a: weight(weights, &problem.a, problem.weight_index(channel.1, n)),
                b: weight(weights, &problem.b, problem.operand_index(problem.b_operand, channel, n, l)),
                u: problem.u[at].into(),
            }));
        }
    }
    points
}
