//! Promise: a run in parts, on however many machines, is the run in one; whatever ends a part in the middle, nothing is lost,
//! and nothing counts twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use holdfast::report::json;
use rstest::rstest;
use tempfile::TempDir;

use super::help_texts::golden;
use crate::support::binary::{command, holdfast_in, output, text};

/// A plan of less than a second.
const SMALL: [&str; 9] =
    ["verify", "--weights", "real", "--regime", "short,n1", "--method", "zoh,foh", "--backend", "cpu"];

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn run(home: &Path, more: &[&str]) -> Output {
    holdfast_in(home, &[&SMALL[..], more].concat())
}

fn started(home: &Path, arguments: &[&str]) -> Child {
    spawned(command(), home, arguments)
}

fn spawned(mut command: Command, home: &Path, arguments: &[&str]) -> Child {
    command.current_dir(home).args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the binary that cargo built runs")
}

/// A process that ends with its test, also where that fails.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Every file of a report, by its name.
fn report(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a report") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files.extend(report(&path));
        } else {
            let name = path.strip_prefix(folder.parent().expect("a parent")).expect("inside");
            let parts: PathBuf = name.components().skip(1).collect();
            files.insert(parts, fs::read(&path).expect("readable"));
        }
    }
    files
}

/// Merges what lies in `parts`, and holds the report against that of the undivided run, which passes.
fn hold(home: &Path, undivided: &[&str]) {
    hold_with_status(0, home, undivided);
}

fn hold_with_status(status: i32, home: &Path, undivided: &[&str]) {
    let whole = output(command().current_dir(home).args(undivided).args(["--out", "whole"]));
    assert_eq!(whole.status.code(), Some(status), "{}", text(&whole.stderr));
    let merged = holdfast_in(home, &["merge", "parts", "--out", "merged"]);
    assert_eq!(merged.status.code(), Some(status), "{}", text(&merged.stderr));
    let (whole, merged) = (report(&home.join("whole")), report(&home.join("merged")));
    assert!(whole.len() > 4 && whole.keys().eq(merged.keys()), "{:?}", merged.keys());
    assert!(whole.keys().any(|name| name.extension().is_some_and(|kind| kind == "parquet")));
    for (name, bytes) in &whole {
        assert!(&merged[name] == bytes, "{}", name.display());
    }
}

#[rstest]
#[case("1")]
#[case("1..2,4")]
fn the_merged_report_is_that_of_the_undivided_run_to_the_last_byte(#[case] seeds: &str) {
    let home = folder();
    for part in ["2/3", "3/3", "1/3"] {
        let done = run(home.path(), &["--seed", seeds, "--partition", part, "--out", "parts"]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        let said = text(&done.stdout);
        assert!(
            said.contains(&format!("part {part}: ")) && said.contains("0 of which were finished"),
            "{said}"
        );
    }
    hold(home.path(), &[&SMALL[..], &["--seed", seeds]].concat());
}

#[test]
fn sweeps_are_merged_as_runs_are() {
    let home = folder();
    let sweep = ["sweep", "bf16", "rk4-h-by-a"];
    for part in ["1/2", "2/2"] {
        let done = holdfast_in(home.path(), &[&sweep[..], &["--partition", part, "--out", "parts"]].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    }
    hold(home.path(), &sweep);
    let certificate = fs::read_to_string(home.path().join("merged/functions.json")).expect("a certificate");
    assert!(
        certificate.contains("\"function\":\"rk4-h-by-a\"") && !certificate.contains("\"function\":\"exp\"")
    );
    let of_verify = run(home.path(), &["--partition", "2/2", "--out", "parts"]);
    assert_eq!(of_verify.status.code(), Some(2));
}

/// Recordings of this repository: two of them fail, one has gradients and one has outputs of several methods.
const RUNS: [&str; 4] =
    ["backward-of-zoh-for-foh", "foh-as-exact-zoh", "scipy-real-before-update", "torch-bf16-real"];

/// A folder with the recordings, and the command that judges them. Why two of them fail has no part in how they are divided.
fn recordings() -> (TempDir, Vec<&'static str>) {
    recordings_by(&["check", "--diagnosis", "off"], &RUNS)
}

fn recordings_by(command: &[&'static str], runs: &[&'static str]) -> (TempDir, Vec<&'static str>) {
    let home = folder();
    for name in runs {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/recorded").join(name).with_extension(KIND);
        fs::copy(file, home.path().join(name)).expect("copied");
    }
    (home, [command, runs].concat())
}

const KIND: &str = "safetensors";

fn part_of<'a>(whole: &[&'a str], part: &'a str, out: &'a str) -> Vec<&'a str> {
    [whole, &["--partition", part, "--out", out]].concat()
}

