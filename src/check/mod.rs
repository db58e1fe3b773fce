//! A recorded run through truth and judge: what [`crate::verify`] is for kernels that run here. Silent, and free of
//! verdict logic of its own.

mod dense;
mod diagnosis;
mod every;
mod explain;
pub mod files;
pub mod gradients;
mod hints;
mod initial_state;
mod meant;
pub mod memory;
#[cfg_attr(not(feature = "kernels"), path = "no_device.rs")]
pub mod on_device;
pub mod outputs;
mod trapezoidal;

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Seek};
use std::sync::Arc;

use self::every::Survey;
pub use self::explain::{Searching, Solved, explain};
use self::memory::TooLarge;
use self::on_device::{DeviceJudge, DeviceJudgeError, Shares};
use crate::case;
use crate::formula::Form;
use crate::judge::budget;
pub use crate::judge::diagnose::Budget;
use crate::judge::location;
use crate::judge::pairwise::MethodOutputs;
use crate::judge::scan::{self, Place};
use crate::problem::conventions::{Coupling, STATE_MATRIX};
use crate::problem::inputs::Draw;
use crate::problem::recorded::{Layout, Overview, RecordError, Recorded, RecordedRun, Recording};
use crate::problem::stretch::Inputs;
use crate::problem::{Axes, Order, Problem, Shape, Stages};
use crate::promise::{Contract, Promise};
use crate::results::whole::{Found, Whole};
use crate::results::{CaseResult, PairTotals, PairwiseMatrix, RegimeNote, Results, Verdict};
use crate::tensor::TensorName;
use crate::tensor_file::shown;
use crate::truth::scan::ScanTruth;
use crate::truth::{self, TruthError};

/// The backend's name in results: nothing was run here.
pub const BACKEND: &str = "recorded";

/// Work whose truth takes a few seconds on two cores (some 3 µs a unit, measured): positions × states, three
/// times over for what methods share and once more for each further one, four times over for complex weights.
const WORK: usize = 1_600_000;

/// Work of each multiplication in a product of matrices, likewise.
const COUPLED: usize = 20;

/// Values of an output up to which all of it is looked at once more for where it fails.
const LOCATED: usize = 1 << 22;

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
    /// How long to look for why what fails does.
    pub diagnosis: Budget,
    /// Where there are some, failures are asked whether changes of these names explain them, and others are not looked for.
    pub causes: Vec<String>,
}

impl Options {
    /// Every channel, as the file states it, and each failure searched to the end.
    pub const EVERYTHING: Options =
        Options { channels: None, seed: 1, stages: None, diagnosis: Budget::Thorough, causes: Vec::new() };
}

/// One file's verdicts.
#[derive(Clone, Debug)]
pub struct Checked {
    pub note: RegimeNote,
    /// Whether only some of its channels were judged.
    pub sampled: bool,
    /// Whether nothing was to be said of failures but that they are ([`Budget::Off`]).
    pub undiagnosed: bool,
    /// What the file says of itself.
    pub device: String,
    pub cases: Vec<CaseResult>,
    pub pairwise: Vec<PairwiseMatrix>,
}

impl Checked {
    /// Verdicts on a file of this name, with what is said of it and what it says of itself.
    fn new(
        (name, why): (&str, String),
        provenance: &BTreeMap<String, String>,
        options: &Options,
        sampled: bool,
        (cases, pairwise): (Vec<CaseResult>, Vec<PairwiseMatrix>),
    ) -> Checked {
        Checked {
            note: RegimeNote { name: name.to_owned(), why, ordinary: true },
            sampled,
            undiagnosed: options.diagnosis == Budget::Off,
            device: device(provenance),
            cases,
            pairwise,
        }
    }

    /// As what a unit of work finds.
    fn found(self) -> Found {
        let Checked { note, sampled, cases, pairwise, .. } = self;
        let pairs = PairTotals::of_passes(&pairwise);
        Found { cases, regimes: vec![note], sampled, pairwise, pairs, ..Found::default() }
    }
}

/// Why a run cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The device that was to judge it cannot.
    #[error("{0} (hint: --backend cpu judges without it)")]
    Device(Box<DeviceJudgeError>),
}

impl From<DeviceJudgeError> for Reason {
    fn from(error: DeviceJudgeError) -> Self {
        match error {
            DeviceJudgeError::Record(error) => Reason::Record(error),
            #[cfg(feature = "kernels")]
            error => Reason::Device(Box::new(error)),
        }
    }
}

