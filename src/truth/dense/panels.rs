//! What a dense route works on, and how one form's panels are put together from e^z and the φ-functions (spec.md §2).

use nalgebra::DMatrix;
use num_traits::One;

use super::matrix::{plus_identity, product, scaled, shifted};
use crate::method::Method;
use crate::truth::number::scalar::{Entry, Real};
use crate::truth::textbook::{Form, Textbook};

/// Ā, then the coefficients of u_l, u_{l−1} and u_{l+1} as far as the form has them.
pub type Panels<T> = [Option<DMatrix<T>>; 4];

/// What a route works on.
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

    /// How many of φ₁, φ₂, φ₃ the form's B̄ needs.
    pub fn phis(&self) -> usize {
        match self.form {
            Form::Textbook(Textbook::ZohExact) => 1,
            Form::Method(Method::Foh | Method::Poly) | Form::Textbook(Textbook::FohTextbook) => 2,
            Form::Method(Method::HighOrder) => 3,
            Form::Method(Method::Zoh | Method::Bilinear | Method::Rk4)
            | Form::Textbook(
                Textbook::Rk4Classical | Textbook::BilinearAveraged | Textbook::ExpTrapezoidal,
            ) => 0,
        }
    }
}

/// The panels of a form from eᶻ and the Δᵏ φₖ(z) B.
pub fn assemble<T: Entry>(
    given: &Given<T>,
    exp: DMatrix<T>,
    integrals: &[DMatrix<T>],
    rk4: impl FnOnce() -> DMatrix<T>,
) -> Panels<T> {
    let delta = &given.delta;
    let held = || scaled(given.b, delta);
    let (now, prev, next) = match given.form {
        Form::Method(Method::Foh) => (integrals[1].clone(), None, None),
        Form::Method(Method::Poly) => (&integrals[0] + shifted(&integrals[1], -1), None, None),
        Form::Method(Method::HighOrder) => {
            (&integrals[0] + &integrals[1] + shifted(&integrals[2], -1), None, None)
        }
        Form::Method(Method::Rk4) => (rk4(), None, None),
        Form::Textbook(Textbook::ZohExact) => (integrals[0].clone(), None, None),
        Form::Textbook(Textbook::FohTextbook) => {
            // Δφ₂B = Δ²φ₂B/Δ; at Δ = 0 it vanishes.
            let next = if *delta == T::Part::exact(0.0) {
                integrals[1].clone()
            } else {
                integrals[1].map(|entry| entry.unscale(delta.clone()))
            };
            (&integrals[0] - &next, None, Some(next))
        }
        Form::Textbook(Textbook::ExpTrapezoidal) => {
            let half = shifted(&held(), -1);
            let prev = product(&exp, &half);
            (half, Some(prev), None)
        }
        Form::Method(Method::Zoh) => (held(), None, None),
        // Both routes assemble the rational forms apart.
        Form::Method(Method::Bilinear)
        | Form::Textbook(Textbook::Rk4Classical | Textbook::BilinearAveraged) => {
            unreachable!("{} is rational", given.form)
        }
    };
    [Some(exp), Some(now), prev, next]
}

/// Bilinear's panels from (I − z/2)⁻¹(I + z/2) and (I − z/2)⁻¹ΔB.
pub fn bilinear<T: Entry>(given: &Given<T>, a: DMatrix<T>, now: DMatrix<T>) -> Panels<T> {
    match given.form {
        Form::Textbook(Textbook::BilinearAveraged) => {
            let half = shifted(&now, -1);
            [Some(a), Some(half.clone()), Some(half), None]
        }
        _ => [Some(a), Some(now), None, None],
    }
}

/// (I − z/2, I + z/2)
pub fn bilinear_factors<T: Entry>(z: &DMatrix<T>) -> (DMatrix<T>, DMatrix<T>) {
    let half = shifted(z, -1);
    (plus_identity(-half.clone(), &T::Part::one()), plus_identity(half, &T::Part::one()))
}
