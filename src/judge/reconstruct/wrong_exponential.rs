//! Closed forms of φ-functions whose exponential is put together of wrong parts: exp(Re z)(cos(Im z) + i sin(Im z)) with a factor
//! that is missing, or with another function in its place.

use num_complex::Complex64;

use super::fit::{TOLERANCE, residual};
use super::function::{Found, Piece, Shape};
use super::search::Samples;
use crate::formula::Function;

/// What each part of exp(z) may be: a text, and its value. The right ones are the first of each.
type OfZ = (&'static str, fn(Complex64) -> f64);

const REAL: [OfZ; 5] = [
    ("Re exp(z)", |z| z.re.exp() * z.im.cos()),
    ("cos(Im z)", |z| z.im.cos()),
    ("Im exp(z)", |z| z.re.exp() * z.im.sin()),
    ("exp(Re z)", |z| z.re.exp()),
    ("1", |_| 1.0),
];
const IMAGINARY: [OfZ; 6] = [
    ("Im exp(z)", |z| z.re.exp() * z.im.sin()),
    ("sin(Im z)", |z| z.im.sin()),
    ("Re exp(z)", |z| z.re.exp() * z.im.cos()),
    ("exp(Re z) Im z", |z| z.re.exp() * z.im),
    ("Im z", |z| z.im),
    ("0", |_| 0.0),
];

/// What rounding leaves of a factor that is 0.
const NOTHING: f64 = 1e-7;

/// An exponential with a wrong part, or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongExponential {
    real: usize,
    imaginary: usize,
}

impl WrongExponential {
    /// All but the right one.
    pub fn all() -> impl Iterator<Item = WrongExponential> {
        let all = (0..REAL.len())
            .flat_map(|real| (0..IMAGINARY.len()).map(move |imaginary| WrongExponential { real, imaginary }));
        all.skip(1)
    }

    pub fn value(self, z: Complex64) -> Complex64 {
        Complex64::new((REAL[self.real].1)(z), (IMAGINARY[self.imaginary].1)(z))
    }

    pub fn text(self) -> String {
        match (REAL[self.real].0, IMAGINARY[self.imaginary].0) {
            (real, "0") => format!("({real})"),
            (real, imaginary) => format!("({real} + i {imaginary})"),
        }
    }
}

impl Samples<'_> {
    /// An exponential, right or not, with powers of z up to the second beside it, over a power of z.
    pub fn closed_forms(&self, complex: bool) -> Option<Found> {
        let right = [Piece::Of(Function::Phi(0))].into_iter();
        let wrong = WrongExponential::all().map(Piece::ExpOf).filter(|_| complex);
        right.chain(wrong).find_map(|exponential| {
            let powers = [0, 1, 2].map(|k| Piece::Of(Function::Power(k)));
            let pieces = [&[exponential], &powers[..]].concat();
            (1..=3).find_map(|k| {
                let column = |piece: &Piece| self.column(|z| piece.value(z) / z.powu(k));
                let columns: Vec<_> = pieces.iter().map(column).collect();
                // All of them say whether it is worth a fit of fewer.
                let found = self.factors(&columns)?;
                let at = |i: usize| {
                    columns.iter().zip(&found).map(|(column, c)| column[i] * *c).sum::<Complex64>()
                };
                let model: Vec<Complex64> = (0..self.z.len()).map(at).collect();
                if residual(&model, self.values, &self.scales) > TOLERANCE {
                    return None;
                }
                let chosen: Vec<usize> = (0..pieces.len()).filter(|&i| found[i].abs() > NOTHING).collect();
                let shape = |found: Vec<(f64, usize)>| {
                    Shape::Over(
                        found.into_iter().map(|(factor, i)| (factor, pieces[i])).collect(),
                        k as usize,
                    )
                };
                // Powers alone are another formula.
                if chosen.contains(&0) { self.sum_of(&columns, &chosen, shape) } else { None }
            })
        })
    }
}
