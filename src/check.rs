//! A recorded run through truth and judge: what [`crate::verify`] is for kernels that run here. Silent, and free of
//! verdict logic of its own.

mod diagnosis;
pub mod memory;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::memory::TooLarge;
use crate::case;
use crate::judge::budget;
use crate::judge::pairwise::MethodOutputs;
use crate::judge::scan::Place;
use crate::kernel::{Backend, ReferenceBackend};
use crate::method::Method;
use crate::problem::Problem;
use crate::problem::inputs::Draw;
use crate::problem::recorded::{RecordedOutput, RecordedRun};
use crate::promise::Promise;
use crate::results::{CaseResult, PairTotals, PairwiseMatrix, RegimeNote, Results};
use crate::tensor::TensorName;
use crate::truth::scan::ScanTruth;
use crate::truth::{self, TruthError};

/// The backend's name in results: nothing was run here.
pub const BACKEND: &str = "recorded";

/// Work whose truth takes a few seconds on two cores (some 3 µs a unit, measured): positions × states, three
/// times over for what methods share and once more for each further one, four times over for complex weights.
const WORK: usize = 1_600_000;

/// Steps of all channels up to which the f32 reference is run over them, to look for those worth judging.
const SURVEYED_STEPS: usize = 60_000_000;

/// How to judge a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Channels to judge; none for as many as take a few seconds.
    pub channels: Option<usize>,
    /// Draws the channels.
    pub seed: u64,
}

/// One file's verdicts.
#[derive(Clone, Debug)]
pub struct Checked {
    pub note: RegimeNote,
    /// What the file says of itself.
    pub device: String,
    pub cases: Vec<CaseResult>,
    pub pairwise: Vec<PairwiseMatrix>,
}

/// Judges every output of `run`. `name` identifies the file in results, `argument` on a command line.
///
/// # Errors
/// [`TooLarge`] where not even one channel, or not as many as were asked for, can be judged in memory.
pub fn check(name: &str, argument: &str, run: RecordedRun, options: &Options) -> Result<Checked, TooLarge> {
    let RecordedRun { mut problem, outputs, provenance } = run;
    let all = problem.judged_channels.len();
    let methods = methods(&outputs);
    let count = memory::fitting(problem.shape, options.channels, affordable(&problem, methods.len()))?;
    let surveyed = select(&mut problem, &outputs, name, count, options.seed);
    let truths = truths(&problem, &methods);
    let inputs = problem.fingerprint();
    let mut cases = Vec::new();
    let mut groups: BTreeMap<&str, Vec<MethodOutputs>> = BTreeMap::new();
    for output in &outputs {
        let method = output.name.method;
        let place = Place {
            id: format!("{name}/{}", output.name),
            regime: name.to_owned(),
            inputs: inputs.clone(),
            backend: BACKEND.to_owned(),
            rerun: format!("holdfast check {argument} --channels {count} --seed {}", options.seed),
        };
        let bounds = |truth| (truth, Arc::new(budget::scan(method, &problem, &Promise::RECORDED.contract)));
        let (truth, got) = (truths[&method].as_ref().map(bounds), Ok(&output.tensors));
        let (case, solved) = case::judge((method, &problem), place, Promise::RECORDED, truth, got);
        if let Some(solved) = solved {
            let judged = problem.judged(&output.tensors);
            groups.entry(&output.name.label).or_default().push(solved.outputs(Some(&judged)));
        }
        cases.push(case);
    }
    diagnosis::fill(&mut problem, &outputs, &truths, &mut cases);
    let matrices = |(label, outputs): (&str, Vec<_>)| {
        let id = if label.is_empty() { name.to_owned() } else { format!("{name}/{label}") };
        case::matrices(&problem, &outputs, BACKEND, name, &id)
    };
    let pairwise = groups.into_iter().flat_map(matrices);
    let pairwise = pairwise.filter(|m| !m.pairs.is_empty()).collect();
    let chosen = match (count == all, surveyed) {
        (true, _) => format!("all {all} channels judged"),
        (false, true) => format!(
            "{count} of {all} channels judged: half of them the farthest from an f32 reference, the rest drawn \
             by seed {} (--channels judges more)",
            options.seed
        ),
        (false, false) => {
            let seed = options.seed;
            format!("{count} of {all} channels judged, drawn by seed {seed} (--channels judges more)")
        }
    };
    let recorded = format!("recorded run, {}, {}", problem.shape, problem.input);
    let note = RegimeNote { name: name.to_owned(), why: format!("{recorded}; {chosen}") };
    Ok(Checked { note, device: device(&provenance), cases, pairwise })
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
        results.cases.extend(file.cases);
        results.pairwise.extend(file.pairwise);
    }
    results.pairs = PairTotals::count(results.pairwise.iter());
    results
}

