//! Elementary functions of one number, each by two algorithms; one of them with a proven error.
//!
//! **Taylor at |z| ≤ ρ ≤ ½** (`by_taylor`): dropped terms are below 2^−([`Scalar::TARGET`] − 1). A complex argument takes the
//! recurrence hⱼ = cⱼ + 2Re(z)hⱼ₊₁ − |z|²hⱼ₊₂ of [`Entry::polynomial`], where |2Re z| ≤ 2ρ, |z|² ≤ ρ²: an error
//! made at one step grows by less than g = (1 + √2)ρ a step, and hⱼ ≤ Σᵢ gⁱ/(i+j)! ≤ e^g/j!, so four roundings a
//! step come to less than 4e^(2g) units of 2^−BITS, and the coefficients' own errors, (k+2) units each, to (2 + g)e^g.
//! In all that is below 2⁶ units for ρ = ½, and below 7 for ρ = 1/32. An error of z counts at most twice (φₖ' ≤ e^½ there).
//! The doublings after that are computed with [`Ball`]s.

use std::sync::LazyLock;

use nalgebra::Complex;

use super::ball::{Ball, Enclosure};
use super::double_double::DoubleDouble;
use super::mag::Mag;
use super::scalar::{Entry, Real};
use super::wide::Wide;

/// A real whose elementary functions are here.
pub trait Scalar: Real + Copy {
    /// Truncation errors stay below 2^−this, relative to the leading term: no more than rounding leaves of the bits, and
    /// more than a certificate asks.
    const TARGET: f64;
    /// The literal route's exponential halves its argument to 2 to this. Each squaring costs it a bit.
    const REDUCED: i64;
    /// Bits that eᶻ − 1 and what else is left of eᶻ may lose to cancellation, k·log₂(1/|z|), and still certify.
    const SPARE: i64;
    fn tables() -> &'static Tables<Self>;
}

impl Scalar for Wide {
    const TARGET: f64 = 215.0;
    const REDUCED: i64 = -7;
    const SPARE: i64 = 50;
    fn tables() -> &'static Tables<Self> {
        static TABLES: LazyLock<Tables<Wide>> = LazyLock::new(Tables::new);
        &TABLES
    }
}

impl Scalar for DoubleDouble {
    const TARGET: f64 = 106.0;
    const REDUCED: i64 = -4;
    const SPARE: i64 = 5;
    fn tables() -> &'static Tables<Self> {
        static TABLES: LazyLock<Tables<DoubleDouble>> = LazyLock::new(Tables::new);
        &TABLES
    }
}

/// What series take.
pub struct Tables<R> {
    /// 1/k!
    inverse_factorials: Vec<R>,
    /// 1/(2k+1)
    inverse_odd: Vec<R>,
    /// [`taylor_terms`] for exponents 0, −1, …
    terms: Vec<usize>,
}

/// The last k of 1/k!.
const LAST_FACTORIAL: usize = 64;

impl<R: Scalar> Tables<R> {
    fn new() -> Self {
        let mut factorial = R::one();
        let inverse_factorial = |k: usize| {
            factorial *= R::exact(k.max(1) as f64);
            R::one() / factorial
        };
        Tables {
            inverse_factorials: (0..=LAST_FACTORIAL).map(inverse_factorial).collect(),
            inverse_odd: (0..=80).map(|k| R::one() / R::exact(f64::from(2 * k + 1))).collect(),
            terms: (0..=128).map(|below| fewest_terms(-below, R::TARGET)).collect(),
        }
    }
}

/// The fewest terms `m` for which x^m/m! is below 2^−target where |x| ≤ 2^exponent.
fn fewest_terms(exponent: i64, target: f64) -> usize {
    let mut bits = 0.0;
    (1..LAST_FACTORIAL)
        .find(|&m| {
            bits += (m as f64).log2() - exponent as f64;
            bits > target
        })
        .unwrap_or(LAST_FACTORIAL)
}

/// The same for R's [`Scalar::TARGET`].
fn taylor_terms<R: Scalar>(exponent: i64) -> usize {
    let terms = &R::tables().terms;
    terms[usize::try_from(-exponent).unwrap_or(0).min(terms.len() - 1)]
}

/// A number of which the element routes take exponentials.
pub trait Exponent: Entry<Part: Scalar> + Copy {
    /// eᶻ by halving the real and the imaginary part and squaring back.
    fn exp_by_parts(self) -> Self;
}

impl<R: Scalar> Exponent for R {
    fn exp_by_parts(self) -> Self {
        exp_by_halving(self)
    }
}

