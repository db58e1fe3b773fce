//! Whether the errors of many elements are roundings together, as each of them may be alone.
//!
//! Where an arithmetic is stated ([`crate::problem::stages`]), the bounds are wide, and leave room for a factor of 1.0001 or a
//! constant that is typed with four digits. But roundings go both ways, and a factor goes one. So the errors of a tensor are also
//! judged by sums of all of them.
//!
//! # What is summed
//!
//! T = Σ gᵢ(gotᵢ − wantᵢ) over the elements of a channel, and over those of all judged channels, for g = w/bound² with what a mistake would
//! move: w = want for a factor, the part of it that comes from states for a factor of those, 1 for an offset. That is least squares:
//! T/Σgw is the factor or the offset that fits best, errors being in units of their bounds, as far as these are finite.
//!
//! # How far a sound T may be from 0
//!
//! T is a real functional of the run as any element is, and the theory of [`super::budget`] holds for it: a rounding of an intermediate
//! value v by a relative δ adds δκ, κ = v·∂T/∂v, to first order. The derivatives are those of reverse mode:
//! q_l = g_l C_l s_l + Ā_{l+1} q_{l+1}, s_l being what follows y, for ∂T/∂x_l. With |δ| at most the unit of a stage, |T| ≤ D + λ√V:
//!
//! - V = Σ(unit·|κ|)² over the roundings of stages, λ as there: a sound T is beyond with probability below 2.6·10⁻¹⁴, and one of the
//!   some thousand of a run with less than 10⁻¹⁰. Roundings of one value after another are taken as one while the value moves by less than
//!   [`MOVES`] of their units: V has the square of their sum. V is taken as often as the most frequent z or b of a channel occurs, and
//!   for what is rounded after the states as often as the most frequent output does, up to [`ALIKE`] of a unit.
//! - V has the products and sums of f32, too. D has all else, as if it never cancelled: for each element what of its bound with all stages
//!   in f32 is not taken as random there either, and what is of second order and has no mean of 0: δ² of an exponent, [`SECOND`] times at
//!   most, of all terms.
//! - Where a stage is in tf32, tensor cores may cut bits off: each δ may be anything in [−unit, 0], and T may be off by that as a whole.
//!   A factor above 1 shows all the same; one below, down to 1 − unit, does not.
//! - Exponents that are summed in log space: one sum after the other, δ of step l is at most u·Σ|z| since its block began. As a tree, a sum
//!   of 2ʲ exponents moves as many factors eˢ where states are read and e⁻ˢ where inputs enter. Both are allowed.
//!
//! What is stated to be in f32 is not judged so: there the bounds of elements are as narrow.
//!
//! # What looks like roundings
//!
//! A run that fails is named after an arithmetic only if its errors look like that arithmetic's ([`Asked::Likeness`]): T of all channels is
//! near 0 or, in tf32, near what cutting off gives where it is done: between a quarter and half of a unit on average, as mantissas lie
//! between 1 and 2, in all of the roundings of a place or in none. Near is within D + [`ALIKENESS`]·√V, where D has [`CAREFUL`] times the
//! level of rounding in the place of what f32 allows. And the errors of out are as large as such roundings make them, root mean square,
//! up to a factor of [`AS_LARGE`]: the scan is computed with them.

use std::collections::HashMap;

use num_complex::Complex64;

use super::budget::{self, Budget, ChannelBudget, LAMBDA};
use super::model;
use crate::formula::{Form, OFFSETS, Transition};
use crate::parallel;
use crate::problem::{InputType, Problem, Stage, Stages, Weights};
use crate::promise::Contract;
use crate::promise::allowance::{self, Arithmetic, U};
use crate::tensor::{Tensor, TensorName, Tensors};

/// Units that a value has to move by before its next rounding is as good as another one.
const MOVES: f64 = 4.0;
/// The part of a unit within which outputs are equal.
const ALIKE: f64 = 1.0 / 16.0;
/// Squares of a unit that errors of second order may be off the level of rounding, of which terms have some units: e^{zδ} is off by
/// (zδ)²/2, and e^{−s} of a sum s of such z is at most 0.6/s². Products of independent roundings have a mean of 0. A choice.
const SECOND: f64 = 1.0;

/// How strictly errors are compared with roundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Whether any roundings of the stages may be these errors: for a verdict.
    Possibility,
    /// Whether they look like them: for a name.
    Likeness,
}

/// λ of a likeness, of all channels together. A choice: units are hard bounds, so that this is some three standard deviations of errors
/// that are spread evenly.
const ALIKENESS: f64 = 1.5;

