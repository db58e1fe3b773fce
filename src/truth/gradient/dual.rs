//! [`Dual`], a number with its derivatives by Δ and by A: forward differentiation, in which the literal formulas
//! ([`crate::truth::literal`]) give their own derivatives.

use std::ops::MulAssign;

use crate::truth::literal::{Parameter, Quantity};
use crate::truth::number::scalar::{Entry, Real};

/// A value, and its derivatives by Δ and by A: holomorphic in A, so that one number says what a complex A does.
#[derive(Clone, Debug, PartialEq)]
pub struct Dual<T> {
    pub value: T,
    pub slopes: [T; 2],
}

impl<T: Entry> Dual<T> {
    pub fn constant(value: T) -> Self {
        Dual { value, slopes: [T::zero(), T::zero()] }
    }

    /// f(x) for f(value) and f′(value).
    pub fn through(&self, value: T, slope: T) -> Self {
        Dual { value, slopes: self.slopes.clone().map(|x| slope.clone() * x) }
    }

    fn with(&self, value: T, slope: impl Fn(&T, usize) -> T) -> Self {
        Dual { value, slopes: std::array::from_fn(|i| slope(&self.slopes[i], i)) }
    }
}

impl<R: Real> Dual<R> {
    /// Δ itself.
    pub fn step(delta: R) -> Self {
        Dual { value: delta, slopes: [R::one(), R::zero()] }
    }
}

impl<R: Real> MulAssign for Dual<R> {
    fn mul_assign(&mut self, other: Self) {
        *self = Quantity::times(self, &other);
    }
}

impl<R: Real> Parameter for Dual<R> {
    fn constant(value: f64) -> Self {
        Dual::constant(R::exact(value))
    }
}

impl<T: Entry> Quantity for Dual<T> {
    type Real = Dual<T::Part>;

    fn plus(&self, other: &Self) -> Self {
        self.with(self.value.clone() + other.value.clone(), |x, i| x.clone() + other.slopes[i].clone())
    }

    fn minus(&self, other: &Self) -> Self {
        self.with(self.value.clone() - other.value.clone(), |x, i| x.clone() - other.slopes[i].clone())
    }

    fn times(&self, other: &Self) -> Self {
        self.with(self.value.clone() * other.value.clone(), |x, i| {
            x.clone() * other.value.clone() + self.value.clone() * other.slopes[i].clone()
        })
    }

    fn scaled(&self, factor: &Self::Real) -> Self {
        self.with(self.value.clone().scale(factor.value.clone()), |x, i| {
            x.clone().scale(factor.value.clone()) + self.value.clone().scale(factor.slopes[i].clone())
        })
    }

    fn over(&self, divisor: &Self::Real) -> Self {
        let value = self.value.clone().unscale(divisor.value.clone());
        self.with(value.clone(), |x, i| {
            (x.clone() - value.clone().scale(divisor.slopes[i].clone())).unscale(divisor.value.clone())
        })
    }

    fn shifted(&self, n: i64) -> Self {
        self.with(self.value.shifted(n), |x, _| x.shifted(n))
    }

    fn plus_identity(&self, c: f64) -> Self {
        let c = T::from_real(T::Part::exact(c));
        Dual { value: self.value.clone() + c, slopes: self.slopes.clone() }
    }

    fn inverse(&self) -> Option<Self> {
        let inverse = T::one() / self.value.clone();
        Some(self.through(inverse.clone(), -(inverse.clone() * inverse)))
    }
}
