//! Promise: as much of a recording has a certified truth as fits into memory.

use holdfast::check::memory::{KEPT, MORE_STATES, MOST_BYTES, TooLarge, WORKING, fitting, most_channels};
use holdfast::problem::Shape;

fn shape(seqlen: usize, dstate: usize) -> Shape {
    Shape { batch: 1, dim: 10_000, dstate, seqlen, groups: 1 }
}

/// By the measured figures, whatever the sizes.
fn bytes(shape: Shape, channels: usize, threads: usize) -> usize {
    let working = WORKING * (shape.dstate + MORE_STATES) * channels.min(threads);
    shape.seqlen * (working + KEPT * channels)
}

#[test]
fn as_many_channels_as_fit_and_no_more() {
    for (seqlen, dstate) in [(1, 1), (197, 16), (2048, 16), (100_000, 16), (700_000, 1), (20_000, 256)] {
        for threads in [1, 2, 16, 128] {
            let shape = shape(seqlen, dstate);
            let most = most_channels(shape, 6, threads).expect("one fits");
            assert!(most >= 1 && bytes(shape, most, threads) <= MOST_BYTES, "{shape} {threads}: {most}");
            assert!(bytes(shape, most + 1, threads) > MOST_BYTES, "{shape} {threads}: {most}");
            // Twice as many forms take twice as much.
            let of_more = most_channels(shape, 12, threads).unwrap_or(0);
            assert!(2 * of_more <= most + 1, "{shape} {threads}: {of_more} of {most}");
        }
    }
}

#[test]
fn a_channel_that_is_too_long_is_refused_and_the_longest_that_is_not_is_named() {
    for dstate in [1, 16, 256] {
        let Err(TooLarge::Channel { most, .. }) = most_channels(shape(1_000_000, dstate), 6, 2) else {
            panic!("10⁶ positions do not fit");
        };
        assert_eq!(most_channels(shape(most, dstate), 6, 2).map(|channels| channels >= 1), Ok(true));
        assert!(most_channels(shape(most + 1, dstate), 6, 2).is_err());
    }
    assert!(most_channels(shape(usize::MAX, usize::MAX), 6, 2).is_err());
}

#[test]
fn fewer_have_a_truth_unless_more_were_asked_for() {
    let long = shape(100_000, 16);
    let most = most_channels(long, 6, rayon::current_num_threads()).expect("one fits");
    assert_eq!(fitting(long, 6, None, 1000), Ok(most));
    // None at all has a truth: the quick route judges it.
    assert_eq!(fitting(shape(1_000_000, 16), 6, None, 1000), Ok(0));
    assert_eq!(fitting(long, 6, Some(1000), 1), Err(TooLarge::Channels { channels: 1000, most }));
    assert_eq!(fitting(long, 6, Some(1), 1000), Ok(1));
    assert_eq!(fitting(shape(32, 4), 6, Some(1_000_000), 1), Ok(10_000));
}
