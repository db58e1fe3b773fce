//! The inverse-free route: one exponential of an augmented block matrix (Van Loan), a solve, Horner. It
//! carries a proven bound of every entry's error, see [`super::floor`].

use nalgebra::DMatrix;

use super::floor::{self, BoundedMatrix};
use super::matrix::{norm_exponent, shifted};
use super::routes::Given;
use crate::formula::Function::{Phi, Power, Resolvent};
use crate::formula::Panels;
use crate::truth::inverse_free::{self, Transitions};
use crate::truth::number::ball::{Ball, Enclosure};
use crate::truth::number::scalar::Entry;

/// The form's panels, with their errors. None when a solve failed for lack of precision.
pub fn panels<T: Entry>(given: &Given<T>) -> Option<Panels<BoundedMatrix<T>>> {
    let formula = given.form.formula();
    let delta = Ball::exact(given.delta.clone());
    let z = BoundedMatrix::exact(given.a.clone()).scale(&delta);
    let b = BoundedMatrix::exact(given.b.clone());
    let mut transitions = Transitions { exp: None, quotient: None };
    let mut phis = Vec::new();
    if !formula.is_rational() {
        let (exp, phis_b) = exponential(given, &z, formula.phis());
        (transitions.exp, phis) = (Some(exp), phis_b);
    }
    let mut resolvent = None;
    if formula.has_pole() {
        let (half, one) = (z.shifted(-1), Ball::one());
        let zero = BoundedMatrix::exact(half.mid.map(|_| T::zero()));
        let (minus, plus) = (zero.minus(&half).plus_identity(&one), half.plus_identity(&one));
        let [quotient, resolved] = floor::solve(&minus, &[plus, b.clone()])?.try_into().ok()?;
        (transitions.quotient, resolvent) = (Some(quotient), Some(resolved));
    }
    let times = |k: usize, right: &BoundedMatrix<T>| (0..k).fold(right.clone(), |power, _| z.times(&power));
    let identity = BoundedMatrix::exact(DMatrix::identity(z.mid.nrows(), z.mid.nrows()));
    let applied = |of| match of {
        Phi(0) => transitions.exp.as_ref().map(|exp| exp.times(&b)),
        Phi(k) => phis.get(k - 1).cloned(),
        Power(k) => Some(times(k, &b)),
        Resolvent => resolvent.clone(),
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
