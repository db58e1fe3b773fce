//! Promise: numbers that are found are said as simple fractions where they are, and small ones, or those of a few elements, are
//! not found by chance.

use holdfast::method::Method;
use holdfast::tensor::GradientName::D;

use super::Known;
use super::blank::told;
use super::skip::{grad_d, plain};
use crate::cases::each;

/// What is said of grad.D where the first position counts so often.
fn said_of_first(factor: f64) -> Vec<String> {
    let drawn = plain(1, 5, 20);
    let known = Known::new(Method::Zoh, &drawn);
    let right = grad_d(&drawn, |_, _| 1.0);
    assert!(right.iter().zip(&known.want[D].values).all(|(a, b)| (a - b).abs() < 1e-12));
    let mut got = known.want.clone();
    got[D].values = grad_d(&drawn, |_, l| if l == 0 { factor } else { 1.0 });
    told(&known.judged(&got)[D])
}

#[test]
fn the_factor_of_a_part() {
    let cases: [(f64, &str); 17] = [
        (3.0, "3"),
        (-1.0, "-1"),
        (1000.0, "1000"),
        (0.5, "1/2, fitted 0.500000"),
        (-2.5, "-5/2, fitted -2.500000"),
        (1.0 / 3.0, "1/3, fitted 0.333333"),
        (1.3, "13/10, fitted 1.300000"),
        (23.0 / 24.0, "23/24, fitted 0.958333"),
        // 24/25
        (0.96, "0.960000"),
        // A thousandth of a third, of a half, and of one.
        (0.3336, "1/3, fitted 0.333600"),
        (0.3345, "0.334500"),
        (1.5004, "3/2, fitted 1.500400"),
        (1.5006, "1.500600"),
        (3.0009, "3"),
        (3.0011, "3.001100"),
        // No less is noticed.
        (1.0011, "1.001100"),
        (0.9989, "0.998900"),
    ];
    each(cases, |(factor, text)| {
        let expected = format!("first-position-scaled: the first position's share has the factor {text}");
        assert_eq!(said_of_first(factor), [expected]);
    });
}

#[test]
fn a_factor_of_almost_1_is_none() {
    let cases: [f64; 2] = [1.0009, 0.9991];
    each(cases, |factor| {
        let said = said_of_first(factor);
        assert!(!said.iter().any(|said| said.starts_with("first-position-scaled")), "{said:?}");
    });
}

/// Each part that has a factor is said: the last position is the last chunk, too.
#[test]
fn parts_that_are_the_same_are_all_said() {
    let drawn = plain(2, 6, 17);
    let known = Known::new(Method::Zoh, &drawn);
    let mut got = known.want.clone();
    got[D].values = grad_d(&drawn, |_, l| if l == 16 { 3.0 } else { 1.0 });
    let mut said = told(&known.judged(&got)[D]);
    said.sort();
    let expected = [
        "last-16-scaled: the share of the last chunk of 16 has the factor 3",
        "last-position-scaled: the last position's share has the factor 3",
    ];
    assert_eq!(said, expected);
}
