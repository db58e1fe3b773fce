//! What the six methods are, for the pages: formulas and frank notes (spec.md §2). Properties of the
//! specification, quoted from it; nothing here was measured.

use crate::method::Method;

/// How B̄/Δ behaves as Δ → 0, which spec.md §2 takes as the test of consistency.
pub fn consistency(method: Method) -> &'static str {
    match method {
        Method::Foh => "not consistent: B̄/Δ → 0",
        _ => "B̄/Δ → B",
    }
}

/// Whether (A, B, Δ) → (A/s, B/s, sΔ) leaves the step unchanged.
pub fn is_time_scale_invariant(method: Method) -> bool {
    matches!(method, Method::Zoh | Method::Bilinear | Method::Rk4)
}

/// The order of the discretization error for constant input, as spec.md §2 states it.
pub fn order(method: Method) -> u8 {
    match method {
        Method::Foh => 0,
        Method::Zoh | Method::Poly | Method::HighOrder => 1,
        Method::Bilinear => 2,
        Method::Rk4 => 4,
    }
}

/// What a reader must know before trusting the name.
pub fn note(method: Method) -> &'static str {
    match method {
        Method::Zoh => {
            "Mamba's simplified input term ΔB; the textbook zero-order hold has Δφ₁(z)B, which it equals \
             only as z → 0."
        }
        Method::Foh => {
            "Not the textbook first-order hold: it has no u at the next step, and B̄ is of order Δ², so it \
             loses the input as Δ → 0. It also mixes powers of time."
        }
        Method::Bilinear => "Tustin's rule with the present input only; it has a pole at z = 2.",
        Method::Poly => {
            "Scanned in both directions and averaged. Its B̄ adds a term in Δ to one in Δ²: it mixes powers \
             of time, so its result depends on the unit of time."
        }
        Method::HighOrder => {
            "Its B̄ adds terms in Δ, Δ² and Δ³: it mixes powers of time, so its result depends on the unit \
             of time."
        }
        Method::Rk4 => {
            "The exact eᶻ beside the input term of a Runge–Kutta step; the classical method would cut Ā \
             after z⁴ too."
        }
    }
}
