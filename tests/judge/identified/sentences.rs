//! Every number in the sentence of a change is the one that it computes with.

use holdfast::judge::diagnose::{Alternative, alternatives};
use holdfast::judge::faults::around::{Carry, Chunks, Delay, Pad, UUse};
use holdfast::judge::faults::place::{AtChunks, InBlock, Input, LastBlock, Map, Place};
use holdfast::judge::faults::variant::{Group, LastState, Variant};
use holdfast::method::Method;
use holdfast::problem::{Problem, Shape};

use super::{drawn, plain};
use crate::cases::each;
use crate::support::problems::Layout;

type Change = fn(&mut Variant);

fn place(v: &mut Variant, input: Input) -> &mut Place {
    &mut v.places[input as usize]
}

/// Everything that a change can be about: three items, six channels in three groups, three states, 20 positions.
fn everything() -> Problem {
    let shape = Shape { batch: 3, dim: 6, dstate: 3, seqlen: 20, groups: 3 };
    drawn(Layout { shape, gate: true, extras: true, ..plain(6, 3, 20) })
}

/// Chunks of so many positions.
const LENGTH: usize = 5;

/// Where inputs are read.
const PLACES: &[(&str, Change)] = &[
    ("u of channel i is that of i + 2, around the end", |v| place(v, Input::U).channel = Map::Rolled(2)),
    ("u of channel i is that of i − 2, around the end", |v| place(v, Input::U).channel = Map::Rolled(-2)),
    ("u of channel i is that of i % 4", |v| place(v, Input::U).channel = Map::Modulo(4)),
    ("z of position i is that of i − 1, 0 beyond the ends", |v| place(v, Input::Z).l = Map::Shifted(-1)),
    ("A of channel i is that of the first one of its block of 5", |v| {
        place(v, Input::A).channel = Map::Floor(5);
    }),
    ("delta of channel i is that of i / 3", |v| place(v, Input::Delta).channel = Map::Divided(3)),
    ("D is that of the last channel for all", |v| place(v, Input::D).channel = Map::At(5)),
    ("delta_bias is that of channel 0 for all", |v| place(v, Input::Bias).channel = Map::At(0)),
    ("each of B and C of state i is that of i − 1, around the end", |v| {
        [Input::B, Input::C].into_iter().for_each(|input| place(v, input).state = Map::Rolled(-1));
    }),
    ("every channel reads group 2", |v| v.groups = [Group::At(2); 2]),
    ("every channel reads group 1 of B, and its own of C", |v| v.groups[0] = Group::At(1)),
    ("a channel of group g reads group g + 2, around the end of C, and its own of B", |v| {
        v.groups[1] = Group::Rolled(2);
    }),
    ("channel d reads group d / 4 % groups", |v| v.groups = [Group::Divided(4); 2]),
    ("rows of A are read 5 numbers apart in memory in place of 3", |v| {
        place(v, Input::A).row_stride = Some(5);
    }),
    ("rows of u are read 16 numbers apart in memory in place of 20", |v| {
        place(v, Input::U).row_stride = Some(16);
    }),
    ("rows of z are read 21 numbers apart in memory in place of 20", |v| {
        place(v, Input::Z).row_stride = Some(21);
    }),
    ("rows of B are read 24 numbers apart in memory in place of 20", |v| {
        place(v, Input::B).row_stride = Some(24);
    }),
];

/// What lags, is missing, or is read in blocks.
const SEQUENCES: &[(&str, Change)] = &[
    ("states from 2 on are left out, in the output and in last_state", |v| {
        place(v, Input::B).state = Map::Within(0, 2);
    }),
    ("states below 2 are left out of the output", |v| place(v, Input::C).state = Map::Within(2, 3)),
    ("state 1 is left out of the output", |v| place(v, Input::C).state = Map::Without(1)),
    ("channels from 4 on are not computed", |v| place(v, Input::U).channel = Map::Within(0, 4)),
    ("channels below 1 are not computed", |v| place(v, Input::U).channel = Map::Within(1, 6)),
    ("channel 3 is not computed", |v| place(v, Input::U).channel = Map::Without(3)),
    ("B of position l is that of l − 7, 0 beyond the end", |v| place(v, Input::B).l = Map::Shifted(-7)),
    ("B of position l is that of l + 19, around the end", |v| place(v, Input::B).l = Map::Rolled(19)),
    ("u of the scan of position l is that of l + 3, 0 beyond the end", |v| v.u_use[0] = UUse::At(3)),
    ("u of the scan of position l is that of l + 3, around the end", |v| {
        v.u_use[0] = UUse::In(Map::Rolled(3));
    }),
    ("u of position l is that of l − 2, the last one beyond the end", |v| {
        place(v, Input::U).l = Map::Held(-2);
    }),
    ("C is missing at the first 19 positions", |v| place(v, Input::C).l = Map::Within(19, 20)),
    ("delta is missing from position 5 on", |v| place(v, Input::Delta).l = Map::Within(0, 5)),
    ("Δ is 0 from position 5 on: states stand still there", |v| {
        v.step_sizes.iter_mut().for_each(|step| step.l = Map::Within(0, 5));
    }),
    ("B is read as a grid of 4 rows, 5 columns one after the other", |v| {
        place(v, Input::B).l = Map::Columns(4);
    }),
    ("C is that of the first position of each block of 8 for all of it", |v| {
        place(v, Input::C).l = Map::Floor(8);
    }),
    ("z is read from the last position to the first within each block of 16", |v| {
        place(v, Input::Z).l = Map::ReversedIn(16);
    }),
    ("Δ is the mean of each block of 2 positions", |v| {
        v.step_sizes.iter_mut().for_each(|step| step.mean_of = Some(2));
    }),
    ("delta is that of the block before in the last block of 16, which is not full", |v| {
        let block = LastBlock { length: 16, read: InBlock::By(-16) };
        place(v, Input::Delta).l = Map::InLastBlock(block);
    }),
    ("z is that of the last position before in the last block of 8, which is not full", |v| {
        place(v, Input::Z).l = Map::InLastBlock(LastBlock { length: 8, read: InBlock::Held });
    }),
];

