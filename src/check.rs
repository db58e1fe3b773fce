//! A recorded run through truth and judge: what [`crate::verify`] is for kernels that run here. Silent, and free of
//! verdict logic of its own.

mod diagnosis;
mod every;
mod hints;
pub mod memory;
pub mod outputs;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::every::Survey;
use self::memory::TooLarge;
use crate::case;
use crate::formula::Form;
use crate::judge::budget;
use crate::judge::pairwise::MethodOutputs;
use crate::judge::scan::{self, Place};
use crate::problem::inputs::Draw;
use crate::problem::recorded::{RecordedOutput, RecordedRun};
use crate::problem::{Problem, Stages};
use crate::promise::{Contract, Promise};
use crate::results::{CaseResult, PairTotals, PairwiseMatrix, RegimeNote, Results, Verdict};
use crate::tensor::TensorName;
use crate::truth::scan::ScanTruth;
use crate::truth::{self, TruthError};

/// The backend's name in results: nothing was run here.
pub const BACKEND: &str = "recorded";

/// Work whose truth takes a few seconds on two cores (some 3 µs a unit, measured): positions × states, three
/// times over for what methods share and once more for each further one, four times over for complex weights.
const WORK: usize = 1_600_000;

/// Each form's truth.
type Truths = BTreeMap<Form, Result<ScanTruth<Form>, TruthError>>;

/// How to judge a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Channels to judge, for a quick look; none for all.
    pub channels: Option<usize>,
    /// Draws the channels.
    pub seed: u64,
    /// The arithmetic, in place of what a file states.
    pub stages: Option<Stages>,
}

/// One file's verdicts.
#[derive(Clone, Debug)]
pub struct Checked {
    pub note: RegimeNote,
    /// Whether only some of its channels were judged.
    pub sampled: bool,
    /// What the file says of itself.
    pub device: String,
    pub cases: Vec<CaseResult>,
    pub pairwise: Vec<PairwiseMatrix>,
}

