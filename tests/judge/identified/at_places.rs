//! A change that holds in some states or at some positions alone is named with these.

use holdfast::method::Method;

use super::{Planting, Step, drawn, plain};
use crate::cases::each;

/// What is recorded where Δ of Ā is twice what it should be there alone.
fn said_where(planting: &Planting, is_there: impl Fn(Step) -> bool) -> String {
    let got = planting.with_step(|s| {
        let [a_bar, input] = planting.right(s);
        [if is_there(s) { a_bar * a_bar } else { a_bar }, input]
    });
    planting.after_long(&got)
}

/// The states are in no order of A, so that no limit of |A| tells them apart.
#[test]
fn a_change_in_some_states() {
    let cases: [(&str, fn(usize) -> bool, &str); 7] = [
        ("odd", |n: usize| n % 2 == 1, "in odd states"),
        ("even", |n: usize| n.is_multiple_of(2), "in even states"),
        ("the first", |n: usize| n == 0, "in state 0"),
        ("one of them", |n: usize| n == 1, "in state 1"),
        ("from the second on", |n: usize| n >= 1, "in states from 1 on"),
        ("from the third on", |n: usize| n >= 2, "in states from 2 on"),
        ("the first two", |n: usize| n < 2, "in states below 2"),
    ];
    each(cases, |(_, is_there, place)| {
        let mut problem = drawn(plain(1, 4, 12));
        problem.a = vec![-2.0, -1.0, -0.5, -3.0];
        let planting = Planting::new(Method::Zoh, problem);
        let said = said_where(&planting, |s| is_there(s.n));
        assert_eq!(said, format!("a-bar-delta-doubled-in-part: Δ is doubled in Ā: {place} alone"));
    });
}

/// Ā of the first position multiplies nothing: it is a place like the others of its kind all the same.
#[test]
fn a_change_at_some_positions() {
    let cases: [(&str, fn(usize) -> bool, &str); 7] = [
        ("odd", |l: usize| l % 2 == 1, "at odd positions"),
        ("even", |l: usize| l.is_multiple_of(2), "at even positions"),
        (
            "the first of each four",
            |l: usize| l.is_multiple_of(4),
            "at the first position of each chunk of 4",
        ),
        ("the last of each four", |l: usize| l % 4 == 3, "at the last position of each chunk of 4"),
        ("another of each four", |l: usize| l % 4 == 2, "at position 2 of each chunk of 4"),
        ("the last of each three", |l: usize| l % 3 == 2, "at the last position of each chunk of 3"),
        ("from one on", |l: usize| l >= 5, "from position 5 on"),
    ];
    each(cases, |(_, is_there, place)| {
        let planting = Planting::new(Method::Zoh, drawn(plain(2, 2, 18)));
        let said = said_where(&planting, |s| is_there(s.l));
        assert_eq!(said, format!("a-bar-delta-doubled-at-some-positions: Δ is doubled in Ā: {place} alone"));
    });
}

/// A limit is written as the roundest number between what is below it and what is not.
#[test]
fn a_change_on_one_side_of_a_limit() {
    let cases: [(&str, fn(Step) -> bool, &str); 6] = [
        ("of z", |s: Step| s.z().norm() < 0.25, "where |ΔA| is below 0.25"),
        ("of z from there on", |s: Step| s.z().norm() >= 0.25, "where |ΔA| is at least 0.25"),
        ("of delta", |s: Step| s.delta < 0.15, "where Δ is below 0.15"),
        ("of delta from there on", |s: Step| s.delta >= 0.15, "where Δ is at least 0.15"),
        ("of a", |s: Step| s.a.norm() < 1.5, "where |A| is below 1.5"),
        ("of a from there on", |s: Step| s.a.norm() >= 1.5, "where |A| is at least 1.5"),
    ];
    each(cases, |(_, is_there, place)| {
        let mut problem = drawn(plain(2, 3, 12));
        // On both sides of 3/2 one channel has a number next to it.
        problem.a = vec![-2.0, -1.46875, -0.75, -1.53125, -1.25, -3.0];
        // And so has Δ beside 0.15, and |ΔA| beside 1/4; what the first position takes for Ā shows nowhere.
        for (i, delta) in problem.delta.iter_mut().enumerate() {
            *delta = [0.08, 0.148, 0.152, 0.249, 0.26, 0.18, 0.124, 0.126, 0.05, 0.21, 0.3, 0.11][i % 12];
        }
        let planting = Planting::new(Method::Zoh, problem);
        let said = said_where(&planting, is_there);
        assert_eq!(said, format!("a-bar-delta-doubled-in-part: Δ is doubled in Ā: {place} alone"));
    });
}
