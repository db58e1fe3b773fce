//! Closed forms of φ-functions with wrong numbers in them: φₖ = (a eᶻ − Σ_{i<k} cᵢ zⁱ)/zᵏ, where a = 1 and cᵢ = 1/i!.

use num_complex::Complex64;

use super::step::modulus;
use crate::formula::{Fraction, Term};
use crate::judge::lanes::INVERSE_FACTORIALS;
use crate::promise::allowance::U;

/// The highest φₖ.
pub const PHIS: usize = 3;
/// Roundings of an exponential, of a sum of four terms, and of powers of z.
const ROUNDINGS: f64 = 12.0;

/// What the numerator of each φₖ, from φ₁ on, has beside what it should have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartialSums {
    /// Of eᶻ.
    pub of_exponential: [Fraction; PHIS],
    /// Of zⁱ, as it is added.
    pub of_powers: [[Fraction; PHIS]; PHIS],
}

impl PartialSums {
    pub const RIGHT: PartialSums =
        PartialSums { of_exponential: [Fraction(0, 1); PHIS], of_powers: [[Fraction(0, 1); PHIS]; PHIS] };

    /// Whether φₖ has anything else than it should have.
    pub fn changes(&self, k: usize) -> bool {
        let is_zero = |fraction: &Fraction| fraction.0 == 0;
        !is_zero(&self.of_exponential[k - 1]) || !self.of_powers[k - 1].iter().all(is_zero)
    }

    /// cᵢ of φₖ.
    pub fn coefficient(&self, k: usize, i: usize) -> f64 {
        INVERSE_FACTORIALS[i] - self.of_powers[k - 1][i].value()
    }

    /// What is added to φₖ.
    pub fn added(&self, k: usize, z: Complex64, exponential: Complex64) -> Complex64 {
        let powers = self.of_powers[k - 1].iter().enumerate();
        let sum: Complex64 =
            powers.filter(|(_, c)| c.0 != 0).map(|(i, c)| z.powu(i as u32) * c.value()).sum();
        (sum + exponential * self.of_exponential[k - 1].value()) / z.powu(k as u32)
    }

    /// What f32 may lose of a term of B̄ where its φₖ is computed as it stands: the difference cancels near 0.
    pub fn lost(&self, term: &Term, k: usize, delta: f64, (z, exponential): (Complex64, Complex64)) -> f64 {
        let size = modulus(z);
        let of_power = |i: usize| self.coefficient(k, i).abs() * size.powi(i as i32);
        let terms = modulus(exponential) * (1.0 + self.of_exponential[k - 1].value()).abs()
            + (0..k).map(of_power).sum::<f64>();
        ROUNDINGS * U * terms / size.powi(k as i32) * (term.factor.value() * delta.powi(term.delta)).abs()
    }
}
