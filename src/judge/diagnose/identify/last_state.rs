//! What may be wrong with the last state alone: paddings, places, parts of it.

use super::changes::{Change, Part};
use super::{complex, structure};
use crate::formula::Form;
use crate::judge::faults::around::Pad;
use crate::judge::faults::place::Map;
use crate::judge::faults::variant::{LastState, Variant};
use crate::problem::{Problem, Weights};

/// The most padded positions, but for multiples of a power of two.
const PADDED: usize = 127;
/// By how many positions a last state may be too early.
const EARLY: usize = 8;
/// Positions × states of all channels that are computed to find it.
const TOO_EARLY: usize = 2_000_000;
/// Multiples that a sequence may be padded to, the likelier first.
const MULTIPLES: [usize; 9] = [64, 128, 32, 256, 16, 512, 8, 1024, 4];

/// What may be wrong with the last state alone. Of long sequences the first ones alone are tried: paddings are so many that
/// they come after what has no number.
pub fn all(problem: &Problem) -> Vec<Change> {
    let shape = problem.shape;
    let change = |name: &str, what: String, of: LastState| {
        Change::new(Part::LastState, name, what, move |v: &mut Variant| v.last_state = of)
    };
    let pads = [
        (Pad::Zeros, "u = 0 and delta = 0"),
        (Pad::LastStep, "u = 0 and the last position's Δ"),
        (Pad::ZerosWithoutBias, "u = 0, delta = 0 and no bias"),
        (Pad::LastPosition, "all inputs those of the last position"),
    ];
    let to_multiple = |multiple: usize| shape.seqlen.next_multiple_of(multiple) - shape.seqlen;
    let padded = |count: usize| {
        // The largest of the likely multiples, as it is one of the others, too.
        let multiple = MULTIPLES.into_iter().filter(|multiple| to_multiple(*multiple) == count).max();
        let to = multiple.map_or(String::new(), |multiple| format!(", to a multiple of {multiple}"));
        let s = if count == 1 { "" } else { "s" };
        pads.map(|(pad, with)| {
            let what =
                format!("last_state is that after {count} padded position{s} more{to}, with {with} there");
            change("last-state-after-padding", what, LastState::Padded(count, pad))
        })
    };
    let mut likely: Vec<usize> = Vec::new();
    for count in MULTIPLES.map(to_multiple) {
        if count > 0 && !likely.contains(&count) {
            likely.push(count);
        }
    }
    let mut all = vec![change("last-state-missing", "last_state is 0".to_owned(), LastState::Within(0, 0))];
    if problem.weights == Weights::Complex {
        for (of, name, what) in complex::MADE {
            let what = format!("last_state {what}");
            all.push(change(&format!("last-state-{name}"), what, LastState::OfComplex(of)));
        }
    }
    for (factor, name, what) in
        [(0.5, "halved", "is half of what it should be"), (-1.0, "negated", "has the wrong sign")]
    {
        let what = format!("last_state {what}: only last_state shows it");
        all.push(change(&format!("last-state-{name}"), what, LastState::Times(factor)));
    }
    all.push(change(
        "last-state-without-input",
        "last_state lacks the input of the last position".to_owned(),
        LastState::WithoutInput,
    ));
    all.extend(full_chunks(shape.seqlen));
    all.extend(likely.iter().copied().flat_map(padded));
    all.extend(moved(problem));
    for (map, of) in structure::some_of(shape.dstate) {
        if let Map::Within(from, to) = map {
            let what = format!("state{of} are 0 in last_state only");
            all.push(change("last-state-in-part", what, LastState::Within(from, to)));
        }
    }
    all.extend((1..=PADDED).filter(|count| !likely.contains(count)).flat_map(padded));
    let most = shape.seqlen.min(1 + TOO_EARLY / (shape.seqlen * shape.dstate).max(1));
    let of_chunk = |k: &usize| likely_lengths(shape.seqlen).any(|length| shape.seqlen % length == *k);
    all.extend((1..most).filter(|k| !of_chunk(k)).map(early));
    all
}

/// Lengths that chunks are likely to have, the largest first: it is a multiple of others.
fn likely_lengths(seqlen: usize) -> impl Iterator<Item = usize> {
    let mut lengths = MULTIPLES;
    lengths.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
    lengths.into_iter().filter(move |length| *length < seqlen)
}

/// The state after the last full chunk, which is not the end.
fn full_chunks(seqlen: usize) -> Vec<Change> {
    let mut known: Vec<usize> = Vec::new();
    let mut all = Vec::new();
    for length in likely_lengths(seqlen) {
        let beyond = seqlen % length;
        if beyond == 0 || known.contains(&beyond) {
            continue;
        }
        known.push(beyond);
        let s = if beyond == 1 { "" } else { "s" };
        let what = format!(
            "last_state is that after the last full chunk of {length} positions, without the {beyond} position{s} after it: only \
             last_state shows it"
        );
        all.push(Change::new(Part::LastState, "last-state-of-full-chunk", what, move |v: &mut Variant| {
            v.last_state = LastState::Early(beyond)
        }));
    }
    all
}

/// The state before the last so many positions.
pub fn early(k: usize) -> Change {
    let s = if k == 1 { "" } else { "s" };
    let what = format!("last_state is the state before the last {k} position{s}: only last_state shows it");
    Change::new(Part::LastState, "last-state-early", what, move |v: &mut Variant| {
        v.last_state = LastState::Early(k)
    })
}

/// A last state whose numbers are in each other's place.
fn moved(problem: &Problem) -> Vec<Change> {
    let shape = problem.shape;
    let axes = [("batch", shape.batch), ("channel", shape.dim), ("state", shape.dstate)];
    let mut all = Vec::new();
    let mut add = |what: String, of: LastState| {
        all.push(Change::new(
            Part::LastState,
            "last-state-of-other-place",
            format!("last_state {what}: only last_state shows it"),
            move |v: &mut Variant| v.last_state = of,
        ));
    };
    for (i, (axis, size)) in axes.into_iter().enumerate().filter(|(_, axis)| axis.1 > 1) {
        let maps = [
            (Map::Reversed, format!("is written from the last {axis} to the first")),
            (Map::At(0), format!("is that of {axis} 0 for all")),
            (Map::At(size - 1), format!("is that of the last {axis} for all")),
            (Map::Rolled(1), format!("of {axis} i is that of i + 1, around the end")),
            (Map::Rolled(-1), format!("of {axis} i is that of i − 1, around the end")),
        ];
        for (map, what) in maps {
            let mut of = [Map::Same; 3];
            of[i] = map;
            add(what, LastState::Moved(of));
        }
    }
    if shape.dim > 1 && shape.dstate > 1 {
        add("lies in memory as (batch, dstate, dim)".to_owned(), LastState::Transposed);
    }
    all
}

/// The same beside an output that is wrong. Beside a right one, what is more here is the convention direction = reverse.
pub fn beside(problem: &Problem, form: Form) -> Vec<Change> {
    let mut all = all(problem);
    all.extend((1..=EARLY.min(problem.shape.seqlen - 1)).map(early));
    if form.is_bidirectional() {
        let what = "last_state is that of the reversed scan, at the first position";
        let of = |v: &mut Variant| v.last_state = LastState::OfReversed;
        all.push(Change::new(Part::LastState, "last-state-of-reversed", what, of));
    }
    all
}
