//! The functions of one float that kernels are made of, with a proven error: for what 53 bits leave open.

use num_complex::Complex;
use num_traits::{One, Zero};

use super::gradient::rules::Rules;
use super::number::ball::{Ball, Enclosure};
use super::number::elementary::{exp_by_doubling, log_of_one_plus, phi_by_doubling};
use super::number::scalar::Real;
use super::number::wide::Wide;
use crate::scalar_function::{ScalarFunction, StepPart};

/// The largest argument for which 237 bits leave enough of an exponential.
const REACH: f32 = 65536.0;

/// Where gate(x) = x/2 + x²/4 − x⁴/48 + … is its first two terms to 2⁻²⁰⁰.
const SMALL: f32 = 1.0 / (1u128 << 100) as f32;

/// A function's value as a sum of two doubles, good to 2⁻¹⁰⁰ of it; none where it cannot be said, beyond ±2¹⁶ and at a pole, nor of what is
/// rounded to 16 bits, which is exact.
pub fn value(function: ScalarFunction, x: f32) -> Option<[f64; 2]> {
    use ScalarFunction as F;
    let reaches_all = matches!(function, F::LibraryLog1p | F::HardwareReciprocal);
    if x.is_nan() || x.abs() > REACH && !reaches_all {
        return None;
    }
    if function == F::Gate && x.abs() < SMALL {
        // Half of a subnormal number is a tie but for what comes after it.
        let x = f64::from(x);
        return Some([0.5 * x, 0.25 * x * x]);
    }
    let z = Ball::exact(Wide::from(x));
    let turn = || exp_by_doubling(&Ball::exact(Complex::new(Wide::zero(), Wide::from(x))));
    let rules = Rules::<Ball<Wide>>::bounded();
    if let Some((method, part)) = function.step_part() {
        let step = (rules.step)(method.into(), &Ball::one(), &z)?;
        let [by_delta, by_a] = step.b_bar_by;
        let [_, slope] = step.a_bar_by;
        return parts(match part {
            StepPart::ABar => step.a_bar,
            StepPart::BBar | StepPart::H => step.b_bar,
            StepPart::Slope => slope,
            StepPart::HByDelta => by_delta,
            StepPart::HByA => by_a,
        });
    }
    parts(match function {
        F::Exp | F::ExpInPairs | F::LibraryExp => exp_by_doubling(&z),
        F::HardwareExp2 => exp_by_doubling(&log_of_one_plus(&Ball::one()).times(&z)),
        F::HardwareReciprocal if x != 0.0 => Ball::one().over(&z),
        F::Cos | F::CosInPairs | F::HardwareCos => turn().part(0),
        F::Sin | F::SinInPairs | F::HardwareSin => turn().part(1),
        F::Phi1 => phi_by_doubling(&z)[1],
        F::Phi2 => phi_by_doubling(&z)[2],
        F::Phi3 => phi_by_doubling(&z)[3],
        F::LibraryLog1p => log1p(x)?,
        F::Softplus => (rules.softplus)(&z)[0],
        F::Sigmoid => (rules.softplus)(&z)[1],
        F::Gate => (rules.gate)(&z)[0],
        F::GateSlope => (rules.gate)(&z)[1],
        _ => return None,
    })
}

/// log(1 + x) for 0 ≤ x < ∞: with 1 + x = 2ᵏ(1 + t) it is k log 2 + log(1 + t).
fn log1p(x: f32) -> Option<Ball<Wide>> {
    if !(0.0..=f32::MAX).contains(&x) {
        return None;
    }
    // Exact: 152 bits at most.
    let beyond = Wide::from(x) + Wide::one();
    let k = beyond.exponent()?;
    let t = beyond.times_pow2(-k) - Wide::one();
    let t = if k == 0 { Wide::from(x) } else { t };
    let turns = Ball::exact(Wide::from(k as f32)).times(&log_of_one_plus(&Ball::one()));
    Some(turns.plus(&log_of_one_plus(&Ball::exact(t))))
}

/// The two doubles, where the ball says them.
fn parts(ball: Ball<Wide>) -> Option<[f64; 2]> {
    let high = ball.mid.to_nearest_f64();
    let low = (ball.mid - Wide::from(high)).to_nearest_f64();
    let exponent = ball.mid.exponent().unwrap_or(i64::MIN / 2);
    let exact = ball.radius.is_zero();
    (high.is_finite() && (exact || ball.radius.at_most_pow2(exponent - 100))).then_some([high, low])
}
