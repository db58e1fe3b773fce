//! Promise: an interrupt leaves no half-written report. The signal is sent to the real binary while it writes.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rstest::rstest;

use crate::support::binary;

fn verify(out: &Path, json: Option<&Path>) -> Child {
    let mut command = binary::command();
    command.args(["verify", "--regime", "l1", "--method", "zoh", "--backend", "cpu", "--out"]).arg(out);
    if let Some(file) = json {
        command.arg("--json").arg(file);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("runs")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Sends the signal as soon as `ready`; how the process ended.
fn interrupted(mut child: Child, signal: &str, ready: impl Fn() -> bool) -> ExitStatus {
    let start = Instant::now();
    while !ready() && child.try_wait().expect("a child").is_none() {
        assert!(start.elapsed() < Duration::from_secs(60), "it never began to write");
        sleep(Duration::from_micros(200));
    }
    let kill = Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
    kill.expect("kill is there");
    child.wait().expect("it ends")
}

#[rstest]
fn an_interrupt_while_the_report_is_written_leaves_the_old_one_alone(
    #[values("-INT", "-TERM")] signal: &str,
) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let out = home.path().join("report");
    // The second one keeps the first one's results beside its own, as every later one does.
    for _ in 0..2 {
        assert!(verify(&out, None).wait().expect("it ends").success());
    }
    let parts = names(&out);
    let written = || fs::metadata(out.join("index.html")).and_then(|m| m.modified()).expect("a report");
    let writing = || names(home.path()).iter().any(|name| name.starts_with(".holdfast-report-"));
    for _ in 0..20 {
        let before = written();
        let status = interrupted(verify(&out, None), signal, writing);
        // Whenever it came, there is one whole report and nothing beside it.
        assert_eq!(names(home.path()), ["report"], "after {status}");
        assert_eq!(names(&out), parts, "after {status}");
        if status.code() == Some(130) && written() == before {
            return;
        }
        // Too late: the new report had already taken its place.
    }
    panic!("no signal came while a report was half-written");
}

#[test]
fn an_interrupt_while_cases_run_writes_nothing() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let mut command = binary::command();
    command.args(["verify", "--backend", "cpu", "--out"]).arg(home.path().join("report"));
    command.arg("--json").arg(home.path().join("results.json"));
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("runs");
    let start = Instant::now();
    // The whole run takes many times longer.
    let status = interrupted(child, "-INT", || start.elapsed() > Duration::from_millis(500));
    assert_eq!(status.code(), Some(130));
    assert_eq!(names(home.path()), Vec::<String>::new());
    // The processes in which kernels run have the command line of the one that they are copies of.
    await_no_process(home.path());
}

/// A header that takes a compiler many seconds.
const SLOW: &str = r#"
constexpr unsigned long sum(unsigned long n) { unsigned long s = 0; for (unsigned long i = 0; i < 200000; ++i) s += i * n; return s; }
template <int N> struct Sums { static constexpr unsigned long value = sum(N) + Sums<N - 1>::value; };
template <> struct Sums<0> { static constexpr unsigned long value = 0; };
static volatile unsigned long slow = Sums<800>::value;
float2 compute_discretization();
"#;

/// The command lines of all processes that mention the folder.
fn processes(folder: &Path) -> Vec<String> {
    let listed = Command::new("ps").args(["-A", "-ww", "-o", "args="]).output().expect("ps is there");
    let lines = String::from_utf8_lossy(&listed.stdout).into_owned();
    let of_folder = |line: &&str| line.contains(&*folder.to_string_lossy());
    lines.lines().filter(of_folder).map(str::to_owned).collect()
}

/// A killed process takes a moment to go. A compiler left alone would run for many seconds; a worker asks now and then whether
/// the harness is still there, and would end by itself.
fn await_no_process(folder: &Path) {
    let start = Instant::now();
    while !processes(folder).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(3), "still running: {:?}", processes(folder));
        sleep(Duration::from_millis(20));
    }
}

/// A compiler's driver, the compiler proper that it starts, or the program that comes of it: each must end with the
/// harness, and what it was compiled in must go.
#[rstest]
#[case::compiling(true, "-INT")]
#[case::compiling(true, "-TERM")]
#[case::running(false, "-INT")]
#[case::running(false, "-TERM")]
fn an_interrupt_ends_what_a_header_started_and_removes_what_it_was_compiled_in(
    #[case] compiling: bool,
    #[case] signal: &str,
) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let folder = home.path().join("temporary");
    fs::create_dir(&folder).expect("writable");
    let slow = home.path().join("slow.cuh");
    fs::write(&slow, SLOW).expect("writable");
    let hangs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/headers/hang.cuh"));
    let mut command = binary::command();
    command.args(["verify", "--backend", "cpu", "--method", "rk4", "--header"]);
    command.arg(if compiling { &slow } else { hangs });
    let child = command.env("TMPDIR", &folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let started = || {
        // The compiler proper (of GCC `cc1plus`, of Clang `-cc1`), or a program in the folder.
        let program = folder.to_string_lossy();
        let wanted =
            |line: &String| if compiling { line.contains("cc1") } else { line.starts_with(&*program) };
        let found = processes(&folder).iter().any(wanted);
        if found {
            // By then it has read its file, or begun its first case.
            sleep(Duration::from_millis(500));
        }
        found
    };
    let status = interrupted(child.expect("runs"), signal, started);
    assert_eq!(status.code(), Some(130));
    assert_eq!(names(&folder), Vec::<String>::new());
    await_no_process(&folder);
}
