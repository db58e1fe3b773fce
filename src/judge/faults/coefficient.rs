//! Ā and B̄ of a [`Variant`], in f64: accurate to 1e-12 wherever an f32 kernel's result means anything.

use num_complex::Complex64;

use super::variant::{BUse, Formula, Inverse, Power, Sum, Variant};
use crate::judge::allowance::{COEFFICIENT, U};
use crate::judge::model::phi;
use crate::method::Method;

/// A value and a bound on what a sound f32 computation of the same formula may be off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounded {
    pub value: Complex64,
    pub error: f64,
}

/// B̄u = (first·u + higher·u′ + neighbour·u″)·B: u′ is u unless a fault drops it, u″ the input at
/// `offset` positions from here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    pub first: Complex64,
    pub higher: Complex64,
    pub neighbour: Complex64,
    pub offset: isize,
    /// Relative to the sum of the terms' moduli.
    pub error: f64,
}

impl Power {
    /// What takes the place of `delta`.
    pub fn of(self, delta: f64) -> f64 {
        match self {
            Power::One => delta,
            Power::Missing => 1.0,
            Power::Doubled => 2.0 * delta,
            Power::Squared => delta * delta,
        }
    }
}

/// How much a relative change of z moves (1 ± z/2)⁻¹, relative.
fn conditioning(z: Complex64) -> f64 {
    0.5 * z.norm() * (1.0 / (1.0 - z * 0.5).norm() + 1.0 / (1.0 + z * 0.5).norm())
}

/// Ā for the step `delta`, known to `delta_error`.
///
/// The bound is the contract on coefficients plus the conditioning of the formula for a z that is off by
/// `delta_error` and one rounding, to first order ([`crate::judge::model::step`] has the derivation).
pub fn a_bar(variant: &Variant, delta: f64, delta_error: f64, a: Complex64) -> Bounded {
    let z = a * variant.a_bar_delta.of(delta);
    let theta = U + 2.0 * delta_error;
    let (value, relative) = match variant.a_bar {
        Formula::Method(Method::Bilinear) | Formula::BilinearAveraged => {
            let (above, below) = (1.0 + z * 0.5, 1.0 - z * 0.5);
            let value = match variant.a_bar_inverse {
                Inverse::Right => above / below,
                Inverse::WrongFactor => below / above,
                Inverse::None => above,
            };
            (value, conditioning(z))
        }
        Formula::Rk4Classical => {
            let value = series(z, 0, 5);
            // Cancellation: the terms' moduli against their sum.
            (value, z.norm().exp() / value.norm().max(f64::MIN_POSITIVE))
        }
        Formula::Method(Method::Zoh | Method::Foh | Method::Poly | Method::HighOrder | Method::Rk4)
        | Formula::ZohExact
        | Formula::FohTextbook
        | Formula::ExpTrapezoidal => {
            let exponent = Complex64::new(z.re * variant.exponent.0, z.im * variant.exponent.1);
            (exponent.exp(), exponent.norm())
        }
    };
    Bounded { value, error: value.norm() * (COEFFICIENT + relative * theta) }
}

/// Σ_{i < terms} zⁱ/(i + k)!
fn series(z: Complex64, k: u32, terms: u32) -> Complex64 {
    let mut term = Complex64::from(1.0 / (1..=k).map(f64::from).product::<f64>());
    let mut sum = Complex64::ZERO;
    for i in 0..terms {
        sum += term;
        term *= z / f64::from(i + 1 + k);
    }
    sum
}

