//! The number of an edit, found in the data: by Gauss and Newton from a few beginnings, which for a number that outputs are linear in is one step of
//! least squares.

use super::Search;
use super::look::CHANNELS;
use crate::judge::numbers;
use crate::program::Real;
use crate::program::edit::{Edit, Patch};
use crate::tensor::TensorName;

/// Beginnings of the search for a factor, and for a multiple.
const FACTORS: [f64; 4] = [1.0, 0.5, 2.0, -1.0];
const MULTIPLES: [f64; 1] = [0.0];
const STEPS: usize = 12;
/// Largest share of the error before a step that it may leave.
const SLOW: f64 = 0.5;
/// Shares of the values that are below two limits, to begin with.
const LOW: [f64; 4] = [0.02, 0.1, 0.25, 0.4];
const HIGH: [f64; 4] = [0.6, 0.75, 0.9, 0.98];
/// Turns in which two limits are found.
const TURNS: usize = 3;
/// Largest share of the error that may be left in a look for a number to be worth more looks.
pub const LEFT: f64 = 0.05;
/// Multiples below this are guards, if anything.
const SMALL: f64 = 1e-3;
/// Numbers that are tried of those that are within its uncertainty.
pub const TRIED: usize = 3;

/// An edit with the numbers that are possible, the simplest first.
pub fn candidates(search: &mut Search, edit: Edit) -> Vec<Edit> {
    if let Patch::Within(..) | Patch::KeptWithin(..) = edit.patch {
        return within(search, edit).into_iter().collect();
    }
    for start in starts(search, edit) {
        let Some((found, distance)) = fitted(search, &|at| with(edit, at), start, (LEFT, usize::MAX)) else {
            continue;
        };
        let is_number = is_always_beyond(search, with(edit, found));
        let edit = of_limit(&edit).filter(|_| is_number).unwrap_or(edit);
        let known = numbers::near(found, distance, search.case.problem.shape.dstate);
        // Factors of 0 and 1 are no numbers that are found.
        let is_number = |value: f64| match edit.patch {
            Patch::Scaled(_) => value.abs() > 1e-6 && value != 1.0,
            // A small multiple that is no guard is what is left of something else.
            Patch::Plus(..) => value.abs() >= SMALL || is_power_of_ten(value),
            _ => true,
        };
        let tried = known.into_iter().map(|known| known.value).filter(|value| is_number(*value)).take(TRIED);
        return tried.map(|value| with(edit, value)).collect();
    }
    Vec::new()
}

fn is_power_of_ten(value: f64) -> bool {
    let power = value.abs().log10();
    (power - power.round()).abs() < 1e-9
}

/// The edit that a limit is where all values are beyond it: a number in their place.
pub fn of_limit(edit: &Edit) -> Option<Edit> {
    // Neither 0 nor 1, which have names of their own.
    let patch = Patch::Number(Real::new(2.0));
    matches!(edit.patch, Patch::AtLeast(_) | Patch::AtMost(_)).then_some(Edit { patch, ..*edit })
}

/// Whether all values are beyond a limit, which is a number in their place then.
fn is_always_beyond(search: &mut Search, edit: Edit) -> bool {
    let [low, high] =
        [0.0, 1.0 - f64::EPSILON].map(|share| quantiles(search, edit, &[share]).first().copied());
    match edit.patch {
        Patch::AtLeast(limit) => high.is_some_and(|high| high <= limit.value()),
        Patch::AtMost(limit) => low.is_some_and(|low| low >= limit.value()),
        _ => false,
    }
}

