//! By what complex divisions divide, and how a reciprocal is put together wrongly of the parts of a number.

use num_complex::Complex64;

use crate::formula::Fraction;

/// By what a complex division divides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Divisor {
    Z,
    /// z²
    Square,
    /// z³
    Cube,
    /// 1 − αz
    Pole(Fraction),
}

impl Divisor {
    pub fn of(self, z: Complex64) -> Complex64 {
        match self {
            Divisor::Z => z,
            Divisor::Square => z * z,
            Divisor::Cube => z * z * z,
            Divisor::Pole(alpha) => 1.0 - z * alpha.value(),
        }
    }
}

/// How 1/w is formed of the parts of w: something above, where conj(w) belongs, and something below, where |w|² belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slip {
    pub above: usize,
    pub below: usize,
}

/// A text in w, and its value.
type OfW<T> = (&'static str, fn(Complex64) -> T);

/// What may stand where conj(w) belongs, which is the first.
pub const ABOVE: [OfW<Complex64>; 4] =
    [("conj(w)", |w| w.conj()), ("w", |w| w), ("Re w", |w| w.re.into()), ("1", |_| Complex64::ONE)];

/// What may stand where |w|² belongs, which is the first.
pub const BELOW: [OfW<f64>; 8] = [
    ("|w|²", |w| w.norm_sqr()),
    ("Re(w)² − Im(w)²", |w| w.re * w.re - w.im * w.im),
    ("|w|", |w| w.norm()),
    ("Re(w)²", |w| w.re * w.re),
    ("Im(w)²", |w| w.im * w.im),
    ("(Re w + Im w)²", |w| (w.re + w.im) * (w.re + w.im)),
    ("Re w + Im w", |w| w.re + w.im),
    ("1", |_| 1.0),
];

impl Slip {
    pub fn of(self, w: Complex64) -> Complex64 {
        (ABOVE[self.above].1)(w) / (BELOW[self.below].1)(w)
    }

    /// All but the right one.
    pub fn all() -> impl Iterator<Item = Slip> {
        let all = (0..BELOW.len()).flat_map(|below| (0..ABOVE.len()).map(move |above| Slip { above, below }));
        all.skip(1)
    }
}
