//! [`Big`], the slower scalar to climb to where 237 bits cannot justify a rounding.

use std::cmp::Ordering;
use std::ops::Neg;

use dashu_float::round::mode::HalfEven;
use dashu_float::{Context, FBig, FpResult, Repr};
use dashu_int::UBig;
use dashu_int::ops::BitTest;
use num_traits::{Num, One, Zero};

use super::mag::Mag;
use super::scalar::{Real, operators, round_to_f64};

/// A binary float with `BITS` bits and practically unbounded exponents, rounded to nearest. What has no
/// finite result is not a number, and stays it.
#[derive(Clone, Debug)]
pub struct Big<const BITS: usize>(Option<Repr<2>>);

type Operation = fn(&Context<HalfEven>, &Repr<2>, &Repr<2>) -> FpResult<FBig<HalfEven, 2>>;

impl<const BITS: usize> Big<BITS> {
    fn operate(&self, other: &Self, operation: Operation) -> Self {
        let (Some(x), Some(y)) = (&self.0, &other.0) else { return Big(None) };
        let result = operation(&Context::new(BITS), x, y).ok();
        Big(result.map(|rounded| rounded.value().into_repr()).filter(|r| r.is_finite()))
    }
}

impl<const BITS: usize> Real for Big<BITS> {
    const BITS: u32 = BITS as u32;

    fn exact(value: f64) -> Self {
        Big(FBig::<HalfEven, 2>::try_from(value).ok().map(FBig::into_repr).filter(|r| r.is_finite()))
    }

    fn to_nearest_f64(&self) -> f64 {
        let Some(repr) = &self.0 else { return f64::NAN };
        let Some(exponent) = self.exponent() else { return 0.0 };
        let (_, significand): (_, UBig) = repr.significand().clone().into_parts();
        let len = significand.bit_len();
        let top = if len > 64 { &significand >> (len - 64) } else { &significand << (64 - len) };
        let sticky = len > 64 && significand.trailing_zeros().is_some_and(|zeros| zeros < len - 64);
        round_to_f64(*self < Self::zero(), u64::try_from(&top).unwrap_or(u64::MAX), exponent, sticky)
    }

    fn is_finite(&self) -> bool {
        self.0.is_some()
    }

    fn exponent(&self) -> Option<i64> {
        let repr = self.0.as_ref()?;
        if repr.significand().is_zero() {
            return None;
        }
        Some(repr.exponent() as i64 + repr.digits() as i64 - 1)
    }

    const UNDERFLOW: i64 = -(1 << 45);

    fn magnitude(&self) -> Mag {
        let Some(repr) = &self.0 else { return Mag::UNBOUNDED };
        let Some(exponent) = self.exponent() else { return Mag::ZERO };
        let (_, significand): (_, UBig) = repr.significand().clone().into_parts();
        let len = significand.bit_len();
        let top = if len > 53 { significand >> (len - 53) } else { significand << (53 - len) };
        let top = u64::try_from(&top).unwrap_or(u64::MAX) + 1;
        Mag::new(top as f64, exponent - 52)
    }

    fn times_pow2(&self, n: i64) -> Self {
        match &self.0 {
            Some(repr) if !repr.significand().is_zero() => {
                Big(Some(Repr::new(repr.significand().clone(), repr.exponent() + n as isize)))
            }
            _ => self.clone(),
        }
    }
}

operators!([const BITS: usize] Big<BITS>:
    Add add AddAssign add_assign |x: &Self, y: &Self| x.operate(y, Context::add),
    Sub sub SubAssign sub_assign |x: &Self, y: &Self| x.operate(y, Context::sub),
    Mul mul MulAssign mul_assign |x: &Self, y: &Self| x.operate(y, Context::mul),
    Div div DivAssign div_assign |x: &Self, y: &Self| x.operate(y, Context::div),
    Rem rem RemAssign rem_assign |x: &Self, y: &Self| x.operate(y, Context::rem)
);

impl<const BITS: usize> Neg for Big<BITS> {
    type Output = Self;
    fn neg(self) -> Self {
        Big(self.0.map(|repr| {
            let (significand, exponent) = repr.into_parts();
            Repr::new(-significand, exponent)
        }))
    }
}

impl<const BITS: usize> PartialEq for Big<BITS> {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl<const BITS: usize> PartialOrd for Big<BITS> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.0.as_ref()?.partial_cmp(other.0.as_ref()?)
    }
}

impl<const BITS: usize> Zero for Big<BITS> {
    fn zero() -> Self {
        Big(Some(Repr::zero()))
    }
    fn is_zero(&self) -> bool {
        self.0.as_ref().is_some_and(|repr| repr.significand().is_zero())
    }
}

impl<const BITS: usize> One for Big<BITS> {
    fn one() -> Self {
        Big(Some(Repr::one()))
    }
}

impl<const BITS: usize> Num for Big<BITS> {
    type FromStrRadixErr = std::num::ParseFloatError;
    /// Reads an f64: `Num` asks for it, the truth never parses numbers of more bits.
    fn from_str_radix(text: &str, _: u32) -> Result<Self, Self::FromStrRadixErr> {
        text.parse().map(Self::exact)
    }
}
