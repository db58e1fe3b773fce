//! The field traits that nalgebra asks of a scalar, written once for both of ours.

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
                Some(<Self as $crate::truth::number::scalar::Real>::exact(high as f64 * 4294967296.0) + <Self as $crate::truth::number::scalar::Real>::exact(low as f64))
            }
            fn from_u64(n: u64) -> Option<Self> {
                let (high, low) = (n >> 32, n & 0xffff_ffff);
                Some(<Self as $crate::truth::number::scalar::Real>::exact(high as f64 * 4294967296.0) + <Self as $crate::truth::number::scalar::Real>::exact(low as f64))
            }
            fn from_f64(x: f64) -> Option<Self> {
                x.is_finite().then(|| <Self as $crate::truth::number::scalar::Real>::exact(x))
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
                <Self as $crate::truth::number::scalar::Real>::pow2(1 - i64::from(<Self as $crate::truth::number::scalar::Real>::BITS))
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
                let relative = Self::default_epsilon() * <Self as $crate::truth::number::scalar::Real>::exact(f64::from(max_ulps));
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
                <$type as $crate::truth::number::scalar::Real>::exact(*self)
            }
            fn from_superset_unchecked(element: &$type) -> f64 {
                $crate::truth::number::scalar::Real::to_nearest_f64(element)
            }
            fn is_in_subset(_: &$type) -> bool {
                true
            }
        }

        impl<$($generics)*> simba::scalar::SubsetOf<$type> for f32 {
            fn to_superset(&self) -> $type {
                <$type as $crate::truth::number::scalar::Real>::exact(f64::from(*self))
            }
            // Rounds twice; nalgebra never asks for it.
            fn from_superset_unchecked(element: &$type) -> f32 {
                $crate::truth::number::scalar::Real::to_nearest_f64(element) as f32
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
            $crate::truth::number::field::unreachable_functions!(
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
            $crate::truth::number::field::unreachable_functions!(atan2(Self));
            $crate::truth::number::field::unreachable_constants!(
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