/// Chunks, delays and last states.
const SCANS: &[(&str, Change)] = &[
    ("u is that of the chunk before at the first position of each chunk of 5", |v| {
        place(v, Input::U).l = Map::Chunked(AtChunks { length: 5, at: 0, by: Some(-5) });
    }),
    ("B is missing at the last position of each chunk of 5", |v| {
        place(v, Input::B).l = Map::Chunked(AtChunks { length: 5, at: 4, by: None });
    }),
    ("C is that of the position after at the last position of each chunk of 5", |v| {
        place(v, Input::C).l = Map::Chunked(AtChunks { length: 5, at: 4, by: Some(1) });
    }),
    (
        "delta of position l is that of l % 5: where it is read from does not advance from chunk to chunk",
        |v| place(v, Input::Delta).l = Map::Modulo(5),
    ),
    ("u of the scan counts twice at the last position of each chunk of 5, as where chunks overlap", |v| {
        v.u_use[0] = UUse::TwiceAtLast(5)
    }),
    ("the carried state counts half at every 16th position", |v| {
        v.chunks = Some(Chunks::new(16, Carry::Times(0.5)));
    }),
    ("the carried state counts half at every 5th position", |v| {
        v.chunks = Some(Chunks::new(5, Carry::Times(0.5)));
    }),
    ("a chunk of 5 is given the state of one chunk too early", |v| {
        v.chunks = Some(Chunks::new(5, Carry::Stale));
    }),
    ("C·state at position l is that of l − 8; skip and gate are in place", |v| {
        v.delay = Delay::Readout(8);
    }),
    ("C·state at position l is that of l + 2; skip and gate are in place", |v| {
        v.delay = Delay::Readout(-2);
    }),
    ("the whole output of position l is that of l − 8", |v| v.delay = Delay::Output(8)),
    ("y of position l reads the state of l − 4", |v| v.delay = Delay::State(4)),
    ("last_state is the state before the last 1 position: only last_state shows it", |v| {
        v.last_state = LastState::Early(1);
    }),
    ("last_state is the state before the last 7 positions: only last_state shows it", |v| {
        v.last_state = LastState::Early(7);
    }),
    (
        "last_state is that after the last full chunk of 16 positions, without the 4 positions after it: only last_state shows it",
        |v| v.last_state = LastState::Early(4),
    ),
    (
        "last_state is that after 44 padded positions more, to a multiple of 64, with u = 0 and delta = 0 there",
        |v| v.last_state = LastState::Padded(44, Pad::Zeros),
    ),
    (
        "last_state is that after 12 padded positions more, to a multiple of 32, with u = 0 and the last position's Δ there",
        |v| v.last_state = LastState::Padded(12, Pad::LastStep),
    ),
    (
        "last_state is that after 1004 padded positions more, to a multiple of 1024, with u = 0, delta = 0 and no bias there",
        |v| v.last_state = LastState::Padded(1004, Pad::ZerosWithoutBias),
    ),
    (
        "last_state is that after 1 padded position more, with all inputs those of the last position there",
        |v| v.last_state = LastState::Padded(1, Pad::LastPosition),
    ),
    ("last_state is that after 127 padded positions more, with u = 0 and delta = 0 there", |v| {
        v.last_state = LastState::Padded(127, Pad::Zeros);
    }),
    ("last_state of state i is that of i − 1, around the end: only last_state shows it", |v| {
        v.last_state = LastState::Moved([Map::Same, Map::Same, Map::Rolled(-1)]);
    }),
    ("last_state is that of the last channel for all: only last_state shows it", |v| {
        v.last_state = LastState::Moved([Map::Same, Map::At(5), Map::Same]);
    }),
    ("last_state is written from the last batch to the first: only last_state shows it", |v| {
        v.last_state = LastState::Moved([Map::Reversed, Map::Same, Map::Same]);
    }),
    ("states from 1 on are 0 in last_state only", |v| v.last_state = LastState::Within(0, 1)),
    ("states below 2 are 0 in last_state only", |v| v.last_state = LastState::Within(2, 3)),
    ("what the states contribute is multiplied by 1/2: a factor on B̄, on C or on their sum", |v| {
        v.readout_factor = 0.5
    }),
];

