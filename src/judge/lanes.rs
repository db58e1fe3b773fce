//! Some numbers at a time, in f64: what bounds and quick values are computed in. Plain arrays, which the compiler turns
//! into vector instructions; every operation is IEEE 754's own, so that results do not depend on the processor.
//!
//! # Accuracy
//!
//! With v = 2⁻⁵³: sums, products, quotients and square roots round once. eˣ is within 4v of itself: x = k ln 2 + r with
//! |r| ≤ 0.35 and k ln 2 subtracted in two parts, the first of which is exact, so that r is off by at most v/2; the series
//! to r¹³ leaves out less than v/15, and its last two operations round by less than 2v. sin y and cos y are within 2v of
//! 1, for |y| ≤ 2²⁰: π/2 comes in three parts of 33 bits, of which multiples up to 2²⁰ are exact; the series to r¹⁷ leave
//! out less than v/50. `tests/judge/lanes.rs` measures them against the wide arithmetic of the truth.

use std::ops::{Add, Div, Mul, Neg, Sub};

use num_complex::Complex64;

use crate::problem::Weights;

/// Real numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lanes<const W: usize>(pub [f64; W]);

/// Complex ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComplexLanes<const W: usize> {
    pub re: Lanes<W>,
    pub im: Lanes<W>,
}

/// The numbers that states are made of, real or complex.
pub trait Value<const W: usize>:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Mul<f64, Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
{
    const WEIGHTS: Weights;

    /// The same real number in each place.
    fn all(value: f64) -> Self;
    /// By real and imaginary parts, the latter 0 for real numbers.
    fn from_parts(re: [f64; W], im: [f64; W]) -> Self;
    fn at(self, lane: usize) -> Complex64;
    fn re(self) -> Lanes<W>;
    fn exp(self) -> Self;
    /// |x|; of a complex number between 1e-300 and 1e300 without overflow or underflow in between.
    fn norm(self) -> Lanes<W>;
    /// `yes` where a < b, else `no`.
    fn if_less(a: Lanes<W>, b: Lanes<W>, yes: Self, no: Self) -> Self;
}

/// A value for each place. Written out, since a closure is not always compiled into the place of its call, and what is not there is
/// no vector instruction; thousands of loops in one function would take minutes to compile.
macro_rules! each {
    ($i:ident => $value:expr) => { each!($i => $value; 0 1 2 3 4 5 6 7) };
    ($i:ident => $value:expr; $($place:literal)*) => {{
        const { assert!(W <= 8, "every place is written") };
        let mut lanes = [0.0; W];
        $(if $place < W {
            let $i = $place;
            lanes[$i] = $value;
        })*
        Lanes(lanes)
    }};
}

macro_rules! operators {
    ($($operator:ident, $method:ident, $symbol:tt;)*) => {$(
        impl<const W: usize> $operator for Lanes<W> {
            type Output = Lanes<W>;
            #[inline(always)]
            fn $method(self, other: Lanes<W>) -> Lanes<W> {
                each!(i => self.0[i] $symbol other.0[i])
            }
        }
        impl<const W: usize> $operator<f64> for Lanes<W> {
            type Output = Lanes<W>;
            #[inline(always)]
            fn $method(self, other: f64) -> Lanes<W> {
                each!(i => self.0[i] $symbol other)
            }
        }
    )*};
}

operators! {
    Add, add, +;
    Sub, sub, -;
    Mul, mul, *;
    Div, div, /;
}

impl<const W: usize> Neg for Lanes<W> {
    type Output = Lanes<W>;
    #[inline(always)]
    fn neg(self) -> Lanes<W> {
        each!(i => -self.0[i])
    }
}

/// Beyond ±this eˣ has long left the range of f64, and 2ᵏ/² has not.
const EXTREME: f64 = 1400.0;

/// 1.5·2⁵²: adding it rounds to an integer, which is then in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// ln 2 to 32 bits, and the rest.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// π/2 to 33 bits, to 33 more, and the rest.
const HALF_PI: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];

/// 1/k! for each k.
pub const INVERSE_FACTORIALS: [f64; 21] = {
    let (mut inverses, mut factorial, mut k) = ([1.0; 21], 1.0, 1);
    while k < inverses.len() {
        factorial *= k as f64;
        inverses[k] = 1.0 / factorial;
        k += 1;
    }
    inverses
};

impl<const W: usize> Lanes<W> {
    pub const ZERO: Lanes<W> = Lanes([0.0; W]);
    pub const ONE: Lanes<W> = Lanes([1.0; W]);

    #[inline(always)]
    pub fn abs(self) -> Lanes<W> {
        each!(i => self.0[i].abs())
    }

