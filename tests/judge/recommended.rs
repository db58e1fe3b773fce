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

use crate::cases::each;

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
#[test]
fn the_advice_follows_from_the_counts() {
    let cases: [(&[(Change, usize)], &str); 28] = [
        (&[(Equal, 2)], "no need to take it: equal on 2"),
        (&[(Rounding, 2)], "take it or leave it: equal on 2"),
        (&[(Equal, 2), (Rounding, 3)], "take it or leave it: equal on 5"),
        (&[(Closer, 2)], "take it: closer on 2, worse on none"),
        (&[(Closer, 2), (Equal, 1)], "take it: closer on 2, equal on 1, worse on none"),
        (&[(Mended, 2)], "take it: mended on 2"),
        (&[(Closer, 2), (Mended, 3)], "take it: closer on 2, mended on 3"),
        (&[(Farther, 2)], "leave it: farther on 2"),
        (&[(Broken, 3)], "leave it: broken on 3"),
        (&[(Farther, 2), (Broken, 3)], "leave it: farther on 2, broken on 3"),
        (&[(Mixed, 2)], "do not take it as it is: closer and farther on 2"),
        (&[(Closer, 1), (Farther, 1)], "do not take it as it is: closer on 1, farther on 1"),
        (&[(Closer, 1), (Mixed, 2)], "do not take it as it is: closer on 1, closer and farther on 2"),
        (&[(Mended, 1), (Broken, 1)], "do not take it as it is: mended on 1, broken on 1"),
        (&[(BothWrong, 2), (Equal, 1)], "neither is right: equal on 1, both wrong on 2"),
        (&[(BothWrong, 1), (Unmeasured, 2)], "neither is right: both wrong on 1, unmeasured on 2"),
        (
            &[(BothWrong, 2), (Closer, 1)],
            "better on some, and neither is right on others: closer on 1, both wrong on 2",
        ),
        (
            &[(BothWrong, 2), (Mended, 1)],
            "better on some, and neither is right on others: mended on 1, both wrong on 2",
        ),
        (&[(BothWrong, 2), (Farther, 1)], "leave it: farther on 1, both wrong on 2"),
        (&[(BothBroken, 2)], "nothing can be said: still broken on 2"),
        (&[(Unmeasured, 3)], "nothing can be said: unmeasured on 3"),
        (&[(BothBroken, 1), (Unmeasured, 2)], "nothing can be said: still broken on 1, unmeasured on 2"),
        (
            &[(Equal, 1), (BothBroken, 1)],
            "no difference that matters where it could be told: equal on 1, still broken on 1",
        ),
        (
            &[(Rounding, 1), (Unmeasured, 2)],
            "no difference that matters where it could be told: equal on 1, unmeasured on 2",
        ),
        (&[(Closer, 1), (Unmeasured, 1)], "better where it could be told: closer on 1, unmeasured on 1"),
        (&[(Mended, 1), (BothBroken, 1)], "better where it could be told: mended on 1, still broken on 1"),
        (&[(Equal, 1), (Farther, 1), (Unmeasured, 1)], "leave it: equal on 1, farther on 1, unmeasured on 1"),
        (
            &[
                (Equal, 1),
                (Rounding, 2),
                (Closer, 3),
                (Farther, 4),
                (Mixed, 5),
                (BothWrong, 6),
                (Mended, 7),
                (Broken, 8),
                (BothBroken, 9),
                (Unmeasured, 10),
            ],
            "do not take it as it is: closer on 3, mended on 7, equal on 3, farther on 4, closer and farther on 5, both wrong on 6, \
     broken on 8, still broken on 9, unmeasured on 10",
        ),
    ];
    each(cases, |(counts, said)| {
        assert_eq!(said_of(counts), said);
    });
}

/// Up to one bound, this included, a value is as specified; what is no number is not.
#[test]
fn a_new_revision_beyond_a_bound_is_said_to_be() {
    let cases: [(&str, Option<f64>, &str); 6] = [
        ("at the bound", Some(1.0), ""),
        ("within", Some(0.25), ""),
        ("it did not run", None, ""),
        ("just beyond", Some(1.0 + f64::EPSILON), "; the new one is outside the specification on 1"),
        ("far beyond", Some(f64::INFINITY), "; the new one is outside the specification on 1"),
        ("no number", Some(f64::NAN), "; the new one is outside the specification on 1"),
    ];
    each(cases, |(_, worst, said)| {
        let closer = MethodDiff { new_worst: worst, ..comparison(Closer) };
        assert_eq!(recommend(&[closer]), format!("take it: closer on 1, worse on none{said}"));
    });
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

#[test]
fn one_comparison_that_is_worse_or_unknown_is_enough() {
    let cases: [(Change, bool); 10] = [
        (Equal, false),
        (Rounding, false),
        (Closer, false),
        (Farther, true),
        (Mixed, true),
        (BothWrong, false),
        (Mended, false),
        (Broken, true),
        (BothBroken, true),
        (Unmeasured, true),
    ];
    each(cases, |(change, worse)| {
        let others = || [comparison(Equal), comparison(Closer)];
        assert!(!is_worse(&others()));
        let [first, second] = others();
        assert_eq!(is_worse(&[first, second, comparison(change)]), worse);
        let [first, second] = others();
        assert_eq!(is_worse(&[comparison(change), first, second]), worse);
    });
}

#[test]
fn a_value_that_is_farther_is_worse_also_where_both_are_wrong() {
    assert!(!is_worse(&[]));
    assert!(is_worse(&[MethodDiff { farther: 1, ..comparison(BothWrong) }]));
    // Of other changes it is the change that says so.
    assert!(!is_worse(&[MethodDiff { farther: 1, ..comparison(Closer) }]));
    assert!(is_worse(&[comparison(Closer), MethodDiff { unbounded: 1, ..comparison(Rounding) }]));
}