impl Reason {
    /// Whether it is this machine that lacks something, and not the run that is wrong.
    pub fn is_missing(&self) -> bool {
        matches!(self, Reason::Device(_))
    }
}

/// Judges every output of a run: all elements, or those of as many channels as are asked for. `name` identifies the file in
/// results, `argument` on a command line; `advance` is told of each channel of each output that is done. The file is read a
/// stretch of a channel at a time, and the channels that get a truth are read whole.
///
/// # Errors
/// [`TooLarge`] where as many channels as were asked for cannot be judged in memory; [`RecordError`] for numbers that are not
/// what the run claims, and where the file can no longer be read.
pub fn check<R: Read + Seek + Send>(
    name: &str,
    argument: &str,
    recording: &Recording<R>,
    options: &Options,
    advance: &(dyn Fn() + Sync),
) -> Result<Checked, Reason> {
    check_with(None, (name, argument), recording, options, advance)
}

/// The same, with the quick route on a device where one is given. What it cannot take goes to the CPU.
pub fn check_with<R: Read + Seek + Send>(
    judge: Option<&mut DeviceJudge>,
    (name, argument): (&str, &str),
    recording: &Recording<R>,
    options: &Options,
    advance: &(dyn Fn() + Sync),
) -> Result<Checked, Reason> {
    let (mut checked, solved) = judge_with(judge, (name, argument), recording, options, advance)?;
    let searching = &mut Searching::new(options.diagnosis.begin(), options, &|| {});
    explain(recording, options, solved.as_ref(), &mut checked.cases, searching)?;
    Ok(checked)
}

/// Judges a run of either kind, and says why some of it fails, as [`check_with`] does.
///
/// # Errors
/// As [`check()`]'s.
pub fn check_recorded<R: Read + Seek + Send>(
    judge: Option<&mut DeviceJudge>,
    names: (&str, &str),
    recorded: &Recorded<R>,
    options: &Options,
    advance: &(dyn Fn() + Sync),
) -> Result<Checked, Reason> {
    match recorded {
        Recorded::Scan(recording) => check_with(judge, names, recording, options, advance),
        Recorded::Trapezoidal(run) => trapezoidal::check(names, run, options, advance),
        Recorded::Dense(run) => {
            let mut checked = dense::check(names, run, options, advance)?;
            let searching = &mut Searching::new(options.diagnosis.begin(), options, &|| {});
            dense::explain(names.0, run, options, &mut checked.cases, searching)?;
            Ok(checked)
        }
    }
}

/// The verdicts alone, and what is known of outputs, with which [`explain()`] says why some fail.
pub fn judge_with<R: Read + Seek + Send>(
    judge: Option<&mut DeviceJudge>,
    (name, argument): (&str, &str),
    recording: &Recording<R>,
    options: &Options,
    advance: &(dyn Fn() + Sync),
) -> Result<(Checked, Option<Solved>), Reason> {
    let layout = recording.layout();
    layout.check_stages(options.stages.unwrap_or(layout.stages))?;
    let (mut checked, solved) = match layout.outputs.is_empty() {
        false => {
            let (checked, solved) = check_outputs(judge, (name, argument), recording, options, advance)?;
            (checked, Some(solved))
        }
        true => {
            let why = described(layout) + &stated(recording);
            let none = (Vec::new(), Vec::new());
            (Checked::new((name, why), &recording.provenance(), options, false, none), None)
        }
    };
    if !layout.gradients.is_empty() {
        let place = place((name, argument), options, None, recording.overview()?.fingerprint);
        let stages = options.stages.unwrap_or(layout.stages);
        let gradients = gradients::check(recording, stages, &place, advance)?;
        checked.cases.extend(gradients.cases);
        checked.pairwise.extend(gradients.pairwise);
        checked.note.why.push_str("; every element of its gradients judged");
        if gradients.not_compared {
            checked.note.why.push_str(", which are too many to be compared between methods");
        }
    }
    Ok((checked, solved))
}

/// What a run is, in a few words.
fn described(layout: &Layout) -> String {
    let Axes { order, headdim, .. } = layout.conventions.axes;
    let laid_out = match order {
        Order::Bdl => String::new(),
        Order::Bld => format!(", layout {order}"),
        Order::Blhp => format!(", layout {order} with {} heads of {headdim}", layout.shape.dim / headdim),
    };
    format!("recorded run, {}, {}{laid_out}", layout.shape, layout.input)
}

