//! One channel's scan in f64, position by position, with its derivatives: for judgements of all elements together. Not a truth, as
//! [`super::model`] is none.

use num_complex::Complex64;

use super::budget;
use super::model;
use crate::formula::{Form, OFFSETS, Transition};
use crate::problem::stages::StageType;
use crate::problem::{Problem, Stage};
use crate::promise::Contract;
use crate::promise::allowance::{Arithmetic, U};
use crate::tensor::TensorName;

/// A channel's scan, position by position in the order of each direction.
pub struct Channel<'a> {
    pub problem: &'a Problem,
    pub contract: &'a Contract,
    pub at: (usize, usize),
    pub directions: Vec<Vec<Position>>,
    /// Factor of Re Σ C x of one direction in y.
    pub scale: f64,
    /// Whether products of Ā are exponentials of running sums, and what of them begins anew.
    pub block: Option<usize>,
}

/// All states at one position of a direction.
pub struct Position {
    pub l: usize,
    pub delta: f64,
    /// Error that stages let Δ have, relative.
    pub delta_error: f64,
    pub states: Vec<State>,
}

/// One state at one position.
#[derive(Clone, Copy, Default)]
pub struct State {
    pub z: Complex64,
    pub a_bar: Complex64,
    pub input: Complex64,
    /// Δ ∂/∂Δ of Ā and of B̄u.
    pub moved: [Complex64; 2],
    pub before: Complex64,
    pub x: Complex64,
    /// Magnitudes of the terms of `input`.
    pub input_size: f64,
    /// Magnitudes of the terms of x, before the step and after it.
    pub sizes: [f64; 2],
    pub c: Complex64,
    /// Σ|z| since the block began.
    pub exponents: f64,
}

/// A value in so many bits: rounded to nearest, or cut off.
fn rounded(value: f64, bits: Option<u8>, cuts: bool) -> f64 {
    let Some(bits) = bits.filter(|_| value != 0.0) else { return value };
    let last = (value.abs().log2().floor() - f64::from(bits - 1)).exp2();
    let scaled = value / last;
    last * if cuts { scaled.trunc() } else { scaled.round_ties_even() }
}

/// Relative change of Δ by which derivatives are formed.
const NUDGE: f64 = 1.0 / (1u64 << 20) as f64;