/// The numbers that are possible of the first of two edits that outputs are linear in, the simplest first, where the two together leave
/// nearly nothing of the error.
pub fn first_of_two(search: &mut Search, edits: [Edit; 2]) -> Vec<Edit> {
    let [one, _] = edits;
    let Some(base) = residuals(search, neutral(one), usize::MAX) else { return Vec::new() };
    let [Some(without_one), Some(without_other)] =
        edits.map(|edit| residuals(search, with(edit, 0.0), usize::MAX))
    else {
        return Vec::new();
    };
    let slopes = |without: &[f64]| -> Vec<f64> {
        base.iter().zip(without).map(|(with, without)| with - without).collect()
    };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let (by_one, by_other) = (slopes(&without_one), slopes(&without_other));
    let (one_one, one_other, other_other) =
        (dot(&by_one, &by_one), dot(&by_one, &by_other), dot(&by_other, &by_other));
    let determinant = one_one * other_other - one_other * one_other;
    if determinant.is_nan() || determinant <= 1e-9 * one_one * other_other {
        return Vec::new();
    }
    let (of_one, of_other) = (-dot(&base, &by_one), -dot(&base, &by_other));
    let first = (of_one * other_other - of_other * one_other) / determinant;
    let second = (of_other * one_one - of_one * one_other) / determinant;
    let left: f64 = base
        .iter()
        .zip(by_one.iter().zip(&by_other))
        .map(|(base, (one, other))| (base + first * one + second * other).powi(2))
        .sum();
    if left > LEFT * LEFT * dot(&base, &base) && left > base.len() as f64 {
        return Vec::new();
    }
    let found = 1.0 + first;
    let distance = 2.0 * (other_other / determinant).sqrt() / found.abs().max(1e-12);
    let known = numbers::near(found, distance.min(0.1), search.case.problem.shape.dstate);
    known.into_iter().take(TRIED).map(|known| with(one, known.value)).collect()
}

fn starts(search: &mut Search, edit: Edit) -> Vec<f64> {
    match edit.patch {
        Patch::Plus(..) => MULTIPLES.to_vec(),
        Patch::AtLeast(_) | Patch::AtMost(_) => limits(search, edit),
        _ => FACTORS.to_vec(),
    }
}

/// An edit with the number that leaves the least of the error in the shortest looks, where that is less than all of it: what else is
/// wrong may begin later.
pub fn least(search: &mut Search, edit: Edit) -> Option<Edit> {
    let start = *starts(search, edit).first()?;
    let (found, distance) = fitted(search, &|at| with(edit, at), start, (f64::INFINITY, CHANNELS))?;
    let known = numbers::near(found, distance, search.case.problem.shape.dstate);
    known.first().map(|known| with(edit, known.value))
}

fn with(edit: Edit, number: f64) -> Edit {
    let patch = match edit.patch {
        Patch::Scaled(_) => Patch::Scaled(Real::new(number)),
        Patch::Number(_) => Patch::Number(Real::new(number)),
        Patch::Plus(other, _) => Patch::Plus(other, Real::new(number)),
        Patch::AtLeast(_) => Patch::AtLeast(Real::new(number)),
        Patch::AtMost(_) => Patch::AtMost(Real::new(number)),
        Patch::Turned(_) => Patch::Turned(Real::new(number)),
        Patch::Stretched(_) => Patch::Stretched(Real::new(number)),
        other => other,
    };
    Edit { patch, ..edit }
}

/// The number with which an edit leaves the least in so many looks, and how far off it may be, relative; none where that is more than a
/// share of the error.
fn fitted(
    search: &mut Search,
    of: &dyn Fn(f64) -> Edit,
    start: f64,
    (most, looks): (f64, usize),
) -> Option<(f64, f64)> {
    let base = residuals(search, neutral(of(start)), looks)?;
    let mut of_number =
        |at: f64| if at.is_nan() { Some(base.clone()) } else { residuals(search, of(at), looks) };
    least_squares(&mut of_number, (start, f64::NAN), most)
}

/// The number at which the sum of the squares of these residuals is least, from a beginning, and how far off it may be, relative; none
/// where that is more than a share of what it is at the specified number.
pub fn least_squares(
    residuals: &mut dyn FnMut(f64) -> Option<Vec<f64>>,
    (start, specified): (f64, f64),
    most: f64,
) -> Option<(f64, f64)> {
    let mut at = start;
    let all: f64 = residuals(specified)?.iter().map(|r| r * r).sum();
    let mut now = residuals(at)?;
    let mut before = f64::INFINITY;
    for _ in 0..STEPS {
        let by = 1e-3 * at.abs().max(0.1);
        let moved = residuals(at + by)?;
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
        now = residuals(at)?;
        let left: f64 = now.iter().map(|r| r * r).sum();
        if step.abs() <= 1e-3 / of_slope.sqrt() || step.abs() < 1e-13 * at.abs() {
            let is_worth = left <= most * most * all || left <= now.len() as f64;
            // The uncertainty of a number is what moves the outputs by their bounds.
            let distance = 2.0 / of_slope.sqrt() / at.abs().max(1e-12);
            return (is_worth && at.is_finite()).then_some((at, distance.min(0.1)));
        }
        // A step that leaves as much leads nowhere.
        if !left.is_finite() || left > most * most * all && left > SLOW * before {
            return None;
        }
        before = left;
    }
    None
}

