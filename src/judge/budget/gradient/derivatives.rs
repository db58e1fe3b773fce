//! One step's derivatives (spec.md §6) in f64, and what a kernel's may be off.
//!
//! Each is a sum of terms c·Δᵐ·f(z). A kernel's f is off by the contract's units of the sum S of what f is made of, without
//! signs: by the identities of spec.md §6, or as automatic differentiation of the published formula has it, whichever comes to
//! more. With ζ and the relative error of Δ as in [`crate::judge::model::step`], ζ moves it by |z f′|, and Δ by
//! |(m + z d/dz) f|, both bounded term by term. What the φ-functions of a plain f32 implementation lose
//! ([`crate::judge::sums`]) is added, and what approximations of eᶻ are stated to be off.

use crate::formula::{Formula, Function, ReadsNow, Transition};
use crate::judge::budget::state::{Lanes, WIDTH};
use crate::judge::lanes::{INVERSE_FACTORIALS, Value};
use crate::judge::model::fast_transition;
use crate::judge::sums;
use crate::problem::Weights;
use crate::promise::Contract;

use super::estimate::Estimate;

/// ∂Ā and ∂h, h the B̄ of B = 1, each by Δ and by A.
#[derive(Clone, Copy)]
pub struct Derivatives<V> {
    pub a_bar_by: [Estimate<V>; 2],
    pub b_bar_by: [Estimate<V>; 2],
    /// What h is a sum of, without signs.
    pub terms: Lanes,
}

/// A function of z: its value, S, and a bound on |z d/dz| of it; what its φ-functions may lose beside.
struct Part<V> {
    value: V,
    sum: Lanes,
    change: Lanes,
    lost: Lanes,
}

/// What all functions are made of, at one z.
struct At<V> {
    z: V,
    size: Lanes,
    /// φ₀…φ₄
    phis: [V; 5],
    /// Their sizes.
    sizes: [Lanes; 5],
    /// What a plain implementation loses of each.
    losses: [Lanes; 5],
    /// (1 − αz)⁻¹
    resolvent: V,
    alpha: f64,
}

/// φ₀…φ₄ (spec.md §1).
#[inline(never)]
fn phis<V: Value<WIDTH>>(z: V) -> [V; 5] {
    let size = z.norm();
    let zero = z.exp();
    // Taylor for φ₄: |z|ᵏ·4!/(k+4)! is below 2⁻⁵³ from k = 16 on. Then φₖ = 1/k! + z·φₖ₊₁.
    let mut four = V::all(0.0);
    for k in (0..17).rev() {
        four = four * z + INVERSE_FACTORIALS[k + 4];
    }
    let three = z * four + INVERSE_FACTORIALS[3];
    let two = z * three + 0.5;
    let series = [zero, z * two + 1.0, two, three, four];
    if size.all_below(1.0) {
        return series;
    }
    let one = (zero - 1.0) / z;
    let two = (one - 1.0) / z;
    let three = (two - 0.5) / z;
    let mut closed = [zero, one, two, three, (three - INVERSE_FACTORIALS[3]) / z];
    for (closed, series) in closed.iter_mut().zip(series) {
        *closed = V::if_less(size, Lanes::ONE, series, *closed);
    }
    closed
}

impl<V: Value<WIDTH>> At<V> {
    #[inline(never)]
    fn new(formula: &Formula, contract: &Contract, z: V) -> Self {
        let phis = if formula.is_rational() { [V::all(0.0); 5] } else { phis(z) };
        let size = z.norm();
        let mut losses = match formula.phis() {
            0 => [Lanes::ZERO; 5],
            _ => sums::phi_errors((contract.sums, contract.arithmetic), size, &phis),
        };
        let alpha = formula.pole().map_or(0.0, |alpha| alpha.value());
        let resolvent = V::all(1.0) / (V::all(1.0) - z * alpha);
        // A plain loop, where a closure for each would move all of them about.
        let mut sizes = [Lanes::ZERO; 5];
        for (size, phi) in sizes.iter_mut().zip(&phis) {
            *size = phi.norm();
        }
        losses[0] = losses[0] + sizes[0].times(fast_transition(contract.arithmetic, z));
        At { z, size, sizes, phis, losses, resolvent, alpha }
    }

