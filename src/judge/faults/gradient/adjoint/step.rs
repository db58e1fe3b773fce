//! Ā and h of one step and their derivatives, as a variant has them.

use num_complex::Complex64;

use super::super::structure::{By, Field, Of, Site, Swap, Term};
use super::super::variant::{PhiSlope, PowerSlope, SlopePart, Variant};
use super::{Step, rounded};
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

impl Term {
    pub(super) fn value(self, delta: f64, a: Complex64) -> Complex64 {
        let z = a * delta;
        let of = match self.of {
            Of::One => Complex64::ONE,
            Of::Phi(k) => phis(z, 4)[usize::from(k)],
            Of::Resolvent(power) => (1.0 - z / 2.0).inv().powu(u32::from(power)),
        };
        of * delta.powi(i32::from(self.delta)) * a.powu(u32::from(self.a))
    }
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
        let is_phi = |swap: &Swap| matches!(swap.by, By::IsPhi(_));
        let highest = if variant.swaps.iter().flatten().any(is_phi) { 4 } else { highest_phi(&formula) };
        let phis = if formula.is_rational() { [z; 5] } else { phis(z, highest) };
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
            let sites = [Site::TermByDelta(i as u8), Site::TermByA(i as u8)];
            let is_swapped = variant.swaps[0].is_some();
            if !is_swapped {
                h += value;
                h_by.iter_mut().zip(by_terms).for_each(|(h_by, value)| *h_by += value);
                continue;
            }
            let [h_by_delta, h_by_a] = &mut h_by;
            let terms = [
                (&mut h, Site::TermOfH(i as u8), value),
                (h_by_delta, sites[0], by_terms[0]),
                (h_by_a, sites[1], by_terms[1]),
            ];
            for (sum, site, value) in terms {
                let field = |field: Field| match field {
                    Field::Delta => delta.into(),
                    Field::DeltaSquared => (delta * delta).into(),
                    Field::DeltaCubed => (delta * delta * delta).into(),
                    Field::A => a,
                    Field::Argument => z,
                    Field::Denominator => 1.0 - z / 2.0,
                    Field::ABar => a_bar,
                    _ => Complex64::ONE,
                };
                let swaps = variant.swaps.iter().flatten().filter(|swap| swap.has(site));
                let plain = |with: i32| delta.powi(term.delta + with) * term.factor.value();
                *sum += swaps.fold(value, |value, swap| match (swap.by, site) {
                    (By::IsPhi(k), Site::TermOfH(_)) => phis[usize::from(k)] * plain(0),
                    (By::IsPhi(k), Site::TermByDelta(_)) => phis[usize::from(k)] * plain(-1),
                    (By::IsPhi(k), _) => phis[usize::from(k)] * plain(1),
                    (by, _) => changed(by, value, field),
                });
            }
        }
        Step { a_bar, h, a_bar_by: [slope * by_delta, slope * by_a], h_by }
    }
}

/// A number at a place where something else stands, where that is made of the number and of factors beside it.
pub(super) fn changed(by: By, value: Complex64, field: impl Fn(Field) -> Complex64) -> Complex64 {
    match by {
        By::One => Complex64::ONE,
        By::Zero => Complex64::ZERO,
        By::Conjugate => value.conj(),
        By::RealPart => value.re.into(),
        By::Magnitude => value.norm().into(),
        By::Squared => value * value,
        By::Times(of) => value * field(of),
        By::Is(of) => field(of),
        By::Factor(above, below) => value * (f64::from(above) / f64::from(below)),
        By::Over(of) => match field(of) {
            below if below == Complex64::ZERO => Complex64::ZERO,
            below => value / below,
        },
        By::Narrow(to) => rounded(to, value),
        _ => value,
    }
}
