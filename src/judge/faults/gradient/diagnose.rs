//! Which fault models explain recorded gradients, each gradient on its own.
//!
//! The rule is [`crate::judge::diagnose`]'s. A model's **share** is the largest |got − model| in units of the judged bound, which
//! grows with the gradient where the model's is larger than what was to be computed; its **residual** is
//! ‖got − model‖ / ‖got − want‖ in the same units. A model explains a gradient whose share is at most 1 and whose residual at
//! most [`NEEDED`], and a pair that leaves so little of what each of its two leaves. Failing those, a model is named that leaves
//! [`NEARLY`] nothing and has a share of at most [`NEARLY_WITHIN`]; where something is kept in a narrow type, one that leaves
//! [`NEARLY_ROUNDED`].
//!
//! A model is first looked at where the error is largest: one channel, one weight's batch, or one state of one group. What that
//! does not refute is computed in whole.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::adjoint::{self, Known, Scope, Sums, is_summed};
use super::catalogue::{self, Fault, SCAN};
use super::structure;
use super::variant::Variant;
use super::where_it_holds;
use crate::formula::{Form, Transition};
use crate::judge::diagnose::{NEARLY, NEARLY_ROUNDED, NEEDED};
use crate::problem::{OutputGradients, Problem, Shape};
use crate::results::Diagnosis;
use crate::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use crate::tensor::{Gradients, InputType, Named};

/// Residuals that differ by less than this part are equal: what distinguishes the models is below the roundings.
const SAME: f64 = 0.1;
/// The same of models of what is not explained: they are one but for the order of f64 operations.
const ALIKE: f64 = 1e-6;
/// The share of a model that nearly explains a gradient: a few bits more than the bound, and no other formula.
pub const NEARLY_WITHIN: f64 = 16.0;
/// How many models a diagnosis names.
const NAMED: usize = 5;
/// How long to look for pairs in one gradient: in positions times states that may be computed.
pub(super) const PAIRS: usize = 6_000_000;
/// The same of single models, in all: a problem that is too large for them is looked at with the first of the catalogue.
const SINGLES: usize = 400_000_000;
/// What a gradient that is 0 may be off a model's, of the model's largest: 64 roundings to f32.
const OF_NOTHING: f64 = 1.0 / (1u64 << 18) as f64;
/// How many wrong elements a pair, or a factor that was fitted, has to explain: fewer agree with one of thousands by chance.
pub(super) const TELLING: usize = 4;

/// Positions times states whose steps are kept.
const KNOWN: usize = 500_000;
/// Pairs whose effects add up or multiply to the error, and the models and elements that they are put together of.
const LIKELY: usize = 400;
const TOGETHER: usize = 1500;
const TOGETHER_OF_FEW: usize = 600;
/// Causes of other gradients that pairs are made with first.
const BASES: usize = 2;
const ELEMENTS: usize = 128;
/// The same of every place, for each gradient.
const PLACES: usize = 60_000_000;
/// How far beyond its bound a model puts a gradient that is right, at least, if it is not so.
const CONTRADICTS: f64 = 4.0;

/// The least that a number fitted to a part is off what it is to be, and the most that one is off a simple fraction.
pub(super) const NOTICED: f64 = 1e-3;
/// Steps of the search for a factor on z.
const STEPS: usize = 5;

/// What is said of a gradient that is to be multiplied by one number.
pub const SCALED: (&str, &str) = ("gradient-scaled", "the whole gradient has a constant factor");
/// Of one that is right where it is not 0.
pub const PARTLY_ZERO: (&str, &str) =
    ("gradient-partly-zero", "the gradient is 0 in a part, and right elsewhere");
/// Of one that is right but for where its values stand.
pub const LATER: (&str, &str) = ("gradient-one-later", "each position has the gradient of the one before it");
pub const EARLIER: (&str, &str) =
    ("gradient-one-earlier", "each position has the gradient of the one after it");
pub const TRANSPOSED: (&str, &str) = ("gradient-transposed", "the last two axes are exchanged");
pub const PLANAR: (&str, &str) =
    ("gradient-planar", "all real parts of the last axis stand before all imaginary ones");
/// Of what a factor on z in Ā explains.
pub const EXPONENT: (&str, &str) = ("exponent-scaled", "Ā is exp(cz) with a factor c beside 1");
/// Of what has too few digits, or too small a range.
pub const STORED: (&str, &str) = ("gradient-narrow", "the gradient is stored in a narrow type");
pub const CLIPPED: (&str, &str) = ("gradient-clipped", "the gradient is cut to a size");
/// Of what stands at a place, and has a factor that is found.
pub const PLACE_SCALED: (&str, &str) =
    ("place-scaled", "something else stands at a place, and has a factor besides");
/// What is found without a model of the catalogue.
pub const FITTED: [(&str, &str); 14] = [
    SCALED,
    PARTLY_ZERO,
    LATER,
    EARLIER,
    TRANSPOSED,
    PLANAR,
    EXPONENT,
    PLACE_SCALED,
    STORED,
    CLIPPED,
    super::sums::WEIGHTED,
    super::sums::MIXED,
    super::sums::SLOPE,
    super::terms::TERMS,
];

/// A backward pass that failed.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// A method; textbook forms get no diagnosis.
    pub form: Form,
    pub problem: &'a Problem,
    pub given: &'a OutputGradients,
    /// What was recorded, the gradients that there are.
    pub got: &'a Gradients<f64>,
    /// The truth of each of them.
    pub want: &'a Gradients<f64>,
    /// The judged bound of every element: one for each complex one.
    pub bounds: &'a Named<Vec<f64>, GradientName>,
}

/// How well a model fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    share: f64,
    pub residual: f64,
}

impl Fit {
    pub fn explains(self) -> bool {
        self.share <= 1.0 && self.residual <= NEEDED
    }
}

/// One or two faults, and how well they fit one gradient.
#[derive(Clone, Debug)]
struct Model {
    faults: Vec<&'static Fault>,
    fit: Fit,
    /// Whether it would change a gradient that is right.
    is_contradicted: bool,
    /// Whether all that is wrong where the error is largest is as it has it.
    covers: bool,
    /// What it has there.
    values: Arc<[f64]>,
}

