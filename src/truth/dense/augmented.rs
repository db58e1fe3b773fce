//! The inverse-free route: one exponential of an augmented block matrix (Van Loan), a solve, Horner. It
//! carries a proven bound of every entry's error, see [`super::floor`].

use nalgebra::DMatrix;

use super::floor::{self, Bounded};
use super::matrix::{norm_exponent, shifted};
use super::panels::Given;
use crate::method::Method;
use crate::truth::number::ball::Ball;
use crate::truth::number::scalar::{Entry, Real};
use crate::truth::textbook::{Form, Textbook};

/// Ā, then the coefficients of u_l, u_{l−1} and u_{l+1} as far as the form has them, with their errors.
pub type BoundedPanels<T> = [Option<Bounded<T>>; 4];

/// The form's panels. None when a solve failed for lack of precision.
pub fn panels<T: Entry>(given: &Given<T>) -> Option<BoundedPanels<T>> {
    let delta = Ball::exact(given.delta.clone());
    let z = Bounded::exact(given.a.clone()).scale(&delta);
    let b = Bounded::exact(given.b.clone());
    let held = || b.scale(&delta);
    let rk4 = || horner(&z, &b, 2..=4).scale(&delta);
    if given.form.has_pole() {
        return bilinear(given.form, &z, held());
    }
    if given.form == Form::Textbook(Textbook::Rk4Classical) {
        let identity = Bounded::exact(DMatrix::identity(z.mid.nrows(), z.mid.nrows()));
        return Some([Some(horner(&z, &identity, 1..=4)), Some(rk4()), None, None]);
    }
    let (exp, integrals) = exponential(given, &z, &delta);
    let (now, prev, next) = match given.form {
        Form::Method(Method::Foh) => (integrals[1].clone(), None, None),
        Form::Method(Method::Poly) => (integrals[0].plus(&integrals[1].shifted(-1)), None, None),
        Form::Method(Method::HighOrder) => {
            (integrals[0].plus(&integrals[1]).plus(&integrals[2].shifted(-1)), None, None)
        }
        Form::Method(Method::Rk4) => (rk4(), None, None),
        Form::Textbook(Textbook::ZohExact) => (integrals[0].clone(), None, None),
        Form::Textbook(Textbook::FohTextbook) => {
            // Δφ₂B = Δ²φ₂B/Δ; at Δ = 0 it vanishes.
            let next = match delta.is_exact_zero() {
                true => integrals[1].clone(),
                false => integrals[1].unscale(&delta),
            };
            (integrals[0].minus(&next), None, Some(next))
        }
        Form::Textbook(Textbook::ExpTrapezoidal) => {
            let half = held().shifted(-1);
            let prev = exp.times(&half);
            (half, Some(prev), None)
        }
        Form::Method(Method::Zoh) => (held(), None, None),
        Form::Method(Method::Bilinear)
        | Form::Textbook(Textbook::Rk4Classical | Textbook::BilinearAveraged) => {
            unreachable!("{} is rational", given.form)
        }
    };
    Some([Some(exp), Some(now), prev, next])
}

/// (I − z/2)⁻¹(I + z/2) and (I − z/2)⁻¹ΔB by one factorization.
fn bilinear<T: Entry>(form: Form, z: &Bounded<T>, held: Bounded<T>) -> Option<BoundedPanels<T>> {
    let (half, one) = (z.shifted(-1), Ball::one());
    let zero = Bounded::exact(half.mid.map(|_| T::zero()));
    let (minus, plus) = (zero.minus(&half).plus_identity(&one), half.plus_identity(&one));
    let [a, now] = floor::solve(&minus, &[plus, held])?.try_into().ok()?;
    Some(match form {
        Form::Textbook(Textbook::BilinearAveraged) => {
            let half = now.shifted(-1);
            [Some(a), Some(half.clone()), Some(half), None]
        }
        _ => [Some(a), Some(now), None, None],
    })
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
fn exponential<T: Entry>(
    given: &Given<T>,
    z: &Bounded<T>,
    delta: &Ball<T::Part>,
) -> (Bounded<T>, Vec<Bounded<T>>) {
    let (n, phis) = (z.mid.nrows(), given.phis());
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
    let mut block = Bounded::exact(DMatrix::<T>::zeros(size, size));
    block.mid.view_mut((0, 0), (n, n)).copy_from(&z.mid);
    block.radius.view_mut((0, 0), (n, n)).copy_from(&z.radius);
    block.mid.view_mut((0, n), (n, m)).copy_from(&shifted(right, -shift));
    for i in 0..(phis - 1) * m {
        block.mid[(n + i, n + m + i)] = T::one();
    }
    let chain = if given.chain > 0 { given.chain + phis } else { 0 };
    let value = floor::exponential(&block, chain);
    let mut power = Ball::one();
    let integrals = (0..phis).map(|k| {
        power = power.times(delta);
        let phi_b = value.view((0, n + k * m), (n, m)).shifted(shift);
        let phi_b = if identity.is_some() { phi_b.times(&Bounded::exact(given.b.clone())) } else { phi_b };
        phi_b.scale(&power)
    });
    let integrals = integrals.collect();
    (value.view((0, 0), (n, n)), integrals)
}

/// (I + z/first (I + z/(first+1) (… (I + z/last)))) right
fn horner<T: Entry>(
    z: &Bounded<T>,
    right: &Bounded<T>,
    divisors: std::ops::RangeInclusive<u8>,
) -> Bounded<T> {
    let mut sum = right.clone();
    for k in divisors.rev() {
        let divisor = Ball::exact(T::Part::exact(f64::from(k)));
        sum = z.times(&sum).unscale(&divisor).plus(right);
    }
    sum
}
