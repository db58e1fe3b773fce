//! Another B̄: which terms it has, how they are written beside the specified ones, and where both first differ.

use holdfast::method::Method;
use holdfast::problem::{Problem, Weights};
use num_complex::Complex64 as C;
use rstest::rstest;

use super::{Planting, Step, assert_said, drawn, plain};
use crate::support::problems::Layout;

/// What enters a state, and what is said of it.
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
    let expected = match *expected {
        "" => String::new(),
        text => format!("b-bar-identified: B̄ computes {text}"),
    };
    (planting.at_once(&got), expected)
}

/// Of zoh, whose own B̄ is Δ.
const OF_ZOH: Inputs = &[
    // Powers of z.
    (
        |s| s.driven(s.delta + s.delta * s.z() / 3.0),
        "Δ + Δ²A/3; specified is Δ; the first difference is at Δ², where A/3 stands for nothing",
    ),
    (
        |s| s.driven(s.delta - s.delta * s.z() / 4.0),
        "Δ − Δ²A/4; specified is Δ; the first difference is at Δ², where −A/4 stands for nothing",
    ),
    (
        |s| s.driven(s.delta * s.delta - s.delta / 2.0),
        "−Δ/2 + Δ²; specified is Δ; the first difference is at Δ, where −1/2 stands for 1",
    ),
    (
        |s| s.driven(s.delta + 3.0),
        "Δ + 3; specified is Δ; the first difference is at 1, where 3 stands for nothing",
    ),
    (
        |s| s.driven(s.delta + s.z() / 2.0),
        "Δ + ΔA/2; specified is Δ; the first difference is at Δ, where A/2 + 1 stands for 1",
    ),
    (
        |s| s.driven(s.delta + 2.0 * s.delta.powi(2) * s.z().powi(2)),
        "Δ + 2Δ⁴A²; specified is Δ; the first difference is at Δ⁴, where 2A² stands for nothing",
    ),
    // Differences are looked for up to the fifth order.
    (
        |s| s.driven(s.delta + 3.0 * s.delta * s.z().powi(4)),
        "Δ + 3Δ⁵A⁴; specified is Δ; the first difference is at Δ⁵, where 3A⁴ stands for nothing",
    ),
    (|s| s.driven(s.delta + 3.0 * s.delta.powi(2) * s.z().powi(4)), "Δ + 3Δ⁶A⁴; specified is Δ"),
    // B and u as often as they should not be.
    (|s| s.driven(s.delta * (1.0 + s.b / 2.0)), "Δ + Δ/2 with B twice; specified is Δ"),
    (|s| s.delta * (s.b + 0.25) * s.u, "Δ + Δ/4 without B; specified is Δ"),
    (|s| s.delta * (s.b - 0.25) * s.u, "Δ − Δ/4 without B; specified is Δ"),
    (|s| s.delta * s.b * (s.u + 0.5), "Δ + Δ/2 without u; specified is Δ"),
    (|s| s.driven(s.delta * (1.0 + s.u / 3.0)), "Δ + Δ/3 with u twice; specified is Δ"),
    // Other functions of z.
    (
        |s| s.driven((1.0 + s.z().exp()) * s.delta / 3.0),
        "Δ/3 + Δe^(ΔA)/3; specified is Δ; the first difference is at Δ, where 2/3 stands for 1",
    ),
    (
        |s| s.driven(s.delta / (1.0 - s.z()) / 2.0),
        "Δ(1 − ΔA)⁻¹/2; specified is Δ; the first difference is at Δ, where 1/2 stands for 1",
    ),
    (
        |s| s.driven(s.delta / (1.0 + s.z() / 2.0)),
        "Δ(1 + ΔA/2)⁻¹; specified is Δ; the first difference is at Δ², where −A/2 stands for nothing",
    ),
    (
        |s| s.driven(s.delta * (phi(1, s.z()) - phi(2, s.z()) / 3.0)),
        "Δφ₁ − Δφ₂/3; specified is Δ; the first difference is at Δ, where 5/6 stands for 1",
    ),
    // 5/16 · 1/2 = 5/32 is no fraction that formulas have.
    (
        |s| s.driven(s.delta * phi(2, s.z()) * 5.0 / 16.0),
        "5Δφ₂/16; specified is Δ; the first difference is at Δ, where 0.15625 stands for 1",
    ),
    (
        |s| s.driven(s.delta * phi(2, s.z()) * -5.0 / 16.0),
        "−5Δφ₂/16; specified is Δ; the first difference is at Δ, where −0.15625 stands for 1",
    ),
    // 11/16 + 5/8 · 1/2 = 1, and 11/16 · 1/2 + 5/8 · 1/6 = 43/96.
    (
        |s| s.driven(s.delta * (11.0 / 16.0 * phi(1, s.z()) + 5.0 / 8.0 * phi(2, s.z()))),
        "11Δφ₁/16 + 5Δφ₂/8; specified is Δ; the first difference is at Δ², where 0.447917·A stands for nothing",
    ),
];