impl Model {
    /// Whether it leaves little, and more than rounding.
    fn nearly_explains(&self) -> bool {
        match self.faults[0].rounds() {
            true => self.fit.residual <= NEARLY_ROUNDED,
            false => self.fit.residual <= NEARLY && self.fit.share <= NEARLY_WITHIN,
        }
    }

    fn named(&self) -> Diagnosis {
        let join = |text: fn(&Fault) -> &'static str, with: &str| {
            self.faults.iter().map(|fault| text(fault)).collect::<Vec<_>>().join(with)
        };
        let (name, what) = (join(|fault| fault.name, " + "), join(|fault| fault.what, "; "));
        Diagnosis { name, what, residual: self.fit.residual }
    }
}

/// What explains each of the failing gradients, best first; nothing where nothing does. Of models that are the same there, the
/// one that explains the most gradients is named first.
pub fn diagnose(case: &Case, failing: &[GradientName]) -> Named<Vec<Diagnosis>, GradientName> {
    let mut diagnoses: Named<Vec<Diagnosis>, GradientName> =
        failing.iter().map(|&name| (name, Vec::new())).collect();
    if case.form.method().is_none() {
        return diagnoses;
    }
    let there = failing.iter().filter(|&&name| case.got.get(name).is_some());
    let looks: Vec<Look> = there.map(|&name| Look::new(case, name)).collect();
    let first: Vec<Vec<Model>> = looks.iter().map(Look::singles).collect();
    // What a look does not refute is computed in whole: once, for all gradients.
    let survives = |fault: &&'static Fault| {
        let mut survivors = first.iter().flat_map(|models| survivors(models));
        survivors.any(|model| model.faults[0].name == fault.name)
    };
    let computed: Vec<Computed> =
        catalogue::ALL.iter().filter(survives).map(|fault| case.computed(fault, failing)).collect();
    let fitting = |computed: &[Computed], look: &Look| -> Vec<Model> {
        let touching = computed.iter().filter(|computed| computed.fault.touches.contains(&look.name));
        let fitted = touching.map(|computed| Model {
            is_contradicted: computed.is_contradicted,
            ..look.fitted(vec![computed.fault], &computed.values)
        });
        fitted.filter(|model| model.fit.explains() || model.nearly_explains()).collect()
    };
    let mut found: Vec<Vec<Model>> = looks.iter().map(|look| fitting(&computed, look)).collect();
    // What has no name that agrees with all gradients: first what is simple, then every place of the backward pass.
    let is_open = |models: &[Model]| {
        // One factor is as another: a place that has it says more.
        let has_factors = case.problem.output_factor() != 1.0 || case.form.is_bidirectional();
        let says_enough = |model: &Model| {
            model.fit.explains()
                && !model.is_contradicted
                && !(has_factors && model.faults.iter().all(|fault| fault.is_factor() && fault.is_separate()))
        };
        !models.iter().any(says_enough)
    };
    let mut fitted: Vec<Vec<Diagnosis>> = looks
        .iter()
        .zip(&found)
        .map(|(look, models)| if models.iter().any(agrees) { Vec::new() } else { look.simple() })
        .collect();
    let open: Vec<bool> =
        found.iter().zip(&fitted).map(|(models, fitted)| is_open(models) && fitted.is_empty()).collect();
    let places: Vec<Vec<Model>> =
        looks.iter().zip(&open).map(|(look, open)| if *open { look.places() } else { Vec::new() }).collect();
    let mut names: Vec<&'static str> =
        places.iter().flat_map(|models| survivors(models)).map(|model| model.faults[0].name).collect();
    names.sort();
    names.dedup();
    let survives = |fault: &&'static Fault| names.binary_search(&fault.name).is_ok();
    let of_places: Vec<Computed> = every()
        .skip(catalogue::ALL.len())
        .filter(survives)
        .map(|fault| case.computed(fault, failing))
        .collect();
    for ((look, models), fitted) in looks.iter().zip(&mut found).zip(&mut fitted) {
        models.extend(fitting(&of_places, look));
        if fitted.is_empty() && !models.iter().any(|model| model.fit.explains()) {
            *fitted = look.in_part(computed.iter().chain(&of_places));
        }
    }
    let explains = |fault: &Fault| {
        let by = |model: &Model| model.fit.explains() && model.faults[0].name == fault.name;
        found.iter().filter(|models| models.iter().any(by)).count()
    };
    let explained: Vec<usize> = every().map(explains).collect();
    let is_named = |models: &[Model], fitted: &[Diagnosis]| {
        !fitted.is_empty() || models.iter().any(|model| model.fit.explains())
    };
    for (((look, models), fitted), places) in looks.iter().zip(&found).zip(&mut fitted).zip(&places) {
        if !is_named(models, fitted) {
            *fitted = look.fits(places);
        }
    }
    let shared = shared_part(&looks, &fitted, failing);
    let left = found.iter().zip(&fitted).filter(|(models, fitted)| !is_named(models, fitted)).count();
    let bases = bases(&found);
    for (i, (look, models)) in looks.iter().zip(&mut found).enumerate() {
        if !is_named(models, &fitted[i]) {
            let singles: Vec<Model> = first[i].iter().chain(&places[i]).cloned().collect();
            models.extend(look.pairs(&singles, &bases, PAIRS / left));
        }
        best_first(models, &explained);
        let named = models.iter().map(Model::named);
        let is_agreed = models.first().is_some_and(agrees);
        let fitted = std::mem::take(&mut fitted[i]);
        let (before, after) = if is_agreed { (Vec::new(), fitted) } else { (fitted, Vec::new()) };
        let all = shared[i].iter().cloned().chain(before).chain(named).chain(after);
        diagnoses[look.name] = all.take(NAMED).collect();
    }
    let is_open = diagnoses.get(DeltaBias).is_some_and(Vec::is_empty);
    if let (true, Some(of_delta)) = (is_open && case.sums_what_it_has(), diagnoses.get(Delta)) {
        diagnoses[DeltaBias] = of_delta.clone();
    }
    diagnoses
}

