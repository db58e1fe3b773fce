//! The inverse-free route: one exponential of an augmented block matrix (Van Loan), a solve, Horner.

use nalgebra::DMatrix;
use num_traits::One;

use super::expm;
use super::matrix::{norm_exponent, product, scaled, shifted};
use super::routes::{Given, Panels, assemble, bilinear, bilinear_factors};
use super::scalar::{Entry, Real};
use super::textbook::{Form, Textbook};

/// The form's panels. None when a solve failed for lack of precision.
pub fn panels<T: Entry>(given: &Given<T>) -> Option<Panels<T>> {
    let z = &given.z;
    match given.form {
        form if form.has_pole() => {
            let (minus, plus) = bilinear_factors(z);
            let lu = minus.lu();
            let now = lu.solve(&scaled(given.b, &given.delta))?;
            Some(bilinear(given, lu.solve(&plus)?, now))
        }
        Form::Textbook(Textbook::Rk4Classical) => {
            let identity = DMatrix::identity(z.nrows(), z.nrows());
            Some([Some(horner(z, &identity, 1..=4)), Some(rk4(given)), None, None])
        }
        _ => {
            let (exp, integrals) = exponential(given);
            Some(assemble(given, exp, &integrals, || rk4(given)))
        }
    }
}

/// eᶻ and Δᵏφₖ(z)B from the exponential of
///
/// ```text
///     ⎡ z  B  0  0 ⎤
///     ⎢ 0  0  I  0 ⎥
///     ⎢ 0  0  0  I ⎥
///     ⎣ 0  0  0  0 ⎦
/// ```
///
/// whose first block row is (eᶻ, φ₁B, φ₂B, φ₃B).
fn exponential<T: Entry>(given: &Given<T>) -> (DMatrix<T>, Vec<DMatrix<T>>) {
    let (n, phis) = (given.z.nrows(), given.phis());
    if phis == 0 {
        return (expm::taylor(&given.z, given.chain), Vec::new());
    }
    // With many columns the φ-functions themselves are the smaller matrices.
    let identity = (given.b.ncols() > n).then(|| DMatrix::identity(n, n));
    let right = identity.as_ref().unwrap_or(given.b);
    let m = right.ncols();
    // B takes the size of 1, so that it does not drive the scaling.
    let shift = norm_exponent(right).unwrap_or(0);
    let mut block = DMatrix::<T>::zeros(n + phis * m, n + phis * m);
    block.view_mut((0, 0), (n, n)).copy_from(&given.z);
    block.view_mut((0, n), (n, m)).copy_from(&shifted(right, -shift));
    for i in 0..(phis - 1) * m {
        block[(n + i, n + m + i)] = T::one();
    }
    let chain = if given.chain > 0 { given.chain + phis } else { 0 };
    let value = expm::taylor(&block, chain);
    let mut power = T::Part::one();
    let integrals = (0..phis).map(|k| {
        power *= given.delta.clone();
        let phi_b = shifted(&value.view((0, n + k * m), (n, m)).into_owned(), shift);
        let phi_b = if identity.is_some() { product(&phi_b, given.b) } else { phi_b };
        scaled(&phi_b, &power)
    });
    let integrals = integrals.collect();
    (value.view((0, 0), (n, n)).into_owned(), integrals)
}

/// (I + z/first (I + z/(first+1) (… (I + z/last)))) right
fn horner<T: Entry>(
    z: &DMatrix<T>,
    right: &DMatrix<T>,
    divisors: std::ops::RangeInclusive<u8>,
) -> DMatrix<T> {
    let mut sum = right.clone();
    for k in divisors.rev() {
        let divisor = T::Part::exact(f64::from(k));
        sum = product(z, &sum).map(|x| x.unscale(divisor.clone())) + right;
    }
    sum
}

/// Δ (I + z/2 (I + z/3 (I + z/4))) B
fn rk4<T: Entry>(given: &Given<T>) -> DMatrix<T> {
    scaled(&horner(&given.z, given.b, 2..=4), &given.delta)
}
