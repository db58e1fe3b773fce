//! Decays as differences of running sums of Ā's exponent, which are kept in a narrow type.

use num_complex::Complex64;

use super::around::ExponentSums;
use super::step::Bounded;
use crate::promise::allowance::U;

/// The sum up to a position: as it is, and as it is kept.
#[derive(Clone, Copy, Default)]
pub struct ExponentSum {
    exact: f64,
    steps: f64,
    kept: Bounded,
}

impl ExponentSum {
    /// Ā of the next position, of which `a` is the right one; of real numbers.
    pub fn decay(&mut self, sums: ExponentSums, a: Bounded) -> Bounded {
        let exponent = a.value.re.ln();
        // The error that a sound kernel's exponent has, and what its logarithm has beside it.
        let error = a.error / a.value.re.abs() + U * (1.0 + exponent.abs());
        let before = self.kept;
        self.steps += 1.0;
        if sums.each {
            let step = Bounded { value: exponent.into(), error }.rounded(sums.to);
            self.exact = before.value.re + step.value.re;
            self.kept = Bounded { value: self.exact.into(), error: step.error }.rounded(sums.to);
        } else {
            self.exact += exponent;
            let error = self.steps * (error + U * self.exact.abs());
            self.kept = Bounded { value: self.exact.into(), error }.rounded(sums.to);
        }
        let value = (self.kept.value - before.value).re.exp();
        let error = value * (self.kept.error + before.error + 4.0 * U * (1.0 + self.kept.value.re.abs()));
        Bounded { value: Complex64::from(value), error }
    }
}