#[rstest]
fn another_b_bar_is_written_beside_the_specified_one(#[values(0, 1, 2, 3)] part: usize) {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 3, 20)));
    let some = OF_ZOH.iter().skip(part).step_by(4);
    assert_said(&some.map(|one| said_of(&planting, one)).collect::<Vec<_>>());
}

/// Coefficients that formulas have, in lowest terms, and others.
const COEFFICIENTS: Inputs = &[
    (
        |s| s.driven(s.delta * (1.0 + s.z() * 2.0 / 15.0)),
        "Δ + 2Δ²A/15; specified is Δ; the first difference is at Δ², where 2A/15 stands for nothing",
    ),
    (
        |s| s.driven(s.delta * (1.0 + s.z() / 15.0)),
        "Δ + Δ²A/15; specified is Δ; the first difference is at Δ², where A/15 stands for nothing",
    ),
    (
        |s| s.driven(s.delta * (1.0 + s.z() * 7.0 / 120.0)),
        "Δ + 7Δ²A/120; specified is Δ; the first difference is at Δ², where 7A/120 stands for nothing",
    ),
    // A ninth is a product of factorials, two of them are not.
    (
        |s| s.driven(s.delta * (1.0 + s.z() / 9.0)),
        "Δ + Δ²A/9; specified is Δ; the first difference is at Δ², where A/9 stands for nothing",
    ),
    (
        |s| s.driven(s.delta * (1.0 - s.z() / 9.0)),
        "Δ − Δ²A/9; specified is Δ; the first difference is at Δ², where −A/9 stands for nothing",
    ),
    (|s| s.driven(s.delta * (1.0 + s.z() * 2.0 / 9.0)), ""),
    // No formula has a larger number than 64.
    (
        |s| s.driven(s.delta + 64.0 * s.delta.powi(3)),
        "Δ + 64Δ³; specified is Δ; the first difference is at Δ³, where 64 stands for nothing",
    ),
    (|s| s.driven(s.delta + 65.0 * s.delta.powi(3)), ""),
];

#[rstest]
fn coefficients_are_those_that_formulas_have(#[values(0, 1, 2, 3)] part: usize) {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 2, 16)));
    let some = COEFFICIENTS.iter().skip(2 * part).take(2);
    assert_said(&some.map(|one| said_of(&planting, one)).collect::<Vec<_>>());
}

