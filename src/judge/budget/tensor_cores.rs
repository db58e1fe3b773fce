//! Products on tensor cores, and what they are off.
//!
//! A scan that is stated to have operands of a narrower type ([`crate::problem::stages`]) has, as mamba_ssm's kernels, for each block of
//! positions with s the running sums of z and x the state before it
//!
//! ```text
//! y_l = Σ_{k≤l} r(r(C_l)·r(B_k) e^{s_l−s_k} Δ_k) r(u_k) + e^{s_l} r(C_l)·r(x)        x ← e^s x + Σ_k r(B_k e^{s−s_k} Δ_k) r(u_k)
//! ```
//!
//! or Δ with u, and decays with other operands: r rounds to ε of it. Whatever the block of a term, it passes two products, of two operands
//! each: four roundings until y, two until a state that is kept (an initial state none there, and two until y, which is not told apart). A
//! score or a state that is rounded is a sum of terms, and off by at most ε of theirs. So y is off by ((1 + ε)⁴ − 1) Σ|Cₙ|M̂ₙ, a state by
//! ((1 + ε)² − 1) M̂. Sums are in f32, but in any order, and tensor cores may cut bits off: a term passes at most all the others of its block
//! and of the states, twice, 2u each. Where an operand underflows, by η, it takes with it what it is multiplied by, also before a decay: no
//! more than Σₖ g(1 + |uₖ|)(1 + |Δₖ|(1 + Σ|Bₙ|) + Σ|B̄ₙ|) times 1 + Σ|Cₙ|, and M̂ₙ; g are products of the largest |Ā| where they grow. All
//! of it is judged by as it stands, and none is taken as random: one rounding is in the terms of a whole row, and λ times what such rows come
//! to is hardly less for the states and positions of a block.

use crate::problem::stages::Rounding;

/// A scan whose products have operands of a narrower type.
#[derive(Clone, Copy)]
pub struct TensorCores {
    pub operands: Rounding,
    /// What additions of f32 come to, in whatever order.
    pub additions: f64,
}

impl TensorCores {
    /// Error after so many roundings of operands, of terms of this size, with what is lost where one underflows.
    pub fn error(self, roundings: i32, terms: f64, lost: f64) -> f64 {
        let grown = (1.0 + self.operands.unit).powi(roundings);
        // At most twice for each of four operands, and for what is rounded later.
        (grown * (1.0 + self.additions) - 1.0) * terms + 8.0 * self.operands.underflow * lost
    }
}