/// How much larger or smaller than simulated ones errors may be, root mean square. A choice: a kernel rounds elsewhere in a stage, or
/// more often.
const AS_LARGE: f64 = 2.5;

/// What f32 is expected to be off, in [`budget::Bounds::rounding`]. A choice.
const CAREFUL: f64 = 4.0;

/// Errors of a tensor that go one way by more than roundings do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lean {
    pub kind: Kind,
    /// The weighted mean of the errors: of what is wanted for a factor, else as they are.
    pub mean: f64,
    /// The most that it may be on that side, above 0 or below.
    pub allowed: f64,
    /// Of a judged channel's row; none for all of them together.
    pub row: Option<usize>,
    pub elements: usize,
}

/// Which way errors may go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// With the values.
    Factor,
    /// With what of them comes from states, without the skip.
    FactorOfStates,
    /// Up or down.
    Offset,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Factor, Kind::FactorOfStates, Kind::Offset];
}

impl Lean {
    /// One sentence, for the arithmetic that is stated.
    pub fn reason(&self, stages: Stages) -> String {
        let Lean { kind, mean, allowed, elements, .. } = *self;
        let (size, most) = (mean.abs(), allowed.abs());
        let seen = match (kind, mean > 0.0) {
            (Kind::Factor, true) => format!("values are too large by {size:.1e} of themselves"),
            (Kind::Factor, false) => format!("values are too small by {size:.1e} of themselves"),
            (Kind::FactorOfStates, true) => {
                format!("sums over states are too large by {size:.1e} of themselves")
            }
            (Kind::FactorOfStates, false) => {
                format!("sums over states are too small by {size:.1e} of themselves")
            }
            (Kind::Offset, true) => format!("values are too high by {size:.1e}"),
            (Kind::Offset, false) => format!("values are too low by {size:.1e}"),
        };
        format!(
            "{seen}, on average over {elements} elements, where roundings of {stages} come to {most:.1e} at most: each element is within its \
             bound, but roundings go both ways, and these errors go one way"
        )
    }
}

/// Which of the tensors have errors that no roundings of the contract's stages have together. `got` and `want` are the judged
/// channels, with the bounds for that contract.
pub fn leaning(
    form: Form,
    problem: &Problem,
    contract: &Contract,
    (got, want): (&Tensors<f64>, &Tensors<f64>),
    budget: &Budget,
    asked: Asked,
) -> Vec<(TensorName, Lean)> {
    let stages = contract.arithmetic.stages;
    if stages.in_f32() == stages {
        return Vec::new();
    }
    let single =
        Contract { arithmetic: Arithmetic { stages: stages.in_f32(), ..contract.arithmetic }, ..*contract };
    let tensors: Vec<(TensorName, &Tensor<f64>, &Tensor<f64>)> = got.zip(want).collect();
    let rows = problem.judged_channels.len();
    let of_row = |&row: &usize| {
        let channel = Channel::new(form, problem, contract, row);
        let unit = channel.largest_unit();
        let systematic = ChannelBudget::new(form, problem, channel.at, &single).systematic();
        let mut of_tensors = Vec::new();
        for (name, got, want) in &tensors {
            let len = want.values.len() / rows;
            let own = row * len..(row + 1) * len;
            let (wide, narrow) = (&budget.tensors[*name], &systematic[*name]);
            for kind in Kind::ALL {
                let mut sums = Sums::default();
                let ways = channel.ways(kind, *name, &want.values[own.clone()]);
                let mut weights = vec![0.0; len];
                for (i, at) in own.clone().enumerate() {
                    let (got, exact, bounds) = (got.values[at], want.values[at], at / want.width);
                    let bound = wide.bound[bounds];
                    if !(got.is_finite() && exact.is_finite() && bound.is_finite() && bound > 0.0) {
                        continue;
                    }
                    let weight = ways[i] / bound / bound;
                    weights[i] = weight;
                    sums.error += weight * (got - exact);
                    sums.whole += weight * ways[i];
                    let level = narrow.rounding[i / want.width];
                    sums.coherent += weight.abs()
                        * match asked {
                            Asked::Possibility => {
                                narrow.bound[i / want.width] + SECOND * unit * unit * level / U
                            }
                            Asked::Likeness => CAREFUL * level,
                        };
                    sums.elements += usize::from(weight != 0.0);
                }
                let stored =
                    (problem.input != InputType::F32).then_some(&wide.store[own.start / want.width..]);
                channel.add(*name, &weights, &want.values[own.clone()], stored, budget.repeats, &mut sums);
                of_tensors.push(sums);
            }
        }
        of_tensors
    };
    let by_row = parallel::map(&(0..rows).collect::<Vec<_>>(), &of_row);
    let mut found = Vec::new();
    for (i, (name, ..)) in tensors.iter().enumerate() {
        for (k, kind) in Kind::ALL.into_iter().enumerate() {
            let mut whole = Sums::default();
            for (row, sums) in by_row.iter().enumerate() {
                let sums = &sums[i * Kind::ALL.len() + k];
                whole.absorb(sums);
                let lean = sums.lean(kind, Some(row), asked).filter(|_| asked == Asked::Possibility);
                found.extend(lean.map(|lean| (*name, lean)));
            }
            found.extend(whole.lean(kind, None, asked).map(|lean| (*name, lean)));
        }
    }
    found
}

