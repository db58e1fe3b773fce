//! Problems that hold a few rows of a recording: these compute what they do among all, and what is read of another row is no
//! number.

use holdfast::judge::faults::around::{Before, Initial};
use holdfast::judge::faults::place::{Input, Map};
use holdfast::judge::faults::scan;
use holdfast::judge::faults::variant::{Group, LastState, Variant};
use holdfast::method::Method;
use holdfast::problem::{Held, Operand, Problem, Shape};
use holdfast::tensor::TensorName;
use rand::RngExt as _;

use super::changed;
use crate::cases::each;
use crate::support::problems::{Layout, generator};

const SHAPE: Shape = Shape { batch: 2, dim: 3, dstate: 2, seqlen: 4, groups: 3 };
/// batch·dim + channel, and batch·groups + group: every channel has a group of its own.
const HELD: [usize; 4] = [0, 2, 3, 5];

fn whole() -> Problem {
    let (b, c) = (Operand::Variable, Operand::Variable);
    let layout = Layout { shape: SHAPE, b, c, gate: true, extras: true, ..Layout::plain(1, 1, 1, 1) };
    let mut rng = generator("rows that are held");
    let mut problem = layout.random(&mut rng);
    problem.initial_state = Some((0..12).map(|_| rng.random_range(-1.0f32..1.0)).collect());
    problem
}

/// These rows of (rows, length).
fn rows(values: &[f32], length: usize) -> Vec<f32> {
    HELD.iter().flat_map(|row| &values[row * length..][..length]).copied().collect()
}

fn held() -> Problem {
    let all = whole();
    let (seqlen, states) = (SHAPE.seqlen, SHAPE.dstate);
    Problem {
        u: rows(&all.u, seqlen),
        delta: rows(&all.delta, seqlen),
        z: all.z.as_ref().map(|z| rows(z, seqlen)),
        b: rows(&all.b, states * seqlen),
        c: rows(&all.c, states * seqlen),
        initial_state: all.initial_state.as_ref().map(|x| rows(x, states)),
        held: Some(Held { channels: HELD.to_vec(), groups: HELD.to_vec() }),
        ..all
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Whether a channel of the held problem is that of the whole one, bit for bit; else all of these tensors are no numbers.
#[track_caller]
fn assert_held(variant: &Variant, channel: (usize, usize), lost: &[TensorName]) {
    let whole = scan::channel(variant, &whole(), channel);
    let held = scan::channel(variant, &held(), channel);
    for name in TensorName::SCANNED {
        let (whole, held) = (&whole.tensors[name], &held.tensors[name]);
        if lost.contains(&name) {
            assert!(held.values.iter().any(|value| value.is_nan()), "{name} of {channel:?}: {held:?}");
            assert!(whole.values.iter().all(|value| value.is_finite()), "{name} of {channel:?}: {whole:?}");
        } else {
            assert_eq!(bits(&held.values), bits(&whole.values), "{name} of {channel:?}");
            assert_eq!(bits(&held.bound), bits(&whole.bound), "{name} of {channel:?}");
        }
    }
}

const NEITHER: &[TensorName] = &[];
const BOTH: &[TensorName] = &[TensorName::Out, TensorName::LastState];

#[test]
fn rows_that_are_held_compute_what_they_do_among_all() {
    each([(0, 0), (0, 2), (1, 0), (1, 2)], |channel: (usize, usize)| {
        for method in Method::ALL {
            assert_held(&Variant::specified(method), channel, NEITHER);
        }
    });
}

/// Channel 0 reads channel 1, which is not held, and channel 2 reads channel 0.
#[test]
fn what_is_read_of_a_row_that_is_not_held_is_no_number() {
    let cases: [(&str, fn(&mut Variant), &[TensorName]); 6] = [
        ("u", |v: &mut Variant| v.places[Input::U as usize].channel = Map::Rolled(1), BOTH),
        ("delta", |v: &mut Variant| v.places[Input::Delta as usize].channel = Map::Rolled(1), BOTH),
        ("z", |v: &mut Variant| v.places[Input::Z as usize].channel = Map::Rolled(1), &[TensorName::Out]),
        ("b", |v: &mut Variant| v.groups[0] = Group::Rolled(1), BOTH),
        ("c", |v: &mut Variant| v.groups[1] = Group::Rolled(1), &[TensorName::Out]),
        (
            "last state",
            |v: &mut Variant| v.last_state = LastState::Moved([Map::Same, Map::Rolled(1), Map::Same]),
            &[TensorName::LastState],
        ),
    ];
    each(cases, |(_, change, lost)| {
        let variant = changed(Method::Zoh, change);
        for batch in 0..2 {
            assert_held(&variant, (batch, 0), lost);
            assert_held(&variant, (batch, 2), NEITHER);
        }
    });
}

/// The scan that ran before that of channel 2 is that of channel 1.
#[test]
fn a_scan_that_starts_from_one_that_is_not_held_starts_from_no_number() {
    let cases: [(Before, (usize, usize), &[TensorName]); 8] = [
        (Before::Channel, (1, 0), NEITHER),
        (Before::Channel, (1, 2), BOTH),
        (Before::Batch, (1, 2), NEITHER),
        (Before::BatchOrChannel, (0, 0), NEITHER),
        // The last channel of the batch before has itself started from one that is not held.
        (Before::BatchOrChannel, (1, 0), BOTH),
        (Before::BatchOrChannel, (0, 2), BOTH),
        (Before::Itself, (0, 2), NEITHER),
        (Before::State, (0, 2), NEITHER),
    ];
    each(cases, |(before, channel, lost)| {
        assert_held(&changed(Method::Zoh, |v| v.initial = Initial::EndOf(before)), channel, lost);
    });
}

/// A number that is not known has no bound, and is not taken for 0.
#[test]
fn a_last_state_that_is_not_held_has_no_error() {
    let moved = changed(Method::Zoh, |v| {
        v.last_state = LastState::Moved([Map::Same, Map::At(1), Map::Same]);
    });
    let row = &scan::channel(&moved, &held(), (0, 0)).tensors[TensorName::LastState];
    assert!(row.values.iter().all(|value| value.is_nan()), "{row:?}");
    assert_eq!(row.bound, [0.0, 0.0]);
}
