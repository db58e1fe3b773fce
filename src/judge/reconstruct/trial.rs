//! What is said of a step function, tried at steps that no search has asked for: ordinary ones, with |z| from 2⁻¹² to 16, and
//! any B and u.

use num_complex::Complex64;

use super::conditions::Condition;
use super::expansion::{Point, Probe, Which};
use super::fit::blurred;
use super::places::Content;
use super::{NAMES, Reconstruction, Says, difference};
use crate::problem::Weights;

/// Steps that are tried.
const STEPS: u32 = 240;

/// What is nearer than this to what is said is that, relative to the sum of the moduli of its terms: borders and numbers are
/// known to a few digits, and what is off by less is not seen.
const NEAR: f64 = 1e-3;

/// Borders are known to three digits: so near to one of them nothing is tried.
const BORDER: f64 = 0.01;

/// Steps whose sizes, angles and factors are spread evenly: multiples of numbers that no few of them bring back.
fn steps(weights: Weights) -> Vec<Point> {
    let spread = |i: u32, by: f64| (f64::from(i) * by).fract();
    let between = |from: f64, to: f64, share: f64| from + (to - from) * share;
    let single = |x: f64| f64::from(x as f32);
    let step = |i: u32| {
        let delta = between(-10.0, 3.0, spread(i, 2f64.sqrt())).exp2();
        let size = between(-12.0, 4.0, spread(i, 3f64.sqrt())).exp2() / delta;
        let sign = if i.is_multiple_of(3) { 1.0 } else { -1.0 };
        let part = |by: f64| single(between(-2.0, 2.0, spread(i, by)));
        let (a, b) = match weights {
            Weights::Real => (Complex64::from(sign * size), Complex64::from(part(7f64.sqrt()))),
            Weights::Complex => {
                let angle = std::f64::consts::TAU * spread(i, 5f64.sqrt());
                (Complex64::from_polar(size, angle), Complex64::new(part(7f64.sqrt()), part(11f64.sqrt())))
            }
        };
        Point {
            delta: single(delta),
            a: Complex64::new(single(a.re), single(a.im)),
            b,
            u: part(13f64.sqrt()),
        }
    };
    (1..=STEPS).map(step).collect()
}

/// The coefficients that are something else than is said at some of the steps that are tried, and at how many of them.
pub fn not_all(found: &Reconstruction, probe: &Probe) -> Vec<(Which, String)> {
    let points = steps(probe.weights);
    let Some(got) = probe.ask(&points) else { return Vec::new() };
    let sentence = |&(which, name): &(Which, &str)| {
        let elements = points.iter().zip(&got);
        let tried: Vec<bool> =
            elements.filter_map(|(point, step)| holds(found, which, point, step[which as usize])).collect();
        let others = tried.iter().filter(|holds| !**holds).count();
        let is_named = found.statements.iter().any(|one| one.which == which);
        let is = if is_named { "something else" } else { "not the specified one" };
        let text = format!("at {others} of {} other steps {name} is {is}", tried.len());
        (others > 0).then_some((which, text))
    };
    NAMES.iter().filter_map(sentence).collect()
}

/// Whether what is said of a coefficient at a point is what is returned there; none where that cannot be told.
fn holds(found: &Reconstruction, which: Which, point: &Point, got: Complex64) -> Option<bool> {
    let near_border = |says: &Says| match says {
        Says::At(place) => match place.condition {
            Condition::Below(measure, end) | Condition::Above(measure, end) => {
                (measure.of(point) / end - 1.0).abs() < BORDER
            }
            Condition::Exactly(..) => false,
        },
        _ => false,
    };
    if blurred(point.z()) > NEAR || found.statements.iter().any(|one| near_border(&one.says)) {
        return None;
    }
    let within = |(value, size): (Complex64, f64), share: f64| {
        let can_be_told = value.is_finite() && size < 1e30;
        can_be_told.then(|| (got - value).norm() <= share * size)
    };
    let is = |want: (Complex64, f64)| within(want, NEAR);
    let right = difference::specified(found.form, which);
    let in_general = || {
        let general = found.statements.iter().find_map(|one| match &one.says {
            Says::Is(expansion, _) if one.which == which => Some(expansion),
            _ => None,
        });
        general.unwrap_or(&right).value(point)
    };
    match found.said(which, point).map(|at| &found.statements[at].says) {
        None => is(right.value(point)),
        // Beyond its side it may be as specified.
        Some(Says::Is(expansion, (_, side))) => {
            let is_it = is(expansion.value(point))?;
            Some(is_it || !side(&point.z()) && is(right.value(point))?)
        }
        Some(Says::Of(replaced)) => is(right.value(&(replaced.moved)(point))),
        Some(Says::At(place)) => match &place.content {
            Content::NotFinite => Some(!got.is_finite()),
            // However little it differs.
            Content::Unknown => {
                within(in_general(), blurred(point.z())).map(|is_as_elsewhere| !is_as_elsewhere)
            }
            content => is(content.value(point)),
        },
        Some(Says::Permuted) => None,
    }
}