/// What a part says that is done, whatever its verdict.
fn judged(home: &Path, arguments: &[&str]) -> String {
    let done = holdfast_in(home, arguments);
    assert!(matches!(done.status.code(), Some(0 | 1)), "{}", text(&done.stderr));
    text(&done.stdout)
}

/// With the causes of failures.
fn are_merged_as_runs_are(runs: &[&'static str]) {
    let (home, check) = recordings_by(&["check"], runs);
    for part in ["3/3", "1/3", "2/3"] {
        let said = judged(home.path(), &part_of(&check, part, "parts"));
        assert!(said.contains(&format!("part {part}: ")) && said.contains("recorded run, b"), "{said}");
    }
    hold_with_status(1, home.path(), &check);
    // In the order in which they were named, whichever was judged first.
    let results = json::read(&home.path().join("merged/results.json")).expect("results");
    let mut of_cases: Vec<&str> = results.cases.iter().map(|case| &*case.regime).collect();
    of_cases.dedup();
    let notes: Vec<&str> = results.regimes.iter().map(|note| &*note.name).collect();
    assert_eq!((&of_cases[..], &notes[..]), (runs, runs));
}

#[test]
fn recordings_are_merged_as_runs_are() {
    are_merged_as_runs_are(&RUNS[1..]);
}

#[test]
#[ignore = "gradients are searched for seconds: .ci/long"]
fn recorded_gradients_are_merged_as_runs_are() {
    are_merged_as_runs_are(&RUNS);
}

#[test]
fn a_part_without_units_is_no_failure() {
    let (home, arguments) = recordings();
    let of = |part: String| holdfast_in(home.path(), &part_of(&arguments, &part, "parts"));
    let parts = arguments.len() + 1;
    let statuses: Vec<Option<i32>> =
        (1..=parts).map(|part| of(format!("{part}/{parts}")).status.code()).collect();
    assert!(statuses.contains(&Some(0)), "{statuses:?}");
    let said = text(&of(format!("{parts}/{parts}")).stdout);
    assert!(said.contains("none of the"), "{said}");
}

#[test]
fn a_part_of_recordings_goes_on_where_it_ended() {
    let (home, check) = recordings();
    let run = || judged(home.path(), &part_of(&check, "1/1", "parts"));
    run();
    let file = fs::read_dir(home.path().join("parts"))
        .expect("there")
        .next()
        .expect("one")
        .expect("readable")
        .path();
    let bytes = fs::read(&file).expect("readable");
    fs::write(&file, &bytes[..bytes.len() * 2 / 3]).expect("written");
    let said = run();
    let before =
        (1..RUNS.len()).any(|n| said.contains(&format!("4 of 4 units, {n} of which were finished before")));
    assert!(before, "{said}");
    hold_with_status(1, home.path(), &check);
}

/// Changes the number at a place of a recording's tensor.
fn change(file: &Path, tensor: &str, change: impl FnOnce(&mut [u8])) {
    let mut bytes = fs::read(file).expect("readable");
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight")) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).expect("a header");
    let start = 8 + length + header[tensor]["data_offsets"][0].as_u64().expect("an offset") as usize;
    change(&mut bytes[start..start + 4]);
    fs::write(file, bytes).expect("written");
}

#[test]
fn parts_of_other_recordings_are_refused() {
    let (home, check) = recordings();
    judged(home.path(), &part_of(&check, "1/2", "parts"));
    // The last bit of a number of an input: the header, the name and the length are what they were.
    change(&home.path().join(RUNS[1]), "u", |number| number[0] ^= 1);
    let refused = |arguments: &[&str]| {
        let said = holdfast_in(home.path(), arguments);
        assert_eq!(said.status.code(), Some(2));
        let said = text(&said.stderr);
        assert!(said.contains("with plan with `foh-as-exact-zoh of ") && said.contains("(hint: "), "{said}");
    };
    refused(&part_of(&check, "2/2", "parts"));
    judged(home.path(), &part_of(&check, "2/2", "others"));
    refused(&["merge", "parts", "others"]);
}

/// What differs is shown, and not thousands of names.
#[test]
fn an_error_about_many_recordings_is_short() {
    let home = folder();
    let name = |number: usize| format!("run-{number}");
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/recorded/scipy-real-before-update.safetensors");
    for number in 0..60 {
        fs::copy(&source, home.path().join(name(number))).expect("copied");
    }
    let names: Vec<String> = (0..60).map(name).collect();
    let run = |names: &[String]| {
        let names = names.iter().map(String::as_str);
        let words = ["check"].into_iter().chain(names).chain(["--partition", "1/1", "--out", "parts"]);
        holdfast_in(home.path(), &words.collect::<Vec<_>>())
    };
    assert_eq!(run(&names).status.code(), Some(0));
    let without = [&names[..50], &names[51..]].concat();
    let refused = run(&without);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("run with command …") && said.contains("run-49 run-50 run-51"), "{said}");
    assert!(said.len() < 1000, "{said}");
}

