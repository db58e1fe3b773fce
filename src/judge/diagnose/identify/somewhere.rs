//! Any one change that holds somewhere only: where |ΔA|, |A| or Δ is small or large, in some states, or at some positions.
//!
//! Where a limit is in question, it is found, and not guessed: what the outputs of a channel allow is a union of intervals,
//! which each further channel narrows. Of the interval that is left the roundest number is named.

use super::changes::{Change, Part};
use super::looks::Look;
use super::{Candidate, Search, asked, epilogue, guards, partial_sums, structure};
use crate::judge::faults::around::Guarded;
use crate::judge::faults::inputs::Read;
use crate::judge::faults::only::{Every, Only, roundest};
use crate::judge::faults::pieces::Pieces;
use crate::judge::faults::variant::Variant;
use crate::parallel;
use crate::tensor::TensorName;

/// Channels that narrow a limit, and positions of each.
const CHANNELS: usize = 12;
const POSITIONS: usize = 12;
/// How far an output may be off what is put together, relative to the moduli of what it is a sum of.
const NEAR: f64 = 2e-5;
/// States from which on fewer of these positions are put together, and that a change may be alone in, one by one.
const STATES: usize = 16;
/// Intervals of one limit that are kept.
const INTERVALS: usize = 4;
/// Lengths that every so many positions may be, where the first ones show it already.
const LENGTHS: [usize; 7] = [2, 4, 8, 16, 32, 64, 128];

/// [`Pieces::epilogue`] of one channel.
type Epilogue = Vec<(f64, f64)>;

/// What is put together of one channel.
struct Row<'a> {
    got: &'a [f64],
    rounding: Vec<f64>,
    base: Pieces,
    /// Of each guarded quantity, at each position and state.
    measures: Vec<Vec<f64>>,
}

/// Of which pieces a step is made where a quantity is below a limit, and where it is not.
struct Sides<'a> {
    below: &'a Pieces,
    above: &'a Pieces,
    epilogue: &'a [(f64, f64)],
}

impl Row<'_> {
    /// Whether the outputs are what a limit makes of both sides.
    fn is_met(&self, sides: &Sides, measure: &[f64], limit: f64) -> bool {
        let states = self.base.a_bar.len() / self.got.len();
        let mut x = self.base.initial.clone();
        for (l, got) in self.got.iter().enumerate() {
            let (mut sum, mut size) = (0.0, 0.0);
            for (n, x) in x.iter_mut().enumerate() {
                let i = l * states + n;
                let of = if measure[i] < limit { sides.below } else { sides.above };
                *x = of.a_bar[i] * *x + of.k[i] * of.b[i] * of.u[l];
                let (re, im) = (self.base.c[i].re * x.re, self.base.c[i].im * x.im);
                sum += re - im;
                size += re.abs() + im.abs();
            }
            let (gain, offset) = sides.epilogue[l];
            let off = (got - gain * sum - offset).abs();
            let allowed = NEAR * (gain.abs() * size + offset.abs()) + self.rounding[l];
            // What is no number allows everything.
            if off > allowed && got.is_finite() {
                return false;
            }
        }
        true
    }

    /// The parts of these intervals in which a limit may be.
    fn narrowed(&self, sides: &Sides, measure: &[f64], intervals: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let mut values = measure.to_vec();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let mut kept: Vec<(f64, f64)> = Vec::new();
        for &(low, high) in intervals {
            let within = values.iter().copied().filter(|value| *value > low && *value < high);
            let mut from = low;
            for to in within.chain([high]) {
                if self.is_met(sides, measure, to) {
                    match kept.last_mut() {
                        Some(last) if last.1 == from => last.1 = to,
                        _ => kept.push((from, to)),
                    }
                }
                from = to;
            }
        }
        kept
    }
}

/// A change that holds there only.
fn only(change: &Change, only: Only, place: &str) -> Change {
    let everywhere = change.change.clone();
    Change {
        name: format!(
            "{}-{}",
            change.name,
            if matches!(only, Only::Positions(_) | Only::Reads(_)) { "at-some-positions" } else { "in-part" }
        ),
        what: format!("{}: {place} alone", change.what),
        is_statement: false,
        part: change.part,
        change: std::sync::Arc::new(move |variant: &mut Variant| {
            everywhere(variant);
            variant.only = only;
        }),
    }
}

