//! Promise: a fault in one range of an axis, or above or below a limit, and nowhere else is named with where it is.

use holdfast::judge::faults::gradient::find;
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};

use super::blank::told;
use super::{Known, random};
use crate::cases::each;
use crate::support::problems::{Layout, generator};

fn problem(shape: Shape, weights: Weights, operand: Operand) -> (Problem, OutputGradients) {
    let (b, c) = (operand, operand);
    let layout = Layout { shape, weights, input: InputType::F32, b, c, gate: true, extras: true };
    random(&layout, &mut generator("a fault in a part"))
}

/// A fault, the gradient that it is in where B and C are such operands, the axis, the first and the last that have it, and where
/// that is.
type Part = (&'static str, Operand, GradientName, usize, (usize, usize), &'static str);

#[rustfmt::skip]
const PARTS: [Part; 27] = [
    ("u-without-b", Operand::Variable, U, 0, (1, 1), "item of the batch 1 of 0 to 1"),
    ("u-without-b", Operand::Variable, U, 1, (2, 3), "channel 2 to 3 of 0 to 5"),
    ("u-without-b", Operand::Variable, U, 2, (1, 4), "position 1 to 4 of 0 to 5"),
    ("delta-without-h", Operand::Variable, Delta, 0, (0, 0), "item of the batch 0 of 0 to 1"),
    ("delta-without-h", Operand::Variable, Delta, 1, (0, 0), "channel 0 of 0 to 5"),
    ("delta-without-h", Operand::Variable, Delta, 2, (2, 5), "position 2 to 5 of 0 to 5"),
    ("z-without-skip", Operand::Variable, Z, 0, (1, 1), "item of the batch 1 of 0 to 1"),
    ("z-without-skip", Operand::Variable, Z, 1, (5, 5), "channel 5 of 0 to 5"),
    ("z-without-skip", Operand::Variable, Z, 2, (0, 3), "position 0 to 3 of 0 to 5"),
    ("a-without-h", Operand::Variable, A, 0, (4, 5), "channel 4 to 5 of 0 to 5"),
    ("a-without-h", Operand::Variable, A, 1, (0, 3), "state 0 to 3 of 0 to 4"),
    ("b-without-u", Operand::Variable, B, 0, (0, 0), "item of the batch 0 of 0 to 1"),
    ("b-without-u", Operand::Variable, B, 1, (1, 1), "group 1 of 0 to 1"),
    ("b-without-u", Operand::Variable, B, 2, (3, 4), "state 3 to 4 of 0 to 4"),
    ("b-without-u", Operand::Variable, B, 3, (1, 5), "position 1 to 5 of 0 to 5"),
    ("c-reads-before", Operand::Variable, C, 0, (1, 1), "item of the batch 1 of 0 to 1"),
    ("c-reads-before", Operand::Variable, C, 1, (0, 0), "group 0 of 0 to 1"),
    ("c-reads-before", Operand::Variable, C, 2, (0, 0), "state 0 of 0 to 4"),
    ("c-reads-before", Operand::Variable, C, 3, (0, 4), "position 0 to 4 of 0 to 5"),
    ("b-without-u", Operand::Constant, B, 0, (1, 3), "channel 1 to 3 of 0 to 5"),
    ("b-without-u", Operand::Constant, B, 1, (1, 4), "state 1 to 4 of 0 to 4"),
    ("c-reads-before", Operand::Constant, C, 0, (5, 5), "channel 5 of 0 to 5"),
    ("c-reads-before", Operand::Constant, C, 1, (0, 3), "state 0 to 3 of 0 to 4"),
    ("initial-state-undecayed", Operand::Variable, InitialState, 0, (1, 1), "item of the batch 1 of 0 to 1"),
    ("initial-state-undecayed", Operand::Variable, InitialState, 1, (3, 3), "channel 3 of 0 to 5"),
    ("initial-state-undecayed", Operand::Variable, InitialState, 2, (1, 4), "state 1 to 4 of 0 to 4"),
    ("d-without-u", Operand::Variable, D, 0, (1, 4), "channel 1 to 4 of 0 to 5"),
];

/// A gradient with a fault at some indices of an axis, and right elsewhere.
fn spoilt(known: &Known, name: GradientName, fault: &str, is_wrong: impl Fn(&[usize]) -> bool) -> Vec<f64> {
    let model = &known.compute(find(fault).expect("a fault"))[name];
    let want = &known.want[name].values;
    let value = |i: usize| if is_wrong(&model.index(i)) { model.values[i] } else { want[i] };
    (0..want.len()).map(value).collect()
}

fn said(known: &Known, name: GradientName, values: Vec<f64>) -> Vec<String> {
    let mut got = known.want.clone();
    got[name].values = values;
    told(&known.judged(&got)[name])
}

#[test]
fn a_part_is_named() {
    each([Weights::Real, Weights::Complex], |weights: Weights| {
        let shape = Shape { batch: 2, dim: 6, dstate: 5, seqlen: 6, groups: 2 };
        for operand in Operand::ALL {
            let drawn = problem(shape, weights, operand);
            let known = Known::new(Method::Foh, &drawn);
            for (fault, _, name, axis, (from, to), place) in
                PARTS.into_iter().filter(|part| part.1 == operand)
            {
                // What has one part is no other with complex weights.
                if weights == Weights::Complex && known.want[name].width == 1 {
                    continue;
                }
                let values = spoilt(&known, name, fault, |at| (from..=to).contains(&at[axis]));
                let what = find(fault).expect("a fault").what;
                let expected = format!("{fault}: at {place} alone: {what}");
                let said = said(&known, name, values);
                assert_eq!(said.first(), Some(&expected), "{name} {axis}: {said:?}");
            }
        }
    });
}

