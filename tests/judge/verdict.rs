//! Promise: what is no number never passes, what is not judged neither, and the worst part decides.

use holdfast::judge::ulp::Format;
use holdfast::judge::verdict::{Element, Tally};
use holdfast::results::Verdict::{self, Fail, Pass, Unmeasured};

fn ratio(got: f64, want: f64, bound: f64) -> f64 {
    Element { got, want, bound, store: 0.0 }.distance(Format::F16).ratio
}

#[test]
fn nan_never_passes_whatever_the_bound() {
    assert_eq!(ratio(f64::NAN, 1.0, 1e300), f64::INFINITY);
    assert_eq!(ratio(f64::NAN, f64::NAN, 1.0), f64::INFINITY);
    assert_eq!(ratio(1.0, 1.0, f64::NAN), f64::INFINITY);
}

#[test]
fn infinity_passes_only_beyond_the_overflow_threshold_with_the_right_sign() {
    assert_eq!(ratio(f64::INFINITY, 70000.0, 1.0), 0.0);
    assert_eq!(ratio(f64::NEG_INFINITY, 70000.0, 1.0), f64::INFINITY);
    assert_eq!(ratio(f64::INFINITY, 60000.0, 1.0), f64::INFINITY);
    assert_eq!(ratio(f64::INFINITY, 65519.5, 1.0), 0.0);
    assert_eq!(ratio(65504.0, 70000.0, 1.0), f64::INFINITY);
}

#[test]
fn zero_error_passes_a_zero_bound_and_any_error_fails_it() {
    assert_eq!(ratio(0.0, 0.0, 0.0), 0.0);
    assert_eq!(ratio(-0.0, 0.0, 0.0), 0.0);
    assert_eq!(ratio(1e-30, 0.0, 0.0), f64::INFINITY);
}

#[test]
fn share_leaves_out_the_rounding_on_store_and_crosses_one_with_the_ratio() {
    let at = |error: f64| Element { got: 1.0 + error, want: 1.0, bound: 0.75, store: 0.5 };
    let distance = |error: f64| at(error).distance(Format::F16);
    assert_eq!((distance(0.5).share, distance(0.5).ratio), (0.0, 0.5 / 0.75));
    assert_eq!((distance(0.625).share, distance(0.75).share), (0.5, 1.0));
    assert!(distance(0.7500001).share > 1.0 && distance(0.7500001).ratio > 1.0);
}

#[test]
fn an_empty_comparison_does_not_pass() {
    assert!(!Tally::default().passes());
}

#[test]
fn the_worst_part_decides_and_nothing_is_no_pass() {
    for (parts, whole) in [
        (&[][..], Unmeasured),
        (&[Pass, Pass], Pass),
        (&[Pass, Unmeasured, Pass], Unmeasured),
        (&[Unmeasured, Fail, Pass], Fail),
    ] {
        assert_eq!(Verdict::of_all(parts.iter().copied()), whole, "{parts:?}");
    }
}
