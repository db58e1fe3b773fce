//! One step and its derivatives in Δ and A, from a formula's data ([`crate::formula`]): spec.md §6.
//!
//! With h the B̄ for B = 1, a sum of terms c·Δᵖ·f(ΔA),
//!
//! ∂h/∂A = Σ c Δᵖ⁺¹ f′(z) and ∂h/∂Δ = Σ c Δᵖ⁻¹ (p + z d/dz) f(z).
//!
//! From φₖ₊₁ = (φₖ − 1/k!)/z follow φₖ′ = φₖ − k φₖ₊₁ and, for k ≥ 1, (p + z d/dz) φₖ = (p − k) φₖ + φₖ₋₁. Of the resolvent
//! r = (1 − αz)⁻¹ they are α r² and (p − 1) r + r², of zᵏ k zᵏ⁻¹ and (p + k) zᵏ.

use super::number::Number;
use crate::formula::Function::{self, Phi, Power, Resolvent};
use crate::formula::{Formula, Fraction, ReadsNow, Transition};

/// Ā and the B̄ of B = 1, each with its derivatives by Δ and by A.
#[derive(Clone, Debug)]
pub struct Step<V> {
    pub a_bar: V,
    pub a_bar_by: [V; 2],
    pub b_bar: V,
    pub b_bar_by: [V; 2],
}

/// φ₀ to φ₄.
pub type Phis<V> = [V; 5];

/// What a formula's data is evaluated with.
pub struct Functions<V: Number> {
    pub delta: V::Real,
    pub a: V,
    /// ΔA
    pub z: V,
    /// As far as [`last_phi`] says.
    pub phis: Phis<V>,
    /// (1 − αz)⁻¹; whatever for a form without a pole.
    pub resolvent: V,
}

/// The last φ that a step and its derivatives take; none for a form without eᶻ.
pub fn last_phi(formula: &Formula) -> Option<usize> {
    match formula.phis() {
        0 if formula.is_rational() => None,
        0 => Some(0),
        k => Some(k + 1),
    }
}

impl<V: Number> Functions<V> {
    /// zᵏ
    fn power(&self, k: usize) -> V {
        (0..k).fold(V::one(), |power, _| power.times(&self.z))
    }

    fn of(&self, function: Function) -> V {
        match function {
            Phi(k) => self.phis[k].clone(),
            Power(k) => self.power(k),
            Resolvent(_) => self.resolvent.clone(),
        }
    }

    /// f′
    fn slope(&self, function: Function) -> V {
        match function {
            Phi(0) => self.phis[0].clone(),
            Phi(k) => self.phis[k].minus(&self.phis[k + 1].ratio(Fraction(k as i32, 1))),
            Power(0) => V::zero(),
            Power(k) => self.power(k - 1).ratio(Fraction(k as i32, 1)),
            Resolvent(alpha) => self.resolvent.times(&self.resolvent).ratio(alpha),
        }
    }

    /// (p + z d/dz) f
    fn growth(&self, p: i32, function: Function) -> V {
        let times = |value: &V, n: i32| if n == 0 { V::zero() } else { value.ratio(Fraction(n, 1)) };
        match function {
            Phi(0) => times(&self.phis[0], p).plus(&self.phis[0].times(&self.z)),
            Phi(k) => times(&self.phis[k], p - k as i32).plus(&self.phis[k - 1]),
            Power(k) => times(&self.power(k), p + k as i32),
            Resolvent(_) => times(&self.resolvent, p - 1).plus(&self.resolvent.times(&self.resolvent)),
        }
    }

    /// Ā and its derivative by z.
    fn transition(&self, transition: Transition) -> [V; 2] {
        match transition {
            Transition::Exponential => [self.of(Phi(0)), self.slope(Phi(0))],
            Transition::Quotient(alpha) => {
                let above = V::one().plus(&self.z.ratio(alpha.complement()));
                let square = self.resolvent.times(&self.resolvent);
                [self.resolvent.times(&above), square]
            }
            Transition::Polynomial(factors) => {
                let terms = || factors.iter().enumerate();
                let sum =
                    |value: V, (k, &factor): (usize, &Fraction)| value.plus(&self.power(k).ratio(factor));
                let slopes = |value: V, (k, &factor): (usize, &Fraction)| {
                    value.plus(&self.slope(Power(k)).ratio(factor))
                };
                [terms().fold(V::zero(), sum), terms().fold(V::zero(), slopes)]
            }
        }
    }

    pub fn step(&self, form: ReadsNow) -> Step<V> {
        let formula = form.formula();
        let [a_bar, slope] = self.transition(formula.a_bar);
        let a_bar_by = [slope.times(&self.a), slope.scaled(&self.delta)];
        let delta = |p: i32| (0..p).fold(V::Real::one(), |power, _| power.times(&self.delta));
        let mut sums = [V::zero(), V::zero(), V::zero()];
        for term in formula.now() {
            let values = [
                (self.of(term.of), term.delta),
                (self.growth(term.delta, term.of), term.delta - 1),
                (self.slope(term.of), term.delta + 1),
            ];
            for (sum, (value, p)) in sums.iter_mut().zip(values) {
                *sum = sum.plus(&value.scaled(&delta(p).ratio(term.factor)));
            }
        }
        let [b_bar, by_delta, by_a] = sums;
        Step { a_bar, a_bar_by, b_bar, b_bar_by: [by_delta, by_a] }
    }
}
