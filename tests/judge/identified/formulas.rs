//! Another B̄: which terms it has, how they are written beside the specified ones, and where both first differ.

use holdfast::method::Method;
use holdfast::problem::{Problem, Weights};
use num_complex::Complex64 as C;

use super::{Planting, Step, assert_said, drawn, plain};
use crate::cases::each;
use crate::support::problems::Layout;

/// What enters a state, and what is said of it: a formula, and at which power of Δ it differs first from the specified one, with
/// what in place of what.
type Inputs = &'static [(fn(Step) -> C, &'static str)];

/// φ₁, φ₂ and φ₃ by their closed forms: |z| is not small here.
fn phi(k: usize, z: C) -> C {
    match k {
        1 => (z.exp() - 1.0) / z,
        2 => (z.exp() - 1.0 - z) / (z * z),
        _ => (z.exp() - 1.0 - z - z * z / 2.0) / (z * z * z),
    }
}

fn said_of(planting: &Planting, (input, expected): &(fn(Step) -> C, &str)) -> (String, String) {
    let got = planting.with_step(|s| [planting.right(s)[0], input(s)]);
    let expected = match expected.split(" | ").collect::<Vec<_>>()[..] {
        [""] => String::new(),
        [formula, at, one, other] => {
            let differs = format!("they differ from {at} on: it has {one} in place of {other}");
            format!("b-bar-identified: B̄ computes {formula}; specified is Δ; {differs}")
        }
        _ => format!("b-bar-identified: B̄ computes {expected}"),
    };
    (planting.at_once(&got), expected)
}

/// Of zoh, whose own B̄ is Δ.
const OF_ZOH: Inputs = &[
    // Powers of z.
    (|s| s.driven(s.delta + s.delta * s.z() / 3.0), "Δ + Δ²A/3 | Δ² | A/3 | nothing"),
    (|s| s.driven(s.delta - s.delta * s.z() / 4.0), "Δ − Δ²A/4 | Δ² | −A/4 | nothing"),
    (|s| s.driven(s.delta * s.delta - s.delta / 2.0), "−Δ/2 + Δ² | Δ | −1/2 | 1"),
    (|s| s.driven(s.delta + 3.0), "Δ + 3 | 1 | 3 | nothing"),
    (|s| s.driven(s.delta + s.z() / 2.0), "Δ + ΔA/2 | Δ | A/2 + 1 | 1"),
    (|s| s.driven(s.delta + 2.0 * s.delta.powi(2) * s.z().powi(2)), "Δ + 2Δ⁴A² | Δ⁴ | 2A² | nothing"),
    // Differences are looked for up to the fifth order.
    (|s| s.driven(s.delta + 3.0 * s.delta * s.z().powi(4)), "Δ + 3Δ⁵A⁴ | Δ⁵ | 3A⁴ | nothing"),
    (|s| s.driven(s.delta + 3.0 * s.delta.powi(2) * s.z().powi(4)), "Δ + 3Δ⁶A⁴; specified is Δ"),
    // B and u as often as they should not be.
    (|s| s.driven(s.delta * (1.0 + s.b / 2.0)), "Δ + Δ/2 with B twice; specified is Δ"),
    (|s| s.delta * (s.b + 0.25) * s.u, "Δ + Δ/4 without B; specified is Δ"),
    (|s| s.delta * (s.b - 0.25) * s.u, "Δ − Δ/4 without B; specified is Δ"),
    (|s| s.delta * s.b * (s.u + 0.5), "Δ + Δ/2 without u; specified is Δ"),
    (|s| s.driven(s.delta * (1.0 + s.u / 3.0)), "Δ + Δ/3 with u twice; specified is Δ"),
    // Other functions of z.
    (|s| s.driven((1.0 + s.z().exp()) * s.delta / 3.0), "Δ/3 + Δe^(ΔA)/3 | Δ | 2/3 | 1"),
    (|s| s.driven(s.delta / (1.0 - s.z()) / 2.0), "Δ(1 − ΔA)⁻¹/2 | Δ | 1/2 | 1"),
    (|s| s.driven(s.delta / (1.0 + s.z() / 2.0)), "Δ(1 + ΔA/2)⁻¹ | Δ² | −A/2 | nothing"),
    (|s| s.driven(s.delta * (phi(1, s.z()) - phi(2, s.z()) / 3.0)), "Δφ₁ − Δφ₂/3 | Δ | 5/6 | 1"),
    // 5/16 · 1/2 = 5/32 is no fraction that formulas have.
    (|s| s.driven(s.delta * phi(2, s.z()) * 5.0 / 16.0), "5Δφ₂/16 | Δ | 0.15625 | 1"),
    (|s| s.driven(s.delta * phi(2, s.z()) * -5.0 / 16.0), "−5Δφ₂/16 | Δ | −0.15625 | 1"),
    // 11/16 + 5/8 · 1/2 = 1, and 11/16 · 1/2 + 5/8 · 1/6 = 43/96.
    (
        |s| s.driven(s.delta * (11.0 / 16.0 * phi(1, s.z()) + 5.0 / 8.0 * phi(2, s.z()))),
        "11Δφ₁/16 + 5Δφ₂/8 | Δ² | 0.447917·A | nothing",
    ),
];

#[test]
fn another_b_bar_is_written_beside_the_specified_one() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 3, 20)));
    assert_said(OF_ZOH.iter().map(|one| said_of(&planting, one)));
}