/// The part that most of the gradients have with one and the same factor, if several do: said of each of them.
fn shared_part(
    looks: &[Look],
    fitted: &[Vec<Diagnosis>],
    failing: &[GradientName],
) -> Vec<Option<Diagnosis>> {
    let is_said = |part: &&Fault| fitted.iter().flatten().any(|found| found.name == part.name);
    // What it would change is not right as it is.
    let is_open = |part: &&Fault| {
        let passes =
            |name: &&GradientName| !failing.contains(name) && looks[0].case.got.get(**name).is_some();
        !part.touches.iter().any(|name| passes(&name))
    };
    let in_each = |part: &Fault| -> Vec<Option<Diagnosis>> {
        let of = |look: &Look| look.part_scaled(part).filter(|_| part.touches.contains(&look.name));
        let mut found: Vec<Option<Diagnosis>> = looks.iter().map(of).collect();
        let said = found.iter().flatten().next().map(|first| first.what.clone());
        found.iter_mut().for_each(|one| *one = one.take().filter(|one| Some(&one.what) == said.as_ref()));
        found
    };
    let count = |found: &Vec<Option<Diagnosis>>| std::cmp::Reverse(found.iter().flatten().count());
    let all = catalogue::PARTS.iter().filter(is_said).filter(is_open).map(in_each);
    let best = all.min_by_key(count).filter(|found| count(found).0 > 1);
    best.unwrap_or_else(|| vec![None; looks.len()])
}

/// What explains the most gradients: others may have it, too, and something else besides.
fn bases(found: &[Vec<Model>]) -> Vec<&'static str> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    let single = |model: &&Model| agrees(model) && model.faults.len() == 1 && !model.faults[0].is_separate();
    for model in found.iter().flatten().filter(single) {
        match counts.iter_mut().find(|(name, _)| *name == model.faults[0].name) {
            Some((_, count)) => *count += 1,
            None => counts.push((model.faults[0].name, 1)),
        }
    }
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    counts.into_iter().take(BASES).map(|(name, _)| name).collect()
}

/// Whether it explains a gradient and leaves what is right as it is.
fn agrees(model: &Model) -> bool {
    model.fit.explains() && !model.is_contradicted
}

/// The catalogue, then the single places, then what has other lengths.
pub(super) fn every() -> impl Iterator<Item = &'static Fault> {
    catalogue::ALL.iter().chain(structure::ALL.iter()).chain(structure::OF_ANY_LENGTH.iter())
}

/// A fault, and what a backward pass with it returns.
struct Computed {
    fault: &'static Fault,
    values: Sums,
    is_contradicted: bool,
}

/// What is to be computed in whole: the best of what was not refuted.
fn survivors(all: &[Model]) -> Vec<&Model> {
    let may_explain = |model: &&Model| model.fit.share <= 1.0 || model.fit.residual <= NEEDED;
    let mut models: Vec<&Model> = all.iter().filter(may_explain).collect();
    models.sort_by(|a, b| a.fit.residual.total_cmp(&b.fit.residual));
    models.truncate(2 * NAMED);
    let mut in_part: Vec<&Model> = all.iter().filter(|model| model.covers && !may_explain(model)).collect();
    in_part.sort_by(|a, b| a.fit.residual.total_cmp(&b.fit.residual));
    models.extend(in_part.into_iter().take(2 * NAMED));
    models
}

/// Those that explain before those that nearly do, and those that leave less first. Of equal ones those come first that leave
/// what is right as it is, then those that explain more gradients, then those that do not divide, then in the catalogue's order.
fn best_first(models: &mut [Model], explained: &[usize]) {
    let rank = |model: &Model| {
        let of = |fault: &&Fault| every().position(|other| other.name == fault.name);
        let places: Vec<usize> = model.faults.iter().filter_map(of).collect();
        let count = places.iter().map(|&at| explained[at]).sum::<usize>();
        let is_separate = model.faults.iter().all(|fault| fault.is_separate());
        let divides = model.faults.iter().any(|fault| fault.divides());
        (model.is_contradicted, std::cmp::Reverse(count), is_separate, divides, places)
    };
    models.sort_by(|a, b| {
        b.fit.explains().cmp(&a.fit.explains()).then(a.fit.residual.total_cmp(&b.fit.residual))
    });
    let mut start = 0;
    while start < models.len() {
        let first = models[start].fit;
        let same =
            |fit: Fit| fit.explains() == first.explains() && fit.residual <= first.residual * (1.0 + SAME);
        let len = models[start..].iter().take_while(|model| same(model.fit)).count();
        models[start..start + len].sort_by_cached_key(rank);
        start += len;
    }
}

impl Case<'_> {
    /// What a backward pass with these faults returns.
    fn compute(&self, faults: &[&Fault]) -> Sums {
        self.compute_in(faults, &Scope::whole(self.problem))
    }

    /// Of one fault, beside what passes.
    fn computed(&self, fault: &'static Fault, failing: &[GradientName]) -> Computed {
        let values = self.compute(&[fault]);
        let changes = |name: GradientName, values: &[f64]| {
            let (Some(want), Some(bounds)) = (self.want.get(name), self.bounds.get(name)) else {
                return false;
            };
            let pairs = values.iter().zip(&want.values).enumerate();
            let within = |(i, (value, want)): (usize, (&f64, &f64))| {
                value == want || (value - want).abs() <= CONTRADICTS * bounds[i / self.want[name].width]
            };
            !pairs.into_iter().all(within)
        };
        let is_contradicted = !fault.is_separate()
            && values.iter().any(|(name, values)| !failing.contains(&name) && changes(name, values));
        Computed { fault, values, is_contradicted }
    }

    /// Whether grad.delta_bias is the sum of the grad.delta that was recorded: what is wrong with one is wrong with both.
    fn sums_what_it_has(&self) -> bool {
        let (Some(delta), Some(bias)) = (self.got.get(Delta), self.got.get(DeltaBias)) else {
            return false;
        };
        let Shape { batch, dim, seqlen, .. } = self.problem.shape;
        let half_ulp = half_ulp(delta.element);
        (0..dim).all(|d| {
            let rows = (0..batch).map(|b| &delta.values[(b * dim + d) * seqlen..][..seqlen]);
            let (sum, off) = rows
                .flatten()
                .fold((0.0, 0.0), |(sum, off), &value| (sum + value, off + f64::abs(value) * half_ulp));
            (bias.values[d] - sum).abs() <= self.bounds[DeltaBias][d] + off
        })
    }

    fn compute_in(&self, faults: &[&Fault], scope: &Scope) -> Sums {
        adjoint::sums(&self.variant(faults), self.problem, self.given, scope)
    }

    fn variant(&self, faults: &[&Fault]) -> Variant {
        let mut variant = Variant::specified(self.form);
        faults.iter().for_each(|fault| fault.change(&mut variant));
        variant
    }
}

