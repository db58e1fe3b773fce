//! Sequences that are packed one after another into the items of a batch (spec.md §3, "Packed sequences"). Each is scanned as if nothing
//! were before or after it; so truth, bounds and gradients are those of its own problem ([`Problem::alone`]), put in their places.

use std::borrow::Cow;
use std::ops::Range;

use super::{Operand, OutputGradients, Problem, Shape};
use crate::tensor::{GradientName, TensorName};

/// Some positions of an item, in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    pub positions: Range<usize>,
    /// Place of the state that it starts from, among those that each channel of the item is given; none: it starts from 0.
    pub initial: Option<usize>,
    /// Place of its last state, among those that each channel of the item has; none: it is not kept.
    pub last: Option<usize>,
    /// Whether no sequence is there: inputs and outputs are read as 0.
    pub is_padding: bool,
}

impl Sequence {
    /// An item that is one sequence.
    pub fn whole(seqlen: usize) -> Sequence {
        Sequence { positions: 0..seqlen, initial: Some(0), last: Some(0), is_padding: false }
    }

    /// The sequences of an item of so many positions; one where nothing is packed.
    pub fn of_item(packed: Option<&Packed>, item: usize, seqlen: usize) -> Cow<'_, [Sequence]> {
        match packed {
            Some(packed) => Cow::Borrowed(packed.item(item)),
            None => Cow::Owned(vec![Sequence::whole(seqlen)]),
        }
    }
}

/// The sequences of each item of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    items: Vec<Vec<Sequence>>,
    /// States that each channel is given.
    pub initial_states: usize,
    /// Last states that each channel has.
    pub last_states: usize,
}

impl Packed {
    /// One item, in which each sequence begins at such a position and ends at the next. What is behind the last one is padding. Of its
    /// states there are as many as sequences, or one: the first one's initial state, the last one's last.
    pub fn by_starts(starts: &[usize], seqlen: usize, [initial_states, last_states]: [usize; 2]) -> Packed {
        let count = starts.len() - 1;
        let sequence = |(i, ends): (usize, &[usize])| Sequence {
            positions: ends[0]..ends[1],
            initial: Some(i).filter(|&i| i < initial_states),
            last: if last_states == count { Some(i) } else { (i + 1 == count).then_some(0) },
            is_padding: false,
        };
        let mut item: Vec<Sequence> = starts.windows(2).enumerate().map(sequence).collect();
        let end = starts[count];
        if end < seqlen {
            item.push(Sequence { positions: end..seqlen, initial: None, last: None, is_padding: true });
        }
        Packed { items: vec![item], initial_states, last_states }
    }

    /// Items by the sequence that each position belongs to, a number below 0 being padding. The first sequence has the item's initial
    /// state, and the last one its last.
    pub fn by_indices(indices: &[i64], seqlen: usize) -> Packed {
        let of_item = |indices: &[i64]| {
            let mut item: Vec<Sequence> = Vec::new();
            for (l, &index) in indices.iter().enumerate() {
                // All that is below 0 is padding.
                match item.last_mut().filter(|_| l > 0 && index.max(-1) == indices[l - 1].max(-1)) {
                    Some(sequence) => sequence.positions.end = l + 1,
                    None => {
                        let initial = (l == 0).then_some(0);
                        let is_padding = index < 0;
                        item.push(Sequence { positions: l..l + 1, initial, last: None, is_padding });
                    }
                }
            }
            let last = item.iter().rposition(|sequence| !sequence.is_padding).unwrap_or(item.len() - 1);
            item[last].last = Some(0);
            item
        };
        let items = indices.chunks(seqlen).map(of_item).collect();
        Packed { items, initial_states: 1, last_states: 1 }
    }

    /// The sequences of an item, in order.
    pub fn item(&self, item: usize) -> &[Sequence] {
        &self.items[item]
    }

    /// Whole sequences of an item, at these positions, as those of an item of its own.
    pub fn part(&self, item: usize, positions: &Range<usize>) -> Packed {
        let own = self.items[item].iter().filter(|sequence| positions.contains(&sequence.positions.start));
        let moved = own.map(|sequence| {
            let Range { start, end } = sequence.positions;
            Sequence { positions: start - positions.start..end - positions.start, ..sequence.clone() }
        });
        Packed { items: vec![moved.collect()], ..*self }
    }

    /// Sequences of all items, without padding.
    pub fn sequences(&self) -> impl Iterator<Item = &Sequence> {
        self.items.iter().flatten().filter(|sequence| !sequence.is_padding)
    }

    /// The sequence of an item at a position.
    pub fn at(&self, item: usize, l: usize) -> &Sequence {
        let item = &self.items[item];
        &item[item.partition_point(|sequence| sequence.positions.end <= l).min(item.len() - 1)]
    }

    /// Whether some positions are padding.
    pub fn is_padded(&self) -> bool {
        self.items.iter().flatten().any(|sequence| sequence.is_padding)
    }

    /// Numbers that tell what is packed how.
    pub fn described(&self) -> impl Iterator<Item = usize> {
        let own = |sequence: &Sequence| [sequence.positions.start, usize::from(sequence.is_padding)];
        self.items.iter().flat_map(move |item| item.iter().flat_map(own).chain([usize::MAX]))
    }
}

