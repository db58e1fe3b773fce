//! Promise: a gradient that is right but for a factor, for a size that it is cut to or for a narrow type that it was stored in is
//! said to be, and one that is not so everywhere is not.

use holdfast::problem::{InputType, Operand, Shape, Weights};
use holdfast::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};

use super::blank::{Blank, irregular};
use crate::cases::{crossed, each};

const NOTHING: [&str; 0] = [];

fn times(want: &[f64], factor: f64) -> Vec<f64> {
    want.iter().map(|want| want * factor).collect()
}

fn scaled(factor: &str) -> String {
    format!("gradient-scaled: the whole gradient has the factor {factor}")
}

#[test]
fn a_factor_of_any_gradient() {
    each(
        crossed([U, Delta, A, B, C, D, Z, DeltaBias, InitialState], [Weights::Real, Weights::Complex]),
        |(name, weights): (GradientName, Weights)| {
            let shape = Shape { batch: 2, dim: 4, dstate: 3, seqlen: 5, groups: 2 };
            let blank = Blank::new(shape, weights, Operand::Variable);
            let want = irregular(blank.count(name));
            for (factor, text) in [(0.7, "0.700000"), (-2.0, "-2.000000"), (1e6, "1000000.000000")] {
                assert_eq!(blank.said(name, &want, &times(&want, factor), 0.01), [scaled(text)]);
            }
        },
    );
}

/// What is no number is no multiple of anything.
#[test]
fn what_is_no_number_has_no_factor() {
    each([f64::NAN, f64::INFINITY, f64::NEG_INFINITY], |all: f64| {
        let want = irregular(8);
        assert_eq!(Blank::real(1, 8, 2).said(D, &want, &[all; 8], 0.01), NOTHING);
    });
}

/// The bound of a gradient that is larger than it should be is larger by as much; that of a smaller one is what it was.
#[test]
fn a_bound_grows_with_the_gradient() {
    each(crossed([0, 3, 7], [1.0, -1.0]), |(at, sign): (usize, f64)| {
        let blank = Blank::real(1, 8, 2);
        let want = irregular(8);
        for (factor, off, is_near) in
            [(10.0, 0.08, true), (10.0, 0.15, false), (0.1, 0.008, true), (0.1, 0.015, false)]
        {
            let mut got = times(&want, factor);
            got[at] += sign * off;
            let said = blank.said(D, &want, &got, 0.01);
            let is_said = said.iter().any(|said| said.starts_with("gradient-scaled"));
            assert_eq!((is_said, said.len()), (is_near, usize::from(is_near)), "{factor} {off}: {said:?}");
        }
    });
}

/// Fewer than four wrong numbers agree with a factor by chance.
#[test]
fn four_numbers_have_a_factor() {
    for (dim, is_said) in [(3, false), (4, true)] {
        let want = irregular(dim);
        let said = Blank::real(1, dim, 2).said(D, &want, &times(&want, 0.7), 0.01);
        assert_eq!(said, if is_said { vec![scaled("0.700000")] } else { vec![] });
    }
}

/// Neither what is as far off as it may be nor what is right where nothing may be off is wrong.
#[test]
fn what_is_not_beyond_its_bound_is_not_wrong() {
    let blank = Blank::real(1, 8, 2);
    let mut want = irregular(8);
    want[4..].fill(0.0);
    let mut got = times(&want, 0.7);
    let mut bounds = [0.01; 8];
    bounds[4..].fill(0.0);
    assert_eq!(blank.said_within(D, &want, &got, &bounds), [scaled("0.700000")]);
    bounds[1] = (got[1] - want[1]).abs();
    assert_eq!(blank.said_within(D, &want, &got, &bounds), NOTHING);
    bounds[1] *= 0.999;
    assert_eq!(blank.said_within(D, &want, &got, &bounds), [scaled("0.700000")]);
    (want[3], got[3], bounds[3]) = (0.0, 0.0, 0.0);
    assert_eq!(blank.said_within(D, &want, &got, &bounds), NOTHING);
}

/// A gradient that is within its bounds has no cause.
#[test]
fn what_is_right_is_explained_by_nothing() {
    let blank = Blank::real(1, 8, 2);
    let want = irregular(8);
    assert_eq!(blank.said(D, &want, &want, 0.01), NOTHING);
    assert_eq!(blank.said(D, &want, &times(&want, 1.001), 0.01), NOTHING);
}

/// Of a row whose numbers halve from position to position, both can be said: the factor is.
#[test]
fn a_factor_is_said_before_a_place() {
    let blank = Blank::real(1, 1, 5);
    let (want, got) = ([16.0, 8.0, 4.0, 2.0, 1.0], [8.0, 4.0, 2.0, 1.0, 0.0]);
    let earlier = "gradient-one-earlier: each position has the gradient of the one after it".to_owned();
    assert_eq!(blank.said(Z, &want, &got, 0.6), [scaled("0.498534"), earlier]);
}

const LARGE: [f64; 4] = [3.0, -3.5, 4.0, -5.0];

/// Four numbers that are cut to a size say so. One that is a little smaller, as it may be, is none of them, nor is one that is
/// of that size and right.
#[test]
fn what_is_cut_to_a_size() {
    let cases: [(&str, f64, bool); 2] = [("four", 2.5, true), ("three and one that is near", 2.495, false)];
    each(cases, |(_, fourth, is_said)| {
        let blank = Blank::real(2, 3, 4);
        let mut want = irregular(24);
        want[8..12].copy_from_slice(&LARGE);
        want[20] = 2.5;
        let mut got: Vec<f64> = want.iter().map(|want| want.clamp(-2.5, 2.5)).collect();
        got[11] = -fourth;
        let said = "gradient-clipped: what is larger than 2.500000 in size is cut to it";
        assert_eq!(blank.said(Z, &want, &got, 0.01), if is_said { vec![said] } else { vec![] });
    });
}