impl<R: Scalar> Exponent for Complex<R> {
    fn exp_by_parts(self) -> Self {
        let modulus = exp_by_halving(self.re);
        if self.im.is_zero() {
            return Complex::new(modulus, R::zero());
        }
        let (cos, sin) = cos_sin_by_halving(self.im);
        Complex::new(modulus * cos, modulus * sin)
    }
}

/// Halvings that bring |x| ≤ 2^exponent down to 2^[`Scalar::REDUCED`], and the Taylor terms needed there.
fn reduction<R: Scalar>(exponent: i64) -> (i64, usize) {
    let halvings = (exponent - R::REDUCED).max(0);
    (halvings, taylor_terms::<R>(exponent - halvings))
}

/// eˣ by Taylor at x/2^k, squared k times.
pub fn exp_by_halving<R: Scalar>(x: R) -> R {
    let Some(exponent) = x.exponent() else { return R::one() };
    let (halvings, terms) = reduction::<R>(exponent + 1);
    let mut value = x.times_pow2(-halvings).polynomial(&R::tables().inverse_factorials[..=terms]);
    for _ in 0..halvings {
        value *= value;
    }
    value
}

/// (cos y, sin y) by Taylor at y/2^k and k doublings.
fn cos_sin_by_halving<R: Scalar>(y: R) -> (R, R) {
    let Some(exponent) = y.exponent() else { return (R::one(), R::zero()) };
    let (halvings, terms) = reduction::<R>(exponent + 1);
    let inverse_factorials = &R::tables().inverse_factorials;
    let reduced = y.times_pow2(-halvings);
    let square = reduced * reduced;
    let (mut cos, mut sin) = (R::zero(), R::zero());
    for k in (0..=terms / 2 + 1).rev() {
        cos = inverse_factorials[2 * k] - square * cos;
        sin = inverse_factorials[2 * k + 1] - square * sin;
    }
    sin *= reduced;
    for _ in 0..halvings {
        (cos, sin) = (cos * cos - sin * sin, (cos * sin).times_pow2(1));
    }
    (cos, sin)
}

/// eᶻ, φ₁, φ₂, φ₃ at one z.
pub type Phi<T> = [T; 4];

/// 1/(k + start)! as far as a series takes them at |z| ≤ 2^exponent.
fn coefficients<R: Scalar>(start: usize, exponent: i64) -> &'static [R] {
    let last = (taylor_terms::<R>(exponent) + start).min(LAST_FACTORIAL);
    &R::tables().inverse_factorials[start..=last]
}

/// φ₃ by its Taylor series at z, and the others by φₖ = 1/k! + z φₖ₊₁ (spec.md §1), which cancels nothing.
/// For |z| ≤ 2^exponent ≤ 1.
fn phi_by_taylor<T: Exponent>(z: T, exponent: i64) -> Phi<T> {
    let one = T::one();
    let phi3 = z.polynomial(coefficients::<T::Part>(3, exponent));
    let phi2 = one.shifted(-1) + z * phi3;
    let phi1 = one + z * phi2;
    [one + z * phi1, phi1, phi2, phi3]
}

/// φ by Taylor directly at z, for |z| below ½: the second algorithm where the literal formulas cancel.
pub fn phi_direct<T: Exponent>(z: T) -> Phi<T> {
    phi_by_taylor(z, z.exponent_bound().unwrap_or(-1000))
}

/// eᶻ less the first one, two and three terms of its series, by the rest of that series, for |z| below ½: where subtracting
/// them from eᶻ cancels.
pub fn remainders<T: Exponent>(z: T) -> [T; 3] {
    let square = z * z;
    let third = square * z * z.polynomial(coefficients::<T::Part>(3, z.exponent_bound().unwrap_or(-1000)));
    let second = square.shifted(-1) + third;
    [z + second, second, third]
}

/// The proven error of a Taylor series at |z| ≤ 2^exponent ≤ ½, see above.
fn taylor_error<R: Scalar>(exponent: i64) -> Mag {
    let units = if exponent <= -5 { Mag::count(7) } else { Mag::pow2(6) };
    units.shifted(-i64::from(R::BITS)) + Mag::pow2(1 - R::TARGET as i64)
}

/// Σ zᵏ/(k + start)! for |z| ≤ 2^exponent ≤ ½.
pub(in crate::truth) fn by_taylor<T: Exponent>(z: &Ball<T>, start: usize, exponent: i64) -> Ball<T> {
    let mid = z.mid.polynomial(coefficients::<T::Part>(start, exponent));
    // An argument that is not known to a few bits at least is not worth a bound.
    let carried = if z.radius.at_most_pow2(-10) { z.radius.shifted(1) } else { Mag::UNBOUNDED };
    Ball { mid, radius: taylor_error::<T::Part>(exponent) + carried }
}