    #[inline(never)]
    fn power(&self, k: usize) -> V {
        (0..k).fold(V::all(1.0), |power, _| power * self.z)
    }

    /// |f|
    #[inline(never)]
    fn norm(&self, of: Function) -> Lanes {
        match of {
            Function::Phi(k) => self.sizes[k],
            Function::Power(k) => self.power(k).norm(),
            Function::Resolvent(_) => self.resolvent.norm(),
        }
    }

    /// |z φₖ′|
    #[inline(never)]
    fn change_of_phi(&self, k: usize) -> Lanes {
        match k {
            0 => self.size * self.sizes[0],
            _ => self.sizes[k - 1] + self.sizes[k] * k as f64,
        }
    }

    /// f′
    #[inline(never)]
    fn slope(&self, of: Function) -> Part<V> {
        let At { size, phis, sizes, losses, resolvent, alpha, .. } = self;
        match of {
            Function::Phi(0) => {
                Part { value: phis[0], sum: sizes[0], change: *size * sizes[0], lost: losses[0] }
            }
            Function::Phi(k) => {
                let n = k as f64;
                // zφₖ″ = φₖ₋₁ − 2kφₖ + k(k+1)φₖ₊₁
                let change = sizes[k - 1] + sizes[k] * (2.0 * n) + sizes[k + 1] * (n * (n + 1.0));
                Part {
                    value: phis[k] - phis[k + 1] * n,
                    sum: sizes[k] + sizes[k + 1] * n,
                    change,
                    lost: losses[k] + losses[k + 1] * n,
                }
            }
            Function::Power(0) => Part::zero(),
            Function::Power(k) => {
                let value = self.power(k - 1) * k as f64;
                let sum = value.norm();
                Part { value, sum, change: sum * (k - 1) as f64, lost: Lanes::ZERO }
            }
            Function::Resolvent(_) => {
                let r = resolvent.norm();
                let value = *resolvent * *resolvent * *alpha;
                let change = *size * (r * r * r) * (2.0 * alpha * alpha);
                Part { value, sum: value.norm(), change, lost: Lanes::ZERO }
            }
        }
    }

    /// (p + z d/dz) f
    #[inline(never)]
    fn growth(&self, p: i32, of: Function) -> Part<V> {
        let At { z, size, phis, sizes, losses, resolvent, alpha } = self;
        let n = f64::from(p);
        match of {
            Function::Phi(0) => Part {
                value: (*z + n) * phis[0],
                sum: (*size + n) * sizes[0],
                change: *size * sizes[0] * (*size + (n + 1.0)),
                lost: losses[0],
            },
            Function::Phi(k) => {
                let left = f64::from(p - k as i32);
                // pφₖ + zφₖ′ with zφₖ′ = φₖ₋₁ − kφₖ
                Part {
                    value: phis[k] * left + phis[k - 1],
                    sum: sizes[k] * (n + k as f64) + sizes[k - 1],
                    change: self.change_of_phi(k) * left.abs() + self.change_of_phi(k - 1),
                    lost: losses[k] * left.abs() + losses[k - 1],
                }
            }
            Function::Power(k) => {
                let value = self.power(k) * (n + k as f64);
                let sum = value.norm();
                Part { value, sum, change: sum * k as f64, lost: Lanes::ZERO }
            }
            Function::Resolvent(_) => {
                let r = resolvent.norm();
                let share = *size * (r * r) * *alpha;
                Part {
                    value: *resolvent * (n - 1.0) + *resolvent * *resolvent,
                    sum: r * n + share,
                    change: share * (r * 2.0 + (n - 1.0).abs()),
                    lost: Lanes::ZERO,
                }
            }
        }
    }

    /// Ā's derivative by z.
    #[inline(never)]
    fn transition(&self, of: Transition) -> Part<V> {
        match of {
            Transition::Exponential => self.slope(Function::Phi(0)),
            Transition::Quotient(alpha) => {
                let r = self.resolvent.norm();
                let above = (self.z * alpha.complement().value() + 1.0).norm();
                Part {
                    value: self.resolvent * self.resolvent,
                    sum: r * alpha.complement().value() + above * (r * r) * alpha.value(),
                    change: self.size * (r * r * r) * (2.0 * alpha.value()),
                    lost: Lanes::ZERO,
                }
            }
            Transition::Polynomial(factors) => {
                let mut all = Part::zero();
                for (k, factor) in factors.iter().enumerate() {
                    all.add(&self.slope(Function::Power(k)), factor.value());
                }
                all
            }
        }
    }
}

