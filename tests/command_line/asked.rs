//! Promise: what is run and where its results go is what was asked for, in whatever way it is said.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};

use holdfast::cli::Outcome;
use holdfast::report::{json, junit};
use holdfast::results::Verdict;
use rstest::rstest;
use serde_json::Value;

use crate::support::binary::{command, holdfast, holdfast_in, output, text};

const FAILING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/recorded/foh-as-exact-zoh.safetensors");
const RK4_IS_ZOH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/headers/rk4-is-zoh.cuh");
/// Of one problem with few positions.
const SMALL: [&str; 10] =
    ["--regime", "l1", "--weights", "real", "--input", "f32", "--b", "constant", "--c", "constant"];
/// Of every regime one problem, and all sweeps.
const ONE_LAYOUT: &[&str] = &["--weights", "real", "--input", "f32", "--b", "constant", "--c", "constant"];

fn verify(folder: &Path, more: &[&str]) -> Output {
    let args: Vec<&str> = ["verify", "--backend", "cpu"].iter().chain(more).copied().collect();
    holdfast_in(folder, &args)
}

#[rstest]
#[case::commas("zoh,foh", 2)]
#[case::capitals("RK4", 1)]
#[case::pattern("*h", 2)]
#[case::pattern_among_names("bilinear,h*,5", 3)]
fn several_methods_are_one_word(#[case] methods: &str, #[case] count: usize) {
    let args: Vec<&str> = SMALL.iter().copied().chain(["--method", methods, "--quiet"]).collect();
    let said = text(&verify(Path::new("."), &args).stdout);
    assert!(said.contains(&format!("{count}/{count} cases")), "{said}");
}

#[rstest]
#[case::no_such_pattern(&["--method", "q*"], "no method `q*`")]
#[case::one_of_them_wrong(&["--method", "zoh,fho"], "did you mean `foh`?")]
#[case::regime(&["--regime", "L1,shrot"], "did you mean `short`?")]
fn a_word_of_several_that_is_no_name_is_an_error(#[case] args: &[&str], #[case] said: &str) {
    let output = verify(Path::new("."), args);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
}

#[test]
fn json_on_standard_output_is_nothing_but_json() {
    for args in [&["check", FAILING, "--json", "-"][..], &["compare", "a.json", "b.json", "--json", "-"]] {
        let home = tempfile::tempdir().expect("a folder");
        for file in ["a.json", "b.json"] {
            let made = holdfast_in(home.path(), &["check", FAILING, "--json", file, "--quiet"]);
            assert_eq!(made.status.code(), Some(1));
        }
        let output = holdfast_in(home.path(), args);
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
        assert_eq!(json["schema"], 3);
        assert!(text(&output.stderr).contains("holdfast "), "{}", text(&output.stderr));
        assert!(!home.path().join("-").exists());
    }
}

