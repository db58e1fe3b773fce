//! By what complex divisions divide.

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