impl<V: Value<WIDTH>> Part<V> {
    fn zero() -> Self {
        Part { value: V::all(0.0), sum: Lanes::ZERO, change: Lanes::ZERO, lost: Lanes::ZERO }
    }

    /// Δᵐ f with its error, where `higher` is what the orders beyond the first multiply it by. A is a factor of a_bar_by[0], and Δ
    /// of a_bar_by[1].
    #[inline(never)]
    fn of_power(
        &self,
        m: i32,
        (delta, delta_error): (f64, f64),
        (units, zeta): (f64, f64),
        higher: Lanes,
    ) -> (V, Lanes) {
        let power = delta.powi(m);
        let by_delta = self.value.norm() * f64::from(m.abs()) + self.change;
        let error = self.sum * units + self.lost + self.change * zeta + by_delta * delta_error;
        (self.value * power, (error * power.abs()).times(higher))
    }

    #[inline(never)]
    fn add(&mut self, other: &Part<V>, factor: f64) {
        let size = factor.abs();
        self.value = self.value + other.value * factor;
        self.sum = self.sum + other.sum * size;
        self.change = self.change + other.change * size;
        self.lost = self.lost + other.lost * size;
    }
}

/// A form's derivatives, with all of them that does not depend on the inputs.
pub struct DerivativeModel<'c> {
    formula: Formula,
    contract: &'c Contract,
    /// The contract's units, relative to S.
    units: f64,
}

impl<'c> DerivativeModel<'c> {
    pub fn new(form: ReadsNow, weights: Weights, contract: &'c Contract) -> Self {
        let units = contract.derivatives[weights.width() - 1] * contract.arithmetic.unit;
        DerivativeModel { formula: form.formula(), contract, units }
    }

    #[inline(never)]
    pub fn at<V: Value<WIDTH>>(&self, (delta, delta_error): (f64, f64), a: V) -> Derivatives<V> {
        let DerivativeModel { formula, contract, units } = self;
        let zeta = contract.z_error(formula);
        let at = At::new(formula, contract, a * delta);
        // A function's own poles are where its argument moves it most.
        let moved = match formula.pole() {
            Some(_) => at.size * at.resolvent.norm() * (at.alpha * (zeta + delta_error)),
            None => at.size * (zeta + delta_error),
        };
        let higher = (moved * 3.0).over_one_less();
        let estimate =
            |part: &Part<V>, m: i32| part.of_power(m, (delta, delta_error), (*units, zeta), higher);
        let transition = at.transition(formula.a_bar);
        let (slope, error) = estimate(&transition, 0);
        let by_delta = Estimate::known(a * slope, error * a.norm());
        let (value, error) = estimate(&transition, 1);
        let a_bar_by = [by_delta, Estimate::known(value, error)];
        let mut b_bar_by = [Estimate::exact(V::all(0.0)); 2];
        let mut terms = Lanes::ZERO;
        for term in formula.now() {
            terms = terms + at.norm(term.of) * (term.factor.value() * delta.powi(term.delta)).abs();
            let growth = (at.growth(term.delta, term.of), term.delta - 1);
            let slope = (at.slope(term.of), term.delta + 1);
            for (total, (part, m)) in b_bar_by.iter_mut().zip([growth, slope]) {
                let (value, error) = estimate(&part, m);
                let factor = term.factor.value();
                let (value, error) = (value * factor, error * factor.abs());
                *total = Estimate {
                    value: total.value + value,
                    norm: Lanes::ZERO,
                    worst: total.worst + error,
                    linear: total.linear + error,
                    variance: Lanes::ZERO,
                    size: total.size + part.sum * (factor * delta.powi(m)).abs(),
                };
            }
        }
        b_bar_by.iter_mut().for_each(|total| total.norm = total.value.norm());
        Derivatives { a_bar_by, b_bar_by, terms }
    }
}
