//! The mutants of the kernels: each an exact substitution in a file of `kernels/`, and what must become of it.

mod backward;
mod blind;
mod chunks;
mod coefficients;
mod derivatives;
mod exponential;
mod fast;
mod few_lanes;
mod harmless;
mod precise;
mod scan;
mod storage;
mod uncaught;

use holdfast::method::Method::{self, Foh, HighOrder, Poly, Rk4, Zoh};

/// What of the kernels a mutant is compiled into, and run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The forward pass of the accurate tier.
    Forward,
    /// That of the fast tier.
    Fast,
    /// The forward pass with two lanes for a channel where there is such a kernel.
    FewLanes,
    /// The forward pass of sequences in chunks, with two lanes where there is such a kernel.
    Chunks,
    Backward,
}

impl Variant {
    pub const ALL: [Variant; 5] =
        [Variant::Forward, Variant::Fast, Variant::FewLanes, Variant::Chunks, Variant::Backward];

    /// What the guide calls its mutants.
    pub fn title(self) -> &'static str {
        match self {
            Variant::Forward => "Mutants of the forward pass",
            Variant::Fast => "Mutants in the fast tier",
            Variant::FewLanes => "Mutants with two lanes a channel",
            Variant::Chunks => "Mutants in chunks",
            Variant::Backward => "Mutants of the backward pass",
        }
    }

    /// The variant in the library's own words; none that is not asked for by a word.
    pub fn switch(self) -> Option<&'static str> {
        match self {
            Variant::Forward => None,
            Variant::Fast => Some("FAST"),
            Variant::FewLanes => Some("FEW_LANES"),
            Variant::Chunks => Some("CHUNKS"),
            Variant::Backward => Some("BACKWARD"),
        }
    }

    /// States times positions of the largest problems on which is tried what nothing catches. Shorter ones have no chunks.
    pub fn largest_uncaught(self) -> usize {
        if self == Variant::Chunks { 13_000 } else { 600 }
    }

    /// The kinds of verdict that it gets. What is lifted has one tier, one number of lanes and no chunks.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Variant::Forward | Variant::Backward => &Kind::ALL,
            Variant::Fast => &[Kind::Sweep, Kind::Case, Kind::Invariant],
            Variant::FewLanes | Variant::Chunks => &[Kind::Case, Kind::Invariant],
        }
    }
}

/// A kind of verdict of `holdfast verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Ā and B̄ of a sweep, or the derivatives that a backward pass is made of.
    Sweep,
    /// A scan of a regime, forward or backward, with its relative gate.
    Case,
    /// A law.
    Invariant,
    /// A sweep or a scan in double.
    Lifted,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Sweep, Kind::Case, Kind::Invariant, Kind::Lifted];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Sweep => "sweeps",
            Kind::Case => "cases",
            Kind::Invariant => "invariants",
            Kind::Lifted => "lifted runs",
        }
    }
}

/// What must become of a mutant.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// Each of these kinds of verdict fails it at every seed. The regimes named show it; they are tried first.
    Caught { by: &'static [Kind], regimes: &'static [&'static str] },
    /// It computes something else, or nothing else, within what is promised: no verdict fails. Why, in a sentence.
    Harmless(&'static str),
}

/// A changed line of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Unique, in kebab-case.
    pub id: &'static str,
    /// In `kernels/`.
    pub file: &'static str,
    pub what: &'static str,
    /// Stands in the file exactly once.
    pub old: &'static str,
    pub new: &'static str,
    /// Those that it is tried in: it may change others, too.
    pub methods: &'static [Method],
    pub fate: Fate,
    pub variant: Variant,
}

impl Mutant {
    /// The kinds of verdict that are asked for.
    pub fn kinds(&self) -> &'static [Kind] {
        match self.fate {
            Fate::Caught { by, .. } => by,
            Fate::Harmless(_) => self.variant.kinds(),
        }
    }

    const fn of(self, variant: Variant) -> Mutant {
        Mutant { variant, ..self }
    }
}

const ALL: &[Method] = &Method::ALL;
/// Two that take pairs of floats, with complex weights, and one where it leaves the common elements.
const EXPONENTIAL: &[Method] = &[Zoh, Foh, Rk4];
const PHI: &[Method] = &[Foh, Poly, HighOrder];
/// One that scans forward, and the one that scans both ways.
const SCANS: &[Method] = &[Zoh, Poly];

type Row = (&'static str, &'static str, &'static str, &'static str);

/// A row of a table of one file: id, what it changes, the old text, the new text.
const fn mutant(file: &'static str, row: Row, methods: &'static [Method], fate: Fate) -> Mutant {
    let (id, what, old, new) = row;
    Mutant { id, file, what, old, new, methods, fate, variant: Variant::Forward }
}

const fn caught(by: &'static [Kind]) -> Fate {
    Fate::Caught { by, regimes: &[] }
}

const fn caught_in(by: &'static [Kind], regimes: &'static [&'static str]) -> Fate {
    Fate::Caught { by, regimes }
}

/// Every mutant.
pub fn all() -> Vec<Mutant> {
    [
        exponential::MUTANTS,
        coefficients::MUTANTS,
        precise::MUTANTS,
        storage::MUTANTS,
        scan::MUTANTS,
        blind::MUTANTS,
        harmless::MUTANTS,
        fast::MUTANTS,
        few_lanes::MUTANTS,
        chunks::MUTANTS,
        backward::MUTANTS,
        derivatives::MUTANTS,
        uncaught::MUTANTS,
    ]
    .concat()
}