/// How much the errors of out differ in size from simulated roundings of the contract's stages, as a logarithm; none where they do not look
/// like them ([`Asked::Likeness`]).
pub fn looks_like(
    form: Form,
    problem: &Problem,
    contract: &Contract,
    (got, want): (&Tensors<f64>, &Tensors<f64>),
    budget: &Budget,
) -> Option<f64> {
    let stages = contract.arithmetic.stages;
    if stages.in_f32() == stages {
        return Some(0.0);
    }
    if !leaning(form, problem, contract, (got, want), budget, Asked::Likeness).is_empty() {
        return None;
    }
    let (Some(got), Some(want)) = (got.get(TensorName::Out), want.get(TensorName::Out)) else {
        return Some(0.0);
    };
    let bounds = &budget.tensors[TensorName::Out].bound;
    let length = problem.shape.seqlen;
    let of_row = |&row: &usize| {
        let channel = Channel::new(form, problem, contract, row);
        let simulated = [false, true].map(|cuts| channel.simulated(cuts));
        let mut sums = [0.0; 3];
        for (l, at) in (row * length..(row + 1) * length).enumerate() {
            let errors = [
                got.values[at] - want.values[at],
                simulated[0][l] - want.values[at],
                simulated[1][l] - want.values[at],
            ];
            if errors.iter().all(|error| error.is_finite()) && bounds[at].is_finite() {
                sums.iter_mut().zip(errors).for_each(|(sum, error)| *sum += (error / bounds[at]).powi(2));
            }
        }
        sums
    };
    let rows: Vec<usize> = (0..problem.judged_channels.len()).collect();
    let add = |[a, b, c]: [f64; 3], [d, e, f]: [f64; 3]| [a + d, b + e, c + f];
    let [seen, rounded, cut] = parallel::map(&rows, &of_row).into_iter().fold([0.0; 3], add);
    // Of squares. What is no number is far off.
    let apart = |simulated: f64| (0.5 * (seen / simulated).ln()).abs();
    let nearest = apart(rounded).min(apart(cut));
    (nearest <= AS_LARGE.ln()).then_some(nearest)
}

/// T, and what it may be.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    error: f64,
    /// What T would be for values twice as large, or for errors of 1.
    whole: f64,
    /// D
    coherent: f64,
    /// What cutting a whole unit off adds, by what is rounded.
    cuts: [f64; ROUNDED],
    /// V
    variance: f64,
    elements: usize,
}

impl Sums {
    fn absorb(&mut self, other: &Sums) {
        self.error += other.error;
        self.whole += other.whole;
        self.coherent += other.coherent;
        self.cuts.iter_mut().zip(other.cuts).for_each(|(cut, other)| *cut += other);
        self.variance += other.variance;
        self.elements += other.elements;
    }

    fn lean(&self, kind: Kind, row: Option<usize>, asked: Asked) -> Option<Lean> {
        let lambda = if asked == Asked::Likeness { ALIKENESS } else { LAMBDA };
        let random = self.coherent + lambda * self.variance.sqrt();
        let cuts = self.cuts.iter().copied().filter(|cut| *cut != 0.0);
        // Each place adds what it cuts, or nothing.
        let mut possible = vec![[-random, random]];
        for cut in cuts {
            let one = match asked {
                Asked::Possibility => [0.0, cut],
                Asked::Likeness => [0.25 * cut, 0.5 * cut],
            };
            let cut = |[low, high]: [f64; 2]| [low + one[0].min(one[1]), high + one[0].max(one[1])];
            possible.extend(possible.clone().into_iter().map(cut));
        }
        // What is no number bounds nothing.
        if possible.iter().any(|[low, high]| !(self.error < *low || self.error > *high)) {
            return None;
        }
        let [low, high] =
            possible.iter().fold([0.0f64; 2], |all, one| [all[0].min(one[0]), all[1].max(one[1])]);
        let Sums { error, whole, elements, .. } = *self;
        let allowed = if error > 0.0 { high } else { low };
        Some(Lean { kind, mean: error / whole, allowed: allowed / whole, row, elements })
    }
}

