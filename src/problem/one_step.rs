//! Elements whose derivatives are judged: (Δ, A, B), and the gradients of a loss by Ā and by B̄ that a backward of coefficients
//! starts from.
//!
//! They are one step of a selective scan, x₀ = Ā x₋₁ + B̄ u of a loss that sees the last state alone, with a channel for each
//! element: with g = ∂L/∂x₀ the gradients by Ā and B̄ are g·conj(x₋₁) and g·u (spec.md §6). What is known of gradients of
//! scans (truth, bounds, fault models) thus is known of them. g and x₋₁ have so few digits that f32 holds both products.

use super::inputs::Draw;
use super::sweep::Sweep;
use super::{CoefficientProblem, InputType, Operand, OutputGradients, Problem, Shape, Weights};

/// Elements with all that their gradients depend on.
#[derive(Clone, Debug)]
pub struct OneStep {
    pub coefficients: CoefficientProblem,
    /// ∂L/∂Ā, (n)·w, ∂L/∂Re + i ∂L/∂Im as every complex gradient.
    pub grad_a_bar: Vec<f32>,
    /// ∂L/∂B̄ likewise.
    pub grad_b_bar: Vec<f32>,
    /// The scan: batch 1, dim n, one state, one position.
    pub problem: Problem,
    pub given: OutputGradients,
}

/// Digits behind the point of g and x₋₁, which lie between −2 and 2: a product of two of them has 22 bits, and the sum of two
/// products 23.
const DIGITS: f64 = 1024.0;

/// The share of elements that have a gradient by B̄ alone, and of those that have one by Ā alone: what is wrong with one of both
/// terms shows in them, whatever the other one is.
const ALONE: f64 = 0.2;

impl OneStep {
    /// The elements of a sweep: the same for the same seed, whatever else a run holds.
    pub fn of(sweep: &Sweep, seed: u64) -> Self {
        let mut draw = Draw::new(seed, &format!("derivatives/{}/{}", sweep.name, sweep.weights));
        OneStep::new(sweep.draw(seed), &mut draw)
    }

    /// These elements, with gradients drawn for them.
    pub fn new(coefficients: CoefficientProblem, draw: &mut Draw) -> Self {
        let CoefficientProblem { weights, delta, a, b } = coefficients.clone();
        let (n, width) = (delta.len(), weights.width());
        let number = |draw: &mut Draw| {
            let size = (1.0 + draw.uniform(0.0, 2.0 * DIGITS - 1.0).floor()) / DIGITS;
            (if draw.unit() < 0.5 { -size } else { size }) as f32
        };
        let (mut state, mut u, mut grad) = (Vec::new(), Vec::new(), Vec::new());
        let (mut grad_a_bar, mut grad_b_bar) = (Vec::new(), Vec::new());
        for i in 0..n {
            // Of the places that one element alone is at, both terms are wanted.
            let at_zero = delta[i] == 0.0 || a[i * width..][..width].iter().all(|&part| part == 0.0);
            let which = if at_zero { 1.0 } else { draw.unit() };
            let x: Vec<f32> = (0..width).map(|_| number(draw)).collect();
            let x = if which < ALONE { vec![0.0; width] } else { x };
            let g: Vec<f32> = (0..width).map(|_| number(draw)).collect();
            u.push(if (ALONE..2.0 * ALONE).contains(&which) { 0.0 } else { 1.0 });
            match weights {
                // Not −0.
                Weights::Real => grad_a_bar.push(g[0] * x[0] + 0.0),
                Weights::Complex => {
                    grad_a_bar.extend([g[0] * x[0] + g[1] * x[1], g[1] * x[0] - g[0] * x[1]]);
                }
            }
            grad_b_bar.extend(g.iter().map(|part| part * u[i]));
            state.extend(x);
            grad.extend(g);
        }
        let problem = Problem {
            shape: Shape { batch: 1, dim: n, dstate: 1, seqlen: 1, groups: 1 },
            weights,
            input: InputType::F32,
            b_operand: Operand::Constant,
            c_operand: Operand::Constant,
            u,
            delta,
            c: vec![0.0; a.len()],
            a,
            b,
            d: None,
            z: None,
            delta_bias: None,
            delta_softplus: false,
            initial_state: Some(state),
            conventions: Default::default(),
            judged_channels: (0..n).map(|channel| (0, channel)).collect(),
            held: None,
            packed: None,
        };
        let given = OutputGradients { dout: vec![0.0; n], dlast_state: Some(grad) };
        OneStep { coefficients, grad_a_bar, grad_b_bar, problem, given }
    }
}
