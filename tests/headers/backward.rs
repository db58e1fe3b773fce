//! Promise: where a header has `compute_discretization_backward`, `verify --header` judges it as it judges coefficients: the right
//! one passes, a wrong one fails in the gradients that are wrong, and nothing of it touches what is said of the forward function.

use std::collections::BTreeSet;

use holdfast::judge::diagnose::Budget;
use holdfast::kernel::Backend;
use holdfast::method::Method::{self, Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};
use holdfast::problem::one_step::OneStep;
use holdfast::problem::plan::Filter;
use holdfast::problem::{InputType, Weights, sweep};
use holdfast::results::{CaseResult, Results, Verdict};
use holdfast::tensor::GradientName::{self, A, B, Delta};
use holdfast::verify::{Passes, Request};
use rstest::rstest;

use crate::fixtures::header;
use crate::support::run::verify;

const NOT_ZOH: &[Method] = &[Foh, Bilinear, Poly, HighOrder, Rk4];
const BOTH: &[Weights] = &Weights::ALL;
const REAL: &[Weights] = &[Weights::Real];
const COMPLEX: &[Weights] = &[Weights::Complex];
const ALL: &[GradientName] = &[Delta, A, B];

fn request(passes: Passes) -> Request {
    let filter = Filter { inputs: vec![InputType::F32], ..Filter::default() };
    Request { filter, sensitivity: false, passes, ..Request::everything(1) }
}

/// Gradients alone.
fn judged(name: &str, methods: &[Method]) -> Results {
    let request = Request { methods: methods.to_vec(), ..request(Passes::Backward) };
    verify(&request, header(&format!("backward/{name}")).as_ref())
}

fn failing(case: &CaseResult) -> Vec<GradientName> {
    let failing = case.tensors.iter().filter(|(_, tensor)| tensor.verdict == Verdict::Fail);
    failing.filter_map(|(name, _)| name.gradient()).collect()
}

#[test]
fn a_right_backward_passes_every_sweep_by_every_method() {
    let results = judged("right", &Method::ALL);
    assert_eq!(results.verdict(), Verdict::Pass);
    // Six sweeps that headers are judged on, half of them complex.
    assert_eq!(results.cases.len(), 6 * Method::ALL.len());
    for case in &results.cases {
        assert!(case.is_backward() && case.regime.starts_with("∂ "), "{}", case.id);
        let width = case.weights.width();
        for (name, tensor) in case.tensors.iter() {
            let of_one = if name.gradient() == Some(Delta) { 1 } else { width };
            assert_eq!(tensor.verdict, Verdict::Pass, "{}, {name}", case.id);
            // Each element by a certified truth.
            assert_eq!((tensor.judged, tensor.quick), (case.shape.dim * of_one, 0), "{}, {name}", case.id);
        }
        assert_eq!(case.tensors.iter().count(), ALL.len());
        let worst = case.worst.as_ref().expect("measured");
        assert!(worst.ratio > 0.0 && worst.inputs.iter().any(|input| input.starts_with("d_A_bar = ")));
    }
    let planned: BTreeSet<&str> = results.planned.iter().flatten().map(String::as_str).collect();
    assert_eq!(planned, results.cases.iter().map(|case| &*case.id).collect());
}

/// One header with faults of many kinds, each at a place of its own, with what it is called there.
#[test]
fn each_fault_fails_in_its_gradients_and_is_named() {
    let faults: &[(Method, &[Weights], &[GradientName], Option<&str>)] = &[
        // How small an error is caught.
        (Zoh, REAL, ALL, None),
        // What is added to is no number.
        (Zoh, COMPLEX, &[A], None),
        (Foh, BOTH, &[A, B], Some("lost-digits")),
        (Bilinear, REAL, &[Delta, A], Some("a-bar-slopes-times-denominator")),
        (Bilinear, COMPLEX, &[A], None),
        (Poly, REAL, &[A], Some("a-without-h")),
        (Poly, COMPLEX, &[Delta], Some("delta-without-h")),
        (HighOrder, COMPLEX, &[A], Some("derivatives-unconjugated")),
        (Rk4, BOTH, &[B], Some("h-in-products-of-zoh")),
    ];
    let fault_of = |case: &CaseResult| {
        let is_it = |(method, weights, ..): &&(Method, &[Weights], _, _)| {
            case.method == *method && weights.contains(&case.weights)
        };
        faults.iter().find(is_it)
    };
    let backend = header("several");
    let request = Request { diagnosis: Budget::Off, ..request(Passes::Backward) };
    let results = verify(&request, backend.as_ref());
    assert_eq!(results.cases.len(), 6 * Method::ALL.len());
    for case in &results.cases {
        let wrong = fault_of(case).map_or(&[][..], |(_, _, gradients, _)| gradients);
        assert_eq!(failing(case), wrong, "{}", case.id);
        assert_eq!(case.verdict, if wrong.is_empty() { Verdict::Pass } else { Verdict::Fail }, "{}", case.id);
        assert!(case.tensors.values().all(|tensor| tensor.diagnosis.is_empty()), "{}", case.id);
        if case.method == Zoh && case.weights == Weights::Complex {
            let reason = &case.tensors[A].reason;
            assert!(reason.starts_with("every element is NaN (hint: "), "{reason}");
        }
    }
    // In hard places a model itself may be nothing but rounding, and a quotient no number.
    let is_named = |case: &&CaseResult| {
        let is_first = |weights: &[Weights], name: &Option<_>| name.is_some() && weights[0] == case.weights;
        case.regime.contains("band")
            && fault_of(case).is_some_and(|(_, weights, _, name)| is_first(weights, name))
    };
    let only = results.cases.iter().filter(is_named).map(|case| case.id.clone()).collect();
    let results =
        verify(&Request { only: Some(only), diagnosis: Budget::Thorough, ..request }, backend.as_ref());
    let mut named = 0;
    for case in &results.cases {
        let Some((_, _, gradients, Some(name))) = fault_of(case) else { panic!("{}", case.id) };
        for &gradient in *gradients {
            let found = case.tensors[gradient].diagnosis.first().map(|found| &*found.name);
            assert_eq!(found, Some(*name), "{}, {gradient}", case.id);
            named += 1;
        }
    }
    assert!(named >= 8, "{named}");
}

