//! Where each input is read: which index stands for the right one along each axis, and how numbers lie in memory.

/// Which index takes the place of the right one along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    Same,
    /// This one, for all.
    At(usize),
    /// So many further on; nothing is read beyond the ends.
    Shifted(isize),
    /// So many further on; the ends are held.
    Held(isize),
    /// So many further on, around the end.
    Rolled(isize),
    /// i % k
    Modulo(usize),
    /// i / k
    Divided(usize),
    /// The index of the batch, around the end.
    OfBatch,
    /// That of the channel.
    OfChannel,
    Reversed,
    /// From one index up to another; nothing is read outside.
    Within(usize, usize),
    /// Nothing is read for this one.
    Without(usize),
    Chunked(AtChunks),
    InLastBlock(LastBlock),
    /// The first one of its block of so many.
    Floor(usize),
    /// Within its block of so many, from the other end; what is no full block stays.
    ReversedIn(usize),
    /// The columns of a grid of so many rows are read one after the other.
    Columns(usize),
}

/// In the last block, which is not full, another index is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastBlock {
    /// Of a full block.
    pub length: usize,
    pub read: InBlock,
}

/// What is read in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InBlock {
    Nothing,
    /// So many further on.
    By(isize),
    /// The last index before the block.
    Held,
}

/// At one place of every chunk but the first, or the last, another index is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtChunks {
    pub length: usize,
    /// 0 is a chunk's first index.
    pub at: usize,
    /// How far on that is which is read; none where nothing is.
    pub by: Option<isize>,
}

impl Map {
    /// The index that is read for `i` of `n`; none where nothing is.
    #[inline]
    pub fn of(self, i: usize, n: usize) -> Option<usize> {
        let size = n as isize;
        Some(match self {
            // What takes another axis's index is read by [`super::inputs::Read`].
            Map::Same | Map::OfBatch | Map::OfChannel => i,
            Map::At(index) => index.min(n - 1),
            Map::Shifted(by) => usize::try_from(i as isize + by).ok().filter(|&shifted| shifted < n)?,
            Map::Held(by) => (i as isize + by).clamp(0, size - 1) as usize,
            Map::Rolled(by) => (i as isize + by).rem_euclid(size) as usize,
            Map::Modulo(k) => i % k,
            Map::Divided(k) => i / k,
            Map::Reversed => n - 1 - i,
            Map::Floor(k) => i - i % k,
            Map::ReversedIn(k) if i < n - n % k => i - i % k + (k - 1 - i % k),
            Map::ReversedIn(_) => i,
            Map::Columns(k) if n.is_multiple_of(k) => i % k * (n / k) + i / k,
            Map::Columns(_) => i,
            Map::Within(from, to) => Some(i).filter(|i| (from..to).contains(i))?,
            Map::Without(index) => Some(i).filter(|i| *i != index)?,
            // No chunk is before the first.
            Map::Chunked(chunks) if i % chunks.length != chunks.at || i == 0 => i,
            Map::Chunked(chunks) => {
                let index = usize::try_from(i as isize + chunks.by?).ok();
                index.filter(|index| *index < n)?
            }
            Map::InLastBlock(block) if i < n - n % block.length => i,
            Map::InLastBlock(block) => match block.read {
                InBlock::Nothing => return None,
                InBlock::By(by) => usize::try_from(i as isize + by).ok().filter(|index| *index < n)?,
                InBlock::Held => (n - n % block.length).checked_sub(1)?,
            },
        })
    }
}

/// The inputs, in the order of [`Places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    U,
    Delta,
    Z,
    A,
    B,
    C,
    D,
    Bias,
}

/// Where an input is read. Maps along axes that it lacks have no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub batch: Map,
    pub channel: Map,
    pub state: Map,
    pub l: Map,
    /// Whether its last two axes are exchanged in memory.
    pub transposed: bool,
    /// Of a sequence, or of a variable B or C: the axes in the order in which they are taken to lie in memory.
    pub order: Order,
    pub pairs: Pairs,
    /// How far apart in memory rows begin, where that is not their length; what is read beyond the last one is 0.
    pub row_stride: Option<usize>,
}

/// Batch 0, channel or group 1, state 2, position 3.
pub type Order = [u8; 4];

/// How real and imaginary parts lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    Interleaved,
    /// Along the last axis all real parts come first.
    Halves,
    /// Over the last two axes all real parts come first.
    Planes,
    /// Imaginary parts come first.
    Exchanged,
}

impl Place {
    pub const RIGHT: Place = Place {
        batch: Map::Same,
        channel: Map::Same,
        state: Map::Same,
        l: Map::Same,
        transposed: false,
        order: [0, 1, 2, 3],
        pairs: Pairs::Interleaved,
        row_stride: None,
    };
}

/// The place of each [`Input`].
pub type Places = [Place; 8];