/// Steps that are all the same leave open which power of Δ it is; B that is 1 everywhere how often it counts. The simplest is
/// said: small numbers, low orders, B and u once.
#[rstest]
#[case::small_numbers(
    |problem: &mut Problem| problem.delta.fill(0.25),
    |s: Step| s.driven(s.delta * (1.0 + s.z() / 3.0)),
    "Δ + Δ²A/3; specified is Δ; the first difference is at Δ², where A/3 stands for nothing"
)]
#[case::a_small_denominator(
    |problem: &mut Problem| problem.delta.fill(0.25),
    |s: Step| s.driven(s.delta * (1.0 - s.z() / 2.0)),
    "Δ − Δ²A/2; specified is Δ; the first difference is at Δ², where −A/2 stands for nothing"
)]
#[case::low_orders(
    |problem: &mut Problem| problem.delta.fill(1.0),
    |s: Step| s.driven(s.delta * (1.0 + s.z() / 3.0)),
    "1 + ΔA/3; specified is Δ; the first difference is at 1, where 1 stands for nothing"
)]
#[case::b_once(
    |problem: &mut Problem| problem.b.fill(1.0),
    |s: Step| s.driven(s.delta * (1.0 + s.z() / 3.0)),
    "Δ + Δ²A/3; specified is Δ; the first difference is at Δ², where A/3 stands for nothing"
)]
#[case::u_once(
    |problem: &mut Problem| problem.u.fill(1.0),
    |s: Step| s.driven(s.delta * (1.0 + s.z() / 3.0)),
    "Δ + Δ²A/3; specified is Δ; the first difference is at Δ², where A/3 stands for nothing"
)]
fn of_formulas_that_coincide_the_simplest_is_said(
    #[case] set: fn(&mut Problem),
    #[case] input: fn(Step) -> C,
    #[case] expected: &'static str,
) {
    let mut problem = drawn(plain(2, 3, 16));
    set(&mut problem);
    let planting = Planting::new(Method::Zoh, problem);
    assert_said(&[said_of(&planting, &(input, expected))]);
}

/// What an initial state adds is no part of B̄.
#[test]
fn b_bar_is_found_beside_an_initial_state() {
    let mut problem = drawn(plain(2, 3, 16));
    problem.initial_state = Some(vec![0.9, -0.7, 0.5, -0.3, 0.8, 0.6]);
    let planting = Planting::new(Method::Zoh, problem);
    let one: (fn(Step) -> C, &str) = (
        |s| s.driven(s.delta * (1.0 + s.z() / 3.0)),
        "Δ + Δ²A/3; specified is Δ; the first difference is at Δ², where A/3 stands for nothing",
    );
    assert_said(&[said_of(&planting, &one)]);
}

/// Of methods whose own B̄ is a sum, a quotient, or of complex numbers.
#[rstest]
#[case::of_several_terms(
    Method::HighOrder,
    Weights::Real,
    |s: Step| s.driven(s.delta * phi(1, s.z()) + s.delta.powi(2) * phi(2, s.z()) / 3.0),
    "Δφ₁ + Δ²φ₂/3; specified is Δφ₁ + Δ²φ₂ + Δ³φ₃/2; the first difference is at Δ², where A/2 + 1/6 stands for A/2 + 1/2"
)]
#[case::lower_by_an_order(
    Method::Foh,
    Weights::Real,
    |s: Step| s.driven(s.delta * phi(1, s.z()) - s.delta.powi(2) * phi(2, s.z()) / 3.0),
    "Δφ₁ − Δ²φ₂/3; specified is Δ²φ₂; the first difference is at Δ, where 1 stands for nothing"
)]
#[case::of_a_quotient(
    Method::Bilinear,
    Weights::Real,
    |s: Step| s.driven(s.delta * (1.0 + s.z() / 2.0 + s.z() * s.z() / 3.0)),
    "Δ + Δ²A/2 + Δ³A²/3; specified is Δ(1 − ΔA/2)⁻¹; the first difference is at Δ³, where A²/3 stands for A²/4"
)]
#[case::of_complex_numbers(
    Method::Zoh,
    Weights::Complex,
    |s: Step| s.driven(s.delta * (1.0 - s.z() / 3.0)),
    "Δ − Δ²A/3; specified is Δ; the first difference is at Δ², where −A/3 stands for nothing"
)]
fn another_b_bar_is_found_of_other_methods(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] input: fn(Step) -> C,
    #[case] expected: &'static str,
) {
    let planting = Planting::new(method, drawn(Layout { weights, ..plain(2, 3, 20) }));
    assert_said(&[said_of(&planting, &(input, expected))]);
}
