//! Hypotheses of a backward pass: a way of writing it, with a change or two.

use super::backward::Backward;
use super::part::Part;
use crate::program::edit::{Edit, Patch};
use crate::program::{Graph, Id, Program, Real, Symbol};
use crate::tensor::GradientName;

/// An edit with another number.
pub fn with(edit: Edit, by: f64) -> Edit {
    let by = Real::new(by);
    let patch = match edit.patch {
        Patch::Turned(_) => Patch::Turned(by),
        Patch::Plus(term, _) => Patch::Plus(term, by),
        _ => Patch::Scaled(by),
    };
    Edit { patch, ..edit }
}

/// A backward pass that is changed: a way of writing it, with what is known to be wrong with it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Base {
    pub writing: Backward,
    pub first: Option<Edit>,
}

impl Base {
    pub fn of(writing: Backward) -> Self {
        Base { writing, first: None }
    }

    pub fn cost(&self) -> f64 {
        self.writing.cost() + self.first.map_or(0.0, |first| first.cost())
    }
}

/// A backward pass with a change of it; in a part of a gradient alone, or in all of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hypothesis {
    pub base: Base,
    pub change: Option<Edit>,
    pub part: Option<Part>,
    /// Bits beside those of its change.
    pub extra: f64,
}

impl Hypothesis {
    pub fn changes(&self) -> impl Iterator<Item = Edit> + use<> {
        [self.base.first, self.change].into_iter().flatten()
    }

    pub fn cost(&self) -> f64 {
        let of_change = self.change.map_or(0.0, |one| one.cost());
        self.base.cost() + of_change + self.part.map_or(0.0, |_| 5.0) + self.extra
    }

    pub fn rounds(&self) -> bool {
        self.changes().any(|one| one.rounds())
    }

    /// Whether it is two mistakes.
    pub fn is_pair(&self) -> bool {
        self.change.is_some() && (self.base.first.is_some() || self.base.writing.is_a_mistake())
    }

    /// The base that it is for second changes; none of what is two already, or holds in a part alone.
    pub fn as_base(&self) -> Option<Base> {
        let is_single = self.part.is_none() && self.base.first.is_none() && !self.is_pair();
        is_single.then_some(Base { writing: self.base.writing, first: self.change })
    }
}

/// The program with one gradient for all of its outputs.
pub fn of_gradient(graph: &Graph, program: &Program, name: GradientName) -> Option<Program> {
    let out = program.find(Symbol::Gradient(name))?;
    let reached = graph.reached(&[out]);
    let is_of = |(symbol, id): &&(Symbol, Id)| match symbol {
        Symbol::Gradient(other) => *other == name,
        Symbol::Readout => false,
        // What reads the state before is said by the state's name.
        Symbol::State | Symbol::ReversedState => true,
        _ => reached.contains(id),
    };
    let named = program.named.iter().filter(is_of).copied().collect();
    Some(Program { out, last_state: out, named })
}