/// Two limits, found in turn.
fn within(search: &mut Search, edit: Edit) -> Option<Edit> {
    let of = |low, high| limited(edit, low, high);
    let (lows, highs) = (quantiles(search, edit, &LOW), quantiles(search, edit, &HIGH));
    let pairs = lows.iter().flat_map(|low| highs.iter().map(move |high| (*low, *high)));
    let mut best = (f64::INFINITY, (0.0, 0.0));
    for (low, high) in pairs {
        let program = of(low, high).apply(&mut search.graph, &search.program);
        let left = search.looks.left(search.case, &search.graph, &program);
        search.forget();
        if left < best.0 {
            best = (left, (low, high));
        }
    }
    let (mut low, mut high) = best.1;
    let mut off = [0.0; 2];
    for _ in 0..TURNS {
        let to = (f64::INFINITY, usize::MAX);
        (high, off[1]) = fitted(search, &|high| of(low, high), high, to).unwrap_or((high, off[1]));
        (low, off[0]) = fitted(search, &|low| of(low, high), low, to).unwrap_or((low, off[0]));
    }
    if off.contains(&0.0) {
        return None;
    }
    let dstate = search.case.problem.shape.dstate;
    let simple = |value, off| numbers::near(value, off, dstate).first().map(|known| known.value);
    Some(of(simple(low, off[0])?, simple(high, off[1])?))
}

/// An edit with two limits.
fn limited(edit: Edit, low: f64, high: f64) -> Edit {
    let [low, high] = [low, high].map(Real::new);
    let patch = match edit.patch {
        Patch::KeptWithin(..) => Patch::KeptWithin(low, high),
        _ => Patch::Within(low, high),
    };
    Edit { patch, ..edit }
}

/// An edit whose number changes nothing.
fn neutral(edit: Edit) -> Edit {
    let [low, high] = [f64::NEG_INFINITY, f64::INFINITY];
    match edit.patch {
        Patch::Plus(..) => with(edit, 0.0),
        Patch::AtLeast(_) => with(edit, low),
        Patch::AtMost(_) => with(edit, high),
        Patch::Within(..) | Patch::KeptWithin(..) => limited(edit, low, high),
        Patch::Number(_) => Edit { patch: Patch::Scaled(Real::new(1.0)), ..edit },
        _ => with(edit, 1.0),
    }
}

/// Limits that some of the values of a node are beyond, in the longest look.
fn limits(search: &mut Search, edit: Edit) -> Vec<f64> {
    quantiles(search, edit, &[0.5, 0.1, 0.9, 0.25, 0.75])
}

/// Values of a node, of which these shares are smaller, in the longest look.
fn quantiles(search: &mut Search, edit: Edit, shares: &[f64]) -> Vec<f64> {
    let target = edit.target(&search.graph);
    let Some(look) = search.looks.all.last_mut() else { return Vec::new() };
    let column = look.evaluator.column(&search.graph, target, look.at);
    let mut values: Vec<f64> =
        column.values().map(|value| value.re).filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let at = |share: f64| values.get((share * values.len() as f64) as usize).copied();
    let shares = if values.len() < 3 { &[] } else { shares };
    shares.iter().filter_map(|share| at(*share)).collect()
}

/// Differences of the outputs that were recorded from those of a program, in units of the specified bounds, in so many looks.
fn residuals(search: &mut Search, edit: Edit, looks: usize) -> Option<Vec<f64>> {
    let program = edit.apply(&mut search.graph, &search.program);
    let (case, graph) = (search.case, &search.graph);
    let seqlen = case.problem.shape.seqlen;
    let (got, bounds) = (&case.got[TensorName::Out].values, &case.budget.tensors[TensorName::Out].bound);
    let mut all = Vec::new();
    for look in search.looks.all.iter_mut().take(looks) {
        case.work.add_positions(case.problem, look.window.len);
        let row = look.evaluator.out(graph, &program);
        let from = look.row * seqlen + look.window.first;
        let of = row.values.iter().zip(&got[from..]).zip(&bounds[from..]);
        all.extend(of.map(|((value, got), bound)| (got - value) / bound));
    }
    search.graph.truncate(search.nodes);
    search.looks.truncate(search.nodes);
    (!all.is_empty() && all.iter().all(|r| r.is_finite())).then_some(all)
}