impl Problem {
    /// The sequences of an item; one where nothing is packed.
    pub fn sequences(&self, item: usize) -> Cow<'_, [Sequence]> {
        Sequence::of_item(self.packed.as_deref(), item, self.shape.seqlen)
    }

    /// States that each channel is given, and last states that it has.
    pub fn states_of_each(&self) -> [usize; 2] {
        self.packed.as_ref().map_or([1, 1], |packed| [packed.initial_states, packed.last_states])
    }

    /// A sequence of a channel as a problem of one, and where the channel is in it. The problem itself where nothing is packed.
    pub fn alone(&self, at: (usize, usize), sequence: &Sequence) -> (Cow<'_, Problem>, (usize, usize)) {
        if self.packed.is_none() {
            return (Cow::Borrowed(self), at);
        }
        let (item, channel) = at;
        let row = self.sequence_index(item, channel, 0) / self.shape.seqlen;
        let group = self.group_row(item, channel / (self.shape.dim / self.shape.groups));
        let problem = self.part((&[row], &[group]), channel..channel + 1, sequence);
        let shape = Shape { dim: 1, groups: 1, ..problem.shape };
        let problem = Problem { shape, judged_channels: vec![(0, 0)], ..problem };
        (Cow::Owned(problem), (0, 0))
    }

    /// Where a sequence's values are in a channel's row of a computed tensor; none of a last state that is not kept, and of tensors of
    /// chunks, which no packed sequences have.
    pub fn within_row(&self, sequence: &Sequence, name: TensorName) -> Option<Range<usize>> {
        let len = self.shape.dstate * self.weights.width();
        match name {
            TensorName::Out => Some(sequence.positions.clone()),
            TensorName::LastState => sequence.last.map(|slot| slot * len..(slot + 1) * len),
            TensorName::ChunkStates | TensorName::DaCumsum => None,
        }
    }

    /// A sequence's part of rows of u, delta, z and initial states, and of rows of variable B and C; with weights of these channels.
    fn part(
        &self,
        (rows, groups): (&[usize], &[usize]),
        channels: Range<usize>,
        sequence: &Sequence,
    ) -> Problem {
        let (seqlen, len) = (self.shape.seqlen, self.shape.dstate * self.weights.width());
        let weights = channels.start * len..channels.end * len;
        let positions = |values: &Vec<f32>| -> Vec<f32> {
            rows.iter().flat_map(|row| &values[row * seqlen..][sequence.positions.clone()]).copied().collect()
        };
        let operand = |operand, values: &[f32]| match operand {
            Operand::Constant => values[weights.clone()].to_vec(),
            Operand::Variable => {
                groups.iter().flat_map(|&row| self.operand_within(values, row, sequence)).collect()
            }
        };
        let of_channels = |values: &Vec<f32>| values[channels.clone()].to_vec();
        let [given, _] = self.states_of_each();
        let state = |values: &Vec<f32>, slot: usize| -> Vec<f32> {
            rows.iter().flat_map(|row| &values[(row * given + slot) * len..][..len]).copied().collect()
        };
        let initial = self.initial_state.as_ref().zip(sequence.initial);
        Problem {
            shape: Shape { batch: 1, seqlen: sequence.positions.len(), ..self.shape },
            u: positions(&self.u),
            delta: positions(&self.delta),
            a: self.a[channels.start * self.floats_of_a()..channels.end * self.floats_of_a()].to_vec(),
            b: operand(self.b_operand, &self.b),
            c: operand(self.c_operand, &self.c),
            d: self.d.as_ref().map(of_channels),
            z: self.z.as_ref().map(positions),
            delta_bias: self.delta_bias.as_ref().map(of_channels),
            initial_state: initial.map(|(values, slot)| state(values, slot)),
            judged_channels: Vec::new(),
            held: None,
            packed: None,
            ..*self
        }
    }

    /// A sequence's part of a row of variable B or C.
    fn operand_within(&self, values: &[f32], row: usize, sequence: &Sequence) -> Vec<f32> {
        let Shape { dstate, seqlen, .. } = self.shape;
        let (width, Range { start, end }) = (self.weights.width(), sequence.positions.clone());
        let of_state = |n: usize| {
            let first = (row * dstate + n) * seqlen;
            &values[(first + start) * width..(first + end) * width]
        };
        (0..dstate).flat_map(of_state).copied().collect()
    }

    /// A loss as a channel's sequence alone has it.
    pub fn given_alone<'g>(
        &self,
        given: &'g OutputGradients,
        at: (usize, usize),
        sequence: &Sequence,
    ) -> Cow<'g, OutputGradients> {
        if self.packed.is_none() {
            return Cow::Borrowed(given);
        }
        let [_, count] = self.states_of_each();
        let (start, len) = (self.sequence_index(at.0, at.1, 0), self.shape.dstate * self.weights.width());
        let row = start / self.shape.seqlen;
        let state = |(values, slot): (&Vec<f32>, usize)| values[(row * count + slot) * len..][..len].to_vec();
        Cow::Owned(OutputGradients {
            dout: given.dout[start..][sequence.positions.clone()].to_vec(),
            dlast_state: given.dlast_state.as_ref().zip(sequence.last).map(state),
        })
    }

    /// Where values of a gradient of a channel's sequence, of which there are `len`, stand among those of the whole: the places of the
    /// first of each so many in a row. Nowhere those of a state that the sequence is not given.
    pub fn places_alone(
        &self,
        name: GradientName,
        at: (usize, usize),
        sequence: &Sequence,
        len: usize,
    ) -> (Vec<usize>, usize) {
        let start = self.gradient_index(name, at);
        let width = self.gradient(name, Vec::<f32>::new()).width;
        match name {
            _ if self.packed.is_none() => (vec![start], len),
            GradientName::InitialState => {
                let own = |slot: usize| start + slot * self.shape.dstate * width;
                (sequence.initial.map(own).into_iter().collect(), len)
            }
            _ if self.varies(name) => {
                let (run, row) = (sequence.positions.len() * width, self.shape.seqlen * width);
                let first = start + sequence.positions.start * width;
                ((0..len / run.max(1)).map(|i| first + i * row).collect(), run)
            }
            _ => (vec![start], len),
        }
    }
}
