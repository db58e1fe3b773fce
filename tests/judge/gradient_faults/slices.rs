//! Promise: slices of a gradient that are others of it, or sums of several, are said to be, whichever axis they are along.

use holdfast::problem::{Operand, Shape, Weights};
use holdfast::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};

use super::blank::{Blank, flat, irregular};
use crate::cases::{crossed, each};

const NOTHING: [&str; 0] = [];

/// Slices along an axis, each the sum of the right ones with so many of each: of the slice, and of the one that is added.
fn summed(
    blank: &Blank,
    (name, axis): (GradientName, usize),
    want: &[f64],
    factor: impl Fn(usize, usize) -> f64,
) -> Vec<f64> {
    let outline = blank.problem.gradient::<f64>(name, Vec::new());
    let value = |i: usize| -> f64 {
        let mut at = outline.index(i);
        let to = at[axis];
        let mut sum = 0.0;
        for from in 0..outline.shape[axis] {
            at[axis] = from;
            let there = flat(&at, &outline.shape) * outline.width + i % outline.width;
            sum += factor(to, from) * want[there];
        }
        sum
    };
    (0..want.len()).map(value).collect()
}

/// 1 where it is so.
fn one(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// What is said of four channels, with enough numbers in each to fit any mixture.
#[test]
fn mixtures_in_words() {
    let cases: [([[i8; 4]; 4], &str); 25] = [
        ([[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], "channel 1 has the factor 2 (of 0 to 3)"),
        (
            [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 3]],
            "each channel from 0 to 1 has the factor 2, channel 3 has the factor 3 (of 0 to 3)",
        ),
        (
            [[2, 0, 0, 0], [0, 3, 0, 0], [0, 0, 4, 0], [0, 0, 0, 1]],
            "channel 0 has the factor 2, channel 1 has the factor 3, channel 2 has the factor 4 (of \
             0 to 3)",
        ),
        (
            [[2, 0, 0, 0], [0, 3, 0, 0], [0, 0, 4, 0], [0, 0, 0, 5]],
            "channel 0 has the factor 2, channel 1 has the factor 3, channel 2 has the factor 4, and \
             1 more (of 0 to 3)",
        ),
        (
            [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, -1]],
            "channel 3 has the factor -1 (of 0 to 3)",
        ),
        (
            [[64, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
            "channel 0 has the factor 64 (of 0 to 3)",
        ),
        (
            [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]],
            "each channel has the sum of all up to it",
        ),
        (
            [[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]],
            "each channel has the sum of all from it on",
        ),
        ([[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]], "each channel has the sum of all"),
        (
            [[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]],
            "each channel has the gradient of the one that is as far from the other end",
        ),
        (
            [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]],
            "each channel has the gradient of the one 1 after it, around the end",
        ),
        (
            [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]],
            "each channel has the gradient of the one 2 after it, around the end",
        ),
        (
            [[0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
            "each channel has the gradient of the one 1 before it, around the end",
        ),
        (
            [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
            "each channel has the gradient of the one 1 before it, and the first has 0",
        ),
        (
            [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]],
            "each channel has the gradient of the one 2 before it, and the first has 0",
        ),
        (
            [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]],
            "each channel has the gradient of the one 1 after it, and the last has 0",
        ),
        (
            [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
            "each channel has the gradient of the one 3 after it, and the last has 0",
        ),
        (
            [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0]],
            "each channel has the gradient of channel 2",
        ),
        (
            [[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]],
            "each channel has the gradient of channel 0",
        ),
        (
            [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
            "channel 0 has the gradient of channel 1, channel 1 has the gradient of channel 0",
        ),
        (
            [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]],
            "channel 1 has the gradient of channel 3, channel 2 has the gradient of channel 1, \
             channel 3 has the gradient of channel 2",
        ),
        (
            [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]],
            "channel 0 has the gradient of channel 1, channel 1 has the gradient of channel 0, channel 2 has the gradient of channel 3, \
     and 1 more like these",
        ),
        (
            [[2, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
            "channel 0 has the sum of those of 2 times 0, 1",
        ),
        (
            [[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, -1, 1]],
            "channel 0 has the sum of those of none, channel 1 has the sum of those of 0, 1, channel \
             3 has the sum of those of -1 times 2, 3",
        ),
        (
            [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
            "channel 0 has the sum of those of none, channel 1 has the sum of those of 0",
        ),
    ];
    each(cases, |(rows, words)| {
        let shape = Shape { batch: 2, dim: 4, dstate: 1, seqlen: 8, groups: 1 };
        let blank = Blank::new(shape, Weights::Real, Operand::Constant);
        let want = irregular(64);
        let got = summed(&blank, (Z, 1), &want, |to, from| f64::from(rows[to][from]));
        assert_eq!(blank.said(Z, &want, &got, 1e-4), [format!("slices-mixed: {words}")]);
    });
}

/// What is tried along an axis with one number in each slice.
#[test]
fn a_few_mixtures_of_single_numbers() {
    let blank = Blank::real(1, 8, 2);
    let want = irregular(8);
    let said = |factor: &dyn Fn(usize, usize) -> bool| {
        let got = summed(&blank, (D, 0), &want, |to, from| one(factor(to, from)));
        blank.said(D, &want, &got, 1e-4)
    };
    let text = |what: &str| [format!("slices-mixed: each channel has the {what}")];
    assert_eq!(said(&|_, _| true), text("sum of all"));
    assert_eq!(said(&|to, from| from <= to), text("sum of all up to it"));
    assert_eq!(said(&|to, from| from >= to), text("sum of all from it on"));
    let far = text("gradient of the one that is as far from the other end");
    assert_eq!(said(&|to, from| to + from == 7), far);
    assert_eq!(said(&|_, from| from == 0), text("gradient of channel 0"));
    assert_eq!(said(&|_, from| from == 7), text("gradient of channel 7"));
    for by in 1..8 {
        let (near, side) = if by <= 4 { (by, "after") } else { (8 - by, "before") };
        let around = text(&format!("gradient of the one {near} {side} it, around the end"));
        assert_eq!(said(&|to, from| (to + by) % 8 == from), around);
        let before = text(&format!("gradient of the one {by} before it, and the first has 0"));
        assert_eq!(said(&|to, from| from + by == to), before);
        let after = text(&format!("gradient of the one {by} after it, and the last has 0"));
        assert_eq!(said(&|to, from| to + by == from), after);
    }
    // Others are not tried: eight factors can make anything of eight numbers.
    assert_eq!(said(&|_, from| from == 3), NOTHING);
    assert_eq!(said(&|to, from| from == (to ^ 1)), NOTHING);
}

/// What stands along each axis of each gradient.
#[test]
fn axes_in_words() {
    let cases: [(Operand, GradientName, &[&str]); 11] = [
        (Operand::Variable, U, &["item of the batch", "channel", "position"]),
        (Operand::Variable, Delta, &["item of the batch", "channel", "position"]),
        (Operand::Variable, Z, &["item of the batch", "channel", "position"]),
        (Operand::Variable, A, &["channel", "state"]),
        (Operand::Variable, B, &["item of the batch", "group", "state", "position"]),
        (Operand::Variable, C, &["item of the batch", "group", "state", "position"]),
        (Operand::Constant, B, &["channel", "state"]),
        (Operand::Constant, C, &["channel", "state"]),
        (Operand::Variable, D, &["channel"]),
        (Operand::Variable, DeltaBias, &["channel"]),
        (Operand::Variable, InitialState, &["item of the batch", "channel", "state"]),
    ];
    each(
        crossed(cases, [Weights::Real, Weights::Complex]),
        |((operand, name, items), weights): (_, Weights)| {
            let shape = Shape { batch: 2, dim: 8, dstate: 3, seqlen: 3, groups: 2 };
            let blank = Blank::new(shape, weights, operand);
            let want = irregular(blank.count(name));
            let (lens, _) = blank.layout(name);
            assert_eq!(lens.len(), items.len());
            for (axis, item) in items.iter().enumerate() {
                let got = summed(&blank, (name, axis), &want, |to, from| one(to + from + 1 == lens[axis]));
                let words =
                    format!("each {item} has the gradient of the one that is as far from the other end");
                assert_eq!(
                    blank.said(name, &want, &got, 1e-4),
                    [format!("slices-mixed: {words}")],
                    "{name} {axis}"
                );
            }
        },
    );
}

/// Two equations for each number that is found, and eight at least.
#[test]
fn slices_have_enough_numbers() {
    let cases: [(&str, (usize, usize, usize), usize, Option<&str>); 6] = [
        ("eight for four channels", (2, 4, 4), 1, Some("channel 1 has the factor 2 (of 0 to 3)")),
        ("six for four channels", (2, 4, 3), 1, None),
        ("eight for two items", (2, 1, 8), 0, Some("item of the batch 1 has the factor 2 (of 0 to 1)")),
        ("seven for two items", (2, 1, 7), 0, None),
        ("many channels", (2, 64, 64), 1, Some("channel 1 has the factor 2 (of 0 to 63)")),
        ("too many channels", (2, 65, 80), 1, None),
    ];
    each(cases, |(_, sizes, axis, words)| {
        let (batch, dim, seqlen) = sizes;
        let blank = Blank::real(batch, dim, seqlen);
        let want = irregular(batch * dim * seqlen);
        let factor = |to: usize, from: usize| one(to == from) * if to == 1 { 2.0 } else { 1.0 };
        let got = summed(&blank, (Z, axis), &want, factor);
        let expected: Vec<String> = words.into_iter().map(|words| format!("slices-mixed: {words}")).collect();
        assert_eq!(blank.said(Z, &want, &got, 1e-4), expected);
    });
}

/// What is tried of a few numbers is tried of eight at least, and of 64 slices at most.
#[test]
fn single_numbers_are_enough() {
    let cases: [(usize, bool); 4] = [(7, false), (8, true), (64, true), (65, false)];
    each(cases, |(dim, is_said)| {
        let blank = Blank::real(1, dim, 2);
        let want = irregular(dim);
        let got = summed(&blank, (D, 0), &want, |to, from| one((to + 1) % dim == from));
        let words = "slices-mixed: each channel has the gradient of the one 1 after it, around the end";
        assert_eq!(blank.said(D, &want, &got, 1e-4), if is_said { vec![words] } else { vec![] });
    });
}

/// Factors are small integers, to a thousandth.
#[test]
fn factors_are_small_integers() {
    let cases: [(f64, Option<&str>); 9] = [
        (2.0009, Some("2")),
        (2.0011, None),
        (1.9991, Some("2")),
        (1.9989, None),
        (64.0, Some("64")),
        (65.0, None),
        (-64.0, Some("-64")),
        (-65.0, None),
        (2.5, None),
    ];
    each(cases, |(factor, text)| {
        let blank = Blank::real(2, 4, 8);
        let want = irregular(64);
        let of = |to: usize, from: usize| one(to == from) * if to == 1 { factor } else { 1.0 };
        let got = summed(&blank, (Z, 1), &want, of);
        let words = |text| format!("slices-mixed: channel 1 has the factor {text} (of 0 to 3)");
        assert_eq!(blank.said(Z, &want, &got, 0.002), text.into_iter().map(words).collect::<Vec<_>>());
    });
}

/// Numbers whose sum is small.
const CANCELLING: [f64; 8] = [1.5, -1.25, 1.75, -1.5, 1.25, -1.75, 1.125, -0.9];

/// A sum is as far off as all that is in it.
#[test]
fn bounds_of_sums_add_up() {
    each(crossed([0, 3, 7], [1.0, -1.0]), |(at, sign): (usize, f64)| {
        let blank = Blank::real(1, 8, 2);
        for (off, is_said) in [(0.075, true), (0.085, false)] {
            let mut got = summed(&blank, (D, 0), &CANCELLING, |_, _| 1.0);
            got[at] += sign * off;
            let words = "slices-mixed: each channel has the sum of all";
            assert_eq!(blank.said(D, &CANCELLING, &got, 0.01), if is_said { vec![words] } else { vec![] });
        }
    });
}

/// What is another's is as far off as that one, or as what stands there may be: the larger of both.
#[test]
fn bounds_go_with_slices() {
    let cases: [(&str, usize, f64, bool); 6] = [
        ("came from there", 2, 0.09, true),
        ("came from there and is too far off", 2, 0.11, false),
        ("stands there", 3, 0.09, true),
        ("stands there and is too far off", 3, 0.11, false),
        ("neither", 4, 0.0011, false),
        ("neither and is near", 4, 0.0009, true),
    ];
    each(cases, |(_, at, off, is_said)| {
        let blank = Blank::real(1, 8, 2);
        let mut bounds = [0.001; 8];
        bounds[3] = 0.1;
        let mut got = summed(&blank, (D, 0), &CANCELLING, |to, from| one((to + 1) % 8 == from));
        got[at] += off;
        let words = "slices-mixed: each channel has the gradient of the one 1 after it, around the end";
        let expected = if is_said { vec![words] } else { vec![] };
        assert_eq!(blank.said_within(D, &CANCELLING, &got, &bounds), expected);
    });
}