/// Judges every output of `run`: all elements, or those of as many channels as are asked for. `name` identifies the file in
/// results, `argument` on a command line; `advance` is told of each channel of each output that is done.
///
/// # Errors
/// [`TooLarge`] where as many channels as were asked for cannot be judged in memory.
pub fn check(
    name: &str,
    argument: &str,
    run: RecordedRun,
    options: &Options,
    advance: &(dyn Fn() + Sync),
) -> Result<Checked, TooLarge> {
    let RecordedRun { mut problem, outputs, stages, provenance } = run;
    let stages = options.stages.unwrap_or(stages);
    let promise = Promise::recorded(stages);
    let channels: Vec<(usize, usize)> = problem.channels().collect();
    let all = channels.len();
    let methods = methods(&outputs);
    let count = memory::fitting(problem.shape, options.channels, affordable(&problem, methods.len()))?;
    let draw = Draw::new(options.seed, &format!("check/{name}"));
    let surveys = match options.channels {
        None if count < all => Some(every::survey(&problem, &outputs, &promise.contract, advance)),
        _ => None,
    };
    let rows = match &surveys {
        _ if count == all => (0..all).collect(),
        Some(surveys) => every::choose(surveys, count, draw),
        None => every::chosen(all, count, broken(&problem, &outputs), draw),
    };
    problem.judged_channels = rows.iter().map(|&row| channels[row]).collect();
    let truths = truths(&problem, &methods);
    let inputs = problem.fingerprint();
    let mut asked = options.channels.map_or(String::new(), |_| format!(" --channels {count}"));
    asked.extend(options.stages.map(|stages| format!(" --arithmetic '{stages}'")));
    let mut cases = Vec::new();
    let mut groups: BTreeMap<&str, Vec<MethodOutputs>> = BTreeMap::new();
    for output in &outputs {
        let form = output.name.form;
        let place = Place {
            id: format!("{name}/{}", output.name),
            regime: name.to_owned(),
            inputs: inputs.clone(),
            backend: BACKEND.to_owned(),
            rerun: format!("holdfast check {argument}{asked} --seed {}", options.seed),
        };
        let bounds = || Arc::new(budget::scan(form, &problem, &promise.contract));
        let truth = truths[&form].as_ref().map(|truth| (&truth.tensors, bounds()));
        let got = Ok(&output.tensors);
        let (case, solved) = case::judge((form, &problem), place, promise, truth, got);
        if let Some(solved) = solved {
            let judged = problem.judged(&output.tensors);
            groups.entry(&output.name.label).or_default().push(solved.outputs(Some(&judged)));
        }
        cases.push(case);
    }
    diagnosis::fill(&mut problem, &outputs, &truths, &promise.contract, &mut cases);
    let matrices = |(label, outputs): (&str, Vec<_>)| {
        let id = if label.is_empty() { name.to_owned() } else { format!("{name}/{label}") };
        case::matrices(&problem, &outputs, BACKEND, name, &id)
    };
    let pairwise = groups.into_iter().flat_map(matrices);
    let pairwise = pairwise.filter(|m| !m.pairs.is_empty()).collect();
    let mut certified = rows;
    if surveys.is_none() {
        (0..all * outputs.len()).for_each(|_| advance());
    }
    if let Some(surveys) = &surveys {
        let at_once = (&channels[..], count);
        certify_open(
            (&mut problem, &promise.contract),
            &outputs,
            surveys,
            &mut certified,
            at_once,
            &mut cases,
        );
        for (survey, case) in surveys.iter().zip(&mut cases) {
            let [known, others] = every::split(survey, &certified);
            scan::add_quick(case, &problem, &known, &others);
        }
    }
    if options.stages.is_none() && stages == Stages::NONE {
        let judged = problem.judged_channels.clone();
        for (output, case) in outputs.iter().zip(&mut cases) {
            let channels = if surveys.is_some() { &channels } else { &judged };
            diagnosis::name_what_was_meant(&mut problem, channels, output, case);
        }
    }
    let chosen = match (certified.len(), &surveys) {
        (judged, _) if judged == all => format!("all {all} channels judged"),
        (0, Some(_)) => format!(
            "all {all} channels judged, every element, by the quick route: the truth of one does not fit into memory"
        ),
        (judged, Some(_)) => format!(
            "all {all} channels judged, every element: {} by the quick route, {judged} by the certified one",
            all - judged
        ),
        (judged, None) => {
            format!("sampled: {judged} of {all} channels judged, drawn by seed {}", options.seed)
        }
    };
    let recorded = format!("recorded run, {}, {}", problem.shape, problem.input);
    let mut why = format!("{recorded}; {chosen}");
    if stages != Stages::NONE {
        why.push_str(&format!("; its arithmetic is stated: {stages}"));
    }
    why.extend(hints::hints(&problem, &outputs).iter().map(|hint| format!(" (hint: {hint})")));
    let note = RegimeNote { name: name.to_owned(), why };
    let sampled = certified.len() < all && surveys.is_none();
    Ok(Checked { note, sampled, device: device(&provenance), cases, pairwise })
}

