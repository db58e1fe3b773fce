//! Values of a program's nodes in f64, each with a bound on what a sound f32 kernel that computes the same may be off.
//!
//! Bounds are running ones: to each operation the errors of its operands, to first order, and its own rounding
//! ([`crate::promise::allowance`]), with room for other orders of the operations, as [`crate::judge::budget`] has it. They say how closely a
//! recorded output must match a program, not whether a kernel is right.

mod coupled;
mod scan;

use std::ops::Range;
use std::rc::Rc;

use num_complex::Complex64;

use super::column::{Cell, Column};
use super::functions::{applied, divided, modulus, of_phi, rounded, times};
use super::point::{Point, offset, position};
use crate::judge::budget::{LAMBDA, ReadoutRoundings, store_error};
use crate::judge::model::phi_of_each;
use crate::judge::ulp::Format;
use crate::problem::{OutputGradients, Problem};
use crate::program::{Accumulator, Axis, Condition, Function, Graph, Id, Index, Op, Over, Program};
use crate::promise::allowance::{self, Arithmetic, HALF_SUBNORMAL, SUM, U};
use crate::tensor::{Named, TensorName};

/// A value that is not computed.
const UNKNOWN: Cell = (Complex64::new(f64::NAN, 0.0), 0.0);

/// Positions before and after a window that are computed as well, since a program may read them.
const MARGIN: usize = 4;

/// One channel of a tensor, as a program computes it.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// As a kernel lays them out: re and im of complex elements in turn.
    pub values: Vec<f64>,
    /// One for each element.
    pub bound: Vec<f64>,
    /// Whether an element is beyond the range of f32: a kernel's may then be no number.
    pub beyond: Vec<bool>,
}

impl Row {
    /// An empty one, with room for elements of so many parts.
    fn with_room(len: usize, width: usize) -> Self {
        let [values, bound] = [len * width, len].map(Vec::with_capacity);
        Row { values, bound, beyond: Vec::with_capacity(len) }
    }

    fn push(&mut self, parts: &[f64], bound: f64, beyond: bool) {
        self.values.extend(parts);
        self.bound.push(bound);
        self.beyond.push(beyond);
    }
}

/// A channel, as a program computes it.
#[derive(Clone, Debug)]
pub struct Channel {
    pub tensors: Named<Row>,
}

/// Positions at which a program is asked: from the first one on, so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub first: usize,
    pub len: usize,
}

/// States of the specified program at all positions, in each direction: windows begin with them.
pub type Entering = [Option<Rc<Column>>; 2];

/// Evaluates programs in one window of one channel.
pub struct Evaluator<'a> {
    problem: &'a Problem,
    /// Gradients that a backward pass starts from.
    given: Option<&'a OutputGradients>,
    channel: (usize, usize),
    window: Window,
    /// The positions that are computed.
    positions: Range<usize>,
    entering: Entering,
    /// Values of nodes, for each channel.
    columns: Vec<Vec<Option<Rc<Column>>>>,
    /// Functions of matrices at positions of a channel.
    matrices: coupled::Known,
    /// Memory of columns of all positions that are forgotten: to allocate it costs as much as to compute what is in it.
    memory: Vec<Vec<Cell>>,
}

impl<'a> Evaluator<'a> {
    /// Of all positions.
    pub fn whole(problem: &'a Problem, channel: (usize, usize)) -> Self {
        let window = Window { first: 0, len: problem.shape.seqlen };
        Evaluator::new(problem, channel, window, [None, None])
    }

    pub fn new(problem: &'a Problem, channel: (usize, usize), window: Window, entering: Entering) -> Self {
        let seqlen = problem.shape.seqlen;
        let positions = window.first.saturating_sub(MARGIN)..(window.first + window.len + MARGIN).min(seqlen);
        Evaluator {
            problem,
            given: None,
            channel,
            window,
            positions,
            entering,
            columns: vec![Vec::new(); problem.shape.batch * problem.shape.dim],
            matrices: coupled::Known::default(),
            memory: Vec::new(),
        }
    }

    /// Evaluates a backward pass that starts from these gradients.
    pub fn backward(problem: &'a Problem, given: &'a OutputGradients) -> Self {
        Evaluator { given: Some(given), ..Evaluator::whole(problem, (0, 0)) }
    }

    /// Forgets the nodes that a graph of this many does not have.
    pub fn truncate(&mut self, len: usize) {
        self.matrices.retain(|(_, id, _), _| id.index() < len);
        for columns in self.columns.iter_mut().filter(|columns| columns.len() > len) {
            let columns = columns.drain(len..).flatten().filter_map(Rc::into_inner);
            self.memory.extend(columns.filter_map(Column::into_memory));
        }
    }

