//! How many channels of a recorded run can have a certified truth without filling the memory.
//!
//! A file of a few megabytes can hold a channel whose truth takes gigabytes, and minutes: one state over 10⁶ positions.
//! The figures below are measured (peak of the whole process, all six methods failing and so diagnosed as well, 1 to 256
//! states, real and complex), and rounded up: 250 to 380 bytes for each position and state, with four states more for what
//! does not depend on their number, and 1000 bytes for each position that stays until the end.

use crate::problem::Shape;

/// Bytes that are needed for each position and state of a channel while it is solved and judged.
pub const WORKING: usize = 400;
/// What does not depend on the number of states, as so many more of them.
pub const MORE_STATES: usize = 4;
/// Bytes that stay for each position of a judged channel: the methods' truths, bounds and outputs.
pub const KEPT: usize = 1000;
/// Forms of the runs that this was measured with.
const MEASURED: usize = 6;

/// What the truth of a file's channels may take, besides the file's own numbers.
pub const MOST_BYTES: usize = 2 << 30;

/// A run of which not even one channel, or not as many as were asked for, can have a truth: bad input where they were.
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
    #[error(
        "the inputs have {elements} numbers, expected at most {most}: all of them are held with their bounds \
         (hint: record fewer items or heads)"
    )]
    Elements { elements: usize, most: usize },
}

/// How many of the channels of a run can have a truth by so many forms, solved by so many threads.
///
/// # Errors
/// [`TooLarge::Channel`] where it is none.
pub fn most_channels(shape: Shape, forms: usize, threads: usize) -> Result<usize, TooLarge> {
    let (positions, states) = (shape.seqlen, shape.dstate);
    // Measured with six forms: fewer take hardly less, and more take more.
    let scaled = |bytes: usize| bytes * forms.max(MEASURED) / MEASURED;
    let working = scaled(WORKING).saturating_mul(states.saturating_add(MORE_STATES));
    let kept = scaled(KEPT);
    let most = MOST_BYTES / working.saturating_add(kept);
    if positions > most {
        return Err(TooLarge::Channel { positions, states, most });
    }
    let each = (positions.saturating_mul(working + kept)).max(1);
    let at_once = MOST_BYTES / each;
    if at_once < threads.max(1) {
        return Ok(at_once);
    }
    // Every thread has one; of the others only what stays counts.
    let left = MOST_BYTES - positions * working * threads.max(1);
    Ok(left / (positions * kept).max(1))
}

/// The channels to solve: as many as were asked for, or else as many as are affordable and fit, which may be none.
pub fn fitting(
    shape: Shape,
    forms: usize,
    asked: Option<usize>,
    affordable: usize,
) -> Result<usize, TooLarge> {
    let most = most_channels(shape, forms, rayon::current_num_threads());
    let all = shape.batch.saturating_mul(shape.dim);
    match asked.map(|channels| channels.min(all)) {
        Some(channels) => match most? {
            most if channels > most => Err(TooLarge::Channels { channels, most }),
            _ => Ok(channels.max(1)),
        },
        None => Ok(affordable.min(most.unwrap_or(0)).min(all)),
    }
}
