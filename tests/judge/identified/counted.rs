//! States that are read more or less often than once.

use holdfast::method::Method;

use super::{Planting, assert_said, drawn, plain};
use crate::cases::each;

/// How often each of four states counts, and what is said of it.
const COUNTS: &[([f64; 4], &str)] = &[
    ([1.0, 2.0, 1.0, 1.0], "states-counted-otherwise: C·state counts state 1 twice, and the others once"),
    ([2.0, 1.0, 1.0, 2.0], "states-counted-otherwise: C·state counts states 0, 3 twice, and the others once"),
    ([1.0, 1.0, 0.5, 1.0], "states-counted-otherwise: C·state counts state 2 half, and the others once"),
    (
        [-1.0, 1.0, 1.0, 1.0],
        "states-counted-otherwise: C·state counts state 0 with the wrong sign, and the others once",
    ),
    ([1.0, 1.0, 1.0, 3.0], "states-counted-otherwise: C·state counts state 3 3 times, and the others once"),
    ([1.0, 1.5, 1.0, 1.0], "states-counted-otherwise: C·state counts state 1 1.5 times, and the others once"),
    // As often as four times, and no more.
    ([1.0, 4.0, 1.0, 1.0], "states-counted-otherwise: C·state counts state 1 4 times, and the others once"),
    // The likeliest way to lose two states that are not next to each other.
    ([0.0, 1.0, 0.0, 1.0], "states-not-read: C·state counts states 0, 2 not at all, and the others once"),
    (
        [0.0, 2.0, 1.0, -1.0],
        "states-counted-otherwise: C·state counts state 3 with the wrong sign, state 0 not at all, state 1 twice, and the \
         others once",
    ),
    // What has no number of its own is said without counting.
    ([1.0, 1.0, 0.0, 0.0], "states-not-read: states from 2 on are left out of the output"),
    ([0.0, 1.0, 1.0, 1.0], "states-not-read: states below 1 are left out of the output"),
    ([1.0, 0.0, 1.0, 1.0], "states-not-read: state 1 is left out of the output"),
];

#[test]
fn it_is_said_how_often_states_count() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 4, 24)));
    let said = |(counts, expected): &([f64; 4], &str)| {
        let got =
            planting.with_output(|y| y.terms.iter().zip(counts).map(|(term, count)| count * term).sum());
        (planting.at_once(&got), (*expected).to_owned())
    };
    assert_said(COUNTS.iter().map(said));
}

/// A state that counts five times, or by no half, is another mistake.
#[test]
fn what_is_no_count_is_not_said_to_be_one() {
    let cases: [f64; 3] = [5.0, -4.5, 1.3];
    each(cases, |count| {
        let planting = Planting::new(Method::Zoh, drawn(plain(1, 3, 24)));
        let got = planting.with_output(|y| y.terms[0] + count * y.terms[1] + y.terms[2]);
        let said = planting.at_once(&got);
        assert!(!said.contains("C·state counts"), "{said}");
    });
}

/// With one state alone it is a factor on what is read.
#[test]
fn the_only_state_has_a_factor() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 1, 16)));
    let got = planting.with_output(|y| 3.0 * y.terms[0]);
    let expected =
        "readout-scaled: what the states contribute is multiplied by 3: a factor on B̄, on C or on their sum";
    assert_eq!(planting.at_once(&got), expected);
}

/// Four outputs for each state are enough, and fewer are not.
#[test]
fn few_outputs_are_enough_to_count_states() {
    let said = |seqlen: usize| {
        let planting = Planting::new(Method::Zoh, drawn(plain(1, 2, seqlen)));
        planting.at_once(&planting.with_output(|y| y.terms[0] + 3.0 * y.terms[1]))
    };
    let counted = "states-counted-otherwise: C·state counts state 1 3 times, and the others once";
    assert_eq!(said(8), counted);
    assert_ne!(said(7), counted);
}
