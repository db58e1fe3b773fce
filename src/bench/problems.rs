//! The inputs that are timed: a layer as models have them, with variable B and C, softplus with a bias, and a skip.

use crate::problem::conventions::Coupling;
use crate::problem::dense::{self, DenseProblem};
use crate::problem::inputs::{self, Draw};
use crate::problem::regime::{EVERYTHING, Recipe, StateMatrix};
use crate::problem::{Conventions, InputType, Operand, OutputGradients, Problem, Shape, Weights};

/// Channels that are drawn; the others repeat them. What a kernel takes does not depend on it, and drawing a whole layer would take
/// longer than all timings.
const DRAWN: usize = 64;

/// Dense systems that are drawn.
const SYSTEMS: usize = 16;

/// A problem of this shape.
pub fn draw(shape: Shape, weights: Weights, input: InputType) -> Problem {
    let few = Shape { batch: 1, dim: shape.dim.min(DRAWN), ..shape };
    let recipe = Recipe {
        shape: few,
        a: if weights == Weights::Real { StateMatrix::S4dReal } else { StateMatrix::S4dLin },
        gate: false,
        bias: Some((1e-3, 0.1)),
        judged_channels: 4,
        ..EVERYTHING
    };
    let layout = (Operand::Variable, Operand::Variable);
    let drawn = inputs::draw(&recipe, weights, input, layout, &mut Draw::new(1, "bench"));
    let rows = shape.batch * shape.dim;
    let sequence = |values: &[f32]| repeated(values, rows * shape.seqlen, shape.dim * shape.seqlen);
    let channels = |values: &[f32]| {
        let each = values.len() / few.dim;
        repeated(values, shape.dim * each, shape.dim * each)
    };
    let variable = |values: &[f32]| repeated(values, values.len() * shape.batch, values.len());
    Problem {
        shape,
        u: sequence(&drawn.u),
        delta: sequence(&drawn.delta),
        a: channels(&drawn.a),
        b: variable(&drawn.b),
        c: variable(&drawn.c),
        d: drawn.d.as_deref().map(channels),
        delta_bias: drawn.delta_bias.as_deref().map(channels),
        ..drawn
    }
}

/// As many dense systems as a shape has channels, with its states and one input: random, stable, steps of 0.05 to 1. Every so many repeat.
pub fn dense(shape: Shape, weights: Weights) -> DenseProblem {
    let (n, count) = (shape.dstate, shape.batch * shape.dim);
    let regime = dense::DenseRegime::timed(weights, n);
    let drawn = regime.draw(1);
    let DenseProblem { delta, a, b, .. } = &drawn;
    let all = |values: &[f32]| {
        let each = values.len() / delta.len();
        repeated(values, count * each, values.len())
    };
    DenseProblem { delta: all(delta), a: all(a), b: all(b), ..drawn }
}

/// A scan with as many of these systems as it has channels, and a skip, and what its backward pass is given. Where it is constant each channel has a Δ, B and
/// C; otherwise all vary.
pub fn dense_scan(shape: Shape, weights: Weights, is_constant: bool) -> (Problem, OutputGradients) {
    let Shape { dim, dstate, seqlen, .. } = shape;
    let systems = dense(Shape { batch: 1, dim: dim.max(SYSTEMS), ..shape }, weights);
    let operand = if is_constant { Operand::Constant } else { Operand::Variable };
    let mut draw = Draw::new(1, "bench/dense");
    let mut numbers = |count: usize| -> Vec<f32> {
        let some: Vec<f32> = (0..count.min(1 << 12)).map(|_| draw.normal() as f32).collect();
        repeated(&some, count, some.len())
    };
    let delta =
        |i: usize| systems.delta[(i / seqlen + if is_constant { 0 } else { 5 * (i % seqlen) }) % SYSTEMS];
    let problem = Problem {
        shape,
        weights,
        input: InputType::F32,
        b_operand: operand,
        c_operand: operand,
        u: numbers(shape.sequence_len()),
        delta: (0..shape.sequence_len()).map(delta).collect(),
        a: systems.a[..dim * dstate * dstate * weights.width()].to_vec(),
        b: numbers(shape.operand_len(operand, weights)),
        c: numbers(shape.operand_len(operand, weights)),
        d: Some(numbers(dim)),
        z: None,
        delta_bias: None,
        delta_softplus: false,
        initial_state: None,
        conventions: Conventions { coupling: Coupling::Dense, ..Conventions::default() },
        judged_channels: vec![(0, 0)],
        held: None,
        packed: None,
    };
    let given = OutputGradients { dout: numbers(shape.sequence_len()), dlast_state: None };
    (problem, given)
}

/// So many values: those given, again and again, from the first one again after every `period` values.
fn repeated(values: &[f32], len: usize, period: usize) -> Vec<f32> {
    let one: Vec<f32> = values.iter().copied().cycle().take(period.min(len)).collect();
    one.iter().copied().cycle().take(len).collect()
}

/// Gradients of a problem's outputs, between −1 and 1 and in the order of nothing.
pub fn output_gradients(problem: &Problem) -> OutputGradients {
    // Multiples of 1/128, which every storage type holds.
    let value = |i: usize| ((i * 89 + i / 7 * 31) % 257) as f32 / 128.0 - 1.0;
    let states = problem.shape.batch * problem.a.len();
    OutputGradients {
        dout: (0..problem.u.len()).map(|i| problem.input.round(value(i))).collect(),
        dlast_state: Some((0..states).map(|i| value(i + 5)).collect()),
    }
}

/// Arguments of single operations, as z = ΔA has them: from −4 to below ½, in the order of nothing.
pub fn arguments(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 9001) as f32 * 5e-4 - 4.0).collect()
}
