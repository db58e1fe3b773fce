//! Inputs a stretch at a time: some positions of one channel. What walks along a sequence needs no more of it at once, so
//! that a recording need not fit into memory.

use std::borrow::Cow;
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::ops::Range;

use super::conventions::{Coupling, Direction, Types};
use super::packed::Sequence;
use super::{Axes, Conventions, InputType, Order, Problem, Shape, Weights};
use crate::tensor::{Tensor, TensorName};

/// Where inputs come from: a [`Problem`] in memory, or a file.
pub trait Inputs: Sync {
    /// Why a stretch cannot be had.
    type Error: Send;

    fn outline(&self) -> Outline;

    /// The sequences of an item of the batch.
    fn sequences(&self, item: usize) -> Cow<'_, [Sequence]>;

    /// These positions of the channel (batch index, dim index), not empty and within one sequence; or several whole sequences, of which
    /// the problem then tells which they are.
    ///
    /// # Errors
    /// [`Inputs::Error`] for a file that can no longer be read.
    fn stretch(&self, at: (usize, usize), positions: Range<usize>) -> Result<Stretch<'_>, Self::Error>;

    /// How many positions to walk at a time; none for as many as are worth their memory. Results do not depend on it.
    fn positions_at_once(&self) -> Option<usize> {
        None
    }
}

/// Sizes and types of the whole.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    pub shape: Shape,
    pub weights: Weights,
    pub input: InputType,
    /// Of the scan, and so of its positions.
    pub direction: Direction,
    pub coupling: Coupling,
    /// Types of tensors that have one of their own.
    pub types: Types,
    /// Axes of the tensors as they were recorded.
    pub axes: Axes,
    /// Last states of a channel.
    pub last_states: usize,
    /// Positions of a chunk, where tensors of chunks are asked for.
    pub chunk: Option<NonZeroUsize>,
}

impl Outline {
    /// Outline of a run with these statements, whose channels have so many last states each.
    pub fn new(
        (shape, weights, input): (Shape, Weights, InputType),
        conventions: Conventions,
        last_states: usize,
    ) -> Outline {
        let Conventions { direction, coupling, types, chunk, axes, .. } = conventions;
        Outline { shape, weights, input, direction, coupling, types, axes, last_states, chunk }
    }

    /// Whether a run has this tensor.
    pub fn has(self, name: TensorName) -> bool {
        match name {
            TensorName::Out | TensorName::LastState => true,
            TensorName::ChunkStates => self.chunk.is_some(),
            // Elsewhere each state has an A of its own.
            TensorName::DaCumsum => {
                self.chunk.is_some() && self.axes.order == Order::Blhp && self.weights == Weights::Real
            }
        }
    }

    /// Chunks of a sequence.
    pub fn chunks(self) -> usize {
        self.chunk.map_or(0, |chunk| self.shape.seqlen.div_ceil(chunk.get()))
    }

    /// Dimensions after (batch, dim), values of one element, and type of a tensor that a scan computes (spec.md §3).
    pub fn layout(self, name: TensorName) -> (Vec<usize>, usize, InputType) {
        // The weight type is f32 whatever the input type.
        let (rest, width, usual) = match name {
            TensorName::Out => (vec![self.shape.seqlen], 1, self.input),
            TensorName::LastState => {
                let dstate = self.shape.dstate;
                let rest = if self.last_states == 1 { vec![dstate] } else { vec![self.last_states, dstate] };
                (rest, self.weights.width(), InputType::F32)
            }
            TensorName::ChunkStates => {
                (vec![self.chunks(), self.shape.dstate], self.weights.width(), InputType::F32)
            }
            // Each channel has the sums of its head.
            TensorName::DaCumsum => (vec![self.shape.seqlen], 1, InputType::F32),
        };
        (rest, width, self.types.get(name).unwrap_or(usual))
    }

    /// A tensor that a scan of every channel computed: (batch, dim, …)·width values.
    pub fn tensor<T>(self, name: TensorName, values: Vec<T>) -> Tensor<T> {
        let (rest, width, element) = self.layout(name);
        Tensor { shape: [vec![self.shape.batch, self.shape.dim], rest].concat(), width, element, values }
    }
}

/// Some positions of one channel, and its weights.
#[derive(Debug)]
pub struct Stretch<'a> {
    /// Holds at least those positions, and of u those before and after them; nothing of other sequences.
    pub problem: Cow<'a, Problem>,
    /// The channel in `problem`.
    pub at: (usize, usize),
    /// The position that is `problem`'s first one.
    pub first: usize,
}

/// Inputs with a change to each stretch of them.
pub struct Changed<'i, I, F> {
    pub inputs: &'i I,
    pub change: F,
}

impl<I: Inputs, F: Fn(&mut Problem) + Sync> Inputs for Changed<'_, I, F> {
    type Error = I::Error;

    fn outline(&self) -> Outline {
        self.inputs.outline()
    }

    fn sequences(&self, item: usize) -> Cow<'_, [Sequence]> {
        self.inputs.sequences(item)
    }

    fn stretch(&self, at: (usize, usize), positions: Range<usize>) -> Result<Stretch<'_>, Self::Error> {
        let Stretch { problem, at, first } = self.inputs.stretch(at, positions)?;
        let mut problem = problem.into_owned();
        (self.change)(&mut problem);
        Ok(Stretch { problem: Cow::Owned(problem), at, first })
    }

    fn positions_at_once(&self) -> Option<usize> {
        self.inputs.positions_at_once()
    }
}

impl Inputs for Problem {
    type Error = Infallible;

    fn outline(&self) -> Outline {
        let [_, last_states] = self.states_of_each();
        Outline::new((self.shape, self.weights, self.input), self.conventions, last_states)
    }

    fn sequences(&self, item: usize) -> Cow<'_, [Sequence]> {
        Problem::sequences(self, item)
    }

    fn stretch(&self, at: (usize, usize), positions: Range<usize>) -> Result<Stretch<'_>, Infallible> {
        let Some(packed) = &self.packed else {
            return Ok(Stretch { problem: Cow::Borrowed(self), at, first: 0 });
        };
        let sequence = packed.at(at.0, positions.start);
        if sequence.positions.end < positions.end {
            return Ok(Stretch { problem: Cow::Borrowed(self), at, first: 0 });
        }
        let (problem, at) = self.alone(at, sequence);
        Ok(Stretch { problem, at, first: sequence.positions.start })
    }
}
