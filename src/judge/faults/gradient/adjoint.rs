//! The adjoint of the selective scan (spec.md §6) as a [`Variant`] has it, in f64.
//!
//! Cotangents are the conjugates of gradients, as there: a factor that a backward pass forgets to conjugate is one that is
//! conjugated here. Real numbers are complex ones without an imaginary part.

use num_complex::Complex64;
use rayon::prelude::*;

use super::variant::{
    Accumulator, Carry, Complex, Edge, Factor, GateSlope, Input, LastState, Length, Misread, Narrow,
    ReversedState, Scale, SlopePart, SoftplusSlope, Store, Variant,
};
use crate::formula::{Form, Formula, Function, Transition};
use crate::judge::lanes::INVERSE_FACTORIALS;
use crate::problem::{Operand, OutputGradients, Problem, Shape};
use crate::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use crate::tensor::{Gradients, InputType, Named, Tensor};

/// Gradients by name, each in the layout of its input.
pub type Sums = Named<Vec<f64>, GradientName>;

/// What is computed of a backward pass.
#[derive(Clone, Debug)]
pub struct Scope {
    pub names: Vec<GradientName>,
    /// Gradients that others have a share in are not whole.
    pub channels: Vec<(usize, usize)>,
    /// One alone, or all.
    pub state: Option<usize>,
}

impl Scope {
    pub fn whole(problem: &Problem) -> Self {
        Scope { names: GradientName::ALL.to_vec(), channels: problem.channels().collect(), state: None }
    }
}

/// Every gradient that a problem has.
pub fn gradients(variant: &Variant, problem: &Problem, given: &OutputGradients) -> Gradients<f64> {
    let values = sums(variant, problem, given, &Scope::whole(problem));
    values.map(|name, values| problem.gradient(name, values.clone()))
}

/// The sums over a scope, 0 where it does not reach.
pub fn sums(variant: &Variant, problem: &Problem, given: &OutputGradients, scope: &Scope) -> Sums {
    let names = [U, Delta, A, B, C, D, Z, DeltaBias, InitialState].into_iter().zip(problem.inputs());
    let names = names.filter(|(name, _)| scope.names.contains(name));
    let zeros = names.filter_map(|(name, (_, values, len))| values.map(|_| (name, vec![0.0; len])));
    let mut sums: Sums = zeros.collect();
    // So many at a time bound the memory without idling a thread.
    for some in scope.channels.chunks(64) {
        let channel = |&at| Channel { variant, problem, given, at }.shares(scope.state);
        let shares: Vec<Vec<Share>> = some.par_iter().with_min_len(8).map(channel).collect();
        for (name, start, values) in shares.into_iter().flatten() {
            let Some(sum) = sums.get_mut(name) else { continue };
            match variant.accumulator {
                Some(accumulator) if is_summed(problem, name) => {
                    let width = problem.gradient::<f64>(name, Vec::new()).width;
                    accumulate(accumulator, &mut sum[start..][..width], &values);
                }
                _ => sum[start..].iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
            }
        }
    }
    store(variant, problem, &mut sums);
    sums
}

/// What is summed over the batch and the positions.
pub fn is_summed(problem: &Problem, name: GradientName) -> bool {
    match name {
        B => problem.b_operand == Operand::Constant,
        C => problem.c_operand == Operand::Constant,
        A | D | DeltaBias => true,
        U | Delta | Z | InitialState => false,
    }
}

/// Adds what each position adds to a sum.
fn accumulate(of: Accumulator, sum: &mut [f64], added: &[f64]) {
    let mut kept = if of.batch { sum.to_vec() } else { vec![0.0; sum.len()] };
    let mut add = |values: &[f64]| {
        for (kept, value) in kept.iter_mut().zip(values) {
            *kept = f64::from(of.kept.round((*kept + value) as f32));
        }
    };
    let positions = added.chunks(sum.len());
    if of.backwards {
        positions.rev().for_each(&mut add)
    } else {
        positions.for_each(&mut add)
    }
    for (sum, kept) in sum.iter_mut().zip(kept) {
        *sum = if of.batch { kept } else { *sum + kept };
    }
}

