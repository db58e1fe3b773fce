//! Why the cases of a judged run fail: after all verdicts are known, case by case, within a budget.

use std::io::{Read, Seek};

use super::diagnosis::{self, Explains};
use super::every::Survey;
use super::meant::{self, Turn};
use super::{Options, Reason, Truths, gradients};
use crate::formula::Form;
use crate::judge::diagnose::{Budget, Searches, Work};
use crate::judge::explain::{by_cut_off, by_edits, by_edits_apart, by_edits_at_length, by_two_edits};
use crate::judge::slight;
use crate::problem::recorded::{RecordedOutput, RecordedRun, Recording};
use crate::problem::{Problem, Stages};
use crate::promise::Promise;
use crate::results::{CaseResult, Search, TensorResult, Verdict};
use crate::tensor::TensorName;
use crate::truth::scan::ScanTruth;

/// Knowledge of the outputs of a judged run, from its judgement.
pub struct Solved {
    /// The channels with a truth that were judged first, and that.
    pub(super) rows: Vec<usize>,
    pub(super) truths: Truths,
    /// Verdicts of the quick route, where it judged all channels.
    pub(super) surveys: Option<Vec<Survey>>,
    /// All channels with a verdict.
    pub(super) named: Vec<usize>,
}

/// Cases that stand for others which fail alike, if they have one and the same cause.
const ALIKE: usize = 2;

/// Searches of a command, and what they came to.
pub struct Searching<'a> {
    searches: Searches,
    names: &'a [String],
    told: &'a dyn Fn(),
    /// Failure, id and cause of each case that has one.
    searched: Vec<(String, String, String)>,
}

/// Looks for what explains a case.
type Explain<'e> = &'e mut dyn FnMut(&mut CaseResult, &Work) -> Result<(), Reason>;

impl<'a> Searching<'a> {
    /// Searches whose time has begun. `told` is called after each case that fails.
    pub fn new(searches: Searches, options: &'a Options, told: &'a dyn Fn()) -> Self {
        Searching { searches, names: &options.causes, told, searched: Vec::new() }
    }

    /// Explains a case that fails, as far as the budget goes.
    pub(super) fn case(&mut self, case: &mut CaseResult, explain: Explain) -> Result<(), Reason> {
        if case.verdict != Verdict::Fail {
            return Ok(());
        }
        case.search = self.search(case, explain)?;
        (self.told)();
        Ok(())
    }

    fn search(&mut self, case: &mut CaseResult, explain: Explain) -> Result<Option<Search>, Reason> {
        let fails_like = fails_like(case);
        if let Some((id, cause)) = self.alike(&fails_like)
            && let Some(work) = self.searches.of_case(std::slice::from_ref(cause))
        {
            let mut same = case.clone();
            explain(&mut same, &work)?;
            if same.diagnosis.first().is_some_and(|found| found.name == *cause) {
                return Ok(Some(Search::As(id.clone())));
            }
        }
        let Some(work) = self.searches.of_case(self.names) else {
            return Ok(Some(Search::NotBegun(self.searches.of_all())));
        };
        explain(case, &work)?;
        // A failure that has no name in one case may have one in the next.
        if let Some(cause) = case.diagnosis.first() {
            self.searched.push((fails_like, case.id.clone(), cause.name.clone()));
        }
        let is_open = work.is_open(!case.diagnosis.is_empty());
        Ok(is_open.then(|| Search::Ended(self.searches.of_each())).or(case.search.take()))
    }

    /// The first of several cases that fail like this one and have one cause, and that. None where each is searched to the end.
    fn alike(&self, fails_like: &str) -> Option<(&String, &String)> {
        let alike = || self.searched.iter().filter(|(other, ..)| other == fails_like);
        let stands = |cause: &String| alike().filter(|(.., other)| other == cause).count() >= ALIKE;
        let is_thorough = self.searches.budget == Budget::Thorough;
        alike().find(|(.., cause)| !is_thorough && stands(cause)).map(|(_, id, cause)| (id, cause))
    }
}

/// All that is known of a failure before its cause is.
fn fails_like(case: &CaseResult) -> String {
    let tensors = case.tensors.iter().map(|(name, tensor)| {
        let places = tensor.wrong.iter().map(|wrong| (&wrong.values, &wrong.places));
        (name.name(), tensor.verdict, places.collect::<Vec<_>>())
    });
    let tensors: Vec<_> = tensors.collect();
    format!("{} {} {} {tensors:?}", case.method, case.weights, case.input)
}

