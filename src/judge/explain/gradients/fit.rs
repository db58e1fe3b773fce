//! How well a hypothesis fits a gradient.

use super::hypothesis::{self, Base, Hypothesis};
use super::part::Part;
use super::rows::{self, Row, channels, width};
use super::{Case, Search};
use crate::judge::diagnose::{FEWEST_TOLD, NEARLY, NEARLY_ROUNDED, NEEDED};
use crate::judge::explain::number;
use crate::judge::numbers;
use crate::judge::ulp::Format;
use crate::program::edit::{Edit, Patch};
use crate::program::{Id, Symbol};
use crate::tensor::GradientName;

/// The most that a program's own bounds may be wider than those of what was to be computed, scaled to its size.
const WIDEST: f64 = 4.0;
/// What a gradient that is to be 0 may be off, of a program's largest value: 64 roundings to f32.
const OF_NOTHING: f64 = 1.0 / (1u64 << 18) as f64;
/// Wrong elements for each one that a rounding may have gone the other way in.
const MISSED: usize = 8;
/// Bits by which the evidence is to be worth more than an edit costs: the hypotheses that are tried, and then some.
const MARGIN: f64 = 16.0;
/// Bits of evidence of another gradient that an edit which explains one is to agree with, and elements that tell a simple number.
const AGREED: f64 = 3.0;
const FEW_TOLD: usize = 3;

/// How a program fits a gradient: the largest error in units of what a sound kernel of it may be off, the part of the error that it
/// leaves, and the bits of what it explains.
#[derive(Clone, Copy)]
pub struct Fit {
    pub share: f64,
    pub left: f64,
    pub all: f64,
    pub told: usize,
    pub bits: f64,
    /// Elements that are beyond the specified bounds, and those that are beyond the program's own.
    pub wrong: usize,
    pub missed: usize,
}

impl Fit {
    const NOTHING: Fit = Fit { share: 0.0, left: 0.0, all: 0.0, told: 0, bits: 0.0, wrong: 0, missed: 0 };

    pub(super) fn residual(self) -> f64 {
        (self.left / self.all).sqrt()
    }

    pub(super) fn explains(self, one: &Hypothesis) -> bool {
        let is_fitted = one.changes().any(|change| change.is_fitted());
        // A number that was found in the data explains one element at least.
        let least = match (one.changes().any(|change| change.has_number()), is_fitted) {
            (true, true) => FEWEST_TOLD,
            (true, false) => FEW_TOLD,
            _ => 1,
        };
        let is_within = match one.rounds() {
            // What lies next to a rounding boundary may go the other way.
            true => {
                // It seldom does.
                let is_seldom = MISSED * self.missed <= self.wrong;
                let is_near = self.residual() <= NEARLY_ROUNDED && self.told >= FEWEST_TOLD && is_seldom;
                self.share <= 1.0 && self.residual() <= NEEDED || is_near
            }
            false => self.share <= 1.0 && self.residual() <= if is_fitted { NEARLY } else { NEEDED },
        };
        let pairs = if one.is_pair() { MARGIN } else { 0.0 };
        is_within && self.told >= least && self.bits >= one.cost() + MARGIN + pairs
    }

    /// Whether it agrees with what explains another gradient.
    pub(super) fn agrees(self, one: &Hypothesis) -> bool {
        let is_within = self.share <= 1.0 && self.residual() <= NEEDED
            || one.rounds() && self.residual() <= NEARLY_ROUNDED;
        is_within && self.bits >= AGREED
    }
}

/// The middle one of these, or 0 where there are none.
fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

/// By how many of its bounds an element is off, the larger part of a complex one.
pub fn largest(case: &Case, name: GradientName, index: usize) -> f64 {
    let (got, want, bounds) = (&case.got[name], &case.want[name], &case.bounds[name]);
    let error = |index: usize| {
        let error = (got.values[index] - want.values[index]).abs() / bounds[index / want.width];
        if error.is_nan() { f64::INFINITY } else { error }
    };
    (index..index + width(case.problem, name)).map(error).fold(0.0, f64::max)
}