/// What is wrong with whole tensors.
fn store(variant: &Variant, problem: &Problem, sums: &mut Sums) {
    let Shape { batch, dim, seqlen, groups, .. } = problem.shape;
    let is_exchanged = variant.store == Store::Exchanged && problem.b_operand == problem.c_operand;
    if let (true, Some(b), Some(c)) = (is_exchanged, sums.get(B).cloned(), sums.get(C).cloned()) {
        (sums[B], sums[C]) = (c, b);
    }
    for (name, values) in sums.iter_mut() {
        let Tensor { width, .. } = problem.gradient::<f64>(name, Vec::new());
        let is_summed = is_summed(problem, name);
        let factor = match variant.scale {
            Scale::By(factor) => factor,
            Scale::PerBatch if is_summed => 1.0 / batch as f64,
            Scale::PerPosition if is_summed => 1.0 / seqlen as f64,
            Scale::PerChannel if matches!(name, B | C) && !is_summed => groups as f64 / dim as f64,
            _ => 1.0,
        };
        let largest = f64::from(half::f16::MAX.to_f32());
        for value in values.iter_mut() {
            *value *= factor;
            match variant.store {
                Store::Overflows if value.abs() > largest => *value *= f64::INFINITY,
                Store::Saturates => *value = value.clamp(-largest, largest),
                _ => {}
            }
        }
        if variant.store == Store::Reversed && !is_summed && name != InitialState {
            for row in values.chunks_mut(seqlen * width) {
                row.reverse();
                row.chunks_mut(width).for_each(<[f64]>::reverse);
            }
        }
        if variant.store == Store::OfLogA && name == A {
            for (value, a) in values.chunks_mut(width).zip(problem.a.chunks(width)) {
                put(value, complex(value) * complex(a).conj());
            }
        }
        if width == 2 {
            for value in values.chunks_mut(2) {
                match variant.complex {
                    Complex::Right => {}
                    Complex::Conjugated => value[1] = -value[1],
                    Complex::RealPart => value[1] = 0.0,
                    Complex::PartsExchanged => value.swap(0, 1),
                }
            }
        }
    }
}

/// Of its parts.
fn complex<T: Copy + Into<f64>>(parts: &[T]) -> Complex64 {
    Complex64::new(parts[0].into(), parts.get(1).map_or(0.0, |&im| im.into()))
}

fn put(parts: &mut [f64], value: Complex64) {
    parts[0] = value.re;
    parts.iter_mut().skip(1).for_each(|im| *im = value.im);
}

/// φ₀…φ₄ (spec.md §1), those up to `highest`; what is beyond has no meaning.
fn phis(z: Complex64, highest: usize) -> [Complex64; 5] {
    let mut phis = [z.exp(); 5];
    if highest == 0 {
    } else if z.norm() < 1.0 {
        let term = |sum: Complex64, k: usize| sum * z + INVERSE_FACTORIALS[k + 4];
        phis[4] = (0..16).rev().fold(Complex64::ZERO, term);
        (1..4).rev().for_each(|k| phis[k] = phis[k + 1] * z + INVERSE_FACTORIALS[k]);
    } else {
        (1..=highest).for_each(|k| phis[k] = (phis[k - 1] - INVERSE_FACTORIALS[k - 1]) / z);
    }
    phis
}

/// A derivative of φₖ takes φₖ₊₁.
fn highest_phi(formula: &Formula) -> usize {
    if formula.phis() == 0 { 0 } else { formula.phis() + 1 }
}

