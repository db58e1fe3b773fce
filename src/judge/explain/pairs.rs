//! Two edits: the second is looked for in the program that has the first, around where that fails first.

use super::look::Looks;
use super::{Find, Found, SAME, Search, number};
use crate::judge::diagnose::NEEDED;
use crate::program::edit::{Edit, Patch};
use crate::program::proposed;
use crate::tensor::TensorName;

/// Edits that a second one is tried with, and the most of the error that they may leave.
const FIRSTS: usize = 32;
/// Edits that compute the same in the looks, of which others are not tried.
const ALIKE: usize = 3;
/// First edits beside which conditions on values are tried.
const LIKELIEST: usize = 6;
const WORTH: f64 = 0.97;

impl<'a> Search<'a> {
    /// Two edits, the first of which leaves less of the error than the specified program does.
    pub(super) fn with_two(&mut self) -> Vec<Found> {
        // NaN agrees with too much that has two edits.
        let is_finite = |name: &TensorName| self.case.got[*name].values.iter().all(|got| got.is_finite());
        // A last state alone is too little for two.
        if !self.tensors.iter().all(is_finite) || !self.tensors.contains(&TensorName::Out) {
            return Vec::new();
        }
        let specified = self.specified.clone();
        let all = self.looks.left(self.case, &self.graph, &specified);
        let mut firsts: Vec<(f64, Edit)> = Vec::new();
        let numbers = proposed::with_number(&self.graph, &specified, self.case.problem);
        let is_first = |edit: &Edit| !matches!(edit.patch, Patch::Plus(..)) && self.asks(edit);
        let factors: Vec<Edit> = numbers.into_iter().filter(is_first).collect();
        let mut candidates = proposed::plain(&self.graph, &specified, self.case.problem);
        candidates.retain(|edit| self.asks(edit));
        self.sort(&mut candidates);
        let found: Vec<Edit> = factors.into_iter().flat_map(|edit| number::least(self, edit)).collect();
        for edit in candidates.into_iter().chain(found) {
            if self.is_over() {
                break;
            }
            let program = edit.apply(&mut self.graph, &specified);
            let left = self.looks.left(self.case, &self.graph, &program);
            self.forget();
            // Edits that compute the same in the looks leave as much; elsewhere they may differ.
            let alike = firsts.iter().filter(|(other, _)| (other - left).abs() <= SAME * left).count();
            let is_new = alike < ALIKE;
            if left < WORTH * all && is_new {
                firsts.push((left, edit));
            }
        }
        // Of those that leave as much the cheapest comes first.
        let rank = |left: f64| (left / (SAME * all)).round();
        firsts.sort_by(|a, b| {
            let by_cost = a.1.cost().total_cmp(&b.1.cost());
            rank(a.0).total_cmp(&rank(b.0)).then(by_cost)
        });
        firsts.truncate(FIRSTS);
        let firsts: Vec<Edit> = firsts.into_iter().map(|(_, edit)| edit).collect();
        // The cheapest seconds of all firsts come before longer searches beside any.
        let stages: [(Find<'_, 'a>, usize); 4] = [
            (&Search::with_plain, FIRSTS),
            (&Search::at_places_from_there, FIRSTS),
            (&Search::with_number, FIRSTS / 2),
            (&Search::at_values, LIKELIEST),
        ];
        for (find, count) in stages {
            for first in firsts.iter().take(count) {
                if self.is_over() {
                    return Vec::new();
                }
                let found = self.beside(*first, find);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    /// One edit more beside a first one; each of the two is needed.
    pub(super) fn beside(&mut self, first: Edit, find: Find<'_, 'a>) -> Vec<Found> {
        let (specified, nodes) = (self.specified.clone(), self.nodes);
        self.program = first.apply(&mut self.graph, &specified);
        self.nodes = self.graph.len();
        self.edits = vec![first];
        let after = Looks::after(self.case, &self.tensors, &self.order, (&self.graph, &self.program));
        let usual = std::mem::replace(&mut self.looks, after);
        let mut found = find(self);
        self.looks = usual;
        if !found.is_empty() {
            let alone = self.fit(&self.program.clone(), false).residual;
            (self.program, self.nodes) = (specified, nodes);
            found.retain(|one| {
                // An index that is moved twice is another move.
                let is_again = one.edits.last().is_some_and(|second| {
                    matches!(second.patch, Patch::At(..)) && second.patch == first.patch
                });
                if is_again {
                    return false;
                }
                let second = one.edits.last().filter(|edit| edit.is_of(nodes));
                let others = second.map(|edit| self.left_by(*edit));
                let least = others.into_iter().chain([alone]).fold(f64::INFINITY, f64::min);
                one.fit.residual <= NEEDED * least
            });
        } else {
            (self.program, self.nodes) = (specified, nodes);
        }
        self.edits.clear();
        self.forget();
        found
    }

    /// One edit more at some positions, where all before the first wrong one are right.
    fn at_places_from_there(&mut self) -> Vec<Found> {
        if !self.looks.begins_late() {
            return Vec::new();
        }
        self.first(&[&Self::at_places, &Self::scaled_at_places])
    }

    /// Residual of one edit alone.
    fn left_by(&mut self, edit: Edit) -> f64 {
        let program = edit.apply(&mut self.graph, &self.specified);
        let residual = self.fit(&program, false).residual;
        self.forget();
        residual
    }
}
