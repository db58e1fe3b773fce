//! Promise of a kernel of dense systems: how it computes Ā and B̄, of which [`crate::judge::dense`] makes bounds.

use super::allowance::{HALF_SUBNORMAL, U};

/// Elimination with partial pivoting, and scaling and squaring, in an arithmetic. What comes out is rounded to f32 once more.
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
}

impl DensePromise {
    /// The kernels of `kernels/dense.cu`, which compute in double.
    pub const ACCURATE: DensePromise =
        DensePromise { unit: f64::EPSILON / 2.0, underflow: 5e-324, rounds_z: false, norm: 1.0 };

    /// Fast ones, which compute in f32.
    pub const FAST: DensePromise =
        DensePromise { unit: U, underflow: HALF_SUBNORMAL, rounds_z: true, norm: 2.0 };

    /// Blocks of three terms that the series has, and its degree (`kernels/dense.cu`).
    pub const BLOCKS: u32 = 5;
    pub const DEGREE: u32 = 3 * DensePromise::BLOCKS;
}
