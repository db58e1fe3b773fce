//! Promise: which path runs follows spec.md §5, is always said, and a path that cannot run is an error with status 3.

use std::process::Output;

use holdfast::kernel::ReferenceBackend;
use holdfast::kernel::cuda::{gpu, nvrtc};
use holdfast::kernel::select::{Choice, SelectError, select_with};
use holdfast::promise::Tier;
use rstest::rstest;

use crate::support::binary::{command, output};

const THERE: bool = true;
const MISSING: bool = false;

/// `Ok` with the backend's name, or the error. The reference stands for CUDA where it is there.
fn selected(choice: Choice, variable: Option<&str>, cuda: bool) -> Result<(String, String), SelectError> {
    let mut asked = false;
    let selection = select_with(choice, Tier::Accurate, variable, || {
        asked = true;
        if cuda {
            Ok(Box::new(ReferenceBackend))
        } else {
            Err("the library libcuda was not found".to_owned())
        }
    })?;
    let name = if asked && cuda { "cuda" } else { selection.backend.name() };
    Ok((name.to_owned(), selection.why))
}

#[rstest]
#[case::argument_wins_over_0(Choice::Cuda, Some("0"), THERE, "cuda", "asked for by --backend")]
#[case::argument_wins_over_1(Choice::Cpu, Some("1"), THERE, "cpu", "asked for by --backend")]
#[case::argument_wins_over_nonsense(
    Choice::Reference,
    Some("x"),
    MISSING,
    "reference",
    "asked for by --backend"
)]
#[case::variable_1(Choice::Auto, Some("1"), THERE, "cuda", "VIM_USE_CUDA_KERNEL=1")]
#[case::variable_0(Choice::Auto, Some("0"), THERE, "reference", "VIM_USE_CUDA_KERNEL=0")]
#[case::automatic(Choice::Auto, None, THERE, "cuda", "selected automatically")]
#[case::automatic_without(Choice::Auto, None, MISSING, "cpu", "no CUDA, the library libcuda was not found")]
fn a_path_is_selected_and_why_is_said(
    #[case] choice: Choice,
    #[case] variable: Option<&str>,
    #[case] cuda: bool,
    #[case] name: &str,
    #[case] why: &str,
) {
    let (found, said) = selected(choice, variable, cuda).expect("a path");
    assert_eq!(found, name);
    assert!(said.contains(why), "{said}");
}

#[rstest]
#[case::by_argument(Choice::Cuda, None)]
#[case::by_variable(Choice::Auto, Some("1"))]
fn forced_cuda_that_cannot_run_is_an_error_that_names_what_is_missing(
    #[case] choice: Choice,
    #[case] variable: Option<&str>,
) {
    let error = selected(choice, variable, MISSING).expect_err("no CUDA");
    assert!(error.to_string().contains("libcuda was not found"), "{error}");
}

#[test]
fn a_variable_that_is_neither_is_an_error() {
    assert_eq!(selected(Choice::Auto, Some("yes"), THERE), Err(SelectError::Variable("yes".to_owned())));
}

/// Runs the binary where no CUDA library can be found, unless the system's own loader finds one.
fn without_a_device(args: &[&str], variable: Option<&str>) -> Output {
    let mut command = command();
    command.args(args).env("CUDA_VISIBLE_DEVICES", "");
    if let Some(value) = variable {
        command.env("VIM_USE_CUDA_KERNEL", value);
    }
    output(&mut command)
}

/// Invisible devices are missing ones: this holds on every machine, with a GPU or without.
#[rstest]
#[case::by_argument(&["verify", "--regime", "l1", "--backend", "cuda"], None)]
#[case::by_variable(&["verify", "--regime", "l1"], Some("1"))]
#[case::of_a_sweep(&["sweep", "exp", "--backend", "cuda"], None)]
fn without_a_device_the_binary_exits_with_3_and_says_why(
    #[case] args: &[&str],
    #[case] variable: Option<&str>,
) {
    let output = without_a_device(args, variable);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{text}");
    let missing = match (gpu::driver_present(), nvrtc::version()) {
        (Err(_), _) => "libcuda",
        (_, Err(_)) => "libnvrtc",
        _ => "no CUDA device",
    };
    assert!(text.starts_with("error: ") && text.contains(missing) && text.contains("hint: "), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn without_a_device_the_default_runs_on_the_cpu_and_says_so() {
    let output = without_a_device(&["verify", "--regime", "l1", "--method", "zoh"], None);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("backend `cpu`: selected automatically: no CUDA, "), "{text}");
}

#[test]
fn doctor_names_every_part_and_never_fails() {
    let output = without_a_device(&["doctor"], None);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in
        ["--backend cpu", "reference", "driver", "device", "NVRTC", "architecture", "cache", "--backend cuda"]
    {
        assert!(text.lines().any(|line| line.starts_with(part)), "{part} in {text}");
    }
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}

#[test]
fn a_wrong_architecture_is_named_by_doctor() {
    let output = output(command().arg("doctor").env("HOLDFAST_CUDA_ARCH", "hopper"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("`hopper` is no CUDA architecture, expected one such as sm_90"), "{text}");
}
