//! Which index a map has for each one of an axis, up to both ends.

use holdfast::judge::faults::place::{AtChunks, InBlock, LastBlock, Map};
use rstest::rstest;

const NONE: usize = usize::MAX;

fn chunked(length: usize, at: usize, by: Option<isize>) -> Map {
    Map::Chunked(AtChunks { length, at, by })
}

fn last_block(length: usize, read: InBlock) -> Map {
    Map::InLastBlock(LastBlock { length, read })
}

#[rstest]
#[case(Map::Same, &[0, 1, 2, 3, 4, 5, 6])]
#[case(Map::OfBatch, &[0, 1, 2, 3, 4, 5, 6])]
#[case(Map::OfChannel, &[0, 1, 2, 3, 4, 5, 6])]
#[case(Map::At(2), &[2; 7])]
#[case(Map::At(6), &[6; 7])]
#[case(Map::At(7), &[6; 7])]
#[case(Map::Shifted(2), &[2, 3, 4, 5, 6, NONE, NONE])]
#[case(Map::Shifted(-2), &[NONE, NONE, 0, 1, 2, 3, 4])]
#[case(Map::Held(2), &[2, 3, 4, 5, 6, 6, 6])]
#[case(Map::Held(-2), &[0, 0, 0, 1, 2, 3, 4])]
#[case(Map::Rolled(2), &[2, 3, 4, 5, 6, 0, 1])]
#[case(Map::Rolled(-2), &[5, 6, 0, 1, 2, 3, 4])]
#[case(Map::Rolled(-9), &[5, 6, 0, 1, 2, 3, 4])]
#[case(Map::Modulo(3), &[0, 1, 2, 0, 1, 2, 0])]
#[case(Map::Divided(3), &[0, 0, 0, 1, 1, 1, 2])]
#[case(Map::Reversed, &[6, 5, 4, 3, 2, 1, 0])]
#[case(Map::Floor(3), &[0, 0, 0, 3, 3, 3, 6])]
#[case(Map::ReversedIn(3), &[2, 1, 0, 5, 4, 3, 6])]
#[case(Map::ReversedIn(7), &[6, 5, 4, 3, 2, 1, 0])]
#[case(Map::ReversedIn(8), &[0, 1, 2, 3, 4, 5, 6])]
#[case(Map::Columns(3), &[0, 1, 2, 3, 4, 5, 6])]
#[case(Map::Columns(7), &[0, 1, 2, 3, 4, 5, 6])]
#[case(Map::Columns(2), &[0, 3, 1, 4, 2, 5])]
#[case(Map::Columns(3), &[0, 2, 4, 1, 3, 5])]
#[case(Map::Within(2, 5), &[NONE, NONE, 2, 3, 4, NONE, NONE])]
#[case(Map::Without(2), &[0, 1, NONE, 3, 4, 5, 6])]
#[case(chunked(3, 0, Some(-1)), &[0, 1, 2, 2, 4, 5, 5])]
#[case(chunked(3, 0, Some(1)), &[0, 1, 2, 4, 4, 5, NONE])]
#[case(chunked(3, 2, Some(1)), &[0, 1, 3, 3, 4, 6, 6])]
#[case(chunked(3, 0, Some(-4)), &[0, 1, 2, NONE, 4, 5, 2])]
#[case(chunked(3, 0, None), &[0, 1, 2, NONE, 4, 5, NONE])]
#[case(last_block(3, InBlock::Nothing), &[0, 1, 2, 3, 4, 5, NONE])]
#[case(last_block(4, InBlock::By(-4)), &[0, 1, 2, 3, 0, 1, 2])]
#[case(last_block(4, InBlock::By(1)), &[0, 1, 2, 3, 5, 6, NONE])]
#[case(last_block(4, InBlock::Held), &[0, 1, 2, 3, 3, 3, 3])]
#[case(last_block(7, InBlock::Nothing), &[0, 1, 2, 3, 4, 5, 6])]
// No block is before the first.
#[case(last_block(8, InBlock::Held), &[NONE; 7])]
#[case(last_block(8, InBlock::By(-1)), &[NONE, 0, 1, 2, 3, 4, 5])]
#[case(Map::Reversed, &[0])]
#[case(Map::Held(-3), &[0])]
#[case(Map::Rolled(5), &[0])]
#[case(Map::Shifted(1), &[NONE])]
fn a_map_reads_this_index_for_each(#[case] map: Map, #[case] want: &[usize]) {
    let got: Vec<usize> = (0..want.len()).map(|i| map.of(i, want.len()).unwrap_or(NONE)).collect();
    assert_eq!(got, want);
}