/// f and f′.
fn function(of: Function, z: Complex64, phis: &[Complex64; 5]) -> (Complex64, Complex64) {
    match of {
        Function::Phi(0) => (phis[0], phis[0]),
        Function::Phi(k) => (phis[k], phis[k] - phis[k + 1] * k as f64),
        Function::Power(0) => (Complex64::ONE, Complex64::ZERO),
        Function::Power(k) => (z.powu(k as u32), z.powu(k as u32 - 1) * k as f64),
        Function::Resolvent(alpha) => {
            let value = (1.0 - z * alpha.value()).inv();
            (value, value * value * alpha.value())
        }
    }
}

/// Ā and h of one state at one position, each with its derivatives by Δ and by A.
#[derive(Clone, Copy)]
struct Step {
    a_bar: Complex64,
    h: Complex64,
    a_bar_by: [Complex64; 2],
    h_by: [Complex64; 2],
}

impl Step {
    fn new(variant: &Variant, delta: f64, a: Complex64) -> Self {
        let own = Step::of(variant.form, variant, delta, a);
        if variant.slopes_of == variant.form {
            return own;
        }
        Step { a_bar: own.a_bar, h: own.h, ..Step::of(variant.slopes_of, variant, delta, a) }
    }

    fn of(form: Form, variant: &Variant, delta: f64, a: Complex64) -> Self {
        let formula = form.formula();
        let z = a * delta;
        let phis = if formula.is_rational() { [z; 5] } else { phis(z, highest_phi(&formula)) };
        let (a_bar, slope) = match formula.a_bar {
            Transition::Exponential if variant.exponent != 1.0 => [(z * variant.exponent).exp(); 2].into(),
            Transition::Exponential => (phis[0], phis[0]),
            Transition::Quotient(alpha) => {
                let below = (1.0 - z * alpha.value()).inv();
                ((1.0 + z * alpha.complement().value()) * below, below * below)
            }
            Transition::Polynomial(factors) => {
                let term = |(value, slope): (Complex64, Complex64), factor: &crate::formula::Fraction| {
                    (value * z + factor.value(), slope * z + value)
                };
                factors.iter().rev().fold((Complex64::ZERO, Complex64::ZERO), term)
            }
        };
        let slope = if variant.a_bar_as_exponential { a_bar } else { slope };
        // ∂z/∂Δ and ∂z/∂A.
        let [by_delta, by_a] = [a, Complex64::from(delta)];
        let by_delta = if variant.chain[0] { by_delta } else { Complex64::ONE };
        let by_a = if variant.chain[1] { by_a } else { Complex64::ONE };
        let (mut h, mut h_by) = (Complex64::ZERO, [Complex64::ZERO; 2]);
        for (i, term) in formula.now().iter().enumerate() {
            let (f, mut slope) = function(term.of, z, &phis);
            let without = variant.h_slope_without.filter(|&(at, _)| at == i).map(|(_, part)| part);
            let lacks = |part: SlopePart| without == Some(SlopePart::Whole) || without == Some(part);
            if let (Some(SlopePart::Taylor(degree)), Function::Phi(k), true) =
                (without, term.of, z.norm() < 1.0)
            {
                let coefficient = (degree + 1) as f64 * INVERSE_FACTORIALS[degree + 1 + k];
                slope -= z.powu(degree as u32) * coefficient;
            }
            slope *= f64::from(u8::from(!lacks(SlopePart::Argument)));
            let power = delta.powi(term.delta - 1) * term.factor.value();
            h += f * (power * delta);
            let kept = f64::from(u8::from(!lacks(SlopePart::Power))) * variant.h_slope[0];
            let through_power = f * (f64::from(term.delta) * power * kept);
            h_by[0] += through_power + slope * by_delta * (power * delta * variant.h_slope[1]);
            h_by[1] += slope * by_a * (power * delta);
        }
        Step { a_bar, h, a_bar_by: [slope * by_delta, slope * by_a], h_by }
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// A gradient's values from a place on.
type Share = (GradientName, usize, Vec<f64>);

struct Channel<'a> {
    variant: &'a Variant,
    problem: &'a Problem,
    given: &'a OutputGradients,
    at: (usize, usize),
}

/// What the states of a channel share, position by position: as many as the pass runs over.
struct Row {
    u: Vec<f64>,
    /// Δ
    step: Vec<f64>,
    /// Its derivative by delta.
    slope: Vec<f64>,
    /// The gradient of Re Σ C x of a scan.
    read: Vec<f64>,
    is_dropped: Vec<bool>,
}

/// What one state adds.
struct Node {
    y: Vec<f64>,
    u: Vec<f64>,
    delta: Vec<f64>,
    /// One for each position, where their order matters.
    a: Vec<Complex64>,
    b: Vec<Complex64>,
    c: Vec<Complex64>,
    initial: Complex64,
}

/// One direction of a scan.
struct Pass {
    /// The states before and after each step.
    before: Vec<Complex64>,
    after: Vec<Complex64>,
    /// Their cotangents.
    p: Vec<Complex64>,
    /// What arrives at the state before the first step.
    initial: Complex64,
}

impl Channel<'_> {
    /// Of all states, or of one.
    fn shares(&self, only: Option<usize>) -> Vec<Share> {
        let Channel { variant, problem, given, at: (batch, d) } = *self;
        let Shape { batch: batches, dim, dstate, seqlen, groups } = problem.shape;
        let len = match variant.length {
            Length::Right => seqlen,
            Length::PaddedTo(tile) => seqlen.next_multiple_of(tile),
            Length::CutTo(tile) => seqlen / tile * tile,
            Length::WithoutLast => seqlen - 1,
        };
        let start = problem.sequence_index(batch, d, 0);
        let row = |name: GradientName, values: &[f32]| -> Vec<f64> {
            let start = problem.sequence_index(self.read_at(name).0, d, 0);
            let there = values[start..start + seqlen].iter().map(|&x| f64::from(x));
            there.chain(std::iter::repeat(0.0)).take(len).collect()
        };
        let optional = |values: &Option<Vec<f32>>| values.as_ref().map_or(0.0, |values| f64::from(values[d]));
        let (u, raw) = (row(U, &problem.u), row(Delta, &problem.delta));
        let dout: Vec<f64> =
            (0..len).map(|l| if l < seqlen { given.dout[start + l].into() } else { 0.0 }).collect();
        let (bias, skip) = (optional(&problem.delta_bias), optional(&problem.d));
        let z = problem.z.as_ref().map(|z| row(Z, z));
        let gated = |consumer: usize, l: usize| {
            let gate = z.as_ref().map_or(1.0, |z| z[l] * sigmoid(z[l]));
            let ds = dout[l] * gate.powi(i32::from(variant.gates[consumer]));
            self.narrowed(Narrow::Gated, ds.into()).re
        };
        let half = if variant.bidirectional { 0.5 } else { 1.0 };
        let factor = problem.output_factor() * half;
        let read_factor = problem.output_factor().powi(i32::from(variant.output_factors)) * half;
        let slope = |raw: f64| {
            let biased = raw + bias;
            match variant.softplus_slope {
                SoftplusSlope::Missing => 1.0,
                _ if !problem.delta_softplus => 1.0,
                SoftplusSlope::Right => sigmoid(biased),
                SoftplusSlope::WithoutBias => sigmoid(raw),
                SoftplusSlope::OfDelta => sigmoid(softplus(biased)),
                SoftplusSlope::Squared => sigmoid(biased).powi(2),
                SoftplusSlope::Softplus => softplus(biased),
            }
        };
        let step = |raw: f64| if problem.delta_softplus { softplus(raw + bias) } else { raw + bias };
        let row = Row {
            step: raw.iter().map(|&raw| step(raw)).collect(),
            slope: raw.iter().map(|&raw| slope(raw)).collect(),
            read: (0..len).map(|l| gated(0, l) * read_factor).collect(),
            is_dropped: (0..len).map(|l| variant.drops_masked && u[l] == 0.0 && raw[l] == 0.0).collect(),
            u,
        };
        let states: Vec<usize> = only.map_or((0..dstate).collect(), |n| vec![n]);
        let nodes: Vec<Node> = states.iter().map(|&n| self.node(&row, n)).collect();

        let there = len.min(seqlen);
        let sum = |of: fn(&Node) -> &Vec<f64>, picks: bool| -> Vec<f64> {
            let kept = states.iter().zip(&nodes);
            let kept = kept.filter(|&(&n, _)| !picks || variant.states.has(n, dstate, 1));
            kept.fold(vec![0.0; len], |mut sums, (_, node)| {
                sums.iter_mut().zip(of(node)).for_each(|(sum, value)| *sum += value);
                sums
            })
        };
        let (pick, chunk) = variant.positions;
        let is_summed = |l: &usize| pick.has(*l, seqlen, chunk);
        let mut du = sum(|node| &node.u, true);
        let mut ddelta = sum(|node| &node.delta, true);
        for l in 0..len {
            du[l] += variant.skip * skip * gated(1, l);
            ddelta[l] *= row.slope[l];
        }
        let of_d = |l: usize| gated(2, l) * if variant.d_has_u { row.u[l] } else { 1.0 };
        let mut shares = vec![];
        // What each position adds, where their order matters.
        let summed = |values: Vec<f64>| -> Vec<f64> {
            let kept = values.iter().enumerate().filter(|(l, _)| is_summed(l)).map(|(_, value)| *value);
            if variant.accumulator.is_some() { kept.collect() } else { vec![kept.sum()] }
        };
        if variant.batch.has(batch, batches, 1) {
            shares.push((DeltaBias, d, summed(ddelta.clone())));
            shares.push((D, d, summed((0..len).map(of_d).collect())));
        }
        if let Some(z) = &z {
            let y = sum(|node| &node.y, false);
            let of_z = |l: usize| {
                let s = variant.gated[0] * factor * y[l] + variant.gated[1] * skip * row.u[l];
                let (z, silu) = (z[l], z[l] * sigmoid(z[l]));
                let slope = match variant.gate_slope {
                    GateSlope::Right => sigmoid(z) * (1.0 + z * sigmoid(-z)),
                    GateSlope::Sigmoid => sigmoid(z),
                    GateSlope::Silu => silu,
                    GateSlope::OfSigmoid => sigmoid(z) * sigmoid(-z),
                    GateSlope::SignSlip => sigmoid(z) * (1.0 - z * sigmoid(-z)),
                    GateSlope::Parenthesis => sigmoid(z) * (1.0 + z) * sigmoid(-z),
                    GateSlope::WithoutComplement => sigmoid(z) * (1.0 + z),
                    GateSlope::Sum => sigmoid(z) + z * sigmoid(-z),
                    GateSlope::WithoutSigmoid => 1.0 + z * sigmoid(-z),
                    GateSlope::Missing => 1.0,
                };
                dout[l] * s * silu.powi(i32::from(variant.gated_output)) * slope
            };
            shares.push((Z, start, (0..there).map(of_z).collect()));
        }
        du.truncate(there);
        ddelta.truncate(there);
        shares.extend([(U, start, du), (Delta, start, ddelta)]);
        let width = problem.weights.width();
        let parts = |p: &Complex64| [p.re, -p.im].into_iter().take(width);
        for (&n, node) in states.iter().zip(&nodes) {
            if variant.batch.has(batch, batches, 1) {
                shares.push((A, problem.weight_index(d, n), node.a.iter().flat_map(parts).collect()));
            }
            for (name, operand, by) in [(B, problem.b_operand, &node.b), (C, problem.c_operand, &node.c)] {
                let at = self.place(name, Misread::SumInModuloGroup);
                let start = problem.operand_index(operand, at, n, 0);
                let per_group = dim / groups;
                match operand {
                    Operand::Constant if variant.batch.has(batch, batches, 1) => {
                        let kept = (0..len).filter(is_summed).map(|l| by[l]);
                        let kept: Vec<Complex64> = match variant.accumulator {
                            Some(_) => kept.collect(),
                            None => vec![kept.sum()],
                        };
                        shares.push((name, start, kept.iter().flat_map(parts).collect()));
                    }
                    Operand::Variable if variant.group.has(d % per_group, per_group, 1) => {
                        shares.push((name, start, by[..there].iter().flat_map(parts).collect()));
                    }
                    _ => {}
                }
            }
            shares.push((InitialState, problem.state_index(self.at, n), parts(&node.initial).collect()));
        }
        shares
    }