/// All that are said like this compute this, and there is one.
fn assert_is(all: &[Alternative], method: Method, what: &str, change: impl Fn(&mut Variant)) {
    let mut expected = Variant::specified(method);
    change(&mut expected);
    let said: Vec<&Alternative> = all.iter().filter(|one| one.what == what).collect();
    assert!(!said.is_empty(), "nothing is said to be: {what}");
    for one in said {
        assert_eq!(one.variant, expected, "{}: {what}", one.name);
        let mut changed = Variant::specified(method);
        one.change(&mut changed);
        assert_eq!(changed, expected, "{}: {what}", one.name);
    }
}

#[test]
fn a_change_computes_with_the_numbers_of_its_sentence() {
    let cases: [&[(&str, Change)]; 3] = [PLACES, SEQUENCES, SCANS];
    each(cases, |expected| {
        let all = alternatives(Method::Zoh, &everything(), LENGTH);
        expected.iter().for_each(|(what, change)| assert_is(&all, Method::Zoh, what, change));
    });
}

#[test]
fn ordinals_are_spelt() {
    let cases: [(usize, &str); 12] = [
        (3, "3rd"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (22, "22nd"),
        (23, "23rd"),
        (101, "101st"),
        (111, "111th"),
        (112, "112th"),
        (113, "113th"),
        (30, "30th"),
    ];
    each(cases, |(length, ordinal)| {
        let all = alternatives(Method::Zoh, &drawn(plain(1, 1, 20)), length);
        let what = format!("the state is lost at every {ordinal} position: chunks of {length} start from 0");
        assert_is(&all, Method::Zoh, &what, |v| v.chunks = Some(Chunks::new(length, Carry::Times(0.0))));
        let what = format!("the carried state skips Ā at every {ordinal} position");
        assert_is(&all, Method::Zoh, &what, |v| {
            v.chunks = Some(Chunks::new(length, Carry::WithoutFirstDecay))
        });
    });
}

/// Which of two scans has the change, and from where its chunks are counted.
#[test]
fn it_is_said_which_of_two_scans_is_meant() {
    let method = Method::Poly;
    let all = alternatives(method, &drawn(plain(1, 2, 12)), LENGTH);
    let half = |of, from_end| Chunks { of, from_end, ..Chunks::new(5, Carry::Times(0.5)) };
    let what = "the carried state counts half at every 5th position";
    for (place, of, from_end) in [
        ("in the forward scan alone", [true, false], false),
        ("in the reversed scan alone, whose chunks are counted from the end", [false, true], true),
        (
            "in the reversed scan alone, whose chunks are counted from the first position",
            [false, true],
            false,
        ),
        ("in both scans, the reversed one's chunks counted from the end", [true, true], true),
    ] {
        let what = format!("{what}; {place}");
        assert_is(&all, method, &what, |v| v.chunks = Some(half(of, from_end)));
    }
    for (scan, reversed) in [("forward", false), ("reversed", true)] {
        let what = format!("B of position l is that of l − 7, 0 beyond the end; in the {scan} scan alone");
        assert_is(&all, method, &what, |v| {
            place(v, Input::B).l = Map::Shifted(-7);
            v.in_one_scan = Some(reversed);
        });
    }
}

/// Names say what is wrong, and of which scan.
#[test]
fn changes_of_one_scan_have_its_name() {
    let all = alternatives(Method::Poly, &drawn(plain(1, 2, 12)), LENGTH);
    for (scan, other) in [("forward", "reversed"), ("reversed", "forward")] {
        let of_scan: Vec<&Alternative> =
            all.iter().filter(|one| one.what.ends_with(&format!("; in the {scan} scan alone"))).collect();
        let single: Vec<_> = of_scan.iter().filter(|one| one.variant.in_one_scan.is_some()).collect();
        assert!(single.len() > 100, "{scan}: {}", single.len());
        assert!(
            single.iter().all(|one| one.name.starts_with(&format!("{scan}-scan-"))),
            "{scan}, not {other}"
        );
    }
}
