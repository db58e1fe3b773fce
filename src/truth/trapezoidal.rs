//! The truth of Mamba-3's rule (spec.md §7): the program in [`crate::trapezoidal`] by two routes. One computes with [`Ball`]s, as it is
//! specified; the other in plain numbers, with other algorithms for functions and the state written the other way.

use nalgebra::Complex;

use super::certify::{Certificate, settle};
use super::number::ball::{Ball, Enclosure};
use super::number::double_double::DoubleDouble;
use super::number::elementary::{
    Exponent as _, Scalar, exp_by_doubling, exp_by_halving, softplus_by_artanh, softplus_by_halley,
};
use super::number::mag::Mag;
use super::number::scalar::Real;
use super::number::wide::Wide;
use super::{Result, TruthError};
use crate::problem::trapezoidal::{Cotangents, Input, Output, Trapezoidal, Unit};
use crate::tensor::Named;
use crate::trapezoidal::{self, Number, Writing};

const ROUTES: (&str, &str) = ("as specified", "shifted by one position");

/// π as a sum of doubles, good to 2⁻³²⁰.
const PI: [f64; 6] = [
    std::f64::consts::PI,
    1.224_646_799_147_353_2e-16,
    -2.994_769_809_718_339_7e-33,
    1.112_454_220_863_365_3e-49,
    5.672_231_979_640_316e-66,
    1.744_986_216_135_248_6e-83,
];

fn pi<R: Real>() -> R {
    PI.into_iter().rev().fold(R::zero(), |sum, part| sum + R::exact(part))
}

/// e^x leaves the range of the arithmetic beyond this log2 of |x|.
const LARGEST: i64 = crate::problem::LARGEST_EXPONENT;

fn is_too_large<R: Real>(x: &R) -> bool {
    x.exponent().is_some_and(|exponent| exponent >= LARGEST)
}

/// e^x for x below −2¹⁶ + 1.
fn vanished<R: Real>() -> Ball<R> {
    Ball { mid: R::zero(), radius: Mag::pow2(-94_000) }
}

/// Nothing is known of it.
fn unknown<R: Real>() -> Ball<R> {
    Ball { mid: R::zero(), radius: Mag::UNBOUNDED }
}

impl<R: Scalar> Number for Ball<R> {
    fn exact(value: f32) -> Self {
        Ball::exact(R::exact(f64::from(value)))
    }

    fn pi() -> Self {
        // Six sums, of at most two units each.
        Ball { mid: pi(), radius: Mag::pow2(6 - i64::from(R::BITS)) }
    }

    fn plus(&self, other: &Self) -> Self {
        Enclosure::plus(self, other)
    }

    fn minus(&self, other: &Self) -> Self {
        Ball::minus(self, other)
    }

    fn times(&self, other: &Self) -> Self {
        Ball::times(self, other)
    }

    fn exp(&self) -> Self {
        match is_too_large(&self.mid) {
            false => exp_by_doubling(self),
            true if self.mid < R::zero() && self.radius.at_most_pow2(0) => vanished(),
            true => unknown(),
        }
    }

    fn sigmoid(&self) -> Self {
        // Each holds for every x.
        let one = Ball::one();
        if self.mid > R::zero() {
            let t = Number::exp(&Ball { mid: -self.mid, radius: self.radius });
            return one.over(&Number::plus(&one, &t));
        }
        let t = Number::exp(self);
        t.over(&Number::plus(&one, &t))
    }

    fn tanh(&self) -> Self {
        let is_positive = self.mid > R::zero();
        let falling = if is_positive { -self.mid } else { self.mid };
        let t = Number::exp(&Ball { mid: falling, radius: self.radius }.shifted(1));
        let one = Ball::one();
        let falling = t.minus(&one).over(&Number::plus(&one, &t));
        if is_positive { Ball { mid: -falling.mid, ..falling } } else { falling }
    }

    fn softplus(&self) -> Self {
        match is_too_large(&self.mid) {
            false => softplus_by_artanh(self),
            true if self.mid > R::zero() => Number::plus(self, &vanished()),
            true => vanished(),
        }
    }

    fn cos_sin(&self) -> [Self; 2] {
        if is_too_large(&self.mid) {
            return [unknown(), unknown()];
        }
        let turn = exp_by_doubling(&Ball { mid: Complex::new(R::zero(), self.mid), radius: self.radius });
        [turn.part(0), turn.part(1)]
    }

    fn about(&self) -> f64 {
        self.mid.to_nearest_f64()
    }
}

/// A number without a bound of its error.
#[derive(Clone, Copy, Debug)]
struct Plain<R>(R);

impl<R: Scalar> Number for Plain<R> {
    fn exact(value: f32) -> Self {
        Plain(R::exact(f64::from(value)))
    }

    fn pi() -> Self {
        Plain(pi())
    }

    fn plus(&self, other: &Self) -> Self {
        Plain(self.0 + other.0)
    }

    fn minus(&self, other: &Self) -> Self {
        Plain(self.0 - other.0)
    }

    fn times(&self, other: &Self) -> Self {
        Plain(self.0 * other.0)
    }

    fn exp(&self) -> Self {
        // The other route knows nothing of it.
        if is_too_large(&self.0) { Plain(R::zero()) } else { Plain(exp_by_halving(self.0)) }
    }

    fn sigmoid(&self) -> Self {
        let Plain(t) = Plain(-self.0).exp();
        Plain(R::one() / (R::one() + t))
    }

