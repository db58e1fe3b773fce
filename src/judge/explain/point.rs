//! Where inputs are read.

use num_complex::Complex64;

use crate::judge::budget::complex_at;
use crate::problem::{Operand, OutputGradients, Problem};
use crate::program::{Axis, Index, Input};

/// Where an input is read.
pub struct Point {
    item: usize,
    channel: usize,
    group: usize,
    n: usize,
    l: usize,
    /// Whether its memory has the two last axes exchanged.
    transposed: bool,
    /// Channels of a head whose memory has channels and states exchanged.
    transposed_in: Option<usize>,
    /// Whether its complex numbers are taken for all real parts before all imaginary ones.
    halves: bool,
}

impl Point {
    pub fn new(problem: &Problem, (item, channel): (usize, usize), (l, n): (usize, usize)) -> Self {
        let group = channel / (problem.shape.dim / problem.shape.groups);
        Point { item, channel, group, n, l, transposed: false, transposed_in: None, halves: false }
    }

    /// Moves along an axis; none where 0 is read.
    pub fn moved(&mut self, problem: &Problem, axis: Axis, index: Index) -> Option<()> {
        let shape = problem.shape;
        if (axis, index) == (Axis::Item, Index::Transposed) {
            let at = self.channel * shape.batch + self.item;
            (self.item, self.channel) = (at / shape.dim, at % shape.dim);
            return Some(());
        }
        if index == Index::Transposed {
            self.transposed = !self.transposed;
            return Some(());
        }
        if let Index::TransposedIn(channels) = index {
            self.transposed_in = Some(channels as usize);
            return Some(());
        }
        if index == Index::Halves {
            self.halves = true;
            return Some(());
        }
        match axis {
            Axis::Item => self.item = index.of(self.item, shape.batch)?,
            Axis::Channel => self.channel = index.of(self.channel, shape.dim)?,
            Axis::Group => {
                // A channel's remainder takes the place of its quotient; that of a head where channels have heads.
                let of_channel = self.channel / problem.channels_of_a_head();
                self.group = match index {
                    Index::Modulo(_) => index.of(of_channel, shape.groups)?,
                    // That of the first channel of a block, which blocks of groups do not divide.
                    Index::BlockStart(_) => index.of(self.channel, shape.dim)? / (shape.dim / shape.groups),
                    _ => index.of(self.group, shape.groups)?,
                };
            }
            Axis::State => self.n = index.of(self.n, shape.dstate)?,
            Axis::Position | Axis::Offset => self.l = position(problem, self.item, self.l, index)?,
        }
        Some(())
    }