/// What is rounded in a step, by a name of its own.
#[derive(Clone, Copy)]
enum Rounded {
    Delta,
    Input,
    Z,
    Decay,
    Product,
    Sum,
    Exponent,
    State,
    Y,
    Skip,
    Skipped,
    Gate,
    Stored,
}

const ROUNDED: usize = Rounded::Stored as usize + 1;

/// Roundings of a value as it changes.
#[derive(Clone, Copy, Default)]
struct Run {
    began: Complex64,
    sum: f64,
}

/// A channel's scan, position by position in the order of each direction.
pub(super) struct Channel<'a> {
    problem: &'a Problem,
    contract: &'a Contract,
    at: (usize, usize),
    directions: Vec<Vec<Position>>,
    /// What y is of Re Σ C x of one direction.
    scale: f64,
    /// Whether products of Ā are exponentials of running sums, and what of them begins anew.
    block: Option<usize>,
}

/// All states at one position of a direction.
pub(super) struct Position {
    l: usize,
    delta: f64,
    /// What stages let Δ be off, relative.
    delta_error: f64,
    states: Vec<State>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct State {
    z: Complex64,
    a_bar: Complex64,
    pub(super) input: Complex64,
    /// Δ ∂/∂Δ of Ā and of B̄u.
    pub(super) moved: [Complex64; 2],
    pub(super) before: Complex64,
    pub(super) x: Complex64,
    /// Of the terms of `input` together.
    input_size: f64,
    /// Magnitudes of the terms of x, before the step and after it.
    sizes: [f64; 2],
    c: Complex64,
    /// Σ|z| since the block began.
    exponents: f64,
}

/// Of Δ, for derivatives.
const NUDGE: f64 = 1.0 / (1u64 << 20) as f64;

impl<'a> Channel<'a> {
    pub(super) fn new(form: Form, problem: &'a Problem, contract: &'a Contract, row: usize) -> Self {
        let (at, shape) = (problem.judged_channels[row], problem.shape);
        let arithmetic = contract.arithmetic;
        let single = Arithmetic { stages: arithmetic.stages.in_f32(), ..arithmetic };
        let is_exponential = form.formula().a_bar == Transition::Exponential;
        let log_space = arithmetic.stages.log_space.filter(|_| is_exponential);
        let block = log_space.map(|log_space| log_space.block.map_or(shape.seqlen, |block| block.get()));
        let value = |values: &[f32], index| budget::complex_at(problem.weights, values, index);
        let walk = |backwards: bool| {
            let initial = problem.initial_state.as_ref().filter(|_| !backwards);
            let mut x: Vec<Complex64> = (0..shape.dstate)
                .map(|n| initial.map_or(Complex64::ZERO, |given| value(given, problem.state_index(at, n))))
                .collect();
            let (mut exponents, mut sizes) =
                (vec![0.0; shape.dstate], x.iter().map(|x| x.norm()).collect::<Vec<_>>());
            let mut positions = Vec::with_capacity(shape.seqlen);
            for i in 0..shape.seqlen {
                let l = if backwards { shape.seqlen - 1 - i } else { i };
                let (delta, stated) = budget::step_size(problem, at, l, arithmetic);
                let (_, usual) = budget::step_size(problem, at, l, single);
                let begins = block.is_some_and(|block| i % block == 0);
                let of_state = |n: usize| {
                    let a = value(&problem.a, problem.weight_index(at.1, n));
                    let b = value(&problem.b, problem.operand_index(problem.b_operand, at, n, l));
                    let c = value(&problem.c, problem.operand_index(problem.c_operand, at, n, l));
                    let (b, c) = if problem.reads_with_b() { (Complex64::ONE, b * c) } else { (b, c) };
                    let step = |delta: f64| {
                        let step = model::step(form, problem.weights, (delta, 0.0), a, b, contract);
                        let [before, after] = step.neighbours.map(|of| of.map(|(b_bar, _)| b_bar));
                        let inputs = [Some(step.b_bar), before, after].into_iter().zip(OFFSETS);
                        let of = |(b_bar, offset): (Option<Complex64>, isize)| {
                            b_bar.map(|b_bar| b_bar * f64::from(problem.u_at(at, l as isize + offset)))
                        };
                        let inputs: Vec<Complex64> = inputs.filter_map(of).collect();
                        let size: f64 = inputs.iter().map(|input| input.norm()).sum();
                        (step.a_bar, inputs.into_iter().sum::<Complex64>(), size)
                    };
                    let ((a_bar, input, input_size), nudged) = (step(delta), step(delta * (1.0 + NUDGE)));
                    let moved = [(nudged.0 - a_bar) / NUDGE, (nudged.1 - input) / NUDGE];
                    State { z: a * delta, a_bar, input, input_size, moved, c, ..State::default() }
                };
                let mut states: Vec<State> = (0..shape.dstate).map(of_state).collect();
                for (n, state) in states.iter_mut().enumerate() {
                    let (x, sum, size) = (&mut x[n], &mut exponents[n], &mut sizes[n]);
                    state.sizes[0] = *size;
                    *size = state.a_bar.norm() * *size + state.input_size;
                    state.sizes[1] = *size;
                    state.before = *x;
                    *x = state.a_bar * *x + state.input;
                    state.x = *x;
                    *sum = if begins { 0.0 } else { *sum } + state.z.norm();
                    state.exponents = *sum;
                }
                positions.push(Position { l, delta, delta_error: stated - usual, states });
            }
            positions
        };
        let mut directions = vec![walk(false)];
        directions.extend(form.is_bidirectional().then(|| walk(true)));
        let scale = problem.output_factor() / directions.len() as f64;
        Channel { problem, contract, at, directions, scale, block }
    }

