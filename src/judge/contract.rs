//! What a kernel promises of its coefficients: the part of every bound that the kernel's author decides.

use super::allowance::U;
use crate::method::Method;
use crate::problem::Weights;

/// How far a sound kernel's Ā and B̄ may be from those of the specification, for exactly given Δ, A and B.
///
/// Relative (normwise for complex weights) and in units of the unit roundoff u, after what the kernel's own
/// roundings of z = ΔA cost by the conditioning of each formula ([`super::model::step`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contract {
    /// Ā, by method id, for real and for complex weights.
    pub a_bar: [[f64; 2]; 6],
    /// B̄, likewise.
    pub b_bar: [[f64; 2]; 6],
    /// How often z is rounded, by u each, before anything is computed of it: 0 where it is kept exact, 1 for a
    /// plain product ΔA, one more for each further factor (log₂e ahead of a base-2 exponential, say).
    pub z_roundings: f64,
}

impl Contract {
    /// The kernels of `kernels/`. One ulp is at most 2u of the value, so 4 ulp are 8u; this leaves room for one
    /// exponential (libm's is within 1 ulp on CPUs and GPUs), the φ-functions made of it, and three products with
    /// Δ and B.
    pub const PRODUCTION: Contract = Contract::uniform(8.0, 1.0);

    /// Headers of other people, for what they are usually made of: plain f32 and an exponential to base 2. The same
    /// 8u once z is given, but z is rounded three times: log₂e as an f32 (half an ulp, at most u), its product with A
    /// or with z, and the product with Δ. A formula that amplifies these by more than the conditioning of Ā and B̄
    /// themselves, by subtracting what nearly cancels, has no allowance for it.
    pub const FOREIGN: Contract = Contract::uniform(8.0, 3.0);

    /// The same `units` for every method and weight type.
    pub const fn uniform(units: f64, z_roundings: f64) -> Self {
        Contract { a_bar: [[units; 2]; 6], b_bar: [[units; 2]; 6], z_roundings }
    }

    /// The relative error that Ā may have.
    pub fn a_bar_error(&self, method: Method, weights: Weights) -> f64 {
        self.a_bar[usize::from(method.id())][weights.width() - 1] * U
    }

    /// The relative error that B̄ may have.
    pub fn b_bar_error(&self, method: Method, weights: Weights) -> f64 {
        self.b_bar[usize::from(method.id())][weights.width() - 1] * U
    }

    /// The relative error of z that the kernel's own roundings of it cost.
    pub fn z_error(&self) -> f64 {
        self.z_roundings * U
    }
}
