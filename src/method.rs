//! The discretization methods: their names, ids and formulas. Nothing here computes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A discretization method, numbered as the production API's `discretization_method` (spec.md §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
// A list of the variants that nobody has to keep, for the test of ALL.
#[cfg_attr(test, derive(clap::ValueEnum))]
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

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn all_has_every_method_at_its_id() {
        assert_eq!(Method::value_variants(), Method::ALL);
        for (i, method) in Method::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(method.id()), i, "{method}");
        }
    }

    /// `results.json`, recorded tensors and the command line know a method by one and the same name.
    #[test]
    fn names_and_ids_are_read_back_and_serialized_alike() {
        for method in Method::ALL {
            assert_eq!(method.name().parse(), Ok(method));
            assert_eq!(method.id().to_string().parse(), Ok(method));
            assert_eq!(serde_json::to_value(method).expect("a unit variant"), method.name());
        }
    }

    /// spec.md §2 has a row for each method, with its id, its name and the direction of its scan, and no other.
    #[test]
    fn the_specification_has_a_row_for_every_method() {
        let rows: Vec<Vec<&str>> = include_str!("spec.md")
            .lines()
            .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
            .filter(|cells| cells.len() > 2 && cells[1].parse::<u8>().is_ok())
            .collect();
        assert_eq!(rows.len(), Method::ALL.len());
        for (method, row) in Method::ALL.into_iter().zip(rows) {
            let scan = if method.is_bidirectional() { "bidirectional" } else { "causal" };
            assert_eq!((row[1], row[2]), (&*method.id().to_string(), &*format!("`{method}`")));
            assert_eq!(row[row.len() - 2], scan, "{method}");
        }
    }
}
