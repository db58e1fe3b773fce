//! What the generic algorithms ask of a number, over and above simba's field traits.

use nalgebra::{Complex, ComplexField, RealField};

/// A binary floating-point real of fixed precision, wide enough to carry a truth.
pub trait Real: RealField {
    /// Bits of the significand.
    const BITS: u32;

    /// The same number, exactly.
    fn exact(value: f64) -> Self;

    /// The nearest f64, ties to even, subnormals and overflow to infinity included.
    fn to_nearest_f64(&self) -> f64;

    /// ⌊log₂|x|⌋, or none for zero. A finite argument is expected.
    fn exponent(&self) -> Option<i64>;

    /// x·2ⁿ, exactly as long as it stays in range.
    fn times_pow2(&self, n: i64) -> Self;

    /// 2ⁿ
    fn pow2(n: i64) -> Self {
        Self::one().times_pow2(n)
    }
}

/// A real, or a complex number over one: an entry of a matrix.
pub trait Entry: ComplexField<RealField = Self::Part> {
    type Part: Real;
    /// How the input and the rounded output are held: `f64` or `Complex<f64>`.
    type Rounded: Copy + Send + Sync + 'static;
    /// Parts of one entry: 1 or 2.
    const WIDTH: usize;

    fn exact_entry(value: Self::Rounded) -> Self;

    /// From a real and an imaginary part; a real entry ignores the latter.
    fn entry_from_parts(re: Self::Part, im: Self::Part) -> Self;

    /// Part 0 is the real one, part 1 the imaginary one.
    fn part(&self, index: usize) -> Self::Part;

    /// x·2ⁿ
    fn shifted(&self, n: i64) -> Self;

    /// An upper bound of log₂|x|, or none for zero.
    fn exponent_bound(&self) -> Option<i64> {
        let largest = (0..Self::WIDTH).filter_map(|i| self.part(i).exponent()).max();
        largest.map(|e| e + Self::WIDTH as i64)
    }

    /// Σ cₖ xᵏ for real cₖ.
    fn polynomial(&self, coefficients: &[Self::Part]) -> Self;
}

impl<R: Real> Entry for R {
    type Part = R;
    type Rounded = f64;
    const WIDTH: usize = 1;

    fn exact_entry(value: f64) -> Self {
        R::exact(value)
    }

    fn entry_from_parts(re: R, _: R) -> Self {
        re
    }

    fn part(&self, _: usize) -> R {
        self.clone()
    }

    fn shifted(&self, n: i64) -> Self {
        self.times_pow2(n)
    }

    fn polynomial(&self, coefficients: &[R]) -> Self {
        let mut sum = R::zero();
        for c in coefficients.iter().rev() {
            sum = sum * self.clone() + c.clone();
        }
        sum
    }
}

impl<R: Real> Entry for Complex<R> {
    type Part = R;
    type Rounded = Complex<f64>;
    const WIDTH: usize = 2;

    fn exact_entry(value: Complex<f64>) -> Self {
        Complex::new(R::exact(value.re), R::exact(value.im))
    }

    fn entry_from_parts(re: R, im: R) -> Self {
        Complex::new(re, im)
    }

    fn part(&self, index: usize) -> R {
        if index == 0 { self.re.clone() } else { self.im.clone() }
    }

    fn shifted(&self, n: i64) -> Self {
        Complex::new(self.re.times_pow2(n), self.im.times_pow2(n))
    }

    /// Division by the real quadratic t² − 2 Re(x) t + |x|², which has x as a root: two real products for
    /// each coefficient where Horner's rule in complex arithmetic takes four.
    fn polynomial(&self, coefficients: &[R]) -> Self {
        let twice = self.re.times_pow2(1);
        let norm = self.re.clone() * self.re.clone() + self.im.clone() * self.im.clone();
        let (mut high, mut low) = (R::zero(), R::zero());
        for c in coefficients.iter().skip(1).rev() {
            let next = c.clone() + twice.clone() * high.clone() - norm.clone() * low;
            low = high;
            high = next;
        }
        // p(x) = c₀ − |x|² low + x·high, where the quotient ends in `high` and `low` is the one before.
        let constant = coefficients.first().cloned().unwrap_or_else(R::zero) - norm * low;
        Complex::new(constant + self.re.clone() * high.clone(), self.im.clone() * high)
    }
}

/// Rounds ±top·2^(exponent − 63) to the nearest f64, ties to even. `top` has its highest bit set;
/// `sticky` tells whether nonzero bits follow below it.
pub fn round_to_f64(negative: bool, top: u64, exponent: i64, sticky: bool) -> f64 {
    let sign = u64::from(negative) << 63;
    if exponent > 1023 {
        return f64::from_bits(sign | f64::INFINITY.to_bits());
    }
    // A subnormal keeps fewer bits; at 0 kept bits the number may still round up to the smallest one.
    let kept = if exponent >= -1022 { 53 } else { 53 - (-1022 - exponent) };
    if kept < 0 {
        return f64::from_bits(sign);
    }
    let dropped = 64 - kept as u32;
    let (quotient, rest) = match dropped {
        64 => (0, top),
        _ => (top >> dropped, top & ((1 << dropped) - 1)),
    };
    let half = 1u64 << (dropped - 1);
    let up = rest > half || (rest == half && (sticky || quotient & 1 == 1));
    // The hidden bit adds one to the exponent field, and a carry out of the significand another one: the
    // largest finite number so overflows into infinity by itself.
    let field = if exponent >= -1022 { ((exponent + 1022) as u64) << 52 } else { 0 };
    f64::from_bits(sign | (field + quotient + u64::from(up)))
}