impl<'a> Channel<'a> {
    pub fn new(form: Form, problem: &'a Problem, contract: &'a Contract, row: usize) -> Self {
        let (at, shape) = (problem.judged_channels[row], problem.shape);
        let arithmetic = contract.arithmetic;
        let stages = arithmetic.stages.in_f32().with_library_functions();
        let single = Arithmetic { stages, ..arithmetic };
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

    /// Share of the states in out, after the gate and without the skip, and the last states; for states that are these, before and after
    /// each step, in the place of x. They are asked for position by position.
    pub fn seen(&self, mut states_of: impl FnMut(&State) -> [Complex64; 2]) -> (Vec<f64>, Vec<f64>) {
        let Channel { problem, at, .. } = *self;
        let mut out = vec![0.0; problem.shape.seqlen];
        let mut last = Vec::new();
        for positions in &self.directions {
            let mut states = vec![Complex64::ZERO; problem.shape.dstate];
            for position in positions {
                for (state, kept) in position.states.iter().zip(&mut states) {
                    let [before, x] = states_of(state);
                    let seen = if problem.reads_before() { before } else { x };
                    out[position.l] += self.scale * (state.c * seen).re;
                    *kept = x;
                }
            }
            if last.is_empty() {
                let parts =
                    states.iter().flat_map(|x| [x.re, x.im].into_iter().take(problem.weights.width()));
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

    /// How far out and the last states move where each step is off by as much as these add, to first order.
    pub fn moved(&self, off: impl Fn(&State) -> Complex64) -> (Vec<f64>, Vec<f64>) {
        let dstate = self.problem.shape.dstate;
        let steps = dstate * self.problem.shape.seqlen;
        let (mut states, mut step) = (vec![Complex64::ZERO; dstate], 0);
        self.seen(|state| {
            // The other direction starts anew.
            if step % steps < dstate {
                states[step % dstate] = Complex64::ZERO;
            }
            let x = &mut states[step % dstate];
            let before = *x;
            *x = state.a_bar * before + off(state);
            step += 1;
            [before, *x]
        })
    }

    /// y of zoh by products on tensor cores, of operands in this type, as mamba_ssm's kernels have them; of channels whose states have one
    /// A. Rounded, or with what is cut off in its place.
    fn on_tensor_cores(&self, operands: StageType, cuts: bool) -> Vec<f64> {
        let Channel { problem, at, .. } = *self;
        let round = |value: f64| rounded(value, operands.bits(), cuts && operands == StageType::Tf32);
        let positions = &self.directions[0];
        let block = self.block.unwrap_or(positions.len()).max(1);
        let u: Vec<f64> = (0..positions.len()).map(|l| f64::from(problem.u_at(at, l as isize))).collect();
        let mut x: Vec<f64> = positions[0].states.iter().map(|state| state.before.re).collect();
        let mut y = Vec::with_capacity(positions.len());
        for (first, chunk) in (0..).step_by(block).zip(positions.chunks(block)) {
            let b = |k: usize| -> Vec<f64> {
                let index = |n| problem.operand_index(problem.b_operand, at, n, first + k);
                (0..x.len()).map(|n| f64::from(problem.b[index(n)])).collect()
            };
            let b: Vec<Vec<f64>> = (0..chunk.len()).map(b).collect();
            let narrow: Vec<Vec<f64>> = b.iter().map(|b| b.iter().map(|b| round(*b)).collect()).collect();
            let sums = chunk.iter().scan(0.0, |sum, position| {
                *sum += position.states[0].z.re;
                Some(*sum)
            });
            let sums: Vec<f64> = sums.collect();
            for (l, position) in chunk.iter().enumerate() {
                let c: Vec<f64> = position.states.iter().map(|state| round(state.c.re)).collect();
                let dot = |of: &[f64]| -> f64 { c.iter().zip(of).map(|(c, of)| c * of).sum() };
                let carried: Vec<f64> = x.iter().map(|x| round(*x)).collect();
                let term = |k: usize| {
                    let score = dot(&narrow[k]) * (sums[l] - sums[k]).exp() * chunk[k].delta;
                    round(score) * round(u[first + k])
                };
                y.push(dot(&carried) * sums[l].exp() + (0..=l).map(term).sum::<f64>());
            }
            let sum = sums[sums.len() - 1];
            for (n, x) in x.iter_mut().enumerate() {
                let term =
                    |k: usize| round(b[k][n] * (sum - sums[k]).exp() * chunk[k].delta) * round(u[first + k]);
                *x = *x * sum.exp() + (0..chunk.len()).map(term).sum::<f64>();
            }
        }
        y
    }

    /// Its outputs with the roundings of the stages, or with what tensor cores cut off in their place.
    pub fn simulated(&self, cuts: bool) -> Vec<f64> {
        let Channel { problem, at, .. } = *self;
        let stages = self.contract.arithmetic.stages;
        let real = |stage: Stage, value: f64| rounded(value, stages.bits(stage), cuts && stages.cuts(stage));
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
                    delta = problem.conventions.limit.of(f64::from(1.0 + given.exp() as f32).ln());
                }
                if stages.bits(Stage::Delta).is_some() {
                    let raw = real(Stage::Delta, given);
                    let step = match (problem.delta_softplus, stages.naive_softplus) {
                        (false, _) => raw,
                        (true, false) => budget::softplus(raw),
                        (true, true) => f64::from(1.0 + raw.exp() as f32).ln(),
                    };
                    delta = real(Stage::Delta, problem.conventions.limit.of(real(Stage::Delta, step)));
                }
                // A step that is clamped to 0 is no rounding.
                let off = if position.delta == 0.0 { 0.0 } else { delta / position.delta - 1.0 };
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
        if let Some(operands) = stages.ssd {
            out = self.on_tensor_cores(operands, cuts);
        }
        let stored = problem.stored(TensorName::Out);
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
            *out = f64::from(stored.round(*out as f32));
        }
        out
    }

    /// The largest relative error that a stage lets a value have.
    pub fn largest_unit(&self) -> f64 {
        let positions = self.directions.iter().flatten();
        let exponents = |p: &Position| p.states.iter().fold(0.0f64, |most, state| most.max(state.exponents));
        let most = positions.fold(0.0f64, |most, p| most.max(p.delta_error).max(U * exponents(p)));
        most.max(self.contract.arithmetic.stages.unit())
    }

    /// y at each position, before skip and gate.
    pub fn readout(&self) -> Vec<f64> {
        let before = self.problem.reads_before();
        let mut y = vec![0.0; self.problem.shape.seqlen];
        for position in self.directions.iter().flatten() {
            let of = |state: &State| (state.c * if before { state.before } else { state.x }).re;
            y[position.l] += self.scale * position.states.iter().map(of).sum::<f64>();
        }
        y
    }
}
