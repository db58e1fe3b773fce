//! Cotangents of products with matrices, as a dense A has them (spec.md §8).

use super::Reverse;
use crate::program::matrices::Map;
use crate::program::{Function, Id, Op};

impl Reverse<'_> {
    /// A matrix transposed; any other value as it is.
    pub(super) fn transposed(&mut self, id: Id) -> Id {
        match self.graph.is_matrix(id) {
            true => self.graph.apply(Function::Mapped(Map::Transposed), id),
            false => id,
        }
    }

    /// Gives the factors of a product with matrices what its cotangent comes to. A column is multiplied by the matrices in their order, from the
    /// last one on, wherever it stands; of matrices alone ⟨G, LMR⟩ = ⟨LᵀGRᵀ, M⟩.
    pub(super) fn through_matrices(&mut self, of: &[Id], given: Id) {
        let is_column = self.graph.extent(given).is_vector();
        for (at, &operand) in of.iter().enumerate() {
            let extent = self.graph.extent(operand);
            if !extent.state {
                // A power of a number has one share.
                if !of[..at].contains(&operand) {
                    self.through_number(of, operand, given);
                }
                continue;
            }
            let numbers: Vec<Id> = of.iter().copied().filter(|id| !self.graph.extent(*id).state).collect();
            let end = if extent.matrix { at } else { of.len() };
            let before = self.all_transposed(&of[..end]);
            let left = self.graph.product([numbers, before, vec![given]].concat());
            let share = match (extent.matrix, is_column) {
                (false, _) => left,
                (true, true) => {
                    let states = |id: &Id| self.graph.extent(*id).state;
                    let right: Vec<Id> = of[at + 1..].iter().copied().filter(states).collect();
                    let right = self.graph.product(right);
                    self.graph.add(Op::Outer(left, right))
                }
                (true, false) => {
                    let right = self.all_transposed(&of[at + 1..]);
                    self.graph.product([vec![left], right].concat())
                }
            };
            self.give(operand, share);
        }
    }

    /// Gives a number among factors as many shares as it stands there.
    fn through_number(&mut self, of: &[Id], number: Id, given: Id) {
        let count = of.iter().filter(|other| **other == number).count();
        let times = self.graph.number(count as f64);
        let others = of.iter().copied().filter(|other| *other != number);
        let rest: Vec<Id> = [times].into_iter().chain(vec![number; count - 1]).chain(others).collect();
        let rest = self.graph.product(rest);
        let is_column = self.graph.extent(given).is_vector();
        let op = if is_column { Op::Product(vec![given, rest]) } else { Op::Inner(given, rest) };
        let share = self.graph.add(op);
        self.give(number, share);
    }

    /// Matrices among factors, transposed, from the last one on.
    fn all_transposed(&mut self, of: &[Id]) -> Vec<Id> {
        let matrices: Vec<Id> = of.iter().copied().filter(|id| self.graph.is_matrix(*id)).collect();
        matrices.into_iter().rev().map(|id| self.transposed(id)).collect()
    }
}
