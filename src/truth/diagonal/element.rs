//! One element, (Δ, A) → the coefficients of its step, by two routes.
//!
//! The *literal* route evaluates the formulas as spec.md §2 writes them, with A⁻¹ and eᶻ; the *inverse-free*
//! one builds on the φ-functions. Where the literal formulas cancel (z → 0), a direct Taylor series stands in.

use crate::method::Method;
use crate::truth::number::ball::Ball;
use crate::truth::number::elementary::{Exponent, Phi, exp_by_doubling, phi_by_doubling, phi_direct};
use crate::truth::number::scalar::Real;
use crate::truth::number::wide::Wide;
use crate::truth::textbook::{Form, Textbook};
use num_traits::Zero;

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
            powers: any(|f| match f {
                Form::Method(Method::Rk4) => true,
                Form::Method(
                    Method::Zoh | Method::Foh | Method::Bilinear | Method::Poly | Method::HighOrder,
                ) => false,
                Form::Textbook(form) => *form == Textbook::Rk4Classical,
            }),
        }
    }
}

/// What all forms share at one (Δ, A): eᶻ, the integrals Δᵏφₖ, and the rational functions.
#[derive(Clone, Copy, Debug)]
pub struct Shared<T: Coefficient> {
    delta: T::Step,
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

    /// The inverse-free route, with its proven error.
    pub fn inverse_free(needs: Needs, delta: Ball<Wide>, a: T) -> Shared<Ball<T>> {
        let a = Ball::exact(a);
        let z = a.scale(&delta);
        let mut shared = Shared::<Ball<T>>::blank(delta);
        let (one, two) = (Ball::<T>::one(), Ball::<T>::one().shifted(1));
        if needs.phi {
            let Phi { exp, phi1, phi2, phi3 } = phi_by_doubling(&z);
            let integral = phi3.scale(&delta);
            shared.exp = exp;
            shared.integrals =
                [phi1.scale(&delta), phi2.scale(&delta).scale(&delta), integral.scale(&delta).scale(&delta)];
        } else if needs.exp {
            shared.exp = exp_by_doubling(&z);
        }
        if needs.reciprocal {
            let denominator = two.minus(&z);
            shared.bilinear_a = two.plus(&z).over(&denominator);
            shared.bilinear_b = two.scale(&delta).over(&denominator);
        }
        if needs.powers {
            // Horner: 1 + z/2 (1 + z/3 (1 + z/4))
            let third = Ball::exact(Wide::exact(3.0));
            let inner = one.plus(&z.shifted(-2));
            let middle = one.plus(&z.times(&inner).unscale(&third));
            let outer = one.plus(&z.times(&middle).shifted(-1));
            shared.rk4_b = outer.scale(&delta);
            shared.rk4_a = one.plus(&z.times(&outer));
        }
        shared
    }
}

impl<C: Coefficient> Shared<C> {
    fn blank(delta: C::Step) -> Self {
        let zero = C::zero();
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
    pub fn step(&self, form: Form) -> Step<C> {
        let zero = C::zero();
        let [first, second, third] = self.integrals;
        let delta = || C::real(self.delta);
        let now = |a: C, now: C| Step { a, now, prev: zero, next: zero };
        match form {
            Form::Method(Method::Zoh) => now(self.exp, delta()),
            Form::Method(Method::Foh) => now(self.exp, second),
            Form::Method(Method::Bilinear) => now(self.bilinear_a, self.bilinear_b),
            Form::Method(Method::Poly) => now(self.exp, first.sum(second.half())),
            Form::Method(Method::HighOrder) => now(self.exp, first.sum(second).sum(third.half())),
            Form::Method(Method::Rk4) => now(self.exp, self.rk4_b),
            Form::Textbook(Textbook::ZohExact) => now(self.exp, first),
            Form::Textbook(Textbook::FohTextbook) => {
                // Δφ₂ = Δ²φ₂/Δ, and at Δ = 0 both terms vanish.
                let next = second.over_step(self.delta);
                Step { a: self.exp, now: first.sum(next.negative()), prev: zero, next }
            }
            Form::Textbook(Textbook::Rk4Classical) => now(self.rk4_a, self.rk4_b),
            Form::Textbook(Textbook::BilinearAveraged) => {
                let half = self.bilinear_b.half();
                Step { a: self.bilinear_a, now: half, prev: half, next: zero }
            }
            Form::Textbook(Textbook::ExpTrapezoidal) => {
                let half = delta().half();
                Step { a: self.exp, now: half, prev: self.exp.by_step(self.delta).half(), next: zero }
            }
        }
    }
}

/// What assembling a step asks of a coefficient: a plain number of the literal route, or one with its error.
pub trait Coefficient: Copy {
    /// How Δ is held.
    type Step: Copy;
    fn zero() -> Self;
    fn real(delta: Self::Step) -> Self;
    fn sum(self, other: Self) -> Self;
    fn negative(self) -> Self;
    fn half(self) -> Self;
    fn by_step(self, delta: Self::Step) -> Self;
    /// Zero for Δ = 0.
    fn over_step(self, delta: Self::Step) -> Self;
}

impl<T: Exponent> Coefficient for T {
    type Step = Wide;
    fn zero() -> Self {
        <T as Zero>::zero()
    }
    fn real(delta: Wide) -> Self {
        T::from_real(delta)
    }
    fn sum(self, other: Self) -> Self {
        self + other
    }
    fn negative(self) -> Self {
        -self
    }
    fn half(self) -> Self {
        self.shifted(-1)
    }
    fn by_step(self, delta: Wide) -> Self {
        self.scale(delta)
    }
    fn over_step(self, delta: Wide) -> Self {
        if delta.is_zero() { <T as Zero>::zero() } else { self.unscale(delta) }
    }
}

impl<T: Exponent> Coefficient for Ball<T> {
    type Step = Ball<Wide>;
    fn zero() -> Self {
        Ball::zero()
    }
    fn real(delta: Ball<Wide>) -> Self {
        Ball { mid: T::from_real(delta.mid), radius: delta.radius }
    }
    fn sum(self, other: Self) -> Self {
        self.plus(&other)
    }
    fn negative(self) -> Self {
        Ball { mid: -self.mid, radius: self.radius }
    }
    fn half(self) -> Self {
        self.shifted(-1)
    }
    fn by_step(self, delta: Ball<Wide>) -> Self {
        self.scale(&delta)
    }
    fn over_step(self, delta: Ball<Wide>) -> Self {
        if delta.is_exact_zero() { Ball::zero() } else { self.unscale(&delta) }
    }
}
