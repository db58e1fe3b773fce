//! What the methods of a foreign header compute, for those that fail: one cause for a method and a weight type, wherever it
//! explains what fails.

use std::collections::BTreeMap;

use num_complex::Complex64;
use rayon::prelude::*;

use super::Plan;
use crate::judge::diagnose::Searches;
use crate::judge::reconstruct::expansion::Point;
use crate::judge::reconstruct::{self, Everywhere, Reconstruction};
use crate::problem::{CoefficientProblem, Problem, Weights};
use crate::results::explained::{self, Explanations, FormulaKey};
use crate::results::{Results, Search, Verdict};

/// Positions of a channel, and steps of all channels, whose elements a cause is held against: enough to meet a place that matters.
const POSITIONS: usize = 48;
const STEPS: usize = 4 * POSITIONS;

/// What the source of a backend that can be asked is found to compute: its formulas that fail, and which of the cases that may
/// be shown, and which sweeps, each of them explains. Nothing where the formulas are right.
pub fn explain(plan: &Plan, results: &Results, searches: &Searches, explanations: &mut Explanations) {
    let (backend, cases) = (plan.backend(), &results.cases);
    // One for each formula, whatever else is shown of it: another part of the run may show no more.
    let mut shown = explained::chosen(cases);
    for at in explained::smallest_of_formulas(cases) {
        if !shown.contains(&at) {
            shown.push(at);
        }
    }
    let failing = explained::failing_formulas(cases, &shown, &results.coefficients);
    let identified = |key: FormulaKey| {
        let method = key.0.method()?;
        let evaluate = |elements: &_| backend.probed(method, key.2, elements)?.ok();
        let work = searches.of_case(&[]);
        let found = work.as_ref().and_then(|work| {
            let found = reconstruct::identify(method, key.1, &evaluate, work)?;
            Some(found.named(method, &evaluate, work))
        });
        let search = match work {
            None => Some(Search::NotBegun(searches.of_all())),
            Some(work) => work.is_cut().then(|| Search::Ended(searches.of_each())),
        };
        Some((key, found, search))
    };
    let all: Vec<_> = failing.into_par_iter().filter_map(identified).collect();
    let mut found: BTreeMap<FormulaKey, Reconstruction> = BTreeMap::new();
    let mut ended: BTreeMap<FormulaKey, Search> = BTreeMap::new();
    for (key, formula, search) in all {
        found.extend(formula.map(|formula| (key, formula)));
        ended.extend(search.map(|search| (key, search)));
    }
    let explains = |key: FormulaKey, points: &[Point]| {
        let evaluate = |elements: &_| backend.probed(key.0.method()?, key.2, elements)?.ok();
        found.get(&key)?.explains(points, &evaluate)
    };
    for case in shown.into_iter().map(|at| &cases[at]) {
        let (key, seed) = ((case.method, case.weights, case.b), case.shown_seed(results.seed));
        let worst = case.worst.as_ref().and_then(|worst| Some((*worst.index.first()?, *worst.index.get(1)?)));
        let points = || plan.spec_of(case).map(|spec| of_problem(&spec.draw(seed), worst));
        if let Some(diagnosis) = found.get(&key).and_then(|_| explains(key, &points()?)) {
            explanations.by_formula.push(((case.id.clone(), seed), diagnosis));
        }
        let judged = (case.id.clone(), seed);
        let is_told = explanations.searches.iter().any(|(other, _)| *other == judged);
        if let Some(search) = ended.get(&key).filter(|_| !is_told) {
            explanations.searches.push((judged, search.clone()));
        }
    }
    for sweep in results.coefficients.iter().filter(|one| one.verdict == Verdict::Fail) {
        let (key, seed) = (explained::formula_of_sweep(sweep), sweep.shown_seed(results.seed));
        let points = || plan.sweep_of(sweep).map(|drawn| of_sweep(&drawn.draw(seed)));
        if let Some(diagnosis) = found.get(&key).and_then(|_| explains(key, &points()?)) {
            explanations.by_formula.push(((sweep.id(), seed), diagnosis));
        }
    }
    explanations.formulas = found.into_keys().collect();
    refute(plan, results, explanations);
}

/// Takes away what explains a case by a fault model that the source is not, as other steps show: of one regime two formulas may
/// be alike.
fn refute(plan: &Plan, results: &Results, explanations: &mut Explanations) {
    let backend = plan.backend();
    let mut known: BTreeMap<FormulaKey, Option<Everywhere>> = BTreeMap::new();
    let mut refutes = |key: FormulaKey, name: &str| {
        let asked = known.entry(key).or_insert_with(|| {
            let method = key.0.method()?;
            let evaluate = |elements: &_| backend.probed(method, key.2, elements)?.ok();
            Everywhere::new(method, key.1, &evaluate)
        });
        asked.as_ref().is_some_and(|asked| asked.refutes(name))
    };
    let keys: BTreeMap<&str, FormulaKey> =
        results.cases.iter().map(|case| (&*case.id, (case.method, case.weights, case.b))).collect();
    for ((id, _), diagnoses) in &mut explanations.cases {
        let Some(&key) = keys.get(&**id) else { continue };
        diagnoses.iter_mut().for_each(|(_, all)| all.retain(|one| !refutes(key, &one.name)));
    }
    for sweep in results.coefficients.iter().filter(|one| one.verdict == Verdict::Fail) {
        let key = explained::formula_of_sweep(sweep);
        let names = sweep.diagnosis.iter().map(|one| &one.name).filter(|name| refutes(key, name));
        let names: Vec<String> = names.cloned().collect();
        if !names.is_empty() {
            explanations.refuted.push(((sweep.id(), sweep.shown_seed(results.seed)), names));
        }
    }
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

/// Elements of the channel with the worst one and of some other judged channels, with Δ as the step has it.
fn of_problem(problem: &Problem, worst: Option<(usize, usize)>) -> Vec<Point> {
    let (seqlen, weights) = (problem.shape.seqlen, problem.weights);
    let mut points = Vec::new();
    let others = problem.judged_channels.iter().copied().filter(|channel| Some(*channel) != worst);
    let channels = worst.into_iter().chain(others).take(STEPS / seqlen.min(POSITIONS));
    for channel in channels {
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
