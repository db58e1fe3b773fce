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
    /// last one on; of two products of matrices ⟨G, LMR⟩ = ⟨LᵀGRᵀ, M⟩.
    pub(super) fn through_matrices(&mut self, of: &[Id], given: Id) {
        let is_column = self.graph.extent(given).is_vector();
        for (at, &operand) in of.iter().enumerate() {
            let extent = self.graph.extent(operand);
            // A power of a number has one share.
            if !extent.state && of[..at].contains(&operand) {
                continue;
            }
            let others = of.iter().copied().enumerate().filter(|(other, _)| *other != at);
            let rest: Vec<Id> = others.map(|(_, id)| id).collect();
            let share = match (extent.matrix, is_column) {
                _ if !extent.state => {
                    let count = of.iter().filter(|other| **other == operand).count();
                    let number = self.graph.number(count as f64);
                    let rest = self.graph.product([vec![number], rest].concat());
                    let op = if is_column { Op::Product(vec![given, rest]) } else { Op::Inner(given, rest) };
                    self.graph.add(op)
                }
                (is_matrix, _) => {
                    let numbers = rest.iter().copied().filter(|id| !self.graph.extent(*id).state);
                    let numbers: Vec<Id> = numbers.collect();
                    let [before, behind] = [&of[..at], &of[at + 1..]].map(|part| -> Vec<Id> {
                        part.iter().copied().filter(|id| self.graph.extent(*id).state).collect()
                    });
                    // Matrices in front of a column, which may stand anywhere.
                    let before: Vec<Id> = match is_matrix {
                        true => before,
                        false => of.iter().copied().filter(|id| self.graph.is_matrix(*id)).collect(),
                    };
                    let left: Vec<Id> = before.into_iter().rev().map(|id| self.transposed(id)).collect();
                    let left = self.graph.product([numbers, left, vec![given]].concat());
                    match (is_matrix, is_column) {
                        (false, _) => left,
                        (true, true) => {
                            let right = self.graph.product(behind);
                            self.graph.add(Op::Outer(left, right))
                        }
                        (true, false) => {
                            let right: Vec<Id> =
                                behind.into_iter().rev().map(|id| self.transposed(id)).collect();
                            self.graph.product([vec![left], right].concat())
                        }
                    }
                }
            };
            self.give(operand, share);
        }
    }
}