    /// Adds what roundings may come to, for these weights of a tensor's elements.
    fn add(
        &self,
        name: TensorName,
        weights: &[f64],
        want: &[f64],
        stored: Option<&[f64]>,
        repeats: f64,
        sums: &mut Sums,
    ) {
        let Channel { problem, at, .. } = *self;
        let shape = problem.shape;
        let stages = self.contract.arithmetic.stages;
        let block = self.block.map(|block| block.min(shape.seqlen));
        let mut carried = Roundings::new(stages, problem.weights, shape.dstate, block);
        let mut read = Roundings::new(stages, problem.weights, shape.dstate, None);
        // ∂T/∂y of each position, before skip and gate.
        let mut of_y = vec![0.0; shape.seqlen];
        if name == TensorName::Out {
            let mut y = vec![0.0; shape.seqlen];
            for position in self.directions.iter().flatten() {
                y[position.l] += self.scale * self.read(position);
            }
            for l in 0..shape.seqlen {
                let index = problem.sequence_index(at.0, at.1, l);
                let gate = problem.z.as_ref().map(|z| f64::from(z[index]));
                of_y[l] = weights[l] * gate.map_or(1.0, budget::silu);
                let skip =
                    problem.d.as_ref().map_or(0.0, |d| f64::from(d[at.1]) * f64::from(problem.u[index]));
                let mut real = |rounded, stage, value: f64, times| {
                    read.add((rounded, 0), stage, value.into(), (of_y[l] * value).into(), times);
                };
                real(Rounded::Y, Stage::Y, y[l], 1.0);
                if problem.d.is_some() {
                    real(Rounded::Skip, Stage::Y, skip, 1.0);
                    real(Rounded::Skipped, Stage::Y, y[l] + skip, 1.0);
                }
                if gate.is_some() {
                    real(Rounded::Gate, Stage::Gate, y[l] + skip, 3.0);
                }
                if let Some(store) = stored {
                    read.run((Rounded::Stored, 0), want[l].into(), weights[l].abs() * store[l], U);
                }
            }
        }
        for (turn, positions) in self.directions.iter().enumerate() {
            let mut q = vec![Complex64::ZERO; shape.dstate];
            if name == TensorName::LastState && turn == 0 {
                let width = problem.weights.width();
                for (q, weights) in q.iter_mut().zip(weights.chunks(width)) {
                    *q = Complex64::new(weights[0], if width == 2 { -weights[1] } else { 0.0 });
                }
            }
            for (i, position) in positions.iter().enumerate().rev() {
                let of_y = of_y[position.l] * self.scale;
                let mut of_delta = 0.0;
                for (n, (state, q)) in position.states.iter().zip(&mut q).enumerate() {
                    let reads = state.c * of_y;
                    let seen = if problem.reads_before() { state.before } else { state.x };
                    if !problem.reads_before() {
                        *q += reads;
                    }
                    let [a_moved, input_moved] = state.moved;
                    let product = state.a_bar * state.before;
                    of_delta += (*q * (a_moved * state.before + input_moved)).re;
                    read.add((Rounded::State, n), Stage::Y, seen, reads * seen, 1.0);
                    let (input, of_input) = ((state.input, state.input_size), *q * state.input);
                    let of_input = (of_input, q.norm() * state.input_size);
                    carried.add_sum((Rounded::Input, n), Stage::Du, input, of_input, 2.0);
                    // Each of several inputs is rounded, and each sum of them.
                    carried.add_sum((Rounded::Input, n), Stage::State, input, of_input, 2.0);
                    let by_z = *q * (a_moved * state.before + input_moved);
                    carried.add((Rounded::Z, n), Stage::State, state.z, by_z, 1.0);
                    carried.add((Rounded::Decay, n), Stage::State, state.a_bar, *q * product, 1.0);
                    carried.add((Rounded::Product, n), Stage::State, product, *q * product, 1.0);
                    carried.add((Rounded::Sum, n), Stage::State, state.x, *q * state.x, 1.0);
                    let [before, after] = state.sizes.map(|size| q.norm() * size * U);
                    let of_input = q.norm() * state.input_size * self.contract.input_error(problem.weights);
                    carried.sum += (before * state.a_bar.norm() * carried.complex).powi(2)
                        + after * after * (1.0 + allowance::scan_joins(shape.seqlen))
                        + of_input * of_input;
                    if let Some(block) = self.block {
                        let off = U * state.exponents;
                        let exponents = Complex64::from(state.exponents);
                        carried.run((Rounded::Exponent, n), exponents, (*q * product).norm() * off, U);
                        let moved = (reads * seen).norm() + (*q * state.input).norm();
                        carried.tree(n, i % block, moved * off);
                    }
                    *q *= state.a_bar;
                    if problem.reads_before() {
                        *q += reads;
                    }
                }
                let error = position.delta_error;
                carried.run((Rounded::Delta, 0), position.delta.into(), of_delta.abs() * error, error);
                carried.cut(Rounded::Delta, Stage::Delta, of_delta * error);
                // x_{−1} is rounded where it is given.
                for (n, (state, q)) in position.states.iter().zip(&q).enumerate().filter(|_| i == 0) {
                    carried.add((Rounded::Sum, n), Stage::State, state.before, *q * state.before, 1.0);
                }
            }
        }
        let additions = (shape.dstate * problem.weights.width() + self.directions.len() - 1) as f64;
        for position in self.directions.iter().flatten() {
            let of = |state: &State| state.c.norm() * state.sizes[usize::from(!problem.reads_before())];
            let size = self.scale * of_y[position.l].abs() * position.states.iter().map(of).sum::<f64>();
            read.sum += (U * size).powi(2) * (additions + read.complex.powi(2));
        }
        let alike = alike(weights, want, stages);
        sums.variance += carried.variance() * repeats + read.variance() * alike;
        for (cut, (carried, read)) in sums.cuts.iter_mut().zip(carried.cuts.into_iter().zip(read.cuts)) {
            *cut += carried + read;
        }
    }

