//! Functions of one number that is known to a bound, as an f32 kernel may compute them.

use num_complex::Complex64;

use crate::judge::model;
use crate::problem::InputType;
use crate::program::Function;
use crate::promise::allowance::{self, COEFFICIENT, HALF_SUBNORMAL, SUM, U};

/// Roundings of a number below f32's normal range.
const SUBNORMAL_ROUNDINGS: f64 = 8.0;
/// From here on a number is infinite in f32.
pub const INFINITE: f64 = 3.4028235677973366e38;

/// |x|, a little faster than by `hypot`.
#[inline]
pub fn modulus(x: Complex64) -> f64 {
    if x.im == 0.0 { x.re.abs() } else { x.norm_sqr().sqrt() }
}

/// A product in which real numbers stay real, also where one is infinite.
#[inline]
pub fn times(a: Complex64, b: Complex64) -> Complex64 {
    if a.im == 0.0 && b.im == 0.0 { Complex64::new(a.re * b.re, 0.0) } else { a * b }
}

/// A quotient, likewise.
pub fn divided(a: Complex64, b: Complex64) -> Complex64 {
    if a.im == 0.0 && b.im == 0.0 { Complex64::new(a.re / b.re, 0.0) } else { a / b }
}

/// A function's value, and what it may be off for an argument that is off by so much: that by its slope, twice, as a kernel may make its
/// argument in another way, and what an f32 library's function is off.
pub fn applied(function: Function, x: Complex64, error: f64) -> (Complex64, f64) {
    use Function::{
        Abs, CancellingSigmoid, Conjugate, Exp, Exp2, Geometric, ImaginaryPart, LogOfNegated, Mapped,
        NaiveSoftplus, NegatedExp, NegatedLogOfNegated, OnePlus, PartsExchanged, Phi, Power, QuickGelu,
        RealPart, Reciprocal, Relu, Resolvent, Series, SharpSoftplus, Sigmoid, Silu, Single, SlippedInverse,
        Softplus, SoftplusRest, Tanh, Unexchanged, Within,
    };
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let real = |value: f64, slope: f64, own: f64| {
        (Complex64::from(value), 2.0 * slope.abs() * error + own * value.abs())
    };
    match function {
        Exp => {
            let value = exp(x);
            (value, modulus(value) * (COEFFICIENT + modulus(x) * U + 2.0 * error))
        }
        Exp2 => applied(Exp, x * std::f64::consts::LN_2, error),
        OnePlus => (1.0 + x, error + 2.0 * SUM * (1.0 + modulus(x))),
        Phi(k) => of_phi(phi(k, x), x, error),
        Series(k, terms) => {
            let mut term = Complex64::from(1.0 / (1..=k).map(f64::from).product::<f64>());
            let (mut sum, mut size) = (Complex64::ZERO, 0.0);
            for i in 0..terms {
                sum += term;
                size += modulus(term);
                term = term * x / f64::from(i + 1 + k);
            }
            (sum, size * (COEFFICIENT + 2.0 * f64::from(terms) * U + 2.0 * error))
        }
        Geometric(alpha, terms) => {
            let share = x * alpha.value();
            let (mut term, mut sum, mut size) = (Complex64::ONE, Complex64::ZERO, 0.0);
            for k in 0..terms {
                sum += term;
                size += modulus(term)
                    * (COEFFICIENT + f64::from(k) * (U + 2.0 * error / modulus(x).max(f64::MIN_POSITIVE)));
                term *= share;
            }
            (sum, size)
        }
        // A number has no rows.
        Mapped(_) => (x, error),
        Resolvent(alpha) | Unexchanged(alpha) => {
            let share = x * alpha.value();
            let value = 1.0 / (1.0 - share);
            let size = modulus(value);
            let moved = 2.0 * error * alpha.value().abs() + U * (1.0 + modulus(share));
            (value, size * (COEFFICIENT + size * moved))
        }
        Softplus => {
            let value = if x.re > 30.0 { x.re } else { x.re.exp().ln_1p() };
            real(value, sigmoid(x.re), 2.0 * allowance::SOFTPLUS + U)
        }
        SharpSoftplus(beta) => {
            let beta = beta.value();
            let (value, error) = applied(Softplus, x * beta, error * beta);
            (value / beta, error / beta + U * value.norm() / beta)
        }
        SoftplusRest => applied(Softplus, (-x.re.abs()).into(), error),
        NaiveSoftplus => {
            let above = x.re.exp();
            if above >= INFINITE {
                return (Complex64::new(f64::INFINITY, 0.0), 0.0);
            }
            // Digits that 1 + eˣ loses of a small eˣ show in all that comes after.
            let (sum, lost) = rounded((1.0 + above).into(), above * (2.0 * error + 4.0 * U), InputType::F32);
            let value = sum.re.ln();
            (value.into(), lost / sum.re + (2.0 * allowance::SOFTPLUS + U) * value.abs())
        }
        Silu => real(x.re * sigmoid(x.re), 1.1, 2.0 * allowance::GATE),
        QuickGelu => real(x.re * sigmoid(1.702 * x.re), 1.1, 2.0 * allowance::GATE + 2.0 * x.re.abs() * U),
        LogOfNegated => {
            let value = if x.im == 0.0 { Complex64::from((-x.re).ln()) } else { (-x).ln() };
            (value, 2.0 * error / modulus(x) + COEFFICIENT * modulus(value))
        }
        NegatedLogOfNegated => {
            let (value, error) = applied(LogOfNegated, x, error);
            (-value, error)
        }
        NegatedExp => {
            let (value, error) = applied(Exp, x, error);
            (-value, error)
        }
        Sigmoid => real(sigmoid(x.re), sigmoid(x.re) * sigmoid(-x.re), 2.0 * allowance::GATE),
        CancellingSigmoid => {
            let power = sigmoid(-x.re);
            let (power, lost) = rounded(power.into(), power * (2.0 * error + 2.0 * U), InputType::F32);
            (1.0 - power, lost)
        }
        Tanh => real(x.re.tanh(), 1.0, 2.0 * allowance::GATE),
        Relu => real(if x.re < 0.0 { 0.0 } else { x.re }, 0.5, 0.0),
        Abs => (modulus(x).into(), error + U * modulus(x)),
        Reciprocal => {
            let value = if x.im == 0.0 { Complex64::from(1.0 / x.re) } else { 1.0 / x };
            let size = modulus(value);
            (value, size * (4.0 * U + 2.0 * size * error))
        }
        Single => {
            let size = modulus(x);
            match size {
                _ if size >= INFINITE => (Complex64::new(f64::INFINITY, 0.0), 0.0),
                // Half of the smallest number and less is 0.
                _ if size <= HALF_SUBNORMAL => (Complex64::ZERO, error),
                // A product of many factors is rounded in each.
                _ => (x, error + SUBNORMAL_ROUNDINGS * HALF_SUBNORMAL),
            }
        }
        Power(k, powers) => {
            let value = powers.power(x, usize::from(k));
            let size = modulus(x).powi(i32::from(k) - 1) * f64::from(k);
            (value, 2.0 * size * (2.0 * error + 4.0 * U * modulus(x)))
        }
        SlippedInverse(slip) => {
            let value = slip.of(x);
            let size = modulus(value);
            (value, size * (8.0 * U + 4.0 * error / modulus(x)))
        }
        Conjugate => (x.conj(), error),
        RealPart => (x.re.into(), error),
        ImaginaryPart => (x.im.into(), error),
        PartsExchanged => (Complex64::new(x.im, x.re), error),
        // What lies next to a limit may be on either side of it.
        Within(low, high) => {
            let [low, high] = [low, high].map(|end| end.value());
            let is_near = (x.re - low).abs() <= error || (x.re - high).abs() <= error;
            let value = f64::from(u8::from((low..=high).contains(&x.re)));
            (value.into(), f64::from(u8::from(is_near && error > 0.0)))
        }
    }
}

