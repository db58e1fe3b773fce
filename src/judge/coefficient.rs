//! The verdict on Ā and B̄ themselves, element by element, against the kernels' accuracy contract
//! ([`crate::promise::contract`]), whatever z; of lifted ones likewise.

use num_complex::Complex64;

use super::budget::complex_at;
use super::model;
use super::ulp::Format;
use super::verdict::{Distance, Element, worst};
use crate::hexfloat;
use crate::method::Method;
use crate::problem::{CoefficientProblem, Weights};
use crate::promise::allowance::{Arithmetic, HALF_SUBNORMAL, U};
use crate::promise::contract::{Contract, Units};
use crate::results::{CoefficientPoint, Verdict, Worst};

/// Ā and B̄ of one sweep, judged.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub verdict: Verdict,
    pub worst_a_bar: Option<Worst>,
    pub worst_b_bar: Option<Worst>,
    pub points: Vec<CoefficientPoint>,
}

/// Judges computed coefficients against the truth's, all (n)·w, by the kernel's contract.
pub fn judge<T: Copy + Into<f64>>(
    method: Method,
    problem: &CoefficientProblem,
    got: (&[T], &[T]),
    want: (&[f64], &[f64]),
    contract: &Contract,
) -> Judgement {
    let bounds = bounds(method, problem, want, contract);
    let inputs = |i: usize| inputs(problem, &["delta", "A", "B", "z"], i);
    let (a_distances, worst_a_bar) = compare("a_bar", problem, &inputs, (got.0, want.0), &bounds.0);
    let (b_distances, worst_b_bar) = compare("b_bar", problem, &inputs, (got.1, want.1), &bounds.1);
    let fails = |worst: &Option<Worst>| worst.as_ref().is_some_and(|w| w.ratio.is_nan() || w.ratio > 1.0);
    let bounded = bounds.0.iter().chain(&bounds.1).all(|bound| bound.is_finite());
    let verdict = match fails(&worst_a_bar) || fails(&worst_b_bar) {
        true => Verdict::Fail,
        // An infinite bound judges nothing, nor do no elements.
        false if bounded && worst_a_bar.is_some() && worst_b_bar.is_some() => Verdict::Pass,
        false => Verdict::Unmeasured,
    };
    let points = a_distances
        .iter()
        .zip(&b_distances)
        .enumerate()
        .map(|(i, (&(a_bar_ulp, a_bar_allowed), &(b_bar_ulp, b_bar_allowed)))| {
            let z = z_at(problem, i);
            CoefficientPoint { z_re: z.re, z_im: z.im, a_bar_ulp, b_bar_ulp, a_bar_allowed, b_bar_allowed }
        })
        .collect();
    Judgement { verdict, worst_a_bar, worst_b_bar, points }
}

/// What each Ā and each B̄ (n) may be off, normwise: the contract's share of the exact value, what the kernel's own
/// roundings of z move ([`model::step`]), and two underflows. Where z = 0 every method's Ā is exactly 1, and B̄ is
/// exactly 0 where Δ or B is: nothing rounds.
pub fn bounds(
    method: Method,
    problem: &CoefficientProblem,
    want: (&[f64], &[f64]),
    contract: &Contract,
) -> (Vec<f64>, Vec<f64>) {
    let width = problem.weights.width();
    let size = |values: &[f64], i: usize| {
        values[i * width..(i + 1) * width].iter().fold(0.0, |n: f64, x| n.hypot(*x))
    };
    let units =
        (contract.a_bar_error(method, problem.weights), contract.b_bar_error(method, problem.weights));
    let moved = Contract { units: Units::default(), ..*contract };
    // The truth is rounded to f64, which shows once the kernel computes in it.
    let rounded = if contract.arithmetic == Arithmetic::DOUBLE { contract.arithmetic.unit } else { 0.0 };
    (0..problem.delta.len())
        .map(|i| {
            let a = complex_at(problem.weights, &problem.a, i * width);
            let b = complex_at(problem.weights, &problem.b, i * width);
            let delta = (f64::from(problem.delta[i]), 0.0);
            let step = model::step(method, problem.weights, delta, a, b, &moved);
            let a_bound = if delta.0 == 0.0 || a == Complex64::ZERO {
                0.0
            } else {
                (units.0 + rounded) * size(want.0, i) + step.a_bar_error
            };
            let b_bound = if delta.0 == 0.0 || b == Complex64::ZERO {
                0.0
            } else {
                (units.1 + rounded) * size(want.1, i) + step.b_bar_error + 2.0 * contract.arithmetic.underflow
            };
            // What comes of infinities bounds nothing.
            let bound = |value: f64| if value.is_nan() { f64::INFINITY } else { value };
            (bound(a_bound), bound(b_bound))
        })
        .unzip()
}

