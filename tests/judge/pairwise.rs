//! Promise: two methods' outputs differ where their truths do, and nowhere else.

use approx::assert_relative_eq;
use holdfast::judge::pairwise::{MethodOutputs, matrices};
use holdfast::judge::ulp::Format;
use holdfast::method::Method;
use holdfast::results::PairStatus;

fn outputs(method: Method, truth: [f64; 2], kernel: [f64; 2]) -> MethodOutputs {
    MethodOutputs {
        form: method.into(),
        format: Format::F32,
        truth: truth.into(),
        kernel: Some(kernel.into()),
        bound: vec![0.01; 2],
    }
}

fn status(left: MethodOutputs, right: MethodOutputs) -> PairStatus {
    matrices(&[left, right], |i| vec![i]).1[0].status
}

#[test]
fn a_difference_within_both_bounds_of_the_truths_agrees() {
    let left = outputs(Method::Zoh, [1.0, 2.0], [1.009, 2.0]);
    let right = outputs(Method::Rk4, [1.0, 3.0], [0.991, 3.009]);
    assert_eq!(status(left, right), PairStatus::Agrees);
}

#[test]
fn outputs_that_coincide_where_the_truth_differs_fail() {
    let left = outputs(Method::Zoh, [1.0, 2.0], [1.0, 2.0]);
    let right = outputs(Method::Rk4, [1.0, 3.0], [1.0, 2.001]);
    assert_eq!(status(left, right), PairStatus::Coincides);
}

#[test]
fn outputs_that_differ_where_the_truth_agrees_fail() {
    let left = outputs(Method::Zoh, [1.0, 2.0], [1.0, 2.0]);
    let right = outputs(Method::Rk4, [1.0, 2.0], [1.0, 2.5]);
    assert_eq!(status(left, right), PairStatus::Differs);
}

#[test]
fn outputs_that_rightly_overflow_are_not_compared() {
    // One of both is stored in f16.
    let half = |left, right| status(MethodOutputs { format: Format::F16, ..left }, right);
    let left = outputs(Method::Zoh, [1.0, 7e4], [1.0, f64::INFINITY]);
    let right = outputs(Method::Rk4, [1.0, 3.0], [1.0, 3.0]);
    assert_eq!(half(left, right.clone()), PairStatus::Agrees);
    let wrongly = outputs(Method::Zoh, [1.0, 6e4], [1.0, f64::INFINITY]);
    assert_eq!(half(wrongly, right), PairStatus::Off);
}

#[test]
fn outputs_that_differ_by_something_else_or_are_not_numbers_fail() {
    let left = outputs(Method::Zoh, [1.0, 2.0], [1.0, 2.0]);
    let right = outputs(Method::Rk4, [1.0, 3.0], [1.0, 2.5]);
    assert_eq!(status(left.clone(), right), PairStatus::Off);
    let nan = outputs(Method::Rk4, [1.0, 3.0], [f64::NAN, 3.0]);
    assert_eq!(status(left, nan), PairStatus::Off);
}

/// Differences of 1/2 and of 1/4, the truth's; the kernel's second one is off by 1/100.
#[test]
fn a_pair_shows_the_figures_of_its_differences() {
    let left = outputs(Method::Zoh, [3.0, 4.0], [3.0, 4.01]);
    let right = outputs(Method::Rk4, [3.5, 4.25], [3.5, 4.25]);
    let right = MethodOutputs { format: Format::F16, ..right };
    let (truth, kernel) = matrices(&[left, right], |i| vec![5, i]);
    let (truth, kernel) = (&truth[0], &kernel[0]);
    assert_eq!((truth.left, truth.right), (Method::Zoh.into(), Method::Rk4.into()));
    assert_eq!((truth.mean, truth.max, &truth.worst_index[..]), (0.375, 0.5, &[5, 0][..]));
    // Relative to the larger of both; between 2 and 4 halves are 256 units in the last of 11 places.
    let largest = (3.5f64.powi(2) + 4.25f64.powi(2)).sqrt();
    assert_relative_eq!(truth.rel_l2, (0.25f64 + 0.0625).sqrt() / largest, max_relative = 1e-15);
    assert_eq!((truth.max_ulp, truth.status, truth.ratio), (256.0, PairStatus::Oracle, 0.0));
    assert_relative_eq!(kernel.mean, 0.37, max_relative = 1e-14);
    assert_relative_eq!(kernel.ratio, 0.5, max_relative = 1e-12);
    assert_eq!((&kernel.worst_index[..], kernel.status), (&[5, 1][..], PairStatus::Agrees));
}

#[test]
fn a_difference_that_cannot_be_told_is_not_shown_as_none() {
    let left = outputs(Method::Zoh, [1.0, 2.0], [1.0, 2.0]);
    let nan = outputs(Method::Rk4, [1.0, 2.0], [f64::NAN, f64::NAN]);
    let pair = &matrices(&[left, nan], |i| vec![i]).1[0];
    assert!(pair.rel_l2.is_nan() && pair.max.is_nan() && !pair.max_ulp.is_finite(), "{pair:?}");
}

#[test]
fn elements_without_a_truth_are_not_compared_and_alone_are_no_pass() {
    let left = outputs(Method::Zoh, [1.0, f64::NAN], [1.0, f64::INFINITY]);
    let right = outputs(Method::Rk4, [1.5, 3.0], [1.5, 7.0]);
    let left = MethodOutputs { bound: vec![0.01, f64::INFINITY], ..left };
    let (truth, kernel) = matrices(&[left.clone(), right.clone()], |i| vec![i]);
    assert_eq!((truth[0].max, kernel[0].max, kernel[0].status), (0.5, 0.5, PairStatus::Agrees));
    let none = MethodOutputs { bound: vec![f64::INFINITY; 2], ..left };
    assert_eq!(status(none, right), PairStatus::Unmeasured);
}
