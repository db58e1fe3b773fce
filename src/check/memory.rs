//! How much of a recorded run can be judged without filling the memory.
//!
//! A file of a few megabytes can hold a channel whose truth takes gigabytes, and minutes: one state over 10⁶ positions.
//! The figures below are measured (peak of the whole process, all six methods failing and so diagnosed as well, 1 to 256
//! states, real and complex), and rounded up: 250 to 380 bytes for each position and state, with four states more for what
//! does not depend on their number, and 1000 bytes for each position that stays until the end.

use crate::problem::Shape;

/// Bytes that are needed for each position and state of a channel while it is solved and judged.
const WORKING: usize = 400;
/// What does not depend on the number of states, as so many more of them.
const MORE_STATES: usize = 4;
/// Bytes that stay for each position of a judged channel: the methods' truths, bounds and outputs.
const KEPT: usize = 1000;

/// What judging a file may take, besides the file's own numbers.
pub const MOST_BYTES: usize = 2 << 30;

/// A run of which not even one channel, or not as many as were asked for, can be judged: bad input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    #[error(
        "a channel has {positions} positions with {states} states, expected at most {most} positions: the truth of \
         more would not fit into 2 GiB (hint: record a shorter run)"
    )]
    Channel { positions: usize, states: usize, most: usize },
    #[error(
        "{channels} channels are to be judged, expected at most {most}: the truth of more would not fit into 2 GiB \
         (hint: --channels {most})"
    )]
    Channels { channels: usize, most: usize },
}

/// How many of the channels of a run can be judged by so many threads.
///
/// # Errors
/// [`TooLarge::Channel`] where it is none.
pub fn most_channels(shape: Shape, threads: usize) -> Result<usize, TooLarge> {
    let (positions, states) = (shape.seqlen, shape.dstate);
    let working = WORKING.saturating_mul(states.saturating_add(MORE_STATES));
    let most = MOST_BYTES / working.saturating_add(KEPT);
    if positions > most {
        return Err(TooLarge::Channel { positions, states, most });
    }
    let each = (positions.saturating_mul(working + KEPT)).max(1);
    let at_once = MOST_BYTES / each;
    if at_once < threads.max(1) {
        return Ok(at_once);
    }
    // Every thread has one; of the others only what stays counts.
    let left = MOST_BYTES - positions * working * threads.max(1);
    Ok(left / (positions * KEPT).max(1))
}

/// The channels to judge: as many as were asked for, or else as many as are affordable and fit.
///
/// # Errors
/// [`TooLarge`].
pub fn fitting(shape: Shape, asked: Option<usize>, affordable: usize) -> Result<usize, TooLarge> {
    let most = most_channels(shape, rayon::current_num_threads())?;
    let all = shape.batch.saturating_mul(shape.dim);
    match asked.map(|channels| channels.min(all)) {
        Some(channels) if channels > most => Err(TooLarge::Channels { channels, most }),
        Some(channels) => Ok(channels.max(1)),
        None => Ok(affordable.min(most).min(all).max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(seqlen: usize, dstate: usize) -> Shape {
        Shape { batch: 1, dim: 10_000, dstate, seqlen, groups: 1 }
    }

    /// By the figures above, whatever the sizes.
    fn bytes(shape: Shape, channels: usize, threads: usize) -> usize {
        let working = WORKING * (shape.dstate + MORE_STATES) * channels.min(threads);
        shape.seqlen * (working + KEPT * channels)
    }

    #[test]
    fn as_many_channels_as_fit_and_no_more() {
        for (seqlen, dstate) in [(1, 1), (197, 16), (2048, 16), (100_000, 16), (700_000, 1), (20_000, 256)] {
            for threads in [1, 2, 16, 128] {
                let shape = shape(seqlen, dstate);
                let most = most_channels(shape, threads).expect("one fits");
                assert!(most >= 1 && bytes(shape, most, threads) <= MOST_BYTES, "{shape} {threads}: {most}");
                assert!(bytes(shape, most + 1, threads) > MOST_BYTES, "{shape} {threads}: {most}");
            }
        }
    }

    #[test]
    fn a_channel_that_is_too_long_is_refused_and_the_longest_that_is_not_is_named() {
        for dstate in [1, 16, 256] {
            let Err(TooLarge::Channel { most, .. }) = most_channels(shape(1_000_000, dstate), 2) else {
                panic!("10⁶ positions do not fit");
            };
            assert_eq!(most_channels(shape(most, dstate), 2).map(|channels| channels >= 1), Ok(true));
            assert!(most_channels(shape(most + 1, dstate), 2).is_err());
        }
        assert!(most_channels(shape(usize::MAX, usize::MAX), 2).is_err());
    }

    #[test]
    fn fewer_are_judged_unless_more_were_asked_for() {
        let long = shape(100_000, 16);
        let most = most_channels(long, rayon::current_num_threads()).expect("one fits");
        assert_eq!(fitting(long, None, 1000), Ok(most));
        assert_eq!(fitting(long, None, 0), Ok(1));
        assert_eq!(fitting(long, Some(1000), 1), Err(TooLarge::Channels { channels: 1000, most }));
        assert_eq!(fitting(long, Some(1), 1000), Ok(1));
        assert_eq!(fitting(shape(32, 4), Some(1_000_000), 1), Ok(10_000));
    }
}
