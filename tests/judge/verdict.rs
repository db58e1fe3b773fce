//! Promise: what is no number never passes, what is not judged neither, and the worst part decides.

use approx::assert_relative_eq;
use holdfast::judge::lifting;
use holdfast::judge::quick::{QuickTally, RADIUS};
use holdfast::judge::ulp::Format;
use holdfast::judge::verdict::{Distance, Element, Tally};
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
fn share_leaves_out_the_rounding_on_store_up_to_the_bound_and_is_the_ratio_beyond() {
    let at = |error: f64| Element { got: 1.0 + error, want: 1.0, bound: 0.75, store: 0.5 };
    let distance = |error: f64| at(error).distance(Format::F16);
    assert_eq!((distance(0.5).share, distance(0.5).ratio), (0.0, 0.5 / 0.75));
    assert_eq!((distance(0.625).share, distance(0.75).share), (0.5, 1.0));
    for beyond in [0.7500001, 1.5, 1e6] {
        let Distance { share, ratio, .. } = distance(beyond);
        assert!(ratio > 1.0);
        assert_eq!(share, ratio);
    }
}

/// Errors of 1/2 in 3 and of 1/4 in 4, of which the second uses more of its bound; an element without a bound, which is not
/// judged; and an overflow that is right.
const COMPARED: [Element; 4] = [
    Element { got: 3.5, want: 3.0, bound: 1.0, store: 0.0 },
    Element { got: 100.0, want: 1.0, bound: f64::INFINITY, store: 0.0 },
    Element { got: -4.25, want: -4.0, bound: 0.3, store: 0.0 },
    Element { got: f64::INFINITY, want: f64::INFINITY, bound: 1.0, store: 0.0 },
];
/// √(1/4 + 1/16) / 5
const REL_L2: f64 = 0.111_803_398_874_989_5;
/// Between 2 and 4, halves are 256 units in the last of 11 places.
const MAX_ULP: f64 = 256.0;
const SHARE: f64 = 0.25 / 0.3;

#[test]
fn a_comparison_shows_the_figures_of_its_elements() {
    let mut tally = Tally::default();
    COMPARED.into_iter().for_each(|element| tally.add(element, Format::F16));
    let (position, element, distance) = tally.worst.expect("some are judged");
    assert_eq!((position, element.want, distance.share), (2, -4.0, SHARE));
    assert_eq!((tally.judged, tally.unbounded, tally.max_ulp), (4, Some(1), MAX_ULP));
    assert_relative_eq!(tally.rel_l2(), REL_L2, max_relative = 1e-15);
    assert!(tally.passes() && !tally.fails());
    tally.add(Element { got: 1.0, want: 0.0, bound: 0.5, store: 0.0 }, Format::F16);
    assert!(tally.fails() && !tally.passes());
}

#[test]
fn the_quick_route_shows_the_same_figures_at_once_and_in_parts() {
    let of = |range: std::ops::Range<usize>| {
        let mut tally = QuickTally::default();
        for i in range {
            let element = COMPARED[i];
            tally.add((7, i), [element; 2], (2.0 * element.bound, RADIUS * element.bound), Format::F16);
        }
        tally
    };
    for parts in 0..=COMPARED.len() {
        let mut tally = of(0..parts);
        tally.absorb(&of(parts..COMPARED.len()));
        let (row, position, element) = tally.worst.expect("some are judged");
        assert_eq!((row, position, element.want, tally.share), (7, 2, -4.0, SHARE), "{parts}");
        let counts = (tally.passed, tally.failed, tally.open, tally.unbounded, tally.elements());
        assert_eq!(counts, (2, 0, 1, 1, 4), "{parts}");
        assert_eq!((tally.max_ulp, tally.worst_case_ratio), (MAX_ULP, SHARE / 2.0), "{parts}");
        assert_relative_eq!(tally.rel_l2(), REL_L2, max_relative = 1e-15);
    }
}

/// The same elements as if double had computed what is wanted but for 1/8 in 3.
#[test]
fn a_lifted_run_shows_how_much_is_rounding_and_how_much_is_not() {
    let (got, lifted, want) = ([3.5, -4.25], [3.125, -4.0], [3.0, -4.0]);
    let found =
        lifting::parts(Verdict::Pass, Some(&got), &lifted, &want, (&[1.0, 0.3], &[0.0; 2], &[0.25, 1.0]));
    assert_eq!((found.rounding.max, found.truncation.max), (0.375, 0.125));
    assert_relative_eq!(found.rounding.share, SHARE, max_relative = 1e-15);
    assert_relative_eq!(found.truncation.share, 0.5, max_relative = 1e-12);
    assert_relative_eq!(
        found.rounding.rel_l2,
        (0.375f64.powi(2) + 0.25f64.powi(2)).sqrt() / 5.0,
        max_relative = 1e-15
    );
    assert_relative_eq!(found.truncation.rel_l2, 0.125 / 5.0, max_relative = 1e-15);
    // The whole error is larger by the quotient of both norms.
    assert_relative_eq!(found.shrink.expect("both err"), (REL_L2 / 0.025).log2(), max_relative = 1e-14);
    assert_eq!(found.verdict, Verdict::Pass);
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