    /// Forgets all nodes, and gives their memory back.
    pub fn forget_all(&mut self) {
        self.truncate(0);
        self.memory.clear();
    }

    /// Outputs in the window, as a kernel stores them.
    pub fn out(&mut self, graph: &Graph, program: &Program) -> Row {
        let column = self.column(graph, program.out, self.channel);
        let is_stored = matches!(graph.op(program.out), Op::CutOff(..));
        let packed = self.problem.packed.as_deref();
        let mut row = Row::with_room(self.window.len, 1);
        for l in self.window.first..self.window.first + self.window.len {
            if packed.is_some_and(|packed| packed.at(self.channel.0, l).is_padding) {
                row.push(&[0.0], HALF_SUBNORMAL, false);
                continue;
            }
            let (value, error) = column.at(l - self.positions.start, 0);
            if is_stored {
                row.push(&[value.re], error + HALF_SUBNORMAL, !value.re.is_finite());
                continue;
            }
            self.store(&mut row, TensorName::Out, (value, error), 1);
        }
        row
    }

    /// Outputs and last states of all positions.
    pub fn tensors(&mut self, graph: &Graph, program: &Program) -> Named<Row> {
        let out = self.out(graph, program);
        let column = self.column(graph, program.last_state, self.channel);
        let mut last = Row::with_room(self.problem.shape.dstate, self.problem.weights.width());
        let [_, slots] = self.problem.states_of_each();
        let sequences = self.problem.sequences(self.channel.0);
        for slot in 0..slots {
            // The state of each sequence stands at all of its positions.
            let own = sequences.iter().find(|sequence| sequence.last == Some(slot));
            for n in 0..self.problem.shape.dstate {
                let value = own.map_or(UNKNOWN, |own| column.at(own.positions.start, n));
                self.store(&mut last, TensorName::LastState, value, self.problem.weights.width());
            }
        }
        [(TensorName::Out, out), (TensorName::LastState, last)].into_iter().collect()
    }

    fn store(&self, row: &mut Row, name: TensorName, (value, error): (Complex64, f64), width: usize) {
        let is_finite = value.re.is_finite() && value.im.is_finite();
        let size = value.re.abs().max(value.im.abs()) + error;
        let store = if is_finite { store_error(self.problem, name, size) } else { 0.0 };
        row.push(&[value.re, value.im][..width], error + HALF_SUBNORMAL + store, !is_finite);
    }

    /// A node's values in a channel.
    pub fn column(&mut self, graph: &Graph, id: Id, channel: (usize, usize)) -> Rc<Column> {
        let at = channel.0 * self.problem.shape.dim + channel.1;
        if let Some(Some(known)) = self.columns[at].get(id.index()) {
            return known.clone();
        }
        let column = Rc::new(self.computed(graph, id, channel));
        let columns = &mut self.columns[at];
        if columns.len() <= id.index() {
            columns.resize(id.index() + 1, None);
        }
        columns[id.index()] = Some(column.clone());
        column
    }

