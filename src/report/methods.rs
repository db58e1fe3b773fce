//! What the methods are said to be (spec.md §2), for the pages to set beside what
//! [`analysis`](crate::analysis) measured. Nothing here was measured.

use super::text;
use crate::method::Method;
use crate::truth::{Form, Textbook};

/// Whether B̄/Δ → B as Δ → 0, which spec.md §2 takes as the test of consistency.
pub fn is_consistent(form: Form) -> bool {
    form.formula().limit() == 1.0
}

/// Whether (A, B, Δ) → (A/s, B/s, sΔ) leaves the step unchanged.
pub fn is_time_scale_invariant(form: Form) -> bool {
    form.formula().powers_of_time() == [0]
}

/// The order of the error of the state for constant input; none for an exact form. The textbook forms with u_{l−1} start
/// from u = 0, and pay for the jump at the start.
pub fn order_constant(form: Form) -> Option<u8> {
    let formula = form.formula();
    let reads_before = !formula.b_bar[1].is_empty();
    if reads_before { Some(1) } else { formula.order().map(|order| order as u8) }
}

/// The order for an input that varies: one sample in a step allows 1 at the most, two allow 2.
pub fn order_smooth(form: Form) -> Option<u8> {
    let formula = form.formula();
    let samples = formula.b_bar.iter().filter(|terms| !terms.is_empty()).count() as i32;
    Some(formula.order().unwrap_or(samples).min(samples) as u8)
}

/// A measured order to two decimals, without the sign of a rounded zero.
pub fn order_text(order: f64) -> String {
    if order.abs() < 100.0 { format!("{order:.2}").replace("-0.00", "0.00") } else { text::number(order, 2) }
}

/// A measured order, of which an exact form has none.
pub fn measured_order(order: Option<f64>) -> String {
    order.map_or("exact".to_owned(), order_text)
}

/// An expected order, of which an exact form has none.
pub fn expected_order(order: Option<u8>) -> String {
    order.map_or("exact".to_owned(), |order| order.to_string())
}

/// The form that textbooks have under the method's name.
pub fn textbook(method: Method) -> Option<Textbook> {
    Textbook::ALL.into_iter().find(|form| form.name().split('-').next() == Some(method.name()))
}

/// Ā and what is added to Ā x_{l−1}, of a textbook form.
pub fn textbook_formulas(form: Textbook) -> (&'static str, &'static str) {
    match form {
        Textbook::ZohExact => ("exp(z)", "Δ φ₁(z) B uₗ"),
        Textbook::FohTextbook => ("exp(z)", "Δ ((φ₁ − φ₂) B uₗ + φ₂ B uₗ₊₁)"),
        Textbook::Rk4Classical => ("I + z + z²/2 + z³/6 + z⁴/24", "Δ (I + z/2 + z²/6 + z³/24) B uₗ"),
        Textbook::BilinearAveraged => ("(I − z/2)⁻¹(I + z/2)", "(I − z/2)⁻¹ Δ B (uₗ₋₁ + uₗ)/2"),
        Textbook::FohCausal => ("exp(z)", "Δ (φ₂ B uₗ + (φ₁ − φ₂) B uₗ₋₁)"),
        Textbook::Euler => ("I + z", "Δ B uₗ"),
        Textbook::BackwardEuler => ("(I − z)⁻¹", "(I − z)⁻¹ Δ B uₗ"),
        Textbook::ExpTrapezoidal => ("exp(z)", "½ Δ (exp(z) B uₗ₋₁ + B uₗ)"),
    }
}
