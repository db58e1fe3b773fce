//! Other forms and other ways of writing in the place of the specified program.

use super::{BESIDE, EDIT_WORK, Find, Found, Search, said};
use crate::program::edit::Patch;
use crate::program::writing::{Group, Shuffled, Writing};
use crate::program::{Function, proposed};

/// Different positions at which channels have to leave the range where a way of writing does: one may have any reason.
const POSITIONS: usize = 3;

impl<'a> Search<'a> {
    /// Other forms, and one edit of other ways of writing; in chunks of usual lengths, too, where nothing tells their length.
    pub(super) fn written_otherwise(&mut self, find: Find<'_, 'a>, in_usual_chunks: bool) -> Vec<Found> {
        // What is likelier where one place is wrong has the other half.
        let most = self.case.work.end_of_stage(EDIT_WORK / 2).min(self.most);
        let of_stage = std::mem::replace(&mut self.most, most);
        let all = self.all_writings(in_usual_chunks);
        let found = self.of_writings(find, all);
        self.most = of_stage;
        found
    }

    /// φ-functions of another form's B̄ that are series, cut after some terms.
    fn with_cut_series(&mut self) -> Vec<Found> {
        let mut edits = proposed::plain(&self.graph, &self.program, self.case.problem);
        edits.retain(|edit| matches!(edit.patch, Patch::Instead(Some(Function::Series(1.., _)))));
        self.tried(edits)
    }

    /// Guards of a divisor alone: what reads the end of the sequence takes long, and is written with one.
    fn with_guard(&mut self) -> Vec<Found> {
        let mut edits = proposed::plain(&self.graph, &self.program, self.case.problem);
        edits.retain(|edit| matches!(edit.patch, Patch::Plus(_, by) if (0.0..1.0).contains(&by.value())));
        self.tried(edits)
    }

    /// Another form as a whole, which says more than any edit that computes the same.
    pub(super) fn other_forms(&mut self) -> Vec<Found> {
        let is_whole = |one: &Writing| matches!(one, Writing::Other { a_bar: Some(_), b_bar: Some(_) });
        let forms = Writing::others(self.case.form).into_iter().filter(is_whole).collect();
        self.of_writings(&|_| Vec::new(), forms)
    }

    fn all_writings(&mut self, in_usual_chunks: bool) -> Vec<Writing> {
        let form = self.case.form;
        let chunks = self
            .looks
            .chunks(self.case.problem.shape.seqlen, in_usual_chunks)
            .into_iter()
            .map(Writing::Chunked);
        let groups = Group::ALL.into_iter().map(Writing::Grouped);
        let sums = [true, false].map(|divided| Writing::RunningSums { divided });
        let sums = sums.into_iter().chain([Writing::SumsFromEnd]);
        let others = groups.chain([Writing::Inverses, Writing::Stages]).chain(chunks).chain(sums);
        let seqlen = self.case.problem.shape.seqlen;
        let shuffled = self.looks.first.map_or_else(Vec::new, |first| Shuffled::beginning_at(first, seqlen));
        Writing::others(form).into_iter().chain(shuffled).chain(others).collect()
    }

    fn of_writings(&mut self, find: Find<'_, 'a>, all: Vec<Writing>) -> Vec<Found> {
        let (form, nodes) = (self.case.form, self.nodes);
        let mut found = Vec::new();
        for writing in all {
            if self.is_over() {
                break;
            }
            if self.as_specified && !writing.is_a_mistake() {
                continue;
            }
            let Some(program) = writing.program(form, self.case.problem, &mut self.graph) else {
                self.graph.truncate(nodes);
                continue;
            };
            let program = self.along(program);
            (self.program, self.writing, self.nodes) = (program.clone(), writing, self.graph.len());
            if writing.is_a_mistake() {
                let is_asked = self.case.work.asks_for_all()
                    || said::writing(writing, &self.specified)
                        .is_some_and(|(name, _)| self.case.work.asks(&name));
                if !is_asked {
                    (self.program, self.writing, self.nodes) =
                        (self.specified.clone(), Writing::Specified, nodes);
                    self.forget();
                    continue;
                }
                found.extend(self.explained_by(&program, writing.reads_far(), 1));
                if let (Writing::Other { a_bar: None, .. }, true) = (writing, found.is_empty()) {
                    found.extend(self.with_cut_series());
                }
            } else {
                let looks = self.looks.at_start(self.case, &self.tensors, &self.order);
                let usual = std::mem::replace(&mut self.looks, looks);
                if writing.leaves_the_range() {
                    let found_at = self.explained_by(&program, true, 0);
                    found.extend(found_at.filter(|one| one.fit.positions >= POSITIONS));
                }
                found.extend(if writing == Writing::SumsFromEnd { self.with_guard() } else { find(self) });
                self.looks = usual;
            }
            (self.program, self.writing, self.nodes) = (self.specified.clone(), Writing::Specified, nodes);
            self.forget();
        }
        found.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
        let most = found.first().map_or(f64::INFINITY, |one| one.cost() + BESIDE);
        found.retain(|one| one.cost() <= most);
        found
    }
}
