//! Sizes and storage types of a selective scan's tensors (spec.md §3).

use serde::{Deserialize, Serialize};

/// The sizes of a selective scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    pub batch: usize,
    pub dim: usize,
    /// State size N, at most [`Shape::MAX_DSTATE`].
    pub dstate: usize,
    pub seqlen: usize,
    /// Groups that share a variable B or C; divides `dim`.
    pub groups: usize,
}

impl Shape {
    /// The largest state size that the kernels accept (spec.md §3).
    pub const MAX_DSTATE: usize = 256;

    /// Elements of u, delta, z and out.
    pub fn sequence_len(&self) -> usize {
        self.batch * self.dim * self.seqlen
    }

    /// Floats of B or C, laid out so; of A as of a constant one.
    pub fn operand_len(&self, operand: Operand, weights: Weights) -> usize {
        match operand {
            Operand::Constant => self.dim * self.dstate * weights.width(),
            Operand::Variable => self.batch * self.groups * self.dstate * self.seqlen * weights.width(),
        }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "b{} d{} n{} l{}", self.batch, self.dim, self.dstate, self.seqlen)?;
        if self.groups != 1 {
            write!(f, " g{}", self.groups)?;
        }
        Ok(())
    }
}

named! {
    /// Whether A, B and C are real (f32) or complex (two f32).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Weights: "value" {
        Real => "real",
        Complex => "complex",
    }
}

impl Weights {
    /// Floats that one weight takes.
    #[inline]
    pub fn width(self) -> usize {
        match self {
            Weights::Real => 1,
            Weights::Complex => 2,
        }
    }
}

named! {
    /// Whether B (or C) is one value per (channel, state), or varies along the sequence.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Operand: "value" {
        Constant => "constant",
        Variable => "variable",
    }
}
