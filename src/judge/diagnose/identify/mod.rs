//! What a failed recording computes, identified and not looked up: changes to what stands around the formula, whose numbers
//! are found in the data, and B̄ itself by least squares over terms c·Δᵖ·f(z).
//!
//! Every hypothesis becomes a [`Variant`], and is accepted by the same rule as a fault model ([module docs](super)): all
//! elements within the variant's bound, and at most a quarter of the error left. A fit only proposes. Hypotheses are tried in
//! the order of how much they change, and the search ends with the first kind that explains:
//!
//! 1. one change;
//! 2. one change, or a fault model, with what is linear: the factors of readout and skip, for each kind of gate;
//! 3. one number that is found, alone or beside another form;
//! 4. another B̄;
//! 5. two changes, each put together of what they change on their own, with every epilogue, with a number that is found, or
//!    with one change more that shows later; and what holds up to some position with what may go wrong from there on.
//!
//! Of what explains a case equally well, all is named.

mod b_bar;
mod below_limit;
mod changes;
mod chunks;
mod complex;
mod counts;
mod epilogue;
mod finder;
mod guards;
mod last_state;
mod layout;
mod looks;
pub mod numbers;
mod pairs;
mod partial_sums;
mod places;
mod quotients;
mod scans;
mod somewhere;
mod structure;
mod thorough;
mod together;

use std::borrow::Cow;

use self::b_bar::Readouts;
use self::changes::{Change, Part};
use self::looks::Look;
use super::{Alternative, Case, Fit, fit};
use crate::formula::Form;
use crate::judge::faults::Fault;
use crate::judge::faults::catalogue::{self, Entry};
use crate::judge::faults::only::Only;
use crate::judge::faults::variant::{Tail, Variant};
use crate::parallel;
use crate::problem::Problem;
use crate::results::Diagnosis;
use crate::sorted;
use crate::tensor::TensorName;

/// Failing elements of a channel that are worth a longer search.
const FEW: usize = 4;
/// Positions × states up to a failure that is far off.
const FAR: usize = 20_000;
/// Blocks that are tried there, and the length of the least.
const BLOCKS: usize = 4;
const LEAST_BLOCK: usize = 32;
/// Positions of a first look beyond the first failure.
const BEYOND: usize = 4;
/// What is worse by this factor than the best is not named beside it.
const BESIDE: f64 = 8.0;
/// What is as good as the best: the likelier one is named first.
const AS_GOOD: f64 = 1.5;
/// Positions × states that all pairs of changes around the formula may take.
const PAIRS: usize = 250_000;
/// Positions × states of a longer look, and the channels that it is at.
const LONG: usize = 3072;
const ROWS: usize = 16;
/// Positions × states that a first look may take.
const LOOK: usize = 2048;
/// Changes that an epilogue may make one of: more of them fit what is simpler.
const MOST: usize = 3;
/// Batches that are looked at first.
const FIRSTS: usize = 3;
/// Hypotheses of one kind that are tried on every element.
const TRIED: usize = 24;
/// Positions × states that more of them may take, where channels are short.
const EVERY: usize = 500_000;

/// What a search says.
pub(super) enum Outcome {
    Nothing,
    /// The same, and nothing was found that what is looked at of the output allows.
    Refuted,
    /// A statement of the recording accepts it: that is named where statements are tried.
    Elsewhere,
    Explained(Vec<Explanation>),
}

/// Changes that explain a case together.
#[derive(Clone)]
pub(super) struct Explanation {
    changes: Vec<Change>,
    pub fit: Fit,
}