/// Explains the cases of a run, its outputs' and then its gradients'.
pub fn explain<R: Read + Seek + Send>(
    recording: &Recording<R>,
    options: &Options,
    solved: Option<&Solved>,
    cases: &mut [CaseResult],
    searching: &mut Searching,
) -> Result<(), Reason> {
    let layout = recording.layout();
    let stages = options.stages.unwrap_or(layout.stages);
    let (of_outputs, of_gradients) = cases.split_at_mut(layout.outputs.len());
    let is_off = searching.searches.budget == Budget::Off;
    let fails = |cases: &[CaseResult]| !is_off && cases.iter().any(|case| case.verdict == Verdict::Fail);
    if let Some(solved) = solved.filter(|_| fails(of_outputs)) {
        let RecordedRun { mut problem, mut outputs } = recording.read(&solved.rows)?;
        // Fault models know no tensors of chunks.
        problem.conventions.chunk = None;
        outputs
            .iter_mut()
            .for_each(|output| output.tensors.retain(|name| TensorName::SCANNED.contains(&name)));
        for (at, case) in of_outputs.iter_mut().enumerate() {
            let truth = solved.truths.get(&case.method).and_then(|truth| truth.as_ref().ok());
            let known = (stages, solved, at);
            searching.case(case, &mut |case, work| {
                output(recording, known, (&mut problem, &outputs[at], truth), (case, work))
            })?;
        }
    }
    if fails(of_gradients) {
        gradients::explain(recording, stages, of_gradients, searching)?;
    }
    Ok(())
}

/// A problem with an output, and the truth of that where there is one.
type Shown<'a> = (&'a mut Problem, &'a RecordedOutput, Option<&'a ScanTruth<Form>>);

/// Times its bound that each element of a failure is off, at most, where looser bounds are tried before edits. A choice: roundings that are
/// meant and not stated are mostly off by a few bounds, and known in milliseconds, while to find that no edit computes it takes all the time
/// there is.
const LOOSER_FIRST: f64 = 8.0;

/// Explains one output: by what may have been meant, by an edit, by looser bounds, by two edits in different channels, and
/// by two in all, or one that is looked for longer. A step that was ended names nothing, and none comes after it.
fn output<R: Read + Seek + Send>(
    recording: &Recording<R>,
    (stages, solved, at): (Stages, &Solved, usize),
    (problem, output, truth): Shown,
    (case, work): (&mut CaseResult, &Work),
) -> Result<(), Reason> {
    let contract = Promise::recorded(stages).contract;
    let tensors = recording.layout().outputs.iter().nth(at);
    let Some(tensors) = tensors else { return Ok(()) };
    let survey = solved.surveys.as_ref().map(|surveys| &surveys[at]);
    let by_rows = |problem: &mut Problem, explains: Explains, case: &mut CaseResult| {
        if let Some(truth) = truth {
            diagnosis::of_case((problem, &contract), output, truth, (explains, work), case);
        }
    };
    let meant = |problem: &Problem, turn, case: &mut CaseResult| {
        let solved_output = diagnosis::Solved { problem, contract: &contract, output, truth };
        let shown = (&solved.named[..], survey, &solved_output as &dyn meant::Rounded);
        meant::name_what_was_meant(recording, (stages, turn, work), shown, tensors, case)
    };
    if problem.is_dense() {
        meant(problem, Turn::Statement, case)?;
        for explains in [by_cut_off, by_edits] {
            by_rows(problem, explains, case);
        }
        meant(problem, Turn::First, case)?;
        for explains in [by_edits_apart, by_two_edits, by_edits_at_length] {
            by_rows(problem, explains, case);
        }
        return Ok(meant(problem, Turn::Last, case)?);
    }
    by_rows(problem, slight::explain, case);
    by_rows(problem, by_cut_off, case);
    let off = |tensor: &TensorResult| tensor.worst.as_ref().map_or(0.0, |worst| worst.share);
    let is_slight = case.tensors.values().all(|tensor| off(tensor) <= LOOSER_FIRST);
    meant(problem, if is_slight { Turn::Looser } else { Turn::Statement }, case)?;
    by_rows(problem, by_edits, case);
    meant(problem, Turn::First, case)?;
    by_rows(problem, by_edits_apart, case);
    by_rows(problem, by_two_edits, case);
    by_rows(problem, by_edits_at_length, case);
    Ok(meant(problem, Turn::Last, case)?)
}
