//! Edits of a dense step: what a tensor that fails is computed as, as one change of the specified formulas.
//!
//! A hypothesis is a step with one edit: another reading of A, B or Δ, of its own system or another one, another function of z, or a
//! term of some size that is found by least squares. It has to be within its bounds at every entry of the places that fail, where the
//! formula is beyond them by more bits than chance has, without the value that says most and one more for each number that is found.
//! Edits that no number tells apart are said together.

mod functions;
mod looser;
mod numbers;
mod readings;
mod slips;
mod text;

use std::collections::BTreeSet;

use num_complex::Complex64;

use self::numbers::Z_SCALED;
use self::text::{SPECIFIED, written};
use super::bounds::{Bounded, Matrix, Step, System};
use super::{Element, Elements, Stored, Wanted, element, index, located, parts};
use crate::formula::Formula;
use crate::judge::diagnose::Work;
use crate::judge::location::{Along, Indices, Mask};
use crate::results::{Diagnosis, Edited, TensorResult, Verdict, Wrong};
use crate::tensor::{ComputedName, DenseName, Named};

/// Bits by which values that a hypothesis has right, and the formula has not, are no chance among some hundred of them.
const EVIDENCE: f64 = 24.0;
/// Factor by which two bounds, or values in units of their bounds, are not alike.
const GROWTH: f64 = 8.0;
/// Failing systems that a hypothesis is tried on.
const MOST_SYSTEMS: usize = 512;
/// Systems that numbers are found of.
const SYSTEMS: usize = 16;
/// Hypotheses that are said together.
const TOGETHER: usize = 3;
/// Inputs with an edit, of the system at a place.
type Steps<'h> = Box<dyn Fn(usize) -> Option<Step> + Sync + 'h>;
/// A tensor with an edit.
type Values<'h> = Box<dyn Fn(usize) -> Option<Bounded> + Sync + 'h>;

/// Change that a hypothesis makes.
enum Change<'h> {
    /// The inputs, which both tensors have.
    Inputs(Steps<'h>),
    Values(Values<'h>),
}

struct Hypothesis<'h> {
    name: String,
    what: String,
    computed: String,
    change: Change<'h>,
    /// Numbers in it that are found of what is to be explained.
    numbers: usize,
}

impl<'h> Hypothesis<'h> {
    fn new(name: &str, what: &str, computed: &str, values: Values<'h>) -> Self {
        let (name, what, computed) = (name.to_owned(), what.to_owned(), computed.to_owned());
        Hypothesis { name, what, computed, change: Change::Values(values), numbers: 0 }
    }

    /// Says how many numbers in it are found.
    fn with_numbers(self, numbers: usize) -> Self {
        Hypothesis { numbers, ..self }
    }

    /// Text that is equal for two tensors where one edit explains both.
    fn key(&self) -> String {
        match self.change {
            Change::Inputs(_) => self.name.clone(),
            Change::Values(_) => format!("{} {}", self.name, self.what),
        }
    }
}

/// Causes of tensors that fail, as far as the work goes.
pub fn explain(
    wanted: &Wanted,
    got: &Named<Stored, DenseName>,
    judged: &Named<TensorResult, ComputedName>,
    work: &Work,
) -> Named<Vec<Diagnosis>, DenseName> {
    let fails = |name: DenseName| judged.get(name).filter(|tensor| tensor.verdict == Verdict::Fail);
    let search_one = |name: DenseName| {
        let other = if name == DenseName::ABar { DenseName::BBar } else { DenseName::ABar };
        let passes = judged.get(other).is_some_and(|tensor| tensor.verdict == Verdict::Pass);
        let is_elsewhere = fails(name)?.wrong.first().is_some_and(is_said);
        let found = if is_elsewhere {
            Vec::new()
        } else {
            search(wanted, name, got.get(name)?, (other, passes), work)
        };
        Some((name, found))
    };
    let found: Named<Vec<(String, Diagnosis)>, DenseName> =
        DenseName::ALL.into_iter().filter_map(search_one).collect();
    // What explains both is a cause of both.
    let keys = |name| found.get(name).into_iter().flatten().map(|(key, _)| key.clone());
    let inputs: BTreeSet<String> = keys(DenseName::BBar).collect();
    let both: BTreeSet<String> = keys(DenseName::ABar).filter(|key| inputs.contains(key)).collect();
    found.map(|_, found| {
        // Another step of one tensor alone is another z.
        let is_of_z = found.iter().any(|(_, one)| one.name == Z_SCALED);
        let is_meant = |(key, one): &&(String, Diagnosis)| match both.is_empty() {
            true => !is_of_z || !one.name.starts_with("delta-"),
            false => both.contains(key),
        };
        found.iter().filter(is_meant).take(TOGETHER).map(|(_, one)| one.clone()).collect()
    })
}