/// The terms of B̄/B for the step `delta`, known to `delta_error`.
pub fn terms(variant: &Variant, delta: f64, delta_error: f64, a: Complex64) -> Terms {
    let z = a * delta;
    let phis = match variant.taylor {
        Some(count) => [1, 2, 3].map(|k| series(z, k, count)),
        None => {
            let [_, phi1, phi2, phi3] = phi(z);
            [phi1, phi2, phi3]
        }
    };
    let [phi1, phi2, phi3] = phis;
    let (p2, p3) = if let Sum::Powers(p2, p3) = variant.sum { (p2, p3) } else { (2, 3) };
    let (d2, d3) = (delta.powi(p2), delta.powi(p3));
    let below = 1.0 - z * 0.5;
    let mut t = Terms { offset: -1, ..Terms::default() };
    match variant.b_bar {
        Formula::Method(Method::Zoh) => t.first = delta.into(),
        Formula::Method(Method::Foh) => t.first = phi2 * d2,
        Formula::Method(Method::Bilinear) => {
            t.first = match variant.b_bar_inverse {
                Inverse::Right => delta / below,
                Inverse::WrongFactor => delta / (1.0 + z * 0.5),
                Inverse::None => delta.into(),
            }
        }
        Formula::Method(Method::Poly) => {
            let share = if let Sum::PolyShare(share) = variant.sum { share } else { 0.5 };
            (t.first, t.higher) = (phi1 * delta, phi2 * (share * d2));
        }
        Formula::Method(Method::HighOrder) => {
            t.first = phi1 * delta;
            t.higher = match variant.sum {
                Sum::Cut(0) => Complex64::ZERO,
                Sum::Cut(_) => phi2 * d2,
                Sum::WithoutFactorials => phi2 * d2 + phi3 * d3,
                _ => phi2 * d2 + phi3 * (0.5 * d3),
            };
        }
        Formula::Method(Method::Rk4) | Formula::Rk4Classical => {
            t.first = delta.into();
            t.higher = (series(z, 1, variant.taylor.unwrap_or(4)) - 1.0) * delta;
        }
        Formula::ZohExact => t.first = phi1 * delta,
        Formula::FohTextbook => {
            t = Terms { first: (phi1 - phi2) * delta, neighbour: phi2 * delta, offset: 1, ..t }
        }
        Formula::BilinearAveraged => (t.first, t.neighbour) = (0.5 * delta / below, 0.5 * delta / below),
        Formula::ExpTrapezoidal => (t.first, t.neighbour) = ((0.5 * delta).into(), z.exp() * (0.5 * delta)),
    }
    let factor = match variant.b_bar_delta {
        Power::One => 1.0,
        Power::Missing if delta == 0.0 => 0.0,
        Power::Missing => 1.0 / delta,
        Power::Doubled => 2.0,
        Power::Squared => delta,
    };
    for term in [&mut t.first, &mut t.higher, &mut t.neighbour] {
        *term *= factor;
    }
    // Powers of Δ up to the sixth, and a φ whose logarithm moves by at most about |z| + 3 times that of z.
    t.error = COEFFICIENT + (U + delta_error) * (9.0 + z.norm() + conditioning(z));
    t
}

/// B as it is applied.
pub fn used(b_use: BUse, b: Complex64) -> Complex64 {
    match b_use {
        BUse::Once => b,
        BUse::Twice => b * b,
        BUse::Never => Complex64::ONE,
        BUse::Conjugated => b.conj(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::contract::Contract;
    use crate::judge::model;
    use crate::problem::Weights;

    /// Without a fault this is the f64 model that budgets are made of.
    #[test]
    fn the_specified_variant_is_the_specified_method() {
        for method in Method::ALL {
            let variant = Variant::specified(method);
            for (re, im, delta) in [(-1.0, 0.0, 0.3), (-0.5, 3.0, 2.0), (-4.0, 1.0, 9.0), (-1e-6, 0.0, 1e-3)]
            {
                let a = Complex64::new(re, im);
                let want = model::step(
                    method,
                    Weights::Complex,
                    (delta, 0.0),
                    a,
                    Complex64::ONE,
                    &Contract::PRODUCTION,
                );
                let t = terms(&variant, delta, 0.0, a);
                let got = (a_bar(&variant, delta, 0.0, a).value, t.first + t.higher + t.neighbour);
                assert!((got.0 - want.a_bar).norm() <= 1e-12 * want.a_bar.norm(), "{method} at {a}");
                assert!((got.1 - want.b_bar).norm() <= 1e-12 * want.b_bar.norm(), "{method} at {a}");
            }
        }
    }
}