#[rstest]
#[case("of-zoh", NOT_ZOH, BOTH, ALL)]
#[case("unconjugated", &Method::ALL, COMPLEX, &[A])]
#[case("input-held", NOT_ZOH, BOTH, &[A])]
#[case("delta-of-a-bar", &Method::ALL, BOTH, &[Delta])]
#[case("b-held", NOT_ZOH, BOTH, &[B])]
#[case("unsquared", &[Bilinear], BOTH, &[Delta, A])]
#[case("slightly-off", &Method::ALL, BOTH, ALL)]
#[ignore = "`several.cuh` has a fault of each kind: .ci/long"]
fn a_wrong_backward_fails_in_the_gradients_that_are_wrong(
    #[case] name: &str,
    #[case] methods: &[Method],
    #[case] weights: &[Weights],
    #[case] gradients: &[GradientName],
) {
    let request = Request { diagnosis: Budget::Off, ..request(Passes::Backward) };
    let results = verify(&request, header(&format!("backward/{name}")).as_ref());
    assert_eq!(results.cases.len(), 6 * Method::ALL.len());
    for case in &results.cases {
        let method = case.method.method().expect("a method");
        let faulty = methods.contains(&method) && weights.contains(&case.weights);
        assert_eq!(failing(case), if faulty { gradients } else { &[] }, "{}", case.id);
        assert_eq!(case.verdict, if faulty { Verdict::Fail } else { Verdict::Pass }, "{}", case.id);
        assert!(case.tensors.values().all(|tensor| tensor.diagnosis.is_empty()), "{}", case.id);
    }
}

/// Of these methods, where it fails.
#[rstest]
#[case("of-zoh", NOT_ZOH, &["backward-of-zoh", "slopes-of-zoh", "a-without-h", "h-in-b-of-zoh"])]
#[case("unconjugated", &Method::ALL, &["derivatives-unconjugated"])]
#[case("input-held", NOT_ZOH, &["a-without-h"])]
#[case("delta-of-a-bar", &Method::ALL, &["delta-without-h"])]
#[case("b-held", NOT_ZOH, &["h-in-b-of-zoh"])]
#[case("unsquared", &[Bilinear], &["a-bar-slopes-times-denominator"])]
#[ignore = "`several.cuh` has a fault of each kind: .ci/long"]
fn the_cause_of_a_wrong_backward_is_named(
    #[case] name: &str,
    #[case] methods: &[Method],
    #[case] names: &[&str],
) {
    let results = judged(name, methods);
    let mut found_in = 0;
    for case in &results.cases {
        // In hard places a model itself may be nothing but rounding.
        if case.regime.contains("hard") && name != "delta-of-a-bar" {
            continue;
        }
        for gradient in failing(case) {
            let found = case.tensors[gradient].diagnosis.first().map(|found| &*found.name);
            assert!(found.is_some_and(|found| names.contains(&found)), "{}, {gradient}: {found:?}", case.id);
            found_in += 1;
        }
    }
    assert!(found_in >= 2 * methods.len(), "{found_in} gradients");
}