/// What is wrong with a file is said as it is without parts.
#[test]
fn a_recording_that_is_none_ends_its_part() {
    let (home, check) = recordings();
    // A line says how far it is where that takes its time.
    let check = [&check[..], &["--quiet"]].concat();
    change(&home.path().join(RUNS[1]), "u", |number| number.copy_from_slice(&f32::NAN.to_le_bytes()));
    let [whole, part] =
        [check.clone(), part_of(&check, "1/1", "parts")].map(|of| holdfast_in(home.path(), &of));
    assert_eq!((whole.status.code(), part.status.code()), (Some(2), Some(2)));
    assert_eq!(text(&part.stderr), text(&whole.stderr));
    assert!(text(&part.stderr).contains("foh-as-exact-zoh: tensor `u` is NaN"), "{}", text(&part.stderr));
}

#[test]
fn a_script_runs_another_command_where_it_is_asked_for() {
    let home = folder();
    for format in ["slurm", "gnu-parallel", "k8s-job", "github-matrix"] {
        let of = |options: &[&str]| {
            let plan = ["plan", "--format", format, "--"];
            let said = holdfast_in(home.path(), &[&plan[..], options].concat());
            assert_eq!(said.status.code(), Some(0), "{}", text(&said.stderr));
            text(&said.stdout)
        };
        let (sweep, verify) = (of(&["sweep", "exp", "--exhaustive"]), of(&["--method", "zoh"]));
        let check = of(&["check", "a.safetensors", "b.safetensors"]);
        assert!(check.contains("a.safetensors b.safetensors --partition"), "{check}");
        assert!(check.contains("check") && !check.contains("verify "), "{check}");
        assert!(sweep.contains("exp --exhaustive --partition") && !sweep.contains("verify "), "{sweep}");
        assert!(verify.contains("--method zoh --partition") && !verify.contains("sweep"), "{verify}");
    }
    let wrong = holdfast_in(home.path(), &["plan", "--slurm", "--", "sweep", "--method", "zoh"]);
    assert_eq!(wrong.status.code(), Some(2));
}

/// The size of all that was written so far.
fn written(parts: &Path) -> u64 {
    let entries = fs::read_dir(parts).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}

#[test]
fn a_part_that_is_killed_at_any_moment_goes_on_where_it_stopped() {
    let home = folder();
    let parts = home.path().join("parts");
    let whole = [&SMALL[..], &["--seed", "1,2"]].concat();
    let arguments = [&whole[..], &["--partition", "1/1", "--out", "parts"]].concat();
    let (mut kills, mut sizes) = (0, Vec::new());
    loop {
        let mut child = started(home.path(), &arguments);
        let (before, start) = (written(&parts), Instant::now());
        // Later each time, so that something is done, and at other moments.
        let enough = 40_000 * (kills + 1) + 7_919 * (kills % 3);
        let ended = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break Some(status);
            }
            if written(&parts) > before + enough || start.elapsed() > Duration::from_secs(120) {
                break None;
            }
            sleep(Duration::from_micros(300));
        };
        if let Some(status) = ended {
            assert!(status.success(), "{status}");
            break;
        }
        child.kill().expect("it is a child of ours");
        child.wait().expect("it ends");
        kills += 1;
        sizes.push(written(&parts));
    }
    assert!(kills >= 3 && sizes.is_sorted(), "{kills} kills, {sizes:?}");
    hold(home.path(), &whole);
}

/// A limit on a file's size is a full disk to whoever writes it: part of a record, then an error.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_and_what_was_finished_is_kept() {
    let home = folder();
    let binary = env!("CARGO_BIN_EXE_holdfast");
    let arguments = [&SMALL[..], &["--partition", "1/1", "--out", "parts"]].concat().join(" ");
    // Room for all but the last few records.
    let whole = run(home.path(), &["--partition", "1/1", "--out", "elsewhere"]);
    assert!(whole.status.success());
    let blocks = (written(&home.path().join("elsewhere")) - 30_000) / 512;
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {binary} {arguments}");
    let full =
        output(Command::new("sh").args(["-c", &script]).current_dir(home.path()).env("COLUMNS", "100"));
    let said = text(&full.stderr);
    assert_eq!(full.status.code(), Some(2), "{said}");
    assert!(said.contains("/parts/part-1-of-1-") && said.contains("(hint: "), "{said}");
    let missing = holdfast_in(home.path(), &["merge", "parts"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("--partition 1/1 --out parts"), "{}", text(&missing.stderr));
    let done = run(home.path(), &["--partition", "1/1", "--out", "parts"]);
    let said = text(&done.stdout);
    assert!(done.status.success() && !said.contains(", 0 of which were finished"), "{said}");
    hold(home.path(), &SMALL);
}