    fn tanh(&self) -> Self {
        // 2σ(2x) − 1
        let Plain(sigma) = Plain(self.0.times_pow2(1)).sigmoid();
        Plain(sigma.times_pow2(1) - R::one())
    }

    fn softplus(&self) -> Self {
        match is_too_large(&self.0) {
            false => Plain(softplus_by_halley(self.0)),
            true if self.0 > R::zero() => *self,
            true => Plain(R::zero()),
        }
    }

    fn cos_sin(&self) -> [Self; 2] {
        if is_too_large(&self.0) {
            return [Plain(R::one()), Plain(R::zero())];
        }
        let turn = Complex::new(R::zero(), self.0).exp_by_parts();
        [Plain(turn.re), Plain(turn.im)]
    }

    fn about(&self) -> f64 {
        self.0.to_nearest_f64()
    }
}

/// A value that is certified: correctly rounded, or else in the widest arithmetic known to be off by so much at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certified {
    pub value: f64,
    pub off: f64,
}

/// Tensors of such values.
pub type Certain<K> = Named<Vec<Certified>, K>;

/// Outputs of these heads.
///
/// # Errors
/// Values that cannot be certified.
pub fn outputs(problem: &Trapezoidal, units: &[Unit]) -> Result<(Vec<Certain<Output>>, Certificate)> {
    climb(&|| outputs_by::<DoubleDouble>(problem, units), &|| outputs_by::<Wide>(problem, units))
}

/// The gradients of a whole run.
///
/// # Errors
/// As [`outputs`]'.
pub fn gradients(problem: &Trapezoidal, given: &Cotangents) -> Result<(Certain<Input>, Certificate)> {
    climb(&|| gradients_by::<DoubleDouble>(problem, given), &|| gradients_by::<Wide>(problem, given))
}

/// Results of wider arithmetic where the narrow one leaves a doubt.
fn climb<T>(narrow: &dyn Fn() -> Result<T>, wide: &dyn Fn() -> Result<T>) -> Result<T> {
    narrow().or_else(|_| wide())
}

fn outputs_by<R: Scalar>(
    problem: &Trapezoidal,
    units: &[Unit],
) -> Result<(Vec<Certain<Output>>, Certificate)> {
    let bounded: Vec<Named<Vec<Ball<R>>, Output>> =
        trapezoidal::outputs(problem, units, (Writing::AsSpecified, None));
    let plain: Vec<Named<Vec<Plain<R>>, Output>> =
        trapezoidal::outputs(problem, units, (Writing::Shifted, None));
    let mut certificate = Certificate::new(ROUTES);
    let all = bounded.iter().zip(&plain).map(|(bounded, plain)| settled(bounded, plain, &mut certificate));
    Ok((all.collect::<Result<_>>()?, certificate))
}

fn gradients_by<R: Scalar>(
    problem: &Trapezoidal,
    given: &Cotangents,
) -> Result<(Certain<Input>, Certificate)> {
    let bounded: Named<Vec<Ball<R>>, Input> =
        trapezoidal::gradients(problem, given, (Writing::AsSpecified, None));
    let plain: Named<Vec<Plain<R>>, Input> = trapezoidal::gradients(problem, given, (Writing::Shifted, None));
    let mut certificate = Certificate::new(ROUTES);
    Ok((settled(&bounded, &plain, &mut certificate)?, certificate))
}

/// Every value, rounded where both routes justify it.
fn settled<R: Scalar, K: Ord + Copy + std::fmt::Display>(
    bounded: &Named<Vec<Ball<R>>, K>,
    plain: &Named<Vec<Plain<R>>, K>,
    certificate: &mut Certificate,
) -> Result<Certain<K>> {
    let mut all = Named::default();
    for (name, bounded, plain) in bounded.zip(plain) {
        let mut values = Vec::with_capacity(bounded.len());
        for (at, (bounded, Plain(plain))) in bounded.iter().zip(plain).enumerate() {
            if bounded.is_exact_zero() {
                certificate.count_exact(0.0);
                values.push(Certified { value: 0.0, off: 0.0 });
                continue;
            }
            values.push(match settle(plain, bounded) {
                Ok(settled) => {
                    certificate.count(settled, R::BITS);
                    Certified { value: settled.value, off: 0.0 }
                }
                // Sums of a few products may be ties, and others come to 0, or next to it, without a proof: a judge needs neither.
                Err(doubt) => enclosed(plain, bounded).filter(|_| !R::NARROW).ok_or_else(|| {
                    let place = format!("element {at} of {name}");
                    TruthError::Uncertified { place, reason: doubt.reason(), bits: R::BITS }
                })?,
            });
        }
        all.insert(name, values);
    }
    Ok(all)
}

/// Powers of two that the routes may be apart beyond a proved error: each has roundings of its own, by functions of its own. A choice; a
/// mistake in one of them takes them much further.
const APART: i64 = 24;

/// The nearest f64, and what it is off by a bound that is proved and by the other route; none where there is no bound, or the routes do
/// not compute the same.
fn enclosed<R: Scalar>(plain: &R, bounded: &Ball<R>) -> Option<Certified> {
    let (value, apart) = (bounded.mid.to_nearest_f64(), *plain - bounded.mid);
    let is_rounding = |exponent| bounded.radius.exponent().is_some_and(|radius| exponent <= radius + APART);
    let rounded = (R::exact(value) - bounded.mid).magnitude();
    let off = (bounded.radius + rounded + apart.magnitude()).to_f64()?;
    let is_known = value.is_finite() && off.is_finite() && apart.exponent().is_none_or(is_rounding);
    is_known.then_some(Certified { value, off })
}
