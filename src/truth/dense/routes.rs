//! One form's dense step by two routes: the literal one ([`crate::truth::literal`]), and the inverse-free one with its
//! proven error ([`super::floor`]).

use nalgebra::DMatrix;
use num_traits::One;

use super::expm;
use super::floor::{self, BoundedMatrix};
use super::matrix::{norm_exponent, product, scaled, shifted};
use crate::formula::Function::{Phi, Power, Resolvent};
use crate::formula::{Form, Panels};
use crate::truth::inverse_free::{self, Transitions};
use crate::truth::literal::{self, Ingredients, Quantity};
use crate::truth::number::ball::{Ball, Enclosure};
use crate::truth::number::scalar::{Entry, Real};

/// One form's step for a matrix A.
pub struct Given<'a, T: Entry> {
    pub form: Form,
    pub a: &'a DMatrix<T>,
    pub b: &'a DMatrix<T>,
    pub delta: T::Part,
    /// Δ as the inverse-free route has it: with its error, where it is no input.
    pub step: Ball<T::Part>,
    /// ΔA
    pub z: DMatrix<T>,
    /// As for [`super::floor::exponential`].
    pub chain: usize,
}

impl<'a, T: Entry> Given<'a, T> {
    /// For a Δ that is exact.
    pub fn new(form: Form, a: &'a DMatrix<T>, b: &'a DMatrix<T>, delta: T::Part, chain: usize) -> Self {
        let step = Ball::exact(delta.clone());
        Given::of_step(form, a, b, (delta, step), chain)
    }

    /// For a Δ that each route has its own of.
    pub fn of_step(
        form: Form,
        a: &'a DMatrix<T>,
        b: &'a DMatrix<T>,
        (delta, step): (T::Part, Ball<T::Part>),
        chain: usize,
    ) -> Self {
        let z = scaled(a, &delta);
        Given { form, a, b, delta, step, z, chain }
    }
}

/// Two routes' results.
pub struct Attempt<T: Entry> {
    pub literal: Panels<DMatrix<T>>,
    /// The inverse-free route's, with their proven errors.
    pub bounded: Panels<BoundedMatrix<T>>,
    /// Why the literal route did not take part, if so.
    pub unavailable: Option<&'static str>,
}

/// Runs both routes; where A⁻¹ is not available to the literal one a second algorithm takes its place. None when a
/// solve failed, which more precision may cure. `singular` says that A has no inverse.
pub fn attempt<T: Entry>(given: &Given<T>, singular: bool) -> Option<Attempt<T>> {
    let bounded = bounded_panels(given)?;
    let Given { form, a, b, ref delta, ref z, chain, .. } = *given;
    let formula = form.formula();
    let exp = if formula.is_rational() { None } else { Some(expm::pade(z, chain)?) };
    let (mut integrals, mut unavailable) = (Vec::new(), None);
    if let (Some(exp), 1..) = (&exp, formula.phis()) {
        let found = by_inverses(given, exp, formula.phis(), singular);
        integrals = match found {
            Ok(found) => found.into(),
            Err(Unavailable::Failed) => return None,
            Err(Unavailable::Reason(reason)) => {
                unavailable = Some(reason);
                by_doubling(given).into()
            }
        };
    }
    // A form without eᶻ does not look at it.
    let exp = exp.as_ref().unwrap_or(z);
    let literal = literal::panels(form, &Ingredients { a, b, delta, z, exp, integrals: &integrals })?;
    Some(Attempt { literal, bounded, unavailable })
}

