//! [`Wide`], the scalar of the truth: 237 bits, `Copy`, pure Rust.

use std::ops::Neg;

use f256::f256;
use num_traits::{Num, One, Zero};

use super::fast::{self, EXPONENT_BIAS, EXPONENT_MASK, FRACTION_HIGH_BITS};
use super::mag::Mag;
use super::scalar::{Real, operators, round_to_f64};

/// A binary float with 237 bits and exponents to ±262 143; + − × ÷ round to nearest.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Wide(f256);

impl Wide {
    fn plus(self, other: Wide) -> Wide {
        let sum = fast::sum(self.0.to_bits(), other.0.to_bits());
        Wide(sum.map_or_else(|| self.0 + other.0, f256::from_bits))
    }

    fn times(self, other: Wide) -> Wide {
        let product = fast::product(self.0.to_bits(), other.0.to_bits());
        Wide(product.map_or_else(|| self.0 * other.0, f256::from_bits))
    }
}

impl From<f64> for Wide {
    fn from(value: f64) -> Self {
        Wide(f256::from(value))
    }
}

impl From<f32> for Wide {
    fn from(value: f32) -> Self {
        Wide(f256::from(value))
    }
}

impl Real for Wide {
    const BITS: u32 = 237;

    fn exact(value: f64) -> Self {
        Wide(f256::from(value))
    }

    fn to_nearest_f64(&self) -> f64 {
        if self.0.is_nan() {
            return f64::NAN;
        }
        let (high, low) = self.0.to_bits();
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
        self.0.is_finite()
    }

    fn exponent(&self) -> Option<i64> {
        if self.0.eq_zero() {
            return None;
        }
        let biased = (self.0.to_bits().0 >> FRACTION_HIGH_BITS) & EXPONENT_MASK;
        // Below the normal range the bound is coarse, but nothing there is ever certified.
        Some(biased as i64 - EXPONENT_BIAS)
    }

    const UNDERFLOW: i64 = -262_000;

    fn magnitude(&self) -> Mag {
        if self.0.eq_zero() {
            return Mag::ZERO;
        }
        let high = self.0.to_bits().0;
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
        Wide(if n < 0 { self.0.div_pow2(steps) } else { self.0.mul_pow2(steps) })
    }
}

operators!([] Wide:
    Add add AddAssign add_assign |x: &Wide, y: &Wide| x.plus(*y),
    Sub sub SubAssign sub_assign |x: &Wide, y: &Wide| x.plus(-*y),
    Mul mul MulAssign mul_assign |x: &Wide, y: &Wide| x.times(*y),
    Div div DivAssign div_assign |x: &Wide, y: &Wide| Wide(x.0 / y.0),
    Rem rem RemAssign rem_assign |x: &Wide, y: &Wide| Wide(x.0 % y.0)
);

impl Neg for Wide {
    type Output = Wide;
    fn neg(self) -> Wide {
        Wide(-self.0)
    }
}

impl Zero for Wide {
    fn zero() -> Self {
        Wide(f256::ZERO)
    }
    fn is_zero(&self) -> bool {
        self.0.eq_zero()
    }
}

impl One for Wide {
    fn one() -> Self {
        Wide(f256::ONE)
    }
}

impl Num for Wide {
    type FromStrRadixErr = <f256 as Num>::FromStrRadixErr;
    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        f256::from_str_radix(text, radix).map(Wide)
    }
}