    fn computed(&mut self, graph: &Graph, id: Id, channel: (usize, usize)) -> Column {
        let (op, extent) = (graph.op(id), graph.extent(id));
        let states = self.problem.shape.dstate;
        let memory = if extent.position { self.memory.pop().unwrap_or_default() } else { Vec::new() };
        let mut column = Column::new(extent, self.positions.len(), states, memory);
        let (positions, width) =
            (if extent.position { self.positions.len() } else { 1 }, if extent.state { states } else { 1 });
        let mu = allowance::product(self.problem.weights);
        match op {
            // A matrix is no column.
            _ if extent.matrix => column.fill(UNKNOWN.0),
            Op::Input(_) | Op::At { .. } if reads_input(graph, id) => {
                for k in 0..positions {
                    for n in 0..width {
                        let value = self.input(graph, id, channel, (self.positions.start + k, n));
                        column.set(k, n, (value, 0.0));
                    }
                }
            }
            Op::Input(_) => {}
            &Op::Inner(one, other) => self.inner(graph, [one, other], channel, &mut column),
            Op::Outer(..) | Op::Along(..) => {}
            Op::Number(number) => column.set(0, 0, (number.value().into(), 0.0)),
            Op::Sum(of) => {
                let rounding = SUM * (of.len() - 1) as f64;
                for id in of {
                    let one = self.column(graph, *id, channel);
                    column.join(&one, |(sum, error), (value, off)| {
                        *sum += value;
                        *error += off + rounding * (modulus(value) + off);
                    });
                }
            }
            Op::Product(of) if of.iter().any(|id| graph.is_matrix(*id)) => {
                self.multiplied(graph, of, channel, &mut column);
            }
            Op::Product(of) => {
                let first = self.column(graph, of[0], channel);
                column.join(&first, |cell, first| *cell = first);
                for id in &of[1..] {
                    let one = self.column(graph, *id, channel);
                    column.join(&one, |(product, error), (value, off)| {
                        let (size, by) = (modulus(*product), modulus(value));
                        *error = *error * (by + off) + size * off + mu * size * by + HALF_SUBNORMAL;
                        *product = times(*product, value);
                    });
                }
            }
            Op::Quotient(above, below) => {
                let [above, below] = [above, below].map(|id| self.column(graph, *id, channel));
                column.join(&above, |cell, above| *cell = above);
                column.join(&below, |(quotient, error), (below, of_below)| {
                    *quotient = divided(*quotient, below);
                    let size = modulus(*quotient);
                    *error =
                        2.0 * (*error + size * of_below) / modulus(below) + 2.0 * mu * size + HALF_SUBNORMAL;
                });
            }
            Op::Apply(Function::Phi(k @ 0..4), of) => {
                let of = self.column(graph, *of, channel);
                let phis = phi_of_each(&of.values().collect::<Vec<_>>());
                let mut phis = phis.iter().map(|phi| phi[usize::from(*k)]);
                column.join(&of, |cell, (argument, error)| {
                    *cell = of_phi(phis.next().unwrap_or_default(), argument, error);
                });
            }
            Op::Each(function, of) | Op::Apply(function, of) => {
                let of = self.column(graph, *of, channel);
                column.join(&of, |cell, (value, error)| *cell = applied(*function, value, error));
            }
            // Of what is computed there is no memory, and no group.
            Op::At { axis: Axis::Group, .. }
            | Op::At { axis: Axis::Item, index: Index::Transposed, .. }
            | Op::At { index: Index::Halves, .. } => {
                column.fill(Complex64::new(f64::NAN, f64::NAN));
            }
            Op::At { of, axis, index } => match axis {
                Axis::Position => {
                    let of = self.column(graph, *of, channel);
                    for k in 0..positions {
                        let l = self.positions.start + k;
                        // Values that are computed lie beside those of other packed sequences.
                        let at = match index {
                            Index::Shifted(_) => index.of(l, self.problem.shape.seqlen),
                            _ => position(self.problem, channel.0, l, *index),
                        };
                        let Some(at) = at else { continue };
                        // What is not computed is not asked for but in the margin.
                        let at =
                            at.clamp(self.positions.start, self.positions.end - 1) - self.positions.start;
                        (0..width).for_each(|n| column.set(k, n, of.at(at, n)));
                    }
                }
                // States in a memory whose axes of channels and states are exchanged.
                Axis::State if matches!(index, Index::Transposed | Index::TransposedIn(_)) => {
                    let channels = match index {
                        Index::TransposedIn(channels) => *channels as usize,
                        _ => self.problem.shape.dim,
                    };
                    let first = channel.1 / channels * channels;
                    for n in 0..width {
                        let at = (channel.1 - first) * states + n;
                        let other = self.column(graph, *of, (channel.0, first + at % channels));
                        (0..positions).for_each(|k| column.set(k, n, other.at(k, at / channels)));
                    }
                }
                Axis::State => {
                    let of = self.column(graph, *of, channel);
                    for n in 0..width {
                        let Some(at) = index.of(n, states) else { continue };
                        (0..positions).for_each(|k| column.set(k, n, of.at(k, at)));
                    }
                }
                axis => {
                    let shape = self.problem.shape;
                    let (item, d) = channel;
                    let other = match axis {
                        Axis::Item => index.of(item, shape.batch).map(|item| (item, d)),
                        _ => index.of(d, shape.dim).map(|d| (item, d)),
                    };
                    if let Some(other) = other {
                        column = Column::clone(&self.column(graph, *of, other));
                    }
                }
            },
            Op::Scan(scan) => self.scan(graph, scan, channel, &mut column),
            Op::First(of) | Op::Last(of) if extent.position => {
                let (of, is_first) = (self.column(graph, *of, channel), matches!(op, Op::First(_)));
                for sequence in self.problem.sequences(channel.0).iter() {
                    let Range { start, end } = sequence.positions.clone();
                    let at = if is_first { start } else { end - 1 };
                    let own = (start..end).filter(|l| self.positions.contains(l));
                    for (l, n) in own.flat_map(|l| (0..width).map(move |n| (l, n))) {
                        let is_known = self.positions.contains(&at);
                        let value = if is_known { of.at(at - self.positions.start, n) } else { UNKNOWN };
                        column.set(l - self.positions.start, n, value);
                    }
                }
            }
            Op::Last(of) => {
                let of = self.column(graph, *of, channel);
                let last = self.positions.len() - 1;
                let is_known = self.positions.end == self.problem.shape.seqlen;
                for n in 0..width {
                    column.set(0, n, if is_known { of.at(last, n) } else { UNKNOWN });
                }
            }
            Op::First(of) => {
                let of = self.column(graph, *of, channel);
                let is_known = self.positions.start == 0;
                for n in 0..width {
                    column.set(0, n, if is_known { of.at(0, n) } else { UNKNOWN });
                }
            }
            Op::Fold(of, Over::States) => {
                let of = self.column(graph, *of, channel);
                // Both directions of a scan that has two are one more sum.
                let roundings = ReadoutRoundings::count(self.problem, 2.0, Arithmetic::SINGLE);
                for k in 0..positions {
                    let (mut sum, mut error) = (Complex64::ZERO, roundings.vanished);
                    for (value, off) in (0..states).map(|n| of.at(k, n)) {
                        sum += value;
                        error += off + roundings.additions * SUM * (modulus(value) + off);
                    }
                    column.set(k, 0, (sum, error));
                }
            }
            Op::Fold(of, over) => {
                let members = self.members(graph, (*of, *over), channel);
                let mut terms = Vec::new();
                for k in 0..positions {
                    for n in 0..width {
                        members(k, n, &mut terms);
                        column.set(k, n, folded(&terms));
                    }
                }
            }
            Op::Accumulate(of, over, sum) => {
                let members = self.members(graph, (*of, *over), channel);
                // From the last position of each item on, where items are summed as well.
                let run = if *over == Over::ItemsAndPositions { self.positions.len() } else { usize::MAX };
                let mut terms = Vec::new();
                for k in 0..positions {
                    for n in 0..width {
                        members(k, n, &mut terms);
                        column.set(k, n, accumulated(&mut terms, run, *sum));
                    }
                }
            }
            Op::Round(of, to) => {
                let of = self.column(graph, *of, channel);
                column.join(&of, |cell, (value, error)| *cell = rounded(value, error, *to));
            }
            Op::CutOff(of, to) => {
                let of = self.column(graph, *of, channel);
                let format = Format::for_input(*to);
                column.join(&of, |cell, (value, error)| {
                    // An f32 just beyond a number of the format is cut off to the one before.
                    let [least, re, most] =
                        [value.re - error, value.re, value.re + error].map(|x| format.cut_off(x));
                    *cell = (Complex64::new(re, value.im), (most - re).max(re - least));
                });
            }
            Op::Limit { of, low, high } => {
                let of = self.column(graph, *of, channel);
                column.join(&of, |cell, (value, error)| {
                    let limited = value.re.max(low.value()).min(high.value());
                    let re = if value.re.is_nan() { value.re } else { limited };
                    *cell = (Complex64::new(re, value.im), error);
                });
            }
            Op::Turned(of, by) => {
                let of = self.column(graph, *of, channel);
                let factor = by.value().abs().max(1.0);
                column.join(&of, |cell, (value, error)| {
                    let turned = Complex64::new(value.re, by.value() * value.im);
                    *cell = (turned, factor * (error + U * modulus(value)));
                });
            }
            Op::Choose { when, yes, no } => {
                let [yes, no] = [yes, no].map(|id| self.column(graph, *id, channel));
                let decides = when.of().map(|id| self.column(graph, id, channel));
                for k in 0..positions {
                    for n in 0..width {
                        let (value, error) = decides.as_ref().map_or_else(Default::default, |of| of.at(k, n));
                        // Beyond this it does not hold.
                        let margin = match when {
                            Condition::At(place) => {
                                let index = match place.axis {
                                    Axis::State => n,
                                    Axis::Item => channel.0,
                                    // Within its group.
                                    Axis::Channel | Axis::Group => {
                                        channel.1 % (self.problem.shape.dim / self.problem.shape.groups)
                                    }
                                    Axis::Position => self.positions.start + k,
                                    Axis::Offset => offset(self.problem, channel.0, self.positions.start + k),
                                };
                                if place.set.contains(index) { f64::INFINITY } else { f64::NEG_INFINITY }
                            }
                            Condition::Below(_, limit) => limit.value() - modulus(value),
                            Condition::Beyond(_, limit) => modulus(value) - limit.value(),
                            Condition::Above(_, limit) => value.re - limit.value(),
                        };
                        let (holds, other) = if margin > 0.0 { (&yes, &no) } else { (&no, &yes) };
                        let (value, mut off) = holds.at(k, n);
                        if margin.abs() <= error {
                            // Either may be what f32 has decided for.
                            let (other, of_other) = other.at(k, n);
                            off = off.max(of_other) + modulus(value - other);
                        }
                        column.set(k, n, (value, off));
                    }
                }
            }
        }
        column.keep_range();
        column
    }

