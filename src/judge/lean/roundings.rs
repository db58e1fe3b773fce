//! Roundings of stages, in a sum of errors.

use std::collections::HashMap;

use num_complex::Complex64;

use super::{ALIKE, MOVES, Sums};
use crate::judge::budget;
use crate::judge::linearized::{Channel, State};
use crate::problem::{Stage, Stages, Weights};
use crate::promise::allowance::{self, U};
use crate::tensor::TensorName;

/// Places of a step that are rounded.
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
    FastDecay,
    FastGate,
    Stored,
}

pub const ROUNDED: usize = Rounded::Stored as usize + 1;

/// Roundings of a value as it changes.
#[derive(Clone, Copy, Default)]
struct Run {
    began: Complex64,
    sum: f64,
}

/// Adds what roundings may come to, for these weights of a tensor's elements. `stored` are the bounds on the rounding to the storage type
/// where that is 16 bits.
pub fn add(
    channel: &Channel,
    (name, want): (TensorName, &[f64]),
    weights: &[f64],
    stored: Option<&[f64]>,
    repeats: f64,
    sums: &mut Sums,
) {
    let Channel { problem, at, .. } = *channel;
    let shape = problem.shape;
    let arithmetic = channel.contract.arithmetic;
    let stages = arithmetic.stages;
    let block = channel.block.map(|block| block.min(shape.seqlen));
    let mut carried = Roundings::new(stages, problem.weights, shape.dstate, block);
    let mut read = Roundings::new(stages, problem.weights, shape.dstate, None);
    // ∂T/∂y of each position, before skip and gate.
    let mut of_y = vec![0.0; shape.seqlen];
    if name == TensorName::Out {
        let y = channel.readout();
        for l in 0..shape.seqlen {
            let index = problem.sequence_index(at.0, at.1, l);
            let gate = problem.z.as_ref().map(|z| f64::from(z[index]));
            of_y[l] = weights[l] * gate.map_or(1.0, budget::silu);
            let skip = problem.d.as_ref().map_or(0.0, |d| f64::from(d[at.1]) * f64::from(problem.u[index]));
            let mut real = |rounded, stage, value: f64, times| {
                read.add((rounded, 0), stage, value.into(), (of_y[l] * value).into(), times);
            };
            real(Rounded::Y, Stage::Y, y[l], 1.0);
            if problem.d.is_some() {
                real(Rounded::Skip, Stage::Y, skip, 1.0);
                real(Rounded::Skipped, Stage::Y, y[l] + skip, 1.0);
            }
            if let Some(gate) = gate {
                real(Rounded::Gate, Stage::Gate, y[l] + skip, 3.0);
                let fast = arithmetic.gate(gate) - allowance::GATE;
                read.run((Rounded::FastGate, 0), gate.into(), (of_y[l] * (y[l] + skip)).abs() * fast, U);
            }
            if let Some(store) = stored {
                read.run((Rounded::Stored, 0), want[l].into(), weights[l].abs() * store[l], U);
            }
        }
    }
    for (turn, positions) in channel.directions.iter().enumerate() {
        let mut q = vec![Complex64::ZERO; shape.dstate];
        if name == TensorName::LastState && turn == 0 {
            let width = problem.weights.width();
            for (i, store) in stored.into_iter().flatten().enumerate() {
                let parts = weights[i * width..].iter().zip(&want[i * width..]).take(width);
                for (weight, want) in parts {
                    read.run((Rounded::Stored, 0), (*want).into(), weight.abs() * store, U);
                }
            }
            for (q, weights) in q.iter_mut().zip(weights.chunks(width)) {
                *q = Complex64::new(weights[0], if width == 2 { -weights[1] } else { 0.0 });
            }
        }
        for (i, position) in positions.iter().enumerate().rev() {
            let of_y = of_y[position.l] * channel.scale;
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
                let fast = (*q * product).norm() * arithmetic.fast_transition(state.z, problem.weights);
                carried.run((Rounded::FastDecay, n), state.z, fast, U);
                carried.add((Rounded::Product, n), Stage::State, product, *q * product, 1.0);
                carried.add((Rounded::Sum, n), Stage::State, state.x, *q * state.x, 1.0);
                let [before, after] = state.sizes.map(|size| q.norm() * size * U);
                let of_input = q.norm() * state.input_size * channel.contract.input_error(problem.weights);
                carried.sum += (before * state.a_bar.norm() * carried.complex).powi(2)
                    + after * after * (1.0 + allowance::scan_joins(shape.seqlen))
                    + of_input * of_input;
                if let Some(block) = channel.block {
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
    let additions = (shape.dstate * problem.weights.width() + channel.directions.len() - 1) as f64;
    for position in channel.directions.iter().flatten() {
        let of = |state: &State| state.c.norm() * state.sizes[usize::from(!problem.reads_before())];
        let size = channel.scale * of_y[position.l].abs() * position.states.iter().map(of).sum::<f64>();
        read.sum += (U * size).powi(2) * (additions + read.complex.powi(2));
    }
    sums.variance += carried.variance() * repeats;
    sums.read += read.variance();
    for (cut, (carried, read)) in sums.cuts.iter_mut().zip(carried.cuts.into_iter().zip(read.cuts)) {
        *cut += carried + read;
    }
}

/// Growth of V where equal values are rounded alike, as far as roundings of stages tell them apart: Σ(Σ size)² over equal ones, of
/// Σ size².
pub fn alike(weights: &[f64], values: &[f64], stages: Stages) -> f64 {
    let mut sums: HashMap<(i64, i64), f64> = HashMap::new();
    let (unit, mut squares) = (stages.unit().max(U) * ALIKE, 0.0);
    for (weight, value) in weights.iter().zip(values).filter(|(_, value)| **value != 0.0 && value.is_finite())
    {
        // All of one binade are multiples of one part.
        let exponent = value.abs().log2().floor();
        let part = (value / exponent.exp2() / unit).round() as i64;
        let size = (weight * value).abs();
        *sums.entry((exponent as i64, part)).or_default() += size;
        squares += size * size;
    }
    if squares > 0.0 { sums.values().map(|sum| sum * sum).sum::<f64>() / squares } else { 1.0 }
}

/// Roundings of stages together.
struct Roundings {
    stages: Stages,
    /// Units of a rounded product: √5 where it is complex.
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

    /// So many roundings to a sum whose terms have these sizes together.
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

    /// Adds the effect of cutting bits off in a place.
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
            if position.is_multiple_of(1 << level) {
                self.sum += *sum * *sum;
                *sum = 0.0;
            }
        }
    }

    fn variance(&self) -> f64 {
        self.sum + self.runs.iter().map(|run| run.sum * run.sum).sum::<f64>()
    }
}
