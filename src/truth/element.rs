//! One element, (Δ, A) → the coefficients of its step, by two routes.
//!
//! The *literal* route evaluates the formulas as spec.md §2 writes them, with A⁻¹ and eᶻ; the *inverse-free*
//! one builds on the φ-functions. Where the literal formulas cancel (z → 0), a direct Taylor series stands in.

use super::elementary::{Exponent, Phi, exp_by_doubling, phi_by_doubling, phi_direct};
use super::scalar::Real;
use super::textbook::{Form, Textbook};
use super::wide::Wide;
use crate::method::Method;

/// |z| may be at most 2 to this, so that eᶻ stays within the range of the wide scalar.
pub const LARGEST_EXPONENT: i64 = 16;

/// Names of the two routes, for certificates.
pub const ROUTES: (&str, &str) = ("literal formulas", "inverse-free ones");

/// x_l = a x_{l−1} + (prev u_{l−1} + now u_l + next u_{l+1}) B_l
#[derive(Clone, Copy, Debug)]
pub struct Step<T> {
    pub a: T,
    pub now: T,
    /// Zero but for the textbook forms.
    pub prev: T,
    /// Zero but for the textbook forms.
    pub next: T,
}

/// Which parts of an element are shared by the forms asked for.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    exp: bool,
    phi: bool,
    reciprocal: bool,
    powers: bool,
}

impl Needs {
    pub fn of(forms: &[Form]) -> Self {
        let any = |test: fn(&Form) -> bool| forms.iter().any(test);
        Needs {
            exp: any(|f| !f.is_rational()),
            phi: any(|f| !f.input_is_rational() && *f != Form::Textbook(Textbook::ExpTrapezoidal)),
            reciprocal: any(|f| f.has_pole()),
            powers: any(|f| matches!(f, Form::Method(Method::Rk4) | Form::Textbook(Textbook::Rk4Classical))),
        }
    }
}

/// What all forms share at one (Δ, A): eᶻ, the integrals Δᵏφₖ, and the rational functions.
#[derive(Clone, Copy, Debug)]
pub struct Shared<T> {
    delta: Wide,
    exp: T,
    /// Δᵏ φₖ(z)
    integrals: [T; 3],
    bilinear_a: T,
    bilinear_b: T,
    rk4_a: T,
    rk4_b: T,
    /// Whether the literal formulas cancelled too much and a Taylor series stood in.
    pub stood_in: bool,
}

/// Bits that the literal φₖ may lose to cancellation, k·log₂(1/|z|), and still certify.
const LITERAL_LOSS: i64 = 50;

impl<T: Exponent> Shared<T> {
    /// The literal route. Infinite or NaN at bilinear's pole, which certifies nothing.
    pub fn literal(needs: Needs, delta: Wide, a: T) -> Self {
        let z = a.scale(delta);
        let mut shared = Self::blank(delta);
        if needs.exp {
            shared.exp = z.exp_by_parts();
        }
        if needs.phi {
            // φ₃ loses most; the formulas that need less of it are taken from the same series, at no cost.
            let lost = -3 * z.exponent_bound().unwrap_or(-1000);
            if lost > LITERAL_LOSS {
                let Phi { phi1, phi2, phi3, .. } = phi_direct(z);
                let square = delta * delta;
                shared.integrals = [phi1.scale(delta), phi2.scale(square), phi3.scale(square * delta)];
                shared.stood_in = true;
            } else {
                let inverse = T::one() / a;
                let square = inverse * inverse;
                let first = shared.exp - T::one();
                let second = first - z;
                let third = second - (z * z).shifted(-1);
                shared.integrals = [inverse * first, square * second, square * inverse * third];
            }
        }
        if needs.reciprocal {
            let half = z.shifted(-1);
            let inverse = T::one() / (T::one() - half);
            shared.bilinear_a = inverse * (T::one() + half);
            shared.bilinear_b = inverse.scale(delta);
        }
        if needs.powers {
            let (square, sixth) = (z * z, Wide::exact(6.0));
            let cube = square * z;
            let [z2, z3] = [square, cube].map(|p| p.unscale(sixth));
            let sum = T::one() + z.shifted(-1) + z2 + z3.shifted(-2);
            shared.rk4_b = sum.scale(delta);
            shared.rk4_a = T::one() + z + square.shifted(-1) + z3 + (cube * z).unscale(Wide::exact(24.0));
        }
        shared
    }

