//! Two edits in different channels, which some may both have: each is found in one channel, by itself or beside the other, and together
//! they have to explain every channel that fails.

use super::look::Looks;
use super::{Found, Search, part, said};
use crate::judge::diagnose::FEWEST_TOLD;
use crate::program::Program;
use crate::program::edit::Edit;
use crate::program::writing::Writing;
use crate::results::Diagnosis;

/// Channels in which an edit is looked for.
const TRIED: usize = 6;

/// Channels that have these edits and no others.
type Group<'e> = (&'e [Edit], Vec<usize>);

impl Search<'_> {
    /// Two edits without numbers, each with the channels that have it.
    pub(super) fn apart(&mut self) -> Option<Diagnosis> {
        let is_wrong = |row: &usize| part::is_wrong(self.case, &self.tensors, *row);
        let failing: Vec<usize> = self.order.iter().copied().filter(is_wrong).collect();
        for seed in spaced(&failing) {
            let Some(first) = self.in_channel(seed) else { continue };
            let (own, rest) = self.explained(&[first], &failing);
            if rest.is_empty() {
                continue;
            }
            self.look_at(rest.clone());
            let beside = self.beside(first, &Self::with_plain).into_iter().find(is_told);
            if let Some([first, second]) = beside.map(|found| found.edits).as_deref() {
                return self.said_apart(&[(&[*first], own), (&[*first, *second], rest)]);
            }
            for other in spaced(&rest) {
                let Some(second) = self.in_channel(other) else { continue };
                let (alone, left) = self.explained(&[second], &rest);
                let (both, left) = self.explained(&[first, second], &left);
                if left.is_empty() {
                    return self.said_apart(&[(&[first], own), (&[first, second], both), (&[second], alone)]);
                }
            }
        }
        None
    }

    /// The one edit that explains a channel.
    fn in_channel(&mut self, row: usize) -> Option<Edit> {
        self.look_at(vec![row]);
        self.with_plain().into_iter().find(is_told)?.edits.last().copied()
    }

    fn look_at(&mut self, rows: Vec<usize>) {
        self.order = rows;
        self.looks = Looks::new(self.case, &self.tensors, &self.order, &self.graph, &self.specified);
    }

    /// The channels that are as edits make them, and the others.
    fn explained(&mut self, edits: &[Edit], rows: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let program = self.edited(edits);
        let split = rows.iter().partition(|row| {
            self.order = vec![**row];
            self.fit(&program, true).explains()
        });
        self.forget();
        split
    }

    fn edited(&mut self, edits: &[Edit]) -> Program {
        let specified = self.specified.clone();
        edits.iter().fold(specified, |program, edit| edit.apply(&mut self.graph, &program))
    }

    /// Puts two edits into words, each with the channels that have it, where a short rule is true of these.
    fn said_apart(&mut self, groups: &[Group]) -> Option<Diagnosis> {
        let mut residual = 0.0f64;
        for (edits, rows) in groups.iter().filter(|(_, rows)| !rows.is_empty()) {
            let program = self.edited(edits);
            self.order.clone_from(rows);
            residual = residual.max(self.fit(&program, false).residual);
            self.forget();
        }
        let mut all: Vec<Edit> = Vec::new();
        for edit in groups.iter().flat_map(|(edits, _)| *edits) {
            if !all.contains(edit) {
                all.push(*edit);
            }
        }
        let mut said: Vec<Diagnosis> = Vec::new();
        for edit in all {
            let with = || groups.iter().filter(|(edits, _)| edits.contains(&edit));
            let mut has_it = vec![false; self.case.problem.judged_channels.len()];
            with().flat_map(|(_, rows)| rows).for_each(|row| has_it[*row] = true);
            let described = part::described(self.case, &has_it, "in some of the channels that fail")?;
            // In a program with the other edit it is told beside that.
            let (before, _) = with().next_back()?;
            let before: Vec<Edit> = before.iter().copied().take_while(|other| *other != edit).collect();
            let before = self.edited(&before);
            let written = (Writing::Specified, &before);
            let one = said::diagnosis(&mut self.graph, &before, written, &[edit], residual);
            self.forget();
            said.push(if described.is_empty() { one } else { one.in_part(&described) });
        }
        let join = |of: fn(&Diagnosis) -> &str, with| said.iter().map(of).collect::<Vec<_>>().join(with);
        let (name, what) = (join(|one| &one.name, " + "), join(|one| &one.what, "; "));
        let edits = said.into_iter().flat_map(|one| one.edits).collect();
        Some(Diagnosis { edits, ..Diagnosis::new(name, what, residual) })
    }
}

/// Whether more is told than a few elements, which many edits would explain.
fn is_told(found: &Found) -> bool {
    found.writing == Writing::Specified && found.fit.told >= FEWEST_TOLD
}

/// Some of these, as far apart as can be.
fn spaced(rows: &[usize]) -> Vec<usize> {
    rows.iter().copied().step_by(rows.len().div_ceil(TRIED).max(1)).collect()
}