impl Search<'_> {
    /// The gradient of a way of writing, without a change.
    pub(super) fn specified(&mut self, base: Base, name: GradientName) -> Option<(usize, Id)> {
        let number = self.written(base)?;
        Some((number, self.written[number].program.find(Symbol::Gradient(name))?))
    }

    /// The gradient of a hypothesis; none where that is the specified one, or that of its base.
    pub(super) fn node(&mut self, name: GradientName, one: &Hypothesis) -> Option<(usize, Id)> {
        let (number, before) = self.specified(one.base, name)?;
        let Some(edit) = one.change else {
            return (one.base != Base::default()).then_some((number, before));
        };
        let written = &mut self.written[number];
        let program = written.of(name)?;
        let id = edit.apply(&mut written.graph, &program).out;
        if id == before {
            written.forget();
        }
        (id != before).then_some((number, id))
    }

    /// How a hypothesis fits a failing gradient; none where it changes nothing. It ends with the first row that refutes it.
    pub(super) fn fit(&mut self, at: usize, one: &Hypothesis) -> Option<Fit> {
        let name = self.failing[at].name;
        let (number, id) = self.node(name, one)?;
        let mut fit = Fit::NOTHING;
        let rounds = one.rounds();
        let rows = self.failing[at].rows.clone();
        for row in rows.iter() {
            self.fit_row((number, id), (name, one.part), row, &mut fit);
            let is_refuted = fit.share.is_nan() || fit.share > 1.0;
            if is_refuted && !(rounds && fit.residual() <= NEEDED) {
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
        row: &Row,
    ) -> Vec<(usize, f64, f64)> {
        let (problem, shape) = (self.case.problem, self.case.problem.shape);
        let of_position = if problem.is_dense() { shape.dstate.pow(3) } else { shape.dstate };
        self.case.work.add(shape.seqlen * of_position * channels(problem, name));
        let written = &mut self.written[number];
        let cells = rows::cells(&mut written.evaluator, (&written.graph, id), (problem, name), row);
        let width = width(problem, name);
        // A limit is one of a value of the specified program, whose nodes all ways of writing have.
        let limited = match part {
            Some(Part::Limit { of, .. }) => Some(written.evaluator.column(&written.graph, of, row.at)),
            _ => None,
        };
        let value = |l: usize| limited.as_ref().map_or(0.0, |limited| limited.at(l, 0).0.re);
        let mut values = Vec::new();
        for (element, (of, error)) in row.elements.iter().zip(cells) {
            if part.is_some_and(|part| !part.has(row.at, element, value(element.at.0))) {
                continue;
            }
            values.push((element.index, of.re, error));
            if width == 2 {
                values.push((element.index + 1, of.im, error));
            }
        }
        self.keep_few(number, name, row.at);
        values
    }

    fn fit_row(
        &mut self,
        node: (usize, Id),
        (name, part): (GradientName, Option<Part>),
        row: &Row,
        fit: &mut Fit,
    ) {
        let values = self.values(node, (name, part), row);
        let (got, want) = (&self.case.got[name], &self.case.want[name]);
        let format = Format::for_input(got.element);
        let largest = |all: &mut dyn Iterator<Item = f64>| {
            all.map(f64::abs).filter(|size| size.is_finite()).fold(0.0, f64::max)
        };
        let of_model = largest(&mut values.iter().map(|(_, value, _)| *value));
        let of_want = largest(&mut values.iter().map(|(index, ..)| want.values[*index]));
        // By how much values of the row may be off, relative: what is computed in the place of nothing is, too.
        let relative = |(index, ..): &(usize, f64, f64)| {
            self.case.bounds[name][index / want.width] / want.values[*index].abs()
        };
        let relative = middle(values.iter().map(relative).filter(|share| share.is_finite()));
        for (index, model, error) in values {
            let (got, want, judged) =
                (got.values[index], want.values[index], self.case.bounds[name][index / want.width]);
            let rounding = |x: f64| if x.is_finite() { format.rounding_error(x) } else { 0.0 };
            // A larger value than was to be computed is off by more, and stored with a larger rounding.
            let bound = judged + (rounding(model.abs() + judged) - rounding(want)).max(0.0);
            let unit = if of_want > 0.0 {
                // As much as the value was off that it has grown from, and no more than the program says.
                let grown = if want == 0.0 { 0.0 } else { judged * (model / want).abs() };
                let grown = grown.max(relative * model.abs()).min(error);
                let of_row = bound * (of_model / of_want).max(1.0);
                if model.abs() > want.abs() { of_row.max(grown) } else { of_row }
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
            fit.wrong += usize::from(of_own(specified) > 1.0);
            fit.missed += usize::from(of_own(off) > 1.0);
            fit.left += of_own(off).powi(2);
            fit.all += of_own(specified).powi(2);
            // What is no number proves nothing by itself, nor does a bound that is wider than the error.
            if got.is_finite() && of_own(specified) > 1.0 {
                fit.told += usize::from(got.abs() > own || got == model);
                fit.bits += of_own(specified).log2();
            }
        }
    }

    /// A hypothesis with numbers that explain the most wrong row.
    pub(super) fn numbers(&mut self, at: usize, one: Hypothesis) -> Vec<Hypothesis> {
        let name = self.failing[at].name;
        let rows = self.failing[at].rows.clone();
        let with = |by: f64| Hypothesis { change: one.change.map(|edit| hypothesis::with(edit, by)), ..one };
        let mut residuals = |by: f64| -> Option<Vec<f64>> {
            let node = self.node(name, &with(by)).or_else(|| self.specified(one.base, name))?;
            let values = self.values(node, (name, one.part), &rows[0]);
            self.written[node.0].forget();
            let (got, bounds) = (&self.case.got[name], &self.case.bounds[name]);
            let off = |(index, value, _): (usize, f64, f64)| {
                (got.values[index] - value) / bounds[index / got.width]
            };
            let all: Vec<f64> = values.into_iter().map(off).collect();
            all.iter().all(|r| r.is_finite()).then_some(all)
        };
        // What is added is nothing in the specified pass, and a factor 1.
        let is_term = matches!(one.change, Some(Edit { patch: Patch::Plus(..), .. }));
        let start = if is_term { 0.0 } else { 1.0 };
        let Some((by, distance)) = number::least_squares(&mut residuals, (start, start), number::LEFT) else {
            return Vec::new();
        };
        let is_number = |value: f64| value.abs() > 1e-6 && (is_term || value != 1.0);
        let known = numbers::near(by, distance, self.case.problem.shape.dstate);
        let values = known.into_iter().map(|known| known.value).filter(|value| is_number(*value));
        values.take(number::TRIED).map(with).collect()
    }
}