fn z_at(problem: &CoefficientProblem, i: usize) -> Complex64 {
    complex_at(problem.weights, &problem.a, i * problem.weights.width()) * f64::from(problem.delta[i])
}

fn complex_of<T: Copy + Into<f64>>(values: &[T], width: usize, i: usize) -> Complex64 {
    Complex64::new(values[i * width].into(), if width == 2 { values[i * width + 1].into() } else { 0.0 })
}

/// What an element is computed from, of these.
pub(super) fn inputs(problem: &CoefficientProblem, of: &[&str], i: usize) -> Vec<String> {
    let weight = |values: &[f32]| match problem.weights {
        Weights::Real => format!("{:e}", values[i]),
        Weights::Complex => format!("{:e}{:+e}i", values[2 * i], values[2 * i + 1]),
    };
    let z = z_at(problem, i);
    let all = [
        ("delta", format!("{:e}", problem.delta[i])),
        ("A", weight(&problem.a)),
        ("B", weight(&problem.b)),
        ("z", format!("{:e}{:+e}i", z.re, z.im)),
    ];
    let asked = all.into_iter().filter(|(name, _)| of.contains(name));
    asked.map(|(name, value)| format!("{name} = {value}")).collect()
}

/// The distance of each element and its bound (ulps for real, units of 2⁻²⁴ for complex weights), and the worst one, with what
/// `inputs` says of it.
pub(super) fn compare<T: Copy + Into<f64>>(
    tensor: &str,
    problem: &CoefficientProblem,
    inputs: &dyn Fn(usize) -> Vec<String>,
    (got, want): (&[T], &[f64]),
    bounds: &[f64],
) -> (Vec<(f64, f64)>, Option<Worst>) {
    let width = problem.weights.width();
    let mut shown = Vec::with_capacity(problem.delta.len());
    let mut worst_at: Option<(usize, Element, Distance)> = None;
    for (i, &bound) in bounds.iter().enumerate() {
        let (got, want) = (complex_of(got, width, i), complex_of(want, width, i));
        let (element, distance) = match problem.weights {
            Weights::Real => {
                let element = Element { got: got.re, want: want.re, bound, store: 0.0 };
                (element, element.distance(Format::F32))
            }
            Weights::Complex => complex_distance(got, want, bound),
        };
        let unit = match problem.weights {
            Weights::Real => Format::F32.ulp(want.re),
            Weights::Complex => unit_of(want),
        };
        shown.push((distance.ulp, bound / unit));
        let is_worst = worst_at.is_none_or(|(_, _, worst)| distance.ratio > worst.ratio);
        if bound.is_finite() && is_worst {
            worst_at = Some((i, element, distance));
        }
    }
    let worst = worst_at.map(|(i, element, distance)| {
        let shown = worst(tensor, vec![i], element, distance, inputs(i));
        match problem.weights {
            Weights::Real => shown,
            Weights::Complex => {
                let [got, want] = [complex_of(got, width, i), complex_of(want, width, i)];
                let [got_parts, want_parts] = [got, want].map(|value| vec![value.re, value.im]);
                let hex =
                    |parts: &[f64]| parts.iter().map(|&x| hexfloat::f64(x)).collect::<Vec<_>>().join(", ");
                let (got_hex, want_hex) = (hex(&got_parts), hex(&want_parts));
                Worst { got_hex, want_hex, got_parts, want_parts, ..shown }
            }
        }
    });
    (shown, worst)
}

/// Shown by modulus: got and want are |got| and |want|, the error is |got − want|. A part beyond f32's range is right
/// where it is the infinity of its sign, and is then no part of the error.
fn complex_distance(got: Complex64, want: Complex64, bound: f64) -> (Element, Distance) {
    let element = Element { got: got.norm(), want: want.norm(), bound, store: 0.0 };
    let part = |got, want| Element { got, want, bound, store: 0.0 }.distance(Format::F32).error;
    let error = part(got.re, want.re).hypot(part(got.im, want.im));
    let distance = if !error.is_finite() || bound.is_nan() || !want.norm().is_finite() {
        Distance::BROKEN
    } else if error == 0.0 {
        Distance::NONE
    } else {
        let ratio = error / bound;
        Distance { error, ratio, share: ratio, ulp: error / unit_of(want) }
    };
    (element, distance)
}

/// 2⁻²⁴ of the modulus; half a subnormal at least.
fn unit_of(want: Complex64) -> f64 {
    (U * want.norm()).max(HALF_SUBNORMAL)
}
