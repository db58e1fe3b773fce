//! How well a hypothesis fits a gradient.

use super::Search;
use super::backward::Backward;
use super::rows::{channels, elements, index_along, width};
use crate::judge::diagnose::{FEWEST_TOLD, NEARLY, NEARLY_ROUNDED, NEEDED};
use crate::judge::numbers;
use crate::judge::ulp::Format;
use crate::program::adjoint::Derivation;
use crate::program::edit::{Edit, Patch};
use crate::program::{Axis, Id, Real, Set};
use crate::tensor::GradientName;

/// The most that a program's own bounds may be wider than those of what was to be computed, scaled to its size.
const WIDEST: f64 = 4.0;
/// What a gradient that is to be 0 may be off, of a program's largest value: 64 roundings to f32.
const OF_NOTHING: f64 = 1.0 / (1u64 << 18) as f64;
/// Bits by which the evidence is to be worth more than an edit costs: the hypotheses that are tried, and then some.
const MARGIN: f64 = 16.0;
/// Bits of evidence of another gradient that an edit which explains one is to agree with, and elements that tell a simple number.
const AGREED: f64 = 8.0;
const FEW_TOLD: usize = 3;
/// Steps to a number, what may be left of the error then, and numbers that are tried.
const STEPS: usize = 3;
const LEFT: f64 = 0.05;
const TRIED: usize = 3;

/// A backward pass, and edits of it; in a part of a gradient alone, or in all of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hypothesis {
    pub writing: Backward,
    pub edits: [Option<Edit>; 2],
    pub part: Option<Part>,
}

impl Hypothesis {
    pub(super) fn edits(&self) -> impl Iterator<Item = Edit> + use<> {
        self.edits.into_iter().flatten()
    }

    pub(super) fn cost(&self) -> f64 {
        let of_edits: f64 = self.edits().map(|edit| edit.cost()).sum();
        self.writing.cost() + of_edits + if self.part.is_some() { 5.0 } else { 0.0 }
    }
}

/// Indices along an axis of a gradient at which alone it is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub axis: Axis,
    pub set: Set,
}

/// How a program fits a gradient: the largest error in units of what a sound kernel of it may be off, the part of the error that it
/// leaves, and the bits of what it explains.
#[derive(Clone, Copy)]
pub struct Fit {
    pub share: f64,
    pub left: f64,
    pub all: f64,
    pub told: usize,
    pub bits: f64,
}

impl Fit {
    const NOTHING: Fit = Fit { share: 0.0, left: 0.0, all: 0.0, told: 0, bits: 0.0 };

    pub(super) fn residual(self) -> f64 {
        (self.left / self.all).sqrt()
    }

    pub(super) fn explains(self, one: &Hypothesis) -> bool {
        // A number that was found in the data explains one element at least.
        let least =
            match (one.edits().any(|edit| edit.has_number()), one.edits().any(|edit| edit.is_fitted())) {
                (true, true) => FEWEST_TOLD,
                (true, false) => FEW_TOLD,
                _ => 1,
            };
        let most = if one.edits().any(|edit| edit.is_fitted()) { NEARLY } else { NEEDED };
        let is_within = match one.edits().any(|edit| edit.rounds()) {
            // What lies next to a rounding boundary may go the other way.
            true => {
                let is_near = self.residual() <= NEARLY_ROUNDED && self.told >= FEWEST_TOLD;
                self.share <= 1.0 && self.residual() <= most || is_near
            }
            false => self.share <= 1.0 && self.residual() <= most,
        };
        let pairs = if one.edits[1].is_some() { MARGIN } else { 0.0 };
        is_within && self.told >= least && self.bits >= one.cost() + MARGIN + pairs
    }

    /// Whether it agrees with what explains another gradient.
    pub(super) fn agrees(self, one: &Hypothesis) -> bool {
        let rounds = one.edits().any(|edit| edit.rounds());
        let is_within =
            self.share <= 1.0 && self.residual() <= NEEDED || rounds && self.residual() <= NEARLY_ROUNDED;
        is_within && self.bits >= AGREED
    }
}

