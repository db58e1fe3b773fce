//! Ā and h of one step and their derivatives, as a variant has them.

use num_complex::Complex64;

use super::super::variant::{PhiSlope, PowerSlope, SlopePart, Variant};
use super::Step;
use crate::formula::{Form, Formula, Function, Transition};
use crate::judge::lanes::INVERSE_FACTORIALS;

/// φ₀…φ₄ (spec.md §1), those up to `highest`; what is beyond has no meaning.
pub(super) fn phis(z: Complex64, highest: usize) -> [Complex64; 5] {
    let mut phis = [z.exp(); 5];
    if highest == 0 {
    } else if z.norm() < 1.0 {
        let term = |sum: Complex64, k: usize| sum * z + INVERSE_FACTORIALS[k + 4];
        phis[4] = (0..16).rev().fold(Complex64::ZERO, term);
        (1..4).rev().for_each(|k| phis[k] = phis[k + 1] * z + INVERSE_FACTORIALS[k]);
    } else {
        (1..=highest).for_each(|k| phis[k] = (phis[k - 1] - INVERSE_FACTORIALS[k - 1]) / z);
    }
    phis
}

/// A derivative of φₖ takes φₖ₊₁.
fn highest_phi(formula: &Formula) -> usize {
    if formula.phis() == 0 { 0 } else { formula.phis() + 1 }
}

/// f and f′.
fn function(of: Function, z: Complex64, phis: &[Complex64; 5]) -> (Complex64, Complex64) {
    match of {
        Function::Phi(0) => (phis[0], phis[0]),
        Function::Phi(k) => (phis[k], phis[k] - phis[k + 1] * k as f64),
        Function::Power(0) => (Complex64::ONE, Complex64::ZERO),
        Function::Power(k) => (z.powu(k as u32), z.powu(k as u32 - 1) * k as f64),
        Function::Resolvent(alpha) => {
            let value = (1.0 - z * alpha.value()).inv();
            (value, value * value * alpha.value())
        }
    }
}

impl Step {
    pub(super) fn new(variant: &Variant, delta: f64, a: Complex64) -> Self {
        let own = Step::of(variant.form, variant, delta, a);
        if variant.slopes_of == variant.form {
            return own;
        }
        Step { a_bar: own.a_bar, h: own.h, ..Step::of(variant.slopes_of, variant, delta, a) }
    }

    pub(super) fn of(form: Form, variant: &Variant, delta: f64, a: Complex64) -> Self {
        let formula = form.formula();
        let z = a * delta;
        let phis = if formula.is_rational() { [z; 5] } else { phis(z, highest_phi(&formula)) };
        let (a_bar, slope) = match formula.a_bar {
            Transition::Exponential if variant.exponent != 1.0 => [(z * variant.exponent).exp(); 2].into(),
            Transition::Exponential => (phis[0], phis[0]),
            Transition::Quotient(alpha) => {
                let below = (1.0 - z * alpha.value()).inv();
                ((1.0 + z * alpha.complement().value()) * below, below * below)
            }
            Transition::Polynomial(factors) => {
                let term = |(value, slope): (Complex64, Complex64), factor: &crate::formula::Fraction| {
                    (value * z + factor.value(), slope * z + value)
                };
                factors.iter().rev().fold((Complex64::ZERO, Complex64::ZERO), term)
            }
        };
        let slope = if variant.a_bar_as_exponential { a_bar } else { slope };
        // ∂z/∂Δ and ∂z/∂A.
        let [by_delta, by_a] = [a, Complex64::from(delta)];
        let by_delta = if variant.chain[0] { by_delta } else { Complex64::ONE };
        let by_a = if variant.chain[1] { by_a } else { Complex64::ONE };
        let (mut h, mut h_by) = (Complex64::ZERO, [Complex64::ZERO; 2]);
        for (i, term) in formula.now().iter().enumerate() {
            let (f, mut slope) = function(term.of, z, &phis);
            if let Function::Phi(k @ 1..) = term.of {
                slope = match (variant.phi_slope, phis[k + 1] * k as f64) {
                    (PhiSlope::Right, _) => slope,
                    (PhiSlope::WithoutK, _) => f - phis[k + 1],
                    (PhiSlope::Next, _) => phis[k + 1],
                    (PhiSlope::KNext, next) => next,
                    (PhiSlope::Same, _) => f,
                    (PhiSlope::Plus, next) => f + next,
                    (PhiSlope::Before, _) => phis[k - 1],
                };
            }
            if let Function::Power(k @ 1..) = term.of {
                let lower = || z.powu(k as u32 - 1);
                slope = match variant.power_slope {
                    PowerSlope::Right => slope,
                    PowerSlope::WithoutK => lower(),
                    PowerSlope::NextK => lower() * (k + 1) as f64,
                    PowerSlope::KBefore => lower() * (k - 1) as f64,
                    PowerSlope::NotLowered => f * k as f64,
                    PowerSlope::Same => f,
                };
            }
            let without = variant.h_slope_without.filter(|&(at, _)| at == i).map(|(_, part)| part);
            let lacks = |part: SlopePart| without == Some(SlopePart::Whole) || without == Some(part);
            if let (Some(SlopePart::Taylor(degree)), Function::Phi(k), true) =
                (without, term.of, z.norm() < 1.0)
            {
                let coefficient = (degree + 1) as f64 * INVERSE_FACTORIALS[degree + 1 + k];
                slope -= z.powu(degree as u32) * coefficient;
            }
            slope *= f64::from(u8::from(!lacks(SlopePart::Argument)));
            let power = delta.powi(term.delta - 1) * term.factor.value();
            let value = f * (power * delta);
            let kept = f64::from(u8::from(!lacks(SlopePart::Power))) * variant.h_slope[0];
            let through_power = f * (f64::from(term.delta) * power * kept);
            let by_terms = [
                through_power + slope * by_delta * (power * delta * variant.h_slope[1]),
                slope * by_a * (power * delta),
            ];
            h += value;
            h_by.iter_mut().zip(by_terms).for_each(|(h_by, value)| *h_by += value);
        }
        Step { a_bar, h, a_bar_by: [slope * by_delta, slope * by_a], h_by }
    }
}