    /// The inverse-free route.
    pub fn inverse_free(needs: Needs, delta: Wide, a: T) -> Self {
        let z = a.scale(delta);
        let mut shared = Self::blank(delta);
        if needs.phi {
            let Phi { exp, phi1, phi2, phi3 } = phi_by_doubling(z);
            let integral = phi3.scale(delta);
            shared.exp = exp;
            shared.integrals =
                [phi1.scale(delta), phi2.scale(delta).scale(delta), integral.scale(delta).scale(delta)];
        } else if needs.exp {
            shared.exp = exp_by_doubling(z);
        }
        if needs.reciprocal {
            let two = T::one().shifted(1);
            let denominator = two - z;
            shared.bilinear_a = (two + z) / denominator;
            shared.bilinear_b = T::from_real(delta.times_pow2(1)) / denominator;
        }
        if needs.powers {
            // Horner: 1 + z/2 (1 + z/3 (1 + z/4))
            let third = Wide::exact(3.0);
            let inner = T::one() + z.shifted(-2);
            let middle = T::one() + (z * inner).unscale(third);
            let outer = T::one() + (z * middle).shifted(-1);
            shared.rk4_b = outer.scale(delta);
            shared.rk4_a = T::one() + z * outer;
        }
        shared
    }

    fn blank(delta: Wide) -> Self {
        let zero = T::zero();
        Shared {
            delta,
            exp: zero,
            integrals: [zero; 3],
            bilinear_a: zero,
            bilinear_b: zero,
            rk4_a: zero,
            rk4_b: zero,
            stood_in: false,
        }
    }

    /// The step of one form. `form` must be among those that the needs were taken from.
    pub fn step(&self, form: Form) -> Step<T> {
        let zero = T::zero();
        let [first, second, third] = self.integrals;
        let now = |a: T, now: T| Step { a, now, prev: zero, next: zero };
        match form {
            Form::Method(Method::Zoh) => now(self.exp, T::from_real(self.delta)),
            Form::Method(Method::Foh) => now(self.exp, second),
            Form::Method(Method::Bilinear) => now(self.bilinear_a, self.bilinear_b),
            Form::Method(Method::Poly) => now(self.exp, first + second.shifted(-1)),
            Form::Method(Method::HighOrder) => now(self.exp, first + second + third.shifted(-1)),
            Form::Method(Method::Rk4) => now(self.exp, self.rk4_b),
            Form::Textbook(Textbook::ZohExact) => now(self.exp, first),
            Form::Textbook(Textbook::FohTextbook) => {
                // Δφ₂ = Δ²φ₂/Δ, and at Δ = 0 both terms vanish.
                let next = if self.delta == Wide::exact(0.0) { zero } else { second.unscale(self.delta) };
                Step { a: self.exp, now: first - next, prev: zero, next }
            }
            Form::Textbook(Textbook::Rk4Classical) => now(self.rk4_a, self.rk4_b),
            Form::Textbook(Textbook::BilinearAveraged) => {
                let half = self.bilinear_b.shifted(-1);
                Step { a: self.bilinear_a, now: half, prev: half, next: zero }
            }
            Form::Textbook(Textbook::ExpTrapezoidal) => {
                let half = self.delta.times_pow2(-1);
                Step { a: self.exp, now: T::from_real(half), prev: self.exp.scale(half), next: zero }
            }
        }
    }
}
