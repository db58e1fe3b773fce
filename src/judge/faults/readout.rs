//! From what the states of a [`super::variant::Variant`] add up to, to its outputs: readout, skip, gate and store.

use num_complex::Complex64;

use super::around::{Finish, GateFunction, Gated, Limited, Residual, Stage, limited};
use super::inputs::Read;
use super::place::Input;
use super::scan::is_beyond;
use super::step::Bounded;
use super::variant::{Directions, Readout};
use crate::judge::budget;
use crate::judge::ulp::Format;
use crate::problem::InputType;
use crate::promise::allowance::{self, Arithmetic, HALF_SUBNORMAL, SUM, U};
use crate::tensor::TensorName;

/// What C has read of the states at one position, in each direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    pub forward: Bounded,
    pub backward: Bounded,
    /// Σ |C x| with its errors.
    pub magnitude: f64,
    /// Whether a state that is read has left the range of f32.
    pub beyond: bool,
}

/// What Σ Re C x is multiplied with.
fn scale(read: &Read) -> f64 {
    let Read { variant, problem, .. } = read;
    let mut scale = if variant.readout == Readout::RealPartOnce { 1.0 } else { problem.output_factor() };
    if variant.bidirectional && variant.directions == Directions::Averaged {
        scale *= 0.5;
    }
    scale *= variant.readout_factor;
    if variant.skip_of_readout { scale * (1.0 + skip_factor(read)) } else { scale }
}

/// What the skip multiplies.
fn skip_factor(read: &Read) -> f64 {
    let Read { variant, problem, .. } = read;
    problem
        .d
        .as_ref()
        .filter(|_| variant.skip != 0.0)
        .map_or(0.0, |d| variant.skip * if variant.skip_has_d { read.of_channel(Input::D, d) } else { 1.0 })
}

fn skip(read: &Read, l: usize) -> f64 {
    let skip = match (read.variant.skip_of_readout, skip_factor(read)) {
        (true, _) | (_, 0.0) => 0.0,
        (false, factor) => factor * read.u_of_skip[l],
    };
    if read.variant.residual == Residual::BeforeGate { skip + read.u_given[l] } else { skip }
}

/// What is added behind the gate.
fn after_gate(read: &Read, l: usize) -> f64 {
    if read.variant.residual == Residual::AfterGate { read.u_given[l] } else { 0.0 }
}

/// The output as gain·Σ Re C x + offset; none where it is more than that.
pub fn gain_and_offset(read: &Read, l: usize) -> Option<(f64, f64)> {
    let (scale, skip) = (scale(read), skip(read, l));
    let gate = match read.variant.gate {
        GateFunction::One => 1.0,
        GateFunction::OfOutput => return None,
        _ if read.z.is_empty() => 1.0,
        gate => gate.of(read.z[l], read.u_given[l], 0.0),
    };
    let added = after_gate(read, l);
    match read.variant.gated {
        Gated::All => Some((scale * gate, skip * gate + added)),
        Gated::Readout => Some((scale * gate, skip + added)),
        Gated::Skip => Some((scale, skip * gate + added)),
        Gated::ForwardAndSkip => None,
    }
}

