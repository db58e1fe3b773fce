//! Invariants of Ā and B̄ themselves. Each coefficient is within its bound ([`model::step`]) of its own exact value, and
//! the exact values obey the relation; what is left are f64 roundings, 2⁻²⁸ of these bounds.

use num_complex::Complex64;

use super::Comparison;
use crate::formula::{Function, Term};
use crate::judge::budget::complex_at;
use crate::judge::model::{self, Step};
use crate::method::Method;
use crate::problem::CoefficientProblem;
use crate::problem::transform::scaled;
use crate::promise::Contract;
use crate::tensor::Coefficients;

/// A method, and what a kernel promises of its coefficients.
type MethodContract<'a> = (Method, &'a Contract);

/// One step's inputs, what the kernel computed, and the bounds of that.
struct StepPoint {
    delta: f64,
    a: Complex64,
    b: Complex64,
    a_bar: Complex64,
    b_bar: Complex64,
    bounds: Step,
}

impl StepPoint {
    /// Δᵖf(z)B of a term, φₖ from Ā as in [`time_scale`], and what an error of Ā moves it by.
    fn function(&self, term: &Term) -> (Complex64, f64) {
        let z = self.a * self.delta;
        let Function::Phi(k @ 1..) = term.of else {
            let value = model::function(term.of, z, &model::phi(z));
            return (value * self.delta.powi(term.delta) * self.b, 0.0);
        };
        let sum = [Complex64::ONE, z, z * z * 0.5][..k].iter().sum::<Complex64>();
        let (power, rest) = (self.a.powu(k as u32), self.delta.powi(term.delta - k as i32));
        ((self.a_bar - sum) / power * self.b * rest, self.b.norm() / power.norm() * rest)
    }
}

fn points(
    (method, contract): MethodContract,
    problem: &CoefficientProblem,
    got: &Coefficients,
) -> Vec<StepPoint> {
    let width = problem.weights.width();
    let at = |values: &[f32], i: usize| complex_at(problem.weights, values, i * width);
    let deltas = problem.delta.iter().map(|&delta| f64::from(delta)).enumerate();
    let point = |(i, delta): (usize, f64)| {
        let (a, b) = (at(&problem.a, i), at(&problem.b, i));
        let bounds = model::step(method, problem.weights, (delta, 0.0), a, b, contract);
        StepPoint { delta, a, b, a_bar: at(&got.a_bar, i), b_bar: at(&got.b_bar, i), bounds }
    };
    deltas.map(point).collect()
}

/// Requires got = want within `bound`, shown by modulus as coefficients are.
fn near(
    comparison: &mut Comparison,
    tensor: &'static str,
    at: usize,
    point: &StepPoint,
    got: Complex64,
    want: Complex64,
    bound: f64,
) {
    let error = (got - want).norm();
    let from = format!(
        "delta = {:e}, A = {:e}, B = {:e}, got {got:e}, want {want:e}",
        point.delta, point.a, point.b
    );
    // An error that is no number must stay one.
    let shown = if error.is_nan() { f64::NAN } else { want.norm() + error };
    comparison.value(tensor, at, (shown, want.norm(), bound), &from);
}

/// The steps in another unit of time: (A/s, B/s, sΔ).
pub fn time_scaled(problem: &CoefficientProblem, s: f32) -> CoefficientProblem {
    CoefficientProblem {
        weights: problem.weights,
        delta: scaled(&problem.delta, s),
        a: scaled(&problem.a, 1.0 / s),
        b: scaled(&problem.b, 1.0 / s),
    }
}

/// The time scale at which [`time_scale`] compares.
pub const SCALE: f32 = 2.0;

