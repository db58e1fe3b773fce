//! Errors of gradients together, where y + D·u is kept in 16 bits between the passes, or e^x is CUDA's approximation
//! ([`crate::problem::stages`]).
//!
//! T and its weights are those of [`super`]. An element has two errors of its own, of what is stated and of what is stored: the part of
//! its bound that it has beyond that of f32 is the most that the first may come to, r. So V = Σ g²(r² + store²), as often as equal
//! values occur up to [`super::ALIKE`] of a unit; and D is what f32 allows, or of a likeness [`super::CAREFUL`] times the level of
//! rounding. A factor and an offset are tried; the states alone give no direction of their own. Of a verdict that is grad.z made of a kept
//! y alone: elsewhere r is shared by elements, and approximations are systematic.
//!
//! As large as roundings of y are errors with a mean square of Σ(r²/(8 ln 2) + store²/3) in units of the bounds, up to a factor of
//! [`super::AS_LARGE`]: a rounding of a mantissa m is spread evenly over ±1/m of a unit, log₂ m over [0, 1), which makes
//! ⅓∫m⁻³dm / ln 2 = 1/(8 ln 2); a stored value's is spread evenly over its bound.

use std::f64::consts::LN_2;

use super::roundings::alike;
use super::{AS_LARGE, Asked, CAREFUL, Kind, Lean, Sums};
use crate::judge::budget::Bounds;
use crate::judge::budget::gradient::{Pass, bounds};
use crate::judge::diagnose::Work;
use crate::judge::verdict::quotient;
use crate::problem::{Shape, Stages};
use crate::promise::Promise;
use crate::tensor::{GradientName, Gradients, Named, Tensor};

/// One gradient, with its bounds by some stages and with all of it in f32.
struct Errors<'a> {
    got: &'a Tensor<f32>,
    stages: Stages,
    by_stages: &'a Bounds,
    in_f32: &'a Bounds,
}

/// How far the errors of a pass's grad.z go one way by more than roundings of its contract's stages do: of several findings that of
/// most elements.
pub fn leaning_of_z(pass: Pass, got: &Tensor<f32>) -> Option<Lean> {
    let stages = pass.contract.arithmetic.stages;
    let [by_stages, in_f32] = [stages, stages.in_f32()].map(|stages| bounds_by(pass, stages));
    let z = GradientName::Z;
    Errors { got, stages, by_stages: &by_stages[z], in_f32: &in_f32[z] }.leaning(Asked::Possibility)
}

/// For each of these gradients, the first of some stages whose bounds it is within and whose errors it looks like, by their place in the
/// list, and the largest share of such a bound; as far as the work goes.
pub fn explaining(
    pass: Pass,
    got: &Gradients<f32>,
    failing: &[GradientName],
    all: &[Stages],
    work: &Work,
) -> Named<(usize, f64), GradientName> {
    let mut found: Named<(usize, f64), GradientName> = Named::default();
    let in_f32 = bounds_by(pass, Stages::NONE);
    let Shape { batch, dim, dstate, seqlen, .. } = pass.problem.shape;
    for (place, &stages) in all.iter().enumerate() {
        // A y in 16 bits is in grad.z alone.
        let touched = |name: &&GradientName| stages.fast.is_some() || **name == GradientName::Z;
        let asked: Vec<GradientName> =
            failing.iter().filter(touched).copied().filter(|name| found.get(*name).is_none()).collect();
        if asked.is_empty() || work.is_over() {
            continue;
        }
        work.add(batch * dim * dstate * seqlen);
        let by_stages = bounds_by(pass, stages);
        for name in asked {
            let Some(got) = got.get(name) else { continue };
            let errors = Errors { got, stages, by_stages: &by_stages[name], in_f32: &in_f32[name] };
            let share = errors.largest_share();
            if share <= 1.0 && errors.looks_like() {
                found.insert(name, (place, share));
            }
        }
    }
    found
}