/// Solves the channels that the quick route leaves open and that have no truth yet, so many at a time, and adds what that says
/// to the cases. `certified` gets them, too.
fn certify_open(
    (problem, contract): (&mut Problem, &Contract),
    outputs: &[RecordedOutput],
    surveys: &[Survey],
    certified: &mut Vec<usize>,
    (channels, at_once): (&[(usize, usize)], usize),
    cases: &mut [CaseResult],
) {
    let judged = problem.judged_channels.clone();
    if at_once == 0 {
        return;
    }
    let left: Vec<usize> =
        every::open(surveys).into_iter().filter(|row| certified.binary_search(row).is_err()).collect();
    let mut solved: Vec<usize> = Vec::new();
    for rows in left.chunks(at_once) {
        problem.judged_channels = rows.iter().map(|&row| channels[row]).collect();
        let truths = truths(problem, &methods(outputs));
        if truths.values().all(Result::is_ok) {
            solved.extend(rows);
        }
        for (output, case) in outputs.iter().zip(cases.iter_mut()) {
            let form = output.name.form;
            match &truths[&form] {
                Ok(truth) => {
                    let budget = budget::scan(form, problem, contract);
                    let more = scan::judge(form, problem, &output.tensors, &truth.tensors, &budget);
                    scan::absorb(case, more);
                }
                Err(error) if case.verdict == Verdict::Pass => {
                    (case.verdict, case.reason) = (Verdict::Unmeasured, error.to_string());
                    for (_, tensor) in case.tensors.iter_mut() {
                        (tensor.verdict, tensor.reason) = (Verdict::Unmeasured, error.to_string());
                    }
                }
                Err(_) => {}
            }
        }
    }
    certified.extend(solved);
    certified.sort_unstable();
    problem.judged_channels = judged;
}

/// The files' verdicts as one run's.
pub fn results(checked: Vec<Checked>, seed: u64, command: String) -> Results {
    let mut devices: Vec<&str> = Vec::new();
    for file in &checked {
        if !devices.contains(&file.device.as_str()) {
            devices.push(&file.device);
        }
    }
    let device = devices.join(" | ");
    let mut results = Results::empty(seed, BACKEND, device, command);
    for file in checked {
        results.regimes.push(file.note);
        results.sampled |= file.sampled;
        results.cases.extend(file.cases);
        results.pairwise.extend(file.pairwise);
    }
    results.pairs = PairTotals::count(results.pairwise.iter());
    results
}

/// The methods that were recorded, in the order of ids.
fn methods(outputs: &[RecordedOutput]) -> Vec<Form> {
    let mut methods: Vec<Form> = outputs.iter().map(|output| output.name.form).collect();
    methods.sort_unstable();
    methods.dedup();
    methods
}

/// How many channels' truth takes a few seconds; at least one.
fn affordable(problem: &Problem, methods: usize) -> usize {
    let shares = (2 + methods) * problem.weights.width().pow(2);
    (WORK / steps(problem).saturating_mul(shares).max(1)).max(1)
}

/// Positions × states of one channel.
fn steps(problem: &Problem) -> usize {
    problem.shape.seqlen.saturating_mul(problem.shape.dstate)
}

/// The channels with an output that is no number.
fn broken(problem: &Problem, outputs: &[RecordedOutput]) -> impl Iterator<Item = usize> {
    let seqlen = problem.shape.seqlen;
    outputs.iter().flat_map(move |output| {
        let channels = output.tensors[TensorName::Out].values.chunks(seqlen).enumerate();
        channels.filter(|(_, values)| values.iter().any(|v| v.is_nan())).map(|(row, _)| row)
    })
}

/// Each method's truth; what is wrong with one method (bilinear's pole) leaves the others.
fn truths(problem: &Problem, methods: &[Form]) -> Truths {
    if let Ok(truths) = truth::scan::solve(problem, methods) {
        return truths.into_iter().map(|truth| (truth.method, Ok(truth))).collect();
    }
    let alone = |&form: &Form| {
        let truth = truth::scan::solve(problem, &[form]);
        // One method in, one truth out.
        (form, truth.map(|mut truths| truths.swap_remove(0)))
    };
    methods.iter().map(alone).collect()
}

/// What the file says of itself, in one line.
fn device(provenance: &BTreeMap<String, String>) -> String {
    let texts: Vec<String> = provenance.iter().map(|(key, value)| format!("{key} {value}")).collect();
    match texts.is_empty() {
        true => "a machine that the recording does not name".to_owned(),
        false => crate::tensor_file::shown(&texts.join(", ")),
    }
}
