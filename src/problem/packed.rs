//! Sequences that are packed one after another into the items of a batch (spec.md §3, "Packed sequences"). Each is scanned as if nothing
//! were before or after it; so truth, bounds and gradients are those of its own problem ([`Problem::alone`]), put in their places.

use std::borrow::Cow;
use std::ops::Range;

use super::{OutputGradients, Problem, Shape};
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
        let Shape { dim, dstate, seqlen, groups, .. } = self.shape;
        let width = self.weights.width();
        let (row, group) = (self.channel_row(item, channel), self.group_row(item, channel / (dim / groups)));
        let Range { start, end } = sequence.positions;
        let of_rows = |values: &[f32], rows: Range<usize>, width: usize| -> Vec<f32> {
            let part = |row: usize| &values[(row * seqlen + start) * width..(row * seqlen + end) * width];
            rows.flat_map(part).copied().collect()
        };
        let [given, _] = self.states_of_each();
        let problem = self.of_inputs(|name, values| match name {
            GradientName::B | GradientName::C if self.varies(name) => {
                of_rows(values, group * dstate..(group + 1) * dstate, width)
            }
            GradientName::InitialState => self.state_of(values, row * given + sequence.initial.unwrap_or(0)),
            _ if self.varies(name) => of_rows(values, row..row + 1, 1),
            _ => {
                let len = values.len() / dim;
                values[channel * len..(channel + 1) * len].to_vec()
            }
        });
        let problem = Problem {
            shape: Shape { batch: 1, dim: 1, dstate, seqlen: end - start, groups: 1 },
            initial_state: problem.initial_state.filter(|_| sequence.initial.is_some()),
            judged_channels: vec![(0, 0)],
            ..problem
        };
        (Cow::Owned(problem), (0, 0))
    }

    /// One of the states that these are.
    fn state_of(&self, values: &[f32], at: usize) -> Vec<f32> {
        let len = self.shape.dstate * self.weights.width();
        values[at * len..(at + 1) * len].to_vec()
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
        let row = self.channel_row(at.0, at.1);
        let states = given.dlast_state.as_ref().zip(sequence.last);
        Cow::Owned(OutputGradients {
            dout: given.dout[row * self.shape.seqlen..][sequence.positions.clone()].to_vec(),
            dlast_state: states.map(|(values, slot)| self.state_of(values, row * count + slot)),
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
