//! Δ, and what a kernel's may be off.
//!
//! # Limits
//!
//! Clamping rounds nothing and takes no two numbers further apart, so that a clamped Δ is off by what of its error is beyond the limit:
//! mostly nothing. Its derivative by delta is 0 there. Where a limit is within the error of Δ, a kernel's may be on either side, and its
//! `grad.delta` be 0 or the g that it is without a limit: it may be off by |g| there, which allows as much on the other side of either.

use crate::problem::conventions::StepLimit;
use crate::problem::{Problem, Stage};
use crate::promise::allowance::Arithmetic;

/// Δ at one position, and the relative error that a kernel's Δ may have: the sum with the bias rounds, and
/// softplus multiplies that relative error of x by |x·σ(x)/softplus(x)|.
pub fn step_size(
    problem: &Problem,
    (batch, channel): (usize, usize),
    l: usize,
    arithmetic: Arithmetic,
) -> (f64, f64) {
    let delta = problem.delta[problem.sequence_index(batch, channel, l)];
    let bias = problem.delta_bias.as_ref().map(|bias| bias[channel]);
    step_size_of(delta, bias, (problem.delta_softplus, problem.conventions.limit), arithmetic)
}

/// The same of given numbers.
pub fn step_size_of(
    delta: f32,
    bias: Option<f32>,
    (delta_softplus, limit): (bool, StepLimit),
    arithmetic: Arithmetic,
) -> (f64, f64) {
    let step = unlimited(delta, bias, delta_softplus, arithmetic);
    limited(step, limit, arithmetic.stages.rounding(Stage::Delta).unit)
}

/// Δ within limits, and its relative error: what of the error is beyond the limit, since clamping rounds nothing and takes no two
/// numbers further apart. A stage of fewer bits has the limit in them, too, and errs by `unit`. An error of one that is clamped to 0 is
/// none: roundings change no sign.
pub fn limited((delta, error): (f64, f64), limit: StepLimit, unit: f64) -> (f64, f64) {
    let clamped = limit.of(delta);
    if clamped == delta || clamped == 0.0 {
        return (clamped, if clamped == delta { error } else { 0.0 });
    }
    let left = (error * delta.abs() - (delta - clamped).abs()).max(0.0);
    (clamped, left / clamped.abs() + unit)
}

/// Derivative of the clamped Δ by Δ, and the error that a kernel's may have: where the limit is within the error of Δ, its Δ
/// may be on either side.
pub fn limit_slope(
    problem: &Problem,
    (batch, channel): (usize, usize),
    l: usize,
    arithmetic: Arithmetic,
) -> (f64, f64) {
    let limit = problem.conventions.limit;
    if limit.is_none() {
        return (1.0, 0.0);
    }
    let delta = problem.delta[problem.sequence_index(batch, channel, l)];
    let bias = problem.delta_bias.as_ref().map(|bias| bias[channel]);
    let (step, error) = unlimited(delta, bias, problem.delta_softplus, arithmetic);
    let off = error * step.abs();
    let is_near = limit.ends().iter().any(|&end| off > 0.0 && (step - f64::from(end)).abs() <= off);
    (limit.slope(step), if is_near { 1.0 } else { 0.0 })
}

/// Δ before its limits.
fn unlimited(delta: f32, bias: Option<f32>, delta_softplus: bool, arithmetic: Arithmetic) -> (f64, f64) {
    let delta = f64::from(delta);
    let rounding = arithmetic.stages.rounding(Stage::Delta);
    let (x, sum_error) = match bias {
        Some(bias) => (delta + f64::from(bias), arithmetic.unit + rounding.unit),
        None => (delta, 0.0),
    };
    if !delta_softplus {
        let underflow = if sum_error > 0.0 && x != 0.0 { rounding.underflow / x.abs() } else { 0.0 };
        return (x, sum_error + underflow);
    }
    let softplus = softplus(x);
    let sigmoid = 1.0 / (1.0 + (-x).exp());
    // Both vanish together as x → −∞, where softplus(x) → eˣ and its conditioning → |x|.
    let conditioning = if softplus > 0.0 { (x * sigmoid / softplus).abs() } else { x.abs() };
    // A subnormal Δ is rounded to the grid that subnormals have.
    let underflow = 2.0 * arithmetic.underflow + rounding.underflow;
    let subnormal = if softplus > 0.0 { underflow / softplus } else { 0.0 };
    // log(1 + eˣ) as it stands: the sum is at least 1, and its rounding an error of u in the logarithm.
    let naive = arithmetic.stages.naive_softplus && softplus > 0.0;
    let rounded_sum = if naive { 2.0 * arithmetic.unit / softplus } else { 0.0 };
    let functions = arithmetic.softplus() + arithmetic.fast_softplus(x, softplus);
    let error = conditioning * sum_error + functions + subnormal + rounded_sum;
    (softplus, error + rounding.unit * (1.0 + error))
}

/// log(1 + eˣ); x itself where e⁻ˣ is nothing beside it.
pub fn softplus(x: f64) -> f64 {
    if x > 40.0 { x } else { x.exp().ln_1p() }
}
