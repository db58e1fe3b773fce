//! The single operations that `holdfast bench` times beside whole scans: their names, and what each of them is. Nothing here computes.

use serde::{Deserialize, Serialize};

named! {
    /// An operation, numbered in this order in `kernels/bench/operations.cuh`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[repr(u8)]
    pub enum Operation: "operation" {
        Exp => "exp": "eᶻ as the kernels have it (Ā of zoh)",
        ExpLibrary => "exp-library": "eᶻ of the compiler's own library",
        Phi1 => "phi1": "φ₁(z) as the kernels have it, in pairs of floats",
        Phi1Solve => "phi1-solve": "φ₁ of a matrix of 16 states by solving Z X = e^Z − I, with pivots",
        Inverse => "inverse": "1/(1 − z/2), which a diagonal A takes",
        InverseMatrix => "inverse-matrix": "(I − Z/2)⁻¹ of a matrix of 16 states by elimination, with pivots",
        Copy => "copy": "a copy in the device's memory",
        Read => "read": "reading the device's memory",
        Fused => "fused": "fused multiply-adds in registers",
        Special => "special": "2^x of the special-function units; on a CPU of its library",
    }
}

impl Operation {
    /// Those of one number each, which a bench shows; the others measure the device.
    pub const OF_NUMBERS: [Operation; 6] = [
        Operation::Exp,
        Operation::ExpLibrary,
        Operation::Phi1,
        Operation::Phi1Solve,
        Operation::Inverse,
        Operation::InverseMatrix,
    ];

    /// Floats that a thread takes.
    pub fn per_thread(self) -> usize {
        match self {
            Operation::Phi1Solve | Operation::InverseMatrix => 16,
            Operation::Copy | Operation::Read => 4,
            _ => 1,
        }
    }

    /// Whether it tells how its device's clock ran: two floats after its values, cycles and nanoseconds.
    pub fn tells_clock(self) -> bool {
        matches!(self, Operation::Fused | Operation::Special)
    }
}
