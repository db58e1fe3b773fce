//! Promise: how small an error of a derivative is caught is shown for what was measured, and nothing is said of the rest.

use holdfast::method::Method;
use holdfast::problem::Weights;
use holdfast::report::{markdown, precision};
use holdfast::results::{CaseResult, GradientSensitivity, Results};

use crate::fixture;
use crate::pages::page;

fn one(method: Method, regime: &str, [a, b, c, d]: [Option<i32>; 4]) -> GradientSensitivity {
    GradientSensitivity {
        method,
        weights: Weights::Real,
        regime: regime.to_owned(),
        problem: String::new(),
        a_bar_by_delta: a,
        h_by_delta: b,
        a_bar_by_a: c,
        h_by_a: d,
    }
}

fn line(measured: Vec<GradientSensitivity>) -> (Results, String) {
    let mut results = fixture::with_gradients(fixture::small());
    results.sensitivity.clear();
    let run = results.cases.iter().find(|case| case.is_backward()).expect("a backward case").clone();
    let of = |one: &GradientSensitivity| CaseResult { regime: one.regime.clone(), ..run.clone() };
    results.cases.extend(measured.iter().map(of));
    results.gradient_sensitivity = measured;
    let lines = precision::sensitivity(&results);
    assert_eq!(lines.len(), 1, "{lines:?}");
    (results, lines[0].clone())
}

#[test]
fn the_smallest_error_of_the_blindest_method_is_said() {
    let (zoh, foh) = (Method::Zoh, Method::Foh);
    let (results, said) = line(vec![
        one(zoh, "short", [Some(-15), Some(-16), Some(-17), None]),
        one(zoh, "far", [Some(-20), None, None, None]),
        one(foh, "short", [Some(-18), Some(-14), Some(-19), Some(-13)]),
        one(foh, "far", [Some(-10), Some(-21), Some(-21), Some(-21)]),
    ]);
    assert_eq!(
        said,
        "real gradients: of every method some regime shows a relative error of 2^-18 in ∂Ā/∂Δ, 2^-16 in ∂h/∂Δ, \
         2^-17 in ∂Ā/∂A and 2^-21 in ∂h/∂A, with h = B̄/B, and the short one errors of 2^-15, 2^-14, 2^-17 and 2^-13; \
         measured in 2 of 3 regimes"
    );
    let html = page(&results).replace("&#x2f;", "/");
    for part in ["∂Ā/∂Δ · ∂h/∂Δ · ∂Ā/∂A · ∂h/∂A by regime and method", "2⁻¹⁵ · 2⁻¹⁶ · 2⁻¹⁷ · none", &said]
    {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("Ā · B̄ by regime"), "nothing of it was measured");
    assert!(markdown::page(&results).unwrap().contains(&said));
}

#[test]
fn what_was_not_measured_is_told_from_what_is_not_caught() {
    let zoh = Method::Zoh;
    let (_, said) = line(vec![one(zoh, "far", [Some(-20), None, Some(-9), None])]);
    assert!(said.contains("2^-20 in ∂Ā/∂Δ, none in ∂h/∂Δ, 2^-9 in ∂Ā/∂A and – in ∂h/∂A"), "{said}");
    assert!(!said.contains("short"), "{said}");
}