/// One failing gradient, looked at where its error is largest.
pub(super) struct Look<'a> {
    pub case: &'a Case<'a>,
    pub name: GradientName,
    scope: Scope,
    /// The values that depend on nothing else.
    range: Range<usize>,
    /// How many elements are beyond their bounds.
    wrong: usize,
    known: Option<Known>,
}

impl<'a> Look<'a> {
    fn new(case: &'a Case, name: GradientName) -> Self {
        let (got, want, bounds) = (&case.got[name].values, &case.want[name], &case.bounds[name]);
        let error = |i: usize| match (got[i] - want.values[i]).abs() / bounds[i / want.width] {
            _ if got[i] == want.values[i] => 0.0,
            error if error.is_nan() => f64::INFINITY,
            error => error,
        };
        let worst = (0..got.len()).max_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap_or(0);
        let problem = case.problem;
        let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
        let states = dstate * want.width;
        let of_channel = |d: usize| (0..batch).map(|batch| (batch, d)).collect::<Vec<_>>();
        let row = |len: usize| worst / len * len..(worst / len + 1) * len;
        let (range, channels, state) = match name {
            U | Delta | Z => (row(seqlen), vec![(worst / seqlen / dim, worst / seqlen % dim)], None),
            InitialState => (row(states), vec![(worst / states / dim, worst / states % dim)], None),
            D | DeltaBias => (row(1), of_channel(worst), None),
            A | B | C if is_summed(problem, name) => (row(states), of_channel(worst / states), None),
            A | B | C => {
                let len = seqlen * want.width;
                let (group, state) = (worst / len / dstate, worst / len % dstate);
                let (batch, group) = (group / groups, group % groups);
                // What a fault may add to the group, too.
                let is_in = |d: &usize| d / (dim / groups) == group || d % groups == group;
                (row(len), (0..dim).filter(is_in).map(|d| (batch, d)).collect(), Some(state))
            }
        };
        let names = if matches!(name, B | C) { vec![B, C] } else { vec![name] };
        let scope = Scope { names, channels, state };
        let wrong = (0..got.len()).filter(|&i| error(i) > 1.0).count();
        let mut look = Look { case, name, scope, range, wrong, known: None };
        if look.cost() <= KNOWN {
            look.known = Some(Known::new(case.form, problem, case.given, &look.scope));
        }
        look
    }

    /// Positions times states of a look at one model.
    fn cost(&self) -> usize {
        let Shape { dstate, seqlen, .. } = self.case.problem.shape;
        let states = if self.scope.state.is_some() { 1 } else { dstate };
        let directions = 1 + usize::from(self.case.form.is_bidirectional());
        self.scope.channels.len() * seqlen * states * directions
    }

    /// How well each single model fits what is looked at.
    fn singles(&self) -> Vec<Model> {
        self.tried(&catalogue::ALL, SINGLES)
    }

    /// The same of every place, and, where none fits, of chunks of any length.
    fn places(&self) -> Vec<Model> {
        let mut places = self.tried(&structure::ALL, PLACES);
        if !places.iter().any(|model| model.fit.explains()) {
            places.extend(self.tried(&structure::OF_ANY_LENGTH, PLACES));
        }
        places
    }

    /// Of these, as many as the effort allows.
    fn tried(&self, faults: &'static [Fault], effort: usize) -> Vec<Model> {
        let touching = faults.iter().filter(|fault| {
            fault.touches.contains(&self.name) && fault.applies(self.case.form, self.case.problem)
        });
        let some: Vec<&'static Fault> = touching.take(effort / self.cost()).collect();
        some.into_par_iter().map(|fault| self.looked_at(vec![fault])).collect()
    }

    fn looked_at(&self, faults: Vec<&'static Fault>) -> Model {
        let values = self.values(&faults);
        let fit = self.fit(&values, self.range.clone());
        Model { faults, fit, is_contradicted: false, covers: self.covers(&values), values: values.into() }
    }