impl Explanation {
    /// By fault models.
    pub fn of(entries: &[&'static Entry], fit: Fit) -> Self {
        Explanation { changes: entries.iter().copied().map(Change::of).collect(), fit }
    }

    pub fn named(&self) -> Diagnosis {
        let join = |text: fn(&Change) -> &str, with: &str| {
            self.changes.iter().map(text).collect::<Vec<_>>().join(with)
        };
        Diagnosis {
            name: join(|change| &change.name, " + "),
            what: join(|change| &change.what, "; "),
            residual: self.fit.residual,
        }
    }
}

/// A search for what explains some tensors of a case.
pub(super) struct Search<'a> {
    case: &'a Case<'a>,
    tensors: &'a [TensorName],
    order: &'a [usize],
    base: Variant,
    looks: Vec<Look>,
    /// More channels for longer: what is found in them shows in few positions.
    long: Vec<Look>,
    /// Changes to what is around the formula.
    around: Vec<Change>,
    /// The fault models, but for gates and skips, which are fitted.
    catalogue: Vec<Change>,
}

/// A hypothesis.
#[derive(Clone)]
struct Candidate {
    changes: Vec<Change>,
    variant: Variant,
}

/// Every change that is tried alone and has no number that is found in the data; of chunks and blocks those of `length` positions,
/// and of clipped outputs one.
pub(super) fn alternatives(problem: &Problem, form: Form, length: usize) -> Vec<Alternative> {
    let applying = catalogue::ALL.iter().filter(|entry| entry.fault.applies(form, problem)).map(Change::of);
    let mut all: Vec<Change> = applying.chain(changes::all(problem, form)).collect();
    all.extend(structure::all(problem, form));
    let of_both = all.len();
    all.extend(structure::asymptotes(form));
    all.extend(structure::finishes(0.25));
    all.extend(guards::otherwise(form));
    all.extend(last_state::beside(problem, form));
    all.extend(epilogue::beside_others(problem));
    let (chunked, in_one_direction) = (scans::chunked(length), scans::chunked_in_one_direction(form, length));
    all.extend([chunked, in_one_direction, chunks::at_chunks(problem, length)].concat());
    all.extend(structure::from_position(problem, length));
    let of_one_scan = structure::in_one_scan(problem, form, all[..of_both].iter());
    all.extend(of_one_scan);
    let alternative = |change: Change| {
        let mut variant = Variant::specified(form);
        (change.change)(&mut variant);
        Alternative { name: change.name, what: change.what, variant, change: change.change }
    };
    all.into_iter().map(alternative).collect()
}

/// Those of these that are looked for.
fn asked(case: &Case, mut changes: Vec<Change>) -> Vec<Change> {
    changes.retain(|change| case.work.asks(&change.name));
    changes
}

