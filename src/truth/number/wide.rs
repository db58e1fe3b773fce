//! [`Wide`], the scalar of the truth: 237 bits, `Copy`, pure Rust.

use f256::f256;

use super::mag::Mag;
use super::scalar::{Real, round_to_f64};

/// A binary float with 237 bits and exponents to ±262 143; + − × ÷ round to nearest.
pub type Wide = f256;

const FRACTION_HIGH_BITS: u32 = 108;
const EXPONENT_MASK: u128 = 0x7_ffff;
const EXPONENT_BIAS: i64 = 262_143;

impl Real for f256 {
    const BITS: u32 = 237;

    fn exact(value: f64) -> Self {
        f256::from(value)
    }

    fn to_nearest_f64(&self) -> f64 {
        if self.is_nan() {
            return f64::NAN;
        }
        let (high, low) = self.to_bits();
        let negative = high >> 127 == 1;
        let biased = (high >> FRACTION_HIGH_BITS) & EXPONENT_MASK;
        if biased == EXPONENT_MASK {
            return if negative { f64::NEG_INFINITY } else { f64::INFINITY };
        }
        if biased == 0 {
            // Zero, or so far below the f64 range that only the sign remains.
            return if negative { -0.0 } else { 0.0 };
        }
        let fraction = high & ((1 << FRACTION_HIGH_BITS) - 1);
        let significand = fraction | (1 << FRACTION_HIGH_BITS);
        // 109 significant bits in `significand`, the leading 64 of them decide but for the sticky rest.
        let top = (significand >> (FRACTION_HIGH_BITS - 63)) as u64;
        let below = significand & ((1 << (FRACTION_HIGH_BITS - 63)) - 1);
        round_to_f64(negative, top, biased as i64 - EXPONENT_BIAS, below != 0 || low != 0)
    }

    fn is_finite(&self) -> bool {
        f256::is_finite(*self)
    }

    fn exponent(&self) -> Option<i64> {
        if self.eq_zero() {
            return None;
        }
        let biased = (self.to_bits().0 >> FRACTION_HIGH_BITS) & EXPONENT_MASK;
        // Below the normal range the bound is coarse, but nothing there is ever certified.
        Some(biased as i64 - EXPONENT_BIAS)
    }

    const UNDERFLOW: i64 = -262_000;

    fn magnitude(&self) -> Mag {
        if self.eq_zero() {
            return Mag::ZERO;
        }
        let high = self.to_bits().0;
        let biased = (high >> FRACTION_HIGH_BITS) & EXPONENT_MASK;
        match biased {
            EXPONENT_MASK => Mag::UNBOUNDED,
            0 => Mag::pow2(1 - EXPONENT_BIAS),
            _ => {
                let fraction = (high >> (FRACTION_HIGH_BITS - 52)) as u64 & ((1 << 52) - 1);
                Mag::new(f64::from_bits(0x3ff << 52 | fraction) + f64::EPSILON, biased as i64 - EXPONENT_BIAS)
            }
        }
    }

    fn times_pow2(&self, n: i64) -> Self {
        let steps = u32::try_from(n.unsigned_abs()).unwrap_or(u32::MAX >> 1);
        if n < 0 { self.div_pow2(steps) } else { self.mul_pow2(steps) }
    }
}