/// Hypotheses of a kind.
type Stage = for<'h> fn(&'h Failing<'_>) -> Vec<Hypothesis<'h>>;

const STAGES: [Stage; 8] = [
    |failing| failing.readings(),
    |failing| failing.other_systems(),
    |failing| failing.other_functions(),
    |failing| failing.terms(),
    |failing| failing.other_terms(),
    |failing| failing.factors(),
    |failing| failing.slips(),
    |failing| failing.roundings(),
];

/// Edits with several numbers that are found: they are said where no other one holds.
const OF_MORE_NUMBERS: [Stage; 4] = [
    |failing| failing.sums(),
    |failing| failing.fixed_step().into_iter().collect(),
    |failing| failing.other_squarings().into_iter().collect(),
    |failing| failing.other_squares(),
];

/// A tensor, and where it fails.
struct Failing<'f> {
    wanted: &'f Wanted<'f>,
    name: DenseName,
    elements: Elements,
    got: &'f Stored,
    mask: Mask,
    /// Places of systems, the one with the most failing entries first.
    systems: Vec<usize>,
    work: &'f Work,
}

/// How well a hypothesis explains what fails.
#[derive(Default)]
struct Fit {
    /// Evidence, and the most that one value is.
    bits: f64,
    most: f64,
    /// Squares of errors in units of bounds, its own and the formula's.
    left: f64,
    was: f64,
}

/// Whether the place of a failure says what the values are: none, or those of another place.
fn is_said(wrong: &Wrong) -> bool {
    (wrong.values == "0" || wrong.like.ends_with("bit for bit")) && !wrong.places.is_empty()
}