    /// Channels whose values a fold sums.
    fn collected(&self, over: Over, (item, d): (usize, usize)) -> Vec<(usize, usize)> {
        let shape = self.problem.shape;
        let of_items = (0..shape.batch).map(|item| (item, d)).collect();
        match over {
            Over::States | Over::Positions => vec![(item, d)],
            Over::Items | Over::ItemsAndPositions => of_items,
            Over::Channels(count) => {
                let first = d / count as usize * count as usize;
                (first..shape.dim.min(first + count as usize)).map(|d| (item, d)).collect()
            }
            Over::Lanes(groups) => {
                let (groups, group) = (groups as usize, d / (shape.dim / shape.groups));
                let by = self.problem.channels_of_a_head();
                (0..shape.dim).filter(|d| d / by % groups == group).map(|d| (item, d)).collect()
            }
        }
    }

    /// Puts the terms of a fold into a vector, in order, for each of its positions and states.
    fn members(
        &mut self,
        graph: &Graph,
        (of, over): (Id, Over),
        (item, d): (usize, usize),
    ) -> impl Fn(usize, usize, &mut Vec<Cell>) + use<> {
        let channels = self.collected(over, (item, d));
        let shape = self.problem.shape;
        let all: Vec<Rc<Column>> = channels.iter().map(|at| self.column(graph, of, *at)).collect();
        let (states, len) = (shape.dstate, self.positions.len());
        move |k, n, terms| {
            terms.clear();
            match over {
                Over::States => terms.extend((0..states).map(|n| all[0].at(k, n))),
                Over::Positions | Over::ItemsAndPositions => {
                    all.iter().for_each(|one| terms.extend((0..len).map(|k| one.at(k, n))));
                }
                _ => terms.extend(all.iter().map(|one| one.at(k, n))),
            }
        }
    }

