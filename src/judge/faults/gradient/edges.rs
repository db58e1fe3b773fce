//! What goes wrong where chunks begin, at the lengths that chunks have.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::catalogue::{self, ADJOINT, Fault, SLOPES, STATES};
use super::variant::{Edge, Variant};
use crate::tensor::{GradientName, InputType};

/// What goes wrong at the edges of chunks of the usual lengths, as fault models.
pub static ALL: LazyLock<Vec<Fault>> = LazyLock::new(|| {
    let edges = LENGTHS.iter().flat_map(|&length| edges_at(length));
    edges.filter(|fault| catalogue::find(fault.name).is_none()).collect()
});

/// The same of every other length that chunks, tiles and windows may have: what nothing else explains.
pub static OF_ANY_LENGTH: LazyLock<Vec<Fault>> = LazyLock::new(|| {
    let known: HashSet<&str> = catalogue::ALL.iter().chain(ALL.iter()).map(|fault| fault.name).collect();
    let lengths: Vec<usize> = (2..=LONGEST).collect();
    let edges = lengths.iter().flat_map(|&length| edges_at(length));
    let all = edges.chain(catalogue::windows(&lengths)).filter(|fault| !known.contains(fault.name));
    all.collect()
});

/// Of the lengths that are tried one by one.
const LONGEST: usize = 256;

/// What goes wrong at multiples of a length.
fn edges_at(length: usize) -> impl Iterator<Item = Fault> {
    EDGES.iter().enumerate().flat_map(move |(kind, (name, what, touches, _))| {
        SIDES.iter().enumerate().map(move |(side, (prefix, whose, _))| {
            let what = match what.contains("{}") {
                true => what.replace("{}", &length.to_string()),
                false => format!("{what} at multiples of {length}"),
            };
            let name = format!("{prefix}{name}-at-{length}").leak();
            let number = (length * EDGES.len() + kind) * SIDES.len() + side;
            Fault::numbered(name, format!("{whose}{what}").leak(), touches, edge, number)
        })
    })
}

/// Lengths of chunks; the catalogue has powers of two from 16 on for what is likeliest.
const LENGTHS: [usize; 20] =
    [4, 8, 10, 12, 16, 20, 24, 25, 32, 40, 48, 50, 64, 96, 100, 128, 256, 512, 1024, 2048];

#[rustfmt::skip]
const SIDES: [(&str, &str, [bool; 2]); 3] = [
    ("", "", [true, true]),
    ("forward-", "in the forward scan ", [true, false]),
    ("reversed-", "in the reversed scan ", [false, true]),
];

#[rustfmt::skip]
const EDGES: &[(&str, &str, &[GradientName], Edge)] = &[
    ("adjoint-lost", "the adjoint is lost", ADJOINT, Edge::Adjoint(0.0)),
    ("adjoint-undecayed", "the adjoint passes without Ā", ADJOINT, Edge::Undecayed),
    ("adjoint-doubled", "the adjoint counts twice", ADJOINT, Edge::Adjoint(2.0)),
    ("adjoint-halved", "the adjoint counts half", ADJOINT, Edge::Adjoint(0.5)),
    ("adjoint-negated", "the adjoint has the wrong sign", ADJOINT, Edge::Adjoint(-1.0)),
    ("adjoint-decayed-twice", "the adjoint is multiplied by Ā twice", ADJOINT, Edge::DecayedTwice),
    ("adjoint-decayed-by-own", "the adjoint is multiplied by Ā of the position that it arrives at", ADJOINT, Edge::DecayedByOwn),
    ("adjoint-decayed-by-chunk-end", "the adjoint is multiplied by Ā of the last position of the chunk that it leaves", ADJOINT, Edge::DecayedByEnd),
    ("dlast-state-again", "dlast_state is added again", ADJOINT, Edge::LastStateAgain),
    ("state-in-backward-lost", "the backward pass loses the state", STATES, Edge::State(0.0)),
    ("state-in-backward-doubled", "the state of the backward pass counts twice", STATES, Edge::State(2.0)),
    ("state-in-backward-undecayed", "the state of the backward pass is carried on without Ā", STATES, Edge::StateUndecayed),
    ("state-in-backward-decayed-twice", "the state of the backward pass is multiplied by Ā twice", STATES, Edge::StateDecayedTwice),
    ("initial-state-again", "the backward pass starts from the initial state again", STATES, Edge::InitialStateAgain),
    ("state-of-chunk-before", "the backward pass starts from the state that the chunk before has started from", STATES, Edge::StateOfChunkBefore),
    ("state-one-before", "the backward pass starts from the state of one position before", STATES, Edge::StateOneBefore),
    ("state-unread", "Ā's share has 0 for the state before", SLOPES, Edge::Unread),
    ("state-after-read", "Ā's share has the state after the step in place of the one before", SLOPES, Edge::ReadsAfter),
    ("state-bf16", "the state that the backward pass starts from is kept in bf16", STATES, Edge::Stored(InputType::Bf16)),
    ("state-f16", "the state that the backward pass starts from is kept in f16", STATES, Edge::Stored(InputType::F16)),
    ("adjoint-bf16", "the adjoint is kept in bf16", ADJOINT, Edge::AdjointStored(InputType::Bf16)),
    ("adjoint-f16", "the adjoint is kept in f16", ADJOINT, Edge::AdjointStored(InputType::F16)),
    ("adjoint-ends", "the adjoint has what {} positions add, its own and those after it, and nothing from further on", ADJOINT, Edge::Reach),
];

fn edge(variant: &mut Variant, number: usize) {
    let (kind, side) = (number / SIDES.len(), number % SIDES.len());
    variant.edge = Some((kind / EDGES.len(), EDGES[kind % EDGES.len()].3));
    variant.edge_in = SIDES[side].2;
}
