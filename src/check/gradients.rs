//! The backward passes of a recorded run through bounds, judge and, where need be, truth.

use std::io::{Read, Seek};

use super::{Reason, TooLarge};
use crate::case;
use crate::judge::budget::gradient::Pass;
use crate::judge::scan::{self, Place};
use crate::problem::recorded::{RecordedBackward, Recording};
use crate::problem::{Shape, Stages};
use crate::promise::Promise;
use crate::results::{BACKWARD, CaseResult, Verdict};

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
        let tensors = case::gradients(pass, got, advance);
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