/// Implements the traits that nalgebra asks of a real scalar for `$type`, a newtype with the operators of
/// num-traits' `Num` by reference, `Real`, and inherent `raw_sqrt`.
///
/// LU and inverses over the type and over `Complex` of it use only the arithmetic, the comparisons and the
/// norms. Everything transcendental is unreachable from them and from us, who bring our own exponentials
/// (the ones below are not accurate enough everywhere), so it is left out rather than done badly.
macro_rules! real_field {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> num_traits::FromPrimitive for $type {
            fn from_i64(n: i64) -> Option<Self> {
                let (high, low) = (n >> 32, n & 0xffff_ffff);
                Some(<Self as $crate::truth::scalar::Real>::exact(high as f64 * 4294967296.0) + <Self as $crate::truth::scalar::Real>::exact(low as f64))
            }
            fn from_u64(n: u64) -> Option<Self> {
                let (high, low) = (n >> 32, n & 0xffff_ffff);
                Some(<Self as $crate::truth::scalar::Real>::exact(high as f64 * 4294967296.0) + <Self as $crate::truth::scalar::Real>::exact(low as f64))
            }
            fn from_f64(x: f64) -> Option<Self> {
                x.is_finite().then(|| <Self as $crate::truth::scalar::Real>::exact(x))
            }
        }

        impl<$($generics)*> num_traits::Signed for $type {
            fn abs(&self) -> Self {
                if self.is_negative() { -self.clone() } else { self.clone() }
            }
            fn abs_sub(&self, other: &Self) -> Self {
                if self <= other { <Self as num_traits::Zero>::zero() } else { self.clone() - other.clone() }
            }
            fn signum(&self) -> Self {
                use num_traits::{One, Zero};
                if Zero::is_zero(self) {
                    Self::zero()
                } else if self.is_negative() {
                    -Self::one()
                } else {
                    Self::one()
                }
            }
            fn is_positive(&self) -> bool {
                *self > <Self as num_traits::Zero>::zero()
            }
            fn is_negative(&self) -> bool {
                *self < <Self as num_traits::Zero>::zero()
            }
        }

        impl<$($generics)*> approx::AbsDiffEq for $type {
            type Epsilon = Self;
            fn default_epsilon() -> Self {
                <Self as $crate::truth::scalar::Real>::pow2(1 - i64::from(<Self as $crate::truth::scalar::Real>::BITS))
            }
            fn abs_diff_eq(&self, other: &Self, epsilon: Self) -> bool {
                num_traits::Signed::abs(&(self.clone() - other.clone())) <= epsilon
            }
        }

        impl<$($generics)*> approx::RelativeEq for $type {
            fn default_max_relative() -> Self {
                <Self as approx::AbsDiffEq>::default_epsilon()
            }
            fn relative_eq(&self, other: &Self, epsilon: Self, max_relative: Self) -> bool {
                use num_traits::Signed;
                let difference = Signed::abs(&(self.clone() - other.clone()));
                let (left, right) = (Signed::abs(self), Signed::abs(other));
                let largest = if left > right { left } else { right };
                difference <= epsilon || difference <= largest * max_relative
            }
        }

        impl<$($generics)*> approx::UlpsEq for $type {
            fn default_max_ulps() -> u32 {
                4
            }
            fn ulps_eq(&self, other: &Self, epsilon: Self, max_ulps: u32) -> bool {
                use approx::{AbsDiffEq, RelativeEq};
                let relative = Self::default_epsilon() * <Self as $crate::truth::scalar::Real>::exact(f64::from(max_ulps));
                self.relative_eq(other, epsilon, relative)
            }
        }

        impl<$($generics)*> simba::simd::SimdValue for $type {
            const LANES: usize = 1;
            type Element = Self;
            type SimdBool = bool;
            fn splat(value: Self) -> Self {
                value
            }
            fn extract(&self, _: usize) -> Self {
                self.clone()
            }
            unsafe fn extract_unchecked(&self, _: usize) -> Self {
                self.clone()
            }
            fn replace(&mut self, _: usize, value: Self) {
                *self = value;
            }
            unsafe fn replace_unchecked(&mut self, _: usize, value: Self) {
                *self = value;
            }
            fn select(self, condition: bool, other: Self) -> Self {
                if condition { self } else { other }
            }
        }

        impl<$($generics)*> simba::scalar::Field for $type {}

        impl<$($generics)*> simba::scalar::SubsetOf<$type> for $type {
            fn to_superset(&self) -> Self {
                self.clone()
            }
            fn from_superset_unchecked(element: &Self) -> Self {
                element.clone()
            }
            fn is_in_subset(_: &Self) -> bool {
                true
            }
        }

        impl<$($generics)*> simba::scalar::SubsetOf<$type> for f64 {
            fn to_superset(&self) -> $type {
                <$type as $crate::truth::scalar::Real>::exact(*self)
            }
            fn from_superset_unchecked(element: &$type) -> f64 {
                $crate::truth::scalar::Real::to_nearest_f64(element)
            }
            fn is_in_subset(_: &$type) -> bool {
                true
            }
        }

        impl<$($generics)*> simba::scalar::SubsetOf<$type> for f32 {
            fn to_superset(&self) -> $type {
                <$type as $crate::truth::scalar::Real>::exact(f64::from(*self))
            }
            // Rounds twice; nalgebra never asks for it.
            fn from_superset_unchecked(element: &$type) -> f32 {
                $crate::truth::scalar::Real::to_nearest_f64(element) as f32
            }
            fn is_in_subset(_: &$type) -> bool {
                true
            }
        }

        impl<$($generics)*> simba::scalar::ComplexField for $type {
            type RealField = Self;
            fn from_real(re: Self) -> Self {
                re
            }
            fn real(self) -> Self {
                self
            }
            fn imaginary(self) -> Self {
                <Self as num_traits::Zero>::zero()
            }
            fn modulus(self) -> Self {
                num_traits::Signed::abs(&self)
            }
            fn modulus_squared(self) -> Self {
                self.clone() * self
            }
            fn norm1(self) -> Self {
                num_traits::Signed::abs(&self)
            }
            fn scale(self, factor: Self) -> Self {
                self * factor
            }
            fn unscale(self, factor: Self) -> Self {
                self / factor
            }
            fn mul_add(self, a: Self, b: Self) -> Self {
                // Not fused: f256's own is wrong near underflow.
                self * a + b
            }
            fn abs(self) -> Self {
                num_traits::Signed::abs(&self)
            }
            fn hypot(self, other: Self) -> Self {
                (self.clone() * self + other.clone() * other).raw_sqrt()
            }
            fn recip(self) -> Self {
                <Self as num_traits::One>::one() / self
            }
            fn conjugate(self) -> Self {
                self
            }
            fn sqrt(self) -> Self {
                self.raw_sqrt()
            }
            fn try_sqrt(self) -> Option<Self> {
                (!num_traits::Signed::is_negative(&self)).then(|| self.raw_sqrt())
            }
            fn is_finite(&self) -> bool {
                self.raw_is_finite()
            }
            fn powi(self, n: i32) -> Self {
                let power = num_traits::pow(self, n.unsigned_abs() as usize);
                if n < 0 { <Self as num_traits::One>::one() / power } else { power }
            }
            $crate::truth::scalar::unreachable_functions!(
                argument() floor() ceil() round() trunc() fract() sin() cos() tan() asin() acos() atan()
                sinh() cosh() tanh() asinh() acosh() atanh() log2() log10() ln() ln_1p() exp() exp2() exp_m1()
                cbrt() log(Self) powf(Self) powc(Self)
            );
            fn sin_cos(self) -> (Self, Self) {
                (self.clone().sin(), self.cos())
            }
        }

        impl<$($generics)*> simba::scalar::RealField for $type {
            fn is_sign_positive(&self) -> bool {
                !num_traits::Signed::is_negative(self)
            }
            fn is_sign_negative(&self) -> bool {
                num_traits::Signed::is_negative(self)
            }
            fn copysign(self, sign: Self) -> Self {
                if num_traits::Signed::is_negative(&self) == num_traits::Signed::is_negative(&sign) {
                    self
                } else {
                    -self
                }
            }
            fn max(self, other: Self) -> Self {
                if self < other { other } else { self }
            }
            fn min(self, other: Self) -> Self {
                if self > other { other } else { self }
            }
            fn clamp(self, min: Self, max: Self) -> Self {
                if self < min {
                    min
                } else if self > max {
                    max
                } else {
                    self
                }
            }
            fn min_value() -> Option<Self> {
                None
            }
            fn max_value() -> Option<Self> {
                None
            }
            $crate::truth::scalar::unreachable_functions!(atan2(Self));
            $crate::truth::scalar::unreachable_constants!(
                pi two_pi frac_pi_2 frac_pi_3 frac_pi_4 frac_pi_6 frac_pi_8 frac_1_pi frac_2_pi frac_2_sqrt_pi
                e log2_e log10_e ln_2 ln_10
            );
        }
    };
}

macro_rules! unreachable_functions {
    ($($name:ident($($argument:ty)?))*) => {$(
        fn $name(self $(, _: $argument)?) -> Self {
            unreachable!(concat!("no algorithm of the truth takes ", stringify!($name)))
        }
    )*};
}

macro_rules! unreachable_constants {
    ($($name:ident)*) => {$(
        fn $name() -> Self {
            unreachable!(concat!("no algorithm of the truth takes ", stringify!($name)))
        }
    )*};
}

pub(crate) use {real_field, unreachable_constants, unreachable_functions};