    fn node(&self, row: &Row, n: usize) -> Node {
        let Channel { variant, problem, .. } = *self;
        let (seqlen, len) = (problem.shape.seqlen, row.u.len());
        let width = problem.weights.width();
        let a = complex(&problem.a[problem.weight_index(self.at.1, n)..][..width]);
        let operand = |name: GradientName, values: &[f32], operand: Operand| -> Vec<Complex64> {
            let at = match operand {
                Operand::Constant => self.at,
                Operand::Variable => self.read_at(name),
            };
            let of = |l: usize| complex(&values[problem.operand_index(operand, at, n, l)..][..width]);
            (0..len).map(|l| if l < seqlen { of(l) } else { Complex64::ZERO }).collect()
        };
        let b = operand(B, &problem.b, problem.b_operand);
        let c = operand(C, &problem.c, problem.c_operand);
        let steps: Vec<Step> = row.step.iter().map(|&delta| Step::new(variant, delta, a)).collect();
        let with_b = problem.reads_with_b();
        // What multiplies h u, and what multiplies the states that are read.
        let force = |l: usize| if with_b { Complex64::ONE } else { b[l] };
        let reads: Vec<Complex64> = (0..len).map(|l| if with_b { c[l] * b[l] } else { c[l] }).collect();
        let forces: Vec<Complex64> = (0..len).map(force).collect();
        let passes: Vec<Pass> = [false, true][..1 + usize::from(variant.bidirectional)]
            .iter()
            .map(|&reversed| self.pass(row, n, &steps, (&forces, &reads), reversed))
            .collect();

        let by = |factor: Factor, value: Complex64| self.as_conjugated(factor, value);
        let weight = |input: Input, l: usize| match input {
            Input::Right => steps[l].h,
            Input::WithoutDelta if row.step[l] == 0.0 => Complex64::ZERO,
            Input::WithoutDelta => steps[l].h / row.step[l],
            Input::Missing => Complex64::ONE,
        };
        let mut node = Node {
            y: vec![0.0; len],
            u: vec![0.0; len],
            delta: vec![0.0; len],
            a: vec![],
            b: vec![Complex64::ZERO; len],
            c: vec![Complex64::ZERO; len],
            initial: passes[0].initial,
        };
        let (pick, chunk) = variant.positions;
        let one = variant.accumulator.is_none();
        node.a.extend(one.then_some(Complex64::ZERO));
        for l in 0..len {
            let [mut p, mut by_a_bar, mut seen, mut y] = [Complex64::ZERO; 4];
            for (i, (pass, direction)) in passes.iter().zip(self.directions()).enumerate() {
                let side = if i == 0 { ReversedState::Right } else { variant.reversed_state };
                let multiplied = match side {
                    ReversedState::Right if self.edge(len, l, i == 1) == Some(Edge::Unread) => {
                        Complex64::ZERO
                    }
                    ReversedState::Right if variant.a_bar_reads_after => pass.after[l],
                    ReversedState::Right => pass.before[l],
                    ReversedState::OtherSide if l == 0 => Complex64::ZERO,
                    ReversedState::OtherSide => pass.after[l - 1],
                    ReversedState::Forward => passes[0].before[l],
                };
                by_a_bar += pass.p[l] * by(Factor::State, multiplied);
                p += pass.p[l];
                let read = |before: bool| if before { pass.before[l] } else { pass.after[l] };
                y += read(problem.reads_before()) * direction;
                seen += read(problem.reads_before() != variant.c_reads_before) * direction;
            }
            node.y[l] = (reads[l] * y).re;
            let by_h = p * by(Factor::B, forces[l]) * row.u[l];
            let at = l.checked_add_signed(variant.u_b_offset).filter(|&at| at < len);
            let force =
                if variant.u_has_b { at.map_or(Complex64::ZERO, |at| forces[at]) } else { Complex64::ONE };
            node.u[l] = (p * by(Factor::Input, weight(variant.u_input, l)) * by(Factor::B, force)).re;
            let by_reads = seen * row.read[l];
            let u = if variant.b_has_u { row.u[l] } else { 1.0 };
            (node.b[l], node.c[l]) = match with_b {
                true => (by_reads * c[l], by_reads * b[l]),
                false => (p * by(Factor::Input, weight(variant.b_input, l)) * u, by_reads),
            };
            if row.is_dropped[l] {
                continue;
            }
            let step = &steps[l];
            let shares = |i: usize| {
                let mut slopes = [step.a_bar_by[i], step.h_by[i]].map(|slope| by(Factor::Slopes, slope));
                slopes[0] = by(Factor::ABarSlopes, slopes[0]);
                slopes[1] = by(Factor::InputSlopes, slopes[1]);
                if i == 0 && variant.unconjugated == Some(Factor::A) && a != Complex64::ZERO {
                    slopes[0] *= a.conj() / a;
                }
                [by_a_bar * slopes[0], by_h * slopes[1]]
            };
            let of = |[a_bar, h]: [Complex64; 2], factors: [f64; 2]| a_bar * factors[0] + h * factors[1];
            node.delta[l] = of(shares(0), variant.delta_shares).re;
            if pick.has(l, seqlen, chunk) {
                let of_a = of(shares(1), variant.a_shares);
                if one { node.a[0] += of_a } else { node.a.push(of_a) }
            }
        }
        node
    }

