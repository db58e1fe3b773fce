//! Two changes at once.

use super::changes::{Change, Part};
use super::looks::Look;
use super::{Candidate, Search};
use crate::judge::diagnose::NEEDED;
use crate::parallel;

/// Channels that one of two changes may explain on its own, and positions of them.
const PARTS: usize = 8;
const WHOLE: usize = 256;
/// The most changes that hold for some channels.
const HELD: usize = 8;

impl Search<'_> {
    /// Pairs of which one explains some channels on its own, as where the other is about batches, channels or groups.
    pub(super) fn partly(&self) -> Vec<Candidate> {
        let channels = &self.case.problem.judged_channels;
        let len = WHOLE.min(self.case.problem.shape.seqlen);
        // The worst of each batch, and others.
        let is_first_of_batch = |at: usize| {
            let batch = |i: usize| channels[self.order[i]].0;
            (0..at).all(|earlier| batch(earlier) != batch(at))
        };
        let (mut rows, others): (Vec<usize>, Vec<usize>) =
            (0..self.order.len()).partition(|&at| is_first_of_batch(at));
        rows.truncate(PARTS / 2);
        let step = (others.len() / (PARTS - rows.len())).max(1);
        rows.extend(others.into_iter().step_by(step));
        let looks = rows.into_iter().take(PARTS).map(|at| Look { len, ..self.whole(self.order[at]) });
        let looks: Vec<Look> = looks.filter(|look| look.refutes(self.case, &self.base)).collect();
        let holds = |change: &&Change| {
            let variant = self.with(&[change]);
            looks.iter().any(|look| !look.refutes(self.case, &variant))
        };
        let of_structure = self.structure();
        let known: Vec<&Change> = self.around.iter().chain(&self.catalogue).collect();
        let changes: Vec<&Change> = known.iter().copied().chain(&of_structure).collect();
        let held = parallel::filter_map(&changes, &|change| Some(*change).filter(holds));
        held.iter().take(HELD).flat_map(|one| self.pairs(&[one], &known, true)).collect()
    }

    /// Pairs of one and the other that no look refutes, with the specified epilogue or, beside another form, with
    /// one that is fitted. With `any`, also those that read an input in another place.
    pub(super) fn pairs(&self, ones: &[&Change], others: &[&Change], any: bool) -> Vec<Candidate> {
        let same = std::ptr::eq(ones.as_ptr(), others.as_ptr());
        let pair = |i: usize| {
            let one = ones[i];
            let from = if same { i + 1 } else { 0 };
            // Beside a part of the formula the inputs are taken to be read right.
            let is_tried = move |other: &&&Change| {
                let misread = matches!(other.part, Part::Place(_));
                one.part != other.part && (any || one.part == Part::Formula || !misread)
            };
            others[from..].iter().filter(is_tried).flat_map(move |other| {
                let variant = self.with(&[one, other]);
                let start = || Candidate { changes: vec![one.clone(), (*other).clone()], variant };
                if !self.is_refuted(&variant) {
                    vec![start()]
                } else if one.part == Part::Formula && !matches!(other.part, Part::Place(_) | Part::UValue) {
                    self.epilogues(&start(), true)
                } else {
                    Vec::new()
                }
            })
        };
        // Each change has to be needed.
        let needed = |i: usize| pair(i).filter(|candidate| self.is_needed(candidate)).collect::<Vec<_>>();
        parallel::each(ones.len(), &needed).into_iter().flatten().collect()
    }

    pub(super) fn is_needed(&self, candidate: &Candidate) -> bool {
        let whole = self.fit(&candidate.variant, true);
        let needed = |left_out: usize| {
            let others = candidate.changes.iter().enumerate().filter(|(i, _)| *i != left_out);
            let without = self.with(&others.map(|(_, change)| change).collect::<Vec<_>>());
            whole.residual <= NEEDED * self.fit(&without, false).residual
        };
        whole.explains() && (0..candidate.changes.len()).all(needed)
    }
}