#[test]
fn junit_tells_failures_and_never_a_skip() {
    let home = tempfile::tempdir().expect("a folder");
    let output =
        holdfast_in(home.path(), &["check", FAILING, "--junit", "verdicts.xml", "--json", "results.json"]);
    assert_eq!(output.status.code(), Some(1));
    let xml = std::fs::read_to_string(home.path().join("verdicts.xml")).expect("written");
    let report = quick_junit::Report::deserialize_from_str(&xml).expect("what JUnit's readers read");
    // The two cases, and their pair.
    assert_eq!((report.tests, report.failures, report.errors), (3, 2, 0));
    assert!(xml.contains("looks like runs-as-zoh-exact") && !xml.contains("<skipped"), "{xml}");
    // A header that does not compile has failed in everything.
    let broken = home.path().join("broken.cuh");
    std::fs::write(&broken, "template <typename T, bool k> float4 compute_discretization(").expect("written");
    let args = ["--header", "broken.cuh", "--method", "zoh", "--junit", "broken.xml"];
    let args: Vec<&str> = args.iter().chain(&SMALL).copied().collect();
    assert_eq!(verify(home.path(), &args).status.code(), Some(1));
    let xml = std::fs::read_to_string(home.path().join("broken.xml")).expect("written");
    let report = quick_junit::Report::deserialize_from_str(&xml).expect("what JUnit's readers read");
    assert!(report.failures == report.tests && report.tests > 0, "{xml}");
    // What is not measured is an error, and its reason is its own.
    let mut unmeasured = json::read(&home.path().join("results.json")).expect("results");
    for case in &mut unmeasured.cases {
        (case.verdict, case.reason) = (Verdict::Unmeasured, "no GPU here".to_owned());
    }
    let xml = junit::to_string(&unmeasured).expect("XML");
    assert!(xml.contains(r#"<error message="no GPU here" type="unmeasured">"#), "{xml}");
}

/// It is the report's own table.
#[test]
fn a_table_is_written_where_it_is_asked_for() {
    let home = tempfile::tempdir().expect("a folder");
    let output = holdfast_in(home.path(), &["check", FAILING, "--parquet", "table", "--out", "report"]);
    assert_eq!(output.status.code(), Some(1));
    let read = |name: &str| std::fs::read(home.path().join(name)).expect("written");
    assert!(read("table") == read("report/results.parquet") && read("table").starts_with(b"PAR1"));
}

#[test]
fn a_step_of_a_workflow_gets_its_summary_and_annotations() {
    let home = tempfile::tempdir().expect("a folder");
    let summary = home.path().join("summary");
    std::fs::write(&summary, "an earlier step's\n").expect("written");
    let mut command = command();
    let said = output(command.args(["check", FAILING]).env("GITHUB_STEP_SUMMARY", &summary));
    let summary = std::fs::read_to_string(&summary).expect("there");
    assert!(summary.starts_with("an earlier step's\n### holdfast: FAIL\n"), "{summary}");
    assert!(summary.contains("| foh | FAIL | 0/1 pass |"), "{summary}");
    let errors = text(&said.stderr);
    let annotation = errors.lines().find(|line| line.starts_with("::error title="));
    assert!(annotation.is_some_and(|line| line.contains("runs-as-zoh-exact")), "{errors}");
}

#[test]
fn verdict_counts_and_time_are_the_last_lines() {
    let output = holdfast(&["check", FAILING]);
    let said = text(&output.stdout);
    let last = said.lines().last().expect("a line");
    assert!(last.starts_with("holdfast 0.1.0: FAIL, in ") && last.ends_with(" s"), "{said}");
    assert!(said.contains("\n1/2 cases and 0/1 pairs pass\n"), "{said}");
}

#[test]
fn lines_fit_into_a_narrow_terminal() {
    let lines = |columns: &str| {
        let mut command = command();
        let said = text(&output(command.args(["check", FAILING]).env("COLUMNS", columns)).stdout);
        // An argument of a command is left whole, so that it can be pasted.
        let broken = said.lines().filter(|line| !line.contains(FAILING));
        (broken.map(|line| line.chars().count()).max().expect("lines"), said)
    };
    for columns in [60, 75, 100] {
        let (widest, said) = lines(&columns.to_string());
        assert!(widest <= columns, "{columns}: {widest}\n{said}");
    }
    // No terminal is a reason for lines that nobody takes in, or for ones of three words.
    assert!(lines("400").0 <= 100 && lines("20").0 <= 60);
}

#[test]
fn a_mistyped_folder_is_not_made() {
    let home = tempfile::tempdir().expect("a folder");
    for args in [
        &["--out", "reprots/run"][..],
        &["--json", "reprots/run.json"],
        &["--junit", "reprots/run.xml"],
        &["--parquet", "reprots/run.parquet"],
    ] {
        let output = verify(home.path(), args);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains(args[0]) && said.contains("(hint: mkdir -p 'reprots')"), "{said}");
        assert_eq!(std::fs::read_dir(home.path()).expect("readable").count(), 0);
    }
}

#[test]
fn a_second_run_into_a_folder_keeps_the_first_ones_results() {
    let home = tempfile::tempdir().expect("a folder");
    let run = |method: &str| {
        let asked = ["--method", method, "--pass", "forward", "--out", "report"];
        let args: Vec<&str> = SMALL.iter().copied().chain(asked).collect();
        assert_eq!(verify(home.path(), &args).status.code(), Some(0));
    };
    run("zoh");
    run("foh");
    let methods = |file: &str| {
        let results = json::read(&home.path().join("report").join(file)).expect("results");
        results.cases.iter().map(|case| case.method.name()).collect::<Vec<_>>()
    };
    assert_eq!((methods("previous.json"), methods("results.json")), (vec!["zoh"], vec!["foh"]));
}

/// A header's derivatives are cases like any other; where it has none, that is said.
#[test]
fn a_headers_backward_is_judged_and_run_again_and_its_absence_said() {
    const OF_ZOH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/headers/backward/of-zoh.cuh");
    const NONE: &str = "no derivatives judged: the header has no compute_discretization_backward";
    let home = tempfile::tempdir().expect("a folder");
    let run = |header, more: &[&str]| {
        let args: Vec<&str> = ["--header", header].iter().chain(more).copied().collect();
        verify(home.path(), &args)
    };
    let asked = ["--method", "zoh,rk4", "--json", "first.json"];
    let wrong = run(OF_ZOH, &[&asked, ONE_LAYOUT].concat());
    assert_eq!(wrong.status.code(), Some(1));
    assert!(!text(&wrong.stdout).contains(NONE));
    let again = run(OF_ZOH, &["--rerun-failed", "first.json", "--json", "again.json"]);
    assert_eq!(again.status.code(), Some(1));
    let read = |file: &str| json::read(&home.path().join(file)).expect("results");
    let (first, again) = (read("first.json"), read("again.json"));
    let backward = first.header.expect("a header").backward.expect("it has one");
    assert!(backward.iter().all(|one| one.compiles) && backward.len() == 2);
    let failed: Vec<_> = first.cases.iter().filter(|case| case.verdict.name() == "fail").collect();
    let ids: Vec<_> = again.cases.iter().map(|case| &case.id).collect();
    assert_eq!(ids, failed.iter().map(|case| &case.id).collect::<Vec<_>>());
    assert!(ids.iter().all(|id| id.starts_with("derivatives/") && id.ends_with("/rk4/backward")), "{ids:?}");
    let without = run(RK4_IS_ZOH, &["--method", "zoh", "--regime", "l1", "--json", "none.json"]);
    assert!(text(&without.stdout).contains(NONE), "{}", text(&without.stdout));
    assert!(read("none.json").header.expect("a header").backward.is_none());
}

#[test]
fn what_failed_is_run_again_and_nothing_else() {
    let home = tempfile::tempdir().expect("a folder");
    let header = ["--header", RK4_IS_ZOH];
    let narrow = ["--regime", "short", "--weights", "real", "--b", "variable", "--method", "zoh,rk4"];
    let first: Vec<&str> = header.iter().chain(&narrow).copied().chain(["--json", "first.json"]).collect();
    assert_eq!(verify(home.path(), &first).status.code(), Some(1));
    let again: Vec<&str> =
        header.iter().copied().chain(["--rerun-failed", "first.json", "--json", "again.json"]).collect();
    assert_eq!(verify(home.path(), &again).status.code(), Some(1));
    let read = |file: &str| json::read(&home.path().join(file)).expect("results");
    let (first, again) = (read("first.json"), read("again.json"));
    let failed: Vec<_> = first.cases.iter().filter(|case| case.verdict.name() == "fail").collect();
    assert!(!failed.is_empty() && failed.len() < first.cases.len());
    let ids: Vec<_> = again.cases.iter().map(|case| &case.id).collect();
    assert_eq!(ids, failed.iter().map(|case| &case.id).collect::<Vec<_>>());
    // The same inputs.
    assert!(again.cases.iter().zip(&failed).all(|(again, first)| again.inputs == first.inputs));
    // Combinations that were asked for beyond a regime's own are no exception, and nothing is dropped silently.
    let beyond = [
        "--regime",
        "seqlen-128",
        "--weights",
        "real",
        "--method",
        "zoh",
        "--input",
        "f32",
        "--b",
        "constant",
    ];
    let beyond: Vec<&str> = beyond.iter().copied().chain(["--json", "beyond.json"]).collect();
    assert_eq!(verify(home.path(), &beyond).status.code(), Some(0));
    let mut results = read("beyond.json");
    results.cases.iter_mut().for_each(|case| case.verdict = Verdict::Fail);
    let write = |results: &_| json::write(results, &home.path().join("beyond.json")).expect("written");
    write(&results);
    assert_eq!(
        verify(home.path(), &["--rerun-failed", "beyond.json", "--json", "new.json"]).status.code(),
        Some(0)
    );
    assert_eq!(read("new.json").cases.len(), results.cases.len());
    results.cases[0].id = "short/real/f32/b-constant/c-constant/zoh-of-old".to_owned();
    write(&results);
    let lost = verify(home.path(), &["--rerun-failed", "beyond.json"]);
    assert_eq!(lost.status.code(), Some(2));
    assert!(
        text(&lost.stderr).contains("1 failures that are not in this version's plan"),
        "{}",
        text(&lost.stderr)
    );
    results.cases.clear();
    write(&results);
    let empty = verify(home.path(), &["--rerun-failed", "beyond.json"]);
    assert_eq!(empty.status.code(), Some(2), "{}", text(&empty.stdout));
    // A rerun is part of the whole run, and compared as that.
    let compared = holdfast_in(home.path(), &["compare", "first.json", "again.json"]);
    assert_eq!(compared.status.code(), Some(0), "{}", text(&compared.stdout));
    assert!(text(&compared.stdout).contains("compared by what both were asked for"));
    // The kernels' own run has other failures under the same ids.
    let other = verify(home.path(), &["--rerun-failed", "first.json"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(
        text(&other.stderr).contains("expected the kernels of the accurate tier as on this command line"),
        "{}",
        text(&other.stderr)
    );
    let args: Vec<&str> = SMALL.iter().copied().chain(["--method", "zoh", "--json", "passed.json"]).collect();
    verify(home.path(), &args);
    let nothing = verify(home.path(), &["--rerun-failed", "passed.json"]);
    assert_eq!(nothing.status.code(), Some(0));
    assert!(text(&nothing.stdout).contains("nothing is to be run again"));
    // And so has another tier of them.
    let fast = verify(home.path(), &["--rerun-failed", "passed.json", "--tier", "fast"]);
    assert_eq!(fast.status.code(), Some(2));
    let said = "is of the kernels of the accurate tier, expected the kernels of the fast tier";
    assert!(text(&fast.stderr).contains(said), "{}", text(&fast.stderr));
}

/// A law of gradients is of a backward pass, though its id does not say so.
#[test]
fn a_law_of_gradients_is_run_again() {
    let home = tempfile::tempdir().expect("a folder");
    let laws = ["--invariants-only", "--method", "zoh", "--weights", "real"];
    let args: Vec<&str> = laws.iter().copied().chain(["--json", "laws.json"]).collect();
    assert_eq!(verify(home.path(), &args).status.code(), Some(0));
    let read = |file: &str| json::read(&home.path().join(file)).expect("results");
    for failing in [&["gradient-nan"][..], &["gradient-zero", "nan-input"][..]] {
        let mut results = read("laws.json");
        for law in results.invariants.iter_mut().filter(|law| failing.contains(&&*law.name)) {
            law.verdict = Verdict::Fail;
        }
        json::write(&results, &home.path().join("failed.json")).expect("written");
        let again = verify(home.path(), &["--rerun-failed", "failed.json", "--json", "again.json"]);
        assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
        let mut names: Vec<String> = read("again.json").invariants.into_iter().map(|law| law.name).collect();
        names.sort();
        assert_eq!(names, failing);
    }
}

#[test]
fn a_filtered_run_has_lost_nothing_of_a_whole_one() {
    let home = tempfile::tempdir().expect("a folder");
    let run = |methods: &str, file: &str| {
        let args: Vec<&str> = SMALL.iter().copied().chain(["--method", methods, "--json", file]).collect();
        assert_eq!(verify(home.path(), &args).status.code(), Some(0));
    };
    run("zoh,foh", "both.json");
    run("foh", "one.json");
    // An input type that the regime has not by itself is in no other plan.
    let other = ["--regime", "seqlen-128", "--weights", "real", "--method", "zoh"];
    let whole: Vec<&str> = other.iter().copied().chain(["--json", "whole.json"]).collect();
    let f32: Vec<&str> = other.iter().copied().chain(["--input", "f32", "--json", "f32.json"]).collect();
    assert_eq!(verify(home.path(), &whole).status.code(), Some(0));
    assert_eq!(verify(home.path(), &f32).status.code(), Some(0));
    for pair in [
        ["both.json", "one.json"],
        ["one.json", "both.json"],
        ["whole.json", "f32.json"],
        ["f32.json", "whole.json"],
    ] {
        let compared = holdfast_in(home.path(), &["compare", pair[0], pair[1]]);
        assert_eq!(compared.status.code(), Some(0), "{}", text(&compared.stdout));
    }
    // What was asked for and is not there is gone.
    let mut one = json::read(&home.path().join("one.json")).expect("results");
    one.cases.clear();
    json::write(&one, &home.path().join("one.json")).expect("written");
    let compared = holdfast_in(home.path(), &["compare", "both.json", "one.json"]);
    assert_eq!(compared.status.code(), Some(1), "{}", text(&compared.stdout));
}

#[test]
fn the_first_failure_ends_a_run_that_is_to_fail_fast() {
    let home = tempfile::tempdir().expect("a folder");
    let args =
        ["--header", RK4_IS_ZOH, "--method", "rk4", "--regime", "short,s4d-real,l1", "--weights", "real"];
    let cases = |more: &[&str], file: &str| {
        let args: Vec<&str> =
            args.iter().copied().chain(["--json", file]).chain(more.iter().copied()).collect();
        let output = verify(home.path(), &args);
        assert_eq!(output.status.code(), Some(1));
        (json::read(&home.path().join(file)).expect("results").cases.len(), text(&output.stdout))
    };
    let (all, _) = cases(&[], "all.json");
    let (some, said) = cases(&["--fail-fast"], "some.json");
    assert!(0 < some && some < all, "{some} of {all}");
    assert!(said.contains("stopped at the first failure (--fail-fast): "), "{said}");
}

/// The report that stands before the causes are known is none that a run keeps beside its own.
#[test]
fn verdicts_stand_before_causes_and_are_said() {
    let home = tempfile::tempdir().expect("a folder");
    let report = |name: &str| std::fs::read(home.path().join("report").join(name)).expect("a report");
    let check = |more: &[&str]| {
        let output = holdfast_in(home.path(), &[&["check", FAILING, "--out", "report"], more].concat());
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    let said = "FAIL: looking for the cause of 1 case, at most 10 s (--diagnosis off leaves it out)\n";
    assert_eq!(check(&[]), said);
    let first = report("results.json");
    assert_eq!(check(&["--diagnosis", "thorough"]), said.replace(", at most 10 s", ""));
    assert!(first == report("previous.json") && first != report("results.json"));
    assert_eq!(check(&["--diagnosis", "off"]), "");
    assert_eq!(check(&["--quiet"]), "");
    let wrong = holdfast_in(home.path(), &["check", FAILING, "--diagnosis", "0"]);
    let expected = "error: --diagnosis is `0`, expected seconds for each failing case, as 10, or `thorough` or `off` \
                    (hint: `holdfast check --help` says what it takes)\n";
    assert_eq!((wrong.status.code(), text(&wrong.stderr)), (Some(2), expected.to_owned()));
}

/// Of a recording and of a header, whose sweeps fail as well.
#[test]
fn why_something_fails_is_said_unless_verdicts_alone_are_asked_for() {
    let home = tempfile::tempdir().expect("a folder");

    let of_header = [&["verify", "--header", RK4_IS_ZOH, "--method", "rk4"][..], &SMALL].concat();
    for args in [&["check", FAILING][..], &of_header] {
        for more in [&[][..], &["--diagnosis", "off"], &["--diagnosis", "thorough"]] {
            let args = [args, &["--json", "results.json", "--out", "report"], more].concat();
            let output = holdfast_in(home.path(), &args);
            assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
            let results = json::read(&home.path().join("results.json")).expect("results");
            let page = std::fs::read_to_string(home.path().join("report/index.html")).expect("a page");
            let (is_asked, is_thorough) = (!more.contains(&"off"), more.contains(&"thorough"));
            assert_eq!(results.undiagnosed, !is_asked);
            assert_eq!(results.command.contains("--diagnosis off"), !is_asked, "{}", results.command);
            let failing = results.cases.iter().filter(|case| case.verdict == Verdict::Fail);
            let reruns: Vec<&String> = failing.clone().map(|case| &case.rerun).collect();
            let keeps = |rerun: &&String| rerun.contains("--diagnosis thorough") == is_thorough;
            assert!(reruns.iter().all(keeps), "{reruns:?}");
            assert!(reruns.iter().all(|rerun| !rerun.contains("--diagnosis off")), "{reruns:?}");
            assert_eq!(failing.clone().any(|case| !case.diagnosis.is_empty()), is_asked);
            let said = text(&output.stdout);
            for said in [said, page] {
                assert_eq!(
                    said.to_lowercase().contains("why was not looked for (--diagnosis off)"),
                    !is_asked,
                    "{said}"
                );
            }
        }
    }
}

#[test]
fn a_fault_that_is_asked_for_too_late_is_refused() {
    if std::env::var("HOLDFAST_PLANT").is_ok_and(|fault| !fault.is_empty()) {
        return;
    }
    let mut command = command();
    let output = output(command.args(["verify", "--regime", "l1"]).env("HOLDFAST_PLANT", "bilinear-swapped"));
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("HOLDFAST_PLANT=bilinear-swapped cargo run --release"), "{said}");
}

#[rstest]
#[case::one_file_for_both(&["--json", "x", "--junit", "x"], "--junit")]
#[case::no_xml_on_standard_output(&["--junit", "-"], "--junit")]
#[case::one_file_for_two(&["--junit", "x", "--parquet", "x"], "--parquet")]
#[case::no_table_on_standard_output(&["--parquet", "-"], "--parquet")]
#[case::table_within_the_report(&["--out", "r", "--parquet", "r/x"], "--parquet")]
#[case::within_the_report(&["--out", "r", "--json", "r/x.json"], "--json")]
fn outputs_that_would_overwrite_each_other_are_refused(#[case] places: &[&str], #[case] option: &str) {
    let home = tempfile::tempdir().expect("a folder");
    let args: Vec<&str> = ["check", FAILING].iter().chain(places).copied().collect();
    let output = holdfast_in(home.path(), &args);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains(&format!("{option} is `")) && said.contains("(hint: "), "{said}");
    assert_eq!(std::fs::read_dir(home.path()).expect("readable").count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_told_beside_the_answer_changes_nothing() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command = command();
    let json = output(command.args(["check", FAILING, "--json", "-"]).stderr(full()));
    assert_eq!(json.status.code(), Some(1));
    assert!(serde_json::from_slice::<Value>(&json.stdout).is_ok());
    let mut command = self::command();
    let told = output(command.args(["check", FAILING]).env("GITHUB_STEP_SUMMARY", "/nowhere/summary"));
    assert_eq!(told.status.code(), Some(1));
    assert!(text(&told.stderr).contains("warning: cannot write"), "{}", text(&told.stderr));
}

#[test]
fn a_run_of_the_fast_tier_says_so_everywhere() {
    let home = tempfile::tempdir().expect("a directory");
    let run = verify(
        home.path(),
        &[&SMALL[..], &["--method", "zoh", "--tier", "fast", "--json", "fast.json"]].concat(),
    );
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let said = text(&run.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("forward kernels of the fast tier"), "{said}");
    let results = holdfast::report::json::read(&home.path().join("fast.json")).expect("results");
    assert_eq!(results.tier.as_deref(), Some("fast"));
    assert!(results.command.contains(" --tier fast "), "{}", results.command);
    assert!(results.cases.iter().all(|case| !case.is_backward()));
    // A peer's library is a file that is there.
    std::fs::write(home.path().join("some.so"), "").expect("writable");
    let reference = ["verify", "--backend", "reference", "--tier", "fast"];
    let gradients = ["verify", "--backend", "cpu", "--tier", "fast", "--pass", "backward"];
    let header = ["verify", "--tier", "fast", "--header", "some.cuh"];
    let peer = ["bench", "--backend", "cpu", "--peer", "cpu-fast=some.so"];
    for (args, said) in [
        (&reference[..], "the reference path has no fast tier"),
        (&gradients, "--tier fast has no gradients"),
        (&header, "--tier together with --header"),
        (&["verify", "--tier", "quick"], "one of accurate, fast"),
        (&peer, "a name that is taken"),
    ] {
        let run = holdfast_in(home.path(), args);
        assert_eq!(run.status.code(), Some(2), "{args:?}");
        assert!(text(&run.stderr).contains(said), "{args:?}: {}", text(&run.stderr));
    }
    // Both tiers forwards, and what has none once.
    let args =
        ["bench", "--shape", "1,3,9,2", "--method", "zoh", "--backend", "cpu", "--tier", "accurate,fast"];
    let more = ["--samples", "2", "--seconds", "0.1", "--json", "bench.json", "--quiet"];
    let run = holdfast_in(home.path(), &[&args[..], &more].concat());
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let results = holdfast::report::json::read(&home.path().join("bench.json")).expect("results");
    let scans: Vec<&str> =
        results.bench.iter().filter(|timed| timed.scan.is_some()).map(|timed| timed.id.as_str()).collect();
    assert_eq!(
        scans,
        [
            "forward/real/f32/b1-d3-n2-l9/zoh/cpu",
            "forward/real/f32/b1-d3-n2-l9/zoh/cpu-fast",
            "backward/real/f32/b1-d3-n2-l9/zoh/cpu",
        ]
    );
}

#[test]
fn both_tiers_are_judged_in_one_run_each_with_results_of_its_own() {
    let home = tempfile::tempdir().expect("a directory");
    let few = ["--regime", "short", "--method", "zoh", "--weights", "real", "--input", "f32"];
    let both = ["--tier", "fast,accurate", "--out", "report", "--json", "all.json", "--junit", "all.v1.xml"];
    let run = verify(home.path(), &[&few[..], &both].concat());
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let said = text(&run.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.matches(": PASS, in").count(), 2, "{said}");
    assert_eq!(said.matches("forward kernels of the fast tier").count(), 1, "{said}");
    for file in ["report/results.json", "report-fast/index.html", "all.v1.xml", "all.v1-fast.xml"] {
        assert!(home.path().join(file).is_file(), "{file}");
    }
    // Each is what a run of that tier alone finds.
    for (tier, file) in [("accurate", "all.json"), ("fast", "all-fast.json")] {
        // Without its name where it is the usual one, as commands to run a case again have it.
        let named: &[&str] = if tier == "fast" { &["--tier", tier] } else { &[] };
        let alone = verify(home.path(), &[&few[..], named, &["--json", "alone.json"]].concat());
        assert_eq!(alone.status.code(), Some(0), "{}", text(&alone.stderr));
        let [together, alone] = [file, "alone.json"].map(|file| json::read(&home.path().join(file)));
        let (together, alone) = (together.expect("results"), alone.expect("results"));
        assert_eq!(together.tier, alone.tier, "{tier}");
        assert!(!together.cases.is_empty(), "{tier}");
        let are_alike = format!("{:?}", together.cases) == format!("{:?}", alone.cases);
        assert!(are_alike, "{tier}: not the same cases");
        assert!(!together.sensitivity.is_empty(), "{tier}");
        assert_eq!(together.sensitivity, alone.sensitivity, "{tier}");
    }
    let both = ["--tier", "accurate,fast"];
    for (more, said) in [
        (&["--json", "-"][..], "--json - is for one tier"),
        (&["--pass", "backward"], "--pass backward is for one tier"),
        (&["--partition", "1/2", "--out", "parts"], "--partition is for one tier"),
        (&["--backend", "reference"], "the reference path has no fast tier"),
    ] {
        let run = holdfast_in(home.path(), &[&["verify"][..], &both, &few, more].concat());
        assert_eq!(run.status.code(), Some(2), "{more:?}");
        assert!(text(&run.stderr).contains(said), "{more:?}: {}", text(&run.stderr));
    }
    let failed = ["--tier", "accurate,fast", "--rerun-failed", "all.json"];
    let run = verify(home.path(), &failed);
    assert!(text(&run.stderr).contains("--rerun-failed is for one tier"), "{}", text(&run.stderr));
}

/// The first line that a sweep over all of f32 says on one core, of the hours that it would take there.
fn first_said(more: &[&str]) -> String {
    let mut command = command();
    command.args(["sweep", "--exhaustive"]).args(more).env("RAYON_NUM_THREADS", "1");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("runs");
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("piped")).read_line(&mut line).expect("UTF-8");
    // One that has refused is gone already.
    let _ = child.kill();
    child.wait().expect("it ends");
    line
}

#[test]
fn a_sweep_of_hours_is_asked_for_by_name_and_says_how_long_it_takes() {
    let refused = first_said(&[]);
    assert!(refused.starts_with("error: all ") && refused.contains(" h "), "{refused}");
    assert!(
        refused.contains("expected a function's name (hint: `holdfast sweep exp --exhaustive`"),
        "{refused}"
    );
    let hours = |text: &str| {
        text.split_once(" about ").and_then(|(_, rest)| Some(rest.split_once(" h ")?.0.to_owned()))
    };
    let named = first_said(&["*"]);
    assert!(named.contains(" functions at every f32 will take about ") && hours(&named).is_some(), "{named}");
    // A share of a plan was asked for.
    let home = tempfile::tempdir().expect("a folder");
    let part = first_said(&["--partition", "3/8", "--out", &home.path().join("parts").to_string_lossy()]);
    assert!(part.contains(" functions at every f32, a share of 1/8, will take about "), "{part}");
    let one = first_said(&["exp"]);
    assert!(one.starts_with("1 function at every f32 will take about "), "{one}");
}

#[test]
fn several_runs_of_one_command_have_the_worst_status() {
    let one = |text: &str, status| Outcome::new(text.to_owned(), status);
    for (first, second, both) in [(0, 0, 0), (0, 1, 1), (1, 0, 1)] {
        let together = Outcome::default().and(one("first", first)).and(one("second", second));
        assert_eq!((together.text.as_str(), together.status), ("first\nsecond", both));
    }
}