/// The output at a position of the scan, what a sound f32 kernel with the same fault may be off, and whether that need be no
/// number.
pub fn output(read: &Read, l: usize, sums: Sums) -> (f64, f64, bool) {
    let Read { variant, problem, .. } = read;
    let Sums { forward, backward, magnitude, beyond } = sums;
    let scale = scale(read);
    let mu = allowance::product(problem.weights);
    let directions = if variant.bidirectional { 2.0 } else { 1.0 };
    let budget::ReadoutRoundings { additions, vanished } =
        budget::ReadoutRoundings::count(problem, directions, Arithmetic::SINGLE);
    let mut scaled = if variant.readout_factor == 1.0 { 0.0 } else { 2.0 * U };
    if variant.skip_of_readout {
        // A product and a sum, whose terms may cancel.
        let d = skip_factor(read);
        scaled += 2.0 * U * (1.0 + d.abs()) / (1.0 + d).abs().max(f64::MIN_POSITIVE);
    }
    let read_out = (mu * (1.0 + U) + additions * SUM + scaled) * magnitude + vanished;
    let mut bound = scale.abs() * (forward.error + backward.error + read_out);
    let part = |sum: Complex64| scale * sum.re;
    let (mut forward, mut backward) = (part(forward.value), part(backward.value));
    let limits = variant.limits[Limited::Sum as usize];
    if limits != (f64::NEG_INFINITY, f64::INFINITY) {
        (forward, backward) = (limited(limits, forward + backward), 0.0);
    }
    let of_sum = variant.stages[Stage::Sum as usize];
    if of_sum != InputType::F32 {
        let sum = Bounded { value: (forward + backward).into(), error: bound }.rounded(of_sum);
        (forward, backward, bound) = (sum.value.re, 0.0, sum.error);
    }
    let skip = skip(read, l);
    let size = forward.abs() + backward.abs() + skip.abs();
    // By values alone: a bound may be infinite where nothing is.
    let beyond = beyond || is_beyond(size, Format::F32);
    bound += 2.0 * SUM * (size + bound);
    let mut value = forward + backward + skip;
    if !read.z.is_empty() && variant.gate != GateFunction::One {
        let z = read.z[l];
        let ungated = match variant.gated {
            Gated::All => 0.0,
            Gated::ForwardAndSkip => backward,
            Gated::Readout => skip,
            Gated::Skip => forward + backward,
        };
        let factor = variant.gate.of(z, read.u_given[l], value - ungated);
        value = (value - ungated) * factor + ungated;
        // The derivative of y·sigmoid(y) exceeds sigmoid by at most 0.3.
        let steepest =
            factor.abs() + if variant.gate == GateFunction::OfOutput { 0.3 * z.abs() } else { 0.0 };
        let widest = steepest.max(if ungated == 0.0 { 0.0 } else { 1.0 });
        // The error function and tanh are off 1 by a rounding, however small their sum is.
        let cancelled = match variant.gate {
            GateFunction::Gelu | GateFunction::GeluByTanh => 2.0 * U * z.abs(),
            _ => 0.0,
        };
        bound = widest * (bound + 2.0 * allowance::GATE * (size + bound)) + cancelled * (size + bound);
        // A subnormal factor is rounded to the grid that subnormals have.
        bound += 2.0 * HALF_SUBNORMAL * (size + bound) * f64::from(z != 0.0);
        if z < allowance::GATE_UNDERFLOW {
            bound += factor.abs() * (size + bound);
        }
    }
    if variant.residual != Residual::None {
        // One sum more.
        value += after_gate(read, l);
        bound += 2.0 * SUM * (value.abs() + after_gate(read, l).abs() + size);
    }
    bound += HALF_SUBNORMAL;
    if variant.finish != Finish::Given {
        value = variant.finish.of(value);
        bound = 1.1 * bound + 2.0 * allowance::GATE * value.abs();
    }
    let is_infinite = is_beyond(value.abs(), Format::for_input(problem.stored(TensorName::Out)));
    let (value, bound) = stored(read, value, bound);
    (value, bound, beyond || is_infinite)
}

/// Rounded to the type of out.
fn stored(read: &Read, mut value: f64, mut bound: f64) -> (f64, f64) {
    let of_out = read.problem.stored(TensorName::Out);
    let format = Format::for_input(of_out);
    if of_out != InputType::F32 && read.variant.store_truncated {
        // An f32 just beyond a number of the format is cut off to the one before.
        let [least, stored, most] = [value - bound, value, value + bound].map(|x| format.cut_off(x));
        (value, bound) = (stored, (most - stored).max(stored - least));
    } else if of_out != InputType::F32 {
        bound += format.rounding_error(value.abs() + bound);
    }
    (value, bound)
}
