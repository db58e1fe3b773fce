//! A run's specification as a small program, which can be edited: what a wrong kernel computes is a plausible way of writing the
//! specified program with an edit or two.
//!
//! A [`Program`] is a few nodes of a [`Graph`]: inputs, sums, products, functions, scans, sums over states. It is built
//! from a form and a problem ([`specified`](Program::specified)), changed by an [`Edit`](edit::Edit) that was [`proposed`], and printed in the notation of
//! spec.md ([`print`]). Nothing here computes; the judge evaluates programs.

pub mod adjoint;
pub mod build;
pub mod complex;
pub mod edit;
pub mod graph;
mod index;
pub mod made;
pub mod mask;
pub mod matrices;
pub mod print;
pub mod proposed;
mod reads;
pub mod writing;

pub use self::graph::{
    Accumulator, Axis, Borders, Extent, Function, Graph, Id, Index, Input, Op, Over, Real, Scan,
};
pub use self::mask::{Condition, Place, Set};

use crate::tensor::GradientName;

/// A name in a program, as it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// Δ after bias, softplus and limits.
    StepSize,
    /// x, the state.
    State,
    /// The state of poly's reversed scan.
    ReversedState,
    /// Sum of C x over the states.
    Readout,
    /// p, the cotangent of the state, and that of poly's reversed scan (spec.md §6).
    Adjoint,
    ReversedAdjoint,
    /// Ā, and h = B̄/B, of a backward pass.
    ABar,
    H,
    /// Their derivatives by Δ and by A.
    ABarByDelta,
    HByDelta,
    ABarByA,
    HByA,
    /// State of a chunk by itself, the product of the decays since its start, and what is carried into it, of a scan in chunks.
    ChunkState,
    ChunkDecay,
    ChunkCarry,
    /// A product of some factors of the input, which a kernel forms first.
    Group,
    /// Running sum of the exponents.
    ExponentSum,
    /// A stage of rk4, of the derivative at a step's start.
    Stage(u8),
    /// Of an input.
    Gradient(GradientName),
}

/// A program: the nodes that are its outputs, and those that have names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub out: Id,
    pub last_state: Id,
    pub named: Vec<(Symbol, Id)>,
}

impl Program {
    /// Its nodes, outputs first.
    pub fn nodes(&self) -> Vec<Id> {
        [self.out, self.last_state].into_iter().chain(self.named.iter().map(|(_, id)| *id)).collect()
    }

    /// The same program made of other nodes.
    fn of_nodes(&self, nodes: &[Id]) -> Program {
        let named = self.named.iter().zip(&nodes[2..]).map(|((symbol, _), id)| (*symbol, *id)).collect();
        Program { out: nodes[0], last_state: nodes[1], named }
    }

    pub fn find(&self, symbol: Symbol) -> Option<Id> {
        self.named.iter().find(|(named, _)| *named == symbol).map(|(_, id)| *id)
    }
}
