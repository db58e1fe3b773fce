//! Which index a map has for each one of an axis, up to both ends.

use holdfast::judge::faults::place::{AtChunks, InBlock, LastBlock, Map};

use crate::cases::each;

const NONE: usize = usize::MAX;

fn chunked(length: usize, at: usize, by: Option<isize>) -> Map {
    Map::Chunked(AtChunks { length, at, by })
}

fn last_block(length: usize, read: InBlock) -> Map {
    Map::InLastBlock(LastBlock { length, read })
}

#[test]
fn a_map_reads_this_index_for_each() {
    let cases: [(Map, &[usize]); 42] = [
        (Map::Same, &[0, 1, 2, 3, 4, 5, 6]),
        (Map::OfBatch, &[0, 1, 2, 3, 4, 5, 6]),
        (Map::OfChannel, &[0, 1, 2, 3, 4, 5, 6]),
        (Map::At(2), &[2; 7]),
        (Map::At(6), &[6; 7]),
        (Map::At(7), &[6; 7]),
        (Map::Shifted(2), &[2, 3, 4, 5, 6, NONE, NONE]),
        (Map::Shifted(-2), &[NONE, NONE, 0, 1, 2, 3, 4]),
        (Map::Held(2), &[2, 3, 4, 5, 6, 6, 6]),
        (Map::Held(-2), &[0, 0, 0, 1, 2, 3, 4]),
        (Map::Rolled(2), &[2, 3, 4, 5, 6, 0, 1]),
        (Map::Rolled(-2), &[5, 6, 0, 1, 2, 3, 4]),
        (Map::Rolled(-9), &[5, 6, 0, 1, 2, 3, 4]),
        (Map::Modulo(3), &[0, 1, 2, 0, 1, 2, 0]),
        (Map::Divided(3), &[0, 0, 0, 1, 1, 1, 2]),
        (Map::Reversed, &[6, 5, 4, 3, 2, 1, 0]),
        (Map::Floor(3), &[0, 0, 0, 3, 3, 3, 6]),
        (Map::ReversedIn(3), &[2, 1, 0, 5, 4, 3, 6]),
        (Map::ReversedIn(7), &[6, 5, 4, 3, 2, 1, 0]),
        (Map::ReversedIn(8), &[0, 1, 2, 3, 4, 5, 6]),
        (Map::Columns(3), &[0, 1, 2, 3, 4, 5, 6]),
        (Map::Columns(7), &[0, 1, 2, 3, 4, 5, 6]),
        (Map::Columns(2), &[0, 3, 1, 4, 2, 5]),
        (Map::Columns(3), &[0, 2, 4, 1, 3, 5]),
        (Map::Within(2, 5), &[NONE, NONE, 2, 3, 4, NONE, NONE]),
        (Map::Without(2), &[0, 1, NONE, 3, 4, 5, 6]),
        (chunked(3, 0, Some(-1)), &[0, 1, 2, 2, 4, 5, 5]),
        (chunked(3, 0, Some(1)), &[0, 1, 2, 4, 4, 5, NONE]),
        (chunked(3, 2, Some(1)), &[0, 1, 3, 3, 4, 6, 6]),
        (chunked(3, 0, Some(-4)), &[0, 1, 2, NONE, 4, 5, 2]),
        (chunked(3, 0, None), &[0, 1, 2, NONE, 4, 5, NONE]),
        (last_block(3, InBlock::Nothing), &[0, 1, 2, 3, 4, 5, NONE]),
        (last_block(4, InBlock::By(-4)), &[0, 1, 2, 3, 0, 1, 2]),
        (last_block(4, InBlock::By(1)), &[0, 1, 2, 3, 5, 6, NONE]),
        (last_block(4, InBlock::Held), &[0, 1, 2, 3, 3, 3, 3]),
        (last_block(7, InBlock::Nothing), &[0, 1, 2, 3, 4, 5, 6]),
        // No block is before the first.
        (last_block(8, InBlock::Held), &[NONE; 7]),
        (last_block(8, InBlock::By(-1)), &[NONE, 0, 1, 2, 3, 4, 5]),
        (Map::Reversed, &[0]),
        (Map::Held(-3), &[0]),
        (Map::Rolled(5), &[0]),
        (Map::Shifted(1), &[NONE]),
    ];
    each(cases, |(map, want)| {
        let got: Vec<usize> = (0..want.len()).map(|i| map.of(i, want.len()).unwrap_or(NONE)).collect();
        assert_eq!(got, want);
    });
}