    /// What a mistake of this kind moves the elements of a tensor by.
    fn ways(&self, kind: Kind, name: TensorName, want: &[f64]) -> Vec<f64> {
        match kind {
            Kind::Factor => want.to_vec(),
            Kind::Offset => vec![1.0; want.len()],
            // The state is such a part by itself.
            Kind::FactorOfStates if name == TensorName::LastState || self.problem.d.is_none() => {
                vec![0.0; want.len()]
            }
            Kind::FactorOfStates => self.seen(|state| state.x).0,
        }
    }

    /// What out has of states that are these in the place of x, which are asked for position by position, gated and without the skip; and
    /// the last ones.
    pub(super) fn seen(&self, mut x_of: impl FnMut(&State) -> Complex64) -> (Vec<f64>, Vec<f64>) {
        let Channel { problem, at, .. } = *self;
        let mut out = vec![0.0; problem.shape.seqlen];
        let mut last = Vec::new();
        for positions in &self.directions {
            let mut before = vec![Complex64::ZERO; problem.shape.dstate];
            for position in positions {
                for (state, before) in position.states.iter().zip(&mut before) {
                    let x = x_of(state);
                    let seen = if problem.reads_before() { *before } else { x };
                    out[position.l] += self.scale * (state.c * seen).re;
                    *before = x;
                }
            }
            if last.is_empty() {
                let parts =
                    before.iter().flat_map(|x| [x.re, x.im].into_iter().take(problem.weights.width()));
                last = parts.collect();
            }
        }
        if let Some(z) = &problem.z {
            for (l, out) in out.iter_mut().enumerate() {
                *out *= budget::silu(f64::from(z[problem.sequence_index(at.0, at.1, l)]));
            }
        }
        (out, last)
    }

