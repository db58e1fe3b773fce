//! How tensors of a run are laid out in its file: the order of their axes, and which channels share a number. Everything else has the
//! plain order, in which a channel has a row of its own: (batch, dim, seqlen), (batch, groups, dstate, seqlen), (dim, dstate).

use std::num::NonZeroUsize;

use super::stretch::Outline;
use crate::problem::conventions::Direction;
use crate::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use crate::tensor::{ComputedName, TensorName};

named! {
    /// Order of the axes, by the name that metadata have for it: b items of the batch, d channels, l positions, h heads of p channels.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Order: "layout" {
        /// (b, d, l), and B and C (b, g, n, l).
        #[default]
        Bdl => "bdl",
        /// (b, l, d), and B and C (b, l, g, n).
        Bld => "bld",
        /// (b, l, h, p), as Mamba-2's kernels have it: Δ, A and D belong to heads.
        Blhp => "blhp",
    }
}

impl Order {
    /// How rows of so many positions lie in the file ([`View::turned`]).
    pub fn turned(self, seqlen: usize, rows: usize) -> Option<(usize, usize)> {
        (self != Order::Bdl).then_some((seqlen, rows))
    }

    /// The shapes of a run's tensors.
    pub fn shapes(self) -> &'static str {
        match self {
            Order::Bdl => {
                "layout `bdl` has u, z, out (b, d, l); delta (b, d, l), or (b, k, l) of k shared steps; B, C (b, g, n, l) or (d, n); \
                 A (d, n) or (h); D, delta_bias (d), or as A and delta; states (b, d, n)"
            }
            Order::Bld => {
                "layout `bld` has u, z, out (b, l, d); delta (b, l, d), or (b, l, k) of k shared steps; B, C (b, l, g, n) or (d, n); \
                 A (d, n) or (h); D, delta_bias (d), or as A and delta; states (b, d, n)"
            }
            Order::Blhp => {
                "layout `blhp` has u, z, out (b, l, h, p); delta (b, l, h); B, C (b, l, g, n); A, delta_bias (h); D (h) or (h, p); \
                 states (b, h, p, n)"
            }
        }
    }
}

/// How many channels in a row share a number of each of these gradients; none where every channel has its own. One of A is then
/// shared by all states, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    pub delta: Option<usize>,
    pub delta_bias: Option<usize>,
    pub a: Option<usize>,
    pub d: Option<usize>,
}

impl Shared {
    /// How many channels, or rows of a step, add to one value of this gradient; none where each has its own.
    pub fn by(mut self, name: GradientName) -> Option<usize> {
        self.of(name).and_then(|by| *by)
    }

    /// The same, to be set; none of a gradient that no channels share.
    pub fn of(&mut self, name: GradientName) -> Option<&mut Option<usize>> {
        match name {
            Delta => Some(&mut self.delta),
            DeltaBias => Some(&mut self.delta_bias),
            A => Some(&mut self.a),
            D => Some(&mut self.d),
            U | B | C | Z | InitialState => None,
        }
    }
}

/// The layout of a run's tensors; by default spec.md §3's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Axes {
    pub order: Order,
    /// Channels of a head, of [`Order::Blhp`].
    pub headdim: usize,
    pub shared: Shared,
}

const ITEM: &str = "item";
const CHANNEL: &str = "channel";
const HEAD: &str = "head";
const GROUP: &str = "group";
const STATE: &str = "state";
const ROW: &str = "row";
const COLUMN: &str = "column";
const POSITION: &str = "position";
const SEQUENCE: &str = "sequence";
const CHUNK: &str = "chunk";
/// Position in the plain order, that a file has as a chunk and what is left.
const IN_CHUNK: &str = "position in a chunk";

impl Axes {
    /// Nouns for the axes of a tensor in the plain order, of which it has so many.
    fn nouns(self, name: ComputedName, count: usize) -> Vec<&'static str> {
        let shared = name.gradient().and_then(|name| self.shared.by(name)).is_some();
        let channel = if shared { HEAD } else { CHANNEL };
        match (name, count) {
            (ComputedName::Gradient(A), 1) => vec![HEAD],
            (ComputedName::Gradient(D | DeltaBias), _) => vec![channel],
            (ComputedName::Gradient(A | B | C), 2) => vec![CHANNEL, STATE],
            (ComputedName::Gradient(A), _) => vec![CHANNEL, ROW, COLUMN],
            (ComputedName::Gradient(B | C), _) => vec![ITEM, GROUP, STATE, POSITION],
            (ComputedName::Output(TensorName::Out) | ComputedName::Gradient(U | Delta | Z), _) => {
                vec![ITEM, channel, POSITION]
            }
            (ComputedName::Output(TensorName::ChunkStates), 4) => vec![ITEM, CHANNEL, CHUNK, STATE],
            (ComputedName::Output(TensorName::DaCumsum), _) => vec![ITEM, CHANNEL, IN_CHUNK],
            (_, 4) => vec![ITEM, CHANNEL, SEQUENCE, STATE],
            _ => vec![ITEM, CHANNEL, STATE],
        }
    }

    /// One value for each axis of a tensor, brought from the plain order into the file's. `parts` makes the values of two axes of one
    /// that the file divides: a head's and its channels', or a chunk's and its positions'.
    fn in_file<T>(
        self,
        name: ComputedName,
        plain: impl ExactSizeIterator<Item = T>,
        parts: impl Fn(&str, T) -> [T; 2],
    ) -> Vec<(&'static str, T)> {
        // One row of these is that of all channels of a head.
        let channels = if name == TensorName::DaCumsum.into() { 0 } else { 1 };
        let nouns = self.nouns(name, plain.len());
        let mut found = Vec::with_capacity(plain.len() + 1);
        for (noun, at) in nouns.into_iter().zip(plain) {
            match (noun, self.order) {
                (POSITION, Order::Bld | Order::Blhp) => found.insert(1, (noun, at)),
                // There is one item, whose place the sequence takes.
                (SEQUENCE, _) => found[0] = (noun, at),
                (CHUNK, _) => found.insert(1, (noun, at)),
                (IN_CHUNK, _) => found.extend([CHUNK, POSITION].into_iter().zip(parts(noun, at))),
                // A dense A has its matrices one after the other, whatever the heads are.
                (CHANNEL, Order::Blhp) if name != A.into() => {
                    found.extend([HEAD, CHANNEL].into_iter().zip(parts(noun, at)).take(1 + channels));
                }
                _ => found.push((noun, at)),
            }
        }
        found
    }
}