/// Statements of a run, and metadata that are not used.
fn stated<R: Read + Seek + Send>(recording: &Recording<R>) -> String {
    let mut all = Vec::new();
    for (key, value) in recording.layout().conventions.stated() {
        // Mostly its shape says so.
        let is_seen = key == STATE_MATRIX;
        all.push(if is_seen {
            "; A is a matrix for each channel".to_owned()
        } else {
            format!("; {key} = {value} is stated")
        });
    }
    let types = recording.layout().conventions.types.stated();
    all.extend(types.map(|(name, stored)| format!("; {name} is in {stored}")));
    if let Some(packed) = &recording.layout().packed {
        let padding = if packed.is_padded() { ", and padding counts as 0" } else { "" };
        let packed = match packed.sequences().count() {
            1 => "1 sequence is packed".to_owned(),
            count => format!("{count} sequences are packed"),
        };
        all.push(format!("; {packed}{padding}"));
    }
    if let Some(chunk) = recording.layout().conventions.chunk {
        all.push(format!("; chunks of {chunk} positions"));
    }
    if recording.has_initial_state() {
        all.push("; it starts from a given state".to_owned());
    }
    all.push(unused(&recording.provenance()));
    all.concat()
}

/// Metadata that this tool writes by itself: what computed a run, which the report's head has.
const OWN: [&str; 5] = ["cupy", "device", "jax", "numpy", "torch"];

/// The metadata that are notes.
fn unused(provenance: &BTreeMap<String, String>) -> String {
    let notes: Vec<&str> = provenance.keys().map(String::as_str).filter(|key| !OWN.contains(key)).collect();
    if notes.is_empty() {
        String::new()
    } else {
        format!("; metadata not used: {}", shown(&notes.join(", ")))
    }
}

/// Where cases of a file stand, and the command that reruns them; without an id.
fn place(
    (name, argument): (&str, &str),
    options: &Options,
    channels: Option<usize>,
    inputs: String,
) -> Place {
    let mut asked = channels.map_or(String::new(), |count| format!(" --channels {count}"));
    asked.extend(options.stages.map(|stages| format!(" --arithmetic '{stages}'")));
    asked += &options.diagnosis.again();
    let rerun = format!("holdfast check {argument}{asked} --seed {}", options.seed);
    Place { id: String::new(), regime: name.to_owned(), inputs, backend: BACKEND.to_owned(), rerun }
}

/// So many of all, drawn by the seed, ascending.
fn drawn(name: &str, options: &Options, count: usize, all: usize) -> Vec<usize> {
    Draw::new(options.seed, &format!("check/{name}")).choose(count, all)
}

/// Identifies what is compared of a file, under a label if there is one.
fn id_of(name: &str, label: &str) -> String {
    if label.is_empty() { name.to_owned() } else { format!("{name}/{label}") }
}

