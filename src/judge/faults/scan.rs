//! The scan of a [`Variant`] over one channel, in f64, with a bound on what a sound f32 kernel with the same
//! fault may be off.
//!
//! The bound is [`crate::judge::budget`]'s recurrence on the variant's own magnitudes, with coefficients'
//! errors to first order. It says how closely a recorded output must match a fault model, not whether a
//! kernel is right.

use num_complex::Complex64;

use super::step::{self, Bounded};
use super::variant::{BUse, Bias, Directions, Gate, LastState, Readout, Reversed, Sum, Tail, Variant};
use crate::formula::Form;
use crate::judge::budget::{self, complex_at};
use crate::judge::ulp::Format;
use crate::method::Method;
use crate::problem::{InputType, Operand, Problem};
use crate::promise::allowance::{self, Arithmetic, HALF_SUBNORMAL, SUM, U};
use crate::tensor::{Named, TensorName};

/// One channel of a tensor, as a variant computes it.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// As a kernel lays them out: re and im of complex elements in turn.
    pub values: Vec<f64>,
    /// One for each element.
    pub bound: Vec<f64>,
}

/// What a variant computes for one channel.
#[derive(Clone, Debug)]
pub struct Channel {
    pub tensors: Named<Row>,
    /// Whether some state leaves the range of f32: what a kernel returns from there on depends on how it
    /// associates the scan.
    pub overflows: bool,
}

/// One position's map x → a x + b.
#[derive(Clone, Copy)]
struct Map {
    a: Bounded,
    b: Bounded,
}

/// Runs `variant` over one channel of the problem.
pub fn channel(variant: &Variant, problem: &Problem, channel: (usize, usize)) -> Channel {
    let run = VariantScan { variant, problem, channel };
    let seqlen = problem.shape.seqlen;
    let steps: Vec<(f64, f64)> = (0..seqlen).map(|l| run.step_size(l)).collect();
    let mut forward = vec![Bounded::default(); seqlen];
    let mut backward = forward.clone();
    let mut magnitude = vec![0.0; seqlen];
    let (mut out, mut last_state, mut overflows) = (Row::default(), Row::default(), false);
    for n in 0..problem.shape.dstate {
        let maps: Vec<Map> = (0..seqlen).map(|l| run.map(n, l, &steps)).collect();
        let mut last = run.add_states(n, &maps, &steps, false, &mut forward, &mut magnitude);
        overflows |= last.overflows;
        match variant.last_state {
            LastState::Right => {}
            LastState::WithoutB => last = run.state_of_u(n, &steps),
            LastState::ChunkEarly(length) => {
                let before = (seqlen - 1) / length * length;
                last = run.state_after(n, &maps[..before], &steps);
            }
            LastState::Doubled => {
                last.state = Bounded { value: last.state.value * 2.0, error: last.state.error * 2.0 };
            }
        }
        overflows |= last.overflows;
        let last = last.state;
        last_state.values.extend(&[last.value.re, last.value.im][..problem.weights.width()]);
        last_state.bound.push(last.error + HALF_SUBNORMAL);
        if variant.bidirectional {
            let last = run.add_states(n, &maps, &steps, true, &mut backward, &mut magnitude);
            overflows |= last.overflows;
        }
    }
    for l in 0..seqlen {
        let (value, bound) = run.output(l, forward[l], backward[l], magnitude[l]);
        out.values.push(value);
        out.bound.push(bound);
    }
    let tensors = [(TensorName::Out, out), (TensorName::LastState, last_state)].into_iter().collect();
    Channel { tensors, overflows }
}

/// The outputs at the first `len` positions, as [`channel`] has them; none where these depend on later ones.
pub fn beginning(variant: &Variant, problem: &Problem, channel: (usize, usize), len: usize) -> Option<Row> {
    if variant.bidirectional {
        return None;
    }
    let run = VariantScan { variant, problem, channel };
    let steps: Vec<(f64, f64)> = (0..len).map(|l| run.step_size(l)).collect();
    let (mut forward, mut magnitude) = (vec![Bounded::default(); len], vec![0.0; len]);
    for n in 0..problem.shape.dstate {
        let maps: Vec<Map> = (0..len).map(|l| run.map(n, l, &steps)).collect();
        run.add_states(n, &maps, &steps, false, &mut forward, &mut magnitude);
    }
    let outputs = (0..len).map(|l| run.output(l, forward[l], Bounded::default(), magnitude[l]));
    let (values, bound) = outputs.unzip();
    Some(Row { values, bound })
}