    /// The same of states whose steps are off by as much as these add, to first order.
    pub(super) fn moved(&self, off: impl Fn(&State) -> Complex64) -> (Vec<f64>, Vec<f64>) {
        let dstate = self.problem.shape.dstate;
        let steps = dstate * self.problem.shape.seqlen;
        let (mut states, mut step) = (vec![Complex64::ZERO; dstate], 0);
        self.seen(|state| {
            // The other direction starts anew.
            if step % steps < dstate {
                states[step % dstate] = Complex64::ZERO;
            }
            let x = &mut states[step % dstate];
            *x = state.a_bar * *x + off(state);
            step += 1;
            *x
        })
    }

    /// Its outputs with the roundings of the stages, or with what tensor cores cut off in their place.
    fn simulated(&self, cuts: bool) -> Vec<f64> {
        let Channel { problem, at, .. } = *self;
        let stages = self.contract.arithmetic.stages;
        let real = |stage: Stage, value: f64| {
            let Some(bits) = stages.bits(stage).filter(|_| value != 0.0) else { return value };
            let last = (value.abs().log2().floor() - f64::from(bits - 1)).exp2();
            let scaled = value / last;
            last * if cuts && stages.cuts(stage) { scaled.trunc() } else { scaled.round_ties_even() }
        };
        let round = |stage, value: Complex64| Complex64::new(real(stage, value.re), real(stage, value.im));
        let mut out = vec![0.0; problem.shape.seqlen];
        for positions in &self.directions {
            let mut x: Vec<Complex64> = positions[0].states.iter().map(|state| state.before).collect();
            let mut sums = vec![(0.0f32, 0.0f64); x.len()];
            for position in positions {
                let index = problem.sequence_index(at.0, at.1, position.l);
                let given = f64::from(problem.delta[index])
                    + problem.delta_bias.as_ref().map_or(0.0, |bias| f64::from(bias[at.1]));
                let mut delta = position.delta;
                if stages.naive_softplus && problem.delta_softplus {
                    delta = f64::from(1.0 + given.exp() as f32).ln();
                }
                let off = real(Stage::Delta, delta) / position.delta - 1.0;
                let mut y = 0.0;
                for ((state, x), sum) in position.states.iter().zip(&mut x).zip(&mut sums) {
                    let before = *x;
                    // A difference of running sums is off by what either is.
                    let mut exponent = 0.0;
                    if self.block.is_some() {
                        if state.exponents == state.z.norm() {
                            *sum = (0.0, 0.0);
                        }
                        let lost = f64::from(sum.0) - sum.1;
                        *sum = (sum.0 + state.z.re as f32, sum.1 + state.z.re);
                        exponent = f64::from(sum.0) - sum.1 - lost;
                    }
                    let z_off = round(Stage::State, state.z) - state.z;
                    let decay = (state.a_bar + state.moved[0] * off) * (1.0 + z_off + exponent);
                    let input = round(Stage::Du, state.input + state.moved[1] * off);
                    let product = round(Stage::State, round(Stage::State, decay) * *x);
                    *x = round(Stage::State, product + round(Stage::State, input));
                    let seen = if problem.reads_before() { before } else { *x };
                    y += (round(Stage::Y, seen) * state.c).re;
                }
                out[position.l] += self.scale * y;
            }
        }
        for (l, out) in out.iter_mut().enumerate() {
            let index = problem.sequence_index(at.0, at.1, l);
            *out = real(Stage::Y, *out);
            if let Some(d) = &problem.d {
                let skip = real(Stage::Y, f64::from(d[at.1]) * f64::from(problem.u[index]));
                *out = real(Stage::Y, *out + skip);
            }
            if let Some(z) = &problem.z {
                *out = real(Stage::Gate, *out * real(Stage::Gate, budget::silu(f64::from(z[index]))));
            }
            *out = f64::from(problem.input.round(*out as f32));
        }
        out
    }

    /// The largest relative error that a stage lets a value have.
    fn largest_unit(&self) -> f64 {
        let positions = self.directions.iter().flatten();
        let exponents = |p: &Position| p.states.iter().fold(0.0f64, |most, state| most.max(state.exponents));
        let most = positions.fold(0.0f64, |most, p| most.max(p.delta_error).max(U * exponents(p)));
        most.max(self.contract.arithmetic.stages.unit())
    }

