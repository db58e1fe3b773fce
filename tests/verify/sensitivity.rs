//! Promise: how small a relative error of Ā and of B̄ is caught is measured, and at most 2⁻²⁰ in the short f32 regimes; the same of
//! their derivatives, and at most 2⁻¹⁶ there.

use holdfast::judge::diagnose::Budget;
use holdfast::kernel::{CpuBackend, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{InputType, regime};
use holdfast::report::precision;
use holdfast::results::{GradientSensitivity, Results, Sensitivity, Verdict};
use holdfast::verify::{Passes, Request};

use crate::altered::{Altered, SOUND};
use crate::support::run::verify;

fn request(regimes: Vec<&'static regime::Regime>) -> Request {
    let filter = Filter { regimes, inputs: vec![InputType::F32], ..Filter::default() };
    Request { filter, passes: Passes::Forward, ..Request::everything(1) }
}

fn run(request: &Request, backend: &CpuBackend) -> Results {
    verify(request, backend)
}

#[test]
fn two_to_the_minus_20_is_caught_in_the_short_regimes_by_the_verdict_itself() {
    let request = request(regime::all().iter().filter(|r| r.short).collect());
    let results = run(&request, &CpuBackend::new());
    assert_eq!(results.sensitivity.len(), 12);
    let id = |one: &Sensitivity| format!("{}/{}", one.problem, one.method);
    // Nothing but what was measured.
    let only = Some(results.sensitivity.iter().map(id).collect());
    let quiet = Request { sensitivity: false, diagnosis: Budget::Off, only, ..request };
    for one in &results.sensitivity {
        let (a_bar, b_bar) = (one.a_bar.expect("caught"), one.b_bar.expect("caught"));
        assert!(a_bar <= -20 && b_bar <= -20, "{one:?}");
    }
    // What was measured is what a run of such a kernel says.
    let verdict = |results: &Results, one: &Sensitivity| {
        results.cases.iter().find(|case| case.id == id(one)).expect("the same cases").verdict
    };
    for exponent in -23..=-18 {
        let size = 2f64.powi(exponent);
        let (a, b) =
            (run(&quiet, &CpuBackend::perturbed(size, 0.0)), run(&quiet, &CpuBackend::perturbed(0.0, size)));
        for one in &results.sensitivity {
            let caught = |threshold: Option<i32>| threshold.is_some_and(|t| exponent >= t);
            assert_eq!(verdict(&a, one) == Verdict::Fail, caught(one.a_bar), "Ā 2^{exponent} {one:?}");
            assert_eq!(verdict(&b, one) == Verdict::Fail, caught(one.b_bar), "B̄ 2^{exponent} {one:?}");
        }
    }
    let lines = precision::sensitivity(&results);
    assert!(lines.len() == 2 && lines[0].contains("caught in the short regime"), "{lines:?}");
}

#[test]
fn a_regime_that_cannot_show_an_error_says_so() {
    let blind = ["u-zero", "l1"].map(|name| regime::find(name).expect("in the table"));
    for one in run(&request(blind.to_vec()), &CpuBackend::new()).sensitivity {
        assert_eq!(one.a_bar, None, "nothing is multiplied by the first Ā: {one:?}");
        assert_eq!(one.b_bar.is_none(), one.regime == "u-zero", "{one:?}");
    }
}

/// The perturbed kernels are the production ones, and the reference path is judged by bounds that are not theirs.
#[test]
fn a_run_of_the_reference_path_claims_nothing_of_the_kernels() {
    let request = request(vec![regime::find("short").expect("a regime")]);
    let results = verify(&request, &ReferenceBackend);
    assert_eq!(results.verdict(), Verdict::Pass);
    assert!(results.sensitivity.is_empty());
    assert_eq!(results.kernel_source, "");
}

fn of_gradients() -> Request {
    let regimes = ["short", "u-zero"].map(|name| regime::find(name).expect("in the table")).to_vec();
    let filter = Filter { regimes, inputs: vec![InputType::F32], ..Filter::default() };
    Request { filter, passes: Passes::Backward, ..Request::everything(1) }
}

#[test]
fn two_to_the_minus_16_is_caught_of_every_derivative_in_the_short_regime() {
    let results = run(&of_gradients(), &CpuBackend::new());
    let (short, silent): (Vec<&GradientSensitivity>, Vec<_>) =
        results.gradient_sensitivity.iter().partition(|one| one.regime == "short");
    assert_eq!((short.len(), silent.len()), (12, 12));
    for one in short {
        let [rest @ .., h_by_a] = one.derivatives();
        assert!(rest.iter().all(|caught| caught.is_some_and(|exponent| exponent <= -16)), "{one:?}");
        assert_eq!(h_by_a.is_none(), one.method == Method::Zoh, "h is Δ: {one:?}");
        assert!(h_by_a.is_none_or(|exponent| exponent <= -16), "{one:?}");
    }
    // Without an input states are 0, and neither Ā nor h has a share in anything.
    assert!(silent.iter().all(|one| one.derivatives() == [None; 4]), "{silent:?}");
    let lines = precision::sensitivity(&results);
    assert!(
        lines.len() == 2 && lines[0].starts_with("real gradients: of every method some regime shows"),
        "{lines:?}"
    );
    assert!(lines[0].ends_with("measured in 2 of 2 regimes"), "{lines:?}");
    let quiet = Request { sensitivity: false, ..of_gradients() };
    assert!(run(&quiet, &CpuBackend::new()).gradient_sensitivity.is_empty());
}

/// Planted in what the kernels return, by the model of a backward pass with that very error: the errors are proportional to its size,
/// and the verdict that was foreseen is the one of a run.
#[test]
fn what_was_measured_of_a_derivative_is_what_a_run_of_such_a_kernel_says() {
    type Measured = fn(&GradientSensitivity) -> Option<i32>;
    const DERIVATIVES: [Measured; 4] =
        [|one| one.a_bar_by_delta, |one| one.h_by_delta, |one| one.a_bar_by_a, |one| one.h_by_a];
    let mut request = Request { methods: vec![Method::Foh], ..of_gradients() };
    request.filter.regimes.truncate(1);
    let measured = run(&request, &CpuBackend::new()).gradient_sensitivity;
    assert_eq!(measured.len(), 2);
    let quiet = Request { sensitivity: false, diagnosis: Budget::Off, ..request };
    for one in &measured {
        for (derivative, of) in DERIVATIVES.into_iter().enumerate() {
            let least = of(one).expect("caught");
            for exponent in [least - 1, least] {
                let planted = Some((derivative, 2f64.powi(exponent)));
                let results = verify(&quiet, &Altered { planted, ..SOUND });
                let id = format!("{}/{}/backward", one.problem, one.method);
                let case = results.cases.iter().find(|case| case.id == id).expect("the same cases");
                assert_eq!(case.verdict == Verdict::Fail, exponent == least, "2^{exponent} {one:?}");
            }
        }
    }
}
