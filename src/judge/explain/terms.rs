//! Two terms of a sum, each with another coefficient. Outputs are linear in both, so that one least squares finds them together, where the
//! best that one of them can do says nothing of what it is.

use super::{Found, Search, number};
use crate::program::edit::{Edit, Patch, Site};
use crate::program::{Graph, Id, Op, Real, proposed};

/// Terms that a sum has at least: of two, another coefficient of both is one of the sum and one of a term.
const FEWEST: usize = 3;

impl Search<'_> {
    /// Other coefficients of two terms.
    pub(super) fn with_two_coefficients(&mut self) -> Vec<Found> {
        for user in self.graph.reached(&[self.program.out]) {
            let Op::Sum(terms) = self.graph.op(user) else { continue };
            let (terms, is_of_states) = (terms.clone(), self.graph.extent(user).state);
            if terms.len() < FEWEST || !is_of_states {
                continue;
            }
            for (operand, &second) in terms.iter().enumerate().skip(1) {
                for first in 0..operand {
                    let found = self.with_coefficients((user, first), (operand, second));
                    if !found.is_empty() || self.is_over() {
                        return found;
                    }
                }
            }
        }
        Vec::new()
    }

    fn with_coefficients(
        &mut self,
        (user, first): (Id, usize),
        (operand, second): (usize, Id),
    ) -> Vec<Found> {
        let scaled = |operand| {
            let (site, patch) = (Site::Use { user, operand }, Patch::Scaled(Real::new(1.0)));
            Edit { site, patch, when: None }
        };
        let both = [first, operand].map(scaled);
        if !both.iter().all(|edit| self.asks(edit)) {
            return Vec::new();
        }
        // In the sum that has the first one, which may be all that the term is used for.
        let is_second = |graph: &Graph, edit: &Edit| {
            let is_there = match edit.site {
                Site::Use { user, .. } => matches!(graph.op(user), Op::Sum(_)),
                Site::Value(_) => true,
                _ => false,
            };
            is_there && matches!(edit.patch, Patch::Scaled(_)) && edit.target(graph) == second
        };
        for first in number::first_of_two(self, both) {
            let found = self.beside(first, &|search| {
                let mut edits = proposed::with_number(&search.graph, &search.program, search.case.problem);
                edits.retain(|edit| is_second(&search.graph, edit));
                let mut found = search.with_numbers(&edits);
                // Two numbers that nobody would have typed fit what is none of both.
                found.retain(|one| !one.edits.iter().any(Edit::is_fitted));
                found
            });
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }
}
