//! [`DoubleDouble`], the scalar that the truth tries first: two doubles, about 104 bits, and the hardware's own arithmetic.
//!
//! A number is the unevaluated sum of `high`, which is that sum rounded to nearest, and `low`. With u = 2⁻⁵³:
//!
//! - **Sum**: `AccurateDWPlusDW`, relative error below 3u²/(1 − 4u). Sums of doubles that underflow are exact, so that the
//!   bound holds down to zero.
//! - **Product**: `DWTimesDW1`, below 8u². With |xₗ| ≤ u|xₕ| and |yₗ| ≤ u|yₕ|, in units of u²|xₕyₕ| and but for factors
//!   1 + O(u): xₗyₗ is left out (1), xₕyₗ and xₗyₕ are rounded (1 each) and added (2), and their sum is added to the error of
//!   xₕyₕ (3), which is known exactly; the last step is exact.
//! - **Quotient**: `DWDivDW2`, below 15u² + 56u³.
//!
//! Names, the first and the third bound: Joldes, Muller and Popescu, "Tight and rigorous error bounds for basic building
//! blocks of double-word arithmetic", ACM TOMS 44 (2017), theorems 3.1 and 7.1; their 5.1 has 7u² for the product. All are
//! below 16u² = 2^−[`Real::BITS`].
//!
//! **The error of xₕyₕ** comes of a fused multiply-add where the processor has one, of Dekker's and Veltkamp's splitting
//! elsewhere. Both are exact, and so the same, for factors up to 2⁹⁹⁰ and products up to 2¹⁰²⁰ (splitting does not
//! overflow) that are at least 2⁻⁹⁶⁸ (the error is a multiple of 2⁻¹⁰⁷⁴). Beyond the one the result is not a number; below
//! the other the error is left out by both, which costs less than 2⁻¹⁰²⁰.
//!
//! **The ends of the range.** What overflows becomes a NaN and stays it, since ∞ has no exact error. Products of at least
//! 2^[`Real::UNDERFLOW`] keep the bound above: of what underflows on the way each loses at most 2⁻¹⁰⁷⁵, far below u² of it.

use std::ops::Neg;

use num_traits::{Num, One, Zero};

use super::mag::Mag;
use super::scalar::{Real, operators};

/// high + low, where high is the sum rounded to nearest.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct DoubleDouble {
    high: f64,
    low: f64,
}

/// Larger factors may overflow on the way to their product's error: 2⁹⁹⁰.
const LARGEST_FACTOR: f64 = power(990);
/// Of a larger product the splitting's own may overflow: 2¹⁰²⁰.
const LARGEST_PRODUCT: f64 = power(1020);
/// The error of a smaller product may underflow: 2⁻⁹⁶⁸.
const EXACT_FROM: f64 = power(-968);
/// A smaller numerator's remainder may underflow: 2⁻⁹⁰⁰.
const LEAST_NUMERATOR: f64 = power(-900);

/// 2ⁿ for a normal one.
const fn power(n: i64) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// x + y for |x| ≥ |y|, exactly.
#[inline(always)]
fn ordered_sum(x: f64, y: f64) -> DoubleDouble {
    let high = x + y;
    DoubleDouble { high, low: y - (high - x) }
}

/// x + y, exactly (Knuth).
#[inline(always)]
fn exact_sum(x: f64, y: f64) -> DoubleDouble {
    let high = x + y;
    let of_y = high - x;
    DoubleDouble { high, low: (x - (high - of_y)) + (y - of_y) }
}

/// x as a sum of two numbers of 26 bits (Veltkamp).
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    let scaled = x * 134_217_729.0;
    let high = scaled - (scaled - x);
    (high, x - high)
}

/// xy, exactly but at the ends of the range. `FUSED` says that a fused multiply-add is an instruction.
#[inline(always)]
fn exact_product<const FUSED: bool>(x: f64, y: f64) -> (f64, f64) {
    let product = x * y;
    let error = if FUSED {
        x.mul_add(y, -product)
    } else {
        let ((a, b), (c, d)) = (split(x), split(y));
        (((a * c - product) + a * d) + b * c) + b * d
    };
    let in_range =
        (x.abs() <= LARGEST_FACTOR) & (y.abs() <= LARGEST_FACTOR) & (product.abs() <= LARGEST_PRODUCT);
    let error = if product.abs() < EXACT_FROM { 0.0 } else { error };
    (product, if in_range { error } else { f64::NAN })
}

