//! The literal route: formulas as spec.md §2 writes them, with matrix inverses and powers.

use nalgebra::DMatrix;
use num_traits::One;

use super::expm;
use super::matrix::{norm_exponent, plus_identity, product, scaled, shifted};
use super::panels::{Given, Panels, assemble, bilinear, bilinear_factors};
use crate::truth::certify::REQUIRED_BITS;
use crate::truth::number::scalar::{Entry, Real};
use crate::truth::textbook::{Form, Textbook};

/// Why the literal route has no result.
pub enum Unavailable {
    /// For a property of A; another algorithm has to stand in.
    Reason(&'static str),
    /// For lack of precision.
    Failed,
}

/// The form's panels. `singular` says that A has no inverse.
pub fn panels<T: Entry>(given: &Given<T>, singular: bool) -> Result<Panels<T>, Unavailable> {
    let z = &given.z;
    match given.form {
        form if form.has_pole() => {
            let (minus, plus) = bilinear_factors(z);
            // Complete pivoting, where the other route's solve pivots partially.
            let inverse = minus.full_piv_lu().try_inverse().ok_or(Unavailable::Failed)?;
            let now = product(&inverse, &scaled(given.b, &given.delta));
            Ok(bilinear(given, product(&inverse, &plus), now))
        }
        Form::Textbook(Textbook::Rk4Classical) => {
            let square = product(z, z);
            let cube = product(&square, z);
            let fourth = product(&cube, z);
            let over = |m: &DMatrix<T>, n: f64| m.map(|x| x.unscale(T::Part::exact(n)));
            let sum = z + shifted(&square, -1) + over(&cube, 6.0) + over(&fourth, 24.0);
            Ok([Some(plus_identity(sum, &T::Part::one())), Some(rk4(given)), None, None])
        }
        _ => {
            let exp = expm::pade(z, given.chain).ok_or(Unavailable::Failed)?;
            let integrals = integrals(given, &exp, singular)?;
            Ok(assemble(given, exp, &integrals, || rk4(given)))
        }
    }
}

/// A⁻ᵏ (eᶻ − Σ_{j<k} zʲ/j!) B, as many as the form needs.
fn integrals<T: Entry>(
    given: &Given<T>,
    exp: &DMatrix<T>,
    singular: bool,
) -> Result<Vec<DMatrix<T>>, Unavailable> {
    if given.phis() == 0 {
        return Ok(Vec::new());
    }
    if singular {
        return Err(Unavailable::Reason("A is singular"));
    }
    let inverse = given.a.clone().full_piv_lu().try_inverse().ok_or(Unavailable::Failed)?;
    let mut remainder = plus_identity(exp.clone(), &-T::Part::one());
    let mut term = given.z.clone();
    let mut integrals = Vec::new();
    for k in 1..=given.phis() {
        if k > 1 {
            remainder -= &term;
            let next = T::Part::exact(k as f64);
            term = product(&term, &given.z).map(|x| x.unscale(next.clone()));
        }
        let mut integral = product(&remainder, given.b);
        for _ in 0..k {
            integral = product(&inverse, &integral);
        }
        let size = |m: &DMatrix<T>| norm_exponent(m).unwrap_or(0);
        // Rounding of eᶻ and its partial sums, magnified by the inverses, against what is left.
        let magnified = k as i64 * size(&inverse) + size(exp).max(size(&given.z) * (k as i64 - 1)).max(0);
        let lost = magnified + size(given.b) - size(&integral);
        if lost > i64::from(T::Part::BITS) - f64::MANTISSA_DIGITS as i64 - REQUIRED_BITS {
            return Err(Unavailable::Reason("A is so ill-conditioned that its inverse loses the bits"));
        }
        integrals.push(integral);
    }
    Ok(integrals)
}

/// (ΔI + Δ²A/2 + Δ³A²/6 + Δ⁴A³/24) B
fn rk4<T: Entry>(given: &Given<T>) -> DMatrix<T> {
    let delta = &given.delta;
    let square = product(given.a, given.a);
    let cube = product(&square, given.a);
    let mut power = delta.clone();
    let mut sum = scaled(given.b, delta);
    for (matrix, divisor) in [(given.a, 2.0), (&square, 6.0), (&cube, 24.0)] {
        power *= delta.clone();
        sum += scaled(&product(matrix, given.b), &(power.clone() / T::Part::exact(divisor)));
    }
    sum
}