/// Coefficients that formulas have, in lowest terms, and others.
const COEFFICIENTS: Inputs = &[
    (|s| s.driven(s.delta * (1.0 + s.z() * 2.0 / 15.0)), "Δ + 2Δ²A/15 | Δ² | 2A/15 | nothing"),
    (|s| s.driven(s.delta * (1.0 + s.z() / 15.0)), "Δ + Δ²A/15 | Δ² | A/15 | nothing"),
    (|s| s.driven(s.delta * (1.0 + s.z() * 7.0 / 120.0)), "Δ + 7Δ²A/120 | Δ² | 7A/120 | nothing"),
    // A ninth is a product of factorials, two of them are not.
    (|s| s.driven(s.delta * (1.0 + s.z() / 9.0)), "Δ + Δ²A/9 | Δ² | A/9 | nothing"),
    (|s| s.driven(s.delta * (1.0 - s.z() / 9.0)), "Δ − Δ²A/9 | Δ² | −A/9 | nothing"),
    (|s| s.driven(s.delta * (1.0 + s.z() * 2.0 / 9.0)), ""),
    // No formula has a larger number than 64.
    (|s| s.driven(s.delta + 64.0 * s.delta.powi(3)), "Δ + 64Δ³ | Δ³ | 64 | nothing"),
    (|s| s.driven(s.delta + 65.0 * s.delta.powi(3)), ""),
];

#[test]
fn coefficients_are_those_that_formulas_have() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 2, 16)));
    assert_said(COEFFICIENTS.iter().map(|one| said_of(&planting, one)));
}

/// Steps that are all the same leave open which power of Δ it is; B that is 1 everywhere how often it counts. The simplest is
/// said: small numbers, low orders, B and u once.
#[test]
fn of_formulas_that_coincide_the_simplest_is_said() {
    let cases: [(&str, fn(&mut Problem), fn(Step) -> C, &'static str); 5] = [
        (
            "small numbers",
            |problem: &mut Problem| problem.delta.fill(0.25),
            |s: Step| s.driven(s.delta * (1.0 + s.z() / 3.0)),
            "Δ + Δ²A/3 | Δ² | A/3 | nothing",
        ),
        (
            "a small denominator",
            |problem: &mut Problem| problem.delta.fill(0.25),
            |s: Step| s.driven(s.delta * (1.0 - s.z() / 2.0)),
            "Δ − Δ²A/2 | Δ² | −A/2 | nothing",
        ),
        (
            "low orders",
            |problem: &mut Problem| problem.delta.fill(1.0),
            |s: Step| s.driven(s.delta * (1.0 + s.z() / 3.0)),
            "1 + ΔA/3 | 1 | 1 | nothing",
        ),
        (
            "b once",
            |problem: &mut Problem| problem.b.fill(1.0),
            |s: Step| s.driven(s.delta * (1.0 + s.z() / 3.0)),
            "Δ + Δ²A/3 | Δ² | A/3 | nothing",
        ),
        (
            "u once",
            |problem: &mut Problem| problem.u.fill(1.0),
            |s: Step| s.driven(s.delta * (1.0 + s.z() / 3.0)),
            "Δ + Δ²A/3 | Δ² | A/3 | nothing",
        ),
    ];
    each(cases, |(_, set, input, expected)| {
        let mut problem = drawn(plain(2, 3, 16));
        set(&mut problem);
        let planting = Planting::new(Method::Zoh, problem);
        assert_said([said_of(&planting, &(input, expected))]);
    });
}

/// What an initial state adds is no part of B̄.
#[test]
fn b_bar_is_found_beside_an_initial_state() {
    let mut problem = drawn(plain(2, 3, 16));
    problem.initial_state = Some(vec![0.9, -0.7, 0.5, -0.3, 0.8, 0.6]);
    let planting = Planting::new(Method::Zoh, problem);
    let one: (fn(Step) -> C, &str) =
        (|s| s.driven(s.delta * (1.0 + s.z() / 3.0)), "Δ + Δ²A/3 | Δ² | A/3 | nothing");
    assert_said([said_of(&planting, &one)]);
}

/// Of methods whose own B̄ is a sum, a quotient, or of complex numbers.
#[test]
fn another_b_bar_is_found_of_other_methods() {
    let cases: [(&str, Method, Weights, fn(Step) -> C, &'static str); 4] = [
        (
            "of several terms",
            Method::HighOrder,
            Weights::Real,
            |s: Step| s.driven(s.delta * phi(1, s.z()) + s.delta.powi(2) * phi(2, s.z()) / 3.0),
            "Δφ₁ + Δ²φ₂/3; specified is Δφ₁ + Δ²φ₂ + Δ³φ₃/2; they differ from Δ² on: it has A/2 + 1/6 in place of A/2 + 1/2",
        ),
        (
            "lower by an order",
            Method::Foh,
            Weights::Real,
            |s: Step| s.driven(s.delta * phi(1, s.z()) - s.delta.powi(2) * phi(2, s.z()) / 3.0),
            "Δφ₁ − Δ²φ₂/3; specified is Δ²φ₂; they differ from Δ on: it has 1 in place of nothing",
        ),
        (
            "of a quotient",
            Method::Bilinear,
            Weights::Real,
            |s: Step| s.driven(s.delta * (1.0 + s.z() / 2.0 + s.z() * s.z() / 3.0)),
            "Δ + Δ²A/2 + Δ³A²/3; specified is Δ(1 − ΔA/2)⁻¹; they differ from Δ³ on: it has A²/3 in place of A²/4",
        ),
        (
            "of complex numbers",
            Method::Zoh,
            Weights::Complex,
            |s: Step| s.driven(s.delta * (1.0 - s.z() / 3.0)),
            "Δ − Δ²A/3 | Δ² | −A/3 | nothing",
        ),
    ];
    each(cases, |(_, method, weights, input, expected)| {
        let planting = Planting::new(method, drawn(Layout { weights, ..plain(2, 3, 20) }));
        assert_said([said_of(&planting, &(input, expected))]);
    });
}