    /// Whether what is wrong there is near these values.
    fn covers(&self, model: &[f64]) -> bool {
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name]);
        let bounds = &self.case.bounds[self.name];
        let is_near = |values: f64, at: usize| (got[at] - values).abs() <= bounds[at / want.width];
        let mut wrong = 0;
        for (at, &model) in self.range.clone().zip(model) {
            if !is_near(want.values[at], at) {
                if !is_near(model, at) {
                    return false;
                }
                wrong += 1;
            }
        }
        wrong >= TELLING
    }

    /// What a backward pass with these faults has where the error is largest.
    fn values(&self, faults: &[&Fault]) -> Vec<f64> {
        let variant = self.case.variant(faults);
        let Case { problem, given, .. } = self.case;
        let values = adjoint::sums_with(self.known.as_ref(), &variant, problem, given, &self.scope);
        values[self.name][self.range.clone()].to_vec()
    }

    /// The fit to the whole gradient.
    fn fitted(&self, faults: Vec<&'static Fault>, values: &Sums) -> Model {
        let values = &values[self.name];
        Model {
            faults,
            fit: self.fit(values, 0..values.len()),
            is_contradicted: false,
            covers: false,
            values: Arc::new([]),
        }
    }

    /// Pairs that explain the gradient. Those with what explains others come first, then those whose members remove most of the
    /// error, as far as the effort goes.
    fn pairs(&self, singles: &[Model], bases: &[&str], effort: usize) -> Vec<Model> {
        if self.wrong < TELLING {
            return Vec::new();
        }
        // Two of very many agree with a few numbers by chance.
        let is_few = self.range.len() < 4 * TELLING;
        let any = structure::OF_ANY_LENGTH.as_ptr_range();
        let is_tried = |model: &Model| !is_few || !any.contains(&std::ptr::from_ref(model.faults[0]));
        let singles = singles.iter().filter(|model| is_tried(model));
        let mut ranked: Vec<(usize, &Model)> = singles.enumerate().collect();
        ranked.sort_by(|a, b| a.1.fit.residual.total_cmp(&b.1.fit.residual));
        // What leaves the error as it is has no effect here, and of what leaves as much the first stands for all.
        ranked.retain(|(_, model)| (model.fit.residual - 1.0).abs() > ALIKE);
        ranked.dedup_by(|b, a| {
            let is_same = b.1.fit.residual <= a.1.fit.residual * (1.0 + ALIKE);
            if is_same && b.0 < a.0 && !is_few {
                *a = *b;
            }
            is_same
        });
        let ranked: Vec<&Model> = ranked.into_iter().map(|(_, model)| model).collect();
        let pairs = (0..ranked.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
        let is_base = |at: &usize| bases.contains(&ranked[*at].faults[0].name);
        let with_base = (0..ranked.len()).filter(is_base).flat_map(|base| {
            (0..ranked.len()).filter(move |&at| at != base).map(move |at| (at.min(base), at.max(base)))
        });
        let mut seen = HashSet::new();
        let pairs = with_base.chain(self.likely(&ranked)).chain(pairs).filter(|&pair| seen.insert(pair));
        let pairs: Vec<(usize, usize)> = pairs.take((effort / self.cost()).max(LIKELY)).collect();
        let explains = |&(first, second): &(usize, usize)| {
            let (a, b) = (ranked[first], ranked[second]);
            let is_needed = |fit: Fit, a: Fit, b: Fit| {
                fit.explains() && fit.residual <= NEEDED * a.residual.min(b.residual)
            };
            let faults = vec![a.faults[0], b.faults[0]];
            // Their product is one factor, which fits by chance.
            if faults.iter().all(|fault| fault.is_factor()) {
                return None;
            }
            if !is_needed(self.looked_at(faults.clone()).fit, a.fit, b.fit) {
                return None;
            }
            let whole =
                |faults: Vec<&'static Fault>| self.fitted(faults.clone(), &self.case.compute(&faults));
            let [both, a, b] = [faults.clone(), vec![faults[0]], vec![faults[1]]].map(whole);
            is_needed(both.fit, a.fit, b.fit).then_some(both)
        };
        pairs.par_iter().filter_map(explains).collect()
    }

    /// Pairs whose effects on their own add up or multiply to what is found, the best first: almost all do where they are in
    /// different terms, or where one is a factor of the whole.
    fn likely(&self, ranked: &[&Model]) -> Vec<(usize, usize)> {
        let len = self.range.len();
        let some: Vec<usize> = (0..len).step_by(len.div_ceil(ELEMENTS).max(1)).collect();
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name]);
        let unit = |i: usize| self.case.bounds[self.name][(self.range.start + i) / want.width];
        let at = |values: &[f64]| -> Vec<f64> {
            some.iter().map(|&i| values[self.range.start + i] / unit(i)).collect()
        };
        let (got, want) = (at(got), at(&want.values));
        let count = ranked.len().min(if len < 4 * TELLING { TOGETHER_OF_FEW } else { TOGETHER });
        let of = |model: &&Model| -> Vec<f64> { some.iter().map(|&i| model.values[i] / unit(i)).collect() };
        let all: Vec<Vec<f64>> = ranked[..count].par_iter().map(of).collect();
        let score = |(a, b): (usize, usize)| {
            let (mut sum, mut product) = (0.0, 0.0);
            for (i, (&got, &want)) in got.iter().zip(&want).enumerate() {
                let (x, y) = (all[a][i], all[b][i]);
                let added = got - (x + y - want);
                sum += added * added;
                let multiplied = if want == 0.0 { added } else { got - x * y / want };
                product += multiplied * multiplied;
            }
            f64::min(sum, product)
        };
        let pairs: Vec<(usize, usize)> =
            (0..count).flat_map(|second| (0..second).map(move |first| (first, second))).collect();
        let mut scored: Vec<(f64, (usize, usize))> = pairs
            .par_iter()
            .map(|&pair| (score(pair), pair))
            .filter(|(score, _)| score.is_finite())
            .collect();
        scored.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        scored.truncate(LIKELY);
        scored.into_iter().map(|(_, pair)| pair).collect()
    }

    /// What explains a range along one axis, where the gradient is right elsewhere.
    fn in_part<'c>(&self, computed: impl Iterator<Item = &'c Computed>) -> Vec<Diagnosis> {
        if self.wrong < TELLING {
            return Vec::new();
        }
        let touching = computed.filter(|computed| computed.fault.touches.contains(&self.name));
        let named = touching.filter_map(|computed| self.of_part(computed.fault, &computed.values[self.name]));
        named.take(NAMED).collect()
    }

    fn of_part(&self, fault: &Fault, model: &[f64]) -> Option<Diagnosis> {
        let (want, bounds) = (&self.case.want[self.name], &self.case.bounds[self.name]);
        let got = &self.case.got[self.name].values;
        let width = want.width;
        let is_near = |values: &[f64], i: usize| {
            (i * width..(i + 1) * width).all(|at| (got[at] - values[at]).abs() <= bounds[i])
        };
        let wrong: Vec<usize> = (0..bounds.len()).filter(|&i| !is_near(&want.values, i)).collect();
        if !wrong.iter().all(|&i| is_near(model, i)) {
            return None;
        }
        let of_range = (0..want.shape.len()).rev().find_map(|axis| {
            let (len, stride) = (want.shape[axis], want.shape[axis + 1..].iter().product::<usize>());
            let at = |i: usize| i / stride % len;
            let (from, to) = (wrong.iter().map(|&i| at(i)).min()?, wrong.iter().map(|&i| at(i)).max()?);
            let is_in = |i: usize| (from..=to).contains(&at(i));
            let mixed = (0..model.len()).map(|i| if is_in(i / width) { model[i] } else { want.values[i] });
            let mixed: Vec<f64> = mixed.collect();
            let item = super::sums::item(self, axis);
            let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
            let what = format!("at {item} {range} of 0 to {} alone: {}", len - 1, fault.what);
            let found = self.explained(fault.name, &what, &mixed);
            found.filter(|_| to - from + 1 < len)
        });
        of_range.or_else(|| {
            let limit = where_it_holds::limit(self, model)?;
            self.explained(fault.name, &format!("{limit} alone: {}", fault.what), &limit.of(self, model))
        })
    }

    /// A narrow type that the gradient was stored in, or cut to.
    fn stored_narrow(&self) -> Option<Diagnosis> {
        let (got, want) = (&self.case.got[self.name], &self.case.want[self.name].values);
        let bounds = &self.case.bounds[self.name];
        let is_held = |to: InputType| {
            got.element == InputType::F32 && got.values.iter().all(|&x| f64::from(to.round(x as f32)) == x)
        };
        let (to, text) =
            [(InputType::Bf16, "bf16"), (InputType::F16, "f16")].into_iter().find(|(to, _)| is_held(*to))?;
        let nearest = |x: f64| f64::from(to.round(x as f32));
        // Towards zero: the neighbour below, where the nearest is above.
        let cut = |x: f64| {
            let near = nearest(x);
            let below = match to {
                InputType::Bf16 => {
                    half::bf16::from_bits(half::bf16::from_f64(near).to_bits().wrapping_sub(1)).to_f64()
                }
                _ => half::f16::from_bits(half::f16::from_f64(near).to_bits().wrapping_sub(1)).to_f64(),
            };
            if near.abs() > x.abs() { below } else { near }
        };
        let said = |model: &dyn Fn(f64) -> f64, what: String| {
            // Both are monotone: what any value within the bound becomes is between what its ends become.
            let is_near = |(i, (&got, &want)): (usize, (&f64, &f64))| {
                let bound = bounds[i / got_width(self)];
                (model(want - bound)..=model(want + bound)).contains(&got)
            };
            if !got.values.iter().zip(want).enumerate().all(is_near) {
                return None;
            }
            let values: Vec<f64> = want.iter().map(|&want| model(want)).collect();
            let residual = self.fit(&values, 0..values.len()).residual;
            (residual <= NEEDED).then(|| Diagnosis { name: STORED.0.to_owned(), what, residual })
        };
        said(&nearest, format!("the gradient is rounded to {text}"))
            .or_else(|| said(&cut, format!("the gradient is cut to {text}, not rounded to nearest")))
    }

    /// The size that larger values are cut to.
    fn clipped(&self) -> Option<Diagnosis> {
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name].values);
        let largest = got.iter().map(|value| value.abs()).fold(0.0, f64::max);
        let cut =
            got.iter().zip(want).filter(|(got, want)| got.abs() == largest && want.abs() > largest).count();
        let model: Vec<f64> = want.iter().map(|want| want.clamp(-largest, largest)).collect();
        let what = format!("what is larger than {largest:.6} in size is cut to it");
        self.explained(CLIPPED.0, &what, &model).filter(|_| cut >= TELLING)
    }

    /// What explains the gradient as one that is right but for a factor, or for where its values stand.
    fn simple(&self) -> Vec<Diagnosis> {
        if self.wrong == 0 {
            return Vec::new();
        }
        if let Some(zero) = self.partly_zero() {
            return vec![zero];
        }
        if self.wrong < TELLING {
            return Vec::new();
        }
        let simple = self.scaled().into_iter().chain(self.elsewhere());
        let simple: Vec<Diagnosis> = simple.chain(self.stored_narrow()).chain(self.clipped()).collect();
        if simple.is_empty() { super::sums::mixed(self) } else { simple }
    }

    /// What explains it with numbers that are found: the first kind that does.
    fn fits(&self, places: &[Model]) -> Vec<Diagnosis> {
        if self.wrong < TELLING {
            return Vec::new();
        }
        let parts = self.parts();
        let parts = if parts.is_empty() { super::sums::weighted(self) } else { parts };
        let parts = if parts.is_empty() { super::sums::slopes(self).into_iter().collect() } else { parts };
        let parts = if parts.is_empty() { self.numbered(places) } else { parts };
        let parts = if parts.is_empty() { self.exponent().into_iter().collect() } else { parts };
        if parts.is_empty() { super::terms::found(self).into_iter().collect() } else { parts }
    }

    pub fn explained(&self, name: &str, what: &str, model: &[f64]) -> Option<Diagnosis> {
        let fit = self.fit(model, 0..model.len());
        let (name, what) = (name.to_owned(), what.to_owned());
        fit.explains().then_some(Diagnosis { name, what, residual: fit.residual })
    }

    /// The factor that the gradient has, if that is all that is wrong with it.
    fn scaled(&self) -> Option<Diagnosis> {
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name].values);
        let factor = along(got, want)?;
        let model: Vec<f64> = want.iter().map(|want| want * factor).collect();
        self.explained(SCALED.0, &format!("the whole gradient has the factor {factor:.6}"), &model)
    }

    /// Where the gradient is 0, if it is right elsewhere and that is one range of an axis.
    fn partly_zero(&self) -> Option<Diagnosis> {
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name]);
        let bounds = &self.case.bounds[self.name];
        let is_wrong = |i: usize| {
            let of = |values: &[f64]| values[i * want.width..][..want.width].to_vec();
            let errors = of(got).into_iter().zip(of(&want.values)).map(|(got, want)| (got - want).abs());
            errors.into_iter().any(|error| error.is_nan() || error > bounds[i])
        };
        let is_zero = |i: usize| got[i * want.width..][..want.width].iter().all(|&value| value == 0.0);
        let wrong: Vec<usize> = (0..bounds.len()).filter(|&i| is_wrong(i)).collect();
        if !wrong.iter().all(|&i| is_zero(i)) {
            return None;
        }
        let axes = want.shape.len();
        let of_range = (0..axes).rev().find_map(|axis| {
            let (len, stride) = (want.shape[axis], want.shape[axis + 1..].iter().product::<usize>());
            let at = |i: usize| i / stride % len;
            let (from, to) = (wrong.iter().map(|&i| at(i)).min()?, wrong.iter().map(|&i| at(i)).max()?);
            let mut within = (0..bounds.len()).filter(|&i| (from..=to).contains(&at(i)));
            // A range that is all of the axis says nothing, nor does one element.
            let is_it = to - from + 1 < len && bounds.len() > len && within.all(is_zero);
            let of = match (self.name, axis + 1 == axes, axis) {
                (U | Delta | Z, true, _) => "position",
                (B | C, true, _) if axes == 4 => "position",
                (_, true, _) => "state",
                (B | C, _, 2) => "state",
                (B | C, _, 1) if axes == 4 => "group",
                (A | B | C, _, 0) if axes == 2 => "channel",
                (_, _, 0) => "item of the batch",
                _ => "channel",
            };
            let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
            let what = format!("the gradient is 0 at {of} {range} of 0 to {}, and right elsewhere", len - 1);
            let (name, residual) = (PARTLY_ZERO.0.to_owned(), 0.0);
            is_it.then_some(Diagnosis { name, what, residual })
        });
        of_range.or_else(|| {
            let zero = vec![0.0; got.len()];
            let limit = where_it_holds::limit(self, &zero)?;
            let what = format!("the gradient is 0 {limit}, and right elsewhere");
            self.explained(PARTLY_ZERO.0, &what, &limit.of(self, &zero))
        })
    }

    /// Whether each value is the right one of another place: it is as far off as it was there.
    fn moved(&self, (name, what): (&str, &str), from: &dyn Fn(usize) -> Option<usize>) -> Option<Diagnosis> {
        let (want, old) = (&self.case.want[self.name], &self.case.bounds[self.name]);
        let width = want.width;
        let value = |i: usize| from(i / width).map_or(0.0, |at| want.values[at * width + i % width]);
        let bound = |i: usize| from(i).map_or(old[i], |at| old[at].max(old[i]));
        let bounds: Vec<f64> = (0..old.len()).map(bound).collect();
        let model: Vec<f64> = (0..want.values.len()).map(value).collect();
        let fit = self.fit_within(&bounds, &model, 0..model.len());
        let (name, what) = (name.to_owned(), what.to_owned());
        fit.explains().then_some(Diagnosis { name, what, residual: fit.residual })
    }

    /// The order in which the right values stand.
    fn elsewhere(&self) -> Option<Diagnosis> {
        let want = &self.case.want[self.name];
        let axes = want.shape.len();
        if self.case.problem.varies(self.name) {
            let len = want.shape[axes - 1];
            let before = |i: usize| (!i.is_multiple_of(len)).then(|| i - 1);
            let after = |i: usize| (i % len + 1 < len).then_some(i + 1);
            let shifted = self.moved(LATER, &before).or_else(|| self.moved(EARLIER, &after));
            if shifted.is_some() {
                return shifted;
            }
        }
        let (Some(&len), 2) = (want.shape.last(), want.width) else { return self.transposed() };
        // All real parts of the last axis before all imaginary ones.
        let place = |i: usize| {
            let (start, at) = (i / (2 * len) * (2 * len), i % (2 * len));
            start + at % len * 2 + at / len
        };
        let model: Vec<f64> = (0..want.values.len()).map(|i| want.values[place(i)]).collect();
        let largest = |i: usize| [2 * i, 2 * i + 1].map(|at| self.case.bounds[self.name][place(at) / 2]);
        let bounds: Vec<f64> = (0..model.len() / 2)
            .map(|i| largest(i).into_iter().fold(self.case.bounds[self.name][i], f64::max))
            .collect();
        let fit = self.fit_within(&bounds, &model, 0..model.len());
        let (name, what) = (PLANAR.0.to_owned(), PLANAR.1.to_owned());
        if fit.explains() {
            Some(Diagnosis { name, what, residual: fit.residual })
        } else {
            self.transposed()
        }
    }

    fn transposed(&self) -> Option<Diagnosis> {
        let want = &self.case.want[self.name];
        let [.., rows, columns] = want.shape[..] else { return None };
        let transposed = |i: usize| {
            let (start, at) = (i / (rows * columns) * (rows * columns), i % (rows * columns));
            Some(start + at % rows * columns + at / rows)
        };
        self.moved(TRANSPOSED, &transposed)
    }

    /// Parts that have another factor than 1.
    fn parts(&self) -> Vec<Diagnosis> {
        let Case { form, problem, .. } = *self.case;
        let touching = catalogue::PARTS.iter();
        let touching =
            touching.filter(|part| part.touches.contains(&self.name) && part.applies(form, problem));
        let touching: Vec<&Fault> = touching.take(PAIRS / self.whole_cost()).collect();
        let mut found: Vec<Diagnosis> =
            touching.into_par_iter().filter_map(|part| self.part_scaled(part)).collect();
        found.sort_by(|a, b| a.residual.total_cmp(&b.residual));
        found
    }

    /// The factor that a part has, if that is all that is wrong.
    fn part_scaled(&self, part: &Fault) -> Option<Diagnosis> {
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name].values);
        let without = &self.case.compute_in(&[part], &self.whole_scope())[self.name];
        let share: Vec<f64> = want.iter().zip(without).map(|(want, without)| want - without).collect();
        let error: Vec<f64> = got.iter().zip(want).map(|(got, want)| got - want).collect();
        let off = along(&error, &share).filter(|off| off.abs() > NOTICED)?;
        let model: Vec<f64> = want.iter().zip(&share).map(|(want, share)| want + share * off).collect();
        self.explained(part.name, &format!("{} has the factor {}", part.what, number(1.0 + off)), &model)
    }

    /// What stands at a place, with a factor besides.
    fn numbered(&self, places: &[Model]) -> Vec<Diagnosis> {
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name].values);
        let Case { problem, given, .. } = *self.case;
        let mut withouts: Vec<(Variant, Arc<[f64]>)> = Vec::new();
        let mut proposed: Vec<(f64, &Fault, Variant)> = Vec::new();
        for model in places {
            let fault = model.faults[0];
            let Some(without) = fault.without(self.case.form) else { continue };
            let known =
                withouts.iter().find(|(variant, _)| *variant == without).map(|(_, values)| values.clone());
            let zero = known.unwrap_or_else(|| {
                let values = adjoint::sums_with(self.known.as_ref(), &without, problem, given, &self.scope);
                let values: Arc<[f64]> = values[self.name][self.range.clone()].into();
                withouts.push((without, values.clone()));
                values
            });
            let less = |a: &[f64]| a.iter().zip(&zero[..]).map(|(a, b)| a - b).collect::<Vec<f64>>();
            let Some(factor) = along(&less(&got[self.range.clone()]), &less(&model.values)) else { continue };
            let with = zero.iter().zip(&model.values[..]).map(|(zero, value)| zero + factor * (value - zero));
            let fit = self.fit(&with.collect::<Vec<f64>>(), self.range.clone());
            if factor.abs() > NOTICED && (fit.explains() || fit.residual <= NEEDED) {
                proposed.push((fit.residual, fault, without));
            }
        }
        proposed.sort_by(|a, b| a.0.total_cmp(&b.0));
        proposed.truncate(NAMED);
        let whole = |(_, fault, without): (f64, &Fault, Variant)| {
            let scope = self.whole_scope();
            let zero = &adjoint::sums(&without, problem, given, &scope)[self.name];
            let with = &self.case.compute_in(&[fault], &scope)[self.name];
            let less = |a: &[f64]| a.iter().zip(zero).map(|(a, b)| a - b).collect::<Vec<f64>>();
            let factor = along(&less(got), &less(with))?;
            let model: Vec<f64> =
                zero.iter().zip(with).map(|(zero, with)| zero + factor * (with - zero)).collect();
            // Fewer elements than that agree with one of so many by chance.
            let what = format!("{}, and it has the factor {}", fault.what, number(factor));
            self.explained(PLACE_SCALED.0, &what, &model).filter(|_| want.len() >= 2 * TELLING)
        };
        let mut found: Vec<Diagnosis> = proposed.into_iter().filter_map(whole).collect();
        found.sort_by(|a, b| a.residual.total_cmp(&b.residual));
        found
    }

    /// A factor on z in Ā = exp(z), as a truncated log₂e makes it.
    fn exponent(&self) -> Option<Diagnosis> {
        let is_exponential = self.case.form.formula().a_bar == Transition::Exponential;
        if !is_exponential || self.whole_cost() * 2 * STEPS > PAIRS || !SCAN.contains(&self.name) {
            return None;
        }
        let got = &self.case.got[self.name].values;
        let compute = |exponent: f64| {
            let variant = Variant { exponent, ..Variant::specified(self.case.form) };
            adjoint::sums(&variant, self.case.problem, self.case.given, &self.whole_scope())[self.name]
                .clone()
        };
        let less = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
        let (mut factor, mut model) = (1.0, self.case.want[self.name].values.clone());
        for _ in 0..STEPS {
            let slope = less(&compute(factor + NOTICED), &model);
            factor += along(&less(got, &model), &slope).filter(|off| off.is_finite())? * NOTICED;
            model = compute(factor);
        }
        let log2e = std::f64::consts::LOG2_E * factor;
        let what = format!("Ā is exp(cz) with c = {factor:.6}, as with {log2e:.5} for log₂e");
        self.explained(EXPONENT.0, &what, &model).filter(|_| (0.5..2.0).contains(&factor))
    }

    pub fn whole_scope(&self) -> Scope {
        Scope { names: self.scope.names.clone(), ..Scope::whole(self.case.problem) }
    }

    pub fn whole_cost(&self) -> usize {
        let shape = self.case.problem.shape;
        shape.sequence_len() * shape.dstate * (1 + usize::from(self.case.form.is_bidirectional()))
    }

    /// How well a model's values fit a part of the gradient.
    fn fit(&self, model: &[f64], range: Range<usize>) -> Fit {
        self.fit_within(&self.case.bounds[self.name], model, range)
    }

    pub fn fit_within(&self, bounds: &[f64], model: &[f64], range: Range<usize>) -> Fit {
        let Look { case, name, .. } = self;
        // A larger value than was to be computed is stored with a larger rounding.
        let stored = half_ulp(case.got[*name].element);
        let want = &case.want[*name];
        let (got, exact) = (&case.got[*name].values[range.clone()], &want.values[range.clone()]);
        let largest = |values: &[f64]| {
            let sizes = values.iter().map(|value| value.abs()).filter(|size| size.is_finite());
            sizes.fold(0.0, f64::max)
        };
        let (of_model, of_want) = (largest(model), largest(exact));
        let (mut share, mut left, mut all) = (0.0f64, 0.0, 0.0);
        for (i, ((&got, &model), &exact)) in range.zip(got.iter().zip(model).zip(exact)) {
            // What is infinite has no rounding.
            let larger = if model.is_finite() { (model.abs() - exact.abs()).max(0.0) } else { 0.0 };
            let bound = bounds[i / want.width] + stored * larger;
            // Where nothing was to be computed, no bound says how well something is.
            let unit = match of_want > 0.0 {
                true => bound * (of_model / of_want).max(1.0),
                false => bound.max(of_model * OF_NOTHING),
            };
            let (error, specified) = match (got.is_finite(), model.is_finite()) {
                (true, true) => (got - model, got - exact),
                // As the model has it. Beside the truth, all of the value is lost.
                (false, false) => (0.0, exact),
                _ => (f64::INFINITY, f64::INFINITY),
            };
            let of_unit = |error: f64| if error == 0.0 { 0.0 } else { error.abs() / unit };
            share = share.max(of_unit(error));
            left += of_unit(error).powi(2);
            all += of_unit(specified).powi(2);
        }
        let residual = (left / all).sqrt();
        Fit { share, residual: if residual.is_nan() { f64::INFINITY } else { residual } }
    }
}

