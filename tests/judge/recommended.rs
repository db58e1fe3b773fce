//! Promise: what is recommended of a new revision follows from how many comparisons came to what, and says each number.

use holdfast::judge::recommendation::{is_worse, recommend};
use holdfast::judge::revisions::compare;
use holdfast::method::Method;
use holdfast::problem::elements::Elements;
use holdfast::problem::{CoefficientProblem, Operand, Weights};
use holdfast::results::revisions::Change::{
    self, BothBroken, BothWrong, Broken, Closer, Equal, Farther, Mended, Mixed, Rounding, Unmeasured,
};
use holdfast::results::revisions::MethodDiff;
use rstest::rstest;

/// A comparison of nothing that came to this.
fn comparison(change: Change) -> MethodDiff {
    let elements = Elements { u: Vec::new(), coefficients: CoefficientProblem::new(Weights::Real) };
    let nothing = || Ok((&[][..], &[][..]));
    let blank = compare(Method::Zoh, Operand::Constant, &elements, nothing(), nothing(), Err(String::new()));
    MethodDiff { change, ..blank }
}

fn said_of(counts: &[(Change, usize)]) -> String {
    let comparisons: Vec<MethodDiff> =
        counts.iter().flat_map(|&(change, count)| (0..count).map(move |_| comparison(change))).collect();
    recommend(&comparisons)
}

/// Counts that are told from each other's sums, differences and products.
#[rstest]
#[case::equal(&[(Equal, 2)], "no need to take it: equal on 2")]
#[case::rounding(&[(Rounding, 2)], "take it or leave it: equal on 2")]
#[case::equal_and_rounding(&[(Equal, 2), (Rounding, 3)], "take it or leave it: equal on 5")]
#[case::closer(&[(Closer, 2)], "take it: closer on 2, worse on none")]
#[case::closer_and_equal(&[(Closer, 2), (Equal, 1)], "take it: closer on 2, equal on 1, worse on none")]
#[case::mended(&[(Mended, 2)], "take it: mended on 2")]
#[case::closer_and_mended(&[(Closer, 2), (Mended, 3)], "take it: closer on 2, mended on 3")]
#[case::farther(&[(Farther, 2)], "leave it: farther on 2")]
#[case::broken(&[(Broken, 3)], "leave it: broken on 3")]
#[case::farther_and_broken(&[(Farther, 2), (Broken, 3)], "leave it: farther on 2, broken on 3")]
#[case::mixed(&[(Mixed, 2)], "do not take it as it is: closer and farther on 2")]
#[case::closer_and_farther(&[(Closer, 1), (Farther, 1)], "do not take it as it is: closer on 1, farther on 1")]
#[case::closer_and_mixed(
    &[(Closer, 1), (Mixed, 2)],
    "do not take it as it is: closer on 1, closer and farther on 2"
)]
#[case::mended_and_broken(&[(Mended, 1), (Broken, 1)], "do not take it as it is: mended on 1, broken on 1")]
#[case::wrong(&[(BothWrong, 2), (Equal, 1)], "neither is right: equal on 1, both wrong on 2")]
#[case::wrong_and_unknown(
    &[(BothWrong, 1), (Unmeasured, 2)],
    "neither is right: both wrong on 1, unmeasured on 2"
)]
#[case::wrong_and_closer(
    &[(BothWrong, 2), (Closer, 1)],
    "better on some, and neither is right on others: closer on 1, both wrong on 2"
)]
#[case::wrong_and_mended(
    &[(BothWrong, 2), (Mended, 1)],
    "better on some, and neither is right on others: mended on 1, both wrong on 2"
)]
#[case::wrong_and_farther(&[(BothWrong, 2), (Farther, 1)], "leave it: farther on 1, both wrong on 2")]
#[case::broken_twice(&[(BothBroken, 2)], "nothing can be said: still broken on 2")]
#[case::unmeasured(&[(Unmeasured, 3)], "nothing can be said: unmeasured on 3")]
#[case::nothing_known(
    &[(BothBroken, 1), (Unmeasured, 2)],
    "nothing can be said: still broken on 1, unmeasured on 2"
)]
#[case::equal_and_unknown(
    &[(Equal, 1), (BothBroken, 1)],
    "no difference that matters where it could be told: equal on 1, still broken on 1"
)]
#[case::rounding_and_unknown(
    &[(Rounding, 1), (Unmeasured, 2)],
    "no difference that matters where it could be told: equal on 1, unmeasured on 2"
)]
#[case::closer_and_unmeasured(
    &[(Closer, 1), (Unmeasured, 1)],
    "better where it could be told: closer on 1, unmeasured on 1"
)]
#[case::mended_and_still_broken(
    &[(Mended, 1), (BothBroken, 1)],
    "better where it could be told: mended on 1, still broken on 1"
)]
#[case::farther_and_unmeasured(
    &[(Equal, 1), (Farther, 1), (Unmeasured, 1)],
    "leave it: equal on 1, farther on 1, unmeasured on 1"
)]
#[case::all_there_is(
    &[
        (Equal, 1), (Rounding, 2), (Closer, 3), (Farther, 4), (Mixed, 5), (BothWrong, 6), (Mended, 7), (Broken, 8),
        (BothBroken, 9), (Unmeasured, 10),
    ],
    "do not take it as it is: closer on 3, mended on 7, equal on 3, farther on 4, closer and farther on 5, both wrong on 6, \
     broken on 8, still broken on 9, unmeasured on 10"
)]
fn the_advice_follows_from_the_counts(#[case] counts: &[(Change, usize)], #[case] said: &str) {
    assert_eq!(said_of(counts), said);
}

