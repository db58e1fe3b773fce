//! The backward passes of a recorded run through bounds, judge and, where need be, truth.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::{BACKEND, Reason, Searching, TooLarge, meant};
use crate::case;
use crate::formula::ReadsNow;
use crate::judge::budget::gradient::Pass;
use crate::judge::diagnose::Work;
use crate::judge::lean;
use crate::judge::scan::{self, Place};
use crate::problem::recorded::{RecordedBackward, Recording};
use crate::problem::stages::{Fast, StageType};
use crate::problem::{Problem, Stage, Stages};
use crate::promise::Promise;
use crate::results::{BACKWARD, CaseResult, Diagnosis, PairwiseMatrix, Verdict, explained};
use crate::tensor::{GradientName, Gradients, Named};

/// Bytes for each position of a channel and eight of its states, in each direction: measured, and rounded up.
const EACH: usize = 6_000;

/// Bytes for each entry of a dense A: matrices of a step, of its transpose, and what they may be off.
const EACH_ENTRY: usize = 250;

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
    fits(&problem)?;
    let contract = Promise::recorded(stages).contract;
    let size = |got: &Gradients<f32>| got.values().map(|tensor| tensor.values.len()).sum::<usize>();
    let mut groups: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (name, got) in &passes {
        let place = Place { id: format!("{}/{name}{BACKWARD}", place.regime), ..place.clone() };
        let form = name.form;
        let known = match ReadsNow::try_from(form) {
            Ok(_) if !stages.holds_for_gradients() => Err(format!(
                "gradients are judged in f32, or with y=bf16, y=f16, exp=fast or scan=log-space, and {stages} is stated"
            )),
            Ok(_) if stages.log_space.is_some() && form.is_bidirectional() => {
                Err("gradients of a form of two directions are not judged in log space".to_owned())
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
            let mut failing = explained::failing_gradients(case);
            let known = by_arithmetic(pass, got, &failing, work);
            failing.retain(|name| known.get(*name).is_none());
            explained::diagnosed(case, known);
            explained::diagnosed(case, case::diagnose_gradients(pass, got, &failing, work));
            Ok(())
        })?;
    }
    Ok(())
}

/// Findings for gradients that fail where nothing is stated: a grad.z that is made of a y which was kept in 16 bits, or fast math.
fn by_arithmetic(
    pass: Pass,
    got: &Gradients<f32>,
    failing: &[GradientName],
    work: &Work,
) -> Named<Vec<Diagnosis>, GradientName> {
    let is_stated = pass.contract.arithmetic.stages != Stages::NONE;
    if is_stated || failing.is_empty() || !case::are_diagnosed(got) {
        return Named::default();
    }
    let kept = [StageType::F16, StageType::Bf16].map(|kept| {
        let stages = Stages::alone(Stage::Y, kept);
        let what = format!(
            "it is made of y + D·u as that was kept in {kept} between the passes, which --arithmetic '{stages}' accepts"
        );
        (stages, format!("{}-in-{kept}", Stage::Y), what)
    });
    let all: Vec<_> = kept.into_iter().chain(Fast::ALL.map(meant::fast_math)).collect();
    let stages: Vec<Stages> = all.iter().map(|(stages, ..)| *stages).collect();
    lean::explaining(pass, got, failing, &stages, work).map(|_, &(at, residual)| {
        let (_, name, what) = all[at].clone();
        vec![Diagnosis::new(name, what, residual)]
    })
}

/// Whether the threads' channels fit into memory together.
fn fits(problem: &Problem) -> Result<(), TooLarge> {
    let shape = problem.shape;
    let threads = rayon::current_num_threads().min(shape.batch * shape.dim).max(1);
    let of_states = EACH.saturating_mul(shape.dstate.div_ceil(8) + 1);
    let of_entries = if problem.is_dense() { EACH_ENTRY * shape.dstate.pow(2) } else { 0 };
    let each = (of_states + of_entries).saturating_mul(threads);
    let most = super::memory::MOST_BYTES / each;
    match shape.seqlen <= most {
        true => Ok(()),
        false => Err(TooLarge::Channel { positions: shape.seqlen, states: shape.dstate, most }),
    }
}