    #[inline(always)]
    pub fn sqrt(self) -> Lanes<W> {
        each!(i => self.0[i].sqrt())
    }

    #[inline(always)]
    pub fn max(self, other: Lanes<W>) -> Lanes<W> {
        each!(i => if self.0[i] > other.0[i] { self.0[i] } else { other.0[i] })
    }

    /// a·b, where nothing times whatever is nothing: an unbounded Ā of a state that is still 0.
    #[inline(always)]
    pub fn times(self, other: Lanes<W>) -> Lanes<W> {
        each!(i => if self.0[i] == 0.0 || other.0[i] == 0.0 { 0.0 } else { self.0[i] * other.0[i] })
    }

    /// 0 where `of` is, else itself.
    #[inline(always)]
    pub fn unless_zero(self, of: Lanes<W>) -> Lanes<W> {
        each!(i => if of.0[i] == 0.0 { 0.0 } else { self.0[i] })
    }

    /// 1/(1 − x), and infinite from 1 on.
    #[inline(always)]
    pub fn over_one_less(self) -> Lanes<W> {
        each!(i => if self.0[i] < 1.0 { 1.0 / (1.0 - self.0[i]) } else { f64::INFINITY })
    }

    /// How many are below `limit`.
    #[inline(always)]
    fn below(self, limit: f64) -> usize {
        let mut count = 0;
        let _: Lanes<W> = each!(i => { count += usize::from(self.0[i] < limit); 0.0 });
        count
    }

    /// Whether any is below `limit`.
    #[inline(always)]
    pub fn any_below(self, limit: f64) -> bool {
        self.below(limit) > 0
    }

    /// Whether all are.
    #[inline(always)]
    pub fn all_below(self, limit: f64) -> bool {
        self.below(limit) == W
    }

    /// 2ᵏ for the integers in the low bits of what [`ROUNDER`] was added to.
    #[inline(always)]
    fn powers_of_two(self) -> Lanes<W> {
        each!(i => f64::from_bits((self.0[i].to_bits() << 52).wrapping_add(1023 << 52)))
    }

    /// Σ ±x²ᵏ/(first + 2k)!, the signs alternating, for the square of x.
    #[inline(always)]
    fn alternating(first: usize, square: Lanes<W>) -> Lanes<W> {
        let mut sum = Lanes::ZERO;
        for k in (0..9).rev() {
            sum = Lanes::all(INVERSE_FACTORIALS[first + 2 * k]) - sum * square;
        }
        sum
    }

    /// In odd quadrants `odd`, else `even`; the sign is that of bit 1 of the quadrant's number and so many more.
    #[inline(always)]
    fn in_quadrant(odd: Lanes<W>, even: Lanes<W>, quadrant: Lanes<W>, more: u64) -> Lanes<W> {
        let chosen: Lanes<W> =
            each!(i => if quadrant.0[i].to_bits() & 1 == 1 { odd.0[i] } else { even.0[i] });
        each!(i => {
            let sign = (quadrant.0[i].to_bits().wrapping_add(more) & 2) << 62;
            f64::from_bits(chosen.0[i].to_bits() ^ sign)
        })
    }

    /// In the order of the places, so that it is the same everywhere.
    #[inline(always)]
    pub fn sum(self) -> f64 {
        let mut sum = 0.0;
        let _: Lanes<W> = each!(i => { sum += self.0[i]; sum });
        sum
    }

    /// xᵏ by repeated products.
    #[inline(always)]
    pub fn power(self, k: u32) -> Lanes<W> {
        let mut power = Lanes::ONE;
        for _ in 0..k {
            power = power * self;
        }
        power
    }

    #[inline(always)]
    fn exp(self) -> Lanes<W> {
        let x: Lanes<W> = each!(i => if self.0[i] < -EXTREME { -EXTREME } else { self.0[i] });
        let x: Lanes<W> = each!(i => if x.0[i] > EXTREME { EXTREME } else { x.0[i] });
        let k = (x * std::f64::consts::LOG2_E + ROUNDER) - ROUNDER;
        let r = (x - k * LN_2[0]) - k * LN_2[1];
        let mut value = Lanes::all(INVERSE_FACTORIALS[13]);
        for k in (0..13).rev() {
            value = value * r + INVERSE_FACTORIALS[k];
        }
        // 2ᵏ in two factors, since either end of the range is beyond one.
        let half = k * 0.5 + ROUNDER;
        let rest = (k - (half - ROUNDER)) + ROUNDER;
        value * half.powers_of_two() * rest.powers_of_two()
    }