fn check_outputs<R: Read + Seek + Send>(
    judge: Option<&mut DeviceJudge>,
    (name, argument): (&str, &str),
    recording: &Recording<R>,
    options: &Options,
    advance: &(dyn Fn() + Sync),
) -> Result<(Checked, Solved), Reason> {
    let layout = recording.layout();
    let stages = options.stages.unwrap_or(layout.stages);
    let promise = Promise::recorded(stages);
    let all = layout.shape.batch * layout.shape.dim;
    let methods = methods(layout);
    let count =
        memory::fitting(held(layout), methods.len(), options.channels, affordable(layout, methods.len()))?;
    let draw = Draw::new(options.seed, &format!("check/{name}"));
    // A quick look is at a few channels.
    let not_on_device = match (&judge, options.channels) {
        (None, _) => None,
        (_, Some(_)) => Some("a quick look at some channels needs no device"),
        _ => DeviceJudge::lacks(recording, &promise.contract),
    };
    let judge = judge.filter(|_| not_on_device.is_none());
    let (overview, device_surveys, shares) = match judge {
        None => (recording.overview()?, None, None),
        Some(judge) => {
            let draw = Draw::new(options.seed, &format!("check/{name}/device"));
            // Where all channels get a truth, the device only has to agree with the CPU.
            let told: &(dyn Fn() + Sync) = if count < all { advance } else { &|| {} };
            let (overview, surveys, shares) = both(recording, judge, &promise.contract, draw, told)?;
            (overview, Some(surveys), Some(shares))
        }
    };
    let surveys = match (options.channels, device_surveys) {
        (None, surveys) if count < all => {
            Some(surveys.map_or_else(|| every::survey(recording, &promise.contract, advance), Ok)?)
        }
        _ => None,
    };
    let rows = match &surveys {
        _ if count == all => (0..all).collect(),
        Some(surveys) => every::choose(surveys, count, draw),
        None => every::chosen(all, count, overview.broken.iter().copied(), draw),
    };
    let RecordedRun { problem, outputs } = recording.read(&rows)?;
    let mut truths = truths(&problem, &methods);
    let of_file =
        place((name, argument), options, options.channels.map(|_| count), overview.fingerprint.clone());
    let mut cases = Vec::new();
    let mut groups: BTreeMap<&str, Vec<MethodOutputs>> = BTreeMap::new();
    for (output, strays) in outputs.iter().zip(&overview.strays) {
        let form = output.name.form;
        let place = Place { id: format!("{name}/{}", output.name), ..of_file.clone() };
        let bounds = || Arc::new(budget::scan(form, &problem, &promise.contract));
        let truth = truths[&form].as_ref().map(|truth| (&truth.tensors, bounds()));
        let got = Ok(&output.tensors);
        let (mut case, solved) = case::judge((form, &problem), place, promise, truth, got);
        for (tensor, strays) in strays.iter() {
            scan::add_strays(&mut case, problem.outline(), tensor, (strays.count, strays.first));
        }
        if let Some(solved) = solved {
            let judged = problem.judged(&output.tensors);
            groups.entry(&output.name.label).or_default().push(solved.outputs(Some(&judged)));
        }
        cases.push(case);
    }
    let matrices = |(label, outputs): (&str, Vec<_>)| {
        let id = id_of(name, label);
        case::Compared { problem: &problem, source: BACKEND, regime: name, id: &id }.outputs(&outputs)
    };
    let pairwise = groups.into_iter().flat_map(matrices);
    let pairwise = pairwise.filter(|m| !m.pairs.is_empty()).collect();
    let named = if surveys.is_some() { (0..all).collect() } else { rows.clone() };
    let mut certified = rows.clone();
    if surveys.is_none() {
        (0..all * outputs.len()).for_each(|_| advance());
    }
    if let Some(surveys) = &surveys {
        let left = every::open(surveys).into_iter().filter(|row| certified.binary_search(row).is_err());
        // None at a time: the truth of one does not fit.
        let left: Vec<usize> = left.take(if count == 0 { 0 } else { all }).collect();
        for rows in left.chunks(count.max(1)) {
            if certify(&recording.read(rows)?, &methods, &promise.contract, &mut cases) {
                certified.extend(rows);
            }
        }
        certified.sort_unstable();
        for (at, (survey, case)) in surveys.iter().zip(&mut cases).enumerate() {
            let [known, others] = every::split(survey, &certified);
            scan::add_quick(case, recording, &known, &others)?;
            if case.verdict != Verdict::Fail {
                continue;
            }
            if all * layout.shape.seqlen.max(layout.shape.dstate) <= LOCATED {
                let RecordedRun { problem, outputs } = recording.read(&Vec::from_iter(0..all))?;
                let fails = |row: usize| survey.values().any(|tallies| tallies[row].failed > 0);
                let known = (case.method, &promise.contract);
                for (name, wrong) in location::of_quick(known, &problem, &outputs[at].tensors, fails) {
                    // A case that is not measured has no tensors.
                    if let Some(tensor) = case.tensors.get_mut(name) {
                        tensor.wrong = wrong;
                    }
                }
            } else {
                for (name, tensor) in case.tensors.iter_mut().filter(|(_, t)| t.verdict == Verdict::Fail) {
                    let of_channels = |name| location::of_channels(recording.outline(), &survey[name]);
                    tensor.wrong = name.output().map(of_channels).into_iter().collect();
                }
            }
        }
    }
    let counted = match layout.shape.batch {
        1 => format!("{all} channels"),
        items => format!("{all} rows ({items} items × {} channels)", layout.shape.dim),
    };
    let chosen = match (certified.len(), &surveys) {
        (judged, _) if judged == all => format!("all {counted} judged"),
        (0, Some(_)) => format!(
            "all {counted} judged, every element, by the quick route: the truth of one does not fit into memory"
        ),
        (judged, Some(_)) => format!(
            "all {counted} judged, every element: {} by the quick route, {judged} by the certified one",
            all - judged
        ),
        (judged, None) => {
            format!("sampled: {judged} of {counted} judged, drawn by seed {}", options.seed)
        }
    };
    let mut why = format!("{}; {chosen}", described(layout));
    why.extend(not_on_device.map(|reason| format!("; {reason}, and the CPU alone has judged it")));
    why.extend(shares.map(|shares| format!("; {shares}")));
    if stages != Stages::NONE {
        why.push_str(&format!("; its arithmetic is stated: {stages}"));
    }
    why.push_str(&stated(recording));
    why.extend(hints::hints(layout, &overview).iter().map(|hint| format!(" (hint: {hint})")));
    let sampled = certified.len() < all && surveys.is_none();
    let provenance = recording.provenance();
    let checked = Checked::new((name, why), &provenance, options, sampled, (cases, pairwise));
    for truth in truths.values_mut().flatten() {
        truth.tensors.retain(|name| TensorName::SCANNED.contains(&name));
    }
    Ok((checked, Solved { rows, truths, surveys, named }))
}

