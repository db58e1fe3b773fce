//! The discretization methods: their names, ids and formulas. Nothing here computes.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::named::UnknownName;

named! {
    /// A discretization method, numbered and named as the production API's `discretization_method` (spec.md §2). `ALL` is in
    /// the order of the ids; what is laid out by method takes its length from there.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    #[repr(u8)]
    // A list of the variants that nobody has to keep, for the test of ALL.
    #[cfg_attr(test, derive(clap::ValueEnum))]
    pub enum Method {
        /// Zero-order hold with the simplified input term that Mamba uses.
        Zoh = 0 => "zoh",
        /// First-order hold as the production API has it (spec.md §2; not the textbook one).
        Foh = 1 => "foh",
        /// Bilinear (Tustin, trapezoidal rule).
        Bilinear = 2 => "bilinear",
        /// Polynomial interpolation, scanned in both directions and averaged.
        Poly = 3 => "poly",
        /// Higher-order hold, n = 2.
        HighOrder = 4 => "highorder",
        /// Exact state transition with the input term of the classical Runge–Kutta step.
        Rk4 = 5 => "rk4",
    }
}

impl Method {
    /// The production API's number for this method.
    pub fn id(self) -> u8 {
        self as u8
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

impl FromStr for Method {
    type Err = UnknownName;

    /// Reads a name or an id.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Method::ALL.into_iter().find(|m| m.name() == text || m.id().to_string() == text);
        found.ok_or_else(|| UnknownName {
            noun: "method",
            found: text.to_owned(),
            known: format!("{}, or its id 0 to {}", Method::names(), Method::ALL.len() - 1),
        })
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
