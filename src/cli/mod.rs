//! The command line: one module for each subcommand. Each returns what is to be printed and the exit status;
//! [`program()`] prints, and `main` exits.

pub mod bench;
pub mod check;
pub mod compare;
mod compare_outputs;
pub mod completions;
pub mod diff;
pub mod doctor;
mod github;
pub mod golden;
pub mod gpu_check;
pub mod interrupt;
pub mod list;
pub mod merge;
pub mod names;
pub mod output;
mod partition;
pub mod plan;
mod planted;
mod program;
mod rerun;
mod seeds;
pub mod show;
pub mod sweep;
pub mod truth;
mod truth_files;
mod usage;
pub mod verify;
pub mod worker;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::kernel::foreign::HeaderError;
use crate::kernel::select::SelectError;

pub use program::program;

/// Judges discretization kernels of state-space models against certified ground truth.
#[derive(Debug, Parser)]
#[command(
    name = "holdfast",
    version,
    about,
    max_term_width = 100,
    after_help = "Examples:\n  \
                  holdfast                              everything, report into reports/latest/\n  \
                  holdfast verify --method foh          one method\n  \
                  holdfast check run.safetensors        what another framework recorded\n  \
                  holdfast compare old.json new.json    what changed between two runs\n  \
                  holdfast list regimes                 the hard inputs, and why they are hard\n\n\
                  With no command: verify every regime on the best backend, report into reports/latest/;\n\
                  and the forward kernels' fast tier, report into reports/latest-fast/.\n\n\
                  Exit status: 0 all verdicts pass; 1 some verdict fails or could not be measured; \
                  2 bad input or usage; 3 the requested backend cannot run here; 130 interrupted."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub show: show::Args,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a backend on hard inputs and judge every output (the default command)
    Verify(verify::Args),
    /// Judge recorded runs of any framework
    Check(check::Args),
    /// Compare two revisions of a kernel header with the specification
    Diff(diff::Args),
    /// What changed in verdicts and errors between two runs
    Compare(compare::Args),
    /// Judge the functions of one float that the kernels are made of, over all of f32
    Sweep(sweep::Args),
    /// Put the parts of a divided run together: the report of the undivided one
    Merge(merge::Args),
    /// Write a script that runs `verify`, `check` or `sweep` in parts, or show how far it is
    Plan(plan::Args),
    /// Print one certified value, or discretize a dense system from a file
    Truth(truth::Args),
    /// How fast kernels are, against what the device can do and against each other
    Bench(bench::Args),
    /// The methods, regimes, backends and fault models that there are
    List(list::Args),
    /// What this machine can run, and why not the rest
    #[command(after_help = "Example:\n  \
        holdfast doctor      each part that a backend needs, whether it is there, and what it is for\n\n\
        Exit status 0 whatever was found: a missing GPU is no error.")]
    Doctor,
    /// Print a script that teaches a shell to complete this command line
    Completions(completions::Args),
    /// Run jobs from standard input on the GPU; the harness starts it by itself
    #[command(hide = true)]
    Worker(worker::Args),
    /// Record a GPU's outputs, which the tests of machines without one compare with
    Golden(golden::Args),
    /// Check what must hold on a real GPU
    #[command(hide = true)]
    GpuCheck(gpu_check::Args),
}

/// What a command comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// For standard output.
    pub text: String,
    /// For standard error: the report for people, where standard output has that for machines.
    pub aside: String,
    pub status: u8,
}

impl Outcome {
    pub fn new(text: String, status: u8) -> Self {
        Outcome { text, status, ..Outcome::default() }
    }

    /// What this and the next run come to together: the worse status, and one text after the other.
    pub fn and(self, next: Outcome) -> Self {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        Outcome {
            text: self.text + gap + &next.text,
            aside: self.aside + &next.aside,
            status: self.status.max(next.status),
        }
    }

    /// With machine output in the place of the text, where that is wanted.
    fn with_json(self, json: Option<String>) -> Self {
        match json {
            Some(json) => Outcome { aside: self.text + &self.aside, text: json, ..self },
            None => self,
        }
    }
}

