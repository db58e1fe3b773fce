//! Draws a problem's tensors from a seed. The stream depends on the seed and the problem's id alone, so each
//! problem can be drawn again by itself: on any machine, since elementary functions come from the `libm` crate
//! and not from the system.

use std::f64::consts::PI;

use num_complex::Complex64;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use super::regime::{Recipe, STRETCH, Signal, StateMatrix, Steps};
use super::{Axes, CoefficientProblem, Conventions, InputType, Operand, Order, Problem, Shared, Weights};

/// A source of inputs, keyed by a seed and a name.
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// The stream of `name` under `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        let key = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(name).finalize();
        Draw(ChaCha8Rng::from_seed(key.into()))
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0.random::<f64>()
    }

    pub fn uniform(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.unit()
    }

    /// Log-uniform in [lo, hi), both positive.
    pub fn log_uniform(&mut self, lo: f64, hi: f64) -> f64 {
        libm::exp(self.uniform(libm::log(lo), libm::log(hi)))
    }

    /// Standard normal, by Box and Muller (1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        radius * libm::cos(2.0 * PI * self.unit())
    }

    /// A weight whose parts are standard normal.
    pub fn weight(&mut self, weights: Weights) -> Complex64 {
        let re = self.normal();
        Complex64::new(re, if weights == Weights::Complex { self.normal() } else { 0.0 })
    }

    /// z or its conjugate.
    pub fn conjugated(&mut self, z: Complex64) -> Complex64 {
        if self.unit() < 0.5 { z } else { z.conj() }
    }

    /// `count` different numbers below `n`, ascending; all of them when there are no more than `count`.
    pub fn choose(&mut self, count: usize, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        for i in 0..count.min(n) {
            let j = i + (self.unit() * (n - i) as f64) as usize;
            all.swap(i, j);
        }
        all.truncate(count);
        all.sort_unstable();
        all
    }
}

/// Draws the tensors that `recipe` describes.
pub fn draw(
    recipe: &Recipe,
    weights: Weights,
    input: InputType,
    (b_operand, c_operand): (Operand, Operand),
    draw: &mut Draw,
) -> Problem {
    let shape = recipe.shape;
    let headdim = recipe.headdim.unwrap_or(1);
    let states = if recipe.headdim.is_some() { shape.dstate } else { 1 };
    let a = of_heads(state_matrix(recipe, weights, draw), weights.width(), headdim * states);
    let (delta, delta_bias) = steps(recipe, weights, &a, draw);
    let stored = |values: Vec<f32>| values.into_iter().map(|v| input.round(v)).collect::<Vec<f32>>();
    let operand = |operand, signal, draw: &mut Draw| {
        let values = signal_values(signal, shape.operand_len(operand, weights), draw);
        // A constant operand is a weight (f32); a variable one is an input (spec.md §3).
        if operand == Operand::Variable { stored(values) } else { values }
    };
    let b = operand(b_operand, recipe.b, draw);
    let c = operand(c_operand, Signal::Normal(1.0), draw);
    let judged = recipe.judged_channels.min(shape.batch * shape.dim);
    Problem {
        shape,
        weights,
        input,
        b_operand,
        c_operand,
        u: stored(signal_values(recipe.u, shape.sequence_len(), draw)),
        delta: of_heads(stored(delta), shape.seqlen, headdim),
        a,
        b,
        c,
        d: recipe.skip.then(|| of_heads(signal_values(Signal::Normal(1.0), shape.dim, draw), 1, headdim)),
        z: recipe.gate.then(|| stored(signal_values(Signal::Normal(2.0), shape.sequence_len(), draw))),
        delta_bias: delta_bias.map(|bias| of_heads(bias, 1, headdim)),
        delta_softplus: recipe.softplus,
        initial_state: None,
        conventions: Conventions { axes: axes(recipe.headdim), ..Conventions::default() },
        judged_channels: draw
            .choose(judged, shape.batch * shape.dim)
            .into_iter()
            .map(|i| (i / shape.dim, i % shape.dim))
            .collect(),
        held: None,
        packed: None,
    }
}

/// Rows of so many floats, of which several in a row are as the first of them.
fn of_heads(mut values: Vec<f32>, row: usize, several: usize) -> Vec<f32> {
    for head in values.chunks_mut(row * several) {
        let (first, others) = head.split_at_mut(row);
        others.chunks_mut(row).for_each(|other| other.copy_from_slice(first));
    }
    values
}

/// The axes of what has heads of so many channels.
fn axes(headdim: Option<usize>) -> Axes {
    let shared = Shared { delta: headdim, delta_bias: headdim, a: headdim, d: headdim };
    headdim.map_or(Axes::default(), |headdim| Axes { order: Order::Blhp, headdim, shared })
}

fn signal_values(signal: Signal, len: usize, draw: &mut Draw) -> Vec<f32> {
    match signal {
        Signal::Zero => vec![0.0; len],
        Signal::Pulses => {
            let middle = STRETCH / 2 - 4..STRETCH / 2 + 4;
            let value = |l: usize, value: f64| if middle.contains(&(l % STRETCH)) { value } else { 0.0 };
            (0..len).map(|l| value(l, draw.normal()) as f32).collect()
        }
        Signal::Normal(scale) => (0..len).map(|_| (scale * draw.normal()) as f32).collect(),
        Signal::Ends { lo, hi } => {
            let value = |draw: &mut Draw| {
                let away = draw.log_uniform(1.0, 30.0);
                let size = if draw.unit() < 0.5 { lo * away } else { hi / away };
                if draw.unit() < 0.5 { size } else { -size }
            };
            (0..len).map(|_| value(draw) as f32).collect()
        }
    }
}

