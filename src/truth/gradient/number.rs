//! [`Number`], what the adjoint recurrence is written in: values of any precision, the same with a proven error, or what is
//! known of a value exactly ([`super::known`]).

use std::ops::Neg;

use num_traits::{One, Zero};

use crate::formula::Fraction;
use crate::truth::inverse_free;
use crate::truth::number::ball::{Ball, Enclosure};
use crate::truth::number::scalar::{Entry, Real};

/// A weight or a state, and with [`Number::Real`] what is real whatever the weights are.
pub trait Number: Clone + Send + Sync {
    type Real: Number<Real = Self::Real>;

    fn zero() -> Self;

    fn one() -> Self;

    /// An input: its real part, and its imaginary one if it has any.
    fn given(parts: &[f32]) -> Self;

    fn plus(&self, other: &Self) -> Self;

    fn times(&self, other: &Self) -> Self;

    /// The product with a real number.
    fn scaled(&self, factor: &Self::Real) -> Self;

    /// The product with a constant.
    fn ratio(&self, factor: Fraction) -> Self;

    /// x·2ⁿ
    fn shifted(&self, n: i64) -> Self;

    /// Part 0 is the real one, part 1 the imaginary one.
    fn part(&self, index: usize) -> Self::Real;

    /// Re(x·y)
    fn real_product(&self, other: &Self) -> Self::Real {
        self.times(other).part(0)
    }

    /// An upper bound of log₂|x|, or none for what is zero for sure; 0 where no size is known.
    fn log_size(&self) -> Option<i64> {
        Some(0)
    }

    fn minus(&self, other: &Self) -> Self {
        self.plus(&other.ratio(Fraction(-1, 1)))
    }
}

impl<T: Entry> Number for T {
    type Real = T::Part;

    fn zero() -> Self {
        Zero::zero()
    }

    fn one() -> Self {
        One::one()
    }

    fn given(parts: &[f32]) -> Self {
        let part = |i: usize| parts.get(i).map_or_else(Zero::zero, |&x| Real::exact(f64::from(x)));
        T::entry_from_parts(part(0), part(1))
    }

    fn plus(&self, other: &Self) -> Self {
        self.clone() + other.clone()
    }

    fn times(&self, other: &Self) -> Self {
        self.clone() * other.clone()
    }

    fn scaled(&self, factor: &T::Part) -> Self {
        self.clone().scale(factor.clone())
    }

    fn ratio(&self, Fraction(above, below): Fraction) -> Self {
        let above: T::Part = Real::exact(f64::from(above));
        let below: T::Part = Real::exact(f64::from(below));
        self.clone().scale(above).unscale(below)
    }

    fn shifted(&self, n: i64) -> Self {
        Entry::shifted(self, n)
    }

    fn part(&self, index: usize) -> T::Part {
        Entry::part(self, index)
    }

    fn real_product(&self, other: &Self) -> T::Part {
        let product = |i: usize| Entry::part(self, i) * Entry::part(other, i);
        if T::WIDTH == 2 { product(0) - product(1) } else { product(0) }
    }

    fn log_size(&self) -> Option<i64> {
        self.exponent_bound()
    }

    fn minus(&self, other: &Self) -> Self {
        self.clone() - other.clone()
    }
}

impl<T: Entry> Number for Ball<T> {
    type Real = Ball<T::Part>;

    fn zero() -> Self {
        Ball::zero()
    }

    fn one() -> Self {
        Ball::one()
    }

    fn given(parts: &[f32]) -> Self {
        Ball::exact(T::given(parts))
    }

    fn plus(&self, other: &Self) -> Self {
        Enclosure::plus(self, other)
    }

    fn times(&self, other: &Self) -> Self {
        Ball::times(self, other)
    }

    fn scaled(&self, factor: &Ball<T::Part>) -> Self {
        Enclosure::scale(self, factor)
    }

    fn ratio(&self, factor: Fraction) -> Self {
        match factor {
            Fraction::ONE => self.clone(),
            // A sign costs nothing.
            Fraction(-1, 1) => Ball { mid: Neg::neg(self.mid.clone()), radius: self.radius },
            Fraction(1, below) if below.is_power_of_two() => {
                Ball::shifted(self, -i64::from(below.trailing_zeros()))
            }
            _ => Enclosure::scale(self, &inverse_free::times(&Ball::one(), factor)),
        }
    }

    fn shifted(&self, n: i64) -> Self {
        Ball::shifted(self, n)
    }

    fn part(&self, index: usize) -> Ball<T::Part> {
        Ball::part(self, index)
    }

    fn log_size(&self) -> Option<i64> {
        (self.mid.size() + self.radius).exponent().map(|exponent| exponent + 1)
    }
}
