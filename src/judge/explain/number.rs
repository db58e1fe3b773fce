//! The number of an edit, found in the data: by Gauss and Newton from a few beginnings, which for a number that outputs are linear in is one step of
//! least squares.

use super::Search;
use crate::judge::diagnose::numbers;
use crate::program::Real;
use crate::program::edit::{Edit, Patch};
use crate::tensor::TensorName;

/// Beginnings of the search for a factor, and for a multiple.
const FACTORS: [f64; 4] = [1.0, 0.5, 2.0, -1.0];
const MULTIPLES: [f64; 1] = [0.0];
const STEPS: usize = 12;
/// Largest share of the error that may be left in a look for a number to be worth more looks.
const LEFT: f64 = 0.05;
/// Numbers that are tried of those that are within its uncertainty.
const TRIED: usize = 3;

/// An edit with the numbers that are possible, the simplest first.
pub fn candidates(search: &mut Search, edit: Edit) -> Vec<Edit> {
    for start in starts(search, edit) {
        let Some((found, distance)) = fitted(search, edit, start) else { continue };
        let known = numbers::near(found, distance, search.case.problem.shape.dstate);
        // Factors of 0 and 1 are no numbers that are found.
        let is_number =
            |value: f64| !matches!(edit.patch, Patch::Scaled(_)) || value.abs() > 1e-6 && value != 1.0;
        let tried = known.into_iter().map(|known| known.value).filter(|value| is_number(*value)).take(TRIED);
        return tried.map(|value| with(edit, value)).collect();
    }
    Vec::new()
}

fn starts(search: &mut Search, edit: Edit) -> Vec<f64> {
    match edit.patch {
        Patch::Plus(..) => MULTIPLES.to_vec(),
        Patch::AtLeast(_) | Patch::AtMost(_) => limits(search, edit),
        _ => FACTORS.to_vec(),
    }
}

/// An edit with the number that leaves the least of the error, where that is less than all of it.
pub fn least(search: &mut Search, edit: Edit) -> Option<Edit> {
    let start = *starts(search, edit).first()?;
    let (found, distance) = fitted_to(search, edit, start, f64::INFINITY)?;
    let known = numbers::near(found, distance, search.case.problem.shape.dstate);
    known.first().map(|known| with(edit, known.value))
}

fn with(edit: Edit, number: f64) -> Edit {
    let patch = match edit.patch {
        Patch::Scaled(_) => Patch::Scaled(Real::new(number)),
        Patch::Plus(other, _) => Patch::Plus(other, Real::new(number)),
        Patch::AtLeast(_) => Patch::AtLeast(Real::new(number)),
        Patch::AtMost(_) => Patch::AtMost(Real::new(number)),
        Patch::Turned(_) => Patch::Turned(Real::new(number)),
        other => other,
    };
    Edit { patch, ..edit }
}

/// The number, and how far off it may be, relative; none where it leaves much of the error.
fn fitted(search: &mut Search, edit: Edit, start: f64) -> Option<(f64, f64)> {
    fitted_to(search, edit, start, LEFT)
}

fn fitted_to(search: &mut Search, edit: Edit, start: f64, most: f64) -> Option<(f64, f64)> {
    let mut at = start;
    let base = residuals(search, with(edit, neutral(edit)))?;
    let all: f64 = base.iter().map(|r| r * r).sum();
    let mut now = residuals(search, with(edit, at))?;
    for _ in 0..STEPS {
        let by = 1e-3 * at.abs().max(0.1);
        let moved = residuals(search, with(edit, at + by))?;
        let slopes = moved.iter().zip(&now).map(|(after, before)| (after - before) / by);
        let (mut of_both, mut of_slope) = (0.0, 0.0);
        slopes.zip(&now).for_each(|(slope, residual)| {
            of_both += slope * residual;
            of_slope += slope * slope;
        });
        if of_slope == 0.0 || !of_slope.is_finite() {
            return None;
        }
        let step = -of_both / of_slope;
        at += step;
        now = residuals(search, with(edit, at))?;
        let left: f64 = now.iter().map(|r| r * r).sum();
        if step.abs() <= 1e-3 / of_slope.sqrt() || step.abs() < 1e-13 * at.abs() {
            let is_worth = left <= most * most * all || left <= now.len() as f64;
            // The uncertainty of a number is what moves the outputs by their bounds.
            let distance = 2.0 / of_slope.sqrt() / at.abs().max(1e-12);
            return (is_worth && at.is_finite()).then_some((at, distance.min(0.1)));
        }
        if !left.is_finite() {
            return None;
        }
    }
    None
}

/// The number with which an edit changes nothing.
fn neutral(edit: Edit) -> f64 {
    match edit.patch {
        Patch::Plus(..) => 0.0,
        Patch::AtLeast(_) => f64::NEG_INFINITY,
        Patch::AtMost(_) => f64::INFINITY,
        _ => 1.0,
    }
}

/// Limits that some of the values of a node are beyond, in the longest look.
fn limits(search: &mut Search, edit: Edit) -> Vec<f64> {
    let target = edit.target(&search.graph);
    let Some(look) = search.looks.all.last_mut() else { return Vec::new() };
    let column = look.evaluator.column(&search.graph, target, look.at);
    let mut values: Vec<f64> =
        column.value.iter().map(|value| value.re).filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let at = |share: f64| values.get((share * values.len() as f64) as usize).copied();
    let shares: &[f64] = if values.len() < 3 { &[] } else { &[0.5, 0.1, 0.9, 0.25, 0.75] };
    shares.iter().filter_map(|share| at(*share)).collect()
}

/// Differences of the outputs that were recorded from those of a program, in units of the specified bounds, in all looks.
fn residuals(search: &mut Search, edit: Edit) -> Option<Vec<f64>> {
    let program = edit.apply(&mut search.graph, &search.program);
    let (case, graph) = (search.case, &search.graph);
    let seqlen = case.problem.shape.seqlen;
    let (got, bounds) = (&case.got[TensorName::Out].values, &case.budget.tensors[TensorName::Out].bound);
    let mut all = Vec::new();
    for look in &mut search.looks.all {
        case.work.add(look.window.len * case.problem.shape.dstate);
        let row = look.evaluator.out(graph, &program);
        let from = look.row * seqlen + look.window.first;
        let of = row.values.iter().zip(&got[from..]).zip(&bounds[from..]);
        all.extend(of.map(|((value, got), bound)| (got - value) / bound));
    }
    search.graph.truncate(search.nodes);
    search.looks.truncate(search.nodes);
    (!all.is_empty() && all.iter().all(|r| r.is_finite())).then_some(all)
}
