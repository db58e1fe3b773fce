//! What commands that judge have in common: where the seed, the report and the machine output go, the progress bar,
//! and the way from results to text and exit status.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::show::Show;
use super::{CliError, FAILED, Outcome, PASSED};
use crate::report;
use crate::report::console::Detail;
use crate::results::{Results, Verdict};

/// Drawn once, and kept, so that two runs judge the same numbers.
pub const DEFAULT_SEED: u64 = 1;

// Not a group: commands that take these options have one of this name.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    /// Seed of everything that is drawn: random inputs, and the channels judged of a large recorded run
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// Directory for the report [default: reports/latest for an unfiltered run, otherwise none]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// File for the machine-readable results
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub json: Option<PathBuf>,
}

impl Default for Args {
    fn default() -> Self {
        Args { seed: DEFAULT_SEED, out: None, json: None }
    }
}

/// Whether report and machine output can be written, asked before a run of minutes and not after it.
///
/// # Errors
/// [`CliError::Report`] for a place that cannot be written to.
pub fn prepare(directory: Option<&Path>, json: Option<&Path>) -> Result<(), CliError> {
    directory.map_or(Ok(()), report::may_be_written)?;
    json.map_or(Ok(()), report::json::may_be_written)?;
    Ok(())
}

/// Writes report and machine output where they were asked for; the text for the terminal, with `note` at its end, and
/// the exit status.
///
/// # Errors
/// [`CliError::Report`] for what cannot be written.
pub fn finish(
    results: &Results,
    directory: Option<&Path>,
    json: Option<&Path>,
    note: &str,
    show: Show,
) -> Result<Outcome, CliError> {
    if let Some(directory) = directory {
        report::write(results, directory)?;
    }
    let mut text = report::console::render_detail(results, directory, show.colour, show.detail);
    if show.detail != Detail::Quiet {
        text.push_str(note);
    }
    if let Some(file) = json {
        report::json::write(results, file)?;
        if show.detail != Detail::Quiet {
            text.push_str(&format!("results: {}\n", file.display()));
        }
    }
    let status = if results.verdict() == Verdict::Pass { PASSED } else { FAILED };
    Ok(Outcome { text, status })
}

/// What ran, and why that.
pub fn backend_line(backend: &str, why: &str) -> String {
    report::text::wrap(&format!("backend `{backend}`: "), why, report::console::WIDTH) + "\n"
}

/// A progress bar on standard error, where a person looks, and only for work of more than a second.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: Once,
    quiet: bool,
}

impl Progress {
    pub fn new(units: usize, noun: &str, show: Show) -> Self {
        let bar = ProgressBar::with_draw_target(Some(units as u64), ProgressDrawTarget::hidden());
        let template = format!("{{bar:24}} {{pos}}/{{len}} {noun}, {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Progress { bar, started: Instant::now(), shown: Once::new(), quiet: show.detail == Detail::Quiet }
    }

    pub fn advance(&self) {
        if !self.quiet && self.started.elapsed() > Duration::from_secs(1) {
            // Draws nothing where standard error is no terminal.
            self.shown.call_once(|| self.bar.set_draw_target(ProgressDrawTarget::stderr()));
        }
        self.bar.inc(1);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