/// Up to one bound, this included, a value is as specified; what is no number is not.
#[rstest]
#[case::at_the_bound(Some(1.0), "")]
#[case::within(Some(0.25), "")]
#[case::it_did_not_run(None, "")]
#[case::just_beyond(Some(1.0 + f64::EPSILON), "; the new one is outside the specification on 1")]
#[case::far_beyond(Some(f64::INFINITY), "; the new one is outside the specification on 1")]
#[case::no_number(Some(f64::NAN), "; the new one is outside the specification on 1")]
fn a_new_revision_beyond_a_bound_is_said_to_be(#[case] worst: Option<f64>, #[case] said: &str) {
    let closer = MethodDiff { new_worst: worst, ..comparison(Closer) };
    assert_eq!(recommend(&[closer]), format!("take it: closer on 1, worse on none{said}"));
}

/// What only the new revision runs on has to be right for it to be taken; what is closer, and still wrong, is no worse than before.
#[test]
fn what_is_mended_and_wrong_is_not_to_be_taken_for_that() {
    let wrong = |change| MethodDiff { new_worst: Some(3.0), ..comparison(change) };
    let outside = "the new one is outside the specification on";
    assert_eq!(
        recommend(&[wrong(Mended)]),
        format!("it runs where the old one does not, but not to specification: mended on 1; {outside} 1")
    );
    assert_eq!(
        recommend(&[comparison(Closer), wrong(Mended), wrong(Equal)]),
        format!(
            "it runs where the old one does not, but not to specification: closer on 1, mended on 1, equal on 1; {outside} 2"
        )
    );
    assert_eq!(
        recommend(&[wrong(Closer), comparison(Mended)]),
        format!("take it: closer on 1, mended on 1; {outside} 1")
    );
    assert_eq!(
        recommend(&[wrong(Equal), wrong(Rounding), wrong(Equal), comparison(Equal)]),
        format!("take it or leave it: equal on 4; {outside} 3")
    );
}

/// The number is that of values, over all comparisons, and any of them makes what is said uncertain.
#[test]
fn values_that_differ_without_a_bound_are_counted_and_no_advice_hides_them() {
    let unbounded = |change, unbounded| MethodDiff { unbounded, ..comparison(change) };
    assert_eq!(
        recommend(&[unbounded(Closer, 2), unbounded(Rounding, 3)]),
        "better where it could be told: closer on 1, equal on 1, 5 values differ where there is no bound"
    );
    assert_eq!(
        recommend(&[unbounded(Rounding, 2), comparison(Equal)]),
        "no difference that matters where it could be told: equal on 2, 2 values differ where there is no bound"
    );
    assert_eq!(
        recommend(&[unbounded(Unmeasured, 7)]),
        "nothing can be said: unmeasured on 1, 7 values differ where there is no bound"
    );
    assert_eq!(
        recommend(&[unbounded(Rounding, 1)]),
        "no difference that matters where it could be told: equal on 1, 1 value differs where there is no bound"
    );
    assert_eq!(recommend(&[]), "nothing can be said");
}

#[rstest]
#[case(Equal, false)]
#[case(Rounding, false)]
#[case(Closer, false)]
#[case(Farther, true)]
#[case(Mixed, true)]
#[case(BothWrong, false)]
#[case(Mended, false)]
#[case(Broken, true)]
#[case(BothBroken, true)]
#[case(Unmeasured, true)]
fn one_comparison_that_is_worse_or_unknown_is_enough(#[case] change: Change, #[case] worse: bool) {
    let others = || [comparison(Equal), comparison(Closer)];
    assert!(!is_worse(&others()));
    let [first, second] = others();
    assert_eq!(is_worse(&[first, second, comparison(change)]), worse);
    let [first, second] = others();
    assert_eq!(is_worse(&[comparison(change), first, second]), worse);
}

#[test]
fn a_value_that_is_farther_is_worse_also_where_both_are_wrong() {
    assert!(!is_worse(&[]));
    assert!(is_worse(&[MethodDiff { farther: 1, ..comparison(BothWrong) }]));
    // Of other changes it is the change that says so.
    assert!(!is_worse(&[MethodDiff { farther: 1, ..comparison(Closer) }]));
    assert!(is_worse(&[comparison(Closer), MethodDiff { unbounded: 1, ..comparison(Rounding) }]));
}
