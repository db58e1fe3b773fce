//! Promise: the command-line contract of the README. Scripts depend on exit statuses and on the JSON's fields.

use std::process::Output;

use rstest::rstest;
use serde_json::Value;

use crate::support::binary::{command, holdfast, holdfast_in, output, text};

fn verified(args: &[&str]) -> (Output, Value) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("results.json");
    let file_arg = file.to_str().expect("UTF-8").to_owned();
    let mut all = vec!["verify", "--backend", "cpu", "--json", &file_arg];
    all.extend(args);
    let output = holdfast_in(directory.path(), &all);
    let json = std::fs::read_to_string(&file).expect("results were written");
    (output, serde_json::from_str(&json).expect("JSON"))
}

#[test]
fn verify_passes_with_status_0_and_every_field_of_the_contract() {
    let (output, json) = verified(&["--regime", "n1", "--weights", "real", "--seed", "5"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert_eq!(json["schema"], 3);
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["seed"], 5);
    assert_eq!(json["backend"], "cpu");
    assert!(json["device"].is_string() && json["pairwise"].is_array());
    let cases = json["cases"].as_array().expect("a list");
    assert!(cases.len() >= 6);
    for case in cases {
        for field in ["id", "method", "weights", "input", "b", "c", "regime", "shape", "backend", "verdict"] {
            assert!(!case[field].is_null(), "{field} of {case}");
        }
        for field in ["index", "got", "want", "bound", "ratio"] {
            assert!(!case["worst"][field].is_null(), "worst.{field} of {case}");
        }
        assert_eq!(case["verdict"], "pass");
        assert!(case["max_ulp"].is_number() && case["rel_l2"].is_number());
        assert_eq!(case["diagnosis"], Value::Array(vec![]));
    }
}

#[test]
fn same_seed_gives_the_same_results_and_another_seed_other_inputs() {
    let args = |seed| ["--regime", "short", "--method", "foh", "--input", "f16", "--seed", seed];
    let (_, mut one) = verified(&args("3"));
    let (_, mut again) = verified(&args("3"));
    let (_, other) = verified(&args("4"));
    for json in [&mut one, &mut again] {
        json.as_object_mut().expect("an object").remove("command");
    }
    assert_eq!(one, again);
    assert_ne!(one["cases"][0]["worst"]["want"], other["cases"][0]["worst"]["want"]);
}

#[rstest]
#[case::filter(&["--method", "rk4"], &["rk4"])]
#[case::by_id(&["--method", "3", "--method", "zoh"], &["zoh", "poly"])]
fn method_filter_takes_names_and_ids(#[case] args: &[&str], #[case] expected: &[&str]) {
    let mut all = vec!["--regime", "l1", "--weights", "complex", "--input", "f32", "--b", "variable"];
    all.extend(["--c", "variable", "--pass", "forward"]);
    all.extend(args);
    let (_, json) = verified(&all);
    let methods: Vec<&str> =
        json["cases"].as_array().expect("a list").iter().filter_map(|c| c["method"].as_str()).collect();
    assert_eq!(methods, expected);
}

#[test]
fn rerun_command_of_a_case_reruns_just_that_case() {
    // Every input type and pass.
    let (regime, layout) =
        (["--regime", "groups", "--weights", "complex"], ["--b", "variable", "--c", "constant"]);
    let args = [&regime[..], &layout, &["--method", "poly"]].concat();
    let (_, json) = verified(&args);
    assert_eq!(json["cases"].as_array().map(Vec::len), Some(6));
    for case in json["cases"].as_array().expect("a list") {
        let rerun = case["rerun"].as_str().expect("a command");
        let words: Vec<&str> = rerun.split_whitespace().skip(2).filter(|w| *w != "cpu").collect();
        let words: Vec<&str> = words.into_iter().filter(|w| *w != "--backend").collect();
        let (_, again) = verified(&words);
        assert_eq!(again["cases"].as_array().map(Vec::len), Some(1), "{rerun}");
        assert_eq!(again["cases"][0], *case);
    }
}

#[rstest]
#[case::unknown_method(&["verify", "--method", "zohh"], "zoh")]
#[case::unknown_regime(&["verify", "--regime", "shrot"], "short")]
#[case::unknown_command(&["verfy"], "verify")]
#[case::nothing_to_run(&["verify", "--regime", "vim-tiny", "--weights", "complex"], "vim-tiny")]
#[case::bad_seed(&["verify", "--seed", "many"], "many")]
fn bad_usage_exits_with_status_2_and_a_hint(#[case] args: &[&str], #[case] hint: &str) {
    let output = holdfast(args);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(hint), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_directory_of_something_else_is_not_replaced_by_a_report() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let precious = directory.path().join("precious.txt");
    std::fs::write(&precious, "mine").expect("written");
    let out = directory.path().to_str().expect("UTF-8");
    let args = ["verify", "--regime", "l1", "--method", "zoh", "--backend", "cpu", "--out", out];
    let output = holdfast(&args);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("hint:"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&precious).expect("still there"), "mine");
}

