//! The longer search, for what takes a second or more: what is wrong in some channels or at some places alone, several changes
//! at once, and other formulas beside them.

use super::b_bar::Readouts;
use super::changes::{Change, Part};
use super::looks::Look;
use super::together::Together;
use super::{BEYOND, Candidate, Explanation, FEW, FIRSTS, Outcome, PAIRS, Search, asked};
use super::{b_bar, below_limit, changes, chunks, epilogue, finder, scans, structure};
use crate::judge::faults::around::NO_RESETS;
use crate::judge::faults::variant::Variant;
use crate::parallel;

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
            &|| parallel::flat_map(&self.held(), &|start| self.late(start)),
            &|| self.after_first_item(),
            &|| below_limit::find(self).into_iter().collect(),
            &|| {
                let readouts = Readouts::new(self, &self.base, b_bar::BEGINNING, true);
                parallel::flat_map(&b_bar::find(self, &base, &readouts), &|start| self.late(start))
            },
            &|| {
                let readouts = Readouts::new(self, &self.base, b_bar::WHOLE, true);
                let mut starts = vec![base.clone()];
                starts.extend(epilogue::alone(self.case.problem).iter().map(|change| self.alone(change)));
                let simplest = |start: &_| b_bar::simplest(self, b_bar::find(self, start, &readouts));
                parallel::flat_map(&starts, &simplest)
            },
            &|| {
                let mut starts = scans::transitions();
                starts.extend(self.around.iter().filter(|change| change.is_statement).cloned());
                parallel::flat_map(&starts, &|change| self.b_bars(&self.alone(change), true))
            },
            &|| parallel::flat_map(&starts, &|start| self.numbers(start)),
            &|| of_together(|together| together.with_numbers()),
            &|| of_together(|together| together.with_later_ones()),
            &|| of_together(|together| together.with_formulas()),
            &|| {
                let begun = together.as_ref().map_or(Vec::new(), Together::beginnings);
                parallel::flat_map(&begun, &|start| self.late(start))
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
        parallel::filter(proposed, &|candidate| !refuted(candidate) && self.is_needed(candidate))
    }

    /// Hypotheses that hold for the first positions.
    fn held(&self) -> Vec<Candidate> {
        let looks: Vec<Look> =
            self.looks.iter().map(|look| Look { len: look.len.min(BEYOND), ..*look }).collect();
        let holds = |one: &Candidate| looks.iter().all(|look| !look.refutes(self.case, &one.variant));
        let mut held = parallel::filter_map(&self.known(), &|change| {
            (change.part != Part::Carry).then(|| self.alone(change)).filter(holds)
        });
        let base = Candidate { changes: Vec::new(), variant: self.base };
        for fitted in epilogue::fit(self.case, &looks, &self.base, false) {
            held.push(fitted.into_iter().fold(base.clone(), |start, change| self.joined(&start, change)));
        }
        let begun: Vec<Look> =
            self.long.iter().map(|look| Look { len: look.len.min(BEYOND), ..*look }).collect();
        let families = finder::families(self.case, &begun, &self.base);
        let find = |family: &finder::Family| {
            let is_scale = !family.is_limit() && !family.is_of_carry();
            is_scale.then(|| finder::find(self.case, (&begun, &[]), &self.base, family))?
        };
        let found = parallel::filter_map(&families, &find);
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
        let changes = [self.known(), structure.iter().collect()].concat();
        let mut held = parallel::filter_map(&changes, &|change| {
            let alone = self.alone(change).variant;
            first.iter().all(|look| !look.refutes(self.case, &alone)).then(|| (*change).clone())
        });
        let families = finder::families(self.case, &first, &self.base);
        held.extend(parallel::filter_map(&families, &|family| {
            finder::find(self.case, (&first, &[]), &self.base, family)
        }));
        held.extend(finder::clamp::find(self.case, &first, &self.base));
        held.extend(finder::thresholds(self.case, &first, &self.base));
        // With two of which one is an epilogue, where one alone does not hold.
        let fitted = || -> Vec<Candidate> {
            let fit = |change: &&Change| -> Vec<Candidate> {
                let start = self.alone(change);
                let epilogues = epilogue::fit(self.case, &first, &start.variant, false);
                let join = |fitted: Vec<Change>| {
                    fitted.into_iter().fold(start.clone(), |whole, change| self.joined(&whole, change))
                };
                epilogues.into_iter().map(join).collect()
            };
            parallel::flat_map(&self.known(), &fit)
        };
        let alone = held.iter().map(|change| self.alone(change));
        let starts: Vec<Candidate> = alone.chain(fitted()).collect();
        let holds = |candidate: &Candidate| {
            others.iter().all(|look| !look.refutes(self.case, &candidate.variant))
                && self.is_needed(candidate)
        };
        let joined = |start: &Candidate| Some(self.joined(start, later.clone())).filter(holds);
        parallel::filter_map(&starts, &joined)
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
            let tells = fit.tells && !fit.by_place;
            (fit.explains() && tells).then(|| Explanation { changes: vec![alone], fit })
        };
        self.ranked(parallel::filter_map(&changes, &explains))
    }

    /// What is wrong in one of two scans alone.
    pub(super) fn in_one_scan(&self) -> Vec<Candidate> {
        let structure = self.structure();
        let changes = self.catalogue.iter().chain(&self.around).chain(&structure);
        self.unrefuted_alone(&structure::in_one_scan(self.case.problem, self.case.form, changes))
    }
}