/// Why A⁻¹ is of no use.
enum Unavailable {
    /// For a property of A; another algorithm has to stand in.
    Reason(&'static str),
    /// For lack of precision.
    Failed,
}

/// Δᵏφₖ(z)B as published.
fn by_inverses<T: Entry>(
    given: &Given<T>,
    exp: &DMatrix<T>,
    count: usize,
    singular: bool,
) -> Result<[DMatrix<T>; 3], Unavailable> {
    if singular {
        return Err(Unavailable::Reason("A is singular"));
    }
    let Given { a, b, z, .. } = given;
    let inverse = a.inverse().ok_or(Unavailable::Failed)?;
    let integrals = literal::integrals(&inverse, literal::remainders(exp, z), b);
    let size = |m: &DMatrix<T>| norm_exponent(m).unwrap_or(0);
    for (k, integral) in (1..).zip(&integrals).take(count) {
        // Rounding of eᶻ and its partial sums, magnified by the inverses, against what is left.
        let magnified = k * size(&inverse) + size(exp).max(size(z) * (k - 1)).max(0);
        let lost = magnified + size(b) - size(integral);
        if lost > i64::from(T::Part::BITS) - f64::MANTISSA_DIGITS as i64 - T::Part::REQUIRED {
            if T::Part::NARROW {
                // The inverse may serve with the next scalar's bits.
                return Err(Unavailable::Failed);
            }
            return Err(Unavailable::Reason("A is so ill-conditioned that its inverse loses the bits"));
        }
    }
    Ok(integrals)
}

/// The same where there is no A⁻¹.
fn by_doubling<T: Entry>(given: &Given<T>) -> [DMatrix<T>; 3] {
    let mut power = T::Part::one();
    expm::phi_by_doubling(&given.z, given.chain).map(|phi| {
        power *= given.delta.clone();
        scaled(&product(&phi, given.b), &power)
    })
}

/// The form's panels by the inverse-free route, with their errors: one exponential of an augmented block matrix (Van Loan), a
/// solve, Horner. None when a solve failed for lack of precision.
fn bounded_panels<T: Entry>(given: &Given<T>) -> Option<Panels<BoundedMatrix<T>>> {
    let formula = given.form.formula();
    let delta = given.step.clone();
    let z = BoundedMatrix::exact(given.a.clone()).scale(&delta);
    let b = BoundedMatrix::exact(given.b.clone());
    let mut transitions = Transitions { exp: None, quotient: None };
    let mut phis = Vec::new();
    if !formula.is_rational() {
        let (exp, phis_b) = exponential(given, &z, formula.phis());
        (transitions.exp, phis) = (Some(exp), phis_b);
    }
    let mut resolvent = None;
    if let Some(alpha) = formula.pole() {
        let share = |alpha| z.scale(&inverse_free::times(&Ball::one(), alpha));
        let zero = BoundedMatrix::exact(z.mid.map(|_| T::zero()));
        let below = zero.minus(&share(alpha)).plus_identity(&Ball::one());
        let above = share(alpha.complement()).plus_identity(&Ball::one());
        let [quotient, resolved] = floor::solve(&below, &[above, b.clone()])?.try_into().ok()?;
        (transitions.quotient, resolvent) = (Some(quotient), Some(resolved));
    }
    let times = |k: usize, right: &BoundedMatrix<T>| (0..k).fold(right.clone(), |power, _| z.times(&power));
    let identity = BoundedMatrix::exact(DMatrix::identity(z.mid.nrows(), z.mid.nrows()));
    let applied = |of| match of {
        Phi(0) => transitions.exp.as_ref().map(|exp| exp.times(&b)),
        Phi(k) => phis.get(k - 1).cloned(),
        Power(k) => Some(times(k, &b)),
        Resolvent(_) => resolvent.clone(),
    };
    let powers = inverse_free::powers(&delta);
    inverse_free::panels(&formula, &powers, &transitions, |k| times(k, &identity), applied)
}

/// eᶻ and φₖ(z)B from the exponential of
///
/// ```text
///     ⎡ z  B  0  0 ⎤
///     ⎢ 0  0  I  0 ⎥
///     ⎢ 0  0  0  I ⎥
///     ⎣ 0  0  0  0 ⎦
/// ```
///
/// whose first block row is (eᶻ, φ₁B, φ₂B, φ₃B).
fn exponential<T: Entry>(
    given: &Given<T>,
    z: &BoundedMatrix<T>,
    phis: usize,
) -> (BoundedMatrix<T>, Vec<BoundedMatrix<T>>) {
    let n = z.mid.nrows();
    if phis == 0 {
        return (floor::exponential(z, given.chain), Vec::new());
    }
    // With many columns the φ-functions themselves are the smaller matrices.
    let identity = (given.b.ncols() > n).then(|| DMatrix::identity(n, n));
    let right = identity.as_ref().unwrap_or(given.b);
    let m = right.ncols();
    // B takes the size of 1, so that it does not drive the scaling.
    let shift = norm_exponent(right).unwrap_or(0);
    let size = n + phis * m;
    let mut block = BoundedMatrix::exact(DMatrix::<T>::zeros(size, size));
    block.mid.view_mut((0, 0), (n, n)).copy_from(&z.mid);
    block.radius.view_mut((0, 0), (n, n)).copy_from(&z.radius);
    block.mid.view_mut((0, n), (n, m)).copy_from(&shifted(right, -shift));
    for i in 0..(phis - 1) * m {
        block.mid[(n + i, n + m + i)] = T::one();
    }
    let chain = if given.chain > 0 { given.chain + phis } else { 0 };
    let value = floor::exponential(&block, chain);
    let phis_b = (0..phis).map(|k| {
        let phi_b = value.view((0, n + k * m), (n, m)).shifted(shift);
        if identity.is_some() { phi_b.times(&BoundedMatrix::exact(given.b.clone())) } else { phi_b }
    });
    let phis_b = phis_b.collect();
    (value.view((0, 0), (n, n)), phis_b)
}
