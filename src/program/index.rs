//! Indices that are read in the place of others.

/// The index that is read in the place of i, of an axis of n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// i + k; 0 is read beyond either end.
    Shifted(i32),
    /// i + k; the last one is read beyond the end, and 0 before the start, as textbook forms read inputs (spec.md §2).
    Held(i32),
    /// i + k; the first one is read before the start, and the last one beyond the end.
    Clamped(i32),
    /// n − 1 − i
    Reversed,
    At(u32),
    /// i + k around the end
    Rolled(i32),
    /// i mod k
    Modulo(u32),
    /// ⌊i / k⌋
    Divided(u32),
    /// ⌊i / k⌋ k
    BlockStart(u32),
    /// i within its block of k, from the block's other end; beyond the last one 0 is read.
    ReversedIn(u32),
    /// ⌊i / k⌋ k − 1, the last one of the block before.
    BlockBefore(u32),
    /// ⌊i / k⌋ k + k − 1, the last one of its own block.
    BlockEnd(u32),
    /// ⌊n / k⌋ times i mod k: of n / k things that share a row, the row of another's rest.
    Strided(u32),
    /// i as its place in a memory of blocks of k, whose axes are exchanged.
    Exchanged(u32),
    /// An input's memory with its two last axes exchanged; of items, its two first ones.
    Transposed,
    /// Memory of a head, its channels by states, taken for states by channels.
    TransposedIn(u32),
    /// A complex input's memory taken for all real parts before all imaginary ones.
    Halves,
    /// The first position of the packed sequence that comes so many after a position's own, without padding.
    Sequence(i32),
    /// The first position of the item, for each packed sequence.
    FirstSequence,
    /// The first position of the packed sequence as far from the item's last one, without padding.
    SequencesReversed,
    /// i itself in the first packed sequence of an item; in others 0 is read.
    OnlyFirstSequence,
    /// i + k, also in another packed sequence; 0 is read before the item's start, and the last one beyond its end.
    Across(i32),
}

impl Index {
    /// The index that is read; none where 0 is.
    pub fn of(self, i: usize, n: usize) -> Option<usize> {
        let shifted = |by: i32| i.checked_add_signed(by as isize);
        match self {
            Index::Shifted(by) => shifted(by).filter(|&at| at < n),
            Index::FirstSequence => Some(0),
            Index::Held(by) | Index::Across(by) => shifted(by).map(|at| at.min(n - 1)),
            Index::Clamped(by) => Some(i.saturating_add_signed(by as isize).min(n - 1)),
            Index::Reversed => Some(n - 1 - i),
            Index::At(at) => Some(at as usize).filter(|&at| at < n),
            Index::Modulo(k) => Some(i % k as usize),
            Index::Divided(k) => Some(i / k as usize),
            Index::BlockStart(k) => Some(i / k as usize * k as usize),
            Index::ReversedIn(k) => {
                Some(i / k as usize * k as usize + k as usize - 1 - i % k as usize).filter(|&at| at < n)
            }
            Index::Strided(k) => Some(i % k as usize * (n / k as usize)),
            Index::Exchanged(k) => Some(i % k as usize * (n / k as usize) + i / k as usize),
            Index::Rolled(by) => Some((i as i64 + i64::from(by)).rem_euclid(n as i64) as usize),
            Index::BlockBefore(k) => (i / k as usize * k as usize).checked_sub(1),
            Index::BlockEnd(k) => Some(((i / k as usize + 1) * k as usize).min(n) - 1),
            Index::Transposed
            | Index::TransposedIn(_)
            | Index::Halves
            | Index::Sequence(_)
            | Index::SequencesReversed
            | Index::OnlyFirstSequence => Some(i),
        }
    }
}
