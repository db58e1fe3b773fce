//! Wrong steps whose formulas have to be searched for: each way of searching is needed by at least one, and others lie just
//! beside what is looked for.

mod arguments;
mod exponentials;
mod guards;
mod products;
mod reciprocals;
mod sums;

use holdfast::judge::model::phi;
use holdfast::method::Method;
use num_complex::Complex64 as C;

use super::{List, Wrong};

pub fn lists() -> Vec<List> {
    [
        arguments::lists(),
        exponentials::lists(),
        guards::lists(),
        products::lists(),
        reciprocals::lists(),
        sums::lists(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A function of z.
type OfZ = fn(C) -> C;

/// A real one.
type RealOfZ = fn(C) -> f64;

/// Another Ā: this function of z.
fn a_bar(what: impl Into<String>, f: impl Fn(C) -> C + Sync + 'static) -> Wrong {
    Wrong::new(what, move |own, s| [f(s.z()), own(s)[1]])
}

/// Another B̄: this function of Δ and z.
fn b_bar(what: impl Into<String>, f: impl Fn(f64, C) -> C + Sync + 'static) -> Wrong {
    Wrong::new(what, move |own, s| [own(s)[0], f(s.delta, s.z()) * s.b * s.u])
}

/// Another B̄: Δᵖf(z).
fn term(what: impl Into<String>, power: i32, f: impl Fn(C) -> C + Sync + 'static) -> Wrong {
    b_bar(what, move |delta, z| f(z) * delta.powi(power))
}

/// Another Ā and another B̄.
fn both(
    what: impl Into<String>,
    a_bar: impl Fn(C) -> C + Sync + 'static,
    b_bar: impl Fn(f64, C) -> C + Sync + 'static,
) -> Wrong {
    Wrong::new(what, move |_, s| [a_bar(s.z()), b_bar(s.delta, s.z()) * s.b * s.u])
}

/// Σ cⱼ zʲ
fn polynomial(coefficients: &[f64], z: C) -> C {
    coefficients.iter().rev().fold(C::ZERO, |sum, &c| sum * z + c)
}

/// φ₁ to φ₃ by their closed forms of an exponential, right or not.
fn closed(k: usize, exponential: C, z: C) -> C {
    match k {
        1 => (exponential - 1.0) / z,
        2 => (exponential - 1.0 - z) / (z * z),
        _ => (exponential - 1.0 - z - z * z / 2.0) / (z * z * z),
    }
}

/// φₖ up to its term in zˡ.
fn cut(k: usize, last: usize, z: C) -> C {
    let sum = (k + 1..=k + last).rev().fold(C::ONE, |sum, j| 1.0 + z * sum / j as f64);
    sum / [1.0, 1.0, 2.0, 6.0][k]
}

/// The method that a wrong φₖ is tried in.
fn method_of(k: usize) -> Method {
    [Method::Zoh, Method::Foh, Method::HighOrder][k - 1]
}

/// The factors of φ₁ to φ₃ there.
fn usual(k: usize) -> f64 {
    [1.0, 1.0, 0.5][k - 1]
}

/// B̄ with c times a wrong φₖ: cΔφ₁, cΔ²φ₂, or Δφ₁ + Δ²φ₂ + cΔ³φ₃. Where z = 0, which closed forms have no value for, it is
/// right.
fn sum_with((k, factor): (usize, f64), delta: f64, z: C, wrong: C) -> C {
    let [_, p1, p2, _] = phi(z);
    let others = if k == 3 { p1 * delta + p2 * delta * delta } else { C::ZERO };
    let last = if z == C::ZERO { phi(z)[k] } else { wrong };
    others + last * factor * delta.powi(k as i32)
}

/// The same with this function of z in the place of φₖ.
fn with_phi(what: impl Into<String>, of: (usize, f64), wrong: impl Fn(C) -> C + Sync + 'static) -> Wrong {
    b_bar(what, move |delta, z| sum_with(of, delta, z, wrong(z)))
}

/// Which φ-function is made step by step, the first step with the wrong reciprocal, and the φ-function that is made at once, by
/// a power of the reciprocal; 0 for none.
type Steps = (usize, usize, usize);

fn steps_text((k, from, start): Steps) -> String {
    format!("φ{k} from step {from} on{}", if start == 2 { ", φ₂ at once" } else { "" })
}

/// φₖ = (φₖ₋₁ − 1/(k − 1)!)/z
fn step_by_step((k, from, start): Steps, exponential: C, reciprocal: C, z: C) -> C {
    let begun = if start == 2 { (exponential - 1.0 - z) * reciprocal * reciprocal } else { exponential };
    (start + 1..=k).fold(begun, |below, step| {
        let over = if step >= from { reciprocal } else { 1.0 / z };
        (below - [1.0, 1.0, 0.5][step - 1]) * over
    })
}
