//! Elements of gradients, by the channels that they collect from.

use crate::judge::explain::evaluate::Evaluator;
use crate::problem::{Operand, Problem};
use crate::program::{Axis, Graph, Id};
use crate::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};

/// Channels that each stand for all that share a row of a gradient.
pub fn rows(problem: &Problem, name: GradientName) -> Vec<(usize, usize)> {
    let mut known = Vec::new();
    let mut rows = Vec::new();
    for at in problem.channels() {
        let index = problem.gradient_index(name, at);
        if !known.contains(&index) {
            known.push(index);
            rows.push(at);
        }
    }
    rows
}

/// Indices of the elements of a row, at each position and state that it has.
pub fn elements(problem: &Problem, name: GradientName, at: (usize, usize)) -> Vec<(usize, (usize, usize))> {
    let (shape, width) = (problem.shape, problem.weights.width());
    let first = problem.gradient_index(name, at);
    let states = || (0..shape.dstate).map(|n| (first + n * width, (0, n))).collect();
    let operand = |operand| match operand {
        Operand::Constant => states(),
        Operand::Variable => (0..shape.dstate * shape.seqlen)
            .map(|i| (first + i * width, (i % shape.seqlen, i / shape.seqlen)))
            .collect(),
    };
    match name {
        U | Delta | Z => (0..shape.seqlen).map(|l| (first + l, (l, 0))).collect(),
        A if problem.shared_by(A).is_some() => vec![(first, (0, 0))],
        A | InitialState => states(),
        B => operand(problem.b_operand),
        C => operand(problem.c_operand),
        D | DeltaBias => vec![(first, (0, 0))],
    }
}

/// Width of the values of a gradient.
pub fn width(problem: &Problem, name: GradientName) -> usize {
    if matches!(name, A | B | C | InitialState) { problem.weights.width() } else { 1 }
}

/// Calls `each` with the index of every element of a row, its value, and the bound on what a sound kernel is off.
pub fn row(
    evaluator: &mut Evaluator,
    (graph, id): (&Graph, Id),
    (problem, name): (&Problem, GradientName),
    at: (usize, usize),
    each: &mut dyn FnMut(usize, f64, f64),
) {
    let column = evaluator.column(graph, id, at);
    let width = width(problem, name);
    for (index, (l, n)) in elements(problem, name, at) {
        let (value, error) = column.at(l, n);
        for (part, value) in [value.re, value.im].into_iter().take(width).enumerate() {
            each(index + part, value, error);
        }
    }
}

/// A place along an axis of an element of a row.
pub fn index_along(axis: Axis, (item, channel): (usize, usize), (l, n): (usize, usize)) -> usize {
    match axis {
        Axis::Item => item,
        Axis::Channel | Axis::Group => channel,
        Axis::State => n,
        Axis::Position => l,
    }
}

/// Channels that a row of a gradient is made of.
pub fn channels(problem: &Problem, name: GradientName) -> usize {
    let (shape, shared) = (problem.shape, problem.shared_by(name).unwrap_or(1));
    match name {
        U | Z | InitialState => 1,
        Delta => shared,
        B | C if problem.varies(name) => shape.dim / shape.groups,
        _ => shape.batch * shared,
    }
}
