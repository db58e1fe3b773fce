//! The backward passes of a recorded run through bounds, judge and, where need be, truth.

use std::io::{Read, Seek};

use super::{Reason, TooLarge};
use crate::judge::budget::gradient::{self, Pass};
use crate::judge::gradient as judge;
use crate::judge::scan::{self, Place};
use crate::problem::recorded::{RecordedBackward, Recording};
use crate::problem::{Shape, Stages};
use crate::promise::Promise;
use crate::results::{CaseResult, Verdict};
use crate::truth;

/// What an id of a backward pass ends with.
pub const BACKWARD: &str = "/backward";

/// Positions × states × channels up to which a certified truth is asked for what the quick route leaves open: some 100 µs each.
const CERTIFIED: usize = 100_000;

/// Bytes for each position of a channel and eight of its states, in each direction: measured, and rounded up.
const EACH: usize = 6_000;

/// The verdict on each backward pass. `place` is where a case stands, but for its id.
///
/// # Errors
/// [`TooLarge`] for channels that do not fit into memory; numbers that are not what the run claims.
pub fn check<R: Read + Seek + Send>(
    recording: &Recording<R>,
    stages: Stages,
    place: &Place,
    advance: &(dyn Fn() + Sync),
) -> Result<Vec<CaseResult>, Reason> {
    let Some(RecordedBackward { problem, given, passes }) = recording.read_backward()? else {
        return Ok(Vec::new());
    };
    fits(problem.shape)?;
    let contract = Promise::recorded(stages).contract;
    let mut cases = Vec::new();
    for (name, got) in &passes {
        let place = Place { id: format!("{}/{name}{BACKWARD}", place.regime), ..place.clone() };
        let form = name.form;
        if stages != Stages::NONE {
            let reason = "gradients are judged in f32 alone, and another arithmetic is stated".to_owned();
            cases.push(scan::without_output(form, &problem, place, Verdict::Unmeasured, reason));
            continue;
        }
        let pass = Pass { form, problem: &problem, given: &given, contract: &contract };
        let quick = judge::quick(pass, got, advance);
        let mut tensors = judge::by_quick(&quick, got);
        let shape = problem.shape;
        let steps = shape.sequence_len().saturating_mul(shape.dstate);
        if let (true, Some(method)) = (quick.is_open() && steps <= CERTIFIED, form.method()) {
            match truth::gradient::solve(&problem, &given, &[method]) {
                Ok(truths) => {
                    let budget = gradient::bounds(pass);
                    tensors = judge::by_truth(got, &truths[0].tensors, &budget);
                }
                Err(error) => {
                    for (_, tensor) in tensors.iter_mut().filter(|(_, t)| t.verdict == Verdict::Unmeasured) {
                        tensor.reason = error.to_string();
                    }
                }
            }
        }
        cases.push(scan::case(form, &problem, place, tensors));
    }
    Ok(cases)
}

/// Whether the threads' channels fit into memory together.
fn fits(shape: Shape) -> Result<(), TooLarge> {
    let threads = rayon::current_num_threads().min(shape.batch * shape.dim).max(1);
    let each = EACH.saturating_mul(shape.dstate.div_ceil(8) + 1).saturating_mul(threads);
    let most = super::memory::MOST_BYTES / each;
    match shape.seqlen <= most {
        true => Ok(()),
        false => Err(TooLarge::Channel { positions: shape.seqlen, states: shape.dstate, most }),
    }
}
