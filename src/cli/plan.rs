//! `holdfast plan`: scripts that run `verify`, `check` or `sweep` in parts, for what schedules work elsewhere, and how far such a run is.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::check::quoted;
use super::show::Show;
use super::{CliError, FAILED, Outcome, PASSED, names, parse};
use crate::parts::{self, PartStatus, State};
use crate::report::console::Detail;
use crate::report::text;

named! {
    /// What a script is for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Format: "format" {
        Slurm => "slurm",
        GithubMatrix => "github-matrix",
        K8sJob => "k8s-job",
        GnuParallel => "gnu-parallel",
    }
}

impl Format {
    fn template(self) -> &'static str {
        match self {
            Format::Slurm => include_str!("plan/slurm.sh"),
            Format::GithubMatrix => include_str!("plan/github.yml"),
            Format::K8sJob => include_str!("plan/k8s.yaml"),
            Format::GnuParallel => include_str!("plan/parallel.sh"),
        }
    }
}

/// Jobs of one matrix, at most (GitHub's documentation).
const GITHUB_JOBS: usize = 256;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    holdfast plan --slurm --parts 8 -- --seed 1..200 > job.sh   then, on the cluster: bash job.sh\n  \
    holdfast plan --format gnu-parallel --parts 4 > run.sh      everything, on a few machines\n  \
    holdfast plan --slurm -- sweep --exhaustive > job.sh        `sweep` in place of `verify`\n  \
    holdfast plan --slurm -- check runs/*.safetensors > job.sh  many recorded runs\n  \
    holdfast plan --status parts                                how far it is\n\n\
    What clusters differ in (queues, modules, paths, architecture) the scripts take from the environment; \
    each says at its beginning what it reads.\n\n\
    Exit status: 0 the script is written, or all parts are done; 1 some part is not done; 2 bad input or usage.")]
pub struct Args {
    /// What the script is for
    #[arg(long, value_name = "FORMAT", value_parser = names::plan_format(), required_unless_present_any = ["slurm", "status"])]
    pub format: Option<Format>,
    /// As --format slurm
    #[arg(long, conflicts_with = "format")]
    pub slurm: bool,
    /// In how many parts
    #[arg(long, value_name = "M", default_value = "8")]
    pub parts: NonZeroUsize,
    /// Folder for the parts
    #[arg(long, value_name = "DIR", default_value = "parts", value_hint = clap::ValueHint::DirPath)]
    pub out: PathBuf,
    /// Folder for the merged report
    #[arg(long, value_name = "DIR", default_value = "report", value_hint = clap::ValueHint::DirPath)]
    pub report: PathBuf,
    /// How often a part is tried again that ended without a verdict
    #[arg(long, value_name = "N", default_value = "3")]
    pub retries: u32,
    /// Show how far the parts in this folder are
    #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "slurm", "parts", "out", "report", "retries", "options"])]
    pub status: Option<PathBuf>,
    /// Options of `holdfast verify`; or `check` with its files and options, or `sweep` with its
    #[arg(last = true, value_name = "OPTIONS")]
    pub options: Vec<OsString>,
}

/// More parts than something can run.
#[derive(Debug, thiserror::Error)]
#[error("--parts is {found}, expected at most {most} for {format} (hint: larger parts, or another format)")]
pub struct TooMany {
    found: usize,
    most: usize,
    format: Format,
}

pub fn run(args: &Args, show: Show) -> Result<Outcome, CliError> {
    if let Some(folder) = &args.status {
        return status(folder, show);
    }
    let format = args.format.unwrap_or(Format::Slurm);
    let (count, most) =
        (args.parts.get(), if format == Format::GithubMatrix { GITHUB_JOBS } else { parts::MOST });
    if count > most {
        return Err(TooMany { found: count, most, format }.into());
    }
    // A mistake shows now, and not in every element of a queue.
    let (command, options) = match args.options.split_first() {
        Some((first, rest)) if first == "sweep" => ("sweep", rest),
        Some((first, rest)) if first == "check" => ("check", rest),
        _ => ("verify", &args.options[..]),
    };
    let whole = ["holdfast".into(), command.into()].into_iter().chain(options.iter().cloned());
    let part = ["--partition".into(), format!("1/{count}").into(), "--out".into(), args.out.clone().into()];
    parse(&whole.chain(part).collect::<Vec<OsString>>())?;
    let words = options.iter().map(|word| match format {
        // An action takes words and patterns as they are.
        Format::GithubMatrix => word.to_string_lossy().into_owned(),
        _ => quoted_word(word),
    });
    let options: String = words.map(|word| word + " ").collect();
    let list: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
    let text = format
        .template()
        .replace("@COMMAND@", command)
        .replace("@PARTS@", &count.to_string())
        .replace("@LIST@", &list.join(", "))
        .replace("@RETRIES@", &args.retries.to_string())
        .replace("@OUT@", &quoted(&args.out))
        .replace("@REPORT@", &quoted(&args.report))
        .replace("@OPTIONS@", &options);
    Ok(Outcome::new(text, PASSED))
}

/// A word as a shell takes it.
fn quoted_word(word: &OsString) -> String {
    let text = word.to_string_lossy();
    match text.strip_prefix("--") {
        Some(_) if text.chars().all(|c| c.is_alphanumeric() || "-=./_,:".contains(c)) => text.into_owned(),
        _ => quoted(Path::new(word)),
    }
}

fn status(folder: &Path, show: Show) -> Result<Outcome, CliError> {
    let parts = parts::status(folder)?;
    let count = |state: State| parts.iter().filter(|part| part.state == state).count();
    let done = count(State::Done);
    let left = match parts.iter().filter_map(|part| part.left).max() {
        Some(left) => format!(", about {} left for those that are running", text::duration(left)),
        None => String::new(),
    };
    let sum = |of: fn(&PartStatus) -> u64| parts.iter().map(of).sum::<u64>();
    let (cost_done, cost) = (sum(|part| part.cost_done), sum(|part| part.cost).max(1));
    let last = format!(
        "{done}/{} parts done, {} running, {} failed, {} waiting; {:.0} % of the work{left}\n",
        parts.len(),
        count(State::Running),
        count(State::Failed),
        count(State::Waiting),
        100.0 * cost_done as f64 / cost as f64
    );
    let lines = parts.iter().filter(|part| show.detail == Detail::Verbose || part.state != State::Done);
    let table = match show.detail {
        Detail::Quiet => String::new(),
        _ => lines.map(line).collect(),
    };
    Ok(Outcome::new(table + &last, if done == parts.len() { PASSED } else { FAILED }))
}

fn line(part: &PartStatus) -> String {
    let state = match part.state {
        State::Waiting => "waiting",
        State::Running => "running",
        State::Failed => "failed",
        State::Done => "done",
    };
    let left = |left: Duration| format!("about {} left", text::duration(left));
    let more = match part.state {
        State::Failed => format!("continue: {}", part.command),
        _ => part.left.map(left).unwrap_or_default(),
    };
    let line =
        format!("{:>9}  {state:7}  {:>6}/{} units  {more}", part.part.to_string(), part.done, part.all);
    line.trim_end().to_owned() + "\n"
}