/// The methods that were recorded, in the order of ids.
fn methods(outputs: &[RecordedOutput]) -> Vec<Method> {
    let mut methods: Vec<Method> = outputs.iter().map(|output| output.name.method).collect();
    methods.sort_unstable();
    methods.dedup();
    methods
}

/// How many channels' truth takes a few seconds.
fn affordable(problem: &Problem, methods: usize) -> usize {
    let shares = (2 + methods) * problem.weights.width().pow(2);
    WORK / steps(problem).saturating_mul(shares).max(1)
}

/// Positions × states of one channel.
fn steps(problem: &Problem) -> usize {
    problem.shape.seqlen.saturating_mul(problem.shape.dstate)
}

/// Leaves `count` channels to judge: those with an output that is no number first; then, where that can be afforded,
/// the ones farthest from an f32 reference until half are chosen; the rest by lot. Whether the reference was run.
fn select(problem: &mut Problem, outputs: &[RecordedOutput], name: &str, count: usize, seed: u64) -> bool {
    let all = problem.judged_channels.clone();
    if count >= all.len() {
        return false;
    }
    let total = steps(problem).saturating_mul(all.len()).saturating_mul(outputs.len());
    let survey = total <= SURVEYED_STEPS;
    let mut suspicion = vec![0.0f64; all.len()];
    for output in outputs {
        let reference = if survey { ReferenceBackend.scan(output.name.method, problem).ok() } else { None };
        let seqlen = problem.shape.seqlen;
        for (i, score) in suspicion.iter_mut().enumerate() {
            let range = i * seqlen..(i + 1) * seqlen;
            let got = &output.tensors[TensorName::Out].values[range.clone()];
            if got.iter().any(|v| v.is_nan()) {
                *score = f64::INFINITY;
            } else if let Some(reference) = &reference {
                *score = score.max(deviation(got, &reference[TensorName::Out].values[range]));
            }
        }
    }
    // Drawn channels come after the suspects, and those that are suspects already count once.
    let mut ranked: Vec<usize> = (0..all.len()).collect();
    ranked.sort_by(|&a, &b| suspicion[b].total_cmp(&suspicion[a]).then(a.cmp(&b)));
    let broken = suspicion.iter().filter(|s| s.is_infinite()).count();
    let suspects = if survey { broken.max(count.div_ceil(2)) } else { broken };
    let mut chosen: Vec<usize> = ranked.drain(..suspects.min(count)).collect();
    ranked.sort_unstable();
    let lots = Draw::new(seed, &format!("check/{name}")).choose(count - chosen.len(), ranked.len());
    chosen.extend(lots.into_iter().map(|lot| ranked[lot]));
    chosen.sort_unstable();
    problem.judged_channels = chosen.into_iter().map(|i| all[i]).collect();
    survey
}

/// max |got − reference| / max |reference|: good enough to tell which channels to look at.
fn deviation(got: &[f32], reference: &[f32]) -> f64 {
    let (mut largest, mut scale) = (0.0f64, f64::MIN_POSITIVE);
    for (&g, &r) in got.iter().zip(reference) {
        let (g, r) = (f64::from(g), f64::from(r));
        // Two infinities are no disagreement.
        if g != r && !(g - r).is_nan() {
            largest = largest.max((g - r).abs());
        }
        scale = scale.max(if r.is_finite() { r.abs() } else { 0.0 });
    }
    // Finite: only an output that is no number is beyond every other one.
    (largest / scale).min(f64::MAX)
}

/// Each method's truth; what is wrong with one method (bilinear's pole) leaves the others.
fn truths(problem: &Problem, methods: &[Method]) -> BTreeMap<Method, Result<ScanTruth, TruthError>> {
    if let Ok(truths) = truth::scan::solve(problem, methods) {
        return truths.into_iter().map(|truth| (truth.method, Ok(truth))).collect();
    }
    let alone = |&method: &Method| {
        let truth = truth::scan::solve(problem, &[method]);
        // One method in, one truth out.
        (method, truth.map(|mut truths| truths.swap_remove(0)))
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
