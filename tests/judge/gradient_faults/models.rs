//! Promise: each fault model says what it is about, applies to what has that, and changes what its name says.

use std::collections::BTreeSet;

use holdfast::formula::Form;
use holdfast::judge::faults::gradient::catalogue::{self, Fault, windows};
use holdfast::judge::faults::gradient::variant::{
    Accumulator, Carry, Edge, Length, Misread, Over, PhiSlope, Pick, PowerSlope, SlopePart, Variant,
};
use holdfast::judge::faults::gradient::{edges, find};
use holdfast::method::Method;
use holdfast::problem::InputType;
use holdfast::tensor::GradientName::Delta;

use crate::cases::each;

/// Of seven items, and of six, in chunks of three.
#[test]
fn picks() {
    let cases: [(Pick, &[usize], &[usize]); 11] = [
        (Pick::All, &[0, 1, 2, 3, 4, 5, 6, 7, 8], &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (Pick::First, &[0, 1, 2], &[0, 1, 2]),
        (Pick::Last, &[6, 7, 8], &[3, 4, 5, 6, 7, 8]),
        (Pick::ButFirst, &[3, 4, 5, 6, 7, 8], &[3, 4, 5, 6, 7, 8]),
        (Pick::ButLast, &[0, 1, 2, 3, 4, 5], &[0, 1, 2]),
        (Pick::Whole, &[0, 1, 2, 3, 4, 5], &[0, 1, 2, 3, 4, 5]),
        (Pick::Inside, &[0, 1, 2, 3, 4, 5, 6], &[0, 1, 2, 3, 4, 5]),
        (Pick::Only(1), &[3, 4, 5], &[3, 4, 5]),
        (Pick::Only(2), &[6, 7, 8], &[6, 7, 8]),
        (Pick::Lane(0), &[0, 3, 6], &[0, 3, 6]),
        (Pick::Lane(2), &[2, 5, 8], &[2, 5, 8]),
    ];
    each(cases, |(pick, of_seven, of_six)| {
        for (len, expected) in [(7, of_seven), (6, of_six)] {
            let kept: Vec<usize> = (0..9).filter(|&i| pick.has(i, len, 3)).collect();
            assert_eq!(kept, expected, "of {len}");
        }
    });
}

/// Three quarters of a spacing of bf16 above 1, as a sum or as what is added to 1.
#[test]
fn narrow_sums() {
    let cases: [(&str, Option<InputType>, Option<InputType>, f64, f64); 5] = [
        ("neither", None, None, 1.005859375, 2.005859375),
        ("the sum", None, Some(InputType::Bf16), 1.0078125, 2.0),
        ("what is added", Some(InputType::Bf16), None, 1.005859375, 2.0078125),
        ("both", Some(InputType::Bf16), Some(InputType::Bf16), 1.0078125, 2.0),
        ("both in f16", Some(InputType::F16), Some(InputType::F16), 1.005859375, 2.005859375),
    ];
    each(cases, |(_, added, kept, small, large)| {
        let of = Accumulator { over: Over::Positions, added, kept, backwards: false };
        assert_eq!((of.add(1.0, 0.005859375), of.add(1.0, 1.005859375)), (small, large));
    });
}

#[test]
fn sums_are_over_what_they_say() {
    let sums = [Over::Positions, Over::BatchAndPositions, Over::Group, Over::States];
    for (i, over) in sums.into_iter().enumerate() {
        let of = Accumulator { over, added: None, kept: Some(InputType::Bf16), backwards: true };
        let variant = Variant { accumulator: Some(of), ..Variant::specified(Method::Zoh.into()) };
        assert_eq!(of.is_of_positions(), i < 2);
        assert_eq!(variant.of_positions(), (i < 2).then_some(of));
        for other in sums {
            assert_eq!(variant.sum_over(other), (other == over).then_some(of));
        }
    }
    let specified = Variant::specified(Method::Zoh.into());
    assert_eq!((specified.of_positions(), specified.sum_over(Over::Positions)), (None, None));
}

/// What changes Δ, Ā, h or their derivatives, and what leaves them as they are.
#[test]
fn steps_are_those_of_a_form_or_changed() {
    let form = Form::from(Method::Foh);
    let right = Variant::specified(form);
    assert!(right.has_steps_of(form) && !right.has_steps_of(Method::Zoh.into()));
    let changes: [fn(&mut Variant); 11] = [
        |v| v.form = Method::Zoh.into(),
        |v| v.slopes_of = Method::Zoh.into(),
        |v| v.h_slope = [1.0, 0.0],
        |v| v.h_slope_without = Some((0, SlopePart::Whole)),
        |v| v.exponent = 1.5,
        |v| v.chain = [true, false],
        |v| v.a_bar_as_exponential = true,
        |v| v.phi_slope = PhiSlope::Next,
        |v| v.power_slope = PowerSlope::Same,
        |v| v.length = Length::WithoutLast,
        |v| v.misread = Some((Delta, Misread::FirstBatch)),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut variant = right;
        change(&mut variant);
        assert!(!variant.has_steps_of(form), "change {i}");
    }
    let others: [fn(&mut Variant); 4] = [
        |v| v.carry = [Carry::Lost; 2],
        |v| v.positions = (Pick::First, 4),
        |v| v.edge = Some((4, Edge::Undecayed)),
        |v| v.douts = [0.0, 1.0],
    ];
    for (i, change) in others.into_iter().enumerate() {
        let mut variant = right;
        change(&mut variant);
        assert!(variant != right && variant.has_steps_of(form), "change {i}");
    }
}

#[test]
fn what_faults_are() {
    let cases: [(&str, &str); 17] = [
        ("state-bf16-at-16", "r.."),
        ("adjoint-f16-at-4", "r.."),
        ("adjoint-lost-at-16", "..."),
        ("sum-in-bf16", "rs."),
        ("adjoint-f16", "r.."),
        ("gradient-zero", ".sf"),
        ("batch-averaged", ".sf"),
        ("batch-last-alone", ".s."),
        ("gradient-conjugated", ".s."),
        ("gradient-reversed", ".s."),
        ("sum-of-last-32", ".s."),
        ("group-first-alone", ".s."),
        ("delta-one-state", ".s."),
        ("half-missing", "..f"),
        ("reversed-missing", "..."),
        ("output-factor-twice", "..f"),
        ("delta-without-h", "..."),
    ];
    each(cases, |(name, expected)| {
        let fault = find(name).expect("a fault");
        let is = [fault.rounds(), fault.is_separate(), fault.is_factor()];
        let is: String =
            is.into_iter().zip("rsf".chars()).map(|(is, mark)| if is { mark } else { '.' }).collect();
        assert_eq!(is, expected);
    });
}

/// The name of what goes wrong at an edge says where, and in which scan.
#[test]
fn edges_are_where_their_names_say() {
    let mut halved = Vec::new();
    for fault in edges::ALL.iter().chain(edges::OF_ANY_LENGTH.iter()) {
        let mut variant = Variant::specified(Method::Poly.into());
        fault.change(&mut variant);
        let Some((length, edge)) = variant.edge else { continue };
        assert!(fault.name.ends_with(&format!("-at-{length}")), "{}: {length}", fault.name);
        assert!(fault.what.contains(&format!(" {length}")), "{}: {}", fault.name, fault.what);
        let (sides, whose) = match fault.name.split('-').next() {
            Some("forward") => ([true, false], "in the forward scan "),
            Some("reversed") => ([false, true], "in the reversed scan "),
            _ => ([true, true], ""),
        };
        assert_eq!(variant.edge_in, sides, "{}", fault.name);
        assert!(fault.what.starts_with(whose) && fault.what.starts_with("in the ") != whose.is_empty());
        if edge == Edge::Adjoint(0.5) && sides == [true, true] {
            halved.push(length);
        }
    }
    halved.sort();
    let longer = [512, 1024, 2048];
    assert!(halved.iter().copied().eq((2..=256).chain(longer)), "{halved:?}");
}

/// Parts of each of four terms of h, each with the number of its term in its name and in its sentence.
#[test]
fn parts_of_terms_are_what_they_say() {
    let parts = [
        SlopePart::Whole,
        SlopePart::Power,
        SlopePart::Argument,
        SlopePart::Taylor(0),
        SlopePart::Taylor(1),
        SlopePart::Taylor(2),
        SlopePart::Taylor(3),
        SlopePart::Taylor(4),
    ];
    let of_terms = catalogue::PARTS.iter().filter(|part| part.name.starts_with("h-slope-term-"));
    let mut found = of_terms.map(|part| {
        let mut variant = Variant::specified(Method::Rk4.into());
        part.change(&mut variant);
        (part.name, part.what, variant.h_slope_without)
    });
    let mut sentences = BTreeSet::new();
    for term in 0..4 {
        for part in parts {
            let (name, said, without) = found.next().expect("a part");
            assert_eq!(name, format!("h-slope-term-{}-scaled", term + 1));
            assert!(said.ends_with(&format!(" of term {} of B̄", term + 1)), "{said}");
            sentences.insert(said);
            assert_eq!(without, Some((term, part)));
        }
    }
    assert!(found.next().is_none());
    assert_eq!(sentences.len(), 4 * parts.len());
}

/// Windows and tails of any length have it in their names, and in what they change.
#[test]
fn windows_have_their_lengths() {
    let all: Vec<Fault> = windows(&[3, 5]).collect();
    let picks = [("sum-of-first", Pick::First), ("sum-of-last", Pick::Last), ("sum-of-whole", Pick::Whole)];
    assert_eq!(all.len(), 8);
    for (i, length) in [3, 5].into_iter().enumerate() {
        for (kind, (name, pick)) in picks.into_iter().enumerate() {
            let mut variant = Variant::specified(Method::Zoh.into());
            all[2 * kind + i].change(&mut variant);
            assert_eq!(all[2 * kind + i].name, format!("{name}-{length}"));
            assert_eq!(variant.positions, (pick, length));
        }
        let mut variant = Variant::specified(Method::Zoh.into());
        all[6 + i].change(&mut variant);
        assert_eq!(all[6 + i].name, format!("tail-{length}-without-gradient"));
        assert_eq!(variant.length, Length::CutTo(length));
    }
    for (length, is) in [(2, true), (3, true), (255, true), (256, true), (257, false)] {
        assert_eq!(find(&format!("sum-of-whole-{length}")).is_some(), is, "{length}");
    }
}