/// Nothing asks what time it is.
#[test]
fn a_clock_that_jumps_changes_nothing() {
    let home = folder();
    run(home.path(), &["--partition", "1/2", "--out", "parts"]);
    for date in ["1971-01-01", "2099-01-01"] {
        let files = fs::read_dir(home.path().join("parts"))
            .expect("there")
            .map(|file| file.expect("readable").path());
        let touched = Command::new("touch").args(["-d", date]).args(files).status();
        assert!(touched.expect("touch is there").success());
        let again = run(home.path(), &["--partition", "1/2", "--out", "parts"]);
        let said = text(&again.stdout);
        let counts = said.lines().find(|line| line.starts_with("part 1/2: ")).expect("a line");
        let numbers: Vec<&str> =
            counts.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty()).collect();
        assert!(numbers[2] == numbers[4], "nothing is left: {counts}");
    }
    run(home.path(), &["--partition", "2/2", "--out", "parts"]);
    hold(home.path(), &SMALL);
}

/// Two machines with the same part: one of them waits, and says so; or both do it, and it counts once.
#[test]
fn two_processes_with_the_same_part_do_no_harm() {
    let home = folder();
    let arguments = [&SMALL[..], &["--partition", "1/1", "--out", "parts"]].concat();
    let both = [started(home.path(), &arguments), started(home.path(), &arguments)];
    for child in both {
        let done = child.wait_with_output().expect("it ends");
        let said = text(&done.stderr);
        assert!(done.status.success() || said.contains("is being run by another process"), "{said}");
    }
    hold(home.path(), &SMALL);
}

#[test]
fn a_part_that_is_being_run_is_left_to_the_one_who_runs_it() {
    let home = folder();
    // Minutes of short problems by one thread: some are soon done, all of them never before the end of this test.
    let plan = ["verify", "--regime", "short", "--backend", "cpu", "--seed", "1..300"];
    let long = [&plan[..], &["--partition", "1/2", "--out", "parts"]].concat();
    let mut one_thread = command();
    one_thread.env("RAYON_NUM_THREADS", "1");
    let first = Ending(spawned(one_thread, home.path(), &long));
    let start = Instant::now();
    // Until it has done enough to say how long the rest takes.
    let (status, said) = loop {
        let status = holdfast_in(home.path(), &["plan", "--status", "parts"]);
        let said = text(&status.stdout);
        if said.contains("left for those that are running") {
            break (status, said);
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it never got anywhere: {said}");
        sleep(Duration::from_millis(100));
    };
    assert_eq!(status.status.code(), Some(1));
    assert!(
        said.contains("running") && said.contains("0/2 parts done, 1 running, 0 failed, 1 waiting"),
        "{said}"
    );
    // It holds what it holds while it stands still, and the second waits for ten seconds.
    let halted = Command::new("kill").args(["-STOP", &first.0.id().to_string()]).status();
    assert!(halted.is_ok_and(|status| status.success()));
    let second = holdfast_in(home.path(), &long);
    drop(first);
    let said = text(&second.stderr);
    assert_eq!(second.status.code(), Some(2));
    assert!(said.contains("part 1/2 is being run by another process"), "{said}");
    // Its kernels' processes end by themselves when they notice.
    let start = Instant::now();
    loop {
        let said = text(&holdfast_in(home.path(), &["plan", "--status", "parts"]).stdout);
        if said.contains("1 failed") {
            assert!(
                said.contains(
                    "continue: holdfast verify --regime short --backend cpu --seed 1..300 --partition 1/2"
                ),
                "{said}"
            );
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{said}");
        sleep(Duration::from_millis(100));
    }
}

#[rstest]
#[case("slurm")]
#[case("github-matrix")]
#[case("k8s-job")]
#[case("gnu-parallel")]
fn a_script_is_written_for_what_schedules_elsewhere(#[case] format: &str) {
    let home = folder();
    let arguments = ["plan", "--format", format, "--parts", "4", "--", "--seed", "1..9", "--method", "*o?"];
    let script = holdfast_in(home.path(), &arguments);
    assert_eq!(script.status.code(), Some(0), "{}", text(&script.stderr));
    let script = text(&script.stdout);
    for left in ["@PARTS@", "@LIST@", "@OPTIONS@", "@OUT@", "@REPORT@", "@RETRIES@"] {
        assert!(!script.contains(left), "{left}: {script}");
    }
    golden(&format!("plan-{format}"), &script);
    if script.starts_with("#!") && Path::new("/bin/bash").exists() {
        fs::write(home.path().join("job.sh"), &script).expect("written");
        let check =
            Command::new("/bin/bash").arg("-n").arg(home.path().join("job.sh")).status().expect("runs");
        assert!(check.success());
    }
}