/// The spacing of a narrow type between 1 and 2.
const BF16: f64 = 1.0 / 128.0;
const F16: f64 = 1.0 / 1024.0;

/// Numbers between 1 and 2 or −2 and −1, each so many spacings beyond one that a narrow type has.
fn beyond(count: usize, spacing: f64, spacings: impl Fn(usize) -> f64) -> Vec<f64> {
    let steps = (1.0 / spacing) as usize - 1;
    let value = |i: usize| {
        let size = 1.0 + (i * 37 % steps) as f64 * spacing + spacings(i) * spacing;
        if i.is_multiple_of(3) { -size } else { size }
    };
    (0..count).map(value).collect()
}

fn narrow(how: &str) -> String {
    format!("gradient-narrow: the gradient is {how}")
}

#[test]
fn a_narrow_type_is_named() {
    let cases: [(&str, f64); 2] = [("bf16", BF16), ("f16", F16)];
    each(cases, |(to, spacing)| {
        let blank = Blank::real(2, 10, 10);
        let of = |spacings: fn(usize) -> f64| beyond(200, spacing, spacings);
        let (want, nearest) = (of(|i| [0.45, 0.55][i % 2]), of(|i| [0.0, 1.0][i % 2]));
        let bound = 0.01 * spacing;
        assert_eq!(blank.said(Z, &want, &nearest, bound), [narrow(&format!("rounded to {to}"))]);
        let (want, cut) = (of(|i| [0.3, 0.8][i % 2]), of(|_| 0.0));
        let expected = narrow(&format!("cut to {to}, not rounded to nearest"));
        assert_eq!(blank.said(Z, &want, &cut, bound), [expected]);
        // Numbers that the type has are left as they are.
        let want = of(|i| if i % 4 == 0 { 0.8 } else { 0.0 });
        let expected = narrow(&format!("cut to {to}, not rounded to nearest"));
        assert_eq!(blank.said(Z, &want, &cut, bound), [expected]);
        // One number that the type does not have is enough.
        let mut other = cut.clone();
        other[199] += 0.25 * spacing;
        assert_eq!(blank.said(Z, &want, &other, bound), NOTHING);
    });
}

/// What was computed may be off before it is rounded: beside a boundary it goes either way. Too many that did explain nothing.
#[test]
fn a_boundary_may_be_crossed() {
    let cases: [(&str, &[usize], f64, Option<&str>); 6] = [
        ("none", &[], 0.0, Some("rounded to bf16")),
        ("two upwards", &[6, 7], 0.495, Some("rounded to bf16")),
        ("two downwards", &[6, 7], 0.505, Some("rounded to bf16")),
        ("two far below it", &[6, 7], 0.48, None),
        ("two far above it", &[6, 7], 0.52, Some("cut to bf16, not rounded to nearest")),
        ("three", &[6, 7, 8], 0.495, None),
    ];
    each(cases, |(_, crossing, at, how)| {
        let blank = Blank::real(2, 10, 10);
        let crosses = |i: usize| crossing.contains(&i);
        let want = beyond(200, BF16, |i| if crosses(i) { at } else { 0.45 });
        // To the side that it is not on.
        let got = beyond(200, BF16, |i| if crosses(i) && at < 0.5 { 1.0 } else { 0.0 });
        let expected: Vec<String> = how.into_iter().map(narrow).collect();
        assert_eq!(blank.said(Z, &want, &got, 0.01 * BF16), expected);
    });
}

/// The bound is that of the element, which has two parts here.
#[test]
fn a_boundary_may_be_crossed_within_the_bound_of_an_element() {
    let shape = Shape { batch: 1, dim: 10, dstate: 10, seqlen: 1, groups: 1 };
    let blank = Blank::new(shape, Weights::Complex, Operand::Constant);
    let crosses = |i: usize| i == 70 || i == 191;
    let want = beyond(200, BF16, |i| if crosses(i) { 0.495 } else { 0.45 });
    let got = beyond(200, BF16, |i| if crosses(i) { 1.0 } else { 0.0 });
    let mut bounds = [1e-4 * BF16; 100];
    assert_eq!(blank.said_within(C, &want, &got, &bounds), NOTHING);
    (bounds[35], bounds[95]) = (0.01 * BF16, 0.01 * BF16);
    assert_eq!(blank.said_within(C, &want, &got, &bounds), [narrow("rounded to bf16")]);
}

/// Where a gradient is to be narrow, that it is says nothing.
#[test]
fn what_is_to_be_narrow_is_not_called_so() {
    let cases: [(InputType, bool); 3] =
        [(InputType::F32, true), (InputType::F16, false), (InputType::Bf16, false)];
    each(cases, |(input, is_said)| {
        let mut blank = Blank::real(2, 10, 10);
        blank.problem.input = input;
        let want = beyond(200, BF16, |i| [0.45, 0.55][i % 2]);
        let got = beyond(200, BF16, |i| [0.0, 1.0][i % 2]);
        let expected = if is_said { vec![narrow("rounded to bf16")] } else { vec![] };
        assert_eq!(blank.said(Z, &want, &got, 0.01 * BF16), expected);
    });
}
