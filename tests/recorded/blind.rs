//! Promise: of recordings that somebody wrote without having seen the diagnosis, the right ones pass, the faulty ones fail, and
//! these get their cause; of backward passes just those gradients fail that are wrong, and each has its own. `cases.txt` says
//! what each is expected to get, and what its author says of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use holdfast::check::{self, Options};
use holdfast::judge::diagnose::Budget;
use holdfast::problem::recorded::Recording;
use holdfast::results::{CaseResult, Verdict};
use holdfast::tensor::TensorName;

use crate::searched::{asking, of_gradients, said};

const CASES: &str = include_str!("cases.txt");

struct Recorded {
    set: &'static str,
    number: &'static str,
    /// Whether even asking for its cause takes long.
    is_long: bool,
    /// `right`, `nothing` where nothing is said of a failure, or a name with what is said, or a gradient with a name, and so on.
    expected: &'static str,
}

impl Recorded {
    fn open(&self) -> Recording<File> {
        recording(&format!("{}/run{}", self.set, self.number))
    }
}

fn recording(run: &str) -> Recording<File> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recorded/{run}.safetensors"));
    Recording::open(&path).expect("a recording")
}

/// The lines of the table, of backward passes or of the others.
fn cases(of_gradients: bool) -> Vec<Recorded> {
    let (mut set, mut all) = ("", Vec::new());
    for line in CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[') {
            Some(name) => set = name.trim_end_matches(']'),
            None if set.contains("backward") == of_gradients => {
                let mut columns = line.split('\t');
                let mut column = || columns.next().expect("a number, what is expected, and what it is");
                let (number, expected) = (column(), column());
                let is_long = number.ends_with('*');
                all.push(Recorded { set, number: number.trim_end_matches('*'), is_long, expected });
            }
            None => {}
        }
    }
    all
}

tables! {
    a_recording_gets_its_cause: &cases(false), |case, asked| {
        let (place, recording) = (format!("{} {}", case.set, case.number), case.open());
        match case.expected {
            "right" => said(&recording, asked.of("")).is_right(&place),
            // What is not found is searched for long.
            "nothing" => said(&recording, asked.on_request().of("")).is_nothing(&place),
            // The verdict alone.
            _ if case.is_long && !asked.is_on_request() => {
                assert_eq!(said(&recording, Some("")).verdict, Verdict::Fail, "{place}");
            }
            cause => {
                let (name, says) = cause.split_once(": ").unwrap_or((cause, ""));
                said(&recording, asked.of(name)).has(&place, name, says);
            }
        }
    };
    a_backward_pass_gets_its_causes: &cases(true), |case, asked| {
        let causes = case.expected.split("; ").filter_map(|cause| cause.split_once(": "));
        let names: Vec<&str> = causes.clone().map(|(_, name)| name).collect();
        let each = causes.flat_map(|(of, name)| of.split(", ").map(move |gradient| (gradient.to_owned(), name.to_owned())));
        let judged = of_gradients(&case.open(), asked.of(&names.join(" + ")));
        let failing = judged.iter().filter(|(_, tensor)| tensor.verdict != Verdict::Pass);
        let found: BTreeMap<String, String> = failing
            .map(|(name, tensor)| (name.to_string(), tensor.diagnosis.first().map_or(String::new(), |one| one.name.clone())))
            .collect();
        assert_eq!(found, each.collect(), "{} {}", case.set, case.number);
    };
}

/// Faults of the formula that are as small as what the bounds of tf32 leave room for.
#[test]
fn roundings_are_not_blamed_for_a_fault_that_they_would_hide() {
    let case = checked("blind_third/run20", asking("y-in-tf32"));
    assert_eq!((case.verdict, case.diagnosis.len()), (Verdict::Fail, 0), "{:?}", case.diagnosis);
}

/// Outputs that are cut off are within the bounds of a rounding more.
#[test]
fn roundings_are_not_blamed_for_what_is_cut_off() {
    let case = checked("blind_eleventh/run05", Options::EVERYTHING);
    assert_eq!(case.diagnosis.first().map(|one| &*one.name), Some("store-truncated"), "{:?}", case.diagnosis);
}

/// Where the tensors of a run have not the same faults, the run is said to have what they share, and each tensor its own.
#[test]
fn a_tensor_with_two_faults_has_both_names() {
    let case = checked("blind_fourth/run38", Options::EVERYTHING);
    let [out, last] =
        [TensorName::Out, TensorName::LastState].map(|name| &case.tensors[name].diagnosis[0].name[..]);
    assert_eq!([out, last], ["bias-after-softplus + u-times-delta-in-skip", "bias-after-softplus"]);
}

/// Verdicts are the same, each with its numbers.
#[test]
fn nothing_is_said_of_causes_where_none_is_asked_for() {
    for run in ["blind_backward/run15", "blind_backward/run16", "blind_fifth/run01"] {
        let mut case = checked(run, Options::EVERYTHING);
        case.diagnosis.clear();
        case.tensors.iter_mut().for_each(|(_, tensor)| tensor.diagnosis.clear());
        let options = Options { diagnosis: Budget::Off, ..Options::EVERYTHING };
        // A command says how long causes are looked for.
        case.rerun = case.rerun.replace(" --diagnosis thorough", "");
        assert_eq!(format!("{:?}", checked(run, options)), format!("{case:?}"));
    }
}

fn checked(run: &str, options: Options) -> CaseResult {
    check::check(run, run, &recording(run), &options, &|| ()).expect("a run").cases.swap_remove(0)
}