/// Causes of one tensor, with what explains both under one key; and whether the other tensor passes.
fn search(
    wanted: &Wanted,
    name: DenseName,
    got: &Stored,
    (other, passes): (DenseName, bool),
    work: &Work,
) -> Vec<(String, Diagnosis)> {
    let elements = Elements::new(wanted, name);
    let at = |at: usize| index(wanted, elements, at);
    let Some(rule) = located(wanted, name, got).rule(at) else { return Vec::new() };
    let mask = rule.mask;
    let fails = |place: usize| {
        let each = elements.len() / elements.count;
        let of_system = place * each..(place + 1) * each;
        let is_wrong = |at: usize| {
            let one = element(wanted, name, elements, got, at);
            one.bound.is_finite() && one.distance(got.format).ratio > 1.0
        };
        of_system.filter(|&at| is_wrong(at)).count()
    };
    let counts: Vec<usize> = (0..elements.count).map(fails).collect();
    let mut systems: Vec<usize> = (0..elements.count).filter(|&place| counts[place] > 0).collect();
    systems.sort_by_key(|&place| std::cmp::Reverse(counts[place]));
    // As many as are worth the time, from all over the run.
    let step = systems.len().div_ceil(MOST_SYSTEMS).max(1);
    let (tried, others) = systems.into_iter().enumerate().partition::<Vec<_>, _>(|(at, _)| at % step == 0);
    let places = |of: Vec<(usize, usize)>| of.into_iter().map(|(_, place)| place).collect::<Vec<usize>>();
    let (systems, others) = (places(tried), places(others));
    let failing = Failing { wanted, name, elements, got, mask, systems, work };
    let is_part = |along: &&Along| along.judged > 1 && along.set != Indices::All;
    let sets: Vec<String> = failing.mask.axes.iter().filter(is_part).map(Along::to_string).collect();
    let place = if failing.mask.flat.is_some() { failing.mask.to_string() } else { sets.join(", ") };
    let specified = written(name, wanted.form.formula(), SPECIFIED);
    let explained = |hypotheses: Vec<Hypothesis>| {
        let residuals = crate::parallel::map(&hypotheses, &|one| failing.residual(one));
        let found = hypotheses.into_iter().zip(residuals).filter_map(|(one, residual)| {
            let residual = residual?;
            // What holds where it was tried has to hold everywhere.
            failing.of_systems(&others, &one)?;
            let is_alone = passes && failing.changes(other, &one.change);
            let key = one.key();
            let one = said(name, &specified, one, &place, residual);
            Some((key, if is_alone { one.in_part(&format!("in {name} alone")) } else { one }))
        });
        found.collect::<Vec<(String, Diagnosis)>>()
    };
    let of_stages = |stages: &[Stage]| -> Vec<(String, Diagnosis)> {
        let found = crate::parallel::flat_map(stages, &|stage| explained(stage(&failing)));
        let mut seen = BTreeSet::new();
        let is_new = |(_, one): &(String, Diagnosis)| {
            one.edits.first().is_none_or(|edit| seen.insert(edit.computed.clone()))
        };
        found.into_iter().filter(is_new).collect()
    };
    let mut found = of_stages(&STAGES);
    if found.is_empty() {
        found = of_stages(&OF_MORE_NUMBERS);
    }
    if found.is_empty() {
        let allowed = failing.looser().into_iter().find(|one| failing.is_allowed(one));
        found.extend(allowed.map(|one| (one.key(), said(name, &specified, one, &place, 1.0))));
    }
    found
}

/// A hypothesis that holds, in words.
fn said(name: DenseName, specified: &str, one: Hypothesis, place: &str, residual: f64) -> Diagnosis {
    let Hypothesis { name: edit, what, computed, .. } = one;
    let at = if place.is_empty() { "" } else { &format!(", in {place}") };
    let what = format!("{what}{at} (specified {specified}; computed {computed})");
    let [specified, computed] = [specified, &computed].map(|text| format!("{name} = {text}"));
    let edits = vec![Edited { name: edit.clone(), specified, computed, place: place.to_owned() }];
    Diagnosis { edits, ..Diagnosis::new(edit, what, residual) }
}

