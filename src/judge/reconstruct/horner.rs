//! Polynomials in Horner's form, c₀ + z(c₁ + z(c₂ + …)), in which some of the products are not those of complex numbers.

use num_complex::Complex64;

use super::fit::{recognized, snapped};
use super::function::{Found, Shape};
use super::search::Samples;
use crate::program::complex::Product;

/// The highest powers: none of those below is another polynomial with one wrong product.
const DEGREES: std::ops::RangeInclusive<usize> = 2..=5;

/// Which products are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// The one whose result c₀ is added to.
    Last,
    /// That of the highest coefficient.
    First,
}

/// How a polynomial is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horner {
    product: Product,
    at: At,
}

impl Horner {
    pub fn value(self, coefficients: &[f64], z: Complex64) -> Complex64 {
        let Some((&highest, others)) = coefficients.split_last() else { return Complex64::ZERO };
        let first = others.len();
        (1..=first).fold(Complex64::from(highest), |sum, step| {
            let is_wrong = match self.at {
                At::Last => step == first,
                At::First => step == 1,
            };
            let product = if is_wrong { self.product.of(z, sum) } else { z * sum };
            product + others[first - step]
        })
    }

    /// In words.
    pub fn text(self) -> String {
        let step = match self.at {
            At::Last => "last",
            At::First => "first",
        };
        let product = match self.product {
            Product::PartByPart => "Re(z)Re(w) + i Im(z)Im(w)",
            Product::PlusInReal => "Re(z)Re(w) + Im(z)Im(w) + i Im(zw)",
            Product::OneCrossTerm => "Re(zw) + i Re(z)Im(w)",
            Product::MinusInImaginary => "Re(zw) + i(Re(z)Im(w) − Im(z)Re(w))",
            Product::InPlace => "r + i(Re(z)Im(w) + Im(z)r) with r = Re(zw)",
            Product::Moduli => "|z||w|",
            Product::Right => "zw",
        };
        format!("in Horner's form, whose {step} product z·w is {product}")
    }
}

impl Samples<'_> {
    /// A polynomial with simple coefficients and one wrong product.
    pub fn nested(&self) -> Option<Found> {
        // A modulus is no linear function of what is multiplied.
        let kinds = Product::WRONG
            .into_iter()
            .filter(|product| *product != Product::Moduli)
            .flat_map(|product| [At::Last, At::First].map(|at| Horner { product, at }));
        let all = DEGREES.flat_map(|degree| kinds.clone().map(move |horner| (degree, horner)));
        all.into_iter().find_map(|(degree, horner)| {
            let column = |k: usize| {
                let mut one = vec![0.0; degree + 1];
                one[k] = 1.0;
                self.column(|z| horner.value(&one, z))
            };
            let columns: Vec<_> = (0..=degree).map(column).collect();
            let found = self.factors(&columns)?;
            let found: Vec<f64> = found.into_iter().map(snapped).collect();
            // The highest power has a coefficient, and what is there is simple.
            let is_simple = |c: &f64| c.abs() < 1e-9 || recognized(*c).is_some();
            if !found.iter().all(is_simple) || found[degree].abs() < 1e-9 {
                return None;
            }
            let found = found.into_iter().map(|c| if c.abs() < 1e-9 { 0.0 } else { c }).collect();
            self.accepted(Found::plain(Shape::Nested(found, horner)))
        })
    }
}
