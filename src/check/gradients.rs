//! The backward passes of a recorded run through bounds, judge and, where need be, truth.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::{BACKEND, Reason, Searching, TooLarge};
use crate::case;
use crate::formula::ReadsNow;
use crate::judge::budget::gradient::Pass;
use crate::judge::scan::{self, Place};
use crate::problem::recorded::{RecordedBackward, Recording};
use crate::problem::{Shape, Stages};
use crate::promise::Promise;
use crate::results::{BACKWARD, CaseResult, PairwiseMatrix, Verdict, explained};
use crate::tensor::Gradients;

/// Bytes for each position of a channel and eight of its states, in each direction: measured, and rounded up.
const EACH: usize = 6_000;

/// Values of all gradients of the passes of a label up to which these are compared: truths and bounds of all are held.
const COMPARED: usize = 4_000_000;

/// What a recording's backward passes come to.
#[derive(Clone, Debug, Default)]
pub struct CheckedGradients {
    pub cases: Vec<CaseResult>,
    /// Of passes of one label.
    pub pairwise: Vec<PairwiseMatrix>,
    /// Whether some were too large to be compared.
    pub not_compared: bool,
}

/// The verdict on each backward pass, and how far apart those of one label are. `place` is where a case stands, but for its id.
///
/// # Errors
/// [`TooLarge`] for channels that do not fit into memory; numbers that are not what the run claims.
pub fn check<R: Read + Seek + Send>(
    recording: &Recording<R>,
    stages: Stages,
    place: &Place,
    advance: &(dyn Fn() + Sync),
) -> Result<CheckedGradients, Reason> {
    let mut checked = CheckedGradients::default();
    let Some(RecordedBackward { problem, given, passes }) = recording.read_backward()? else {
        return Ok(checked);
    };
    fits(problem.shape)?;
    let contract = Promise::recorded(stages).contract;
    let size = |got: &Gradients<f32>| got.values().map(|tensor| tensor.values.len()).sum::<usize>();
    let mut groups: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (name, got) in &passes {
        let place = Place { id: format!("{}/{name}{BACKWARD}", place.regime), ..place.clone() };
        let form = name.form;
        let known = match ReadsNow::try_from(form) {
            Ok(_) if stages != Stages::NONE => {
                Err("gradients are judged in f32 alone, and another arithmetic is stated".to_owned())
            }
            known => known.map_err(|error| error.to_string()),
        };
        let reads_now = match known {
            Ok(form) => form,
            Err(reason) => {
                checked.cases.push(scan::without_output(form, &problem, place, Verdict::Unmeasured, reason));
                continue;
            }
        };
        let pass = Pass { form: reads_now, problem: &problem, given: &given, contract: &contract };
        let alike: Vec<_> = passes.iter().filter(|(other, _)| other.label == name.label).collect();
        let fits = alike.iter().map(|(_, got)| size(got)).sum::<usize>() <= COMPARED;
        checked.not_compared |= alike.len() > 1 && !fits;
        let judged = case::gradients(pass, got, alike.len() > 1 && fits, advance);
        if let Some(known) = &judged.known {
            let outputs = case::outputs_of_gradients(form, Some(got), &judged.tensors, known);
            groups.entry(&name.label).or_default().push(outputs);
        }
        checked.cases.push(scan::case(form, &problem, place, judged.tensors));
    }
    for (label, passes) in groups {
        let name = &place.regime;
        let id = if label.is_empty() { name.clone() } else { format!("{name}/{label}") };
        let compared = case::Compared { problem: &problem, source: BACKEND, regime: name, id: &id };
        checked.pairwise.extend(compared.gradients(passes).into_iter().flatten());
    }
    Ok(checked)
}

/// Explains the passes that fail, which are in their order.
pub fn explain<R: Read + Seek + Send>(
    recording: &Recording<R>,
    stages: Stages,
    cases: &mut [CaseResult],
    searching: &mut Searching,
) -> Result<(), Reason> {
    let Some(RecordedBackward { problem, given, passes }) = recording.read_backward()? else { return Ok(()) };
    let contract = Promise::recorded(stages).contract;
    for ((name, got), case) in passes.iter().zip(cases) {
        let Ok(form) = ReadsNow::try_from(name.form) else { continue };
        let pass = Pass { form, problem: &problem, given: &given, contract: &contract };
        searching.case(case, &mut |case, work| {
            let failing = explained::failing_gradients(case);
            explained::diagnosed(case, case::diagnose_gradients(pass, got, &failing, work));
            Ok(())
        })?;
    }
    Ok(())
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
