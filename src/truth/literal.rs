//! The literal route: every form as spec.md §2 publishes it, with A⁻¹, its powers and eᶻ. Stated once for scalars and for
//! matrices, and apart from [`crate::formula`], of which the other route is made.

use std::ops::MulAssign;

use nalgebra::DMatrix;

use super::dense::lu::{Lu, Pivoting};
use super::dense::matrix;
use super::number::elementary::Exponent;
use super::number::scalar::{Entry, Real};
use crate::formula::{Form, Panels, Textbook};
use crate::method::Method;

/// Δ, and the constants of the formulas.
pub trait Parameter: Clone + PartialEq + MulAssign {
    fn constant(value: f64) -> Self;
}

impl<R: Real> Parameter for R {
    fn constant(value: f64) -> Self {
        R::exact(value)
    }
}

/// What the formulas are written in: a scalar, a scalar with its derivatives, or a matrix.
pub trait Quantity: Clone {
    type Real: Parameter;
    fn plus(&self, other: &Self) -> Self;
    fn minus(&self, other: &Self) -> Self;
    fn times(&self, other: &Self) -> Self;
    fn scaled(&self, factor: &Self::Real) -> Self;
    fn over(&self, divisor: &Self::Real) -> Self;
    /// x·2ⁿ
    fn shifted(&self, n: i64) -> Self;
    /// x + c·I
    fn plus_identity(&self, c: f64) -> Self;
    fn inverse(&self) -> Option<Self>;
}

impl<T: Exponent> Quantity for T {
    type Real = T::Part;
    fn plus(&self, other: &Self) -> Self {
        *self + *other
    }
    fn minus(&self, other: &Self) -> Self {
        *self - *other
    }
    fn times(&self, other: &Self) -> Self {
        *self * *other
    }
    fn scaled(&self, factor: &Self::Real) -> Self {
        self.scale(*factor)
    }
    fn over(&self, divisor: &Self::Real) -> Self {
        self.unscale(*divisor)
    }
    fn shifted(&self, n: i64) -> Self {
        Entry::shifted(self, n)
    }
    fn plus_identity(&self, c: f64) -> Self {
        *self + T::from_real(T::Part::exact(c))
    }
    /// Infinite or NaN for zero, which certifies nothing.
    fn inverse(&self) -> Option<Self> {
        Some(T::one() / *self)
    }
}

impl<T: Entry> Quantity for DMatrix<T> {
    type Real = T::Part;
    fn plus(&self, other: &Self) -> Self {
        self + other
    }
    fn minus(&self, other: &Self) -> Self {
        self - other
    }
    fn times(&self, other: &Self) -> Self {
        matrix::product(self, other)
    }
    fn scaled(&self, factor: &Self::Real) -> Self {
        matrix::scaled(self, factor)
    }
    fn over(&self, divisor: &Self::Real) -> Self {
        self.map(|entry| entry.unscale(divisor.clone()))
    }
    fn shifted(&self, n: i64) -> Self {
        matrix::shifted(self, n)
    }
    fn plus_identity(&self, c: f64) -> Self {
        matrix::plus_identity(self.clone(), &T::Part::exact(c))
    }
    /// By complete pivoting, where the other route's solve pivots partially.
    fn inverse(&self) -> Option<Self> {
        Lu::new(self.clone(), Pivoting::Complete).inverse()
    }
}

/// What the formulas are made of.
pub struct Ingredients<'a, Q: Quantity> {
    pub a: &'a Q,
    pub b: &'a Q,
    pub delta: &'a Q::Real,
    /// ΔA
    pub z: &'a Q,
    /// eᶻ; whatever for a form without it.
    pub exp: &'a Q,
    /// [`integrals`]; whatever for a form without them.
    pub integrals: &'a [Q],
}

/// eᶻ − Σ_{j<k} zʲ/j! for k = 1, 2, 3.
pub fn remainders<Q: Quantity>(exp: &Q, z: &Q) -> [Q; 3] {
    let first = exp.plus_identity(-1.0);
    let second = first.minus(z);
    let third = second.minus(&z.times(z).shifted(-1));
    [first, second, third]
}