/// The bias's gradient is one number for each channel.
#[test]
fn channels_of_the_bias_are_a_part() {
    let shape = Shape { batch: 2, dim: 8, dstate: 2, seqlen: 6, groups: 2 };
    let drawn = problem(shape, Weights::Real, Operand::Variable);
    let known = Known::new(Method::Zoh, &drawn);
    let fault = "softplus-slope-missing";
    let said = said(&known, DeltaBias, spoilt(&known, DeltaBias, fault, |at| at[0] >= 3));
    let expected =
        format!("{fault}: at channel 3 to 7 of 0 to 7 alone: the derivative of softplus is missing");
    assert_eq!(said.first(), Some(&expected), "{said:?}");
}

/// Four that are wrong where the error is largest tell a model, and of three rows of three an edit is told.
#[test]
fn four_of_a_row_tell_a_cause() {
    let cases: [(&str, usize, bool); 2] = [("four", 2, true), ("three", 3, false)];
    each(cases, |(_, from, is_said)| {
        let shape = Shape { batch: 2, dim: 2, dstate: 1, seqlen: 6, groups: 1 };
        let drawn = problem(shape, Weights::Real, Operand::Variable);
        let known = Known::new(Method::Zoh, &drawn);
        let said = said(&known, Z, spoilt(&known, Z, "z-without-skip", |at| at[2] >= from));
        let expected = format!("z-without-skip: at position {from} to 5 of 0 to 5 alone: grad.z lacks D·u");
        assert_eq!(said.first() == Some(&expected), is_said, "{said:?}");
        assert!(said[0].contains(" alone: "), "{said:?}");
    });
}

/// What is wrong elsewhere, too, is no fault of a part; nor is one that all of it has.
#[test]
fn what_is_wrong_elsewhere_is_no_part() {
    each([0, 23], |elsewhere: usize| {
        let shape = Shape { batch: 2, dim: 2, dstate: 1, seqlen: 6, groups: 1 };
        let drawn = problem(shape, Weights::Real, Operand::Variable);
        let known = Known::new(Method::Zoh, &drawn);
        let mut values = spoilt(&known, Z, "z-without-skip", |at| at[0] + at[1] == 1);
        assert!(!said(&known, Z, values.clone()).iter().any(|said| said.contains(" of 0 to ")));
        values = spoilt(&known, Z, "z-without-skip", |at| at[1] == 1);
        let channel = "z-without-skip: at channel 1 of 0 to 1 alone: grad.z lacks D·u".to_owned();
        assert_eq!(said(&known, Z, values.clone()).first(), Some(&channel));
        values[elsewhere] += 1e-3;
        let said = said(&known, Z, values);
        assert!(!said.iter().any(|said| said.contains(" alone: ")), "{said:?}");
    });
}

/// Above or below a limit of what stands at the same position.
#[test]
fn a_limit_is_named() {
    let cases: [(&str, bool, &str); 2] = [
        ("above", true, "z-without-skip: where z is at least 0 alone: grad.z lacks D·u"),
        ("below", false, "z-without-skip: where z is below 0 alone: grad.z lacks D·u"),
    ];
    each(cases, |(_, is_above, expected)| {
        let shape = Shape { batch: 2, dim: 3, dstate: 1, seqlen: 24, groups: 1 };
        let drawn = problem(shape, Weights::Real, Operand::Variable);
        let known = Known::new(Method::Zoh, &drawn);
        let z = known.problem.z.as_ref().expect("a gate");
        let is_wrong =
            |at: &[usize]| (z[known.problem.sequence_index(at[0], at[1], at[2])] >= 0.0) == is_above;
        let said = said(&known, Z, spoilt(&known, Z, "z-without-skip", is_wrong));
        assert_eq!(said.first().map(String::as_str), Some(expected), "{said:?}");
    });
}

/// A fault that explains all of a gradient is no fault of the part that it shows in.
#[test]
fn what_explains_all_is_no_part() {
    let shape = Shape { batch: 1, dim: 2, dstate: 1, seqlen: 20, groups: 1 };
    let drawn = problem(shape, Weights::Real, Operand::Variable);
    let known = Known::new(Method::Zoh, &drawn);
    let fault = find("adjoint-lost-at-16").expect("a fault");
    let judged = known.judged(&known.compute(fault));
    assert!(judged.get(U).is_some());
    for (name, all) in judged.iter() {
        let said = told(all);
        assert_eq!(said.first(), Some(&format!("{}: {}", fault.name, fault.what)), "{name}");
        assert!(!said.iter().any(|said| said.contains(" alone: ")), "{name}: {said:?}");
    }
}

/// Chunks of any length are looked for where nothing else explains a gradient.
#[test]
fn chunks_of_any_length_are_found() {
    let cases: [&str; 3] = ["adjoint-lost-at-5", "state-in-backward-lost-at-7", "sum-of-first-5"];
    each(cases, |fault| {
        let shape = Shape { batch: 2, dim: 4, dstate: 2, seqlen: 13, groups: 2 };
        let drawn = problem(shape, Weights::Real, Operand::Variable);
        let known = Known::new(Method::Zoh, &drawn);
        let judged = known.judged(&known.compute(find(fault).expect("a fault")));
        let firsts = super::firsts(&judged);
        assert!(!firsts.is_empty());
        assert!(firsts.iter().all(|(_, first)| *first == fault), "{firsts:?}");
    });
}
