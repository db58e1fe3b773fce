//! Promise: what is 0 in one range of an axis and right elsewhere is said so, and nothing else is.

use holdfast::problem::{Operand, Shape, Weights};
use holdfast::tensor::GradientName::{self, A, B, C, D, Delta, InitialState, U, Z};

use super::blank::{Blank, irregular};
use crate::cases::each;

/// A gradient where B and C are such operands, the axis, the first and the last that are 0, and where that is.
type Range = (Operand, GradientName, usize, (usize, usize), &'static str);

#[rustfmt::skip]
const RANGES: [Range; 27] = [
    (Operand::Variable, U, 0, (1, 1), "item of the batch 1 of 0 to 2"),
    (Operand::Variable, U, 1, (1, 2), "channel 1 to 2 of 0 to 3"),
    (Operand::Variable, U, 2, (3, 4), "position 3 to 4 of 0 to 4"),
    (Operand::Variable, Delta, 0, (0, 1), "item of the batch 0 to 1 of 0 to 2"),
    (Operand::Variable, Delta, 1, (0, 0), "channel 0 of 0 to 3"),
    (Operand::Variable, Delta, 2, (0, 3), "position 0 to 3 of 0 to 4"),
    (Operand::Variable, Z, 0, (2, 2), "item of the batch 2 of 0 to 2"),
    (Operand::Variable, Z, 1, (3, 3), "channel 3 of 0 to 3"),
    (Operand::Variable, Z, 2, (4, 4), "position 4 of 0 to 4"),
    (Operand::Variable, A, 0, (1, 3), "channel 1 to 3 of 0 to 3"),
    (Operand::Variable, A, 1, (0, 1), "state 0 to 1 of 0 to 2"),
    (Operand::Variable, B, 0, (1, 2), "item of the batch 1 to 2 of 0 to 2"),
    (Operand::Variable, B, 1, (0, 0), "group 0 of 0 to 1"),
    (Operand::Variable, B, 2, (2, 2), "state 2 of 0 to 2"),
    (Operand::Variable, B, 3, (1, 1), "position 1 of 0 to 4"),
    (Operand::Variable, C, 0, (0, 0), "item of the batch 0 of 0 to 2"),
    (Operand::Variable, C, 1, (1, 1), "group 1 of 0 to 1"),
    (Operand::Variable, C, 2, (0, 1), "state 0 to 1 of 0 to 2"),
    (Operand::Variable, C, 3, (2, 4), "position 2 to 4 of 0 to 4"),
    (Operand::Constant, B, 0, (2, 3), "channel 2 to 3 of 0 to 3"),
    (Operand::Constant, B, 1, (1, 1), "state 1 of 0 to 2"),
    (Operand::Constant, C, 0, (0, 2), "channel 0 to 2 of 0 to 3"),
    (Operand::Constant, C, 1, (0, 0), "state 0 of 0 to 2"),
    (Operand::Variable, InitialState, 0, (0, 1), "item of the batch 0 to 1 of 0 to 2"),
    (Operand::Variable, InitialState, 1, (2, 3), "channel 2 to 3 of 0 to 3"),
    (Operand::Variable, InitialState, 2, (2, 2), "state 2 of 0 to 2"),
    (Operand::Constant, InitialState, 0, (2, 2), "item of the batch 2 of 0 to 2"),
];

#[test]
fn a_range_of_zeros_is_said() {
    each([Weights::Real, Weights::Complex], |weights: Weights| {
        let shape = Shape { batch: 3, dim: 4, dstate: 3, seqlen: 5, groups: 2 };
        for (operand, name, axis, (from, to), place) in RANGES {
            let blank = Blank::new(shape, weights, operand);
            let want = irregular(blank.count(name));
            let right = |at: &[usize]| (!(from..=to).contains(&at[axis])).then(|| at.to_vec());
            let got = blank.rearranged(name, &want, right);
            let expected = format!("gradient-partly-zero: the gradient is 0 at {place}, and right elsewhere");
            assert_eq!(blank.said(name, &want, &got, 0.01), [expected], "{name} {operand}");
        }
    });
}

/// Two zeros are enough: what is 0 agrees with nothing by chance.
#[test]
fn few_zeros_are_said() {
    let blank = Blank::real(2, 1, 4);
    let want = irregular(8);
    let mut got = want.clone();
    (got[2], got[6]) = (0.0, 0.0);
    let expected = "gradient-partly-zero: the gradient is 0 at position 2 of 0 to 3, and right elsewhere";
    assert_eq!(blank.said(Z, &want, &got, 0.01), [expected]);
}

/// What has no bound is right, whatever it is.
#[test]
fn what_has_no_bound_is_right() {
    let blank = Blank::real(2, 3, 4);
    let want = irregular(24);
    let mut got = want.clone();
    (0..6).for_each(|row| got[row * 4 + 3] = 0.0);
    let mut bounds = [0.01; 24];
    (got[0], bounds[0]) = (77.0, f64::INFINITY);
    let expected = "gradient-partly-zero: the gradient is 0 at position 3 of 0 to 3, and right elsewhere";
    assert_eq!(blank.said_within(Z, &want, &got, &bounds), [expected]);
}

/// Which numbers are 0, and one that is something else.
#[test]
fn other_zeros_are_not() {
    let cases: [(&str, &[usize], Option<(usize, f64)>); 8] = [
        ("of most rows", &[3, 7, 11, 15, 19], None),
        ("a channel in one item of the batch", &[4, 5, 6, 7], None),
        ("two positions with one between", &[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22], None),
        ("and the first is wrong", &[3, 7, 11, 15, 19, 23], Some((0, 9.0))),
        ("and the last but one is wrong", &[3, 7, 11, 15, 19, 23], Some((22, -9.0))),
        ("and one is no number", &[3, 7, 11, 15, 19, 23], Some((0, f64::NAN))),
        ("and one is infinite", &[3, 7, 11, 15, 19, 23], Some((22, f64::INFINITY))),
        ("all of a channel but one", &[4, 5, 6, 7, 16, 17, 18], None),
    ];
    each(cases, |(_, zeros, other)| {
        let blank = Blank::real(2, 3, 4);
        let want = irregular(24);
        let mut got = want.clone();
        zeros.iter().for_each(|&at| got[at] = 0.0);
        other.into_iter().for_each(|(at, value)| got[at] = value);
        assert_eq!(blank.said(Z, &want, &got, 0.01), [""; 0]);
    });
}

/// Of a gradient with one number for each channel, some of these say nothing.
#[test]
fn zeros_of_single_numbers_are_not() {
    let blank = Blank::real(1, 6, 2);
    let want = irregular(6);
    let mut got = want.clone();
    (got[2], got[3]) = (0.0, 0.0);
    assert_eq!(blank.said(D, &want, &got, 0.01), [""; 0]);
}
