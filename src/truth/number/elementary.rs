//! Elementary functions of one wide number, each by two algorithms; one of them with a proven error.
//!
//! **Taylor at |z| ≤ ½** (`by_taylor`): dropped terms are below 2^−215. A complex argument takes the
//! recurrence hⱼ = cⱼ + 2Re(z)hⱼ₊₁ − |z|²hⱼ₊₂ of [`Entry::polynomial`], where |2Re z| ≤ 1, |z|² ≤ ¼: an error
//! made at one step grows by less than 1.21 a step, and hⱼ ≤ Σᵢ 1.21ⁱ/(i+j)! ≤ 3.4/j!, so four roundings a
//! step come to less than 4·3.4·e^1.21 < 2⁶ units of 2^−237, and the coefficients' own errors, (k+2) units
//! each, to less. In all: below 2^−213, absolutely. An error of z counts at most twice (φₖ' ≤ e^½ there).
//! The doublings after that are computed with [`Ball`]s.

use std::sync::LazyLock;

use nalgebra::Complex;
use num_traits::{One, Zero};

use super::ball::{Ball, Enclosure};
use super::mag::Mag;
use super::scalar::{Entry, Real};
use super::wide::Wide;

/// 1/k!
static INVERSE_FACTORIALS: LazyLock<Vec<Wide>> = LazyLock::new(|| {
    let mut factorial = Wide::one();
    (0..=64)
        .map(|k| {
            factorial *= Wide::exact(f64::from(k.max(1)));
            Wide::one() / factorial
        })
        .collect()
});

/// 1/(2k+1)
static INVERSE_ODD: LazyLock<Vec<Wide>> =
    LazyLock::new(|| (0..=80).map(|k| Wide::one() / Wide::exact(f64::from(2 * k + 1))).collect());

/// Truncation errors stay below 2^−this, relative to the leading term: more than a certificate asks
/// (53 + 100 bits), and no more than rounding leaves of the 237.
const TARGET: f64 = 215.0;

/// The fewest terms `m` for which x^m/m! is below 2^−[`TARGET`] where |x| ≤ 2^exponent.
fn taylor_terms(exponent: i64) -> usize {
    let mut bits = 0.0;
    (1..INVERSE_FACTORIALS.len() - 1)
        .find(|&m| {
            bits += (m as f64).log2() - exponent as f64;
            bits > TARGET
        })
        .unwrap_or(INVERSE_FACTORIALS.len() - 1)
}

/// A number of which the element routes take exponentials.
pub trait Exponent: Entry<Part = Wide> + Copy {
    /// eᶻ by halving the real and the imaginary part and squaring back.
    fn exp_by_parts(self) -> Self;
}

impl Exponent for Wide {
    fn exp_by_parts(self) -> Self {
        exp_by_halving(self)
    }
}

impl Exponent for Complex<Wide> {
    fn exp_by_parts(self) -> Self {
        let modulus = exp_by_halving(self.re);
        if self.im.is_zero() {
            return Complex::new(modulus, Wide::zero());
        }
        let (cos, sin) = cos_sin_by_halving(self.im);
        Complex::new(modulus * cos, modulus * sin)
    }
}

/// Halvings that bring |x| ≤ 2^exponent down to 2^−7, and the Taylor terms needed there.
fn reduction(exponent: i64) -> (i64, usize) {
    const REDUCED: i64 = -7;
    let halvings = (exponent - REDUCED).max(0);
    (halvings, taylor_terms(exponent - halvings))
}

/// eˣ by Taylor at x/2^k, squared k times.
pub fn exp_by_halving(x: Wide) -> Wide {
    let Some(exponent) = x.exponent() else { return Wide::one() };
    let (halvings, terms) = reduction(exponent + 1);
    let mut value = x.times_pow2(-halvings).polynomial(&INVERSE_FACTORIALS[..=terms]);
    for _ in 0..halvings {
        value *= value;
    }
    value
}

/// (cos y, sin y) by Taylor at y/2^k and k doublings.
fn cos_sin_by_halving(y: Wide) -> (Wide, Wide) {
    let Some(exponent) = y.exponent() else { return (Wide::one(), Wide::zero()) };
    let (halvings, terms) = reduction(exponent + 1);
    let reduced = y.times_pow2(-halvings);
    let square = reduced * reduced;
    let (mut cos, mut sin) = (Wide::zero(), Wide::zero());
    for k in (0..=terms / 2 + 1).rev() {
        cos = INVERSE_FACTORIALS[2 * k] - square * cos;
        sin = INVERSE_FACTORIALS[2 * k + 1] - square * sin;
    }
    sin *= reduced;
    for _ in 0..halvings {
        (cos, sin) = (cos * cos - sin * sin, (cos * sin).times_pow2(1));
    }
    (cos, sin)
}

