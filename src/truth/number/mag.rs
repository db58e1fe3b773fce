//! [`Mag`], an upper bound of a magnitude: a few bits, any exponent, every operation rounded up.

use std::ops::{Add, Mul};

/// One rounding of f64 arithmetic, upwards and then some.
const UP: f64 = 1.0 + 4.0 * f64::EPSILON;
/// Beyond ±this an exponent stands for infinity or for zero.
const FAR: i64 = 1 << 50;

/// m·2^e with m in [1, 2), or zero. Sums and products are never below the exact ones, and zero only where
/// those are: nothing underflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mag {
    m: f64,
    e: i64,
}

impl Mag {
    pub const ZERO: Mag = Mag { m: 0.0, e: -FAR };
    /// No bound at all.
    pub const UNBOUNDED: Mag = Mag { m: 1.0, e: FAR };

    /// m·2^e for a finite m > 0.
    #[inline]
    pub fn new(m: f64, e: i64) -> Mag {
        let bits = m.to_bits();
        let field = (bits >> 52) as i64;
        if field == 0 {
            return if m == 0.0 { Mag::ZERO } else { Mag::new(m * 2f64.powi(200), e - 200) };
        }
        let m = f64::from_bits(bits & ((1 << 52) - 1) | 0x3ff << 52);
        Mag { m, e: e + field - 1023 }
    }

    #[inline]
    pub fn pow2(e: i64) -> Mag {
        Mag { m: 1.0, e }
    }

    pub fn count(n: usize) -> Mag {
        Mag::new(n as f64 * UP, 0)
    }

    #[inline]
    pub fn is_zero(self) -> bool {
        self.m == 0.0
    }

    #[inline]
    pub fn is_unbounded(self) -> bool {
        self.e >= FAR / 2
    }

    /// ⌊log₂⌋, or none for zero.
    #[inline]
    pub fn exponent(self) -> Option<i64> {
        (!self.is_zero()).then_some(self.e)
    }

    #[inline]
    pub fn shifted(self, n: i64) -> Mag {
        if self.is_zero() { self } else { Mag { m: self.m, e: self.e + n } }
    }

    /// Whether this is at most 2ⁿ.
    #[inline]
    pub fn at_most_pow2(self, n: i64) -> bool {
        self.is_zero() || self.e < n || (self.e == n && self.m == 1.0)
    }

    /// The number if it is an ordinary f64 in [2⁻¹⁰⁰⁰, 2¹⁰⁰⁰]; smaller ones are rounded up to that.
    #[inline]
    pub fn to_f64(self) -> Option<f64> {
        if self.is_zero() {
            return Some(0.0);
        }
        (self.e <= 1000).then(|| self.m * f64::from_bits(((1023 + self.e.max(-1000)) as u64) << 52))
    }

    /// 1/(1 − self), none from ¾ on.
    pub fn star(self) -> Option<Mag> {
        let x = self.to_f64().filter(|&x| x < 0.75)?;
        Some(Mag::new(1.0 / (1.0 - x) * UP * UP, 0))
    }

    /// 1/(|y| − radius) for this upper bound of |y|, tight to 2⁻⁴⁰; none where the radius is above half of it.
    #[inline]
    pub fn inverse_beyond(self, radius: Mag) -> Option<Mag> {
        if self.is_zero() || self.is_unbounded() || (!radius.is_zero() && radius.e > self.e - 2) {
            return None;
        }
        // (|y| − radius) ≥ |y|/2 at worst; with a small radius the loss is small as well.
        let lost = if radius.is_zero() { 0.0 } else { 2f64.powi((radius.e + 1 - self.e).max(-60) as i32) };
        Some(Mag::new(UP / (self.m * (1.0 - lost - 2f64.powi(-39))) * UP, -self.e))
    }

    /// √(a² + b²)
    #[inline]
    pub fn hypot(self, other: Mag) -> Mag {
        let (a, b) = if self.e >= other.e { (self, other) } else { (other, self) };
        if b.is_zero() {
            return a;
        }
        let small = b.m * f64::from_bits((1023 - (a.e - b.e).min(100) as u64) << 52);
        Mag::new((a.m * a.m + small * small).sqrt() * UP, a.e)
    }

    #[inline]
    pub fn max(self, other: Mag) -> Mag {
        if (self.e, self.m) >= (other.e, other.m) { self } else { other }
    }
}

impl Add for Mag {
    type Output = Mag;
    #[inline]
    fn add(self, other: Mag) -> Mag {
        let (a, b) = if self.e >= other.e { (self, other) } else { (other, self) };
        if b.m == 0.0 {
            return a;
        }
        let apart = (a.e - b.e).min(100) as u64;
        let sum = (a.m + b.m * f64::from_bits((1023 - apart) << 52)) * UP;
        if sum >= 2.0 { Mag::new(sum, a.e) } else { Mag { m: sum, e: a.e } }
    }
}

impl Mul for Mag {
    type Output = Mag;
    #[inline]
    fn mul(self, other: Mag) -> Mag {
        let product = self.m * other.m * UP;
        if product == 0.0 {
            return Mag::ZERO;
        }
        let e = (self.e + other.e).clamp(1 - FAR, FAR);
        if product >= 2.0 { Mag::new(product, e) } else { Mag { m: product, e } }
    }
}