/// How Ā and B̄ change under (A, B, Δ) → (A/s, B/s, sΔ), s = [`SCALE`].
///
/// z stays, and with it Ā, which must. A term c·Δᵖf(z)B of B̄ (spec.md §2) becomes sᵖ⁻¹ times that, so that B̄(s) − B̄(1) is
/// the sum of the (sᵖ⁻¹−1)c·Δᵖf(z)B: none for zoh, bilinear and rk4. Where f is φₖ, and Ā is eᶻ, that is known from the
/// kernel's own Ā: ΔᵏφₖB = A⁻ᵏ(Ā − Σ_{j<k} zʲ/j!)B, and an error α of Ā moves it by α|B|/|A|ᵏ. A kernel whose B̄ does not
/// change where it has to is off by all of that.
pub fn time_scale(
    promise: MethodContract,
    problem: &CoefficientProblem,
    (plain, rescaled): (&Coefficients, &Coefficients),
    comparison: &mut Comparison,
) {
    let terms = promise.0.formula().now();
    let before = points(promise, problem, plain);
    let after = points(promise, &time_scaled(problem, SCALE), rescaled);
    for (i, (one, other)) in before.iter().zip(&after).enumerate() {
        let bound = one.bounds.a_bar_error + other.bounds.a_bar_error;
        near(comparison, "a_bar", i, other, other.a_bar, one.a_bar, bound);
        let mut want = one.b_bar;
        let mut bound = one.bounds.b_bar_error + other.bounds.b_bar_error;
        for term in terms.iter().filter(|term| term.delta != 1) {
            let weight = (f64::from(SCALE).powi(term.delta - 1) - 1.0) * term.factor.value();
            let (value, per_a_bar) = one.function(term);
            want += value * weight;
            bound += one.bounds.a_bar_error * per_a_bar * weight;
        }
        near(comparison, "b_bar", i, other, other.b_bar, want, bound);
    }
}

/// The same steps with `factor` times their Δ.
pub fn shortened(problem: &CoefficientProblem, factor: f32) -> CoefficientProblem {
    CoefficientProblem { delta: scaled(&problem.delta, factor), ..problem.clone() }
}

/// Δ → 0, for Δ ≤ ½ and |z| ≤ ½: `whole` at Δ, `half` at Δ/2, `none` at 0.
///
/// At 0, Ā = 1 and B̄ = 0 exactly. Ā − 1 starts with z, so that Ā(Δ) − 1 is 2(Ā(Δ/2) − 1) up to the terms from z² on:
/// Σ_{k≥2} |z|ᵏ/k! ≤ ½|z|²e^{|z|} of eᶻ, and Σ_{k≥2} |z|ᵏ2^{1−k} ≤ ½|z|²e^{2|z|} of bilinear. And B̄ = Δᵖg(Δ)B with p = 2 for foh
/// and 1 else, so B̄(Δ) − 2ᵖB̄(Δ/2) = Δᵖ(g(Δ) − g(Δ/2))B, at most Δᵖ·(Δ/2)·(|A|+1)e^{2|z|}|B|: |g′| ≤ (|A|+1)e^{2|z|} follows
/// term by term from |φₖ′| ≤ e^{|z|}/(k+1)!, and for bilinear from |1−z/2|⁻² ≤ e^{2|z|}.
pub fn small_step(
    promise: MethodContract,
    problem: &CoefficientProblem,
    [whole, half, none]: [&Coefficients; 3],
    comparison: &mut Comparison,
) {
    for (i, point) in points(promise, &shortened(problem, 0.0), none).iter().enumerate() {
        near(comparison, "a_bar", i, point, point.a_bar, Complex64::ONE, 0.0);
        near(comparison, "b_bar", i, point, point.b_bar, Complex64::ZERO, 0.0);
    }
    let order = promise.0.formula().leading_order();
    let halves = points(promise, &shortened(problem, 0.5), half);
    for (i, (one, half)) in points(promise, problem, whole).iter().zip(&halves).enumerate() {
        let z = (one.a * one.delta).norm();
        let growth = (2.0 * z).exp();
        let bound = 0.5 * z * z * growth + one.bounds.a_bar_error + 2.0 * half.bounds.a_bar_error;
        near(comparison, "a_bar", i, one, one.a_bar, half.a_bar * 2.0 - 1.0, bound);
        let factor = 2f64.powi(order);
        let changed = one.delta.powi(order) * 0.5 * one.delta * (one.a.norm() + 1.0) * growth * one.b.norm();
        let bound = changed + one.bounds.b_bar_error + factor * half.bounds.b_bar_error;
        near(comparison, "b_bar", i, one, one.b_bar, half.b_bar * factor, bound);
    }
}

/// |Ā| ≤ 1 where Re z < 0: of eᶻ, and of (1+z/2)/(1−z/2), which maps the left half-plane into the unit disc. A computed
/// Ā may lie above by the bound of its error.
pub fn stability(
    promise: MethodContract,
    problem: &CoefficientProblem,
    got: &Coefficients,
    comparison: &mut Comparison,
) {
    for (i, point) in points(promise, problem, got).iter().enumerate() {
        let size = point.a_bar.norm();
        let above = if size <= 1.0 { 1.0 } else { size };
        let from = format!("delta = {:e}, A = {:e}, |a_bar| = {size:e}", point.delta, point.a);
        comparison.value("|a_bar|", i, (above, 1.0, point.bounds.a_bar_error), &from);
    }
}