    /// A number of an input, as it is read through indices.
    fn input(
        &self,
        graph: &Graph,
        id: Id,
        (item, channel): (usize, usize),
        (l, n): (usize, usize),
    ) -> Complex64 {
        let mut point = Point::new(self.problem, (item, channel), (l, n));
        let mut at = id;
        loop {
            match *graph.op(at) {
                Op::Input(input) => return point.read((self.problem, self.given), input),
                Op::At { of, axis, index } => {
                    if point.moved(self.problem, axis, index).is_none() {
                        return Complex64::ZERO;
                    }
                    at = of;
                }
                _ => return Complex64::ZERO,
            }
        }
    }
}

/// A sum in any order, whose roundings are random where it is long.
fn folded(terms: &[Cell]) -> Cell {
    let count = terms.len() as f64;
    let (mut sum, mut size, mut error) = (Complex64::ZERO, 0.0, 0.0);
    for &(value, off) in terms {
        sum += value;
        size += modulus(value) + off;
        error += off;
    }
    (sum, error + count.min(LAMBDA * count.sqrt()) * SUM * size)
}

/// A sum that is rounded after each addition, from a first member that is rounded as it is read.
fn accumulated(terms: &mut [Cell], run: usize, sum: Accumulator) -> Cell {
    if sum.backwards {
        let run = run.min(terms.len()).max(1);
        terms.chunks_mut(run).for_each(<[_]>::reverse);
    }
    let (mut all, mut error) = (Complex64::ZERO, 0.0);
    for &mut (value, off) in terms {
        let (value, off) = if sum.rounds_added { rounded(value, off, sum.to) } else { (value, off) };
        (all, error) = rounded(all + value, error + off, sum.to);
    }
    (all, error)
}

/// Whether a node is an input, or one that is read at other indices.
fn reads_input(graph: &Graph, id: Id) -> bool {
    match *graph.op(id) {
        Op::Input(_) => true,
        Op::At { of, .. } => reads_input(graph, of),
        _ => false,
    }
}
