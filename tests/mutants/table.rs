//! The mutants of the kernels: each an exact substitution in a file of `kernels/`, and what must become of it.

mod blind;
mod coefficients;
mod exponential;
mod harmless;
mod precise;
mod scan;
mod storage;

use holdfast::method::Method::{self, Foh, HighOrder, Poly, Rk4, Zoh};

/// A kind of verdict of `holdfast verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Ā and B̄ of a sweep.
    Sweep,
    /// A scan of a regime, with its relative gate.
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

impl Fate {
    /// The kinds of verdict that are asked for.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Fate::Caught { by, .. } => by,
            Fate::Harmless(_) => &Kind::ALL,
        }
    }
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
    Mutant { id, file, what, old, new, methods, fate }
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
    ]
    .concat()
}