impl<'a> Search<'a> {
    pub fn new(
        case: &'a Case<'a>,
        tensors: &'a [TensorName],
        order: &'a [usize],
        applying: impl Iterator<Item = &'static Entry>,
    ) -> Self {
        let base = Variant::specified(case.form);
        let of_catalogue = |entry: &'static Entry| {
            let by_fit = matches!(entry.fault, Fault::Skip(_) | Fault::Gate(_));
            (!by_fit && case.work.asks(entry.name)).then(|| Change::of(entry))
        };
        let mut search = Search {
            case,
            tensors,
            order,
            base,
            looks: Vec::new(),
            long: Vec::new(),
            around: asked(case, changes::all(case.problem, case.form)),
            catalogue: applying.filter_map(of_catalogue).collect(),
        };
        search.looks = search.first_looks(&base);
        let shape = case.problem.shape;
        if !search.looks.is_empty() {
            let rows = &order[..order.len().min(ROWS)];
            let len = (LONG / (rows.len() * shape.dstate).max(1)).max(BEYOND).min(shape.seqlen);
            search.long = rows.iter().map(|&row| Look { len, ..search.whole(row) }).collect();
        }
        search
    }

    fn whole(&self, row: usize) -> Look {
        Look { row, channel: self.case.problem.judged_channels[row], len: self.case.problem.shape.seqlen }
    }

    /// The first failure under a variant, among the rows that are looked at.
    fn first_failure(&self, variant: &Variant) -> Option<(usize, usize)> {
        let rows = self.order.iter().take(4);
        let failures =
            rows.filter_map(|&row| Some((self.whole(row).first_failure(self.case, variant)?, row)));
        failures.min()
    }

    /// Up to where a variant fails first and a little further, in the channel where that is, in the worst one, and in others.
    fn first_looks(&self, variant: &Variant) -> Vec<Look> {
        if !self.tensors.contains(&TensorName::Out) {
            return Vec::new();
        }
        let shape = self.case.problem.shape;
        let (first, row) = self.first_failure(variant).unwrap_or((0, self.order[0]));
        let most = LOOK / shape.dstate.max(1);
        // A look that shows no failure refutes nothing.
        if first > most {
            return Vec::new();
        }
        let len = (first + BEYOND).min(shape.seqlen);
        let channels = &self.case.problem.judged_channels;
        let mut rows = vec![row];
        let other_batch = self.order.iter().find(|&&other| channels[other].0 != channels[row].0);
        let others = self.order.iter().take(1).chain(other_batch).chain(self.order.iter().skip(1));
        for &other in others {
            if rows.len() < 3 && !rows.contains(&other) {
                rows.push(other);
            }
        }
        let short = len.min((LOOK / 8 / shape.dstate.max(1)).max(BEYOND));
        rows.into_iter()
            .enumerate()
            .map(|(i, row)| Look { len: if i == 0 { len } else { short }, ..self.whole(row) })
            .collect()
    }

    /// Channels that differ: the worst of each batch first.
    fn spread(&self) -> impl Iterator<Item = usize> {
        let channels = &self.case.problem.judged_channels;
        let is_first_of_batch = |at: &usize| {
            let batch = |i: usize| channels[self.order[i]].0;
            (0..*at).all(|earlier| batch(earlier) != batch(*at))
        };
        let (firsts, others): (Vec<usize>, Vec<usize>) = (0..self.order.len()).partition(is_first_of_batch);
        firsts.into_iter().take(FIRSTS).chain(others).map(|at| self.order[at])
    }

    fn is_refuted(&self, variant: &Variant) -> bool {
        self.looks.iter().any(|look| look.refutes(self.case, variant))
    }

    /// Changes on their own, where no look refutes them.
    fn unrefuted_alone(&self, changes: &[Change]) -> Vec<Candidate> {
        parallel::filter_map(changes, &|change| {
            Some(self.alone(change)).filter(|candidate| !self.is_refuted(&candidate.variant))
        })
    }

    /// All changes that may be alone.
    fn known(&self) -> Vec<&Change> {
        self.catalogue.iter().chain(&self.around).collect()
    }

    fn with(&self, changes: &[&Change]) -> Variant {
        let mut variant = self.base;
        // What runs another form first, as others change parts of that.
        let (forms, others): (Vec<&Change>, Vec<&Change>) =
            changes.iter().partition(|change| change.part == Part::Formula);
        forms.into_iter().chain(others).for_each(|change| (change.change)(&mut variant));
        variant
    }

    fn fit(&self, variant: &Variant, hasty: bool) -> Fit {
        self.fit_of(self.tensors, variant, hasty)
    }

    fn fit_of(&self, tensors: &[TensorName], variant: &Variant, hasty: bool) -> Fit {
        let channels = &self.case.problem.judged_channels;
        let channel = |row: usize| Cow::Owned(self.case.channel(variant, channels[row]));
        fit(self.case, tensors, self.order, channel, hasty)
    }

    /// The hypotheses of one kind that are tried on every element.
    fn tried<'c>(&self, candidates: &'c [Candidate]) -> &'c [Candidate] {
        let shape = self.case.problem.shape;
        let most = TRIED.max(EVERY / (shape.seqlen * shape.dstate).max(1));
        &candidates[..candidates.len().min(most)]
    }

    fn confirmed(&self, candidate: &Candidate) -> Option<Explanation> {
        let fit = self.fit(&candidate.variant, true);
        let is_found_place = candidate.variant.only != Only::Everywhere;
        let tells = fit.tells && !(is_found_place && fit.by_place);
        (fit.explains() && tells).then(|| Explanation { changes: candidate.changes.clone(), fit })
    }

    /// Those that explain, in the order in which they were tried; what fits much worse than the best is left out.
    fn outcome(&self, candidates: &[Candidate]) -> Outcome {
        self.ranked(parallel::filter_map(self.tried(candidates), &|candidate| self.confirmed(candidate)))
    }

    /// The fewest changes, and of those what fits about as well as the best.
    fn ranked(&self, mut found: Vec<Explanation>) -> Outcome {
        let Some(fewest) = found.iter().map(|one| one.changes.len()).min() else { return Outcome::Nothing };
        found.retain(|one| one.changes.len() == fewest);
        let best = found.iter().map(|one| one.fit.residual).fold(f64::INFINITY, f64::min);
        found.retain(|one| one.fit.residual <= BESIDE * best);
        sorted::by_key(&mut found, &|one| one.fit.residual > AS_GOOD * best);
        if found.iter().any(|one| one.changes.iter().all(|change| change.is_statement)) {
            return Outcome::Elsewhere;
        }
        let mut known: Vec<Vec<String>> = Vec::new();
        found.retain(|one| {
            let mut names: Vec<String> = one.changes.iter().map(|change| change.name.clone()).collect();
            names.sort();
            let is_new = !known.contains(&names);
            known.push(names);
            is_new
        });
        Outcome::Explained(found)
    }

    /// The first of these stages that explains.
    fn first(&self, stages: &[&dyn Fn() -> Vec<Candidate>]) -> Outcome {
        let mut none = Outcome::Refuted;
        for stage in stages {
            let candidates = stage();
            let outcome = self.outcome(&candidates);
            if !matches!(outcome, Outcome::Nothing) || self.case.work.is_over() {
                return outcome;
            }
            if self.may_explain_out(&candidates) {
                none = Outcome::Nothing;
            }
        }
        none
    }

    /// Whether one of them explains the output, whatever the other tensors say of it.
    fn may_explain_out(&self, candidates: &[Candidate]) -> bool {
        let explains =
            |candidate: &Candidate| self.fit_of(&[TensorName::Out], &candidate.variant, true).explains();
        let out = self.tensors.contains(&TensorName::Out);
        // All of them, so that what it takes is the same in every run.
        let each = || parallel::map(self.tried(candidates), &explains);
        !candidates.is_empty() && (!out || each().contains(&true))
    }

    /// What takes a fraction of a second.
    pub fn quick(&self) -> Outcome {
        let base = Candidate { changes: Vec::new(), variant: self.base };
        let singles = || self.unrefuted_alone(&self.around);
        let beside_one =
            || parallel::flat_map(&self.known(), &|change| self.epilogues(&self.alone(change), false));
        let last_states = || {
            let changes = last_state::all(self.case.problem);
            changes.iter().map(|change| self.alone(change)).collect()
        };
        if !self.tensors.contains(&TensorName::Out) || self.out_is_right() {
            return self.first(&[&last_states, &singles]);
        }
        if self.looks.is_empty() {
            return self.first(&[&|| self.late(&base)]);
        }
        self.first(&[
            &singles,
            &|| self.epilogues(&base, false),
            &|| self.late(&base),
            &|| self.structures(),
            &|| counts::find(self, &base).into_iter().collect(),
            &|| self.numbers(&base),
            &beside_one,
            &|| self.b_bars(&base, false),
            &|| partial_sums::find(self, &base).into_iter().collect(),
        ])
    }

    /// What explains the output alone, with what may be wrong with the last state beside it.
    pub fn with_last_state(&self, of_output: &[Explanation]) -> Outcome {
        let changes = last_state::beside(self.case.problem, self.case.form);
        let beside = |one: &Explanation| -> Vec<Candidate> {
            let variant = self.with(&one.changes.iter().collect::<Vec<_>>());
            let start = Candidate { changes: one.changes.clone(), variant };
            changes.iter().map(|change| self.joined(&start, change.clone())).collect()
        };
        self.outcome(&of_output.iter().flat_map(beside).collect::<Vec<_>>())
    }

    /// Explanations of the output less one change each, as where that is about outputs alone.
    pub fn with_fewer(&self, of_output: &[Explanation]) -> Outcome {
        let fewer = |one: &Explanation| -> Vec<Candidate> {
            let but = |left_out: usize| {
                let mut changes = one.changes.clone();
                changes.remove(left_out);
                let variant = self.with(&changes.iter().collect::<Vec<_>>());
                Candidate { changes, variant }
            };
            let all = (0..one.changes.len()).map(but);
            all.filter(|candidate| !candidate.changes.is_empty()).collect()
        };
        self.outcome(&of_output.iter().flat_map(fewer).collect::<Vec<_>>())
    }

    fn out_is_right(&self) -> bool {
        self.order.iter().all(|&row| self.whole(row).first_failure(self.case, &self.base).is_none())
    }

    fn fit_of_rows(&self, rows: &[usize], tensors: &[TensorName], variant: &Variant) -> Fit {
        let channels = &self.case.problem.judged_channels;
        let channel = |row: usize| Cow::Owned(self.case.channel(variant, channels[row]));
        fit(self.case, tensors, rows, channel, true)
    }

    /// Mistakes of structure.
    fn structure(&self) -> Vec<Change> {
        asked(self.case, structure::all(self.case.problem, self.case.form))
    }

    /// Mistakes of structure that nothing refutes, each alone.
    fn structures(&self) -> Vec<Candidate> {
        let mut all = self.structure();
        let got = self.case.got[TensorName::Out].values.iter().filter(|got| got.is_finite());
        all.extend(structure::finishes(got.fold(0.0, |most: f64, got| most.max(got.abs()))));
        let mut held = self.unrefuted_alone(&all);
        // What holds up to some position holds in chunks of so many.
        let whole = self.alone(&structure::exchanged(None)).variant;
        if let Some((length, _)) = self.first_failure(&whole).filter(|(first, _)| *first > 1) {
            let chunked = self.alone(&structure::exchanged(Some(length)));
            held.extend((!self.is_refuted(&chunked.variant)).then_some(chunked));
        }
        held
    }

    fn alone(&self, change: &Change) -> Candidate {
        Candidate { changes: vec![change.clone()], variant: self.with(&[change]) }
    }

    /// A hypothesis with each epilogue that fits the looks.
    fn epilogues(&self, start: &Candidate, common: bool) -> Vec<Candidate> {
        let mut all = Vec::new();
        for fitted in epilogue::fit(self.case, &self.looks, &start.variant, common) {
            if fitted.is_empty() && start.changes.len() < 2 || start.changes.len() + fitted.len() > MOST {
                continue;
            }
            let whole =
                fitted.iter().fold(start.clone(), |whole, change| self.joined(&whole, change.clone()));
            let in_b_bar = epilogue::in_b_bar(self.case, &fitted, &whole.variant);
            all.extend(in_b_bar.map(|(changes, variant)| Candidate {
                changes: [&start.changes[..], &changes].concat(),
                variant,
            }));
            all.push(whole);
        }
        all
    }

    /// A hypothesis with one number more.
    fn numbers(&self, start: &Candidate) -> Vec<Candidate> {
        let (case, variant) = (self.case, &start.variant);
        let families = finder::families(case, &self.long, variant);
        // A limit may show in few positions.
        let looks = |family: &finder::Family| if family.is_limit() { &self.long } else { &self.looks };
        let of = |family: &finder::Family| {
            let tried = case.work.asks(family.name) && (start.changes.is_empty() || family.is_scale());
            tried.then(|| finder::find(case, (looks(family), &self.long), variant, family))?
        };
        let mut found = parallel::filter_map(&families, &of);
        if start.changes.is_empty() {
            found.extend(finder::clamp::find(case, &self.long, variant));
            found.extend(finder::thresholds(case, &self.long, variant));
        }
        found.into_iter().map(|change| self.joined(start, change)).collect()
    }

    fn joined(&self, start: &Candidate, change: Change) -> Candidate {
        let mut variant = start.variant;
        (change.change)(&mut variant);
        let mut changes = start.changes.clone();
        changes.push(change);
        Candidate { changes, variant }
    }

    /// A hypothesis that holds up to some position, with what may go wrong from there on.
    fn late(&self, start: &Candidate) -> Vec<Candidate> {
        let from_end = self.late_from_end(start);
        let Some((first, row)) = self.first_failure(&start.variant).filter(|(first, _)| *first > 1) else {
            return from_end;
        };
        let (seqlen, dstate) = (self.case.problem.shape.seqlen, self.case.problem.shape.dstate);
        let mut lengths = vec![first, first / 2, first / 3, first - 1, first + 1];
        lengths.retain(|length| *length > 1 && *length < seqlen);
        lengths.dedup();
        let is_far = first * dstate > FAR;
        if is_far {
            lengths.truncate(1);
        }
        let at_chunks = lengths.iter().flat_map(|length| chunks::at_chunks(self.case.problem, *length));
        let mut changes: Vec<Change> = lengths.iter().flat_map(|length| scans::chunked(*length)).collect();
        changes.extend(at_chunks);
        changes.extend(structure::from_position(self.case.problem, first));
        if !is_far {
            changes.extend(self.read_at_chunks(first));
        }
        let starts_at_failure = |length: &usize| seqlen - seqlen % length == first;
        // Any divisor of `first` may be one.
        let is_tried = |length: &usize| !is_far || *length >= LEAST_BLOCK && length.is_power_of_two();
        let blocks = (2..=first).filter(starts_at_failure).filter(is_tried);
        let most = if is_far { BLOCKS } else { usize::MAX };
        changes.extend(blocks.take(most).flat_map(|length| chunks::in_last_block(self.case.problem, length)));
        let tails =
            (2..=64).filter(|width| seqlen - seqlen % width == first && !seqlen.is_multiple_of(*width));
        changes.extend(tails.take(1).map(|width| {
            let what = format!("the positions beyond the last multiple of {width} are ignored");
            Change::new(Part::Other, "tail-ignored", what, move |v: &mut Variant| {
                v.tail = Tail::Ignored(width)
            })
        }));
        let form = self.case.form;
        changes.extend(lengths.iter().flat_map(|length| scans::chunked_in_one_direction(form, *length)));
        let look = Look { len: (2 * first + BEYOND).min(seqlen), ..self.whole(row) };
        let mut changes = asked(self.case, changes);
        changes.retain(|change| {
            !scans::needs_initial_state(change) || self.case.problem.initial_state.is_some()
        });
        let held = |change: &Change| {
            let joined = self.joined(start, change.clone());
            (!look.refutes(self.case, &joined.variant)).then_some(joined)
        };
        [parallel::filter_map(&changes, &held), from_end].concat()
    }

    /// The same of a reversed scan, which holds from some position on.
    fn late_from_end(&self, start: &Candidate) -> Vec<Candidate> {
        let seqlen = self.case.problem.shape.seqlen;
        if !start.variant.bidirectional || seqlen * self.case.problem.shape.dstate > FAR {
            return Vec::new();
        }
        let last =
            |row: &usize| self.whole(*row).last_failure(self.case, &start.variant).map(|last| (last, *row));
        let Some((last, row)) = self.order.iter().take(4).filter_map(last).max() else { return Vec::new() };
        let length = seqlen - 1 - last;
        let mut lengths = vec![length, length / 2, length / 3];
        lengths.retain(|length| *length > 1 && *length < seqlen);
        lengths.dedup();
        let form = self.case.form;
        let changes = lengths.into_iter().flat_map(|length| scans::chunked_in_one_direction(form, length));
        let look = self.whole(row);
        let joined = changes.map(|change| self.joined(start, change));
        joined.filter(|candidate| !look.refutes(self.case, &candidate.variant)).collect()
    }

    /// A hypothesis with the simplest other B̄ that holds for every element.
    fn b_bars(&self, start: &Candidate, neighbours: bool) -> Vec<Candidate> {
        let readouts = Readouts::new(self, &start.variant, b_bar::WHOLE, neighbours);
        b_bar::simplest(self, b_bar::find(self, start, &readouts))
    }
}
