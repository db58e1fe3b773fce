//! Promise: right numbers that stand elsewhere are said to, as long as each is as near as it is to be where it came from.

use holdfast::problem::{InputType, Operand, Shape, Weights};
use holdfast::tensor::GradientName::{self, A, B, C, Delta, InitialState, U, Z};

use super::blank::{Blank, irregular};
use crate::cases::{crossed, each};

const SHAPE: Shape = Shape { batch: 2, dim: 3, dstate: 4, seqlen: 5, groups: 1 };
const LATER: &str = "gradient-one-later: each position has the gradient of the one before it";
const EARLIER: &str = "gradient-one-earlier: each position has the gradient of the one after it";
const TRANSPOSED: &str = "gradient-transposed: the last two axes are exchanged";
const PLANAR: &str = "gradient-planar: all real parts of the last axis stand before all imaginary ones";
const NOTHING: [&str; 0] = [];

fn before(at: &[usize]) -> Option<Vec<usize>> {
    let (last, rest) = at.split_last()?;
    Some([rest, &[last.checked_sub(1)?]].concat())
}

/// Of so many.
fn after(at: &[usize], len: usize) -> Option<Vec<usize>> {
    let (last, rest) = at.split_last()?;
    (last + 1 < len).then(|| [rest, &[last + 1]].concat())
}

#[test]
fn one_position_off() {
    each(
        crossed([U, Delta, Z, B, C], [Weights::Real, Weights::Complex]),
        |(name, weights): (GradientName, Weights)| {
            let blank = Blank::new(SHAPE, weights, Operand::Variable);
            let want = irregular(blank.count(name));
            let later = blank.rearranged(name, &want, before);
            assert_eq!(blank.said(name, &want, &later, 0.01), [LATER]);
            let earlier = blank.rearranged(name, &want, |at| after(at, SHAPE.seqlen));
            assert_eq!(blank.said(name, &want, &earlier, 0.01), [EARLIER]);
        },
    );
}

/// The last axis of what has no positions is another one.
#[test]
fn one_state_off() {
    let cases: [(GradientName, &str); 3] = [(B, "state"), (C, "state"), (A, "state")];
    each(cases, |(name, item)| {
        let blank = Blank::new(SHAPE, Weights::Real, Operand::Constant);
        let want = irregular(blank.count(name));
        let later = blank.rearranged(name, &want, before);
        let said =
            format!("slices-mixed: each {item} has the gradient of the one 1 before it, and the first has 0");
        assert_eq!(blank.said(name, &want, &later, 0.01), [said]);
        let earlier = blank.rearranged(name, &want, |at| after(at, SHAPE.dstate));
        let said =
            format!("slices-mixed: each {item} has the gradient of the one 1 after it, and the last has 0");
        assert_eq!(blank.said(name, &want, &earlier, 0.01), [said]);
    });
}

/// What is stored with its last two axes exchanged.
fn transposed(want: &[f64], (shape, width): &(Vec<usize>, usize)) -> Vec<f64> {
    let [.., rows, columns] = shape[..] else { panic!("two axes") };
    let mut got = vec![0.0; want.len()];
    for (from, to) in want.chunks(rows * columns * width).zip(got.chunks_mut(rows * columns * width)) {
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let (there, here) = ((row * columns + column) * width, (column * rows + row) * width);
            to[here..here + width].copy_from_slice(&from[there..there + width]);
        }
    }
    got
}

#[test]
fn axes_exchanged() {
    each(
        crossed(
            crossed([U, Delta, Z, A, B, C, InitialState], [Weights::Real, Weights::Complex]),
            [Operand::Constant, Operand::Variable],
        ),
        |((name, weights), operand): ((GradientName, Weights), Operand)| {
            let blank = Blank::new(SHAPE, weights, operand);
            let want = irregular(blank.count(name));
            let got = transposed(&want, &blank.layout(name));
            assert_eq!(blank.said(name, &want, &got, 0.01), [TRANSPOSED]);
        },
    );
}

/// Real parts, then imaginary ones, of each row of so many elements.
fn planar(want: &[f64], len: usize) -> Vec<f64> {
    let row = |row: &[f64]| {
        let parts = |part: usize| row.iter().skip(part).step_by(2).copied().collect::<Vec<f64>>();
        [parts(0), parts(1)].concat()
    };
    want.chunks(2 * len).flat_map(row).collect()
}

