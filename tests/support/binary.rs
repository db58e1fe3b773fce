//! The binary that cargo built, run as a user would.

use std::path::Path;
use std::process::{Command, Output};

/// Where tests keep what they compile, so that each of them finds what another one compiled.
pub const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");

/// The binary, without the variables that change what it does or shows.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
    command.env_remove("VIM_USE_CUDA_KERNEL").env_remove("NO_COLOR").env("COLUMNS", "100");
    command.env_remove("GITHUB_STEP_SUMMARY").env("HOLDFAST_CACHE_DIR", CACHE).env("SOURCE_DATE_EPOCH", "0");
    command
}

/// Runs it with these arguments, in the repository's root.
pub fn holdfast(arguments: &[&str]) -> Output {
    holdfast_in(Path::new(env!("CARGO_MANIFEST_DIR")), arguments)
}

/// Runs it with these arguments, in this folder.
pub fn holdfast_in(folder: &Path, arguments: &[&str]) -> Output {
    output(command().current_dir(folder).args(arguments))
}

/// What a command that is ready wrote, and how it ended.
pub fn output(command: &mut Command) -> Output {
    command.output().expect("the binary that cargo built runs")
}

/// What it wrote, as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}
