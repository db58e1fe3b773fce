//! Promise of an implementation of dense systems: how it computes Ā and B̄, of which [`crate::judge::dense`] makes bounds.

use super::allowance::{HALF_SUBNORMAL, U};
use crate::problem::Weights;

/// Elimination with partial pivoting, and scaling and squaring, in an arithmetic. What comes out is rounded on store once more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DensePromise {
    /// The unit roundoff of the arithmetic.
    pub unit: f64,
    /// Error of a rounding that underflows.
    pub underflow: f64,
    /// Whether z = ΔA is rounded. In double the product of two floats is exact.
    pub rounds_z: bool,
    /// The ∞-norm from which z is halved once more before the series of e^x.
    pub norm: f64,
    /// Degree of that series.
    pub degree: u32,
    /// Whether it is known how it computes. Otherwise a quotient is allowed what any of inverses and solves leaves.
    pub is_known: bool,
}

impl DensePromise {
    /// The kernels of `kernels/dense_step.cuh`, which compute in double.
    pub const ACCURATE: DensePromise = DensePromise {
        unit: f64::EPSILON / 2.0,
        underflow: 5e-324,
        rounds_z: false,
        norm: 1.0,
        degree: 15,
        is_known: true,
    };

    /// Fast ones, which compute in f32.
    pub const FAST: DensePromise = DensePromise {
        unit: U,
        underflow: HALF_SUBNORMAL,
        rounds_z: true,
        norm: 2.0,
        ..DensePromise::ACCURATE
    };

    /// Implementations of others, in f32. Of a series of that degree the rest is below 2⁻⁵³, as of approximants in use.
    pub const SINGLE: DensePromise =
        DensePromise { norm: 1.0, degree: 18, is_known: false, ..DensePromise::FAST };

    /// Implementations of others, in double.
    pub const DOUBLE: DensePromise =
        DensePromise { rounds_z: true, degree: 18, is_known: false, ..DensePromise::ACCURATE };

    /// Roundings of a product of matrices of n states, for the moduli of its factors: complex ones have 2n in each part.
    pub fn gamma(&self, weights: Weights, n: usize) -> f64 {
        let factor = if weights == Weights::Complex { 2.0 * std::f64::consts::SQRT_2 } else { 1.0 };
        factor * n as f64 * self.unit
    }

    /// Rest of the series of e^θ beyond the degree.
    pub fn remainder(&self, theta: f64) -> f64 {
        let first = (1..=self.degree + 1).fold(1.0, |term, k| term * theta / f64::from(k));
        // The terms after it fall faster than these.
        first * (theta / f64::from(self.degree)).exp() * (1.0 + theta)
    }
}
