//! Limits of Δ (spec.md §3): at which positions a step is clamped.

use std::ops::Add;

use super::number::ball::{Ball, Enclosure};
use super::number::elementary::softplus_by_artanh;
use super::number::scalar::Real;
use super::number::wide::Wide;
use crate::problem::Problem;

/// Relative error beyond which f64's softplus decides on its own.
const SURE: f64 = 1e-12;

/// Limit to which the step of a channel d is clamped that is `delta` before bias and softplus; none within the limits and on a
/// border, where it is what it would be without any.
///
/// Without softplus, delta + bias = s + e exactly, with s rounded to f64; the limit l is one, so that s ≠ l decides, and else the sign
/// of e. With softplus Δ is never l: of e^l, e^x and e^0 = 1 with distinct exponents no sum with algebraic factors is 0
/// (Lindemann–Weierstrass), and x = 0 has Δ = ln 2. So 237 bits of Δ decide, unless it is nearer to l than they tell apart: then either is
/// within every bound.
pub fn clamped(problem: &Problem, d: usize, delta: f32) -> Option<f32> {
    let limit = problem.conventions.limit;
    if limit.is_none() {
        return None;
    }
    let bias = problem.delta_bias.as_ref().map_or(0.0, |bias| bias[d]);
    let (x, bias) = (f64::from(delta), f64::from(bias));
    let sum = x + bias;
    let of_bias = sum - x;
    let rest = (x - (sum - of_bias)) + (bias - of_bias);
    // Whether Δ is less than l (−1), equal to it or more.
    let compared = |l: f32| {
        let l = f64::from(l);
        if !problem.delta_softplus {
            return if sum == l { sign(rest) } else { sign(sum - l) };
        }
        if l.is_infinite() || l == 0.0 {
            return if l > 0.0 { -1 } else { 1 };
        }
        let step = sum.max(0.0) + libm::log1p(libm::exp(-sum.abs()));
        if (step - l).abs() > SURE * (l + step) {
            return sign(step - l);
        }
        let raw = Ball::exact(Wide::exact(x)).plus(&Ball::exact(Wide::exact(bias)));
        let apart = softplus_by_artanh(&raw).minus(&Ball::exact(Wide::exact(l)));
        sign(apart.mid.to_nearest_f64())
    };
    let [low, high] = limit.ends();
    match (compared(low), compared(high)) {
        (-1, _) => Some(low),
        (_, 1) => Some(high),
        _ => None,
    }
}

/// Whether some step may be rational.
pub fn may_be_rational(problem: &Problem) -> bool {
    !problem.delta_softplus || !problem.conventions.limit.is_none()
}

/// Δ at a position where it is rational, of numbers that `exact` holds without rounding.
pub fn rational_step<R: Add<Output = R>>(
    problem: &Problem,
    (batch, d): (usize, usize),
    l: usize,
    exact: impl Fn(f32) -> R,
) -> Option<R> {
    let delta = problem.delta[problem.sequence_index(batch, d, l)];
    match (clamped(problem, d, delta), &problem.delta_bias) {
        (Some(limit), _) => Some(exact(limit)),
        (None, _) if problem.delta_softplus => None,
        (None, Some(bias)) => Some(exact(delta) + exact(bias[d])),
        (None, None) => Some(exact(delta)),
    }
}

fn sign(x: f64) -> i8 {
    i8::from(x > 0.0) - i8::from(x < 0.0)
}
