//! A state carried into a kernel that starts from zero: one position in front, with a B that makes it.
//!
//! Let x̂ be the state to carry, with |x̂ − x| ≤ E of its truth. In front goes a step of Δ₀ with u = 1; ĥ is what the
//! kernel itself says B̄ is there for B = 1, |ĥ − h| ≤ η ([`model::step`]). With B' = x̂/ĥ, rounded to f32, the exact state
//! after that step is hB', and
//!
//! ```text
//! |hB' − x| ≤ e = η|B'| + |ĥB' − x̂| + E
//! ```
//!
//! where the middle term, the rounding of B', is computed. Where Re A ≤ 0 and Δ ≥ 0, |Ā| ≤ 1 for every method, so that e
//! moves no later state by more than e, and the output by no more than Σ|Cₙ|eₙ, doubled for complex weights. That is
//! what the carried run's truth may be off, beside the run's own bounds.

use num_complex::Complex64;

use super::ProbeRun;
use crate::judge::budget::complex_at;
use crate::judge::model;
use crate::method::Method;
use crate::problem::{CoefficientProblem, Problem, Weights};
use crate::promise::Contract;
use crate::tensor::{Coefficients, TensorName};

/// Δ₀ of the position in front.
pub const DELTA: f32 = 0.25;

/// The step whose B̄ a kernel has to tell: Δ₀, A of every channel and state, B = 1; (dim, dstate).
pub fn unit_steps(problem: &Problem) -> CoefficientProblem {
    let one: &[f32] = if problem.weights == Weights::Real { &[1.0] } else { &[1.0, 0.0] };
    let steps = problem.shape.dim * problem.shape.dstate;
    CoefficientProblem {
        weights: problem.weights,
        delta: vec![DELTA; steps],
        a: problem.a.clone(),
        b: one.repeat(steps),
    }
}

/// The B that carries `first`'s last states into `problem`, (batch, dim, dstate)·w (each channel is a group of its own),
/// and e, (batch, dim, dstate).
pub fn carry(
    (method, contract): (Method, &Contract),
    problem: &Problem,
    steps: &CoefficientProblem,
    unit: &Coefficients,
    first: &ProbeRun,
) -> (Vec<f32>, Vec<f64>) {
    let width = problem.weights.width();
    let (mut b, mut errors) = (Vec::new(), Vec::new());
    let states = &first.tensors[TensorName::LastState];
    for (i, &x) in states.values.iter().enumerate() {
        let at = i % steps.delta.len();
        let a = complex_at(problem.weights, &steps.a, at * width);
        let h = complex_at(problem.weights, &unit.b_bar, at * width);
        let exact = x / h;
        let rounded = [exact.re as f32, exact.im as f32];
        b.extend_from_slice(&rounded[..width]);
        let rounded = complex_at(problem.weights, &rounded, 0);
        let delta = (f64::from(DELTA), 0.0);
        let eta = model::step(method, problem.weights, delta, a, Complex64::ONE, contract).b_bar_error;
        errors.push(eta * rounded.norm() + (h * rounded - x).norm() + states.bound[i]);
    }
    (b, errors)
}

/// What e, (batch, dim, dstate), adds to the bounds of the outputs, (batch, dim, seqlen); without a gate.
pub fn in_outputs(problem: &Problem, errors: &[f64]) -> Vec<f64> {
    let shape = problem.shape;
    let factor = problem.weights.width() as f64;
    let mut extra = Vec::new();
    for (row, errors) in errors.chunks(shape.dstate).enumerate() {
        let channel = (row / shape.dim, row % shape.dim);
        extra.extend((0..shape.seqlen).map(|l| {
            let c = |n| problem.operand_index(problem.c_operand, channel, n, l);
            let c = |n| complex_at(problem.weights, &problem.c, c(n)).norm();
            factor * errors.iter().enumerate().map(|(n, error)| c(n) * error).sum::<f64>()
        }));
    }
    extra
}
