//! The discretization methods: their names, ids and formulas. Nothing here computes.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::named::UnknownName;

named! {
    /// A discretization method, numbered and named as the production API's `discretization_method` (spec.md §2). `ALL` is in
    /// the order of the ids; what is laid out by method takes its length from there. With each name stands what a reader must
    /// know before trusting it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    #[repr(u8)]
    pub enum Method {
        /// Zero-order hold with the simplified input term that Mamba uses.
        Zoh = 0 => "zoh":
            "Mamba's simplified input term ΔB; the textbook zero-order hold has Δφ₁(z)B, which it equals only as \
             z → 0.",
        /// First-order hold as the production API has it (spec.md §2; not the textbook one).
        Foh = 1 => "foh":
            "Not the textbook first-order hold: it has no u at the next step, and B̄ is of order Δ², so it loses \
             the input as Δ → 0. It also mixes powers of time.",
        /// Bilinear (Tustin, trapezoidal rule).
        Bilinear = 2 => "bilinear":
            "Tustin's rule with the present input only; it has a pole at z = 2.",
        /// Polynomial interpolation, scanned in both directions and averaged.
        Poly = 3 => "poly":
            "Scanned in both directions and averaged. Its B̄ adds a term in Δ to one in Δ²: it mixes powers of \
             time, so its result depends on the unit of time.",
        /// Higher-order hold, n = 2.
        HighOrder = 4 => "highorder":
            "Its B̄ adds terms in Δ, Δ² and Δ³: it mixes powers of time, so its result depends on the unit of \
             time.",
        /// Exact state transition with the input term of the classical Runge–Kutta step.
        Rk4 = 5 => "rk4":
            "The exact eᶻ beside the input term of a Runge–Kutta step; the classical method would cut Ā after z⁴ \
             too.",
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
