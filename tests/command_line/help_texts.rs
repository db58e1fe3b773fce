//! Promise: help teaches and errors help. Every text is held as a snapshot under `golden/help/`, none is wider than 100
//! columns, and what they suggest works.

use std::path::Path;
use std::process::{Command, Output};

use rstest::rstest;

use crate::support::binary::{command, holdfast, output, text};

pub fn golden(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => "../../golden/help",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, { insta::assert_snapshot!(name, text) });
}

fn narrow(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

const COMMANDS: [&str; 13] = [
    "verify",
    "sweep",
    "check",
    "diff",
    "compare",
    "merge",
    "plan",
    "truth",
    "list",
    "doctor",
    "completions",
    "bench",
    "golden",
];

#[test]
fn the_help_of_every_command_has_examples() {
    let mut all = vec![("holdfast", holdfast(&["--help"]))];
    all.extend(COMMANDS.map(|command| (command, holdfast(&[command, "--help"]))));
    for (command, output) in all {
        assert_eq!(output.status.code(), Some(0), "{command}");
        let help = text(&output.stdout);
        assert!(help.contains("Example"), "{command}: {help}");
        narrow(&help);
        golden(command, &help);
    }
}

/// Commands that the list above lacks would have no snapshot.
#[test]
fn every_command_that_help_lists_is_tested() {
    let help = text(&holdfast(&["--help"]).stdout);
    let commands = help.split("Commands:\n").nth(1).expect("a list").lines();
    let commands: Vec<&str> =
        commands.take_while(|l| !l.is_empty()).filter_map(|l| l.split_whitespace().next()).collect();
    let mut expected: Vec<&str> = COMMANDS.to_vec();
    expected.push("help");
    let sorted = |mut list: Vec<&str>| {
        list.sort_unstable();
        list.join(" ")
    };
    assert_eq!(sorted(commands), sorted(expected));
}

#[test]
fn errors_in_usage_say_what_was_meant() {
    let results = "Cargo.toml"; // no JSON
    let commands: [&[&str]; 66] = [
        &["verfy"],
        &["run.safetensors"],
        &["mine.cuh"],
        &["poly"],
        &["verify", "runs/my run.safetensors"],
        &["verify", "mine.cuh"],
        &["verify", "short"],
        &["verify", "ZOH,rk4"],
        &["verify", "--seed", "1-10"],
        &["verify", "--seed", "7,1..=10"],
        &["qqq"],
        &["help", "verfy"],
        &["--method", "foh"],
        &["--jobs", "0"],
        &["verify", "foh"],
        &["verify", "--sed", "3"],
        &["verify", "--seed"],
        &["verify", "--seed", "-1"],
        &["verify", "--seed", "1", "--seed", "2"],
        &["verify", "--seed", "99999999999999999999"],
        &["verify", "--json", ""],
        &["verify", "--method"],
        &["verify", "--regime"],
        &["verify", "--a-times-log2e"],
        &["verify", "--invariants-only", "--regime", "short"],
        &["verify", "--quiet=3"],
        &["verify", "--color", "sometimes"],
        &["verify", "--seed", "1..two"],
        &["verify", "--seed", "5..1"],
        &["verify", "--seed", "1..9999999"],
        &["verify", "--partition", "1/8"],
        &["verify", "--partition", "9/8", "--out", "parts"],
        &["verify", "--partition", "1/2", "--out", "parts", "--json", "r.json"],
        &["merge"],
        &["merge", "no-such-folder"],
        &["merge", results],
        &["plan"],
        &["plan", "--slurm", "--", "--sed", "3"],
        &["plan", "--format", "github-matrix", "--parts", "257"],
        &["check"],
        &["check", "--channels", "0", "run.safetensors"],
        &["bench", "--shape", "1,1,2000000000,256"],
        &["bench", "--shape", "1,1,1"],
        &["bench", "--peer", "cpu=Cargo.toml"],
        &["bench", "--peer", "a=Cargo.toml", "--peer", "a=Cargo.toml"],
        &["bench", "--peer", "a=no-such-file.so"],
        &["bench", "--peer", "a=Cargo.toml", "--pass", "backward", "--backend", "cpu"],
        &["bench", "--peer", "a=Cargo.toml", "--checks"],
        &["bench", "--judge", "--shape", "1,1,1,1", "--shape", "1,1,2,1"],
        &["truth", "foh"],
        &["completions", "tcsh"],
        &["verify", "--method", "zho"],
        &["verify", "--method", "9"],
        &["verify", "--regime", "shrot"],
        &["verify", "--regime", "qqq"],
        &["verify", "--weights", "complx"],
        &["verify", "--input", "f64"],
        &["verify", "--backend", "gpu"],
        &["verify", "--seed", "many"],
        &["verify", "--regime", "vim-tiny", "--weights", "complex"],
        &["verify", "--quiet", "--verbose"],
        &["truth", "foh-text", "--a", "1", "--delta", "1"],
        &["truth", "zoh", "--a", "one", "--delta", "1"],
        &["list", "regime"],
        &["compare", "no-such-file.json", "neither.json"],
        &["compare", results, results],
    ];
    let mut all = String::new();
    for args in commands {
        let output = holdfast(args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert!(error.starts_with("error: ") && error.contains(" (hint: "), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        all += &format!("$ holdfast {}\n{error}\n", args.join(" "));
    }
    golden("errors", &all);
}

#[test]
fn an_error_shows_nothing_that_a_terminal_would_obey() {
    for args in [["verify", "--method", "\u{1b}[31mzoh"], ["verify", "--\u{1b}[31mzoh", "foh"]] {
        let error = text(&holdfast(&args).stderr);
        assert!(error.contains('\u{fffd}') && !error.contains('\u{1b}'), "{error:?}");
    }
}

/// Of the lists only the machine's own answers (backends) differ from place to place.
#[test]
fn lists_have_every_name_and_are_narrow() {
    let index = text(&holdfast(&["list"]).stdout);
    assert!(index.lines().count() < 12, "{index}");
    narrow(&index);
    for part in ["methods", "regimes", "functions", "backends", "faults", "checks"] {
        let list = text(&holdfast(&["list", part]).stdout);
        narrow(&list);
        let count: usize =
            list.lines().filter_map(|line| line.split_once(' ')?.0.parse::<usize>().ok()).sum();
        assert!(index.contains(&format!("  {part:9}  {count} ")), "{part}: {count} in {index}");
        if ["methods", "regimes", "faults"].contains(&part) {
            golden(&format!("list-{part}"), &list);
        }
    }
    let backends = text(&holdfast(&["list", "backends"]).stdout);
    for says in ["auto", "cuda", "cpu ", "reference", "runs here"] {
        assert!(backends.contains(says), "{backends}");
    }
}

#[rstest]
#[case("bash", "complete -F _holdfast")]
#[case("zsh", "#compdef holdfast")]
#[case("fish", "complete -c holdfast")]
fn completions_know_commands_and_names(#[case] shell: &str, #[case] says: &str) {
    let output = holdfast(&["completions", shell]);
    let script = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    for says in [says, "compare", "highorder", "bf16", "seqlen-2049"] {
        assert!(script.contains(says), "{says} in the script for {shell}");
    }
    assert!(!script.contains("gpu-check"), "{shell}: what help does not list is not offered");
    if shell == "bash" && Path::new("/bin/bash").exists() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), &script).expect("written");
        let check = Command::new("/bin/bash").arg("-n").arg(file.path()).status().expect("runs");
        assert!(check.success());
    }
}