/// The largest relative error of rounding to a type.
fn half_ulp(element: InputType) -> f64 {
    match element {
        InputType::F32 => f64::from(f32::EPSILON) / 2.0,
        InputType::F16 => half::f16::EPSILON.to_f64() / 2.0,
        InputType::Bf16 => half::bf16::EPSILON.to_f64() / 2.0,
    }
}

/// Parts of each element.
fn got_width(look: &Look) -> usize {
    look.case.want[look.name].width
}

/// How often `direction` is in `values`.
fn along(values: &[f64], direction: &[f64]) -> Option<f64> {
    let square: f64 = direction.iter().map(|x| x * x).sum();
    let product: f64 = values.iter().zip(direction).map(|(value, x)| value * x).sum();
    Some(product / square).filter(|_| square > 0.0)
}

/// A number, as a simple fraction where it is close to one.
pub(super) fn number(value: f64) -> String {
    let close = (1..=24).map(|below| ((value * f64::from(below)).round(), f64::from(below)));
    let mut close = close.filter(|(above, below)| (value - above / below).abs() < NOTICED / below);
    match close.next() {
        Some((above, 1.0)) => format!("{above}"),
        Some((above, below)) => format!("{above}/{below}, fitted {value:.6}"),
        None => format!("{value:.6}"),
    }
}
