//! Bounds of dense systems: what passes and what does not, of matrices that are not normal, and where a failure is.

use holdfast::judge::dense::{System, judge};
use holdfast::method::Method;
use holdfast::problem::dense::{self, DenseProblem};
use holdfast::promise::DensePromise;
use holdfast::results::Verdict;
use holdfast::tensor::{Coefficients, DenseName};
use holdfast::truth::dense_systems::solve as truth;
use nalgebra::DMatrix;
use rstest::rstest;

fn drawn(name: &str) -> DenseProblem {
    dense::all().into_iter().find(|regime| regime.name == name).expect("in the list").draw(1)
}

fn judged(
    method: Method,
    promise: DensePromise,
    problem: &DenseProblem,
    got: &Coefficients,
) -> holdfast::tensor::Named<holdfast::results::TensorResult, DenseName> {
    let systems: Vec<System> = (0..problem.delta.len()).map(|i| System::new(problem, i, promise)).collect();
    judge(method, problem, &systems, got, &truth(method, problem).expect("certified"))
}

/// Results of a careful kernel: the truth, rounded.
fn rounded(method: Method, problem: &DenseProblem) -> Coefficients {
    let Coefficients { a_bar, b_bar } = truth(method, problem).expect("certified");
    let narrow = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
    Coefficients { a_bar: narrow(a_bar), b_bar: narrow(b_bar) }
}

/// e^z in f32: a Taylor series, of z or of so much of it as has a norm below 1, and squares.
fn exponentials(problem: &DenseProblem, halves: bool) -> Vec<f32> {
    let n = problem.n;
    let exponential = |i: usize| {
        let (delta, a, _) = problem.system(i);
        let norm =
            a.row_iter().map(|row| row.iter().map(|a| a.norm()).sum::<f64>()).fold(0.0, f64::max) * delta;
        let halvings = if halves { norm.log2().ceil().max(0.0) as i32 } else { 0 };
        let x = a.map(|a| a.re as f32) * (delta as f32 * 0.5f32.powi(halvings));
        let identity = DMatrix::<f32>::identity(n, n);
        let mut e = identity.clone();
        for k in (1..=40).rev() {
            e = &identity + &x * e / k as f32;
        }
        for _ in 0..halvings {
            e = &e * &e;
        }
        e.transpose().iter().copied().collect::<Vec<f32>>()
    };
    (0..problem.delta.len()).flat_map(exponential).collect()
}

/// The unscaled series loses every digit to cancellation where ‖z‖ is large, and so must not pass; nor must a scaled one fail.
#[rstest]
#[case::not_normal("grcar")]
#[case::contracting("legs")]
fn a_careful_exponential_passes_and_a_bare_series_does_not(#[case] name: &str) {
    let problem = drawn(name);
    let b_bar = rounded(Method::Zoh, &problem).b_bar;
    let with = |halves| {
        let got = Coefficients { a_bar: exponentials(&problem, halves), b_bar: b_bar.clone() };
        judged(Method::Zoh, DensePromise::FAST, &problem, &got)[DenseName::ABar].verdict
    };
    assert_eq!(with(true), Verdict::Pass);
    assert_eq!(with(false), Verdict::Fail);
}

/// By one and a half units of an entry's last place.
#[rstest]
fn what_is_off_by_more_than_a_rounding_fails_where_it_is(
    #[values(Method::Zoh, Method::Bilinear, Method::HighOrder)] method: Method,
) {
    let problem = drawn("stable");
    let right = rounded(method, &problem);
    let all = judged(method, DensePromise::ACCURATE, &problem, &right);
    assert!(all.values().all(|tensor| tensor.verdict == Verdict::Pass));

    let n = problem.n;
    let mut got = right.clone();
    for value in &mut got.a_bar[n * n + 3 * n..n * n + 4 * n] {
        *value *= 1.0 + 3.0 * f32::EPSILON;
    }
    let tensors = judged(method, DensePromise::ACCURATE, &problem, &got);
    let [a_bar, b_bar] = [&tensors[DenseName::ABar], &tensors[DenseName::BBar]];
    assert_eq!((a_bar.verdict, b_bar.verdict), (Verdict::Fail, Verdict::Pass));
    let wrong = &a_bar.wrong[0];
    assert_eq!((wrong.elements, &wrong.first[..]), (n, &[1, 3, 0][..]));
    assert_eq!(wrong.places, ["system 1", "row 3"]);
}

#[test]
fn a_nan_fails() {
    let problem = drawn("stable");
    let mut got = rounded(Method::Bilinear, &problem);
    got.a_bar[5] = f32::NAN;
    let tensors = judged(Method::Bilinear, DensePromise::ACCURATE, &problem, &got);
    assert_eq!(tensors[DenseName::ABar].verdict, Verdict::Fail);
}

/// So near to a pole that f32 cannot tell the matrix from a singular one, and double can; and at the pole itself there is no truth.
#[test]
fn nothing_can_be_judged_beside_a_pole() {
    let mut problem = drawn("stable");

    let n = problem.n;
    assert_eq!(problem.delta[1], 1.0);
    problem.a[n * n..2 * n * n].fill(0.0);
    (0..n).for_each(|i| problem.a[n * n + i * n + i] = 2.0 - 2.0 * f32::EPSILON);
    let right = rounded(Method::Bilinear, &problem);
    let verdict = |promise| judged(Method::Bilinear, promise, &problem, &right)[DenseName::ABar].verdict;
    assert_eq!(verdict(DensePromise::ACCURATE), Verdict::Pass);
    assert_eq!(verdict(DensePromise::FAST), Verdict::Unmeasured);
    (0..n).for_each(|i| problem.a[n * n + i * n + i] = 2.0);
    let error = truth(Method::Bilinear, &problem).expect_err("a pole").to_string();
    assert!(error.contains("system 1"), "{error}");
}
