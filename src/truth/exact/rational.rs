//! Exact rational arithmetic, complex: settles ties and zeros, which no finite precision can.

use std::ops::{Add, Mul, Sub};

use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

use crate::formula::{Fraction, Term};

/// A complex number with rational parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian {
    pub re: RBig,
    pub im: RBig,
}

/// m and e of a finite f64's modulus m·2ᵉ.
pub fn decomposed(value: f64) -> (u64, i64) {
    let bits = value.abs().to_bits();
    let (field, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
    if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field as i64 - 1075) }
}

/// The rational that a finite f64 is.
pub fn exact(value: f64) -> RBig {
    let (significand, exponent) = decomposed(value);
    let magnitude = IBig::from(significand);
    let signed = if value < 0.0 { -magnitude } else { magnitude };
    let shift = exponent.unsigned_abs() as usize;
    if exponent < 0 { RBig::from_parts(signed, UBig::ONE << shift) } else { RBig::from(signed << shift) }
}

/// The nearest f64, ties to even. A zero has no sign.
pub fn round(value: &RBig) -> f64 {
    value.to_f64().value()
}

impl Gaussian {
    pub fn zero() -> Self {
        Self::real(RBig::ZERO)
    }

    pub fn real(re: RBig) -> Self {
        Gaussian { re, im: RBig::ZERO }
    }

    /// From one part or two.
    pub fn from_parts(parts: &[f32]) -> Self {
        let part = |i: usize| parts.get(i).map_or(RBig::ZERO, |&p| exact(f64::from(p)));
        Gaussian { re: part(0), im: part(1) }
    }

    pub fn is_zero(&self) -> bool {
        self.re.is_zero() && self.im.is_zero()
    }

    pub fn part(&self, index: usize) -> &RBig {
        if index == 0 { &self.re } else { &self.im }
    }

    pub fn scale(&self, factor: &RBig) -> Self {
        Gaussian { re: &self.re * factor, im: &self.im * factor }
    }

    /// None for zero.
    pub fn inverse(&self) -> Option<Self> {
        let norm = &self.re * &self.re + &self.im * &self.im;
        if norm.is_zero() {
            return None;
        }
        Some(Gaussian { re: &self.re / &norm, im: -&self.im / norm })
    }
}

impl Add for &Gaussian {
    type Output = Gaussian;
    fn add(self, other: Self) -> Gaussian {
        Gaussian { re: &self.re + &other.re, im: &self.im + &other.im }
    }
}

impl Sub for &Gaussian {
    type Output = Gaussian;
    fn sub(self, other: Self) -> Gaussian {
        Gaussian { re: &self.re - &other.re, im: &self.im - &other.im }
    }
}

impl Mul for &Gaussian {
    type Output = Gaussian;
    fn mul(self, other: Self) -> Gaussian {
        Gaussian {
            re: &self.re * &other.re - &self.im * &other.im,
            im: &self.re * &other.im + &self.im * &other.re,
        }
    }
}

/// The number that a fraction is.
pub fn fraction(Fraction(above, below): Fraction) -> RBig {
    RBig::from(above) / RBig::from(below)
}

/// What multiplies a term's function of z: c·Δᵖ.
pub fn factor(term: &Term, delta: &RBig) -> RBig {
    (0..term.delta).fold(fraction(term.factor), |power, _| power * delta)
}
