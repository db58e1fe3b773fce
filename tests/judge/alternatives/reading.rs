//! Which numbers a scan reads of its inputs: index maps, and how numbers are taken to lie in memory.

use holdfast::judge::faults::place::{InBlock, Input, Map, Pairs, Place};
use holdfast::judge::faults::variant::{Group, Variant};
use holdfast::problem::{Operand, Problem, Weights};
use num_complex::Complex64;

/// One channel of a scan, and where its inputs are read.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    pub variant: &'a Variant,
    pub problem: &'a Problem,
    pub batch: usize,
    pub channel: usize,
}

impl Reading<'_> {
    /// The index that is read for `i` of `n`; none where nothing is read.
    pub fn map(&self, map: Map, i: usize, n: usize) -> Option<usize> {
        let inside =
            |index: isize| if (0..n as isize).contains(&index) { Some(index as usize) } else { None };
        let moved = |by: isize| i as isize + by;
        match map {
            Map::Same => Some(i),
            Map::At(index) => Some(index),
            Map::Shifted(by) => inside(moved(by)),
            Map::Held(by) => Some(moved(by).max(0).min(n as isize - 1) as usize),
            Map::Rolled(by) => Some(moved(by).rem_euclid(n as isize) as usize),
            Map::Modulo(k) => Some(i % k),
            Map::Divided(k) => Some(i / k),
            Map::OfBatch => Some(self.batch % n),
            Map::OfChannel => Some(self.channel % n),
            Map::Reversed => Some(n - 1 - i),
            Map::Within(from, to) => Some(i).filter(|i| *i >= from && *i < to),
            Map::Without(index) => Some(i).filter(|i| *i != index),
            Map::Chunked(chunks) => {
                if i > 0 && i % chunks.length == chunks.at {
                    chunks.by.and_then(|by| inside(moved(by)))
                } else {
                    Some(i)
                }
            }
            Map::InLastBlock(block) => {
                let start = n / block.length * block.length;
                if i < start {
                    return Some(i);
                }
                match block.read {
                    InBlock::Nothing => None,
                    InBlock::By(by) => inside(moved(by)),
                    InBlock::Held => inside(start as isize - 1),
                }
            }
            Map::Floor(k) => Some(i / k * k),
            Map::ReversedIn(k) => {
                let block = i / k;
                Some(if (block + 1) * k <= n { block * k + (k - 1) - i % k } else { i })
            }
            Map::Columns(rows) => {
                if !n.is_multiple_of(rows) {
                    return Some(i);
                }
                let columns = n / rows;
                let (row, column) = (i % rows, i / rows);
                Some(row * columns + column)
            }
        }
    }

    fn place(&self, input: Input) -> Place {
        self.variant.places[input as usize]
    }

    /// u, delta or z at a position; 0 where nothing is read.
    pub fn sequence(&self, input: Input, values: &[f32], l: usize) -> f64 {
        self.sequence_if_read(input, values, l).unwrap_or(0.0)
    }

    fn sequence_if_read(&self, input: Input, values: &[f32], l: usize) -> Option<f64> {
        let shape = self.problem.shape;
        let place = self.place(input);
        let batch = self.map(place.batch, self.batch, shape.batch)?;
        let channel = self.map(place.channel, self.channel, shape.dim)?;
        let l = self.map(place.l, l, shape.seqlen)?;
        let sizes = [shape.batch, shape.dim, 1, shape.seqlen];
        let index = if place.transposed {
            (batch * shape.seqlen + l) * shape.dim + channel
        } else if let Some(stride) = place.row_stride {
            (batch * shape.dim + channel) * stride + l
        } else {
            in_order(place, sizes, [batch, channel, 0, l])
        };
        values.get(index).map(|value| f64::from(*value))
    }

    /// D or delta_bias; 0 where it is left out or nothing is read.
    pub fn of_channel(&self, input: Input, values: Option<&Vec<f32>>) -> f64 {
        let channel = self.map(self.place(input).channel, self.channel, self.problem.shape.dim);
        let value = channel.zip(values).and_then(|(channel, values)| values.get(channel));
        value.map_or(0.0, |value| f64::from(*value))
    }

    /// A of a state, as it is read.
    pub fn a(&self, n: usize) -> Complex64 {
        self.constant(Input::A, &self.problem.a, n).unwrap_or(Complex64::ZERO)
    }

    /// B or C of a state at a position, as it is read.
    pub fn operand(&self, input: Input, n: usize, l: usize) -> Complex64 {
        let problem = self.problem;
        let (operand, values) =
            if input == Input::B { (problem.b_operand, &problem.b) } else { (problem.c_operand, &problem.c) };
        let value = match operand {
            Operand::Constant => self.constant(input, values, n),
            Operand::Variable => self.variable(input, values, n, l),
        };
        value.unwrap_or(Complex64::ZERO)
    }

    fn constant(&self, input: Input, values: &[f32], n: usize) -> Option<Complex64> {
        let shape = self.problem.shape;
        let place = self.place(input);
        let channel = self.map(place.channel, self.channel, shape.dim)?;
        let n = self.map(place.state, n, shape.dstate)?;
        let index = if place.transposed {
            n * shape.dim + channel
        } else {
            channel * place.row_stride.unwrap_or(shape.dstate) + n
        };
        self.number(values, place.pairs, index, [shape.dim, shape.dstate])
    }

    fn variable(&self, input: Input, values: &[f32], n: usize, l: usize) -> Option<Complex64> {
        let shape = self.problem.shape;
        let place = self.place(input);
        let batch = self.map(place.batch, self.batch, shape.batch)?;
        let n = self.map(place.state, n, shape.dstate)?;
        let l = self.map(place.l, l, shape.seqlen)?;
        let group = self.group(self.variant.groups[usize::from(input == Input::C)]);
        let sizes = [shape.batch, shape.groups, shape.dstate, shape.seqlen];
        let index = if place.transposed {
            ((batch * shape.groups + group) * shape.seqlen + l) * shape.dstate + n
        } else if let Some(stride) = place.row_stride {
            ((batch * shape.groups + group) * shape.dstate + n) * stride + l
        } else {
            in_order(place, sizes, [batch, group, n, l])
        };
        self.number(values, place.pairs, index, [shape.dstate, shape.seqlen])
    }

    fn group(&self, group: Group) -> usize {
        let (dim, groups) = (self.problem.shape.dim, self.problem.shape.groups);
        let own = self.channel / (dim / groups);
        match group {
            Group::Block => own,
            Group::Modulo => self.channel % groups,
            Group::At(group) => group,
            Group::Rolled(by) => (own + by) % groups,
            Group::Divided(k) => self.channel / k % groups,
        }
    }

    /// The number of an index, its parts where they are taken to lie; `last` are the lengths of the last two axes.
    fn number(&self, values: &[f32], pairs: Pairs, index: usize, last: [usize; 2]) -> Option<Complex64> {
        let value = |at: usize| values.get(at).map(|value| f64::from(*value));
        if self.problem.weights == Weights::Real {
            return value(index).map(Complex64::from);
        }
        let halves = |length: usize| {
            let re = index / length * 2 * length + index % length;
            (re, re + length)
        };
        let (re, im) = match pairs {
            Pairs::Interleaved => (2 * index, 2 * index + 1),
            Pairs::Exchanged => (2 * index + 1, 2 * index),
            Pairs::Halves => halves(last[1]),
            Pairs::Planes => halves(last[0] * last[1]),
        };
        Some(Complex64::new(value(re)?, value(im)?))
    }
}

/// Where an element lies whose axes are taken to be in the place's order.
fn in_order(place: Place, sizes: [usize; 4], index: [usize; 4]) -> usize {
    let axes = place.order.map(usize::from);
    axes.into_iter().fold(0, |at, axis| at * sizes[axis] + index[axis])
}
