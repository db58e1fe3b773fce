//! Errors of grad.z together, where y + D·u is kept in 16 bits between the passes ([`crate::problem::stages`]).
//!
//! T and its weights are those of [`super`]. An element of grad.z has two roundings of its own, of what is kept and of what is stored:
//! the part of its bound that it has beyond that of f32 is the most that the first may come to, r. So V = Σ g²(r² + store²), as often as
//! equal values occur up to [`super::ALIKE`] of a unit; and D is what f32 allows, or of a likeness [`super::CAREFUL`] times the level of
//! rounding. A factor and an offset are tried; the states alone give no direction of their own.
//!
//! As large as such roundings are errors with a mean square of Σ(r²/(8 ln 2) + store²/3) in units of the bounds, up to a factor of
//! [`super::AS_LARGE`]: a rounding of a mantissa m is spread evenly over ±1/m of a unit, log₂ m over [0, 1), which makes
//! ⅓∫m⁻³dm / ln 2 = 1/(8 ln 2); a stored value's is spread evenly over its bound.

use std::f64::consts::LN_2;

use super::roundings::alike;
use super::{AS_LARGE, Asked, CAREFUL, Kind, Lean, Sums};
use crate::judge::budget::Bounds;
use crate::judge::budget::gradient::{Pass, walk};
use crate::problem::stages::StageType;
use crate::problem::{Stage, Stages};
use crate::promise::Promise;
use crate::tensor::{GradientName, Tensor};

/// grad.z, and its bounds where y is kept and where all is in f32.
struct Kept<'a> {
    got: &'a Tensor<f32>,
    stages: Stages,
    by_stages: Bounds,
    in_f32: Bounds,
}

/// How far the errors of a pass's grad.z go one way by more than roundings of its contract's stages do: of several findings that of
/// most elements.
pub fn leaning_of_z(pass: Pass, got: &Tensor<f32>) -> Option<Lean> {
    Kept::new(pass, got, pass.contract.arithmetic.stages).leaning(Asked::Possibility)
}

/// The narrower of two types in which y may have been kept so that grad.z is this, and the largest share of its bounds then; none where
/// its errors are no such roundings.
pub fn kept_y(pass: Pass, got: &Tensor<f32>) -> Option<(StageType, f64)> {
    [StageType::F16, StageType::Bf16].into_iter().find_map(|kept| {
        let all = Kept::new(pass, got, Stages::alone(Stage::Y, kept));
        let share = all.largest_share();
        (share <= 1.0 && all.looks_like()).then_some((kept, share))
    })
}

impl<'a> Kept<'a> {
    fn new(pass: Pass, got: &'a Tensor<f32>, stages: Stages) -> Self {
        let bounds = |stages| {
            let contract = Promise::recorded(stages).contract;
            let mut of_z = Bounds::default();
            walk(Pass { contract: &contract, ..pass }, &|| {}, &mut |name, _, bounds| {
                if name == GradientName::Z {
                    of_z.extend(bounds);
                }
            });
            of_z
        };
        Kept { got, stages, by_stages: bounds(stages), in_f32: bounds(stages.in_f32()) }
    }

    fn error(&self, i: usize) -> f64 {
        f64::from(self.got.values[i]) - self.by_stages.value[i]
    }

    /// Infinite for what is no number.
    fn largest_share(&self) -> f64 {
        let shares = (0..self.got.values.len()).map(|i| self.error(i).abs() / self.by_stages.bound[i]);
        shares.fold(0.0, |most, share| if share.is_nan() { f64::INFINITY } else { share.max(most) })
    }

    /// 1/bound², or 0 where an element says nothing.
    fn weight(&self, i: usize) -> f64 {
        let (error, bound) = (self.error(i), self.by_stages.bound[i]);
        if error.is_finite() && bound.is_finite() && bound > 0.0 { bound.powi(-2) } else { 0.0 }
    }

    /// The squares of what is kept and of what is stored, at most.
    fn squares(&self, i: usize) -> [f64; 2] {
        let own = |bounds: &Bounds| bounds.bound[i] - bounds.store[i];
        [own(&self.by_stages) - own(&self.in_f32), self.by_stages.store[i]].map(|most| most * most)
    }

    fn leaning(&self, asked: Asked) -> Option<Lean> {
        let (all, len) = (self.got.values.len(), self.got.shape[2].max(1));
        let mut found = Vec::new();
        for kind in [Kind::Factor, Kind::Offset] {
            let mut whole = Sums::default();
            for (row, first) in (0..all).step_by(len).enumerate() {
                let sums = self.sums(kind, first..first + len, asked);
                whole.absorb(&sums);
                found.extend(sums.lean(kind, Some(row), asked).filter(|_| asked == Asked::Possibility));
            }
            found.extend(whole.lean(kind, None, asked));
        }
        found.into_iter().max_by_key(|lean| lean.elements)
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
            sums.error += weight * self.error(i);
            sums.whole += weight * way;
            sums.coherent += weight.abs()
                * match asked {
                    Asked::Possibility => self.in_f32.bound[i] - self.in_f32.store[i],
                    Asked::Likeness => CAREFUL * (self.in_f32.rounding[i] - self.in_f32.store[i]),
                };
            sums.variance += weight * weight * self.squares(i).into_iter().sum::<f64>();
            sums.elements += 1;
        }
        sums.variance *= alike(&weights, &self.by_stages.value[row], self.stages);
        sums
    }

    fn looks_like(&self) -> bool {
        if self.leaning(Asked::Likeness).is_some() {
            return false;
        }
        let (mut seen, mut expected) = (0.0, 0.0);
        for i in (0..self.got.values.len()).filter(|i| self.weight(*i) > 0.0) {
            let [kept, stored] = self.squares(i);
            seen += self.error(i).powi(2) * self.weight(i);
            expected += (kept / (8.0 * LN_2) + stored / 3.0) * self.weight(i);
        }
        (0.5 * f64::ln(seen / expected)).abs() <= AS_LARGE.ln()
    }
}
