//! Places at which an edit holds.

use super::graph::{Axis, Id, Real};

/// Where an edit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    At(Place),
    /// Where a value's modulus is below a limit.
    Below(Id, Real),
    /// Where a value's modulus is not.
    Beyond(Id, Real),
    /// Where a value is above a limit.
    Above(Id, Real),
}

impl Condition {
    /// The value that decides.
    pub fn of(self) -> Option<Id> {
        match self {
            Condition::At(_) => None,
            Condition::Below(of, _) | Condition::Beyond(of, _) | Condition::Above(of, _) => Some(of),
        }
    }

    pub fn place(self) -> Option<Place> {
        match self {
            Condition::At(place) => Some(place),
            _ => None,
        }
    }
}

/// Some indices of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub axis: Axis,
    pub set: Set,
}

impl Place {
    pub fn positions(set: Set) -> Self {
        Place { axis: Axis::Position, set }
    }

    pub fn states(set: Set) -> Self {
        Place { axis: Axis::State, set }
    }

    /// The place in words.
    pub fn described(self) -> String {
        self.set.described(match self.axis {
            Axis::Item => "item",
            Axis::Channel | Axis::Group => "channel",
            Axis::State => "state",
            Axis::Position | Axis::Offset => "position",
        }) + if self.axis == Axis::Offset { " of each sequence" } else { "" }
    }
}

/// A set of indices, as short as it can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    From(u32),
    /// All before it.
    Until(u32),
    Only(u32),
    /// From the first one to the last one.
    Between(u32, u32),
    /// Multiples of a number, but for 0.
    Multiples(u32),
    /// Indices one below multiples of a number.
    BeforeMultiples(u32),
    /// Indices that leave a rest.
    Every {
        of: u32,
        rest: u32,
    },
    /// In each block of so many, those from one on.
    InBlocks {
        of: u32,
        from: u32,
    },
}

impl Set {
    pub fn contains(self, index: usize) -> bool {
        match self {
            Set::From(first) => index >= first as usize,
            Set::Until(end) => index < end as usize,
            Set::Only(one) => index == one as usize,
            Set::Between(first, last) => (first as usize..=last as usize).contains(&index),
            Set::Multiples(of) => index > 0 && index.is_multiple_of(of as usize),
            Set::BeforeMultiples(of) => (index + 1).is_multiple_of(of as usize),
            Set::Every { of, rest } => index % of as usize == rest as usize,
            Set::InBlocks { of, from } => index % of as usize >= from as usize,
        }
    }

    /// The set in words, of things that this noun is for one of.
    pub fn described(self, noun: &str) -> String {
        match self {
            Set::From(first) => format!("from {noun} {first} on"),
            Set::Until(end) => format!("before {noun} {end}"),
            Set::Only(one) => format!("at {noun} {one}"),
            Set::Between(first, last) => format!("at {noun}s {first} to {last}"),
            Set::Multiples(of) => format!("at {noun}s {of}, {}, …", 2 * of),
            Set::BeforeMultiples(of) => format!("at {noun}s {}, {}, …", of - 1, 2 * of - 1),
            Set::Every { of, rest } => format!("at {noun}s {rest}, {}, …", rest + of),
            Set::InBlocks { of, from } => format!("from {noun} {from} of each block of {of} on"),
        }
    }
}