/// Before anything is read, compiled or run: the files that are to be judged are not even there.
#[rstest]
#[case::report(&["verify", "--header", "no.cuh", "--out", "file"], "file")]
#[case::report_below_a_file(&["verify", "--header", "no.cuh", "--out", "file/report"], "file/report")]
#[case::results(&["verify", "--header", "no.cuh", "--json", "folder"], "folder")]
#[case::recorded(&["check", "no.safetensors", "--json", "file/results.json"], "file/results.json")]
#[case::revisions(&["diff", "no.cuh", "neither.cuh", "--json", "folder"], "folder")]
fn a_place_that_cannot_be_written_is_an_error_before_the_work(#[case] args: &[&str], #[case] place: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(directory.path().join("file"), "mine").expect("written");
    std::fs::create_dir(directory.path().join("folder")).expect("created");
    let output = holdfast_in(directory.path(), args);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains(&format!("`{place}`")) || error.contains(&format!("/{place}`")), "{error}");
    assert!(error.contains("(hint: "), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).expect("a folder").count(), 2, "nothing else is there");
}

const BASE_2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/headers/base-2.cuh");

#[rstest]
#[case::invariants(&["verify", "--invariants-only", "--method", "zoh", "--weights", "real", "--backend", "cpu"], "PASS; 31/31 invariants pass")]
#[case::cases(
    &["verify", "--regime", "l1", "--method", "zoh", "--weights", "real", "--input", "f32", "--backend", "cpu"],
    "PASS; 4/4 cases, 4/4 backward cases and 5/5 lifted runs pass"
)]
#[case::revisions(
    &["diff", BASE_2, BASE_2, "--method", "zoh", "--weights", "real", "--b", "variable", "--backend", "cpu"],
    "no need to take it: equal on 1"
)]
#[case::one_of_two_recorded(
    &["check", concat!(env!("CARGO_MANIFEST_DIR"), "/golden/recorded/foh-as-exact-zoh.safetensors")],
    "FAIL; 1/2 cases and 0/1 pairs pass"
)]
fn quiet_is_a_line_of_what_was_run_and_nothing_else(#[case] args: &[&str], #[case] line: &str) {
    let args: Vec<&str> = args.iter().copied().chain(["--quiet"]).collect();
    let said = text(&holdfast(&args).stdout);
    let name = if args[0] == "diff" { "diff" } else { env!("CARGO_PKG_VERSION") };
    assert_eq!(said, format!("holdfast {name}: {line}\n"));
}

/// The likeliest mistake with somebody else's header is one of usage; and what is not judged is said.
#[test]
fn a_header_in_powers_of_two_that_fails_is_told_of_the_option_for_it() {
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/headers/premultiplied.cuh");
    let narrow =
        ["--method", "zoh", "--weights", "real", "--regime", "short", "--b", "variable", "--backend", "cpu"];
    let verified = |more: &[&str]| {
        let args: Vec<&str> =
            ["verify", "--header", header].iter().chain(&narrow).chain(more).copied().collect();
        holdfast(&args)
    };
    let (wrong, right) = (verified(&[]), verified(&["--a-times-log2e", "zoh"]));
    assert_eq!((wrong.status.code(), right.status.code()), (Some(1), Some(0)));
    let assumed = |output: &Output, what: &str| {
        let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("its callers are taken to pass {what}")), "{said}");
    };
    assumed(&wrong, "A itself; where they pass A·log₂e, --a-times-log2e zoh (or '*') decides");
    assumed(&right, "A·log₂e for zoh, else A itself;");
    assert!(text(&right.stdout).contains("lifted to double: not compared"), "{}", text(&right.stdout));
}

#[test]
fn the_variable_of_the_production_api_selects_the_path() {
    let run = |value: &str| {
        let mut command = command();
        command.args(["verify", "--regime", "l1", "--method", "zoh"]).env("VIM_USE_CUDA_KERNEL", value);
        output(&mut command)
    };
    let reference = run("0");
    assert!(text(&reference.stdout).contains("backend `reference`"), "{}", text(&reference.stdout));
    let nonsense = run("yes");
    assert_eq!(nonsense.status.code(), Some(2));
    assert!(text(&nonsense.stderr).contains("expected 0 or 1"));
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_an_error_not_a_panic() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("linux has it");
    let output = output(command().args(["truth", "zoh", "--a", "1", "--delta", "1"]).stdout(full));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: cannot write"), "{}", text(&output.stderr));
}
