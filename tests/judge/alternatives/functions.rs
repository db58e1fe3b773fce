//! Functions that scans are made of, each written from its definition.

use std::f64::consts::{FRAC_2_SQRT_PI, PI, SQRT_2};

use holdfast::judge::faults::around::{Activation, Finish, GateFunction};
use holdfast::judge::faults::complex::{Division, OfComplex, Powers, Product};
use holdfast::judge::faults::variant::Clamp;
use holdfast::problem::InputType;
use num_complex::Complex64;

pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

pub fn silu(x: f64) -> f64 {
    x * sigmoid(x)
}

pub fn softplus(x: f64) -> f64 {
    if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

pub fn factorial(n: usize) -> f64 {
    (1..=n).map(|i| i as f64).product()
}

/// Its Taylor series, for arguments that are not large.
fn erf(x: f64) -> f64 {
    let term =
        |n: usize| (-1f64).powi(n as i32) * x.powi(2 * n as i32 + 1) / factorial(n) / (2 * n + 1) as f64;
    FRAC_2_SQRT_PI * (0..60).map(term).sum::<f64>()
}

/// A number in this type; f32 stands for no rounding.
pub fn rounded(to: InputType, x: f64) -> f64 {
    if to == InputType::F32 { x } else { f64::from(to.round(x as f32)) }
}

/// The same of both parts.
pub fn both_rounded(to: InputType, x: Complex64) -> Complex64 {
    Complex64::new(rounded(to, x.re), rounded(to, x.im))
}

/// The next number of a 16-bit type towards 0.
pub fn cut_off(to: InputType, x: f64) -> f64 {
    let below = |bits: u16, value: fn(u16) -> f64| {
        let nearest = value(bits);
        if nearest.abs() > x.abs() { value(bits - 1) } else { nearest }
    };
    match to {
        InputType::F32 => x,
        InputType::F16 => below(half::f16::from_f64(x).to_bits(), |bits| half::f16::from_bits(bits).to_f64()),
        InputType::Bf16 => {
            below(half::bf16::from_f64(x).to_bits(), |bits| half::bf16::from_bits(bits).to_f64())
        }
    }
}

/// What stands for softplus; `stated` says whether the problem has it.
pub fn activation(activation: Activation, stated: bool, x: f64) -> f64 {
    match activation {
        Activation::Stated if stated => softplus(x),
        Activation::Stated | Activation::None => x,
        Activation::Softplus { above, .. } if x > above => x,
        Activation::Softplus { beta, .. } => softplus(beta * x) / beta,
        // As f32 has it: e^x is infinite above 88.7.
        Activation::Naive if x.exp() > f64::from(f32::MAX) => f64::INFINITY,
        Activation::Naive => softplus(x),
        Activation::Exp => x.exp(),
        Activation::Relu => x.max(0.0),
        Activation::Sigmoid => sigmoid(x),
        Activation::Silu => silu(x),
        Activation::Square => x * x,
        Activation::Abs => x.abs(),
        Activation::LogOfSquare => (1.0 + x * x).ln(),
    }
}

pub fn clamped(clamp: Clamp, x: f64) -> f64 {
    match clamp {
        Clamp::None => x,
        Clamp::AtMost(most) => x.min(most),
        Clamp::AtLeast(least) => x.max(least),
        Clamp::Between(least, most) => x.max(least).min(most),
        Clamp::ZeroBelow(guard) => {
            if x.abs() < guard {
                0.0
            } else {
                x
            }
        }
    }
}

/// What multiplies y.
pub fn gate(function: GateFunction, z: f64, u: f64, y: f64) -> f64 {
    match function {
        GateFunction::Silu => silu(z),
        GateFunction::One => 1.0,
        GateFunction::SiluSquared => silu(z) * silu(z),
        GateFunction::Sigmoid => sigmoid(z),
        GateFunction::Linear => z,
        GateFunction::Gelu => z * (1.0 + erf(z / SQRT_2)) / 2.0,
        GateFunction::GeluByTanh => z / 2.0 * (1.0 + ((2.0 / PI).sqrt() * (z + 0.044715 * z.powi(3))).tanh()),
        GateFunction::Relu => z.max(0.0),
        GateFunction::Tanh => z.tanh(),
        GateFunction::Softplus => softplus(z),
        GateFunction::Swish(beta) => z * sigmoid(beta * z),
        GateFunction::OfOutput => z * sigmoid(y),
        GateFunction::OfU => silu(u),
        GateFunction::Negated => silu(-z),
        GateFunction::PlusOne => 1.0 + silu(z),
        GateFunction::HardSwish => z * (z + 3.0).clamp(0.0, 6.0) / 6.0,
        GateFunction::Elu => {
            if z > 0.0 {
                z
            } else {
                z.exp() - 1.0
            }
        }
        GateFunction::Exp => z.exp(),
    }
}

pub fn finish(finish: Finish, x: f64) -> f64 {
    match finish {
        Finish::Given => x,
        Finish::Tanh => x.tanh(),
        Finish::Relu => x.max(0.0),
        Finish::Silu => silu(x),
        Finish::Sigmoid => sigmoid(x),
        Finish::Clipped(c) => x.max(-c).min(c),
    }
}

pub fn of_complex(of: OfComplex, x: Complex64) -> Complex64 {
    match of {
        OfComplex::Given => x,
        OfComplex::Conjugated => Complex64::new(x.re, -x.im),
        OfComplex::RealPart => Complex64::new(x.re, 0.0),
        OfComplex::ImaginaryPart => Complex64::new(x.im, 0.0),
        OfComplex::Modulus => Complex64::new(x.re.hypot(x.im), 0.0),
        OfComplex::Exchanged => Complex64::new(x.im, x.re),
    }
}

/// p x + added, where x is what is overwritten part by part.
pub fn product(product: Product, p: Complex64, x: Complex64, added: Complex64) -> Complex64 {
    let (a, b, c, d) = (p.re, p.im, x.re, x.im);
    let right = a * c - b * d;
    let value = match product {
        Product::Right => p * x,
        Product::PlusInReal => Complex64::new(a * c + b * d, a * d + b * c),
        Product::MinusInImaginary => Complex64::new(right, a * d - b * c),
        Product::PartByPart => Complex64::new(a * c, b * d),
        Product::OneCrossTerm => Complex64::new(right, a * d),
        Product::Moduli => Complex64::new(a.hypot(b) * c.hypot(d), 0.0),
        Product::InPlace => Complex64::new(right, a * d + b * right),
        Product::InPlaceAdded => Complex64::new(right, a * d + b * (right + added.re)),
    };
    value + added
}

/// zᵏ by products that may be wrong.
pub fn power(powers: Powers, z: Complex64, k: usize) -> Complex64 {
    let mut value = Complex64::ONE;
    for i in 1..=k {
        let of = if i == 2 || i > 2 && powers.again { powers.product } else { Product::Right };
        value = if i == 1 { z } else { product(of, value, z, Complex64::ZERO) };
    }
    value
}

/// What is taken for 1/w.
pub fn reciprocal(division: Division, w: Complex64) -> Result<Complex64, &'static str> {
    Ok(match division {
        Division::Right => 1.0 / w,
        Division::ByConjugate => w / w.norm_sqr(),
        Division::ByModulus => Complex64::from(1.0 / w.norm()),
        Division::ByRealPart => Complex64::from(1.0 / w.re),
        Division::TimesConjugate => w.conj(),
        Division::ByUnit => w.conj() / w.norm(),
        Division::Guarded(_) | Division::GuardedStep(_) => return Err("divisions that are guarded"),
    })
}

/// φₖ: its series near 0, its recurrence elsewhere.
pub fn phi(k: usize, z: Complex64) -> Complex64 {
    if k == 0 {
        z.exp()
    } else if z.norm() < 2.0 {
        phi_series(k, z, 40)
    } else {
        (phi(k - 1, z) - 1.0 / factorial(k - 1)) / z
    }
}

/// The first terms of the series of φₖ.
pub fn phi_series(k: usize, z: Complex64, terms: usize) -> Complex64 {
    (0..terms).map(|j| z.powu(j as u32) / factorial(j + k)).sum()
}

/// Both parts within limits.
pub fn limited((least, most): (f64, f64), x: Complex64) -> Complex64 {
    let part = |x: f64| {
        if x < least {
            least
        } else if x > most {
            most
        } else {
            x
        }
    };
    Complex64::new(part(x.re), if x.im == 0.0 { 0.0 } else { part(x.im) })
}