/// A value of a φ-function, and what it may be off: its logarithm moves by at most about 1 where its argument does.
pub fn of_phi(value: Complex64, x: Complex64, error: f64) -> (Complex64, f64) {
    (value, modulus(value) * (COEFFICIENT + U * (6.0 + modulus(x)) + 2.0 * error))
}

/// φₖ of k up to 4.
fn phi(k: u8, x: Complex64) -> Complex64 {
    let known = model::phi(x);
    match known.get(usize::from(k)) {
        Some(known) => *known,
        None if modulus(x) >= 1.0 => (known[3] - 1.0 / 6.0) / x,
        // Σ xⁱ/(i + 4)!, as [`model::phi`] has φ₃.
        None => {
            let (mut sum, mut term) = (Complex64::ZERO, Complex64::from(1.0 / 24.0));
            for i in 0..18 {
                sum += term;
                term = term * x / f64::from(i + 5);
            }
            sum
        }
    }
}

/// eˣ, without an angle where there is none.
fn exp(x: Complex64) -> Complex64 {
    if x.im == 0.0 { x.re.exp().into() } else { x.exp() }
}

/// Rounded to a type; what lies next to a tie may be rounded either way.
pub fn rounded(value: Complex64, error: f64, to: InputType) -> (Complex64, f64) {
    let part = |x: f64| {
        let round = |x: f64| f64::from(to.round(x as f32));
        let [least, value, most] = [x - error, x, x + error].map(round);
        (value, (most - value).max(value - least))
    };
    let ((re, of_re), (im, of_im)) = (part(value.re), part(value.im));
    (Complex64::new(re, im), of_re.hypot(of_im))
}