    /// Re Σ C x where it is read.
    fn read(&self, position: &Position) -> f64 {
        let before = self.problem.reads_before();
        position.states.iter().map(|s| (s.c * if before { s.before } else { s.x }).re).sum()
    }
}

/// What V grows by where equal values are rounded alike, as far as roundings of stages tell them apart: Σ(Σ size)² over equal ones, of
/// Σ size².
fn alike(weights: &[f64], values: &[f64], stages: Stages) -> f64 {
    let mut sums: HashMap<(i64, i64), f64> = HashMap::new();
    let (unit, mut squares) = (stages.unit().max(U) * ALIKE, 0.0);
    for (weight, value) in weights.iter().zip(values).filter(|(_, value)| **value != 0.0 && value.is_finite())
    {
        // Of one binade all are a multiple of the same part.
        let exponent = value.abs().log2().floor();
        let part = (value / exponent.exp2() / unit).round() as i64;
        let size = (weight * value).abs();
        *sums.entry((exponent as i64, part)).or_default() += size;
        squares += size * size;
    }
    if squares > 0.0 { sums.values().map(|sum| sum * sum).sum::<f64>() / squares } else { 1.0 }
}

/// What roundings of stages come to together.
struct Roundings {
    stages: Stages,
    /// What a rounded complex product has of the unit, squared for two parts and a product.
    complex: f64,
    dstate: usize,
    runs: Vec<Run>,
    /// By state, and by the powers of 2 that a tree's sums are as long as.
    trees: Vec<f64>,
    levels: usize,
    sum: f64,
    /// By what is rounded.
    cuts: [f64; ROUNDED],
}

impl Roundings {
    fn new(stages: Stages, weights: Weights, dstate: usize, block: Option<usize>) -> Self {
        let levels = block.map_or(0, |block| block.next_power_of_two().trailing_zeros() as usize + 1);
        Roundings {
            stages,
            complex: if weights == Weights::Complex { 5f64.sqrt() } else { 1.0 },
            dstate,
            runs: vec![Run::default(); ROUNDED * dstate.max(1)],
            trees: vec![0.0; levels * dstate],
            levels,
            sum: 0.0,
            cuts: [0.0; ROUNDED],
        }
    }

    /// So many roundings of a stage to `value`, which contributes `kappa`.
    fn add(&mut self, of: (Rounded, usize), stage: Stage, value: Complex64, kappa: Complex64, times: f64) {
        self.add_sum(of, stage, (value, value.norm()), (kappa, kappa.norm()), times);
    }

    /// The same of a sum whose terms have these sizes together.
    fn add_sum(
        &mut self,
        of: (Rounded, usize),
        stage: Stage,
        (value, size): (Complex64, f64),
        (kappa, most): (Complex64, f64),
        times: f64,
    ) {
        let rounding = self.stages.rounding(stage);
        if rounding.unit == 0.0 || size == 0.0 {
            return;
        }
        let unit = rounding.unit + rounding.underflow / size;
        // About its mean, what is cut off is at most half a unit, as is what rounding to nearest does.
        let off = if self.stages.cuts(stage) { 0.5 * unit } else { unit };
        self.run(of, value, most * off * times * self.complex, rounding.unit);
        self.cut(of.0, stage, kappa.re * unit * times);
    }

    /// A rounding that moves T by at most `size`.
    fn run(&mut self, (rounded, n): (Rounded, usize), value: Complex64, size: f64, unit: f64) {
        let run = &mut self.runs[rounded as usize * self.dstate + n];
        if (value - run.began).norm() > MOVES * unit * run.began.norm() {
            self.sum += run.sum * run.sum;
            *run = Run { began: value, sum: 0.0 };
        }
        run.sum += size;
    }

    /// What cutting bits off everywhere would add.
    fn cut(&mut self, rounded: Rounded, stage: Stage, size: f64) {
        if self.stages.cuts(stage) {
            self.cuts[rounded as usize] -= size;
        }
    }

    /// A sum of exponents as a tree, at this position of its block. The difference of two of them is a sum of its own.
    fn tree(&mut self, n: usize, position: usize, size: f64) {
        for level in 0..self.levels {
            let sum = &mut self.trees[n * self.levels + level];
            *sum += if level == 0 { 2.0 * size } else { size };
            if position % (1 << level) == 0 {
                self.sum += *sum * *sum;
                *sum = 0.0;
            }
        }
    }

    fn variance(&self) -> f64 {
        self.sum + self.runs.iter().map(|run| run.sum * run.sum).sum::<f64>()
    }
}