impl Outline {
    /// The axes of a tensor of this shape as its file has them: a noun for an index, and how many there are.
    pub fn recorded_axes(self, name: impl Into<ComputedName>, shape: &[usize]) -> Vec<(&'static str, usize)> {
        let parts = |noun: &str, size: usize| {
            let len = self.parts(noun);
            [size.div_ceil(len), len]
        };
        self.axes.in_file(name.into(), shape.iter().copied(), parts)
    }

    /// Where what is at this index, counted as the scan goes, is in a tensor as it was recorded.
    pub fn recorded_index(self, name: impl Into<ComputedName>, index: Vec<usize>) -> Vec<usize> {
        self.recorded_place(name, index).into_iter().map(|(_, at)| at).collect()
    }

    /// Place of an element in words, a noun for each axis; nothing where the layout is spec.md §3's, whose words are known.
    pub fn recorded_words(self, name: impl Into<ComputedName>, index: Vec<usize>) -> String {
        if self.axes == Axes::default() {
            return String::new();
        }
        let words = self.recorded_place(name, index).into_iter().map(|(noun, at)| format!("{noun} {at}"));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Size of the last of two axes that the file has for this one.
    fn parts(self, noun: &str) -> usize {
        if noun == IN_CHUNK { self.chunk.map_or(1, NonZeroUsize::get) } else { self.axes.headdim.max(1) }
    }

    fn recorded_place(self, name: impl Into<ComputedName>, index: Vec<usize>) -> Vec<(&'static str, usize)> {
        let parts = |noun: &str, at: usize| [at / self.parts(noun), at % self.parts(noun)];
        let mut place = self.axes.in_file(name.into(), index.into_iter(), parts);
        if self.direction == Direction::Reverse {
            let positions = place.iter_mut().filter(|(noun, _)| *noun == POSITION);
            positions.for_each(|(_, l)| *l = self.shape.seqlen - 1 - *l);
        }
        place
    }
}

/// How the floats of a tensor in the plain order are found in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Positions, and the rows that each of them has, where the file has positions before rows.
    pub turned: Option<(usize, usize)>,
    /// Channels that share a row of the file.
    pub shared_by: usize,
    /// Floats of a channel's row in the plain order.
    pub row: usize,
    /// Floats of a row of the file, which is repeated, or longer.
    pub own: usize,
}

impl View {
    /// View of a tensor that has the plain order.
    pub const PLAIN: View = View { turned: None, shared_by: 1, row: 1, own: 1 };

    /// Whether the file has the plain order.
    pub fn is_plain(self) -> bool {
        self.turned.is_none() && !self.repeats()
    }

    /// Whether rows are shared, or have another length.
    pub fn repeats(self) -> bool {
        self.shared_by > 1 || self.own != self.row
    }

    /// Floats in the plain order, of so many in the file.
    pub fn len(self, stored: usize) -> usize {
        stored / self.own.max(1) * self.shared_by * self.row
    }

    /// The place, among the file's floats as rows, of a float in the plain order.
    pub fn own_at(self, plain: usize) -> usize {
        plain / self.row / self.shared_by * self.own + plain % self.row % self.own
    }

    /// The floats of rows among which these of the plain order are, not empty: a part of a row, or whole ones.
    pub fn own_range(self, plain: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let (first, last) = (self.own_at(plain.start), self.own_at(plain.end - 1));
        let is_within = (plain.start / self.row == (plain.end - 1) / self.row) && self.own == self.row;
        match is_within || !self.repeats() {
            true => first..last + 1,
            false => first / self.own * self.own..(last / self.own + 1) * self.own,
        }
    }

    /// The place in the file of a float among rows, each element of which has `width` floats.
    pub fn stored_at(self, own: usize, width: usize) -> usize {
        let Some((positions, rows)) = self.turned else { return own };
        let (part, element) = (own % width, own / width);
        let (l, row) = (element % positions, element / positions);
        ((row / rows * positions + l) * rows + row % rows) * width + part
    }
}