#[test]
#[ignore = "the guide shows it of foh: .ci/long"]
fn the_backward_of_another_method_is_named_so_where_all_of_it_is() {
    let results = judged("of-zoh", &[Foh, Poly, HighOrder]);
    for case in results.cases.iter().filter(|case| !case.regime.contains("hard")) {
        for &gradient in ALL {
            assert_eq!(case.tensors[gradient].diagnosis[0].name, "backward-of-zoh", "{}", case.id);
        }
    }
}

#[test]
#[ignore = "`several.cuh` loses digits in foh: .ci/long"]
fn lost_digits_are_told_from_a_wrong_derivative() {
    let results = judged("loses-digits", &[Foh, Poly, HighOrder]);
    for case in results.cases {
        let lost: &[GradientName] = if case.method == Foh { &[A, B] } else { &[] };
        assert_eq!(failing(&case), lost, "{}", case.id);
        // Beside z = 0 the quotient is no number, in double neither.
        if lost.is_empty() || !case.regime.contains("band") {
            continue;
        }
        for &name in lost {
            assert_eq!(case.tensors[name].diagnosis[0].name, "lost-digits", "{}, {name}", case.id);
        }
    }
}

/// What does not compile for complex weights, and crashes with real ones.
#[test]
fn a_broken_backward_leaves_the_forward_verdict() {
    let name = "backward/does-not-compile";
    let backend = header(name);
    let request = Request { methods: vec![Foh], ..request(Passes::Both) };
    // All that is judged beside regimes, and of these one.
    let of_regimes = |id: &String| id.contains("/f32/") && !id.starts_with("short/");
    let only = request.plan(backend.promise()).into_iter().filter(|id| !of_regimes(id)).collect();
    let results = verify(&Request { only: Some(only), ..request }, backend.as_ref());
    let (backward, forward): (Vec<_>, Vec<_>) = results.cases.iter().partition(|case| case.is_backward());
    assert_eq!((backward.len(), results.coefficients.len(), forward.len()), (6, 6, 8));
    assert!(forward.iter().all(|case| case.verdict == Verdict::Pass));
    assert!(results.coefficients.iter().all(|sweep| sweep.verdict == Verdict::Pass));
    assert!(
        results.invariants.len() > 10 && results.invariants.iter().all(|law| law.verdict == Verdict::Pass)
    );
    for case in backward {
        let reason = match case.weights {
            Weights::Real => "kernel fault: the worker process died",
            Weights::Complex => "its compute_discretization_backward does not compile for complex weights: ",
        };
        assert_eq!(case.verdict, Verdict::Fail, "{}", case.id);
        assert!(case.reason.starts_with(reason), "{}: {}", case.id, case.reason);
    }
    assert_eq!(Weights::ALL.map(|weights| backend.rejected_backward(weights).is_some()), [false, true]);
}

#[test]
fn a_header_without_a_backward_has_no_gradients() {
    let backend = header("accurate");
    assert!(!backend.promise().differentiates);
    let plan = request(Passes::Both).plan(backend.promise());
    assert!(!plan.is_empty() && plan.iter().all(|id| !id.starts_with("derivatives/")));
    let sweep = sweep::all().remove(0);
    assert!(backend.coefficient_gradients(Zoh, &OneStep::of(&sweep, 1)).is_none());
    // Regimes alone have no sweep of either kind.
    let right = header("backward/right").promise();
    let asked = request(Passes::Both).plan(right).len() - plan.len();
    assert_eq!(asked, 6 * Method::ALL.len());
    assert_eq!(request(Passes::Forward).plan(right), plan);
}

#[test]
fn given_gradients_are_exactly_those_of_one_step() {
    for sweep in sweep::all().into_iter().filter(|sweep| !sweep.whole_range) {
        let OneStep { coefficients, grad_a_bar, grad_b_bar, problem, given } = OneStep::of(&sweep, 1);
        let (g, x) = (given.dlast_state.expect("there"), problem.initial_state.expect("there"));
        let width = sweep.weights.width();
        let wide = |values: &[f32], i: usize| {
            let im = if width == 2 { f64::from(values[2 * i + 1]) } else { 0.0 };
            (f64::from(values[i * width]), im)
        };
        let mut alone = [0, 0];
        for i in 0..coefficients.delta.len() {
            let ((g_re, g_im), (x_re, x_im)) = (wide(&g, i), wide(&x, i));
            let product = (g_re * x_re + g_im * x_im, g_im * x_re - g_re * x_im);
            assert_eq!(wide(&grad_a_bar, i), product, "{}, {i}", sweep.name);
            let u = f64::from(problem.u[i]);
            assert_eq!(wide(&grad_b_bar, i), (g_re * u, g_im * u), "{}, {i}", sweep.name);
            alone[0] += usize::from(product == (0.0, 0.0));
            alone[1] += usize::from(u == 0.0);
        }
        let n = coefficients.delta.len();
        assert!(alone.into_iter().all(|count| count > n / 10 && count < n / 3), "{alone:?} of {n}");
    }
}