    /// One direction: its states, and their cotangents.
    fn pass(
        &self,
        row: &Row,
        n: usize,
        steps: &[Step],
        (forces, reads): (&[Complex64], &[Complex64]),
        reversed: bool,
    ) -> Pass {
        let Channel { variant, problem, given, .. } = *self;
        let (len, width) = (row.u.len(), problem.weights.width());
        let state = problem.state_index(self.at, n);
        let of_state = |values: &Option<Vec<f32>>| {
            values.as_ref().map_or(Complex64::ZERO, |values| complex(&values[state..state + width]))
        };
        let order = |i: usize| if reversed { len - 1 - i } else { i };
        let edge = |l: usize| self.edge(len, l, reversed);
        let mut pass = Pass {
            before: vec![Complex64::ZERO; len],
            after: vec![Complex64::ZERO; len],
            p: vec![Complex64::ZERO; len],
            initial: Complex64::ZERO,
        };
        let is_initial = variant.has_initial && !reversed;
        let mut x = if is_initial { of_state(&problem.initial_state) } else { Complex64::ZERO };
        // What the forward pass has, which keeps the states that chunks start from.
        let mut kept = x;
        for l in (0..len).map(order) {
            match edge(l) {
                Some(Edge::State(factor)) => x *= factor,
                Some(Edge::Stored(to)) => x = rounded(to, kept),
                _ => {}
            }
            pass.before[l] = x;
            let input = steps[l].h * forces[l] * row.u[l];
            x = self.narrowed(Narrow::State, steps[l].a_bar * x + input);
            kept = steps[l].a_bar * kept + input;
            pass.after[l] = x;
        }
        let last = of_state(&given.dlast_state);
        let last = if variant.unconjugated == Some(Factor::LastState) { last } else { last.conj() };
        let last = match variant.last_state {
            LastState::Ignored => Complex64::ZERO,
            LastState::InBothScans => last,
            _ if reversed => Complex64::ZERO,
            LastState::Doubled => last * problem.output_factor(),
            LastState::Halved => last * 0.5,
            LastState::Right | LastState::Everywhere => last,
        };
        let everywhere = variant.last_state == LastState::Everywhere && !reversed;
        let direction = self.directions()[usize::from(reversed)];
        let early = problem.reads_before();
        let mut arriving = last;
        for i in (0..len).rev() {
            let l = order(i);
            let read = self.as_conjugated(Factor::C, reads[l]) * (row.read[l] * direction);
            let here = if early { Complex64::ZERO } else { read };
            let again = if everywhere && i + 1 < len { last } else { Complex64::ZERO };
            let p = self.narrowed(Narrow::Adjoint, arriving + here + again);
            pass.p[l] = p;
            let (is_first, from) = (i == 0, steps[l].a_bar);
            let decay = match (variant.carry[usize::from(reversed)], edge(l)) {
                _ if is_first && !variant.decays_initial => Complex64::ONE,
                _ if is_first => from,
                (Carry::Lost, _) => Complex64::ZERO,
                (Carry::Undecayed, _) | (_, Some(Edge::Undecayed)) => Complex64::ONE,
                (carry, edge) => {
                    let a_bar = if carry == Carry::Own { steps[order(i - 1)].a_bar } else { from };
                    if let Some(Edge::Adjoint(factor)) = edge { a_bar * factor } else { a_bar }
                }
            };
            arriving = self.as_conjugated(Factor::ABar, decay) * p;
            if early {
                arriving += read;
            }
        }
        pass.initial = arriving;
        pass
    }