struct Last {
    state: Bounded,
    overflows: bool,
}

struct VariantScan<'a> {
    variant: &'a Variant,
    problem: &'a Problem,
    channel: (usize, usize),
}

impl VariantScan<'_> {
    fn ignored(&self, l: usize) -> bool {
        let seqlen = self.problem.shape.seqlen;
        match self.variant.tail {
            Tail::Whole => false,
            Tail::LastIgnored => l + 1 == seqlen,
            Tail::Ignored(width) => l >= seqlen - seqlen % width,
        }
    }

    /// Δ and its relative error, as [`crate::judge::budget::step_size`].
    fn step_size(&self, l: usize) -> (f64, f64) {
        let (problem, variant) = (self.problem, self.variant);
        let delta = f64::from(problem.delta[problem.sequence_index(self.channel.0, self.channel.1, l)]);
        let bias = problem.delta_bias.as_ref().map(|bias| f64::from(bias[self.channel.1]));
        let mut x = delta;
        let mut error = 0.0;
        if let (Some(bias), Bias::Right) = (bias, variant.bias) {
            (x, error) = (x + bias, U);
        }
        if let (true, Some(above)) = (problem.delta_softplus, variant.softplus_above)
            && x <= above
        {
            let softplus = budget::softplus(x);
            let sigmoid = 1.0 / (1.0 + (-x).exp());
            error = (x * sigmoid / softplus).abs() * error + allowance::SOFTPLUS;
            x = softplus;
        }
        if let (Some(bias), Bias::AfterSoftplus) = (bias, variant.bias) {
            let sum = x + bias;
            (x, error) = (sum, (x * error / sum).abs() + U);
        }
        let step = variant.clamp.of(variant.step_delta.of(x));
        // A square doubles it, and clamps and squares round once more.
        (step, 2.0 * error + U)
    }

    fn operand(&self, operand: Operand, values: &[f32], transposed: bool, n: usize, l: usize) -> Complex64 {
        let (problem, (batch, channel)) = (self.problem, self.channel);
        let shape = problem.shape;
        let width = problem.weights.width();
        let index = match operand {
            Operand::Constant if transposed => (n * shape.dim + channel) * width,
            Operand::Constant => problem.weight_index(channel, n),
            Operand::Variable => {
                let group = if self.variant.group_modulo {
                    channel % shape.groups
                } else {
                    channel / (shape.dim / shape.groups)
                };
                let rows = problem.group_row(batch, group) * shape.dstate * shape.seqlen;
                let within = if transposed { l * shape.dstate + n } else { n * shape.seqlen + l };
                (rows + within) * width
            }
        };
        complex_at(problem.weights, values, index)
    }

    /// What B multiplies u with: 1 where it multiplies C.
    fn b(&self, n: usize, l: usize) -> Complex64 {
        if self.problem.reads_with_b() { Complex64::ONE } else { self.given_b(n, l) }
    }

    fn given_b(&self, n: usize, l: usize) -> Complex64 {
        let b = self.operand(self.problem.b_operand, &self.problem.b, self.variant.b_transposed, n, l);
        step::used(self.variant.b_use, b)
    }

    fn a(&self, n: usize) -> Complex64 {
        let problem = self.problem;
        complex_at(problem.weights, &problem.a, problem.weight_index(self.channel.1, n))
    }

    fn map(&self, n: usize, l: usize, steps: &[(f64, f64)]) -> Map {
        if self.ignored(l) {
            let one = Bounded { value: Complex64::ONE, error: 0.0 };
            return Map { a: one, b: Bounded::default() };
        }
        let (a, b) = (self.a(n), self.b(n, l));
        let (delta, delta_error) = steps[l];
        let u_at = |l: isize| f64::from(self.problem.u_at(self.channel, l));
        let u = u_at(l as isize);
        let t = step::terms(self.variant, delta, delta_error, a);
        let u_of_higher = if self.variant.u_in_higher_terms { u } else { 1.0 };
        let neighbour = if t.neighbour == Complex64::ZERO { 0.0 } else { u_at(l as isize + t.offset) };
        let mut parts = [t.first * b * u, t.higher * b * u_of_higher, t.neighbour * b * neighbour];
        if self.variant.sum == Sum::OuterProducts && self.variant.b_bar == Form::Method(Method::Rk4) {
            parts = self.outer_products(n, l, delta).map(|part| part * u);
        }
        let size: f64 = parts.iter().map(|part| part.norm()).sum();
        // Two products more, with u and with B.
        let mu = allowance::product(self.problem.weights);
        let b_u = Bounded {
            value: parts.iter().sum(),
            error: size * (t.error + 4.0 * mu) + 4.0 * HALF_SUBNORMAL * f64::from(u != 0.0),
        };
        Map { a: step::a_bar(self.variant, delta, delta_error, a), b: b_u }
    }

    /// A²B as a(aᵀB), A³B as a(aᵀAB): the terms of first, second, and third and fourth order in Δ.
    fn outer_products(&self, n: usize, l: usize, delta: f64) -> [Complex64; 3] {
        let (mut ab, mut aab) = (Complex64::ZERO, Complex64::ZERO);
        for m in 0..self.problem.shape.dstate {
            let product = self.a(m) * self.b(m, l);
            ab += product;
            aab += self.a(m) * product;
        }
        let (a, b) = (self.a(n), self.b(n, l));
        let d2 = delta * delta / 2.0;
        [b * delta, a * b * d2, a * (ab * (d2 * delta / 3.0) + aab * (d2 * delta * delta / 12.0))]
    }

    /// The last state where u is scanned in place of B u.
    fn state_of_u(&self, n: usize, steps: &[(f64, f64)]) -> Last {
        let variant = Variant { b_use: BUse::Never, ..*self.variant };
        let run = VariantScan { variant: &variant, ..*self };
        let maps: Vec<Map> = (0..steps.len()).map(|l| run.map(n, l, steps)).collect();
        run.state_after(n, &maps, steps)
    }

    /// The state after these positions.
    fn state_after(&self, n: usize, maps: &[Map], steps: &[(f64, f64)]) -> Last {
        let mut unread = vec![Bounded::default(); maps.len()];
        self.add_states(n, maps, steps, false, &mut unread, &mut vec![0.0; maps.len()])
    }

    /// Adds what state n contributes to y in one direction, as far as there are maps; its last state.
    fn add_states(
        &self,
        n: usize,
        maps: &[Map],
        steps: &[(f64, f64)],
        reverse: bool,
        y: &mut [Bounded],
        magnitude: &mut [f64],
    ) -> Last {
        let (variant, seqlen) = (self.variant, self.problem.shape.seqlen);
        let mu = allowance::product(self.problem.weights);
        let joins = allowance::scan_joins(seqlen) * SUM;
        let growth = (1.0 + mu) * (1.0 + SUM);
        let problem = self.problem;
        let given = problem.initial_state.as_ref().filter(|_| !reverse);
        let initial = |x| complex_at(problem.weights, x, problem.state_index(self.channel, n));
        let mut state = Bounded { value: given.map_or(Complex64::ZERO, |x| initial(x)), error: 0.0 };
        let mut size = state.value.norm();
        // What products of Ā that have underflowed on their own may multiply.
        let mut largest = size.max(1.0);
        let mut overflows = false;
        for k in 0..maps.len() {
            let l = if reverse { seqlen - 1 - k } else { k };
            let Map { mut a, b } = maps[l];
            let edge = if reverse { l + 1 } else { l };
            if reverse && variant.reversed == Reversed::ABarOffByOne && l + 1 < seqlen && !self.ignored(l) {
                let (delta, delta_error) = steps[l + 1];
                a = step::a_bar(variant, delta, delta_error, self.a(n));
            }
            if let Some((length, factor)) = variant.edge
                && edge % length == 0
                && edge > 0
                && edge < seqlen
                && !self.ignored(l)
            {
                a = Bounded { value: a.value * factor, error: a.error * factor };
            }
            let before = state;
            let a_abs = a.value.norm();
            let excess = a.error * growth + a_abs * (growth - 1.0);
            let underflow = 2.0 * HALF_SUBNORMAL * largest * f64::from(size > 0.0);
            state.error = (a_abs + a.error) * growth * state.error
                + excess * size
                + b.error * (1.0 + joins)
                + joins * b.value.norm()
                + underflow;
            size = a_abs * size + b.value.norm();
            largest = largest.max(size + state.error);
            overflows |= size > f64::from(f32::MAX);
            state.value = rounded(a.value * state.value + b.value, variant.state);
            let dropped = match variant.directions {
                Directions::CausalOnly => reverse,
                Directions::BackwardOnly => !reverse,
                _ => false,
            };
            if dropped && variant.bidirectional || self.ignored(l) {
                continue;
            }
            let off_by_one = reverse && variant.reversed == Reversed::OffByOne;
            let read = if off_by_one || problem.reads_before() { before } else { state };
            let mut c = self.operand(self.problem.c_operand, &self.problem.c, variant.c_transposed, n, l);
            if problem.reads_with_b() {
                c *= self.given_b(n, l);
            }
            if variant.readout == Readout::ImaginaryPart {
                c *= -Complex64::I;
            }
            y[l].value += (c * read.value).re;
            y[l].error += c.norm() * read.error;
            let products = if problem.reads_with_b() { 2.0 } else { 1.0 };
            magnitude[l] += products * c.norm() * (read.value.norm() + read.error);
        }
        Last { state, overflows }
    }

    fn output(&self, l: usize, forward: Bounded, backward: Bounded, magnitude: f64) -> (f64, f64) {
        let (variant, problem) = (self.variant, self.problem);
        if self.ignored(l) {
            return (0.0, HALF_SUBNORMAL);
        }
        let mut scale = if variant.readout == Readout::RealPartOnce { 1.0 } else { problem.output_factor() };
        if variant.bidirectional && variant.directions == Directions::Averaged {
            scale *= 0.5;
        }
        let mu = allowance::product(problem.weights);
        let directions = if variant.bidirectional { 2.0 } else { 1.0 };
        let budget::ReadoutRoundings { additions, vanished } =
            budget::ReadoutRoundings::count(problem, directions, Arithmetic::SINGLE);
        let read_out = (mu * (1.0 + U) + additions * SUM) * magnitude + vanished;
        let mut bound = scale * (forward.error + backward.error + read_out);
        let (forward, backward) = (scale * forward.value.re, scale * backward.value.re);
        let index = problem.sequence_index(self.channel.0, self.channel.1, l);
        let skip = problem
            .d
            .as_ref()
            .map_or(0.0, |d| variant.skip * f64::from(d[self.channel.1]) * f64::from(problem.u[index]));
        let size = forward.abs() + backward.abs() + skip.abs();
        bound += 2.0 * SUM * (size + bound);
        let mut value = forward + backward + skip;
        if let (Some(gate), false) = (&problem.z, variant.gate == Gate::Missing) {
            let z = f64::from(gate[index]);
            let sigmoid = 1.0 / (1.0 + (-z).exp());
            let silu = z * sigmoid;
            let (ungated, factor) = match variant.gate {
                Gate::BeforeAverage => (backward, silu),
                Gate::BeforeSkip => (skip, silu),
                Gate::Doubled => (0.0, silu * silu),
                Gate::SigmoidOnly => (0.0, sigmoid),
                Gate::Right | Gate::Missing => (0.0, silu),
            };
            value = (value - ungated) * factor + ungated;
            let widest = factor.abs().max(if ungated == 0.0 { 0.0 } else { 1.0 });
            bound = widest * (bound + 2.0 * allowance::GATE * (size + bound));
            // A subnormal factor is rounded to the grid that subnormals have.
            bound += 2.0 * HALF_SUBNORMAL * (size + bound) * f64::from(z != 0.0);
            if z < allowance::GATE_UNDERFLOW {
                bound += factor.abs() * (size + bound);
            }
        }
        bound += HALF_SUBNORMAL;
        let format = Format::for_input(problem.input);
        if problem.input != InputType::F32 && variant.store_truncated {
            // An f32 just beyond a number of the format is cut off to the one before.
            let [least, stored, most] = [value - bound, value, value + bound].map(|x| format.cut_off(x));
            (value, bound) = (stored, (most - stored).max(stored - least));
        } else if problem.input != InputType::F32 {
            bound += format.rounding_error(value.abs() + bound);
        }
        (value, bound)
    }
}

/// A state stored in `to`: f32 itself is left to the bound.
fn rounded(x: Complex64, to: InputType) -> Complex64 {
    match to {
        InputType::F32 => x,
        narrow => {
            let round = |part: f64| f64::from(narrow.round(part as f32));
            Complex64::new(round(x.re), round(x.im))
        }
    }
}
