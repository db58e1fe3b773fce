//! What the generic algorithms ask of a number. Everything transcendental is left out: the truth brings its own.

use std::fmt::Debug;
use std::ops::Neg;

use nalgebra::Complex;
use num_traits::{NumAssign, Zero};

use super::mag::Mag;
use crate::truth::certify::REQUIRED_BITS;

/// The operators of a scalar, and the traits that ask for them, from a function for each that takes both by value.
macro_rules! operators {
    (@one [$($generics:tt)*] $scalar:ty: $operator:ident $method:ident $assign:ident $assign_method:ident $by:expr) => {
        impl<$($generics)*> std::ops::$operator for $scalar {
            type Output = Self;
            #[inline]
            fn $method(self, other: Self) -> Self {
                $by(&self, &other)
            }
        }
        impl<$($generics)*> std::ops::$assign for $scalar {
            #[inline]
            fn $assign_method(&mut self, other: Self) {
                *self = $by(self, &other);
            }
        }
    };
    ($generics:tt $scalar:ty: $($operator:ident $method:ident $assign:ident $assign_method:ident $by:expr),*) => {
        $(operators!(@one $generics $scalar: $operator $method $assign $assign_method $by);)*
    };
}
pub(super) use operators;

/// A binary floating-point real of fixed precision, wide enough to carry a truth.
pub trait Real: NumAssign + Neg<Output = Self> + PartialOrd + Clone + Debug + Send + Sync + 'static {
    /// Bits of the significand: of x∘y at most 2 to minus this is rounded off, relative to it, for + − × ÷.
    const BITS: u32;

    /// Bits beyond an f64's last place that routes in this arithmetic must agree to ([`crate::truth::certify`]).
    const REQUIRED: i64 = REQUIRED_BITS;

    /// Whether it has so few bits that the error bound alone, without bits to spare, has to prove a rounding; what it leaves in
    /// doubt is always tried in more.
    const NARROW: bool = false;

    /// The same number, exactly.
    fn exact(value: f64) -> Self;

    /// The nearest f64, ties to even, subnormals and overflow to infinity included.
    fn to_nearest_f64(&self) -> f64;

    fn is_finite(&self) -> bool;

    /// ⌊log₂|x|⌋, or none for zero. A finite argument is expected.
    fn exponent(&self) -> Option<i64>;

    /// An upper bound of |x|, tight to 2⁻⁴⁰; unbounded for what is not finite.
    fn magnitude(&self) -> Mag;

    /// Results below 2 to this may have lost bits, or everything, to underflow.
    const UNDERFLOW: i64;

    /// x·2ⁿ, exactly as long as it stays in range.
    fn times_pow2(&self, n: i64) -> Self;

    /// Whether x·2ⁿ loses nothing to underflow; it may say no too often.
    fn shifts_exactly(&self, n: i64) -> bool {
        n >= 0 || self.exponent().is_none_or(|e| e + n >= Self::UNDERFLOW)
    }

    /// 2ⁿ
    fn pow2(n: i64) -> Self {
        Self::one().times_pow2(n)
    }

    /// Σ cₖ xᵏ
    fn horner(coefficients: &[Self], x: &Self) -> Self {
        let value = coefficients.iter().rev().cloned().reduce(|sum, c| sum * x.clone() + c);
        value.unwrap_or_else(Self::zero)
    }

    /// hₖ = cₖ + twice·hₖ₊₁ − norm·hₖ₊₂ from above, down to the first two.
    fn by_quadratic(coefficients: &[Self], twice: &Self, norm: &Self) -> (Self, Self) {
        let (mut high, mut low) = (Self::zero(), Self::zero());
        for c in coefficients.iter().rev() {
            let next = c.clone() + twice.clone() * high.clone() - norm.clone() * low;
            low = high;
            high = next;
        }
        (high, low)
    }

    /// sums += by·terms; a term that is zero adds nothing.
    fn add_scaled(sums: &mut [Self], terms: &[Self], by: &Self) {
        for (sum, term) in sums.iter_mut().zip(terms).filter(|(_, term)| !term.is_zero()) {
            *sum += term.clone() * by.clone();
        }
    }
}