#[test]
fn parts_apart() {
    let cases: [(GradientName, Operand, usize); 6] = [
        (A, Operand::Constant, 4),
        (B, Operand::Constant, 4),
        (C, Operand::Constant, 4),
        (InitialState, Operand::Constant, 4),
        (B, Operand::Variable, 5),
        (C, Operand::Variable, 5),
    ];
    each(cases, |(name, operand, len)| {
        let blank = Blank::new(SHAPE, Weights::Complex, operand);
        let want = irregular(blank.count(name));
        assert_eq!(blank.said(name, &want, &planar(&want, len), 0.01), [PLANAR]);
    });
}

/// A value may be as far off as it was where it came from, or as it may be where it stands: the larger of both bounds, and no more.
#[test]
fn bounds_go_with_positions() {
    let cases: [(&str, usize, f64, bool); 6] = [
        ("came from there", 2, 0.09, true),
        ("came from there and is too far off", 2, 0.11, false),
        ("stands there", 1, -0.09, true),
        ("stands there and is too far off", 1, -0.11, false),
        ("neither", 3, 0.0011, false),
        ("neither and is near", 3, 0.0009, true),
    ];
    each(cases, |(_, at, off, is_near)| {
        let blank = Blank::real(2, 3, 5);
        let want = irregular(30);
        let mut bounds = vec![0.001; 30];
        bounds[1] = 0.1;
        let (later, earlier) =
            (blank.rearranged(Z, &want, before), blank.rearranged(Z, &want, |at| after(at, 5)));
        // The same from the other end.
        let mirrored: Vec<f64> = bounds[..5].iter().rev().chain(&bounds[5..]).copied().collect();
        for (mut got, bounds, at, text) in [(later, bounds, at, LATER), (earlier, mirrored, 4 - at, EARLIER)]
        {
            got[at] += off;
            let said = blank.said_within(Z, &want, &got, &bounds);
            assert_eq!(said, if is_near { vec![text] } else { vec![] });
        }
    });
}

/// Of a constant C with 3 channels and 4 states: state 1 of channel 0 has a wide bound, and stands at the fourth place.
#[test]
fn bounds_go_with_axes() {
    let cases: [(&str, usize, f64, bool); 6] = [
        ("came from there", 3, 0.09, true),
        ("came from there and is too far off", 3, 0.11, false),
        ("stands there", 1, -0.09, true),
        ("stands there and is too far off", 1, -0.11, false),
        ("neither", 4, -0.0011, false),
        ("neither and is near", 4, -0.0009, true),
    ];
    each(cases, |(_, at, off, is_near)| {
        let blank = Blank::new(SHAPE, Weights::Real, Operand::Constant);
        let want = irregular(12);
        let mut bounds = [0.001; 12];
        bounds[1] = 0.1;
        let mut got = transposed(&want, &blank.layout(C));
        got[at] += off;
        assert_eq!(
            blank.said_within(C, &want, &got, &bounds),
            if is_near { vec![TRANSPOSED] } else { vec![] }
        );
    });
}

/// The same of complex ones: of each row the real part of state 1 is the second number, and its imaginary part the sixth.
#[test]
fn bounds_go_with_parts() {
    let cases: [(&str, usize, f64, bool); 10] = [
        ("real part", 1, 0.09, true),
        ("real part too far off", 1, 0.11, false),
        ("imaginary part", 5, -0.09, true),
        ("imaginary part too far off", 5, -0.11, false),
        ("beside the real part", 0, 0.09, true),
        ("stands there", 3, 0.09, true),
        ("stands there and is too far off", 3, 0.11, false),
        ("neither", 6, 0.0011, false),
        ("neither and is near", 6, 0.0009, true),
        ("of the next row", 9, 0.0011, false),
    ];
    each(cases, |(_, at, off, is_near)| {
        let blank = Blank::new(SHAPE, Weights::Complex, Operand::Constant);
        let want = irregular(24);
        let mut bounds = [0.001; 12];
        bounds[1] = 0.1;
        let mut got = planar(&want, 4);
        got[at] += off;
        assert_eq!(blank.said_within(C, &want, &got, &bounds), if is_near { vec![PLANAR] } else { vec![] });
    });
}

