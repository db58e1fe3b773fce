//! Ā and B̄ of a [`Variant`], in f64: accurate to 1e-12 wherever an f32 kernel's result means anything.

use num_complex::Complex64;

use super::variant::{BUse, Inverse, Power, Sum, Variant};
use crate::formula::{Form, Fraction, Function, OFFSETS, Term, Transition};
use crate::judge::model;
use crate::method::Method;
use crate::promise::allowance::{COEFFICIENT, U};

/// A value and a bound on what a sound f32 computation of the same formula may be off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounded {
    pub value: Complex64,
    pub error: f64,
}

/// B̄u = (first·u + higher·u′ + neighbour·u″)·B: u′ is u unless a fault drops it, u″ the input at
/// `offset` positions from here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    pub first: Complex64,
    pub higher: Complex64,
    pub neighbour: Complex64,
    pub offset: isize,
    /// Relative to the sum of the terms' moduli.
    pub error: f64,
}

impl Power {
    /// What takes the place of `delta`.
    pub fn of(self, delta: f64) -> f64 {
        match self {
            Power::One => delta,
            Power::Missing => 1.0,
            Power::Doubled => 2.0 * delta,
            Power::Squared => delta * delta,
        }
    }
}

/// |x|, a little faster than by `hypot`: squares of what f32 can hold are far from the limits of f64.
#[inline]
pub fn modulus(x: Complex64) -> f64 {
    if x.im == 0.0 { x.re.abs() } else { x.norm_sqr().sqrt() }
}

/// How much a relative change of z moves (1 ± αz)⁻¹, relative.
#[inline]
fn conditioning(alpha: Fraction, z: Complex64) -> f64 {
    let share = z * alpha.value();
    modulus(share) * (1.0 / modulus(1.0 - share) + 1.0 / modulus(1.0 + share))
}

/// Ā for the step `delta`, known to `delta_error`.
///
/// The bound is the contract on coefficients plus the conditioning of the formula for a z that is off by
/// `delta_error` and one rounding, to first order ([`crate::judge::model::step`] has the derivation).
pub fn a_bar(variant: &Variant, delta: f64, delta_error: f64, a: Complex64) -> Bounded {
    let z = a * variant.a_bar_delta.of(delta);
    let theta = U + 2.0 * delta_error;
    let (value, relative) = match variant.a_bar.formula().a_bar {
        Transition::Quotient(alpha) => {
            let (above, below) = (1.0 + z * alpha.complement().value(), 1.0 - z * alpha.value());
            let value = match variant.a_bar_inverse {
                Inverse::Right => above / below,
                Inverse::WrongFactor => below / above,
                Inverse::None => above,
            };
            (value, conditioning(alpha, z))
        }
        Transition::Polynomial(factors) => {
            let value: Complex64 = (0..).zip(factors).map(|(k, c)| z.powu(k) * c.value()).sum();
            // Cancellation: the terms' moduli, and their changes with z, against their sum.
            let term = |(k, c): (i32, &Fraction)| f64::from(k + 1) * c.value().abs() * modulus(z).powi(k);
            let size: f64 = (0..).zip(factors).map(term).sum();
            (value, size / modulus(value).max(f64::MIN_POSITIVE))
        }
        Transition::Exponential => {
            let exponent = Complex64::new(z.re * variant.exponent.0, z.im * variant.exponent.1);
            (exp(exponent), modulus(exponent))
        }
    };
    Bounded { value, error: modulus(value) * (COEFFICIENT + relative * theta) }
}

