//! The functions of one float that kernels are made of, with a proven error: for what 53 bits leave open.

use num_complex::Complex;
use num_traits::Zero;

use super::gradient::rules::Rules;
use super::number::ball::Ball;
use super::number::elementary::{exp_by_doubling, phi_by_doubling};
use super::number::scalar::Real;
use super::number::wide::Wide;
use crate::formula::Form;
use crate::scalar_function::{ScalarFunction, StepPart};

/// The largest argument for which 237 bits leave enough of an exponential.
const REACH: f32 = 65536.0;

/// A function's value as a sum of two doubles, good to 2⁻¹⁰⁰ of it; none where it cannot be said, beyond ±2¹⁶ and at a pole, nor of what is
/// rounded to 16 bits, which is exact.
pub fn value(function: ScalarFunction, x: f32) -> Option<[f64; 2]> {
    use ScalarFunction as F;
    if x.is_nan() || x.abs() > REACH {
        return None;
    }
    let z = Ball::exact(Wide::from(x));
    let turn = || exp_by_doubling(&Ball::exact(Complex::new(Wide::zero(), Wide::from(x))));
    let rules = Rules::<Ball<Wide>>::bounded();
    if let Some((method, part)) = function.step_part() {
        let step = (rules.step)(Form::from(method), &Ball::one(), &z)?;
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
        F::Exp | F::ExpInPairs => exp_by_doubling(&z),
        F::Cos | F::CosInPairs => turn().part(0),
        F::Sin | F::SinInPairs => turn().part(1),
        F::Phi1 => phi_by_doubling(&z)[1],
        F::Phi2 => phi_by_doubling(&z)[2],
        F::Phi3 => phi_by_doubling(&z)[3],
        F::Softplus => (rules.softplus)(&z)[0],
        F::Sigmoid => (rules.softplus)(&z)[1],
        F::Gate => (rules.gate)(&z)[0],
        F::GateSlope => (rules.gate)(&z)[1],
        _ => return None,
    })
}

/// The two doubles, where the ball says them.
fn parts(ball: Ball<Wide>) -> Option<[f64; 2]> {
    let high = ball.mid.to_nearest_f64();
    let low = (ball.mid - Wide::from(high)).to_nearest_f64();
    let exponent = ball.mid.exponent().unwrap_or(i64::MIN / 2);
    let exact = ball.radius.is_zero();
    (high.is_finite() && (exact || ball.radius.at_most_pow2(exponent - 100))).then_some([high, low])
}