/// eᶻ, φ₁, φ₂, φ₃ at one z.
pub type Phi<T> = [T; 4];

/// φ₃ by its Taylor series at z, and the others by φₖ = 1/k! + z φₖ₊₁ (spec.md §1), which cancels nothing.
/// For |z| ≤ 2^exponent ≤ 1.
fn phi_by_taylor<T: Exponent>(z: T, exponent: i64) -> Phi<T> {
    let terms = taylor_terms(exponent);
    let one = T::one();
    let phi3 = z.polynomial(&INVERSE_FACTORIALS[3..=(terms + 3).min(INVERSE_FACTORIALS.len() - 1)]);
    let phi2 = one.shifted(-1) + z * phi3;
    let phi1 = one + z * phi2;
    [one + z * phi1, phi1, phi2, phi3]
}

/// φ by Taylor directly at z, for |z| below ½: the second algorithm where the literal formulas cancel.
pub fn phi_direct<T: Exponent>(z: T) -> Phi<T> {
    phi_by_taylor(z, z.exponent_bound().unwrap_or(-1000))
}

/// The proven error of a Taylor series at |z| ≤ ½, see above.
const TAYLOR_ERROR: i64 = -213;

/// Σ zᵏ/(k + start)! for |z| ≤ 2^exponent ≤ ½.
fn by_taylor<T: Exponent>(z: &Ball<T>, start: usize, exponent: i64) -> Ball<T> {
    let last = (taylor_terms(exponent) + start).min(INVERSE_FACTORIALS.len() - 1);
    let mid = z.mid.polynomial(&INVERSE_FACTORIALS[start..=last]);
    // An argument that is not known to a few bits at least is not worth a bound.
    let carried = if z.radius.at_most_pow2(-10) { z.radius.shifted(1) } else { Mag::UNBOUNDED };
    Ball { mid, radius: Mag::pow2(TAYLOR_ERROR) + carried }
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
pub fn softplus_by_artanh(d: &Ball<Wide>) -> Ball<Wide> {
    let two = Ball::exact(Wide::exact(2.0));
    let falling = Ball { mid: -d.mid.norm1(), radius: d.radius };
    let t = exp_by_doubling(&falling);
    let ratio = t.over(&two.plus(&t));
    // The ratio is at most 1/3, so the k-th term is below 9⁻ᵏ of the first.
    let per_term = -2.0 * ratio.mid.exponent().map_or(1000.0, |e| (e + 1) as f64).min(-1.58);
    let terms = ((TARGET / per_term).ceil() as usize + 1).min(INVERSE_ODD.len());
    let square = ratio.times(&ratio);
    let mid = square.mid.polynomial(&INVERSE_ODD[..terms]);
    // Horner with positive terms, a tail below 2^−214, and a slope below 0.7 at 1/9.
    let tail = Ball { mid, radius: Mag::pow2(TAYLOR_ERROR) + square.radius };
    let log = ratio.times(&tail).shifted(1);
    if d.mid > Wide::zero() { d.plus(&log) } else { log }
}

/// log(1 + eᵈ), as the root y of eʸ − 1 = eᵈ by Halley's iteration.
pub fn softplus_by_halley(d: Wide) -> Wide {
    let w = exp_by_halving(d);
    let start = d.to_nearest_f64().exp().ln_1p();
    let mut y = match start {
        // Beyond the f64 range, log(1 + w) is w(1 − w/2) or d to more bits than an f64 has.
        s if s < 1e-290 => w - (w * w).times_pow2(-1),
        s if s.is_infinite() => d,
        s => Wide::exact(s),
    };
    // Each step triples the correct bits, of which an f64 start has about 50.
    for _ in 0..2 {
        let value = exp_m1(y);
        let residual = (value - w).times_pow2(1);
        y -= residual / (value + w + Wide::exact(2.0));
    }
    y
}

/// eʸ − 1 without cancellation.
fn exp_m1(y: Wide) -> Wide {
    if y.exponent().is_none_or(|e| e < -20) {
        return y * phi_direct(y)[1];
    }
    exp_by_halving(y) - Wide::one()
}