/// A, (dim, dstate)·w. Channels differ wherever the regime's definition leaves that open, so that a kernel
/// that reads another channel's row is seen.
fn state_matrix(recipe: &Recipe, weights: Weights, draw: &mut Draw) -> Vec<f32> {
    let n_states = recipe.shape.dstate as f64;
    let mut a = Vec::with_capacity(recipe.shape.dim * recipe.shape.dstate * weights.width());
    for _channel in 0..recipe.shape.dim {
        let channel_scale = draw.log_uniform(0.5, 2.0);
        for state in 0..recipe.shape.dstate {
            let n = state as f64;
            let (re, im) = match recipe.a {
                StateMatrix::S4dReal => (-(n + 1.0), 0.0),
                StateMatrix::S4dLin => (-0.5, PI * n),
                StateMatrix::S4dInv => (-0.5, n_states / PI * (n_states / (2.0 * n + 1.0) - 1.0)),
                StateMatrix::Imaginary => (0.0, PI * (n + 0.5) * channel_scale),
                StateMatrix::Zero => (0.0, 0.0),
                StateMatrix::Repeated => (-channel_scale, 2.0 * channel_scale),
                StateMatrix::Positive => {
                    let size = draw.uniform(1.5, 2.5);
                    (size, 1e-3 * size)
                }
                StateMatrix::TwoStandOut => {
                    let size = match state {
                        16 | 17 => draw.uniform(0.96, 1.0),
                        _ => draw.log_uniform(0.3, 0.75),
                    };
                    (-size, size * draw.uniform(-0.2, 0.2))
                }
                StateMatrix::Stable(lo, hi) => half_plane(draw, weights, (lo, hi), (-1.0, 0.5 * PI)),
                StateMatrix::Growing(lo, hi) => half_plane(draw, weights, (lo, hi), (1.0, -0.5 * PI)),
            };
            a.push(re as f32);
            if weights == Weights::Complex {
                a.push(im as f32);
            }
        }
    }
    a
}

/// One A of log-uniform modulus: of this sign where it is real, else in the half-plane from this angle on.
fn half_plane(
    draw: &mut Draw,
    weights: Weights,
    (lo, hi): (f64, f64),
    (sign, from): (f64, f64),
) -> (f64, f64) {
    let size = draw.log_uniform(lo, hi);
    match weights {
        Weights::Real => (sign * size, 0.0),
        Weights::Complex => {
            let angle = draw.uniform(from, from + PI);
            (size * libm::cos(angle), size * libm::sin(angle))
        }
    }
}

/// delta, (batch, dim, seqlen), and its bias, (dim).
fn steps(recipe: &Recipe, weights: Weights, a: &[f32], draw: &mut Draw) -> (Vec<f32>, Option<Vec<f32>>) {
    let shape = recipe.shape;
    let mut delta = Vec::with_capacity(shape.sequence_len());
    for batch in 0..shape.batch {
        for channel in 0..shape.dim {
            for l in 0..shape.seqlen {
                let value = match recipe.steps {
                    Steps::LogUniform(lo, hi) => draw.log_uniform(lo, hi),
                    Steps::Trained => 0.5 * draw.normal(),
                    Steps::Normal(deviation) => deviation * draw.normal(),
                    Steps::SometimesZero(lo, hi) => {
                        let step = draw.log_uniform(lo, hi);
                        if l % 3 == 1 { 0.0 } else { step }
                    }
                    Steps::SoftplusRange if l % 3 == 0 => draw.uniform(-100.0, 100.0),
                    Steps::Uniform { lo, hi } => draw.uniform(lo, hi),
                    Steps::SoftplusRange => draw.uniform(-5.0, 25.0),
                    Steps::BackOnce => {
                        let step = draw.uniform(1.45, 1.55);
                        if l / STRETCH == batch { -step } else { step }
                    }
                    Steps::NearPole => {
                        let row = (channel * shape.dstate + l / 4 % shape.dstate) * weights.width();
                        let away = draw.log_uniform(1e-3, 1e-1) * if draw.unit() < 0.5 { -1.0 } else { 1.0 };
                        let small = draw.log_uniform(1e-3, 1e-2);
                        if l % 4 == 0 { 2.0 / f64::from(a[row]) * (1.0 + away) } else { small }
                    }
                };
                delta.push(value as f32);
            }
        }
    }
    // As Mamba initialises it: softplus(bias) is log-uniform.
    let bias = recipe.bias.map(|(lo, hi)| {
        (0..shape.dim).map(|_| libm::log(libm::expm1(draw.log_uniform(lo, hi))) as f32).collect::<Vec<f32>>()
    });
    (delta, bias)
}

/// A sweep of (Δ, A, B) triples with |ΔA| log-uniform in [lo, hi), each real z negative or positive, complex
/// z anywhere in the plane; Δ log-uniform over its trained range (spec.md §4), B standard normal.
pub fn draw_coefficients(
    weights: Weights,
    count: usize,
    (lo, hi): (f64, f64),
    draw: &mut Draw,
) -> CoefficientProblem {
    let mut problem = CoefficientProblem::new(weights);
    for _ in 0..count {
        let z_abs = draw.log_uniform(lo, hi);
        let delta = draw.log_uniform(2e-9, 8.0) as f32;
        let angle = draw.uniform(0.0, 2.0 * PI);
        let a_abs = z_abs / f64::from(delta);
        let a = match weights {
            Weights::Real => Complex64::new(a_abs * libm::cos(angle).signum(), 0.0),
            Weights::Complex => Complex64::new(a_abs * libm::cos(angle), a_abs * libm::sin(angle)),
        };
        problem.push(delta, a, draw.weight(weights));
    }
    problem
}
