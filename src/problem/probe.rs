//! The problems that invariants are probed on: mild ones, since an invariant needs no hard place to break, and small
//! ones, since each is solved some fifty times.

use num_complex::Complex64;

use super::inputs::{self, Draw};
use super::output_gradients::Loss;
use super::regime::{PLAIN, Recipe, StateMatrix, Steps};
use super::transform::{quantized, to_multiple};
use super::{CoefficientProblem, InputType, Operand, OutputGradients, Problem, Shape, Weights};

named! {
    /// A problem's family. All have f32 inputs, stable A of at most 4 and Δ in [0.01, 0.5], without softplus and bias.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Probe {
        /// Two groups of two channels, variable B and C, skip and gate.
        Grouped => "grouped",
        /// Constant B and C, skip; three tiles of the kernels for real weights, the last one not full.
        Constant => "constant",
        /// Variable B and C, each channel a group of its own, skip; three such tiles.
        Carried => "carried",
        /// As `Carried`, over many tiles, and past chunks of 2048, which other kernels have.
        Long => "long",
    }
}

impl Probe {
    /// Positions at which a sequence is split, or changed from there on: its ends, and places at, beside and between edges
    /// of tiles.
    pub fn splits(self) -> &'static [usize] {
        match self {
            Probe::Grouped => &[1, 16, 32],
            Probe::Constant => &[1, 65, 129],
            Probe::Carried => &[1, 75, 128, 147],
            Probe::Long => &[1000, 2048],
        }
    }

    /// The problem: the same for the same seed. u, B and C are [`quantized`]; every channel is judged.
    pub fn draw(self, weights: Weights, seed: u64) -> Problem {
        self.draw_named(weights, seed, "")
    }

    /// Another problem of the same shape, to take changed values from.
    pub fn draw_other(self, weights: Weights, seed: u64) -> Problem {
        self.draw_named(weights, seed, "/other")
    }

    /// What a backward pass of the probe's problem begins with, for a loss that sees outputs and last states. `dout` is
    /// [`quantized`]; each `which` is another one.
    pub fn draw_given(self, problem: &Problem, seed: u64, which: &str) -> OutputGradients {
        let name = format!("invariants/{}/{}/{which}", self.name(), problem.weights);
        let mut given = Loss::Random.draw(problem, true, &mut Draw::new(seed, &name));
        given.dout.iter_mut().chain(given.dlast_state.iter_mut().flatten()).for_each(to_multiple);
        given
    }

    fn draw_named(self, weights: Weights, seed: u64, suffix: &str) -> Problem {
        let (batch, dim, dstate, seqlen, groups) = match self {
            Probe::Grouped => (2, 4, 3, 33, 2),
            Probe::Constant => (2, 2, 3, 131, 1),
            Probe::Carried => (2, 2, 3, 149, 2),
            Probe::Long => (1, 1, 2, 2051, 1),
        };
        let recipe = Recipe {
            shape: Shape { batch, dim, dstate, seqlen, groups },
            a: StateMatrix::Stable(0.3, 4.0),
            steps: Steps::LogUniform(0.01, 0.5),
            skip: true,
            gate: self == Probe::Grouped,
            ..PLAIN
        };
        let operand = if self == Probe::Constant { Operand::Constant } else { Operand::Variable };
        let mut draw = Draw::new(seed, &format!("invariants/{}/{weights}{suffix}", self.name()));
        quantized(inputs::draw(&recipe, weights, InputType::F32, (operand, operand), &mut draw))
    }
}

/// (Δ, A, B) with Δ from `delta`, |z| from `z_abs`, both log-uniform, Re z < 0 and B standard normal.
pub fn stable_steps(weights: Weights, delta: (f64, f64), z_abs: (f64, f64), seed: u64) -> CoefficientProblem {
    let name = format!("invariants/steps/{weights}/{delta:?}/{z_abs:?}");
    let mut draw = Draw::new(seed, &name);
    let mut problem = CoefficientProblem::new(weights);
    for _ in 0..STEPS {
        let step = draw.log_uniform(delta.0, delta.1) as f32;
        let size = draw.log_uniform(z_abs.0, z_abs.1) / f64::from(step);
        let angle = draw.uniform(0.5, 1.5) * std::f64::consts::PI;
        let a = match weights {
            Weights::Real => Complex64::new(-size, 0.0),
            Weights::Complex => Complex64::new(size * libm::cos(angle), size * libm::sin(angle)),
        };
        problem.push(step, a, draw.weight(weights));
    }
    problem
}

/// Triples of a set of steps.
const STEPS: usize = 256;
