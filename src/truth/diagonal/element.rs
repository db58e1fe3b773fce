//! One element, (Δ, A) → the coefficients of its step for B = 1, by two routes: the literal one
//! ([`crate::truth::literal`]), where a direct Taylor series stands in for formulas that cancel (z → 0), and the
//! inverse-free one ([`crate::truth::inverse_free`]).
//!
//! In two doubles eᶻ − I − … cancels too much from |z| = ¼ down. There the literal route sums what is left of eᶻ by the rest of
//! its series ([`elementary::remainders`]) and multiplies that by A⁻¹ and its powers, as published.

use crate::formula::Function::{Phi, Power, Resolvent};
use crate::formula::{Form, Formula, Panels};
use crate::truth::inverse_free::{self, Powers, Transitions};
use crate::truth::literal::{self, Ingredients};
use crate::truth::number::ball::{Ball, Enclosure};
use crate::truth::number::elementary::{
    self, Exponent, Scalar, exp_by_doubling, phi_by_doubling, phi_direct,
};

/// Names of the two routes, for certificates.
pub const ROUTES: (&str, &str) = ("literal formulas", "inverse-free ones");

/// Bits that the literal φₖ would lose to cancellation, k·log₂(1/|z|), and not certify in any arithmetic that is tried.
const LITERAL_LOSS: i64 = 50;

/// Which functions of z are shared by the forms asked for.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    exp: bool,
    phi: bool,
}

impl Needs {
    pub fn of(forms: &[Form]) -> Self {
        let any = |test: fn(&Formula) -> bool| forms.iter().any(|form| test(&form.formula()));
        Needs { exp: any(|f| !f.is_rational()), phi: any(|f| f.phis() > 0) }
    }
}

/// The literal route at one (Δ, A).
#[derive(Clone, Copy, Debug)]
pub struct Literal<T: Exponent> {
    delta: T::Part,
    a: T,
    z: T,
    exp: T,
    /// Δᵏ φₖ(z)
    integrals: [T; 3],
    /// Whether the literal formulas cancelled too much and a Taylor series stood in.
    pub stood_in: bool,
}

impl<T: Exponent> Literal<T> {
    pub fn new(needs: Needs, delta: T::Part, a: T) -> Self {
        let z = a.scale(delta);
        let exp = if needs.exp { z.exp_by_parts() } else { T::zero() };
        // φ₃ loses most; the formulas that need less of it are taken from the same series, at no cost.
        let lost = -3 * z.exponent_bound().unwrap_or(-1000);
        let stood_in = needs.phi && lost > LITERAL_LOSS;
        let integrals = if stood_in {
            let [_, phi1, phi2, phi3] = phi_direct(z);
            let square = delta * delta;
            [phi1.scale(delta), phi2.scale(square), phi3.scale(square * delta)]
        } else if needs.phi {
            let remainders = match lost > T::Part::SPARE {
                true => elementary::remainders(z),
                false => literal::remainders(&exp, &z),
            };
            literal::integrals(&(T::one() / a), remainders, &T::one())
        } else {
            [T::zero(); 3]
        };
        Literal { delta, a, z, exp, integrals, stood_in }
    }

    /// The step of one form, among those that the needs were taken from. Infinite or NaN at a form's pole, which
    /// certifies nothing.
    pub fn step(&self, form: Form) -> Panels<T> {
        let Literal { delta, a, z, exp, integrals, .. } = self;
        let with = Ingredients { a, b: &T::one(), delta, z, exp, integrals };
        literal::panels(form, &with).unwrap_or_default()
    }
}

/// The inverse-free route at one (Δ, A), with its proven error.
#[derive(Clone, Copy, Debug)]
pub struct InverseFree<T: Exponent> {
    powers: Powers<T::Part>,
    z: Ball<T>,
    phis: elementary::Phi<Ball<T>>,
}

impl<T: Exponent> InverseFree<T> {
    pub fn new(needs: Needs, delta: Ball<T::Part>, a: T) -> Self {
        let z = Ball::exact(a).scale(&delta);
        let mut phis = [Ball::zero(); 4];
        if needs.phi {
            phis = phi_by_doubling(&z);
        } else if needs.exp {
            phis[0] = exp_by_doubling(&z);
        }
        InverseFree { powers: inverse_free::powers(&delta), z, phis }
    }

    /// As [`Literal::step`].
    pub fn step(&self, form: Form) -> Panels<Ball<T>> {
        let formula = form.formula();
        let one = Ball::<T>::one();
        let share = |alpha| self.z.scale(&inverse_free::times(&Ball::one(), alpha));
        let power = |k: usize| (0..k).fold(one, |power, _| self.z.times(&power));
        let over = |above: Ball<T>, alpha| above.over(&one.minus(&share(alpha)));
        let quotient = formula.pole().map(|alpha| over(one.plus(&share(alpha.complement())), alpha));
        let transitions = Transitions { exp: Some(self.phis[0]), quotient };
        let of = |function| match function {
            Phi(k) => self.phis.get(k).copied(),
            Power(k) => Some(power(k)),
            Resolvent(alpha) => Some(over(one, alpha)),
        };
        inverse_free::panels(&formula, &self.powers, &transitions, power, of).unwrap_or_default()
    }
}