    fn directions(&self) -> [f64; 2] {
        if self.variant.bidirectional { self.variant.directions } else { [1.0; 2] }
    }

    /// What stands for a factor: its conjugate where the backward pass has forgotten to conjugate it.
    fn as_conjugated(&self, factor: Factor, value: Complex64) -> Complex64 {
        if self.variant.unconjugated == Some(factor) { value.conj() } else { value }
    }

    /// A number as it is kept.
    fn narrowed(&self, what: Narrow, value: Complex64) -> Complex64 {
        match self.variant.narrow {
            Some((of, to)) if of == what => rounded(to, value),
            _ => value,
        }
    }

    /// What goes wrong between a position and the one before it in the scan, where a chunk begins.
    fn edge(&self, len: usize, l: usize, reversed: bool) -> Option<Edge> {
        let (length, edge) = self.variant.edge.filter(|_| self.variant.edge_in[usize::from(reversed)])?;
        let later = if reversed { l + 1 } else { l };
        (later > 0 && later < len && later.is_multiple_of(length)).then_some(edge)
    }

    /// The item of the batch and the channel that an input is read at.
    fn read_at(&self, name: GradientName) -> (usize, usize) {
        match self.variant.misread {
            Some((of, Misread::FirstBatch)) if of == name => (0, self.at.1),
            _ => self.place(name, Misread::ModuloGroup),
        }
    }

    /// The same, or a channel of group d % groups.
    fn place(&self, name: GradientName, modulo: Misread) -> (usize, usize) {
        let (batch, d) = self.at;
        let Shape { dim, groups, .. } = self.problem.shape;
        let is_elsewhere = self.variant.misread == Some((name, modulo));
        (batch, if is_elsewhere { d % groups * (dim / groups) } else { d })
    }
}

fn rounded(to: InputType, value: Complex64) -> Complex64 {
    let round = |part: f64| f64::from(to.round(part as f32));
    Complex64::new(round(value.re), round(value.im))
}