impl Search<'_> {
    /// By how many of its bounds an element is off.
    pub(super) fn error(&self, name: GradientName, index: usize) -> f64 {
        let (got, want) = (&self.case.got[name], &self.case.want[name]);
        let error =
            (got.values[index] - want.values[index]).abs() / self.case.bounds[name][index / want.width];
        if error.is_nan() { f64::INFINITY } else { error }
    }

    /// The same of either part of a complex one.
    pub(super) fn largest(&self, name: GradientName, index: usize) -> f64 {
        let width = width(self.case.problem, name);
        (index..index + width).map(|index| self.error(name, index)).fold(0.0, f64::max)
    }

    /// The gradient of a hypothesis; none where that is the specified one.
    pub(super) fn node(&mut self, name: GradientName, one: &Hypothesis) -> Option<(usize, Id)> {
        let number = self.written(one.writing)?;
        let written = &mut self.written[number];
        let specified = written.of(name)?;
        let mut program = specified.clone();
        for edit in one.edits() {
            program = edit.apply(&mut written.graph, &program);
        }
        let is_specified = one.writing.form.is_none() && one.writing.derivation == Derivation::default();
        let is_changed = program.out != specified.out || !is_specified && one.edits[0].is_none();
        is_changed.then_some((number, program.out))
    }

    /// How a hypothesis fits a failing gradient; none where it changes nothing. A hasty one ends with the first row that refutes it.
    pub(super) fn fit(&mut self, at: usize, one: &Hypothesis, hasty: bool) -> Option<Fit> {
        let name = self.failing[at].name;
        let (number, id) = self.node(name, one)?;
        let mut fit = Fit::NOTHING;
        let rounds = one.edits().any(|edit| edit.rounds());
        for row in 0..self.failing[at].rows.len() {
            let channel = self.failing[at].rows[row];
            self.fit_row((number, id), (name, one.part), channel, &mut fit);
            let is_refuted = fit.share.is_nan() || fit.share > 1.0;
            if hasty && is_refuted && !(rounds && fit.residual() <= NEEDED) {
                break;
            }
        }
        self.written[number].forget();
        Some(fit)
    }

    /// Values and own bounds of a row, at indices of its elements.
    pub(super) fn values(
        &mut self,
        (number, id): (usize, Id),
        (name, part): (GradientName, Option<Part>),
        at: (usize, usize),
    ) -> Vec<(usize, f64, f64)> {
        let (problem, shape) = (self.case.problem, self.case.problem.shape);
        self.case.work.add(shape.seqlen * shape.dstate * channels(problem, name));
        let written = &mut self.written[number];
        let column = written.evaluator.column(&written.graph, id, at);
        let width = width(problem, name);
        let mut values = Vec::new();
        for (index, (l, n)) in elements(problem, name, at) {
            if part.is_some_and(|part| !part.set.contains(index_along(part.axis, at, (l, n)))) {
                continue;
            }
            let (value, error) = column.at(l, n);
            values.push((index, value.re, error));
            if width == 2 {
                values.push((index + 1, value.im, error));
            }
        }
        if !self.keeps {
            written.evaluator.truncate(0);
        }
        values
    }

    fn fit_row(
        &mut self,
        node: (usize, Id),
        (name, part): (GradientName, Option<Part>),
        at: (usize, usize),
        fit: &mut Fit,
    ) {
        let values = self.values(node, (name, part), at);
        let (got, want) = (&self.case.got[name], &self.case.want[name]);
        let format = Format::for_input(got.element);
        let largest = |all: &mut dyn Iterator<Item = f64>| {
            all.map(f64::abs).filter(|size| size.is_finite()).fold(0.0, f64::max)
        };
        let of_model = largest(&mut values.iter().map(|(_, value, _)| *value));
        let of_want = largest(&mut values.iter().map(|(index, ..)| want.values[*index]));
        for (index, model, error) in values {
            let (got, want, judged) =
                (got.values[index], want.values[index], self.case.bounds[name][index / want.width]);
            let rounding = |x: f64| if x.is_finite() { format.rounding_error(x) } else { 0.0 };
            // A larger value than was to be computed is off by more, and stored with a larger rounding.
            let bound = judged + (rounding(model.abs() + judged) - rounding(want)).max(0.0);
            let unit = if of_want > 0.0 {
                bound * (of_model / of_want).max(1.0)
            } else {
                bound.max(of_model * OF_NOTHING)
            };
            let own = unit.max(error.min(WIDEST * unit));
            let is_beyond = model.is_nan() || model.abs() >= format.overflow_threshold();
            let (off, specified) = match (got.is_finite(), !is_beyond) {
                (true, true) => ((got - model).abs(), (got - want).abs()),
                (false, false) => (0.0, want.abs()),
                _ => (f64::INFINITY, f64::INFINITY),
            };
            let of_own = |off: f64| if off == 0.0 { 0.0 } else { off / own };
            fit.share = fit.share.max(of_own(off));
            fit.left += of_own(off).powi(2);
            fit.all += of_own(specified).powi(2);
            // What is no number proves nothing by itself, nor does a bound that is wider than the error.
            if got.is_finite() && of_own(specified) > 1.0 {
                fit.told += usize::from(got.abs() > own || got == model);
                fit.bits += of_own(specified).log2();
            }
        }
    }

    /// A hypothesis with numbers that explain the most wrong row, by least squares.
    pub(super) fn numbers(&mut self, at: usize, one: Hypothesis) -> Vec<Hypothesis> {
        let (name, channel) = (self.failing[at].name, self.failing[at].rows[0]);
        let with = |by: f64| {
            let with = |edit: Edit| match edit.patch {
                Patch::Turned(_) => Edit { patch: Patch::Turned(Real::new(by)), ..edit },
                Patch::Plus(term, _) => Edit { patch: Patch::Plus(term, Real::new(by)), ..edit },
                _ => Edit { patch: Patch::Scaled(Real::new(by)), ..edit },
            };
            Hypothesis { edits: one.edits.map(|edit| edit.map(with)), ..one }
        };
        let residuals = |by: f64, search: &mut Self| -> Vec<f64> {
            let Some((number, id)) = search.node(name, &with(by)) else { return Vec::new() };
            let values = search.values((number, id), (name, one.part), channel);
            search.written[number].forget();
            let (got, bounds) = (&search.case.got[name], &search.case.bounds[name]);
            let off = |(index, value, _): (usize, f64, f64)| {
                (got.values[index] - value) / bounds[index / got.width]
            };
            values.into_iter().map(off).collect()
        };
        let squares = |of: &[f64]| of.iter().map(|r| r * r).sum::<f64>();
        // Not quite what is specified, which is no change.
        let is_term = one.edits().any(|edit| matches!(edit.patch, Patch::Plus(..)));
        let start = if is_term { 1e-9 } else { 1.0 + 1e-9 };
        let (mut by, mut now) = (start, residuals(start, self));
        let all = squares(&now);
        for _ in 0..STEPS {
            let moved = residuals(by + 0.5, self);
            let slopes: Vec<f64> =
                moved.iter().zip(&now).map(|(after, before)| (after - before) / 0.5).collect();
            let of_slope = squares(&slopes);
            let step = -slopes.iter().zip(&now).map(|(slope, r)| slope * r).sum::<f64>() / of_slope;
            if !step.is_finite() {
                return Vec::new();
            }
            by += step;
            now = residuals(by, self);
            let left = squares(&now);
            if left <= LEFT * LEFT * all || left <= now.len() as f64 {
                let distance = (2.0 / of_slope.sqrt() / by.abs().max(1e-12)).min(0.1);
                let known = numbers::near(by, distance, self.case.problem.shape.dstate);
                let is_number = |value: f64| value.abs() > 1e-6 && (is_term || value != 1.0);
                let values = known.into_iter().map(|known| known.value).filter(|value| is_number(*value));
                return values.take(TRIED).map(with).collect();
            }
        }
        Vec::new()
    }
}