/// Of each element, the first and the last among them, no more than its bound is left.
#[test]
fn each_is_within_its_bound() {
    each(crossed([0, 5, 11], [1.0, -1.0]), |(at, sign): (usize, f64)| {
        let blank = Blank::new(SHAPE, Weights::Real, Operand::Constant);
        let want = irregular(12);
        let right = transposed(&want, &blank.layout(C));
        for (off, said) in [(0.0099, &[TRANSPOSED][..]), (0.0101, &NOTHING[..])] {
            let mut got = right.clone();
            got[at] += sign * off;
            assert_eq!(blank.said(C, &want, &got, 0.01), said);
        }
    });
}

/// What has no bound may stand where it wants to.
#[test]
fn what_has_no_bound_may_be_anything() {
    let blank = Blank::real(2, 3, 4);
    let want = irregular(24);
    let mut got = blank.rearranged(Z, &want, before);
    let mut bounds = [0.01; 24];
    (got[23], bounds[23]) = (77.0, f64::INFINITY);
    assert_eq!(blank.said_within(Z, &want, &got, &bounds), [LATER]);
}

/// Within wide bounds, too, no more than a quarter of the error may be left.
#[test]
fn a_quarter_of_the_error_may_be_left() {
    let cases: [(f64, &[&str]); 2] = [(0.24, &[TRANSPOSED]), (0.26, &[])];
    each(cases, |(left, said)| {
        let blank = Blank::new(SHAPE, Weights::Real, Operand::Constant);
        let want = [1.5, -1.25, 1.75, -1.5, 1.25, -1.75, 1.125, -1.125, 1.375, -1.625, 1.875, -1.0625];
        let right = transposed(&want, &blank.layout(C));
        // Further from what was to be computed than it would be by that alone.
        let too_far = left / (1.0 - left);
        let moves: Vec<f64> = right.iter().zip(&want).map(|(right, want)| right - want).collect();
        let got: Vec<f64> = right.iter().zip(&moves).map(|(right, by)| right + by * too_far).collect();
        let bound = 1.001 * too_far * super::largest(&moves);
        assert_eq!(blank.said(C, &want, &got, bound), said);
    });
}

/// Where a larger number stands than was to be computed, it has the rounding of a larger number; where a smaller one does, the
/// bound is as it was.
#[test]
fn a_larger_number_has_a_larger_rounding() {
    let cases: [(&str, InputType, f64, f64); 3] = [
        ("f32", InputType::F32, 0.5f64.powi(14), 0.5f64.powi(24)),
        ("f16", InputType::F16, 0.5, 0.5f64.powi(11)),
        ("bf16", InputType::Bf16, 4.0, 0.5f64.powi(8)),
    ];
    each(cases, |(_, input, of_1024, of_1)| {
        let mut blank = Blank::real(1, 2, 4);
        blank.problem.input = input;
        let want = [1.5, 1024.0, 1.25, -1.75, 1.125, -1.375, 1.875, -1.0625];
        let right = transposed(&want, &blank.layout(U));
        assert_eq!((right[1], right[2]), (1.125, 1024.0));
        let bound = 0.5f64.powi(20);
        let larger = bound + of_1024 - of_1;
        for (at, most) in [(2, larger), (1, bound)] {
            for (off, said) in [(0.98 * most, &[TRANSPOSED][..]), (1.02 * most, &NOTHING[..])] {
                let mut got = right.clone();
                got[at] += off;
                assert_eq!(blank.said(U, &want, &got, bound), said, "{at}");
            }
        }
    });
}

/// The rounding is that of the largest number within the bound.
#[test]
fn the_rounding_is_of_what_may_be_there() {
    let cases: [(f64, &[&str]); 2] = [(0.75, &[TRANSPOSED]), (1.25, &[])];
    each(cases, |(roundings, said)| {
        let blank = Blank::real(1, 2, 4);
        let want = [1.5, 1023.99, 1.25, -1.75, 1.125, -1.375, 1.875, -1.0625];
        let mut got = transposed(&want, &blank.layout(U));
        got[2] += 0.02 + roundings * 0.5f64.powi(14);
        assert_eq!(blank.said(U, &want, &got, 0.02), said);
    });
}
