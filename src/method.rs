//! The discretization methods: their names, ids and formulas. Nothing here computes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A discretization method, numbered as the production API's `discretization_method` (spec.md §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Method {
    /// Zero-order hold with the simplified input term that Mamba uses.
    Zoh = 0,
    /// First-order hold as the production API has it (spec.md §2; not the textbook one).
    Foh = 1,
    /// Bilinear (Tustin, trapezoidal rule).
    Bilinear = 2,
    /// Polynomial interpolation, scanned in both directions and averaged.
    Poly = 3,
    /// Higher-order hold, n = 2.
    HighOrder = 4,
    /// Exact state transition with the input term of the classical Runge–Kutta step.
    Rk4 = 5,
}

impl Method {
    /// Every method, in the order of the ids. What is laid out by method takes its length from here.
    pub const ALL: [Method; 6] =
        [Method::Zoh, Method::Foh, Method::Bilinear, Method::Poly, Method::HighOrder, Method::Rk4];

    /// The production API's number for this method.
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The production API's name for this method.
    pub fn name(self) -> &'static str {
        match self {
            Method::Zoh => "zoh",
            Method::Foh => "foh",
            Method::Bilinear => "bilinear",
            Method::Poly => "poly",
            Method::HighOrder => "highorder",
            Method::Rk4 => "rk4",
        }
    }

    /// Every name, for texts: `zoh, foh, …`.
    pub fn names() -> String {
        Method::ALL.map(Method::name).join(", ")
    }

    /// Ā as a formula in z = ΔA (spec.md §2).
    pub fn a_bar_formula(self) -> &'static str {
        match self {
            Method::Bilinear => "(I − z/2)⁻¹(I + z/2)",
            Method::Zoh | Method::Foh | Method::Poly | Method::HighOrder | Method::Rk4 => "exp(z)",
        }
    }

    /// B̄ as a formula in z = ΔA and the φ-functions (spec.md §2).
    pub fn b_bar_formula(self) -> &'static str {
        match self {
            Method::Zoh => "Δ B",
            Method::Foh => "Δ² φ₂(z) B",
            Method::Bilinear => "(I − z/2)⁻¹ Δ B",
            Method::Poly => "(Δ φ₁(z) + ½ Δ² φ₂(z)) B",
            Method::HighOrder => "(Δ φ₁(z) + Δ² φ₂(z) + ½ Δ³ φ₃(z)) B",
            Method::Rk4 => "Δ (I + z/2 + z²/6 + z³/24) B",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text names no method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown method `{0}` (hint: one of {names}, or its id 0 to {last})",
    names = Method::names(),
    last = Method::ALL.len() - 1
)]
pub struct UnknownMethod(String);

impl FromStr for Method {
    type Err = UnknownMethod;

    /// Reads a name or an id.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Method::ALL
            .into_iter()
            .find(|m| m.name() == text || m.id().to_string() == text)
            .ok_or_else(|| UnknownMethod(text.to_owned()))
    }
}