impl Failing<'_> {
    fn system(&self, place: usize) -> &System {
        &self.wanted.systems[place]
    }

    /// Values of the system at a place that the mask has, with those of the formula.
    fn values(&self, place: usize) -> impl Iterator<Item = usize> {
        let each = self.elements.len() / self.elements.count;
        (place * each..(place + 1) * each)
            .filter(|&at| self.mask.contains(&index(self.wanted, self.elements, at)))
    }

    /// The element of a value, by the formula.
    fn element(&self, at: usize) -> Element {
        element(self.wanted, self.name, self.elements, self.got, at)
    }

    /// Entry of a matrix of the value's system in the value's place.
    fn part(&self, of: &Matrix, at: usize) -> f64 {
        let [_, r, c] = self.elements.place(at);
        parts(of[(r, c)])[at % self.elements.width]
    }

    fn error(&self, of: &Bounded, at: usize) -> f64 {
        let [_, r, c] = self.elements.place(at);
        of.error[(r, c)]
    }

    /// ‖got − hypothesis‖ / ‖got − formula‖ in units of bounds, where it explains all that fails, with evidence for it.
    fn residual(&self, hypothesis: &Hypothesis) -> Option<f64> {
        let Fit { bits, most, left, was } = if self.work.asks(&hypothesis.name) {
            self.of_systems(&self.systems, hypothesis)?
        } else {
            return None;
        };
        // A value has any number that is found of it, and a value alone says nothing.
        let bits = bits - (1.0 + hypothesis.numbers as f64) * most;
        (bits >= EVIDENCE).then(|| (left / was).sqrt())
    }

    /// How well it explains all that fails in these systems; none where it does not.
    fn of_systems(&self, systems: &[usize], hypothesis: &Hypothesis) -> Option<Fit> {
        let mut fit = Fit::default();
        for &place in systems {
            if self.work.is_over() {
                return None;
            }
            self.work.add(self.elements.n.pow(3));
            let known = self.changed(hypothesis, place)?;
            for at in self.values(place) {
                let (formula, want) = (self.element(at), self.part(&known.value, at));
                let error = self.error(&known, at) * (1.0 + self.system(place).own_share());
                let format = self.got.format;
                let store = format.rounding_error((want.abs() + error).min(format.overflow_threshold()));
                let one = Element { want, bound: error + store, store, ..formula };
                let (is, without) = (one.distance(format).ratio, formula.distance(format).ratio);
                if !one.bound.is_finite() || is > 1.0 {
                    return None;
                }
                // What the formula explains as well, or what is as good as 0, is no evidence.
                let beyond = ((formula.got - formula.want).abs() / one.bound).log2();
                let bits = beyond.min((want.abs() / one.bound).log2()).clamp(0.0, 24.0);
                fit.bits += bits;
                fit.most = fit.most.max(bits);
                fit.left += is * is;
                fit.was += without.min(1e150).powi(2);
            }
        }
        Some(fit)
    }

    /// Whether the other tensor would be another one with these inputs.
    fn changes(&self, other: DenseName, change: &Change) -> bool {
        let Change::Inputs(steps) = change else { return false };
        self.systems.first().is_some_and(|&probe| {
            let Some(step) = steps(probe) else { return false };
            let edited = self.system(probe).with(step).solved(self.wanted.form);
            let known = &self.wanted.matrices[probe][other as usize];
            let is_other =
                |(at, x): (usize, &Complex64)| (x - known.value[at]).norm() > GROWTH * known.error[at];
            edited[other as usize].value.iter().enumerate().any(is_other)
        })
    }

    fn formula(&self) -> Formula {
        self.wanted.form.formula()
    }

    /// The tensor of a system's step.
    fn tensor(&self, system: &System) -> Bounded {
        let [state, input] = system.solved(self.wanted.form);
        if self.name == DenseName::ABar { state } else { input }
    }

    /// The tensor that a hypothesis has.
    fn changed(&self, hypothesis: &Hypothesis, place: usize) -> Option<Bounded> {
        match &hypothesis.change {
            Change::Inputs(steps) => Some(self.tensor(&self.system(place).with(steps(place)?))),
            Change::Values(values) => values(place),
        }
    }

    /// Failing systems, as many as numbers are found of.
    fn first_systems(&self) -> &[usize] {
        &self.systems[..self.systems.len().min(SYSTEMS)]
    }

    /// The c with which got = formula + c·added is nearest, in all of these systems; none where nothing is added.
    fn least_squares(&self, added: impl Fn(usize) -> Bounded) -> Option<f64> {
        let (mut above, mut below) = (0.0, 0.0);
        for &place in self.first_systems() {
            let added = added(place);
            let sums = self.normal(place, &added.value, &added.value.map(|_| Complex64::ZERO));
            (above, below) = (above + sums.0, below + sums.1);
        }
        Some(above / below).filter(|factor| factor.is_finite() && *factor != 0.0)
    }

    /// Sums of the normal equation for got = formula + already + c·added, of one system.
    fn normal(&self, place: usize, added: &Matrix, already: &Matrix) -> (f64, f64) {
        self.values(place).fold((0.0, 0.0), |(above, below), at| {
            let formula = self.element(at);
            let of_term = self.part(added, at) / formula.bound;
            let left = (formula.got - formula.want - self.part(already, at)) / formula.bound;
            (above + of_term * left, below + of_term * of_term)
        })
    }
}