/// A⁻ᵏ (eᶻ − Σ_{j<k} zʲ/j!) B for k = 1, 2, 3.
pub fn integrals<Q: Quantity>(inverse: &Q, remainders: [Q; 3], b: &Q) -> [Q; 3] {
    let [first, second, third] = remainders.map(|remainder| inverse.times(&remainder.times(b)));
    let second = inverse.times(&second);
    [first, second, inverse.times(&inverse.times(&third))]
}

/// Ā and the B̄s of a form. None where an inverse cannot be computed.
pub fn panels<Q: Quantity>(form: Form, with: &Ingredients<Q>) -> Option<Panels<Q>> {
    let Ingredients { a, b, delta, z, .. } = *with;
    let exp = || Some(with.exp.clone());
    let integral = |k: usize| with.integrals[k - 1].clone();
    let over = |q: &Q, n: f64| q.over(&Q::Real::constant(n));
    let held = || b.scaled(delta);
    let bilinear = || {
        let half = z.shifted(-1);
        let inverse = half.minus(z).plus_identity(1.0).inverse()?;
        Some((inverse.times(&half.plus_identity(1.0)), inverse.times(&held())))
    };
    // (ΔI + Δ²A/2 + Δ³A²/6 + Δ⁴A³/24) B
    let runge_kutta = || {
        let square = a.times(a);
        let cube = square.times(a);
        let mut power = delta.clone();
        let mut sum = held();
        for (matrix, divisor) in [(a, 2.0), (&square, 6.0), (&cube, 24.0)] {
            power *= delta.clone();
            sum = sum.plus(&over(&matrix.times(b).scaled(&power), divisor));
        }
        sum
    };
    let carried = |now: Q| [exp(), Some(now), None, None];
    Some(match form {
        Form::Method(Method::Zoh) => carried(held()),
        Form::Method(Method::Foh) => carried(integral(2)),
        Form::Method(Method::Bilinear) => {
            let (a_bar, now) = bilinear()?;
            [Some(a_bar), Some(now), None, None]
        }
        Form::Method(Method::Poly) => carried(integral(1).plus(&integral(2).shifted(-1))),
        Form::Method(Method::HighOrder) => {
            carried(integral(1).plus(&integral(2)).plus(&integral(3).shifted(-1)))
        }
        Form::Method(Method::Rk4) => carried(runge_kutta()),
        Form::Textbook(Textbook::ZohExact) => carried(integral(1)),
        Form::Textbook(Textbook::FohTextbook) => {
            // Δφ₂B = Δ²φ₂B/Δ; at Δ = 0 it vanishes.
            let second = integral(2);
            let next = if *delta == Q::Real::constant(0.0) { second } else { second.over(delta) };
            [exp(), Some(integral(1).minus(&next)), None, Some(next)]
        }
        Form::Textbook(Textbook::Rk4Classical) => {
            let square = z.times(z);
            let cube = square.times(z);
            let fourth = cube.times(z);
            let sum = z.plus(&square.shifted(-1)).plus(&over(&cube, 6.0)).plus(&over(&fourth, 24.0));
            [Some(sum.plus_identity(1.0)), Some(runge_kutta()), None, None]
        }
        Form::Textbook(Textbook::BilinearAveraged) => {
            let (a_bar, now) = bilinear()?;
            let half = now.shifted(-1);
            [Some(a_bar), Some(half.clone()), Some(half), None]
        }
        Form::Textbook(Textbook::FohCausal) => {
            let second = integral(2);
            let now = if *delta == Q::Real::constant(0.0) { second } else { second.over(delta) };
            [exp(), Some(now.clone()), Some(integral(1).minus(&now)), None]
        }
        Form::Textbook(Textbook::Euler) => [Some(z.plus_identity(1.0)), Some(held()), None, None],
        Form::Textbook(Textbook::BackwardEuler) => {
            let inverse = z.minus(z).minus(z).plus_identity(1.0).inverse()?;
            let now = inverse.times(&held());
            [Some(inverse), Some(now), None, None]
        }
        Form::Textbook(Textbook::ExpTrapezoidal) => {
            let half = held().shifted(-1);
            [exp(), Some(half.clone()), Some(with.exp.times(&half)), None]
        }
    })
}