    /// Sine and cosine.
    #[inline(always)]
    fn sin_cos(self) -> [Lanes<W>; 2] {
        let shifted = self * std::f64::consts::FRAC_2_PI + ROUNDER;
        let k = shifted - ROUNDER;
        let r = ((self - k * HALF_PI[0]) - k * HALF_PI[1]) - k * HALF_PI[2];
        let square = r * r;
        let (sin, cos) = (Lanes::alternating(1, square) * r, Lanes::alternating(0, square));
        [Lanes::in_quadrant(cos, sin, shifted, 0), Lanes::in_quadrant(sin, cos, shifted, 1)]
    }
}

impl<const W: usize> Value<W> for Lanes<W> {
    const WEIGHTS: Weights = Weights::Real;

    #[inline(always)]
    fn all(value: f64) -> Self {
        Lanes([value; W])
    }

    #[inline(always)]
    fn from_parts(re: [f64; W], _: [f64; W]) -> Self {
        Lanes(re)
    }

    #[inline(always)]
    fn at(self, lane: usize) -> Complex64 {
        Complex64::from(self.0[lane])
    }

    #[inline(always)]
    fn re(self) -> Lanes<W> {
        self
    }

    #[inline(always)]
    fn exp(self) -> Self {
        Lanes::exp(self)
    }

    #[inline(always)]
    fn norm(self) -> Lanes<W> {
        self.abs()
    }

    #[inline(always)]
    fn if_less(a: Lanes<W>, b: Lanes<W>, yes: Self, no: Self) -> Self {
        each!(i => if a.0[i] < b.0[i] { yes.0[i] } else { no.0[i] })
    }
}

impl<const W: usize> Add for ComplexLanes<W> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        ComplexLanes { re: self.re + other.re, im: self.im + other.im }
    }
}

impl<const W: usize> Sub for ComplexLanes<W> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        ComplexLanes { re: self.re - other.re, im: self.im - other.im }
    }
}

impl<const W: usize> Mul for ComplexLanes<W> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        ComplexLanes {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

impl<const W: usize> Div for ComplexLanes<W> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let conjugate = ComplexLanes { re: other.re, im: -other.im };
        let size = other.re * other.re + other.im * other.im;
        let product = self * conjugate;
        ComplexLanes { re: product.re / size, im: product.im / size }
    }
}

impl<const W: usize> Mul<f64> for ComplexLanes<W> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: f64) -> Self {
        ComplexLanes { re: self.re * other, im: self.im * other }
    }
}

impl<const W: usize> Add<f64> for ComplexLanes<W> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: f64) -> Self {
        ComplexLanes { re: self.re + other, im: self.im }
    }
}

impl<const W: usize> Sub<f64> for ComplexLanes<W> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: f64) -> Self {
        ComplexLanes { re: self.re - other, im: self.im }
    }
}

impl<const W: usize> Value<W> for ComplexLanes<W> {
    const WEIGHTS: Weights = Weights::Complex;

    #[inline(always)]
    fn all(value: f64) -> Self {
        ComplexLanes { re: Lanes::all(value), im: Lanes::ZERO }
    }

    #[inline(always)]
    fn from_parts(re: [f64; W], im: [f64; W]) -> Self {
        ComplexLanes { re: Lanes(re), im: Lanes(im) }
    }

    #[inline(always)]
    fn at(self, lane: usize) -> Complex64 {
        Complex64::new(self.re.0[lane], self.im.0[lane])
    }

    #[inline(always)]
    fn re(self) -> Lanes<W> {
        self.re
    }

    #[inline(always)]
    fn exp(self) -> Self {
        let (size, [sin, cos]) = (self.re.exp(), self.im.sin_cos());
        ComplexLanes { re: size.times(cos), im: size.times(sin) }
    }

    #[inline(always)]
    fn norm(self) -> Lanes<W> {
        const FAR: f64 = 1e140;
        const SCALE: f64 = 1e150;
        let largest = self.re.abs().max(self.im.abs());
        let scale: Lanes<W> = each!(i => if largest.0[i] < 1.0 / FAR { SCALE } else { 1.0 });
        let scale: Lanes<W> = each!(i => if largest.0[i] > FAR { 1.0 / SCALE } else { scale.0[i] });
        let (re, im) = (self.re * scale, self.im * scale);
        (re * re + im * im).sqrt() / scale
    }

    #[inline(always)]
    fn if_less(a: Lanes<W>, b: Lanes<W>, yes: Self, no: Self) -> Self {
        ComplexLanes { re: Lanes::if_less(a, b, yes.re, no.re), im: Lanes::if_less(a, b, yes.im, no.im) }
    }
}