/// The terms of B̄/B for the step `delta`, known to `delta_error`.
pub fn terms(variant: &Variant, delta: f64, delta_error: f64, a: Complex64) -> Terms {
    let z = a * delta;
    let mut phis = model::phi(z);
    let (form, formula) = (variant.b_bar, variant.b_bar.formula());
    if let Some(count) = variant.taylor {
        phis[1..].iter_mut().zip(1..).for_each(|(phi, k)| *phi = series(z, k, count));
    }
    let cut = variant.taylor.map_or(usize::MAX, |count| count as usize);
    let function = |of| match (of, variant.b_bar_inverse) {
        (Function::Power(k), _) if k >= cut => Complex64::ZERO,
        (Function::Resolvent(alpha), Inverse::WrongFactor) => 1.0 / (1.0 + z * alpha.value()),
        (Function::Resolvent(_), Inverse::None) => Complex64::ONE,
        _ => model::function(of, z, &phis),
    };
    let value = |term: &Term| {
        let changed = variant.sum.change(form, *term);
        changed.map_or(Complex64::ZERO, |t| function(t.of) * (t.factor.value() * power(delta, t.delta)))
    };
    let mut t = Terms { offset: -1, ..Terms::default() };
    for term in formula.now() {
        let higher = term.order() > formula.leading_order();
        *if higher { &mut t.higher } else { &mut t.first } += value(term);
    }
    for (terms, offset) in formula.b_bar.into_iter().zip(OFFSETS).skip(1).filter(|(t, _)| !t.is_empty()) {
        (t.neighbour, t.offset) = (terms.iter().map(value).sum(), offset);
    }
    let factor = match variant.b_bar_delta {
        Power::One => 1.0,
        Power::Missing if delta == 0.0 => 0.0,
        Power::Missing => 1.0 / delta,
        Power::Doubled => 2.0,
        Power::Squared => delta,
    };
    for term in [&mut t.first, &mut t.higher, &mut t.neighbour] {
        *term *= factor;
    }
    // Relative to the sum of the terms' moduli: powers of Δ up to the sixth, and a φ whose logarithm moves by at most about |z| + 3 times
    // that of z.
    let pole = formula.pole().unwrap_or(Fraction::HALF);
    t.error = COEFFICIENT + (U + delta_error) * (9.0 + modulus(z) + conditioning(pole, z));
    t
}

/// eᶻ, without an angle where there is none.
fn exp(z: Complex64) -> Complex64 {
    let size = z.re.exp();
    if z.im == 0.0 && size.is_finite() { Complex64::new(size, z.im) } else { z.exp() }
}

/// Σ_{i < terms} zⁱ/(i + k)!, φₖ's own series
fn series(z: Complex64, k: u32, terms: u32) -> Complex64 {
    let mut term = Complex64::from(1.0 / (1..=k).map(f64::from).product::<f64>());
    let mut sum = Complex64::ZERO;
    for i in 0..terms {
        sum += term;
        term *= z / f64::from(i + 1 + k);
    }
    sum
}

/// xᵏ, as `powi` has it: the powers that Δ has are products.
#[inline]
fn power(x: f64, k: i32) -> f64 {
    match k {
        1 => x,
        2 => x * x,
        3 => x * (x * x),
        k => x.powi(k),
    }
}

impl Sum {
    /// A term of B̄ as it is summed; none where it is left out.
    #[inline]
    pub fn change(self, form: Form, term: Term) -> Option<Term> {
        if self == Sum::Right { Some(term) } else { self.wrong(form, term) }
    }

    fn wrong(self, form: Form, term: Term) -> Option<Term> {
        let poly = form == Form::Method(Method::Poly);
        let high_order = form == Form::Method(Method::HighOrder);
        Some(match (self, term.of, term.delta) {
            (Sum::Cut(i), Function::Phi(k), _) if high_order && k > i as usize + 1 => return None,
            (Sum::WithoutFactorials, ..) if high_order => Term { factor: Fraction::ONE, ..term },
            (Sum::PolyShare(share), Function::Phi(2), _) if poly => Term { factor: share, ..term },
            (Sum::Powers(delta, _), Function::Phi(2), 2) | (Sum::Powers(_, delta), Function::Phi(3), 3) => {
                Term { delta, ..term }
            }
            _ => term,
        })
    }
}

/// B as it is applied.
#[inline]
pub fn used(b_use: BUse, b: Complex64) -> Complex64 {
    match b_use {
        BUse::Once => b,
        BUse::Twice => b * b,
        BUse::Never => Complex64::ONE,
        BUse::Conjugated => b.conj(),
    }
}