fn bounds_by(pass: Pass, stages: Stages) -> Named<Bounds, GradientName> {
    bounds(Pass { contract: &Promise::recorded(stages).contract, ..pass }).tensors
}

impl Errors<'_> {
    fn error(&self, i: usize) -> f64 {
        f64::from(self.got.values[i]) - self.by_stages.value[i]
    }

    fn bound(&self, i: usize) -> f64 {
        self.by_stages.bound[i / self.got.width]
    }

    /// Infinite for what is no number, and where nothing bounds an error, which is no explanation of it.
    fn largest_share(&self) -> f64 {
        let share = |i| match (self.error(i).abs(), self.bound(i)) {
            (error, bound) if error.is_finite() && bound.is_finite() => quotient(error, bound),
            _ => f64::INFINITY,
        };
        (0..self.got.values.len()).map(share).fold(0.0, f64::max)
    }

    /// 1/bound², or 0 where an element says nothing.
    fn weight(&self, i: usize) -> f64 {
        let (error, bound) = (self.error(i), self.bound(i));
        // Padding has no errors, and next to no bound.
        let says = error.is_finite() && bound.is_finite() && bound > f64::from(f32::MIN_POSITIVE);
        if says { bound.powi(-2) } else { 0.0 }
    }

    /// The squares of what is stated and of what is stored, at most.
    fn squares(&self, i: usize) -> [f64; 2] {
        let at = i / self.got.width;
        let own = |bounds: &Bounds| bounds.bound[at] - bounds.store[at];
        [own(self.by_stages) - own(self.in_f32), self.by_stages.store[at]].map(|most| most * most)
    }

    fn leaning(&self, asked: Asked) -> Option<Lean> {
        let all = self.got.values.len();
        let len = if asked == Asked::Possibility { self.got.shape[2].max(1) } else { all };
        let of = |kind: Kind| {
            let rows =
                (0..all).step_by(len.max(1)).map(move |first| self.sums(kind, first..first + len, asked));
            Sums::leaning(rows, kind, asked)
        };
        [Kind::Factor, Kind::Offset].into_iter().flat_map(of).max_by_key(|lean| lean.elements)
    }

    fn sums(&self, kind: Kind, row: std::ops::Range<usize>, asked: Asked) -> Sums {
        let (mut sums, mut weights) = (Sums::default(), Vec::with_capacity(row.len()));
        for i in row.clone() {
            let way = if kind == Kind::Factor { self.by_stages.value[i] } else { 1.0 };
            let weight = way * self.weight(i);
            weights.push(weight);
            if weight == 0.0 {
                continue;
            }
            let at = i / self.got.width;
            let coherent = match asked {
                Asked::Possibility => self.in_f32.bound[at] - self.in_f32.store[at],
                Asked::Likeness => CAREFUL * (self.in_f32.rounding[at] - self.in_f32.store[at]),
            };
            sums.add((weight, way), self.error(i), coherent);
            sums.variance += weight * weight * self.squares(i).into_iter().sum::<f64>();
        }
        sums.variance *= alike(&weights, &self.by_stages.value[row], self.stages);
        sums
    }

    fn looks_like(&self) -> bool {
        if self.leaning(Asked::Likeness).is_some() {
            return false;
        }
        // Errors that are documented are the largest there may be, and no size that they have.
        if self.stages.in_f32() == self.stages {
            return true;
        }
        let (mut seen, mut expected) = (0.0, 0.0);
        for i in (0..self.got.values.len()).filter(|i| self.weight(*i) > 0.0) {
            let [stated, stored] = self.squares(i);
            seen += self.error(i).powi(2) * self.weight(i);
            expected += (stated / (8.0 * LN_2) + stored / 3.0) * self.weight(i);
        }
        (0.5 * f64::ln(seen / expected)).abs() <= AS_LARGE.ln()
    }
}
