//! The longer search, for what takes a second or more: what is wrong in some channels or at some places alone, several changes
//! at once, and other formulas beside them.

use rayon::prelude::*;

use super::b_bar::Readouts;
use super::changes::{Change, Part};
use super::looks::Look;
use super::together::Together;
use super::{BEYOND, Candidate, Explanation, FEW, FIRSTS, Outcome, PAIRS, Search, asked};
use super::{b_bar, below_limit, changes, chunks, epilogue, finder, scans, structure};
use crate::judge::faults::around::NO_RESETS;
use crate::judge::faults::variant::Variant;

impl Search<'_> {
    /// What takes a second or two.
    pub fn thorough(&self) -> Outcome {
        // A few wrong elements are no other formula.
        let failing =
            self.looks.first().map_or(0, |look| self.whole(look.row).failures(self.case, &self.base));
        if failing < FEW {
            return Outcome::Nothing;
        }
        let of_some = self.in_some_channels();
        if !matches!(of_some, Outcome::Nothing) {
            return of_some;
        }
        let base = Candidate { changes: Vec::new(), variant: self.base };
        let is_of_formula =
            |change: &&Change| matches!(change.part, Part::Formula | Part::ABar | Part::BBar | Part::BValue);
        let forms: Vec<&Change> = self.catalogue.iter().filter(is_of_formula).collect();
        let around: Vec<&Change> = self.around.iter().collect();
        let starts = forms.iter().copied().filter(|change| change.part == Part::Formula);
        let starts = starts.chain(self.around.iter().filter(|change| change.is_statement));
        let starts: Vec<Candidate> = starts.map(|change| self.alone(change)).collect();
        // The likelier ones come first.
        let pairs = PAIRS / (BEYOND * self.case.problem.shape.dstate).max(1);
        let count = (0..around.len()).take_while(|count| count * count / 2 <= pairs).count();
        let together = Together::new(self, self.beside_others());
        let of_together = |propose: fn(&Together) -> Vec<Candidate>| {
            together.as_ref().map_or(Vec::new(), |together| self.needed(propose(together)))
        };
        // What is not put together of pieces is computed as a whole, as far as that goes.
        let bidirectional = self.base.bidirectional;
        let by_hand =
            |propose: &dyn Fn() -> Vec<Candidate>| if together.is_some() { Vec::new() } else { propose() };
        self.first(&[
            &|| self.resets().into_iter().collect(),
            &|| self.in_one_scan(),
            &|| self.beyond_limits(),
            &|| self.in_some_states(),
            &|| self.at_some_positions(),
            &|| of_together(|together| together.pairs()),
            &|| by_hand(&|| self.pairs(&forms, &around, false)),
            &|| if bidirectional { by_hand(&|| self.partly()) } else { self.partly() },
            &|| self.held().par_iter().flat_map_iter(|start| self.late(start)).collect(),
            &|| self.after_first_item(),
            &|| below_limit::find(self).into_iter().collect(),
            &|| {
                let readouts = Readouts::new(self, &self.base, b_bar::BEGINNING, true);
                let begun = b_bar::find(self, &base, &readouts);
                begun.par_iter().flat_map_iter(|start| self.late(start)).collect()
            },
            &|| {
                let readouts = Readouts::new(self, &self.base, b_bar::WHOLE, true);
                let mut starts = vec![base.clone()];
                starts.extend(epilogue::alone(self.case.problem).iter().map(|change| self.alone(change)));
                starts
                    .into_par_iter()
                    .flat_map_iter(|start| b_bar::simplest(self, b_bar::find(self, &start, &readouts)))
                    .collect()
            },
            &|| {
                let mut starts = scans::transitions();
                starts.extend(self.around.iter().filter(|change| change.is_statement).cloned());
                starts
                    .into_par_iter()
                    .flat_map_iter(|change| self.b_bars(&self.alone(&change), true))
                    .collect()
            },
            &|| starts.par_iter().flat_map_iter(|start| self.numbers(start)).collect(),
            &|| of_together(|together| together.with_numbers()),
            &|| of_together(|together| together.with_later_ones()),
            &|| of_together(|together| together.with_formulas()),
            &|| {
                let begun = together.as_ref().map_or(Vec::new(), Together::beginnings);
                begun.par_iter().flat_map_iter(|start| self.late(start)).collect()
            },
            &|| by_hand(&|| self.pairs(&around[..count], &around[..count], true)),
        ])
    }

    /// A state that is set to 0 at a few positions, each where the one before leaves off.
    fn resets(&self) -> Option<Candidate> {
        let mut found = NO_RESETS;
        for at in 0..found.len() {
            let variant = Variant { resets: found, ..self.base };
            let Some((first, _)) = self.first_failure(&variant) else { break };
            // Nothing is carried to the first position, and what fails behind one fails for another reason.
            if first == 0 || found.contains(&first) || self.base.bidirectional {
                return None;
            }
            found[at] = first;
        }
        let at: Vec<String> = found.iter().filter(|at| **at != usize::MAX).map(usize::to_string).collect();
        let what = format!("the state is set to 0 at {}, and nowhere else", at.join(" and "));
        let change = Change::new(Part::Carry, "state-reset", what, move |v: &mut Variant| v.resets = found);
        let candidate = self.alone(&change);
        (!self.is_refuted(&candidate.variant)).then_some(candidate)
    }

    /// What is tried beside others, the likelier first.
    fn beside_others(&self) -> Vec<Change> {
        let (problem, form) = (self.case.problem, self.case.form);
        let mut all = structure::near(problem, form);
        all.extend(self.around.iter().chain(&self.catalogue).cloned());
        all.extend(structure::few(problem, form));
        asked(self.case, all)
    }

    /// Proposals that no look refutes, and of which each change is needed.
    fn needed(&self, proposed: Vec<Candidate>) -> Vec<Candidate> {
        let refuted = |candidate: &Candidate| {
            self.is_refuted(&candidate.variant)
                || self.long.iter().any(|look| look.refutes(self.case, &candidate.variant))
        };
        let held = proposed.into_par_iter().filter(|candidate| !refuted(candidate));
        held.filter(|candidate| self.is_needed(candidate)).collect()
    }

    /// Hypotheses that hold for the first positions.
    fn held(&self) -> Vec<Candidate> {
        let looks: Vec<Look> =
            self.looks.iter().map(|look| Look { len: look.len.min(BEYOND), ..*look }).collect();
        let changes =
            self.catalogue.par_iter().chain(&self.around).filter(|change| change.part != Part::Carry);
        let alone = changes.map(|change| self.alone(change));
        let mut held: Vec<Candidate> =
            alone.filter(|one| looks.iter().all(|look| !look.refutes(self.case, &one.variant))).collect();
        let base = Candidate { changes: Vec::new(), variant: self.base };
        for fitted in epilogue::fit(self.case, &looks, &self.base, false) {
            held.push(fitted.into_iter().fold(base.clone(), |start, change| self.joined(&start, change)));
        }
        let begun: Vec<Look> =
            self.long.iter().map(|look| Look { len: look.len.min(BEYOND), ..*look }).collect();
        let families = finder::families(self.case, &begun, &self.base);
        let scales = families.par_iter().filter(|family| !family.is_limit() && !family.is_of_carry());
        let found: Vec<Change> =
            scales.filter_map(|family| finder::find(self.case, (&begun, &[]), &self.base, family)).collect();
        held.extend(found.into_iter().map(|change| self.joined(&base, change)));
        held
    }

    /// Hypotheses that hold for the first item of the batch, beside a state that nobody has set to 0 after it.
    fn after_first_item(&self) -> Vec<Candidate> {
        let channels = &self.case.problem.judged_channels;
        let (first, others): (Vec<Look>, Vec<Look>) =
            self.long.iter().partition(|look| channels[look.row].0 == 0);
        let Some(later) = structure::starts_of_batch(self.case.problem) else { return Vec::new() };
        let is_right = |look: &Look| !look.refutes(self.case, &self.base);
        if first.is_empty() || others.is_empty() || first.iter().all(is_right) {
            return Vec::new();
        }
        let structure = self.structure();
        let changes = self.catalogue.par_iter().chain(&self.around).chain(&structure);
        let mut held: Vec<Change> = changes
            .filter(|change| first.iter().all(|look| !look.refutes(self.case, &self.alone(change).variant)))
            .cloned()
            .collect();
        let families = finder::families(self.case, &first, &self.base);
        let found = families
            .par_iter()
            .filter_map(|family| finder::find(self.case, (&first, &[]), &self.base, family));
        held.extend(found.collect::<Vec<_>>());
        held.extend(finder::clamp::find(self.case, &first, &self.base));
        held.extend(finder::thresholds(self.case, &first, &self.base));
        let alone = held.par_iter().map(|change| self.alone(change));
        // With two of which one is an epilogue, where one alone does not hold.
        let fitted = || -> Vec<Candidate> {
            let starts = self.catalogue.par_iter().chain(&self.around).map(|change| self.alone(change));
            let fit = |start: Candidate| -> Vec<Candidate> {
                let epilogues = epilogue::fit(self.case, &first, &start.variant, false);
                let join = |fitted: Vec<Change>| {
                    fitted.into_iter().fold(start.clone(), |whole, change| self.joined(&whole, change))
                };
                epilogues.into_iter().map(join).collect()
            };
            starts.flat_map_iter(fit).collect()
        };
        let starts: Vec<Candidate> = alone.chain(fitted()).collect();
        let joined = starts.par_iter().map(|start| self.joined(start, later.clone()));
        let holds = |candidate: &Candidate| {
            others.iter().all(|look| !look.refutes(self.case, &candidate.variant))
                && self.is_needed(candidate)
        };
        joined.filter(holds).collect()
    }

    /// What is wrong in some channels alone, where all others are right: one change that explains each of them.
    fn in_some_channels(&self) -> Outcome {
        let is_right = |row: usize| self.fit_of_rows(&[row], self.tensors, &self.base).share <= 1.0;
        let (right, wrong): (Vec<usize>, Vec<usize>) = self.order.iter().partition(|row| is_right(**row));
        if right.is_empty() || wrong.is_empty() {
            return Outcome::Nothing;
        }
        let seqlen = self.case.problem.shape.seqlen;
        let looks: Vec<Look> = wrong
            .iter()
            .take(FIRSTS)
            .map(|&row| {
                let whole = self.whole(row);
                let first = whole.first_failure(self.case, &self.base).unwrap_or(seqlen);
                Look { len: (first + BEYOND).min(seqlen), ..whole }
            })
            .collect();
        let structure = self.structure();
        let first = looks.iter().filter_map(|look| look.first_failure(self.case, &self.base)).min();
        let at_chunks = first.filter(|first| *first > 1).map_or(Vec::new(), |length| {
            let problem = self.case.problem;
            let later = structure::from_position(problem, length);
            [scans::chunked(length), chunks::at_chunks(problem, length), later].concat()
        });
        let changes = self.catalogue.iter().chain(&self.around).chain(&structure).chain(&at_chunks);
        let changes: Vec<&Change> = changes.collect();
        let place = changes::some_channels(self.case.problem, &wrong);
        let explains = |change: &&Change| {
            let variant = self.alone(change).variant;
            if looks.iter().any(|look| look.refutes(self.case, &variant)) {
                return None;
            }
            let fit = self.fit_of_rows(&wrong, self.tensors, &variant);
            let alone = Change {
                what: format!("{}; in {place} alone", change.what),
                is_statement: false,
                ..(*change).clone()
            };
            (fit.explains() && fit.tells).then(|| Explanation { changes: vec![alone], fit })
        };
        let found: Vec<Explanation> = changes.par_iter().filter_map(explains).collect();
        self.ranked(found)
    }

    /// What is wrong in one of two scans alone.
    pub(super) fn in_one_scan(&self) -> Vec<Candidate> {
        let structure = self.structure();
        let changes = self.catalogue.iter().chain(&self.around).chain(&structure);
        let all = structure::in_one_scan(self.case.problem, self.case.form, changes);
        let alone = all.par_iter().map(|change| self.alone(change));
        alone.filter(|candidate| !self.is_refuted(&candidate.variant)).collect()
    }
}