/// A real, or a complex number over one: an entry of a matrix.
pub trait Entry: NumAssign + Neg<Output = Self> + Clone + Debug + Send + Sync + 'static {
    type Part: Real;
    /// How the input and the rounded output are held: `f64` or `Complex<f64>`.
    type Rounded: Copy + Send + Sync + 'static;
    /// Parts of one entry: 1 or 2.
    const WIDTH: usize;

    fn exact_entry(value: Self::Rounded) -> Self;

    /// From a real and an imaginary part; a real entry ignores the latter.
    fn entry_from_parts(re: Self::Part, im: Self::Part) -> Self;

    fn from_real(re: Self::Part) -> Self {
        Self::entry_from_parts(re, Self::Part::zero())
    }

    /// Part 0 is the real one, part 1 the imaginary one.
    fn part(&self, index: usize) -> Self::Part;

    /// The product with a real number.
    fn scale(self, factor: Self::Part) -> Self;

    /// The quotient by a real number.
    fn unscale(self, divisor: Self::Part) -> Self;

    /// |re| + |im|
    fn norm1(&self) -> Self::Part {
        let size = |x: Self::Part| if x < Self::Part::zero() { -x } else { x };
        (0..Self::WIDTH).fold(Self::Part::zero(), |sum, i| sum + size(self.part(i)))
    }

    /// An upper bound of |x|, tight to 2⁻⁴⁰; unbounded for what is not finite.
    fn size(&self) -> Mag;

    /// x·2ⁿ
    fn shifted(&self, n: i64) -> Self;

    /// An upper bound of log₂|x|, or none for zero.
    fn exponent_bound(&self) -> Option<i64> {
        let largest = (0..Self::WIDTH).filter_map(|i| self.part(i).exponent()).max();
        largest.map(|e| e + Self::WIDTH as i64)
    }

    /// Σ cₖ xᵏ for real cₖ.
    fn polynomial(&self, coefficients: &[Self::Part]) -> Self;

    /// As [`Real::shifts_exactly`].
    fn shifts_exactly(&self, n: i64) -> bool;

    /// As [`Real::add_scaled`].
    fn add_scaled(sums: &mut [Self], terms: &[Self], by: &Self) {
        for (sum, term) in sums.iter_mut().zip(terms).filter(|(_, term)| !term.is_zero()) {
            *sum += term.clone() * by.clone();
        }
    }
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

    fn scale(self, factor: R) -> Self {
        self * factor
    }

    fn unscale(self, divisor: R) -> Self {
        self / divisor
    }

    fn size(&self) -> Mag {
        self.magnitude()
    }

    fn shifted(&self, n: i64) -> Self {
        self.times_pow2(n)
    }

    fn polynomial(&self, coefficients: &[R]) -> Self {
        R::horner(coefficients, self)
    }

    fn shifts_exactly(&self, n: i64) -> bool {
        Real::shifts_exactly(self, n)
    }

    fn add_scaled(sums: &mut [Self], terms: &[Self], by: &Self) {
        Real::add_scaled(sums, terms, by);
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

    fn scale(self, factor: R) -> Self {
        Complex::scale(&self, factor)
    }

    fn unscale(self, divisor: R) -> Self {
        Complex::unscale(&self, divisor)
    }

    fn size(&self) -> Mag {
        self.re.magnitude().hypot(self.im.magnitude())
    }

    fn shifted(&self, n: i64) -> Self {
        Complex::new(self.re.times_pow2(n), self.im.times_pow2(n))
    }

    /// Division by the real quadratic t² − 2 Re(x) t + |x|², which has x as a root: two real products for
    /// each coefficient where Horner's rule in complex arithmetic takes four.
    fn polynomial(&self, coefficients: &[R]) -> Self {
        let twice = self.re.times_pow2(1);
        let norm = self.re.clone() * self.re.clone() + self.im.clone() * self.im.clone();
        let (high, low) = R::by_quadratic(coefficients.get(1..).unwrap_or_default(), &twice, &norm);
        // p(x) = c₀ − |x|² low + x·high, where the quotient ends in `high` and `low` is the one before.
        let constant = coefficients.first().cloned().unwrap_or_else(R::zero) - norm * low;
        Complex::new(constant + self.re.clone() * high.clone(), self.im.clone() * high)
    }

    fn shifts_exactly(&self, n: i64) -> bool {
        self.re.shifts_exactly(n) && self.im.shifts_exactly(n)
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