/// Halvings, at least one, that bring |z| to ½; none for zero. And the exponent that they lead to.
fn halvings<T: Exponent>(z: &Ball<T>) -> Option<(i64, i64)> {
    let exponent = z.mid.exponent_bound()?;
    let halvings = (exponent + 1).max(1);
    Some((halvings, exponent - halvings))
}

/// φ by Taylor at z/2^k, at least one halving, and the doubling formulas
/// φₖ(2z) = 2⁻ᵏ [eᶻ φₖ(z) + Σ_{j=1}^{k} φⱼ(z)/(k−j)!].
pub fn phi_by_doubling<T: Exponent>(z: &Ball<T>) -> Phi<Ball<T>> {
    let one = Ball::<T>::one();
    let (halvings, exponent) = halvings(z).unwrap_or((0, -1000));
    let small = z.shifted(-halvings);
    let phi3 = by_taylor(&small, 3, exponent);
    let phi2 = one.shifted(-1).plus(&small.times(&phi3));
    let phi1 = one.plus(&small.times(&phi2));
    let mut phi = [one.plus(&small.times(&phi1)), phi1, phi2, phi3];
    for _ in 0..halvings {
        let [exp, phi1, phi2, phi3] = phi;
        phi = [
            exp.times(&exp),
            exp.times(&phi1).plus(&phi1).shifted(-1),
            exp.times(&phi2).plus(&phi1).plus(&phi2).shifted(-2),
            exp.times(&phi3).plus(&phi1.shifted(-1)).plus(&phi2).plus(&phi3).shifted(-3),
        ];
    }
    phi
}

/// eᶻ alone, by the same reduction as [`phi_by_doubling`].
pub fn exp_by_doubling<T: Exponent>(z: &Ball<T>) -> Ball<T> {
    if z.is_exact_zero() {
        return Ball::one();
    }
    let (halvings, exponent) = halvings(z).unwrap_or((0, -1000));
    let mut exp = by_taylor(&z.shifted(-halvings), 0, exponent);
    for _ in 0..halvings {
        exp = exp.times(&exp);
    }
    exp
}

/// log(1 + eᵈ) = max(d, 0) + 2 artanh(t/(2 + t)) with t = e^−|d|; the sign of d is taken to be certain.
pub fn softplus_by_artanh<R: Scalar>(d: &Ball<R>) -> Ball<R> {
    let falling = Ball { mid: -d.mid.norm1(), radius: d.radius };
    let log = log_of_one_plus(&exp_by_doubling(&falling));
    if d.mid > R::zero() { d.plus(&log) } else { log }
}

/// log(1 + t) = 2 artanh(t/(2 + t)) for 0 ≤ t ≤ 1.
pub fn log_of_one_plus<R: Scalar>(t: &Ball<R>) -> Ball<R> {
    let two = Ball::exact(R::exact(2.0));
    let ratio = t.over(&two.plus(t));
    // The ratio is at most 1/3, so the k-th term is below 9⁻ᵏ of the first.
    let per_term = -2.0 * ratio.mid.exponent().map_or(1000.0, |e| (e + 1) as f64).min(-1.58);
    let inverse_odd = &R::tables().inverse_odd;
    let terms = ((R::TARGET / per_term).ceil() as usize + 1).min(inverse_odd.len());
    let square = ratio.times(&ratio);
    let mid = square.mid.polynomial(&inverse_odd[..terms]);
    // Horner with positive terms (below 6 units), a tail below 2^(1 − TARGET), and a slope below 0.7 at 1/9.
    let tail = Ball { mid, radius: taylor_error::<R>(-5) + square.radius };
    ratio.times(&tail).shifted(1)
}

/// log(1 + eᵈ), as the root y of eʸ − 1 = eᵈ by Halley's iteration.
pub fn softplus_by_halley<R: Scalar>(d: R) -> R {
    let w = exp_by_halving(d);
    let start = d.to_nearest_f64().exp().ln_1p();
    let mut y = match start {
        // Beyond the f64 range, log(1 + w) is w(1 − w/2) or d to more bits than an f64 has.
        s if s < 1e-290 => w - (w * w).times_pow2(-1),
        s if s.is_infinite() => d,
        s => R::exact(s),
    };
    // Each step triples the correct bits, of which an f64 start has about 50.
    for _ in 0..2 {
        let value = exp_m1(y);
        let residual = (value - w).times_pow2(1);
        y -= residual / (value + w + R::exact(2.0));
    }
    y
}

/// eʸ − 1 without cancellation.
fn exp_m1<R: Scalar>(y: R) -> R {
    if y.exponent().is_none_or(|e| e < -R::SPARE / 2) {
        return y * phi_direct(y)[1];
    }
    exp_by_halving(y) - R::one()
}