const SMALL: [&str; 7] = ["verify", "--regime", "l1", "--method", "zoh", "--backend", "cpu"];

fn verified(more: &[&str], no_color: Option<&str>) -> Output {
    let mut command = command();
    command.args(SMALL).args(more).envs(no_color.map(|value| ("NO_COLOR", value)));
    output(&mut command)
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let coloured = |output: Output| text(&output.stdout).contains('\u{1b}');
    assert!(!coloured(verified(&[], None)));
    assert!(!coloured(verified(&["--color", "never"], None)));
    assert!(coloured(verified(&["--color", "always"], None)));
    // What was asked for on the command line outranks the environment.
    assert!(coloured(verified(&["--color=always"], Some("1"))));
    let help = |when: &str| text(&holdfast(&["verify", "--help", "--color", when]).stdout);
    assert!(help("always").contains('\u{1b}') && !help("auto").contains('\u{1b}'));
}

#[test]
fn quiet_is_one_line_and_verbose_is_no_less_than_the_default() {
    let quiet = verified(&["--quiet"], None);
    assert_eq!(quiet.status.code(), Some(0));
    let quiet = text(&quiet.stdout);
    assert_eq!(quiet.lines().count(), 1, "{quiet}");
    assert!(quiet.contains(": PASS; "), "{quiet}");
    narrow(&quiet);
    assert!(text(&verified(&[], None).stdout).lines().count() > 10);
    // How long it took is another matter.
    let all = |options: &[&str]| {
        let said = text(&verified(options, None).stdout);
        said.rsplit_once(", in ").map(|(before, _)| before.to_owned())
    };
    assert!(all(&[]).is_some());
    assert_eq!(all(&["-v"]), all(&[]));
}
