//! What may go wrong where a sequence is read and carried in chunks of a length, beside what [`super::scans::chunked`] has.

use super::changes::{Change, Part};
use super::structure::sequences;
use crate::judge::faults::around::{Carry, Chunks, Decay, Steps, UUse};
use crate::judge::faults::place::{AtChunks, InBlock, LastBlock, Map};
use crate::judge::faults::variant::Variant;
use crate::problem::Problem;

/// What may happen at the chunks of this length, beside [`super::scans::chunked`].
pub fn at_chunks(problem: &Problem, length: usize) -> Vec<Change> {
    let mut all = decayed(length);
    let what = format!(
        "u of the scan counts twice at the last position of each chunk of {length}, as where chunks overlap"
    );
    all.push(Change::new(Part::UValue, "u-twice-at-chunks", what, move |v: &mut Variant| {
        v.u_use[0] = UUse::TwiceAtLast(length);
    }));
    for read in sequences(problem) {
        let ways = [
            (0, Some(-1), "first", "is that of the position before"),
            (0, Some(1), "first", "is that of the position after"),
            (0, Some(-(length as isize)), "first", "is that of the chunk before"),
            (0, None, "first", "is missing"),
            (length - 1, Some(1), "last", "is that of the position after"),
            (length - 1, Some(-1), "last", "is that of the position before"),
            (length - 1, None, "last", "is missing"),
        ];
        let what = format!(
            "of position l is that of l % {length}: where it is read from does not advance from chunk to chunk"
        );
        all.push(read.at("not-advancing", &what, Map::Modulo(length)));
        for (at, by, place, is) in ways {
            let name = if by.is_some() { "stale-at-chunks" } else { "missing-at-chunks" };
            let what = format!("{is} at the {place} position of each chunk of {length}");
            all.push(read.at(name, &what, Map::Chunked(AtChunks { length, at, by })));
        }
    }
    all
}

/// A carried state that has decayed by other steps than it should have.
fn decayed(length: usize) -> Vec<Change> {
    let steps = [
        (
            Steps::Exclusive,
            "too-little",
            "one step too little: at position l by all steps of the chunk before l",
        ),
        (Steps::WithoutFirst, "too-little", "one step too little: not by the chunk's first step"),
        (Steps::OneMore, "too-much", "one step too much: at position l by that of l + 1, too"),
        (Steps::OneBefore, "too-much", "one step too much: by the last step of the chunk before, too"),
        (Steps::FirstTwice, "too-much", "one step too much: by the chunk's first step twice"),
        (Steps::Nothing, "too-little", "by nothing at any position"),
        (Steps::OwnAlone, "too-little", "too little: at position l by the step of l alone"),
    ];
    let mut all = Vec::new();
    for (steps, name, what) in steps {
        for (passed_right, last_right, passed) in [
            (true, true, "what is passed from chunk to chunk is right"),
            (true, false, "what is passed from chunk to chunk is right, last_state is not"),
            (false, false, "so it is passed on"),
        ] {
            // Passed on, these are the missing Ā of the first position, and Carry::WithoutDecay.
            if matches!(steps, Steps::WithoutFirst | Steps::Nothing) && !passed_right {
                continue;
            }
            let carry = Carry::Decayed(Decay { steps, passed_right, last_right });
            all.push(Change::new(
                Part::Carry,
                format!("chunk-carry-decayed-{name}"),
                format!("the state carried into a chunk of {length} has decayed {what}; {passed}"),
                move |v: &mut Variant| v.chunks = Some(Chunks::new(length, carry)),
            ));
        }
    }
    all
}

/// Sequences in the last block of so many positions, where that is not full.
pub fn in_last_block(problem: &Problem, length: usize) -> Vec<Change> {
    let seqlen = problem.shape.seqlen;
    if seqlen < length || seqlen.is_multiple_of(length) {
        return Vec::new();
    }
    let ways = [
        ("stale", "is that of the block before", InBlock::By(-(length as isize))),
        ("held", "is that of the last position before", InBlock::Held),
        ("missing", "is missing", InBlock::Nothing),
    ];
    let mut all = Vec::new();
    for read in sequences(problem) {
        for (name, is, read_there) in ways {
            let what = format!("{is} in the last block of {length}, which is not full");
            let map = Map::InLastBlock(LastBlock { length, read: read_there });
            all.push(read.at(&format!("{name}-in-last-block"), &what, map));
        }
    }
    all
}
