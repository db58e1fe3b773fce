//! Small numbers that are added to what is divided by.

use holdfast::judge::model::phi;
use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;

use super::{a_bar, b_bar, term};
use crate::reconstructed::{List, Wrong, list};

/// f(z) with ε added to what it is divided by.
fn guarded(of: impl Fn(C) -> C, below: impl Fn(C) -> C, epsilon: f64, z: C) -> C {
    of(z) * below(z) / (below(z) + epsilon)
}

/// φ₂ with something added to z² or to z: from what shows everywhere to what shows nearly nowhere, negative, with too many
/// digits; and where NaN lies beside it.
fn of_guarded_squares() -> Vec<List> {
    [Weights::Real, Weights::Complex]
        .into_iter()
        .map(|weights: Weights| {
            let of_square = [0.1, 2e-9, -0.01, 0.01234];
            let of_z = [0.01, 1e-7];
            let squares = of_square.map(|epsilon| {
                term(format!("B̄ = Δ²φ₂, z² + {epsilon}"), 2, move |z| {
                    guarded(|z| phi(z)[2], |z| z * z, epsilon, z)
                })
            });
            let once = of_z.map(|epsilon| {
                term(format!("B̄ = Δ²φ₂, z + {epsilon}"), 2, move |z| {
                    guarded(|z| phi(z)[2], |z| z, epsilon, z)
                })
            });
            let with_nan =
                term("B̄ = Δ²φ₂, z² + 0.0000001; NaN where Re z > 1.2", 2, |z| match z.re > 1.2 {
                    true => f64::NAN.into(),
                    false => guarded(|z| phi(z)[2], |z| z * z, 1e-7, z),
                });
            let factor = term("B̄ = −Δ²φ₂/3, z² + 0.05", 2, |z| {
                guarded(|z| phi(z)[2] / -3.0, |z| z * z, 0.05, z)
            });
            // Fewer of complex numbers.
            let all = [with_nan, factor].into_iter().chain(squares).chain(once);
            let wrong: Vec<Wrong> = all.step_by(if weights == Weights::Real { 1 } else { 2 }).collect();
            list("guarded", (Method::Foh, weights), wrong)
        })
        .collect()
}

/// Δφ₁ + Δ²φ₂ + ½Δ³φ₃ with something added to the zᵖ of each; nothing where that is 0.
fn guarded_sum(delta: f64, z: C, power: i32, epsilons: [f64; 3]) -> C {
    let of_phi = |k: usize| match epsilons[k - 1] == 0.0 {
        true => phi(z)[k],
        false => guarded(|z| phi(z)[k], |z| z.powi(power), epsilons[k - 1], z),
    };
    of_phi(1) * delta + of_phi(2) * delta * delta + of_phi(3) * (0.5 * delta * delta * delta)
}

/// The same of each term of a sum, by each power that it may be divided by.
fn of_guarded_terms() -> Vec<List> {
    [Weights::Real, Weights::Complex]
        .into_iter()
        .map(|weights: Weights| {
            let all = [
                (1, [0.01, 0.0, 0.0]),
                (1, [0.0, 0.001, 0.0]),
                (1, [0.0, 0.0, 0.02]),
                (2, [0.0, 0.0, 0.005]),
                (3, [0.0, 0.0, 0.001]),
                (1, [0.01, 0.01, 0.01]),
                (3, [0.0, 0.0, 2e-11]),
                (3, [0.0, 0.0, 1e-10]),
            ];
            // Fewer of real numbers.
            let step = if weights == Weights::Real { 3 } else { 1 };
            let wrong = all.into_iter().step_by(step).map(|(power, epsilons)| {
                let what = format!("z{power} + {epsilons:?}");
                b_bar(what, move |delta, z| guarded_sum(delta, z, power, epsilons))
            });
            list("guarded", (Method::HighOrder, weights), wrong)
        })
        .collect()
}

/// The same of quotients.
fn of_guarded_poles() -> Vec<List> {
    let cases: [(Method, Weights); 3] = [
        (Method::Bilinear, Weights::Real),
        (Method::Bilinear, Weights::Complex),
        (Method::Zoh, Weights::Real),
    ];
    cases
        .into_iter()
        .map(|(method, weights)| {
            let (alpha, text): (f64, &str) =
                if method == Method::Bilinear { (0.5, "1 − z/2") } else { (1.0, "1 − z") };
            let in_b = [0.01, -0.003].map(|epsilon| {
                term(format!("B̄ = Δ/({text} + {epsilon})"), 1, move |z| 1.0 / (1.0 - alpha * z + epsilon))
            });
            let in_a = a_bar(format!("Ā divided by {text} + 0.01"), move |z| {
                (1.0 + (1.0 - alpha) * z) / (1.01 - alpha * z)
            });
            list("guarded-poles", (method, weights), in_b.into_iter().chain([in_a]))
        })
        .collect()
}

pub fn lists() -> Vec<List> {
    let all: [fn() -> Vec<List>; 3] = [of_guarded_squares, of_guarded_terms, of_guarded_poles];
    all.into_iter().flat_map(|of| of()).collect()
}