    /// The number there; none of what the problem does not hold.
    pub fn read(&self, (problem, given): (&Problem, Option<&OutputGradients>), input: Input) -> Complex64 {
        let (shape, weights) = (problem.shape, problem.weights);
        let unknown = Complex64::new(f64::NAN, f64::NAN);
        let sequence = |values: &[f32]| {
            let (channel, l) = match self.transposed {
                true => {
                    let within = self.l * shape.dim + self.channel;
                    (within / shape.seqlen, within % shape.seqlen)
                }
                false => (self.channel, self.l),
            };
            let row = problem.row_if_held(self.item, channel);
            row.map_or(unknown, |row| f64::from(values[row * shape.seqlen + l]).into())
        };
        // Number of a block of rows of so many.
        let number = |values: &[f32], (first, index): (usize, usize), row: usize| match self.halves {
            true => {
                let re = first * weights.width() + index / row * 2 * row + index % row;
                Complex64::new(f64::from(values[re]), f64::from(values[re + row]))
            }
            false => complex_at(weights, values, (first + index) * weights.width()),
        };
        let weight = |values: &[f32]| {
            let index = match self.transposed {
                true => self.n * shape.dim + self.channel,
                false => self.channel * shape.dstate + self.n,
            };
            number(values, (0, index), shape.dstate)
        };
        let operand = |values: &[f32], operand| match operand {
            Operand::Constant => weight(values),
            Operand::Variable => match problem.group_row_if_held(self.item, self.group) {
                None => unknown,
                Some(row) => {
                    let index = match self.transposed {
                        true => self.l * shape.dstate + self.n,
                        false => self.n * shape.seqlen + self.l,
                    };
                    number(values, (row * shape.dstate * shape.seqlen, index), shape.seqlen)
                }
            },
        };
        let of_channel =
            |values: &Option<Vec<f32>>| values.as_ref().map_or(0.0, |of| f64::from(of[self.channel])).into();
        let own = problem.packed.as_ref().map(|packed| packed.at(self.item, self.l));
        let [given_states, last_states] = problem.states_of_each();
        // Each packed sequence has one of so many.
        let states = |values: Option<&Vec<f32>>, count: usize, slot: Option<usize>| match (
            values,
            problem.row_if_held(self.item, self.channel),
        ) {
            (Some(_), Some(_)) if slot.is_none() => Complex64::ZERO,
            (Some(states), Some(_)) => {
                // Channels that are read as states of the first of so many.
                let exchanged = self.transposed_in.or(self.transposed.then_some(shape.dim));
                let (channel, n) = match exchanged {
                    Some(channels) => {
                        let first = self.channel / channels * channels;
                        let flat = self.n * channels + self.channel - first;
                        (first + flat / shape.dstate, flat % shape.dstate)
                    }
                    None => (self.channel, self.n),
                };
                problem.row_if_held(self.item, channel).map_or(unknown, |row| {
                    let row = row * count + slot.unwrap_or(0);
                    complex_at(weights, states, (row * shape.dstate + n) * weights.width())
                })
            }
            _ => unknown,
        };
        let varies = |input| match input {
            Input::U | Input::Delta | Input::Z | Input::OutGradient => true,
            Input::B => problem.b_operand == Operand::Variable,
            Input::C => problem.c_operand == Operand::Variable,
            _ => false,
        };
        if own.is_some_and(|own| own.is_padding) && varies(input) {
            return Complex64::ZERO;
        }
        let there = |is: bool| Complex64::from(f64::from(u8::from(is)));
        match input {
            Input::U => sequence(&problem.u),
            Input::Delta => sequence(&problem.delta),
            Input::Z => problem.z.as_ref().map_or(unknown, |z| sequence(z)),
            Input::A => weight(&problem.a),
            Input::B => operand(&problem.b, problem.b_operand),
            Input::C => operand(&problem.c, problem.c_operand),
            Input::D => of_channel(&problem.d),
            Input::DeltaBias => of_channel(&problem.delta_bias),
            Input::OutGradient => given.map_or(unknown, |given| sequence(&given.dout)),
            Input::InitialState => {
                let slot = own.map_or(Some(0), |own| own.initial);
                states(problem.initial_state.as_ref(), given_states, slot)
            }
            Input::LastStateGradient => {
                let slot = own.map_or(Some(0), |own| own.last);
                states(given.and_then(|given| given.dlast_state.as_ref()), last_states, slot)
            }
            Input::Begins => there(own.map_or(0, |own| own.positions.start) == self.l),
            Input::Ends => there(own.map_or(shape.seqlen, |own| own.positions.end) == self.l + 1),
        }
    }
}

/// A position, counted from the start of its packed sequence.
pub fn offset(problem: &Problem, item: usize, l: usize) -> usize {
    l - problem.packed.as_ref().map_or(0, |packed| packed.at(item, l).positions.start)
}

/// The position that is read in the place of another; none where 0 is. In packed sequences shifts, and what is held or told by a number,
/// stay within each: numbers are counted from its start. What goes around the end, and blocks, are the item's.
pub fn position(problem: &Problem, item: usize, l: usize, index: Index) -> Option<usize> {
    let seqlen = problem.shape.seqlen;
    let Some(packed) = &problem.packed else { return index.of(l, seqlen) };
    let own = packed.at(item, l).positions.clone();
    match index {
        Index::Sequence(by) => {
            let all = || packed.item(item).iter().filter(|sequence| !sequence.is_padding);
            let at = all().position(|sequence| sequence.positions == own)?;
            all().nth(at.checked_add_signed(by as isize)?).map(|other| other.positions.start)
        }
        Index::SequencesReversed => {
            let all: Vec<_> = packed.item(item).iter().filter(|sequence| !sequence.is_padding).collect();
            let at = all.iter().position(|sequence| sequence.positions == own)?;
            Some(all[all.len() - 1 - at].positions.start)
        }
        Index::OnlyFirstSequence => (own.start == 0).then_some(l),
        Index::FirstSequence => Some(0),
        Index::Shifted(_) | Index::Held(_) | Index::Clamped(_) | Index::Reversed | Index::At(_) => {
            index.of(l - own.start, own.len()).map(|at| own.start + at)
        }
        _ => index.of(l, seqlen),
    }
}