/// A recording's overview, and what a device says of it: the file is read for both at a time.
fn both<R: Read + Seek + Send>(
    recording: &Recording<R>,
    judge: &mut DeviceJudge,
    contract: &Contract,
    draw: Draw,
    advance: &(dyn Fn() + Sync),
) -> Result<(Overview, Vec<Survey>, Shares), Reason> {
    std::thread::scope(|scope| {
        let overview = scope.spawn(|| recording.overview());
        let survey = judge.survey(recording, contract, draw, advance);
        // What is wrong with the file is said first: it may be why a device has nothing to say.
        let overview = overview.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let (surveys, shares) = survey?;
        Ok((overview, surveys, shares))
    })
}

/// Solves channels that the quick route leaves open, and adds what that says to the cases. Whether all have a truth.
fn certify(
    RecordedRun { problem, outputs }: &RecordedRun,
    methods: &[Form],
    contract: &Contract,
    cases: &mut [CaseResult],
) -> bool {
    let truths = truths(problem, methods);
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
    truths.values().all(Result::is_ok)
}

/// The files' verdicts as one run's.
pub fn results(checked: Vec<Checked>, seed: u64, command: String) -> Results {
    let undiagnosed = checked.iter().any(|file| file.undiagnosed);
    let head = head(checked.iter().map(|file| file.device.as_str()), undiagnosed, seed, command);
    let mut whole = Whole::new(false);
    for (place, file) in checked.into_iter().enumerate() {
        whole.add(place, seed, file.found());
    }
    whole.results(head)
}

/// What of the results no file says but of itself: `devices` are those of the files, in order.
fn head<'a>(
    devices: impl Iterator<Item = &'a str>,
    undiagnosed: bool,
    seed: u64,
    command: String,
) -> Results {
    let mut seen = HashSet::new();
    let distinct: Vec<&str> = devices.filter(|device| seen.insert(*device)).collect();
    Results { undiagnosed, ..Results::empty(seed, BACKEND, distinct.join(" | "), command) }
}

/// The methods that were recorded, in the order of ids.
fn methods(layout: &Layout) -> Vec<Form> {
    let mut methods: Vec<Form> = layout.outputs.keys().map(|name| name.form).collect();
    methods.sort_unstable();
    methods.dedup();
    methods
}

/// Sizes that the memory of a truth goes by: a dense A has matrices for states.
fn held(layout: &Layout) -> Shape {
    let states = layout.shape.dstate;
    let is_dense = layout.conventions.coupling == Coupling::Dense;
    Shape { dstate: if is_dense { states * states } else { states }, ..layout.shape }
}

/// How many channels' truth takes a few seconds; at least one.
fn affordable(layout: &Layout, methods: usize) -> usize {
    let shares = (2 + methods) * layout.weights.width().pow(2);
    let Shape { seqlen, dstate, .. } = layout.shape;
    // Exponentials of matrices, about twenty products each.
    let each = if layout.conventions.coupling == Coupling::Dense { COUPLED * dstate.pow(3) } else { dstate };
    let steps = seqlen.saturating_mul(each);
    (WORK / steps.saturating_mul(shares).max(1)).max(1)
}

/// Each method's truth; what is wrong with one method (a pole) leaves the others.
fn truths(problem: &Problem, methods: &[Form]) -> Truths {
    if let Ok(truths) = truth::scan::solve(problem, methods) {
        return truths.into_iter().map(|truth| (truth.method, Ok(truth))).collect();
    }
    let alone = |&form: &Form| {
        let truth = truth::scan::solve(problem, &[form]);
        // One form in, one truth out.
        (form, truth.map(|mut truths| truths.swap_remove(0)))
    };
    methods.iter().map(alone).collect()
}

/// What the file says of itself, in one line.
fn device(provenance: &BTreeMap<String, String>) -> String {
    let texts: Vec<String> = provenance.iter().map(|(key, value)| format!("{key} {value}")).collect();
    match texts.is_empty() {
        true => "a machine that the recording does not name".to_owned(),
        false => shown(&texts.join(", ")),
    }
}
