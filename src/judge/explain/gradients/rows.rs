//! Elements of gradients, by the channels that they collect from.

use std::collections::HashSet;

use crate::judge::explain::column::Cell;
use crate::judge::explain::evaluate::Evaluator;
use crate::problem::{Operand, Problem};
use crate::program::{Axis, Graph, Id};
use crate::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};

/// An element of a row: its index in the gradient, its position and its state.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    pub index: usize,
    pub at: (usize, usize),
}

/// Elements of a gradient that are computed together, and a channel that stands for all that they collect from.
#[derive(Clone, Debug)]
pub struct Row {
    pub at: (usize, usize),
    pub elements: Vec<Element>,
}

/// Channels that each stand for all that share a row of a gradient.
pub fn rows(problem: &Problem, name: GradientName) -> Vec<Row> {
    let mut known = HashSet::new();
    let channels = problem.channels().filter(|at| known.insert(problem.gradient_index(name, *at)));
    channels.map(|at| Row { at, elements: elements(problem, name, at) }).collect()
}

/// Elements of a row, at each position and state that it has.
fn elements(problem: &Problem, name: GradientName, at: (usize, usize)) -> Vec<Element> {
    let (shape, width) = (problem.shape, problem.weights.width());
    let first = problem.gradient_index(name, at);
    let element = |index: usize, at: (usize, usize)| Element { index, at };
    let states = || (0..shape.dstate).map(|n| element(first + n * width, (0, n))).collect();
    let is_there = |l: &usize| !problem.packed.as_ref().is_some_and(|packed| packed.at(at.0, *l).is_padding);
    let operand = |operand| match operand {
        Operand::Constant => states(),
        Operand::Variable => (0..shape.dstate * shape.seqlen)
            .filter(|i| is_there(&(i % shape.seqlen)))
            .map(|i| element(first + i * width, (i % shape.seqlen, i / shape.seqlen)))
            .collect(),
    };
    match name {
        U | Delta | Z => (0..shape.seqlen).filter(is_there).map(|l| element(first + l, (l, 0))).collect(),
        A if problem.is_dense() => {
            let entries = 0..shape.dstate * shape.dstate;
            entries.map(|entry| element(first + entry * width, (0, entry / shape.dstate))).collect()
        }
        A if problem.shared_by(A).is_some() => vec![element(first, (0, 0))],
        InitialState => {
            let sequences = problem.sequences(at.0);
            let own = sequences.iter().filter_map(|own| Some((own.initial?, own.positions.start)));
            let of = |(slot, l): (usize, usize)| {
                (0..shape.dstate).map(move |n| (first + (slot * shape.dstate + n) * width, (l, n)))
            };
            own.flat_map(of).map(|(index, at)| element(index, at)).collect()
        }
        A => states(),
        B => operand(problem.b_operand),
        C => operand(problem.c_operand),
        D | DeltaBias => vec![element(first, (0, 0))],
    }
}

/// Width of the values of a gradient.
pub fn width(problem: &Problem, name: GradientName) -> usize {
    if matches!(name, A | B | C | InitialState) { problem.weights.width() } else { 1 }
}

/// Values of a row's elements, in order, and what a sound kernel is off.
pub fn cells(
    evaluator: &mut Evaluator,
    (graph, id): (&Graph, Id),
    (problem, name): (&Problem, GradientName),
    row: &Row,
) -> Vec<Cell> {
    let is_of_entries = name == A && problem.is_dense();
    if graph.is_matrix(id) != is_of_entries {
        // A column is no matrix, whatever an edit puts there.
        return vec![(f64::NAN.into(), 0.0); row.elements.len()];
    }
    if let Some(of) = is_of_entries.then(|| evaluator.entries(graph, id, row.at)).flatten() {
        let (first, n) = (problem.gradient_index(name, row.at), problem.shape.dstate);
        let entry = |element: &Element| {
            let entry = (element.index - first) / width(problem, name);
            (of.value[(entry / n, entry % n)], of.error[(entry / n, entry % n)])
        };
        return row.elements.iter().map(entry).collect();
    }
    let column = evaluator.column(graph, id, row.at);
    row.elements.iter().map(|element| column.at(element.at.0, element.at.1)).collect()
}

/// Calls `each` with the index of every element of a row, its value, and the bound on what a sound kernel is off.
pub fn row(
    evaluator: &mut Evaluator,
    (graph, id): (&Graph, Id),
    (problem, name): (&Problem, GradientName),
    row: &Row,
    each: &mut dyn FnMut(usize, f64, f64),
) {
    let width = width(problem, name);
    for (element, (value, error)) in
        row.elements.iter().zip(cells(evaluator, (graph, id), (problem, name), row))
    {
        for (part, value) in [value.re, value.im].into_iter().take(width).enumerate() {
            each(element.index + part, value, error);
        }
    }
}

/// A place along an axis of an element of a row.
pub fn index_along(axis: Axis, (item, channel): (usize, usize), (l, n): (usize, usize)) -> usize {
    match axis {
        Axis::Item => item,
        Axis::Channel | Axis::Group => channel,
        Axis::State => n,
        Axis::Position | Axis::Offset => l,
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
