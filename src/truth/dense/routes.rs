//! One form's dense step by two routes: the literal one ([`crate::truth::literal`]), and the inverse-free one with its
//! proven error ([`super::augmented`]).

use nalgebra::DMatrix;
use num_traits::One;

use super::augmented;
use super::expm;
use super::floor::BoundedMatrix;
use super::matrix::{norm_exponent, product, scaled};
use crate::formula::{Form, Panels};
use crate::truth::certify::REQUIRED_BITS;
use crate::truth::literal::{self, Ingredients, Quantity};
use crate::truth::number::scalar::{Entry, Real};

/// One form's step for a matrix A.
pub struct Given<'a, T: Entry> {
    pub form: Form,
    pub a: &'a DMatrix<T>,
    pub b: &'a DMatrix<T>,
    pub delta: T::Part,
    /// ΔA
    pub z: DMatrix<T>,
    /// As for [`super::floor::exponential`].
    pub chain: usize,
}

impl<'a, T: Entry> Given<'a, T> {
    pub fn new(form: Form, a: &'a DMatrix<T>, b: &'a DMatrix<T>, delta: T::Part, chain: usize) -> Self {
        let z = scaled(a, &delta);
        Given { form, a, b, delta, z, chain }
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
    let bounded = augmented::panels(given)?;
    let Given { form, a, b, ref delta, ref z, chain } = *given;
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
    let integrals = literal::integrals(&inverse, exp, z, b);
    let size = |m: &DMatrix<T>| norm_exponent(m).unwrap_or(0);
    for (k, integral) in (1..).zip(&integrals).take(count) {
        // Rounding of eᶻ and its partial sums, magnified by the inverses, against what is left.
        let magnified = k * size(&inverse) + size(exp).max(size(z) * (k - 1)).max(0);
        let lost = magnified + size(b) - size(integral);
        if lost > i64::from(T::Part::BITS) - f64::MANTISSA_DIGITS as i64 - REQUIRED_BITS {
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
