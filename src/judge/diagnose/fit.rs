//! How well a model fits what was recorded, by the rule of [`super`]'s documentation.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Case, FEWEST_TOLD, NEEDED};
use crate::judge::explain::Channel;
use crate::sorted;
use crate::tensor::TensorName;

/// Elements that a position is worth at which a model leaves the range as a channel does: one of as many as it has.
const POSITION: usize = 2;

/// How well a model fits.
#[derive(Clone, Copy, Debug)]
pub(in crate::judge) struct Fit {
    pub share: f64,
    pub residual: f64,
    /// Whether the model's bounds are narrower than the error in a few at least of the elements that are beyond the specified
    /// method's: a model whose states explode at once allows anything.
    pub tells: bool,
    /// Elements that are beyond the specified method's bound, and those of them in which the model's bound is narrower than the error.
    pub wrong: usize,
    pub told: usize,
    /// Different positions at which channels leave the range as the model does.
    pub positions: usize,
}

impl Fit {
    pub fn explains(self) -> bool {
        self.share <= 1.0 && self.residual <= NEEDED
    }
}

/// Judged channels, the one with the largest finite error of these tensors in units of its bound first, as most models fail there
/// at once; then those that fail by what is no number alone.
pub(in crate::judge) fn channels_by_error(case: &Case, tensors: &[TensorName]) -> Vec<usize> {
    let rows = case.problem.judged_channels.len();
    let mut errors = vec![0.0f64; rows];
    for (name, got, want) in case.got.zip(case.want).filter(|(name, ..)| tensors.contains(name)) {
        let bounds = &case.budget.tensors[name].bound;
        let row_len = got.values.len() / rows.max(1);
        for (i, (got, exact)) in got.values.iter().zip(&want.values).enumerate() {
            let error = (got - exact).abs() / bounds[i / want.width];
            let worst = &mut errors[i / row_len];
            *worst = worst.max(if error.is_finite() { error } else { 1.0 });
        }
    }
    let mut order: Vec<usize> = (0..rows).collect();
    sorted::by_number(&mut order, &|&row| -errors[row]);
    order
}

/// The sums behind a [`Fit`].
#[derive(Default)]
struct FitSums {
    share: f64,
    model: f64,
    specified: f64,
    /// Elements that are beyond the specified method's bound, and those of them of which the model's says something.
    wrong: usize,
    told: usize,
    /// Elements that are no numbers, where the model leaves the range, and how far that is off the specified method.
    lost: usize,
    lost_of: f64,
    /// First positions from which on outputs of a channel are no numbers exactly where the model leaves the range, each channel's but 0.
    agreeing: Vec<usize>,
}

impl FitSums {
    fn add(
        &mut self,
        got: f64,
        (model, model_bound): (f64, f64),
        (want, want_bound): (f64, f64),
        beyond: bool,
    ) {
        if beyond && !got.is_finite() {
            // An infinity where the specified method has one, too, says nothing.
            if want.abs() < f64::from(f32::MAX) {
                self.lost += usize::from(want.abs() > want_bound);
                self.lost_of += (want / want_bound).powi(2);
            }
            return;
        }
        let off = |value: f64| if got.is_finite() { (got - value).abs() } else { f64::INFINITY };
        self.add_errors(off(model), model_bound, off(want), want_bound);
    }

    /// Adds the distances from the model and from the specified method, each with its bound.
    fn add_errors(&mut self, error: f64, model_bound: f64, specified: f64, want_bound: f64) {
        let unit = model_bound.max(want_bound);
        if specified > want_bound {
            self.wrong += 1;
            self.told += usize::from(model_bound < specified);
        }
        let share = if error == 0.0 { 0.0 } else { error / model_bound };
        self.share = if share.is_nan() { f64::INFINITY } else { self.share.max(share) };
        self.model += (error / unit).powi(2);
        self.specified += (specified / unit).powi(2);
    }

    fn fit(&self) -> Fit {
        let fewest = FEWEST_TOLD.min(self.wrong + self.lost);
        let positions = self.agreeing.iter().collect::<HashSet<_>>().len();
        let tells = self.told + self.agreeing.len() + POSITION * positions >= fewest;
        let residual = match (self.lost, self.told) {
            (1.., _) if !tells => f64::INFINITY,
            // All of the error that the model says something of.
            (1.., 0) if self.share <= 1.0 => (self.model / (self.specified + self.lost_of)).sqrt(),
            _ => (self.model / self.specified).sqrt(),
        };
        let residual = if residual.is_nan() { f64::INFINITY } else { residual };
        let (wrong, told) = (self.wrong, self.told);
        Fit { share: self.share, residual, tells, wrong, told, positions }
    }
}

/// Fits a model to these tensors, channel by channel; with `hasty`, only as long as it may still explain the case.
pub(in crate::judge) fn fit<'a>(
    case: &Case,
    tensors: &[TensorName],
    order: &[usize],
    model: impl Fn(usize) -> Cow<'a, Channel>,
    hasty: bool,
) -> Fit {
    let mut sums = FitSums::default();
    for &row in order {
        let model = model(row);
        for (name, got, want) in case.got.zip(case.want).filter(|(name, ..)| tensors.contains(name)) {
            let (modelled, bounds) = (&model.tensors[name], &case.budget.tensors[name].bound);
            let lost_before = sums.lost;
            for (i, &value) in modelled.values.iter().enumerate() {
                let (at, element) = (row * modelled.values.len() + i, i / want.width);
                let bound = bounds[row * modelled.bound.len() + element];
                let specified = (want.values[at], bound);
                let beyond = modelled.beyond[element];
                sums.add(got.values[at], (value, modelled.bound[element]), specified, beyond);
            }
            if name == TensorName::Out && sums.lost > lost_before && modelled.beyond.contains(&false) {
                let own = got.values[row * modelled.beyond.len()..].iter();
                let agrees = own.zip(&modelled.beyond).all(|(got, beyond)| got.is_finite() != *beyond);
                sums.agreeing.extend(modelled.beyond.iter().position(|beyond| *beyond).filter(|_| agrees));
            }
        }
        if hasty && sums.share > 1.0 {
            break;
        }
    }
    sums.fit()
}