impl Search<'_> {
    /// Whether a change is about nothing but what [`Only`] decides about.
    fn may_be_only(&self, change: &Change, somewhere: Only) -> bool {
        let variant = Variant { only: somewhere, ..self.alone(change).variant };
        variant.elsewhere(variant.form) == self.base && !matches!(change.part, Part::LastState)
    }

    fn everything(&self) -> Vec<Change> {
        let (problem, form) = (self.case.problem, self.case.form);
        let mut all = structure::near(problem, form);
        all.extend(guards::otherwise(form));
        all.extend(structure::asymptotes(form));
        all.extend(partial_sums::few(form));
        all.extend(self.catalogue.iter().chain(&self.around).cloned());
        asked(self.case, all)
    }

    /// One change on one side of a limit, perhaps with another epilogue.
    pub(super) fn beyond_limits(&self) -> Vec<Candidate> {
        let (case, problem) = (self.case, self.case.problem);
        if self.base.bidirectional || !self.tensors.contains(&TensorName::Out) {
            return Vec::new();
        }
        let len = (POSITIONS * STATES / problem.shape.dstate).clamp(1, POSITIONS).min(problem.shape.seqlen);
        let looks: Vec<Look> =
            self.spread().take(CHANNELS).map(|row| Look { len, ..self.whole(row) }).collect();
        let guarded = guards::guarded(problem.weights);
        let row = |look: &Look| {
            let base = case.pieces(&self.base, look.channel, len)?;
            let read = Read::new(&self.base, problem, look.channel, len);
            let of = |guard: &Guarded| -> Vec<f64> {
                let at = |l: usize| (0..problem.shape.dstate).map(move |n| (l, n));
                let all = (0..len).flat_map(at);
                all.map(|(l, n)| guard.of(read.steps[1][l].0, read.a(1, n))).collect()
            };
            let got = look.got(case);
            let rounding = got.iter().map(|got| Look::rounding(case, *got)).collect();
            Some(Row { got, rounding, base, measures: guarded.iter().map(|(guard, _)| of(guard)).collect() })
        };
        let Some(rows) = looks.iter().map(row).collect::<Option<Vec<Row>>>() else { return Vec::new() };
        let epilogues: Vec<(Option<Change>, Vec<Epilogue>)> = std::iter::once(None)
            .chain(epilogue::beside_others(case.problem).into_iter().map(Some))
            .filter_map(|change| {
                let variant = change.as_ref().map_or(self.base, |change| self.alone(change).variant);
                let of = |look: &Look| Some(case.pieces(&variant, look.channel, len)?.epilogue);
                Some((change, looks.iter().map(of).collect::<Option<_>>()?))
            })
            .collect();
        let changes: Vec<Change> = self
            .everything()
            .into_iter()
            .filter(|change| self.may_be_only(change, Only::Below(Guarded::Z, 1.0)))
            .collect();
        let of_change = |change: &Change| -> Vec<Candidate> {
            let variant = self.alone(change).variant;
            let own = |look: &Look| case.pieces(&variant, look.channel, len);
            let Some(own) = looks.iter().map(own).collect::<Option<Vec<Pieces>>>() else { return Vec::new() };
            let moves = own.iter().zip(&rows).any(|(own, row)| {
                (&own.a_bar, &own.k, &own.b, &own.u)
                    != (&row.base.a_bar, &row.base.k, &row.base.b, &row.base.u)
            });
            let reads =
                own.iter().zip(&rows).all(|(own, row)| own.c == row.base.c && own.course == row.base.course);
            if !moves || !reads {
                return Vec::new();
            }
            let mut found = Vec::new();
            for (with, epilogue) in &epilogues {
                for (at, &(guard, written)) in guarded.iter().enumerate() {
                    for is_below in [true, false] {
                        let mut left = vec![(0.0, f64::INFINITY)];
                        for (i, row) in rows.iter().enumerate() {
                            let (below, above) =
                                if is_below { (&own[i], &row.base) } else { (&row.base, &own[i]) };
                            let sides = Sides { below, above, epilogue: &epilogue[i] };
                            left = row.narrowed(&sides, &row.measures[at], &left);
                            case.work.add(len * problem.shape.dstate);
                            if left.is_empty() {
                                break;
                            }
                        }
                        for limit in
                            left.iter().take(INTERVALS).filter_map(|(low, high)| roundest(*low, *high))
                        {
                            let (somewhere, side) = match is_below {
                                true => (Only::Below(guard, limit), "below"),
                                false => (Only::Above(guard, limit), "at least"),
                            };
                            let place = format!("where {written} is {side} {limit}");
                            let alone = self.alone(&only(change, somewhere, &place));
                            found.push(match with {
                                Some(with) => self.joined(&alone, with.clone()),
                                None => alone,
                            });
                        }
                    }
                }
            }
            found
        };
        let proposed = parallel::flat_map(&changes, &of_change);
        parallel::filter(proposed, &|candidate| !self.is_refuted(&candidate.variant))
    }

    /// One change in some states only.
    pub(super) fn in_some_states(&self) -> Vec<Candidate> {
        let states = self.case.problem.shape.dstate;
        let mut places = Vec::new();
        if states > 2 {
            places.push((Every::Of { length: 2, at: 1 }, "in odd states".to_owned()));
            places.push((Every::Of { length: 2, at: 0 }, "in even states".to_owned()));
        }
        // The one state of a scan is all of them.
        for n in 0..if states > 1 { states.min(2 * STATES) } else { 0 } {
            places.push((Every::one(n), format!("in state {n}")));
            if n > 1 {
                places.push((Every::From(n - 1), format!("in states from {} on", n - 1)));
                places.push((Every::Below(n), format!("in states below {n}")));
            }
        }
        let places: Vec<_> = places.into_iter().map(|(every, text)| (Only::States(every), text)).collect();
        self.only_in(&self.everything(), &places, &self.looks)
    }

    /// Changes that hold in one of these places only, as far as no look refutes them.
    fn only_in(&self, changes: &[Change], places: &[(Only, String)], looks: &[Look]) -> Vec<Candidate> {
        // Of a scan that begins at the end no beginning is enough to refute a change: all of it would be run for each.
        let shape = self.case.problem.shape;
        let from_the_end = self.base.bidirectional || self.base.reverse;
        if from_the_end && shape.seqlen * shape.dstate > structure::ONE_OF_TWO {
            return Vec::new();
        }
        let of_change = |change: &Change| -> Vec<Candidate> {
            let may = |somewhere: &Only| self.may_be_only(change, *somewhere);
            let tried = places.iter().filter(|(somewhere, _)| may(somewhere));
            let alone = tried.map(|(somewhere, text)| self.alone(&only(change, *somewhere, text)));
            let held =
                |candidate: &Candidate| looks.iter().all(|look| !look.refutes(self.case, &candidate.variant));
            alone.filter(held).collect()
        };
        parallel::flat_map(changes, &of_change)
    }

    /// Changes to how states are read, at the last or the first position of each chunk alone, as the first failure has it.
    pub(super) fn read_at_chunks(&self, first: usize) -> Vec<Change> {
        let of_reading = |change: &Change| {
            let variant = self.alone(change).variant;
            variant.reading_right() == self.base
        };
        let all = self.everything().into_iter().filter(of_reading);
        let places = [(first + 1, first, "last"), (first, 0, "first")];
        // A chunk of one position would be every position.
        let places =
            places.into_iter().filter(|(length, ..)| (2..self.case.problem.shape.seqlen).contains(length));
        let places: Vec<(Only, String)> = places
            .map(|(length, at, name)| {
                let text = format!("at the {name} position of each chunk of {length}");
                (Only::Reads(Every::Of { length, at }), text)
            })
            .collect();
        all.flat_map(|change| {
            let alone = places.iter().map(|(somewhere, text)| only(&change, *somewhere, text));
            alone.collect::<Vec<_>>()
        })
        .collect()
    }

    /// One change at some positions only: every so many, or from one on.
    pub(super) fn at_some_positions(&self) -> Vec<Candidate> {
        let (first, row) = self.first_failure(&self.base).unwrap_or((0, self.order[0]));
        let seqlen = self.case.problem.shape.seqlen;
        let mut places = Vec::new();
        let mut of = |length: usize, at: usize| {
            let place = match (length, at) {
                (2, 0) => "at even positions".to_owned(),
                (2, _) => "at odd positions".to_owned(),
                (_, 0) => format!("at the first position of each chunk of {length}"),
                _ if at + 1 == length => format!("at the last position of each chunk of {length}"),
                _ => format!("at position {at} of each chunk of {length}"),
            };
            if length < seqlen {
                places.push((Only::Positions(Every::Of { length, at }), place));
            }
        };
        LENGTHS
            .into_iter()
            .filter(|length| first < *length && *length != first + 1)
            .for_each(|length| of(length, first));
        if first > 0 {
            of(first + 1, first);
            if first > 1 {
                of(first, 0);
            }
            places.push((Only::Positions(Every::From(first)), format!("from position {first} on")));
        }
        let look = Look { len: (2 * first + super::BEYOND).min(seqlen), ..self.whole(row) };
        let changes = [self.everything(), epilogue::alone(self.case.problem)].concat();
        self.only_in(&changes, &places, &[&self.looks[..], &[look]].concat())
    }
}
