//! The adjoint of the selective scan (spec.md §6) as a [`Variant`] has it, in f64.
//!
//! Cotangents are the conjugates of gradients, as there: a factor that a backward pass forgets to conjugate is one that is
//! conjugated here. Real numbers are complex ones without an imaginary part.

use std::borrow::Cow;
use std::collections::HashMap;

use num_complex::Complex64;
use rayon::prelude::*;

use super::structure::{Axis, By, Field, Gate, Map, Of, Sides, Site, StepSize, Swap, Term};
use super::variant::{
    Accumulator, Carry, Clip, Complex, Edge, Factor, GateSlope, Input, LastState, Length, Misread, Narrow,
    Over, PhiSlope, ReversedState, Scale, SlopePart, SoftplusSlope, Store, Variant,
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
    sums_with(None, variant, problem, given, scope)
}

/// The same with steps that are known.
pub fn sums_with(
    known: Option<&Known>,
    variant: &Variant,
    problem: &Problem,
    given: &OutputGradients,
    scope: &Scope,
) -> Sums {
    let known = known.filter(|known| variant.has_steps_of(known.form));
    let names = [U, Delta, A, B, C, D, Z, DeltaBias, InitialState].into_iter().zip(problem.inputs());
    let names = names.filter(|(name, _)| scope.names.contains(name));
    let zeros = names.filter_map(|(name, (_, values, len))| values.map(|_| (name, vec![0.0; len])));
    let mut sums: Sums = zeros.collect();
    let of_group = variant.sum_over(Over::Group);
    let mut channels = Cow::from(&scope.channels);
    if of_group.is_some_and(|of| of.backwards) {
        channels.to_mut().reverse();
    }
    // So many at a time bound the memory without idling a thread.
    for some in channels.chunks(64) {
        let names = &scope.names;
        let channel = |&at| Channel { variant, problem, given, at, names, known }.shares(scope.state);
        let shares: Vec<Vec<Share>> = some.par_iter().with_min_len(8).map(channel).collect();
        for (name, start, values) in shares.into_iter().flatten() {
            let Some(sum) = sums.get_mut(name) else { continue };
            let is_of_group = matches!(name, B | C) && !is_summed(problem, name);
            match (variant.of_positions(), of_group) {
                (Some(of), _) if is_summed(problem, name) => {
                    let width = problem.gradient::<f64>(name, Vec::new()).width;
                    accumulate(of, &mut sum[start..][..width], &values);
                }
                (_, Some(of)) if is_of_group => {
                    sum[start..].iter_mut().zip(values).for_each(|(sum, value)| *sum = of.add(*sum, value));
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
    let with_batch = of.over == Over::BatchAndPositions;
    let mut kept = if with_batch { sum.to_vec() } else { vec![0.0; sum.len()] };
    let mut add = |values: &[f64]| {
        kept.iter_mut().zip(values).for_each(|(kept, value)| *kept = of.add(*kept, *value));
    };
    let positions = added.chunks(sum.len());
    if of.backwards {
        positions.rev().for_each(&mut add)
    } else {
        positions.for_each(&mut add)
    }
    for (sum, kept) in sum.iter_mut().zip(kept) {
        *sum = if with_batch { kept } else { *sum + kept };
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

impl Term {
    fn value(self, delta: f64, a: Complex64) -> Complex64 {
        let z = a * delta;
        let of = match self.of {
            Of::One => Complex64::ONE,
            Of::Phi(k) => phis(z, 4)[usize::from(k)],
            Of::Resolvent(power) => (1.0 - z / 2.0).inv().powu(u32::from(power)),
        };
        of * delta.powi(i32::from(self.delta)) * a.powu(u32::from(self.a))
    }
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
        let is_phi = |swap: &Swap| matches!(swap.by, By::IsPhi(_));
        let highest = if variant.swaps.iter().flatten().any(is_phi) { 4 } else { highest_phi(&formula) };
        let phis = if formula.is_rational() { [z; 5] } else { phis(z, highest) };
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
            if let Function::Phi(k @ 1..) = term.of {
                slope = match (variant.phi_slope, phis[k + 1] * k as f64) {
                    (PhiSlope::Right, _) => slope,
                    (PhiSlope::WithoutK, _) => f - phis[k + 1],
                    (PhiSlope::Next, _) => phis[k + 1],
                    (PhiSlope::KNext, next) => next,
                    (PhiSlope::Same, _) => f,
                    (PhiSlope::Plus, next) => f + next,
                    (PhiSlope::Before, _) => phis[k - 1],
                };
            }
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
            let value = f * (power * delta);
            let kept = f64::from(u8::from(!lacks(SlopePart::Power))) * variant.h_slope[0];
            let through_power = f * (f64::from(term.delta) * power * kept);
            let by_terms = [
                through_power + slope * by_delta * (power * delta * variant.h_slope[1]),
                slope * by_a * (power * delta),
            ];
            let sites = [Site::TermByDelta(i as u8), Site::TermByA(i as u8)];
            let is_swapped = variant.swaps[0].is_some();
            if !is_swapped {
                h += value;
                h_by.iter_mut().zip(by_terms).for_each(|(h_by, value)| *h_by += value);
                continue;
            }
            let [h_by_delta, h_by_a] = &mut h_by;
            let terms = [
                (&mut h, Site::TermOfH(i as u8), value),
                (h_by_delta, sites[0], by_terms[0]),
                (h_by_a, sites[1], by_terms[1]),
            ];
            for (sum, site, value) in terms {
                let field = |field: Field| match field {
                    Field::Delta => delta.into(),
                    Field::DeltaSquared => (delta * delta).into(),
                    Field::DeltaCubed => (delta * delta * delta).into(),
                    Field::A => a,
                    Field::Argument => z,
                    Field::Denominator => 1.0 - z / 2.0,
                    Field::ABar => a_bar,
                    _ => Complex64::ONE,
                };
                let swaps = variant.swaps.iter().flatten().filter(|swap| swap.has(site));
                let plain = |with: i32| delta.powi(term.delta + with) * term.factor.value();
                *sum += swaps.fold(value, |value, swap| match (swap.by, site) {
                    (By::IsPhi(k), Site::TermOfH(_)) => phis[usize::from(k)] * plain(0),
                    (By::IsPhi(k), Site::TermByDelta(_)) => phis[usize::from(k)] * plain(-1),
                    (By::IsPhi(k), _) => phis[usize::from(k)] * plain(1),
                    (by, _) => changed(by, value, field),
                });
            }
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

/// A number at a place where something else stands, where that is made of the number and of factors beside it.
fn changed(by: By, value: Complex64, field: impl Fn(Field) -> Complex64) -> Complex64 {
    match by {
        By::One => Complex64::ONE,
        By::Zero => Complex64::ZERO,
        By::Conjugate => value.conj(),
        By::RealPart => value.re.into(),
        By::Magnitude => value.norm().into(),
        By::Squared => value * value,
        By::Times(of) => value * field(of),
        By::Is(of) => field(of),
        By::Factor(above, below) => value * (f64::from(above) / f64::from(below)),
        By::Over(of) => match field(of) {
            below if below == Complex64::ZERO => Complex64::ZERO,
            below => value / below,
        },
        By::Narrow(to) => rounded(to, value),
        _ => value,
    }
}

/// What may be read elsewhere than where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    U,
    Dout,
    Z,
    B,
    C,
    D,
    LastState,
    InitialState,
    /// Nothing that is given.
    Computed,
}

/// A gradient's values from a place on.
type Share = (GradientName, usize, Vec<f64>);

struct Channel<'a> {
    variant: &'a Variant,
    problem: &'a Problem,
    given: &'a OutputGradients,
    at: (usize, usize),
    names: &'a [GradientName],
    known: Option<&'a Known>,
}

/// The steps of a backward pass as specified, which most of the others share: for each channel and state.
pub struct Known {
    form: Form,
    /// By item of the batch, channel and state.
    steps: HashMap<(usize, usize, usize), Vec<Step>>,
}

impl Known {
    pub fn new(form: Form, problem: &Problem, given: &OutputGradients, scope: &Scope) -> Self {
        let variant = &Variant::specified(form);
        let states: Vec<usize> = scope.state.map_or((0..problem.shape.dstate).collect(), |n| vec![n]);
        let names = &scope.names;
        let of = |&at: &(usize, usize)| {
            let channel = Channel { variant, problem, given, at, names, known: None };
            let row = channel.row(problem.shape.seqlen);
            let steps = |&n: &usize| ((at.0, at.1, n), channel.steps(&row, n));
            states.iter().map(steps).collect::<Vec<_>>()
        };
        Known { form, steps: scope.channels.iter().flat_map(of).collect() }
    }
}

/// What the states of a channel share, position by position: as many as the pass runs over.
struct Row {
    u: Vec<f64>,
    /// u in the states, in h's share and in grad.B.
    u_at: [Vec<f64>; 3],
    /// delta, and its bias.
    raw: Vec<f64>,
    bias: f64,
    /// Δ
    step: Vec<f64>,
    /// Its derivative by delta.
    slope: Vec<f64>,
    gate: Vec<f64>,
    /// ∂L/∂s where it enters the adjoint, the skip in grad.u, grad.D and grad.C.
    gated: [Vec<f64>; 4],
    /// The gradient of Re Σ C x of a scan, for the adjoint and for grad.C.
    read: [Vec<f64>; 2],
    is_dropped: Vec<bool>,
}

impl Row {
    fn field(&self, field: Field, l: usize) -> Complex64 {
        match field {
            Field::Delta => self.step[l],
            Field::DeltaSquared => self.step[l].powi(2),
            Field::DeltaCubed => self.step[l].powi(3),
            Field::U => self.u[l],
            Field::SoftplusSlope => self.slope[l],
            Field::Gate => self.gate[l],
            _ => 1.0,
        }
        .into()
    }
}

/// What one state's scans are made of, position by position.
struct Scan<'a> {
    a: Complex64,
    b: Vec<Complex64>,
    c: Vec<Complex64>,
    steps: Cow<'a, [Step]>,
    /// In the states.
    a_bar: Vec<Complex64>,
    h: Vec<Complex64>,
    forces: Vec<Complex64>,
    /// In the adjoint.
    decays: Vec<Complex64>,
    reads: Vec<Complex64>,
}

impl Scan<'_> {
    fn field(&self, row: &Row, field: Field, l: usize) -> Complex64 {
        match field {
            Field::A => self.a,
            Field::Argument => self.a * row.step[l],
            Field::ABar => self.steps[l].a_bar,
            Field::Denominator => 1.0 - self.a * (row.step[l] / 2.0),
            Field::H => self.steps[l].h,
            Field::HByDelta => self.steps[l].h_by[0],
            Field::B => self.b[l],
            Field::C => self.c[l],
            of => row.field(of, l),
        }
    }
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
    /// Their cotangents, and what of these is each position's own.
    p: Vec<Complex64>,
    own: Vec<Complex64>,
    /// What arrives at the state before the first step.
    initial: Complex64,
}

impl Channel<'_> {
    /// Of all states, or of one.
    fn shares(&self, only: Option<usize>) -> Vec<Share> {
        let Channel { variant, problem, at: (batch, d), .. } = *self;
        let Shape { batch: batches, dim, dstate, seqlen, groups } = problem.shape;
        let len = match variant.length {
            Length::Right => seqlen,
            Length::PaddedTo(tile) => seqlen.next_multiple_of(tile),
            Length::CutTo(tile) => seqlen / tile * tile,
            Length::WithoutLast => seqlen - 1,
        };
        let start = problem.sequence_index(batch, d, 0);
        let row = self.row(len);
        let half = if variant.bidirectional { 0.5 } else { 1.0 };
        let factor = problem.output_factor() * half;
        let skip = problem.d.as_ref().map_or(0.0, |values| f64::from(values[d]));
        let skip_at = |site: Site| self.row_at(site, Source::D, &row, vec![skip; len]);
        let states: Vec<usize> = only.map_or((0..dstate).collect(), |n| vec![n]);
        let nodes: Vec<Node> = states.iter().map(|&n| self.node(&row, n)).collect();

        let there = len.min(seqlen);
        let sum = |of: fn(&Node) -> &Vec<f64>, picks: bool| -> Vec<f64> {
            let kept = states.iter().zip(&nodes);
            let kept = kept.filter(|&(&n, _)| !picks || variant.states.has(n, dstate, 1));
            let narrow = variant.sum_over(Over::States).filter(|_| picks);
            let add = |sum: f64, value: f64| narrow.map_or(sum + value, |of| of.add(sum, value));
            kept.fold(vec![0.0; len], |mut sums, (_, node)| {
                sums.iter_mut().zip(of(node)).for_each(|(sum, value)| *sum = add(*sum, *value));
                sums
            })
        };
        let (pick, chunk) = variant.positions;
        let is_summed = |l: &usize| pick.has(*l, seqlen, chunk);
        let mut du = sum(|node| &node.u, true);
        let mut ddelta = sum(|node| &node.delta, true);
        let skip_in_u = skip_at(Site::SkipInU);
        for l in 0..len {
            du[l] += variant.skip * skip_in_u[l] * row.gated[1][l];
            ddelta[l] *= row.slope[l];
        }
        let u_in_d = self.row_at(Site::UInD, Source::U, &row, row.u.clone());
        let of_d = |l: usize| row.gated[2][l] * if variant.d_has_u { u_in_d[l] } else { 1.0 };
        let mut shares = vec![];
        // What each position adds, where their order matters.
        let summed = |values: Vec<f64>| -> Vec<f64> {
            let kept = values.iter().enumerate().filter(|(l, _)| is_summed(l)).map(|(_, value)| *value);
            if variant.of_positions().is_some() { kept.collect() } else { vec![kept.sum()] }
        };
        if variant.batch.has(batch, batches, 1) {
            let of_bias = self.row_at(Site::DeltaInBias, Source::Computed, &row, ddelta.clone());
            shares.push((DeltaBias, d, summed(of_bias)));
            shares.push((D, d, summed((0..len).map(of_d).collect())));
        }
        if problem.z.is_some() && self.wants(&[Z]) {
            let y = sum(|node| &node.y, false);
            let z = self.inputs(Source::Z, len);
            let slope = |l: usize| {
                let (z, silu) = (z[l], row.gate[l]);
                match variant.gate_slope {
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
                }
            };
            let slopes = self.row_at(Site::GateSlope, Source::Computed, &row, (0..len).map(slope).collect());
            let dout = self.row_at(Site::DoutInZ, Source::Dout, &row, self.inputs(Source::Dout, len));
            let skip = skip_at(Site::SkipInZ);
            let u = self.row_at(Site::UInSkip, Source::U, &row, row.u.clone());
            let of_z = |l: usize| {
                let s = variant.gated[0] * factor * y[l] + variant.gated[1] * skip[l] * u[l];
                dout[l] * s * row.gate[l].powi(i32::from(variant.gated_output)) * slopes[l]
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
                        let kept: Vec<Complex64> = match variant.of_positions() {
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

    /// What is given, as the backward pass reads it, from its first position on.
    fn inputs(&self, of: Source, len: usize) -> Vec<f64> {
        let name = match of {
            Source::U => Some(U),
            Source::Z => Some(Z),
            _ => None,
        };
        let at = name.map_or(self.at, |name| self.read_at(name));
        (0..len).map(|l| self.given_at(of, at, 0, l).re).collect()
    }

    /// Nothing stands beyond the end.
    fn given_at(&self, of: Source, at: (usize, usize), n: usize, l: usize) -> Complex64 {
        let Channel { problem, given, .. } = *self;
        let width = problem.weights.width();
        if l >= problem.shape.seqlen {
            return Complex64::ZERO;
        }
        let along = |values: &[f32]| f64::from(values[problem.sequence_index(at.0, at.1, l)]).into();
        let operand = |values: &[f32], operand: Operand| {
            complex(&values[problem.operand_index(operand, at, n, l)..][..width])
        };
        let state = |values: &Option<Vec<f32>>| {
            let start = problem.state_index(at, n);
            values.as_ref().map_or(Complex64::ZERO, |values| complex(&values[start..][..width]))
        };
        match of {
            Source::U => along(&problem.u),
            Source::Dout => self.clipped(Clip::Dout, along(&given.dout)),
            Source::Z => problem.z.as_ref().map_or(Complex64::ONE, |z| along(z)),
            Source::B => operand(&problem.b, problem.b_operand),
            Source::C => operand(&problem.c, problem.c_operand),
            Source::D => problem.d.as_ref().map_or(0.0, |values| f64::from(values[at.1])).into(),
            Source::LastState => state(&given.dlast_state),
            Source::InitialState => state(&problem.initial_state),
            Source::Computed => Complex64::ZERO,
        }
    }

    /// Where something is read in place of `at` and `n`.
    fn moved(&self, at: (usize, usize), n: usize, axis: Axis, map: Map) -> ((usize, usize), usize) {
        let Shape { batch, dim, dstate, groups, .. } = self.problem.shape;
        let index = |i: usize, count: usize| match map {
            Map::First => 0,
            Map::Before => (i + count - 1) % count,
            Map::After => (i + 1) % count,
            Map::Reversed => count - 1 - i,
            Map::Modulo => i % groups * (dim / groups),
            Map::Within(_) => i,
        };
        match axis {
            Axis::Batch => ((index(at.0, batch), at.1), n),
            Axis::Channel => ((at.0, index(at.1, dim)), n),
            Axis::State => (at, index(n, dstate)),
            Axis::Position => (at, n),
        }
    }

    /// What stands at a place, one change after the other.
    fn swaps(&self, site: Site) -> impl Iterator<Item = By> {
        self.variant.swaps.iter().flatten().filter(move |swap| swap.has(site)).map(|swap| swap.by)
    }

    /// Numbers along the positions as a place has them.
    fn at_site<'v>(
        &self,
        site: Site,
        of: Source,
        n: usize,
        mut values: Cow<'v, [Complex64]>,
        field: &dyn Fn(Field, usize) -> Complex64,
    ) -> Cow<'v, [Complex64]> {
        let len = values.len();
        for by in self.swaps(site) {
            values = match by {
                By::At(offset) => {
                    let at = |l: usize| l.checked_add_signed(offset).and_then(|l| values.get(l).copied());
                    (0..len).map(|l| at(l).unwrap_or_default()).collect()
                }
                By::Of(Axis::Position, Map::Within(length)) => {
                    (0..len).map(|l| values[l % usize::from(length)]).collect()
                }
                By::Of(Axis::Position, _) => values.iter().rev().copied().collect(),
                By::Of(axis, map) if of != Source::Computed => {
                    let (at, n) = self.moved(self.at, n, axis, map);
                    (0..len).map(|l| self.given_at(of, at, n, l)).collect()
                }
                by => (0..len).map(|l| changed(by, values[l], |of| field(of, l))).collect(),
            };
        }
        values
    }

    /// The same of what has no states.
    fn row_at(&self, site: Site, of: Source, row: &Row, values: Vec<f64>) -> Vec<f64> {
        if self.swaps(site).next().is_none() {
            return values;
        }
        let complex: Vec<Complex64> = values.into_iter().map(Complex64::from).collect();
        let changed = self.at_site(site, of, 0, complex.into(), &|of, l| row.field(of, l));
        changed.iter().map(|value| value.re).collect()
    }

    fn row(&self, len: usize) -> Row {
        let Channel { variant, problem, .. } = *self;
        let mut bias = problem.delta_bias.as_ref().map_or(0.0, |values| f64::from(values[self.at.1]));
        let mut raw = self.deltas(self.read_at(Delta), len);
        for by in self.swaps(Site::Deltas) {
            raw = match by {
                By::At(offset) => {
                    let at = |l: usize| l.checked_add_signed(offset).and_then(|l| raw.get(l).copied());
                    (0..len).map(|l| at(l).unwrap_or_default()).collect()
                }
                By::Of(Axis::Position, Map::Within(length)) => {
                    (0..len).map(|l| raw[l % usize::from(length)]).collect()
                }
                By::Of(Axis::Position, _) => raw.into_iter().rev().collect(),
                By::Of(axis, map) => self.deltas(self.moved(self.at, 0, axis, map).0, len),
                By::Narrow(to) => raw.into_iter().map(|raw| f64::from(to.round(raw as f32))).collect(),
                _ => raw,
            };
            bias = if by == By::Step(StepSize::WithoutBias) { 0.0 } else { bias };
        }
        let (raw, bias) = (raw, bias);
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
        let u = self.inputs(Source::U, len);
        let z = self.inputs(Source::Z, len);
        let has_gate = problem.z.is_some();
        let gate = z.iter().map(|&z| if has_gate { z * sigmoid(z) } else { 1.0 }).collect();
        let is_dropped = (0..len).map(|l| variant.drops_masked && u[l] == 0.0 && raw[l] == 0.0).collect();
        let mut row = Row {
            step: raw.iter().map(|&raw| step(raw)).collect(),
            slope: raw.iter().map(|&raw| slope(raw)).collect(),
            u_at: Default::default(),
            gated: Default::default(),
            read: Default::default(),
            raw,
            bias,
            gate,
            is_dropped,
            u,
        };
        let mut slope = self.row_at(Site::SoftplusSlope, Source::Computed, &row, row.slope.clone());
        for by in self.swaps(Site::SoftplusSlope) {
            let of = |slope: f64, x: f64| match by {
                By::OneAbove(from) if x > f64::from(from) => 1.0,
                By::Complement => sigmoid(-x),
                By::OfSigmoid => sigmoid(x) * sigmoid(-x),
                _ => slope,
            };
            slope.iter_mut().zip(&row.raw).for_each(|(slope, raw)| *slope = of(*slope, raw + bias));
        }
        row.slope = slope;
        let u_sites = [Site::UInStates, Site::UInShare, Site::UInB];
        row.u_at = u_sites.map(|site| self.row_at(site, Source::U, &row, row.u.clone()));
        let dout = self.inputs(Source::Dout, len);
        let gated = |(gate, of_dout, times): (Site, Site, u8)| -> Vec<f64> {
            let gates = self.gates(gate, &row, &z);
            let dout = self.row_at(of_dout, Source::Dout, &row, dout.clone());
            let ds = dout.iter().zip(gates).map(|(dout, gate)| dout * gate.powi(i32::from(times)));
            ds.map(|ds| self.narrowed(Narrow::Gated, ds.into()).re).collect()
        };
        let [scan, skip, of_d] = variant.gates;
        row.gated = [
            (Site::GateInAdjoint, Site::DoutInAdjoint, scan),
            (Site::GateInSkip, Site::DoutInSkip, skip),
            (Site::GateInD, Site::DoutInD, of_d),
            (Site::GateInC, Site::DoutInC, scan),
        ]
        .map(gated);
        let half = if variant.bidirectional { 0.5 } else { 1.0 };
        let factor = problem.output_factor().powi(i32::from(variant.output_factors)) * half;
        row.read = [(0, Site::DoutInAdjoint), (3, Site::DoutInC)].map(|(consumer, site)| {
            let of = |factor: f64, by: By| match by {
                By::WithoutFactor => factor / problem.output_factor(),
                By::WithoutHalf => factor / half,
                _ => factor,
            };
            let factor = self.swaps(site).fold(factor, of);
            let site = if consumer == 0 { Site::OutputInAdjoint } else { Site::OutputInC };
            let gated = self.row_at(site, Source::Computed, &row, row.gated[consumer].clone());
            gated.into_iter().map(|ds| ds * factor).collect()
        });
        row
    }

    fn deltas(&self, at: (usize, usize), len: usize) -> Vec<f64> {
        let Channel { problem, .. } = *self;
        let there = |l: usize| f64::from(problem.delta[problem.sequence_index(at.0, at.1, l)]);
        (0..len).map(|l| if l < problem.shape.seqlen { there(l) } else { 0.0 }).collect()
    }

    /// The gate as a place has it.
    fn gates(&self, site: Site, row: &Row, z: &[f64]) -> Vec<f64> {
        let mut gates = row.gate.clone();
        for by in self.swaps(site) {
            let of = |of: &dyn Fn(f64) -> f64| z.iter().map(|&z| of(z)).collect::<Vec<f64>>();
            gates = match by {
                By::Gate(Gate::Sigmoid) => of(&sigmoid),
                By::Gate(Gate::Argument) => of(&|z| z),
                By::Gate(Gate::Slope) => of(&|z| sigmoid(z) * (1.0 + z * sigmoid(-z))),
                By::Of(axis @ (Axis::Batch | Axis::Channel), map) => {
                    let (at, _) = self.moved(self.at, 0, axis, map);
                    let z = |l: usize| self.given_at(Source::Z, at, 0, l).re;
                    (0..gates.len()).map(|l| z(l) * sigmoid(z(l))).collect()
                }
                _ => gates,
            };
        }
        self.row_at(site, Source::Computed, row, gates)
    }

    /// Δ as another step size has it.
    fn resized(&self, size: StepSize, row: &Row) -> Vec<f64> {
        let has_softplus = self.problem.delta_softplus;
        let step = |x: f64| if has_softplus { softplus(x) } else { x };
        let len = row.raw.len();
        let of_raw = |of: &dyn Fn(f64) -> f64| row.raw.iter().map(|&raw| of(raw)).collect();
        match size {
            StepSize::WithoutBias => of_raw(&step),
            StepSize::WithoutSoftplus => of_raw(&|raw| raw + row.bias),
            StepSize::Raw => of_raw(&|raw| raw),
            StepSize::PlainAbove(from) => of_raw(&|raw| {
                if raw + row.bias > f64::from(from) { raw + row.bias } else { step(raw + row.bias) }
            }),
            StepSize::At(offset) => {
                let at = |l: usize| l.checked_add_signed(offset).and_then(|l| row.step.get(l).copied());
                (0..len).map(|l| at(l).unwrap_or_default()).collect()
            }
            StepSize::Of(axis, map) => {
                let (at, _) = self.moved(self.at, 0, axis, map);
                self.deltas(at, len).into_iter().map(|raw| step(raw + row.bias)).collect()
            }
            StepSize::Narrow(to) => row.step.iter().map(|&step| f64::from(to.round(step as f32))).collect(),
        }
    }

    /// The steps as a place has them, where something else is put into a formula, or into another one.
    fn steps_at<'v>(
        &self,
        site: Site,
        row: &Row,
        n: usize,
        a: Complex64,
        steps: &'v [Step],
    ) -> Cow<'v, [Step]> {
        let Channel { variant, problem, .. } = *self;
        let mut steps = Cow::Borrowed(steps);
        for by in self.swaps(site) {
            let of_a = |a: Complex64| row.step.iter().map(|&delta| Step::new(variant, delta, a)).collect();
            steps = match by {
                By::Step(size) => {
                    self.resized(size, row).into_iter().map(|delta| Step::new(variant, delta, a)).collect()
                }
                By::AConjugate => of_a(a.conj()),
                By::ARealPart => of_a(a.re.into()),
                By::AOf(axis, map) => {
                    let ((_, d), n) = self.moved(self.at, n, axis, map);
                    of_a(complex(&problem.a[problem.weight_index(d, n)..][..problem.weights.width()]))
                }
                By::Form(form) => row.step.iter().map(|&delta| Step::of(form, variant, delta, a)).collect(),
                _ => steps,
            };
        }
        steps
    }

    fn a(&self, n: usize) -> Complex64 {
        let Channel { problem, .. } = *self;
        complex(&problem.a[problem.weight_index(self.at.1, n)..][..problem.weights.width()])
    }

    fn steps(&self, row: &Row, n: usize) -> Vec<Step> {
        let a = self.a(n);
        row.step.iter().map(|&delta| Step::new(self.variant, delta, a)).collect()
    }

    fn wants(&self, names: &[GradientName]) -> bool {
        names.iter().any(|name| self.names.contains(name))
    }

    fn scan(&self, row: &Row, n: usize) -> Scan<'_> {
        let Channel { problem, .. } = *self;
        let len = row.u.len();
        let operand = |of: Source, name: GradientName, operand: Operand| -> Vec<Complex64> {
            let at = match operand {
                Operand::Constant => self.at,
                Operand::Variable => self.read_at(name),
            };
            (0..len).map(|l| self.given_at(of, at, n, l)).collect()
        };
        let mut scan = Scan {
            a: self.a(n),
            b: operand(Source::B, B, problem.b_operand),
            c: operand(Source::C, C, problem.c_operand),
            steps: match self.known.and_then(|known| known.steps.get(&(self.at.0, self.at.1, n))) {
                Some(known) => known[..].into(),
                None => self.steps(row, n).into(),
            },
            a_bar: vec![],
            h: vec![],
            forces: vec![],
            decays: vec![],
            reads: vec![],
        };
        scan.a_bar = self.coefficients(Site::ABarInStates, row, n, &scan, |step| step.a_bar);
        scan.decays = self.coefficients(Site::ABarInAdjoint, row, n, &scan, |step| step.a_bar);
        scan.h = self.coefficients(Site::HInStates, row, n, &scan, |step| step.h);
        scan.forces = self.forces(Site::BInStates, row, n, &scan);
        scan.reads = self.reads(Site::CInAdjoint, row, n, &scan);
        scan
    }

    /// What a place has of the steps.
    fn coefficients(
        &self,
        site: Site,
        row: &Row,
        n: usize,
        scan: &Scan,
        of: impl Fn(&Step) -> Complex64,
    ) -> Vec<Complex64> {
        let steps = self.steps_at(site, row, n, scan.a, &scan.steps);
        let values: Vec<Complex64> = steps.iter().map(of).collect();
        let field = |of: Field, l: usize| scan.field(row, of, l);
        let mut values = self.at_site(site, Source::Computed, n, values.into(), &field).into_owned();
        for by in self.swaps(site) {
            let chained =
                |of: Complex64| if scan.a == Complex64::ZERO { Complex64::ZERO } else { of / scan.a };
            match by {
                By::IsPhi(k) => {
                    let by = |step: f64| if site == Site::ABarByDelta { scan.a } else { step.into() };
                    let phi = |step: f64| phis(scan.a * step, 4)[usize::from(k)];
                    values.iter_mut().zip(&row.step).for_each(|(value, &step)| *value = phi(step) * by(step));
                }
                By::Chain(size) => {
                    let other = self.resized(size, row).into_iter().zip(&row.step);
                    let factors = other.map(|(other, step)| if *step == 0.0 { 0.0 } else { other / step });
                    values.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
                }
                By::Term(of) => {
                    let term = |step: f64| of.value(step, scan.a);
                    values.iter_mut().zip(&row.step).for_each(|(value, &step)| *value = term(step));
                }
                By::ChainAConjugate => values.iter_mut().for_each(|value| *value *= chained(scan.a.conj())),
                By::ChainAOf(axis, map) => {
                    let ((_, d), n) = self.moved(self.at, n, axis, map);
                    let factor = chained(Channel { at: (self.at.0, d), ..*self }.a(n));
                    values.iter_mut().for_each(|value| *value *= factor);
                }
                _ => {}
            }
        }
        values
    }

    /// What multiplies h u.
    fn forces(&self, site: Site, row: &Row, n: usize, scan: &Scan) -> Vec<Complex64> {
        if self.problem.reads_with_b() {
            return vec![Complex64::ONE; row.u.len()];
        }
        let field = |of: Field, l: usize| scan.field(row, of, l);
        self.at_site(site, Source::B, n, (&scan.b[..]).into(), &field).into_owned()
    }

    /// What multiplies the states that are read.
    fn reads(&self, site: Site, row: &Row, n: usize, scan: &Scan) -> Vec<Complex64> {
        let field = |of: Field, l: usize| scan.field(row, of, l);
        let mut reads = self.at_site(site, Source::C, n, (&scan.c[..]).into(), &field).into_owned();
        if self.problem.reads_with_b() {
            reads.iter_mut().zip(&scan.b).for_each(|(c, b)| *c *= b);
        }
        reads
    }

    /// States or cotangents of each direction as a place has them.
    fn sides<'v>(
        &self,
        site: Site,
        passes: &'v [Pass],
        of: impl Fn(&'v Pass) -> &'v [Complex64],
        field: &dyn Fn(Field, usize) -> Complex64,
    ) -> Vec<Cow<'v, [Complex64]>> {
        let mut sides: Vec<Cow<[Complex64]>> = passes.iter().map(|pass| of(pass).into()).collect();
        for by in self.swaps(site).filter(|_| !passes[0].p.is_empty()) {
            let nothing = || Cow::from(vec![Complex64::ZERO; passes[0].p.len()]);
            match by {
                By::Own => sides = passes.iter().map(|pass| (&pass.own[..]).into()).collect(),
                By::Carried => {
                    let carried =
                        |pass: &Pass| pass.p.iter().zip(&pass.own).map(|(p, own)| p - own).collect();
                    sides = passes.iter().map(carried).collect();
                }
                By::Sides(_) if sides.len() < 2 => {}
                By::Sides(Sides::ForwardAlone) => sides[1] = nothing(),
                By::Sides(Sides::ReversedAlone) => sides[0] = nothing(),
                By::Sides(Sides::ForwardForBoth) => sides[1] = sides[0].clone(),
                By::Sides(Sides::ReversedForBoth) => sides[0] = sides[1].clone(),
                By::Sides(Sides::Exchanged) => sides.swap(0, 1),
                By::StartsWithZero => sides[0].to_mut()[0] = Complex64::ZERO,
                By::StartsWithLast => {
                    let last = passes[0].after.last().copied().unwrap_or_default();
                    sides[0].to_mut()[0] = last;
                }
                By::StartsWithOwn => sides[0].to_mut()[0] = passes[0].after[0],
                _ => {}
            }
        }
        sides.into_iter().map(|side| self.at_site(site, Source::Computed, 0, side, field)).collect()
    }

    /// Without the changes of one direction, for the other one.
    fn in_other_direction(&self, reversed: bool) -> Option<Variant> {
        let is_other = |swap: &Swap| swap.side.is_some_and(|side| side != reversed);
        let swaps = self.variant.swaps;
        let kept = swaps.map(|swap| swap.filter(|swap| !is_other(swap)));
        (kept != swaps).then_some(Variant { swaps: kept, ..*self.variant })
    }

    fn node(&self, row: &Row, n: usize) -> Node {
        let Channel { variant, problem, .. } = *self;
        let (seqlen, len) = (problem.shape.seqlen, row.u.len());
        let with_b = problem.reads_with_b();
        let scan = self.scan(row, n);
        let a = scan.a;
        let passes: Vec<Pass> = [false, true][..1 + usize::from(variant.bidirectional)]
            .iter()
            .map(|&reversed| match self.in_other_direction(reversed) {
                // A change of one direction leaves the other as it is.
                Some(variant) => {
                    let plain = Channel { variant: &variant, ..*self };
                    let row = plain.row(len);
                    plain.pass(&row, n, &plain.scan(&row, n), reversed)
                }
                None => self.pass(row, n, &scan, reversed),
            })
            .collect();
        let field = |of: Field, l: usize| scan.field(row, of, l);
        let [p_in_u, p_in_b, p_in_a_bar, p_in_h] =
            [Site::AdjointInU, Site::AdjointInB, Site::AdjointInABar, Site::AdjointInH]
                .map(|site| self.sides(site, &passes, |pass| &pass.p, &field));
        let states = self.sides(Site::StateInABar, &passes, |pass| &pass.before, &field);
        let read = |site: Site, before: bool| {
            self.sides(site, &passes, move |pass| if before { &pass.before } else { &pass.after }, &field)
        };
        let states_in_y = read(Site::StateInOutput, problem.reads_before());
        let states_in_c = read(Site::StateInC, problem.reads_before() != variant.c_reads_before);
        let reads_in_y = self.reads(Site::CInOutput, row, n, &scan);
        let [forces_in_h, forces_in_u] =
            [Site::BInShare, Site::BInU].map(|site| self.forces(site, row, n, &scan));
        let [h_in_u, h_in_b] =
            [Site::HInU, Site::HInB].map(|site| self.coefficients(site, row, n, &scan, |step| step.h));
        // Of Ā and h, by Δ and by A.
        let slopes = [[Site::ABarByDelta, Site::HByDelta], [Site::ABarByA, Site::HByA]];
        let wanted = [self.wants(&[Delta, DeltaBias]), self.wants(&[A])];
        let slopes: [[Vec<Complex64>; 2]; 2] = std::array::from_fn(|i| {
            let [of_a_bar, of_h] = slopes[i];
            if !wanted[i] {
                return [vec![], vec![]];
            }
            [
                self.coefficients(of_a_bar, row, n, &scan, |step| step.a_bar_by[i]),
                self.coefficients(of_h, row, n, &scan, |step| step.h_by[i]),
            ]
        });

        let by = |factor: Factor, value: Complex64| self.as_conjugated(factor, value);
        let weight = |input: Input, h: &[Complex64], l: usize| match input {
            Input::Right => h[l],
            Input::WithoutDelta if row.step[l] == 0.0 => Complex64::ZERO,
            Input::WithoutDelta => h[l] / row.step[l],
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
        let one = variant.of_positions().is_none();
        node.a.extend(one.then_some(Complex64::ZERO));
        for l in 0..len {
            let [mut by_a_bar, mut seen, mut y] = [Complex64::ZERO; 3];
            for (i, (pass, direction)) in passes.iter().zip(self.directions()).enumerate() {
                let side = if i == 0 { ReversedState::Right } else { variant.reversed_state };
                let multiplied = match side {
                    ReversedState::Right if self.edge(len, l, i == 1) == Some(Edge::Unread) => {
                        Complex64::ZERO
                    }
                    ReversedState::Right
                        if variant.a_bar_reads_after
                            || self.edge(len, l, i == 1) == Some(Edge::ReadsAfter) =>
                    {
                        pass.after[l]
                    }
                    ReversedState::Right => states[i][l],
                    ReversedState::OtherSide if l == 0 => Complex64::ZERO,
                    ReversedState::OtherSide => pass.after[l - 1],
                    ReversedState::Forward => passes[0].before[l],
                };
                by_a_bar += p_in_a_bar[i][l] * by(Factor::State, multiplied);
                y += states_in_y[i][l] * direction;
                seen += states_in_c[i][l] * direction;
            }
            let summed = |of: &[Cow<[Complex64]>]| of.iter().map(|values| values[l]).sum::<Complex64>();
            node.y[l] = (reads_in_y[l] * y).re;
            let by_h = summed(&p_in_h) * by(Factor::B, forces_in_h[l]) * row.u_at[1][l];
            let at = l.checked_add_signed(variant.u_b_offset).filter(|&at| at < len);
            let force = if variant.u_has_b {
                at.map_or(Complex64::ZERO, |at| forces_in_u[at])
            } else {
                Complex64::ONE
            };
            let weighted = by(Factor::Input, weight(variant.u_input, &h_in_u, l)) * by(Factor::B, force);
            node.u[l] = (summed(&p_in_u) * weighted).re;
            let by_reads = seen * row.read[1][l];
            let u = if variant.b_has_u { row.u_at[2][l] } else { 1.0 };
            (node.b[l], node.c[l]) = match with_b {
                true => (by_reads * scan.c[l], by_reads * scan.b[l]),
                false => {
                    let weight = by(Factor::Input, weight(variant.b_input, &h_in_b, l));
                    (summed(&p_in_b) * weight * u, by_reads)
                }
            };
            if row.is_dropped[l] {
                continue;
            }
            let shares = |i: usize| {
                let mut slopes = [&slopes[i][0], &slopes[i][1]].map(|slopes| by(Factor::Slopes, slopes[l]));
                slopes[0] = by(Factor::ABarSlopes, slopes[0]);
                slopes[1] = by(Factor::InputSlopes, slopes[1]);
                if i == 0 && variant.unconjugated == Some(Factor::A) && a != Complex64::ZERO {
                    slopes[0] *= a.conj() / a;
                }
                [by_a_bar * slopes[0], by_h * slopes[1]]
            };
            let of = |[a_bar, h]: [Complex64; 2], factors: [f64; 2]| a_bar * factors[0] + h * factors[1];
            if wanted[0] {
                node.delta[l] = of(shares(0), variant.delta_shares).re;
            }
            if wanted[1] && pick.has(l, seqlen, chunk) {
                let of_a = of(shares(1), variant.a_shares);
                if one { node.a[0] += of_a } else { node.a.push(of_a) }
            }
        }
        node
    }

    /// One direction: its states, and their cotangents.
    fn pass(&self, row: &Row, n: usize, scan: &Scan, reversed: bool) -> Pass {
        self.pass_from(self.left_behind(n, row.u.len(), reversed), (row, scan), n, reversed)
    }

    /// What the batch's items before have left for the states and for their cotangents to start from: nothing, as a rule.
    fn left_behind(&self, n: usize, len: usize, reversed: bool) -> [Complex64; 2] {
        let [states, adjoint] = [Site::StatesStart, Site::AdjointStart].map(|site| self.swaps(site).next());
        let mut left = [Complex64::ZERO; 2];
        if states.is_none() && adjoint.is_none() {
            return left;
        }
        let order = |i: usize| if reversed { len - 1 - i } else { i };
        for item in 0..self.at.0 {
            let before = Channel { at: (item, self.at.1), ..*self };
            let row = before.row(len);
            let pass = before.pass_from(left, (&row, &before.scan(&row, n)), n, reversed);
            left = [
                states.map_or(Complex64::ZERO, |by| match by {
                    By::Stale => pass.after[order(len - 1)],
                    _ => pass.before[order(len - 1)],
                }),
                adjoint.map_or(Complex64::ZERO, |by| match by {
                    By::Stale => pass.initial,
                    _ => pass.p[order(0)],
                }),
            ];
        }
        left
    }

    fn pass_from(
        &self,
        [states_start, adjoint_start]: [Complex64; 2],
        (row, scan): (&Row, &Scan),
        n: usize,
        reversed: bool,
    ) -> Pass {
        let Channel { variant, problem, .. } = *self;
        let len = row.u.len();
        let order = |i: usize| if reversed { len - 1 - i } else { i };
        let edge = |l: usize| self.edge(len, l, reversed);
        let mut pass = Pass {
            before: vec![Complex64::ZERO; len],
            after: vec![Complex64::ZERO; len],
            p: vec![Complex64::ZERO; len],
            own: vec![Complex64::ZERO; len],
            initial: Complex64::ZERO,
        };
        // Gradients themselves are multiplied by conjugates.
        let field = |site: Site, of: Field, l: usize| match scan.field(row, of, l) {
            value if site == Site::LastState => value.conj(),
            value => value,
        };
        let state_at = |site: Site, of: Source, l: usize| {
            let mut value = self.given_at(of, self.at, n, 0);
            for by in self.swaps(site) {
                let Shape { dim, dstate, .. } = problem.shape;
                let elsewhere = match by {
                    By::Of(axis, map) => Some(self.moved(self.at, n, axis, map)),
                    By::Strides => {
                        let flat = n * dim + self.at.1;
                        Some(((self.at.0, flat / dstate), flat % dstate))
                    }
                    _ => None,
                };
                value = match elsewhere {
                    Some((at, n)) => self.given_at(of, at, n, 0),
                    None => changed(by, value, |of| field(site, of, l)),
                };
            }
            value
        };
        let length = variant.edge.map_or(1, |(length, _)| length);
        let is_initial = variant.has_initial && !reversed && len > 0;
        let initial =
            if is_initial { state_at(Site::InitialState, Source::InitialState, 0) } else { Complex64::ZERO };
        let mut x = initial + states_start;
        // What the forward pass has, which keeps the states that chunks start from.
        let mut kept = x;
        let mut history = vec![x];
        for l in (0..len).map(order) {
            let mut a_bar = scan.a_bar[l];
            match edge(l) {
                Some(Edge::State(factor)) => x *= factor,
                Some(Edge::Stored(to)) => x = rounded(to, kept),
                Some(Edge::InitialStateAgain) => x = initial,
                Some(Edge::StateOfChunkBefore) => x = history[history.len().saturating_sub(length + 1)],
                Some(Edge::StateOneBefore) => x = history[history.len().saturating_sub(2)],
                Some(Edge::StateUndecayed) => a_bar = Complex64::ONE,
                Some(Edge::StateDecayedTwice) => a_bar *= a_bar,
                _ => {}
            }
            pass.before[l] = x;
            let input = scan.h[l] * scan.forces[l] * row.u_at[0][l];
            x = self.narrowed(Narrow::State, a_bar * x + input);
            kept = scan.a_bar[l] * kept + input;
            history.push(kept);
            pass.after[l] = x;
        }
        let last =
            if len == 0 { Complex64::ZERO } else { state_at(Site::LastState, Source::LastState, len - 1) };
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
        let mut arriving = last + adjoint_start;
        for i in (0..len).rev() {
            let l = order(i);
            let read = self.as_conjugated(Factor::C, scan.reads[l]) * (row.read[0][l] * direction);
            let here = if early { Complex64::ZERO } else { read };
            let again = if everywhere && i + 1 < len { last } else { Complex64::ZERO };
            let p = self.narrowed(Narrow::Adjoint, arriving + here + again);
            let p = self.clipped(Clip::Adjoint, p);
            (pass.p[l], pass.own[l]) = (p, here);
            let (is_first, from) = (i == 0, scan.decays[l]);
            let decay = match (variant.carry[usize::from(reversed)], edge(l)) {
                _ if is_first && !variant.decays_initial => Complex64::ONE,
                _ if is_first => from,
                (Carry::Lost, _) => Complex64::ZERO,
                (Carry::Undecayed, _) | (_, Some(Edge::Undecayed)) => Complex64::ONE,
                (carry, edge) => {
                    let own = scan.decays[order(i - 1)];
                    let a_bar = if carry == Carry::Own { own } else { from };
                    match edge {
                        Some(Edge::Adjoint(factor)) => a_bar * factor,
                        Some(Edge::DecayedTwice) => a_bar * a_bar,
                        Some(Edge::DecayedByOwn) => own,
                        Some(Edge::DecayedByEnd) => scan.decays[order((i + length).min(len) - 1)],
                        _ => a_bar,
                    }
                }
            };
            arriving = self.as_conjugated(Factor::ABar, decay) * p;
            match edge(l) {
                Some(Edge::LastStateAgain) => arriving += last,
                Some(Edge::AdjointStored(to)) => arriving = rounded(to, arriving),
                _ => {}
            }
            if early {
                arriving += read;
            }
        }
        if let Some((reach, Edge::Reach)) = variant.edge.filter(|_| variant.edge_in[usize::from(reversed)]) {
            for i in 0..len {
                let end = (i + reach).min(len);
                let from = if end == len { last } else { Complex64::ZERO };
                let step = |p: Complex64, j: usize| pass.own[order(j)] + p;
                pass.p[order(i)] = (i..end).rev().fold(from, |p, j| {
                    let here = step(p, j);
                    if j > i { scan.decays[order(j)] * here } else { here }
                });
            }
        }
        pass.initial = arriving;
        if len > 0 && self.swaps(Site::InitialGradient).next().is_some() {
            let arriving: Vec<Complex64> =
                (0..len).map(|i| scan.decays[order(i)] * pass.p[order(i)]).collect();
            let field = |of: Field, l: usize| scan.field(row, of, l);
            pass.initial =
                self.at_site(Site::InitialGradient, Source::Computed, n, arriving.into(), &field)[0];
        }
        pass
    }

    fn directions(&self) -> [f64; 2] {
        if self.variant.bidirectional { self.variant.directions } else { [1.0; 2] }
    }

    /// What stands for a factor: its conjugate where the backward pass has forgotten to conjugate it.
    fn as_conjugated(&self, factor: Factor, value: Complex64) -> Complex64 {
        if self.variant.unconjugated == Some(factor) { value.conj() } else { value }
    }

    /// A number within its limits.
    fn clipped(&self, of: fn(f64) -> Clip, value: Complex64) -> Complex64 {
        match self.variant.clip {
            Some(clip @ (Clip::Adjoint(limit) | Clip::Dout(limit))) if clip == of(limit) => {
                Complex64::new(value.re.clamp(-limit, limit), value.im.clamp(-limit, limit))
            }
            _ => value,
        }
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