#[inline(always)]
fn product<const FUSED: bool>(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble {
    let (high, error) = exact_product::<FUSED>(x.high, y.high);
    ordered_sum(high, error + (x.high * y.low + x.low * y.high))
}

#[inline(always)]
fn sum(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble {
    let (s, t) = (exact_sum(x.high, y.high), exact_sum(x.low, y.low));
    let v = ordered_sum(s.high, s.low + t.high);
    ordered_sum(v.high, t.low + v.low)
}

fn quotient(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble {
    if x.high.abs() < LEAST_NUMERATOR && !x.is_zero() {
        return DoubleDouble::NAN;
    }
    let first = x.high / y.high;
    let (high, error) = exact_product::<false>(y.high, first);
    let scaled = ordered_sum(high, y.low * first);
    let taken = ordered_sum(scaled.high, scaled.low + error);
    let rest = (x.high - taken.high) + (x.low - taken.low);
    ordered_sum(first, rest / y.high)
}

/// Loops over products, compiled twice: for processors with a fused multiply-add, and without. They are plain ones, because a
/// closure would be compiled for neither.
mod loops {
    use multiversion::multiversion;
    use multiversion::target::target_cfg_f;

    use super::{DoubleDouble, product, sum};

    #[inline(always)]
    fn horner_by<const FUSED: bool>(coefficients: &[DoubleDouble], x: DoubleDouble) -> DoubleDouble {
        let mut value = DoubleDouble { high: 0.0, low: 0.0 };
        for &c in coefficients.iter().rev() {
            value = sum(product::<FUSED>(value, x), c);
        }
        value
    }

    #[inline(always)]
    fn quadratic_by<const FUSED: bool>(
        coefficients: &[DoubleDouble],
        twice: DoubleDouble,
        norm: DoubleDouble,
    ) -> (DoubleDouble, DoubleDouble) {
        let mut high = DoubleDouble { high: 0.0, low: 0.0 };
        let (mut low, norm) = (high, -norm);
        for &c in coefficients.iter().rev() {
            (high, low) = (sum(sum(c, product::<FUSED>(twice, high)), product::<FUSED>(norm, low)), high);
        }
        (high, low)
    }

    #[inline(always)]
    fn add_scaled_by<const FUSED: bool>(sums: &mut [DoubleDouble], terms: &[DoubleDouble], by: DoubleDouble) {
        for (total, &term) in sums.iter_mut().zip(terms) {
            *total = sum(*total, product::<FUSED>(term, by));
        }
    }

    /// Σ cₖ xᵏ by Horner's rule.
    #[multiversion(targets("x86_64+avx2+fma"))]
    pub fn horner(coefficients: &[DoubleDouble], x: DoubleDouble) -> DoubleDouble {
        horner_by::<{ target_cfg_f!(target_feature = "fma") }>(coefficients, x)
    }

    /// As [`crate::truth::number::scalar::Real::by_quadratic`] has it.
    #[multiversion(targets("x86_64+avx2+fma"))]
    pub fn quadratic(
        coefficients: &[DoubleDouble],
        twice: DoubleDouble,
        norm: DoubleDouble,
    ) -> (DoubleDouble, DoubleDouble) {
        quadratic_by::<{ target_cfg_f!(target_feature = "fma") }>(coefficients, twice, norm)
    }

    /// sums += by·terms
    #[multiversion(targets("x86_64+avx2+fma"))]
    pub fn add_scaled(sums: &mut [DoubleDouble], terms: &[DoubleDouble], by: DoubleDouble) {
        add_scaled_by::<{ target_cfg_f!(target_feature = "fma") }>(sums, terms, by);
    }
}

impl DoubleDouble {
    const NAN: DoubleDouble = DoubleDouble { high: f64::NAN, low: f64::NAN };

    /// high + low, exactly.
    pub fn from_sum(high: f64, low: f64) -> Self {
        exact_sum(high, low)
    }

    /// The two doubles.
    pub fn parts(self) -> [f64; 2] {
        [self.high, self.low]
    }

    /// The product as a processor without a fused multiply-add has it, and as one with it: the same bits.
    pub fn products(self, other: Self) -> [Self; 2] {
        [product::<false>(self, other), product::<true>(self, other)]
    }
}

impl Real for DoubleDouble {
    const BITS: u32 = 102;
    const REQUIRED: i64 = crate::truth::certify::REQUIRED_OF_TWO_DOUBLES;
    const NARROW: bool = true;

    #[inline]
    fn exact(value: f64) -> Self {
        DoubleDouble { high: value, low: 0.0 }
    }

    #[inline]
    fn to_nearest_f64(&self) -> f64 {
        if self.is_finite() { self.high } else { self.high + self.low }
    }

    #[inline]
    fn is_finite(&self) -> bool {
        self.high.is_finite() && self.low.is_finite()
    }

    #[inline]
    fn exponent(&self) -> Option<i64> {
        if self.is_zero() {
            return None;
        }
        let bits = self.high.abs().to_bits();
        let (field, fraction) = ((bits >> 52) as i64, bits & ((1 << 52) - 1));
        if field == 0 {
            // Nothing is below the last place of these.
            return Some(i64::from(fraction.ilog2()) - 1074);
        }
        // A power of two less something.
        let below = fraction == 0 && self.low != 0.0 && (self.low < 0.0) != (self.high < 0.0);
        Some(field - 1023 - i64::from(below))
    }

    const UNDERFLOW: i64 = -950;

    #[inline]
    fn magnitude(&self) -> Mag {
        if !self.is_finite() {
            return Mag::UNBOUNDED;
        }
        // |low| is at most 2⁻⁵³ of it.
        Mag::new(self.high.abs() * (1.0 + 2.0 * f64::EPSILON), 0)
    }

    #[inline]
    fn times_pow2(&self, n: i64) -> Self {
        let times = |x: Self, by: i64| DoubleDouble { high: x.high * power(by), low: x.low * power(by) };
        if n.abs() <= 1000 {
            return times(*self, n);
        }
        let (mut value, mut rest) = (*self, n.clamp(-4000, 4000));
        while rest != 0 {
            let by = rest.clamp(-1000, 1000);
            value = times(value, by);
            rest -= by;
        }
        value
    }

    #[inline]
    fn shifts_exactly(&self, n: i64) -> bool {
        // Most have bits that are all far above the last place of the smallest double.
        let least = if self.low == 0.0 { self.high } else { self.low };
        let far = least.abs() >= power(-500) && n >= -500;
        n >= 0 || far || self.times_pow2(n).times_pow2(-n) == *self
    }

    fn horner(coefficients: &[Self], x: &Self) -> Self {
        loops::horner(coefficients, *x)
    }

    fn by_quadratic(coefficients: &[Self], twice: &Self, norm: &Self) -> (Self, Self) {
        loops::quadratic(coefficients, *twice, *norm)
    }

    fn add_scaled(sums: &mut [Self], terms: &[Self], by: &Self) {
        loops::add_scaled(sums, terms, *by);
    }
}

operators!([] DoubleDouble:
    Add add AddAssign add_assign |x: &Self, y: &Self| sum(*x, *y),
    Sub sub SubAssign sub_assign |x: &Self, y: &Self| sum(*x, -*y),
    Mul mul MulAssign mul_assign |x: &Self, y: &Self| product::<false>(*x, *y),
    Div div DivAssign div_assign |x: &Self, y: &Self| quotient(*x, *y),
    Rem rem RemAssign rem_assign remainder
);

/// `Num` asks for it; nothing here does.
fn remainder(x: &DoubleDouble, y: &DoubleDouble) -> DoubleDouble {
    let whole = DoubleDouble::exact(quotient(*x, *y).high.trunc());
    sum(*x, -product::<false>(whole, *y))
}

impl Neg for DoubleDouble {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        DoubleDouble { high: -self.high, low: -self.low }
    }
}

impl Zero for DoubleDouble {
    #[inline]
    fn zero() -> Self {
        DoubleDouble { high: 0.0, low: 0.0 }
    }
    #[inline]
    fn is_zero(&self) -> bool {
        // low alone is never other than zero, but of what is not a number.
        self.high == 0.0 && self.low == 0.0
    }
}

impl One for DoubleDouble {
    #[inline]
    fn one() -> Self {
        DoubleDouble { high: 1.0, low: 0.0 }
    }
}

impl Num for DoubleDouble {
    type FromStrRadixErr = std::num::ParseFloatError;
    /// Reads an f64: `Num` asks for it, the truth never parses numbers of more bits.
    fn from_str_radix(text: &str, _: u32) -> Result<Self, Self::FromStrRadixErr> {
        text.parse().map(Self::exact)
    }
}