/// All verdicts pass.
pub const PASSED: u8 = 0;
/// Some verdict fails, or could not be measured.
pub const FAILED: u8 = 1;

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error(transparent)]
    Usage(#[from] usage::UsageError),
    #[error(transparent)]
    Backend(#[from] SelectError),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error("a header is judged in f32, found --input {0} (hint: leave --input out)")]
    HeaderInput(crate::problem::InputType),
    #[error(transparent)]
    Check(#[from] crate::check::files::FileError),
    #[error(transparent)]
    Bench(#[from] bench::Error),
    #[error(transparent)]
    Compare(#[from] compare::Error),
    #[error(transparent)]
    Truth(#[from] truth::Error),
    #[error(transparent)]
    Golden(#[from] golden::Error),
    #[error(transparent)]
    Worker(#[from] worker::Error),
    #[error("no case fits {0} (hint: some regimes have real or complex weights only)")]
    NothingToRun(String),
    #[error(
        "--tier fast has no gradients, expected --pass forward (hint: gradients have one tier; leave --tier out for them)"
    )]
    NoTierOfGradients,
    #[error(
        "{0} is for one tier, expected it without --tier or with one name (hint: a command for each tier)"
    )]
    OneTierAlone(&'static str),
    #[error(transparent)]
    BadPlace(#[from] output::BadPlace),
    #[error(transparent)]
    NoFolder(#[from] output::NoFolder),
    #[error(transparent)]
    Planted(#[from] planted::Error),
    #[error(transparent)]
    TooMany(#[from] plan::TooMany),
    #[error(transparent)]
    Part(#[from] crate::parts::PartError),
    #[error(transparent)]
    Sweep(#[from] crate::functions::SweepError),
    #[error(transparent)]
    Unnamed(#[from] sweep::Unnamed),
    #[error(transparent)]
    Rerun(#[from] rerun::Error),
    #[error(transparent)]
    Report(#[from] crate::report::ReportError),
}

impl CliError {
    /// The exit status of the command-line contract.
    pub fn status(&self) -> u8 {
        match self {
            CliError::Backend(error) if error.is_missing() => 3,
            CliError::Check(error) if error.source.is_missing() => 3,
            CliError::Sweep(_) => 3,
            CliError::Bench(bench::Error::NoWorker(_)) => 3,
            _ => 2,
        }
    }
}

/// Parses a command line, whose first word is the program's name; help prints itself and ends the process.
///
/// # Errors
/// [`CliError::Usage`] for a command line that makes no sense.
pub fn parse(arguments: &[OsString]) -> Result<Cli, CliError> {
    let command = Cli::command().color(show::colour_of(arguments));
    let parsed = command.try_get_matches_from(arguments).and_then(|m| Cli::from_arg_matches(&m));
    parsed.map_err(|error| usage::UsageError::explain(&error, arguments).into())
}

/// Carries out a parsed command line.
pub fn run(cli: Cli) -> Result<Outcome, CliError> {
    let show = cli.show.show();
    match cli.command {
        None => verify::run(&verify::Args::main_job(), show),
        Some(Command::Verify(args)) => verify::run(&args, show),
        Some(Command::Check(args)) => check::run(&args, show),
        Some(Command::Diff(args)) => diff::run(&args, show),
        Some(Command::Compare(args)) => compare::run(&args, show),
        Some(Command::Sweep(args)) => sweep::run(&args, show),
        Some(Command::Merge(args)) => merge::run(&args, show),
        Some(Command::Plan(args)) => plan::run(&args, show),
        Some(Command::List(args)) => Ok(list::run(&args)),
        Some(Command::Bench(args)) => bench::run(&args, show),
        Some(Command::Completions(args)) => Ok(completions::run(&args)),
        Some(Command::Truth(args)) => {
            let mut text = Vec::new();
            truth::run(&args, &mut text)?;
            Ok(Outcome::new(String::from_utf8_lossy(&text).into_owned(), PASSED))
        }
        Some(Command::Doctor) => Ok(doctor::run()),
        Some(Command::Golden(args)) => golden::run(&args),
        Some(Command::GpuCheck(args)) => gpu_check::run(&args),
        Some(Command::Worker(args)) => worker::run(&args).map_err(CliError::from),
    }
}
