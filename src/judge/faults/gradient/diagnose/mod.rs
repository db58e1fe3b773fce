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

mod fitted;
mod look;
mod pairs;
mod part;
mod simple;

use std::ops::Range;
use std::sync::Arc;

use self::look::half_ulp;
use super::adjoint::{self, Known, Scope, Sums};
use super::catalogue::{self, Fault};
use super::variant::Variant;
use super::{edges, sums};
use crate::judge::diagnose::{NEARLY, NEARLY_ROUNDED, NEEDED};
use crate::judge::explain::gradients::{self, Case};
use crate::problem::Shape;
use crate::results::Diagnosis;
use crate::sorted;
use crate::tensor::GradientName::{self, Delta, DeltaBias, Z};
use crate::tensor::Named;

pub(super) use self::fitted::number;

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
/// The same of chunks of every length, for each gradient.
const EDGES: usize = 60_000_000;
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
/// What is found without a model of the catalogue.
pub const FITTED: [(&str, &str); 12] = [
    SCALED,
    PARTLY_ZERO,
    LATER,
    EARLIER,
    TRANSPOSED,
    PLANAR,
    EXPONENT,
    STORED,
    CLIPPED,
    sums::WEIGHTED,
    sums::MIXED,
    sums::SLOPE,
];

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
    /// Whether it would change a gradient that is right, of those that no pass keeps from its forward pass.
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
        gradients::by_edits(case, failing)
            .into_iter()
            .for_each(|(name, found)| diagnoses.insert(name, found));
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
    // What has no name that agrees with all gradients: first what is simple, then edits of the backward pass.
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
    let at_edges: Vec<Vec<Model>> =
        looks.iter().zip(&open).map(|(look, open)| if *open { look.edges() } else { Vec::new() }).collect();
    let mut names: Vec<&'static str> =
        at_edges.iter().flat_map(|models| survivors(models)).map(|model| model.faults[0].name).collect();
    names.sort();
    names.dedup();
    let survives = |fault: &&'static Fault| names.binary_search(&fault.name).is_ok();
    let of_edges: Vec<Computed> = every()
        .skip(catalogue::ALL.len())
        .filter(survives)
        .map(|fault| case.computed(fault, failing))
        .collect();
    for (look, models) in looks.iter().zip(&mut found) {
        models.extend(fitting(&of_edges, look));
    }
    for ((look, models), fitted) in looks.iter().zip(&found).zip(&mut fitted) {
        if fitted.is_empty() && !models.iter().any(|model| model.fit.explains()) {
            *fitted = look.in_part(computed.iter().chain(&of_edges));
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
    for ((look, models), fitted) in looks.iter().zip(&found).zip(&mut fitted) {
        if !is_named(models, fitted) {
            *fitted = look.fits();
        }
    }
    // An edit of the backward pass says more than a model that would change what is right, and than two models.
    let is_left = |models: &[Model], fitted: &[Diagnosis]| fitted.is_empty() && !models.iter().any(agrees);
    if found.iter().zip(&fitted).any(|(models, fitted)| is_left(models, fitted)) {
        let mut by_edits = gradients::by_edits(case, failing);
        for ((look, models), fitted) in looks.iter().zip(&found).zip(&mut fitted) {
            if let (true, Some(edits)) = (is_left(models, fitted), by_edits.get_mut(look.name)) {
                *fitted = std::mem::take(edits);
            }
        }
    }
    let shared = shared_part(&looks, &fitted, failing);
    // What was ended names nothing. The pairs that come now are for what has no name yet, and change no other.
    if case.work.is_cut() {
        return diagnoses;
    }
    let left = found.iter().zip(&fitted).filter(|(models, fitted)| !is_named(models, fitted)).count();
    let bases = bases(&found);
    for (i, (look, models)) in looks.iter().zip(&mut found).enumerate() {
        if !is_named(models, &fitted[i]) {
            let singles: Vec<Model> = first[i].iter().chain(&at_edges[i]).cloned().collect();
            let pairs = look.pairs(&singles, &bases, PAIRS / left);
            if case.work.is_cut() {
                continue;
            }
            models.extend(pairs);
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
    sorted::by_key(&mut counts, &|&(_, count)| std::cmp::Reverse(count));
    counts.into_iter().take(BASES).map(|(name, _)| name).collect()
}

/// Whether it explains a gradient and leaves what is right as it is.
fn agrees(model: &Model) -> bool {
    model.fit.explains() && !model.is_contradicted
}

/// The catalogue, then the single places, then what has other lengths.
pub(super) fn every() -> impl Iterator<Item = &'static Fault> {
    catalogue::ALL.iter().chain(edges::ALL.iter()).chain(edges::OF_ANY_LENGTH.iter())
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
    sorted::by_number(&mut models, &|model| model.fit.residual);
    models.truncate(2 * NAMED);
    let mut in_part: Vec<&Model> = all.iter().filter(|model| model.covers && !may_explain(model)).collect();
    sorted::by_number(&mut in_part, &|model| model.fit.residual);
    models.extend(in_part.into_iter().take(2 * NAMED));
    models
}

/// Those that explain before those that nearly do, and those that leave less first. Of equal ones those come first that leave
/// what is right as it is, then those that explain more gradients, then in the catalogue's order.
fn best_first(models: &mut [Model], explained: &[usize]) {
    let rank = |model: &Model| {
        let of = |fault: &&Fault| every().position(|other| other.name == fault.name);
        let places: Vec<usize> = model.faults.iter().filter_map(of).collect();
        let count = places.iter().map(|&at| explained[at]).sum::<usize>();
        // That a gradient is 0 says more than which place would make it so.
        let is_separate =
            model.faults.iter().all(|fault| fault.is_separate() && fault.name != catalogue::ZERO);
        (model.is_contradicted, std::cmp::Reverse(count), is_separate, places)
    };
    sorted::by(models, &|a, b| {
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
        // A pass that keeps its outputs has grad.z right, whatever it reads wrongly on its way back.
        let contradicts = |name: GradientName| name != Z && !failing.contains(&name);
        let is_contradicted = !fault.is_separate()
            && values.iter().any(|(name, values)| contradicts(name) && changes(name, values));
        Computed { fault, values, is_contradicted }
    }

    /// Whether grad.delta_bias is the sum of the grad.delta that was recorded: what is wrong with one is wrong with both.
    fn sums_what_it_has(&self) -> bool {
        let (Some(delta), Some(bias)) = (self.got.get(Delta), self.got.get(DeltaBias)) else {
            return false;
        };
        let Shape { batch, seqlen, .. } = self.problem.shape;
        let half_ulp = half_ulp(delta.element);
        let count = bias.values.len();
        delta.values.len() == batch * count * seqlen
            && (0..count).all(|d| {
                let rows = (0..batch).map(|b| &delta.values[(b * count + d) * seqlen..][..seqlen]);
                let (sum, off) = rows
                    .flatten()
                    .fold((0.0, 0.0), |(sum, off), &value| (sum + value, off + f64::abs(value) * half_ulp));
                (bias.values[d] - sum).abs() <= self.bounds[DeltaBias][d] + off
            })
    }

    fn compute_in(&self, faults: &[&Fault], scope: &Scope) -> Sums {
        self.sums(&self.variant(faults), scope)
    }

    /// What a backward pass has in a part of the problem.
    pub(super) fn sums(&self, variant: &Variant, scope: &Scope) -> Sums {
        if self.work.is_over() {
            let none = Scope { channels: Vec::new(), names: scope.names.clone(), state: scope.state };
            return adjoint::sums(variant, self.problem, self.given, &none);
        }
        self.work.add(self.cost(scope));
        adjoint::sums(variant, self.problem, self.given, scope)
    }

    /// Positions times states of it.
    fn cost(&self, scope: &Scope) -> usize {
        let Shape { dstate, seqlen, .. } = self.problem.shape;
        let states = if scope.state.is_some() { 1 } else { dstate };
        scope.channels.len() * seqlen * states * (1 + usize::from(self.form.is_bidirectional()))
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
