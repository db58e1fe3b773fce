//! Values of eight states with what they may be off, and the products and sums that carry both along.

use crate::judge::budget::state::{Lanes, WIDTH};
use crate::judge::lanes::Value;
use crate::promise::allowance::Arithmetic;

/// A value, and bounds on the error that a kernel's may have, split as [`super`] splits it.
#[derive(Clone, Copy)]
pub struct Estimate<V> {
    pub value: V,
    /// Its size, which takes a root and is asked for again and again.
    pub norm: Lanes,
    /// No rounding explains more.
    pub worst: Lanes,
    /// What is never assumed to cancel.
    pub linear: Lanes,
    /// Σc² of the roundings that are taken as random.
    pub variance: Lanes,
    /// What the terms that the value is a sum of come to, without their signs: with u what rounding costs at least
    /// ([`super`], "The level of rounding").
    pub size: Lanes,
}

/// What one operation may be off.
#[derive(Clone, Copy)]
pub struct Roundings {
    /// A sum.
    pub u: f64,
    /// A product of two weights.
    pub mu: f64,
    /// A product that underflows.
    pub underflow: f64,
}

impl Roundings {
    pub fn new(arithmetic: Arithmetic, mu: f64) -> Self {
        Roundings { u: arithmetic.unit, mu, underflow: 2.0 * arithmetic.underflow }
    }
}

impl<V: Value<WIDTH>> Estimate<V> {
    /// A value whose error is systematic.
    pub fn known(value: V, error: Lanes) -> Self {
        let norm = value.norm();
        Estimate { value, norm, worst: error, linear: error, variance: Lanes::ZERO, size: norm }
    }

    /// A value without an error.
    pub fn exact(value: V) -> Self {
        Estimate::known(value, Lanes::ZERO)
    }

    /// The largest that a kernel's may be.
    #[inline(always)]
    pub fn reach(&self) -> Lanes {
        self.norm + self.worst
    }

    /// The same without what random roundings add, where they are counted apart.
    pub fn without_variance(self) -> Self {
        Estimate { variance: Lanes::ZERO, ..self }
    }

    /// With an error more, of what underflows, which is systematic.
    #[inline(always)]
    pub fn off_by(mut self, error: Lanes, r: Roundings) -> Self {
        self.worst = self.worst + error;
        self.linear = self.linear + error;
        self.size = self.size + error * (1.0 / r.u);
        self
    }

    /// A rounded product of two whose roundings are independent.
    #[inline(never)]
    pub fn times(&self, other: &Self, r: Roundings) -> Self {
        let (one, two) = (self.norm, other.reach());
        let product = (self.reach().times(two)) * r.mu;
        // Whatever is multiplied first may underflow, and the rest then multiplies that.
        let lost = (self.reach() + two + 1.0) * r.underflow;
        let value = self.value * other.value;
        Estimate {
            value,
            norm: value.norm(),
            worst: self.worst.times(two) + one.times(other.worst) + product + lost,
            linear: self.linear.times(two) + one.times(other.linear) + lost,
            variance: self.product_variance(other, r),
            size: self.size.times(other.size) + lost * (1.0 / r.u),
        }
    }

    /// The variance of [`Estimate::times`].
    #[inline(always)]
    pub fn product_variance(&self, other: &Self, r: Roundings) -> Lanes {
        let (one, two) = (self.norm, other.reach());
        let product = (self.reach().times(two)) * r.mu;
        self.variance.times(two * two) + (one * one).times(other.variance) + product * product
    }

    /// A rounded sum of two whose roundings are independent.
    #[inline(never)]
    pub fn plus(&self, other: &Self, r: Roundings) -> Self {
        let sum = (self.reach() + other.reach()) * r.u;
        let value = self.value + other.value;
        Estimate {
            value,
            norm: value.norm(),
            worst: self.worst + other.worst + sum,
            linear: self.linear + other.linear,
            variance: self.sum_variance(other, r),
            size: self.size + other.size,
        }
    }

    /// The variance of [`Estimate::plus`].
    #[inline(always)]
    pub fn sum_variance(&self, other: &Self, r: Roundings) -> Lanes {
        let sum = (self.reach() + other.reach()) * r.u;
        self.variance + other.variance + sum * sum
    }
}
