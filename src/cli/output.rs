//! What commands that judge have in common: where the report and the machine output go, the progress bar,
//! and the way from results to text and exit status.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::show::Show;
use super::verify::DEFAULT_REPORT;
use super::{CliError, FAILED, Outcome, PASSED, github};
use crate::judge::diagnose::{Budget, Searches};
use crate::parts::Part;
use crate::report;
use crate::report::ReportError;
use crate::report::console::{Detail, View};
use crate::results::{Results, Verdict, date};
use crate::tensor_file::shown;

/// Drawn once, and kept, so that two runs judge the same numbers.
pub const DEFAULT_SEED: u64 = 1;

// Not a group: commands that take these options have one of this name.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
pub struct Args {
    /// Directory for the report [default: reports/latest for an unfiltered run, otherwise none]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// File for the machine-readable results; `-` for standard output, with the text on standard error
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// File for the verdicts as JUnit's XML, which services that run tests show
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub junit: Option<PathBuf>,
    /// File for the results as a table in Parquet, a row for each judged tensor, which DuckDB, Polars and Spark read
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub parquet: Option<PathBuf>,
}

/// Standard output, as a file's name.
const STANDARD_OUTPUT: &str = "-";

/// Two outputs have one place, or a place that one of them cannot have.
#[derive(Debug, thiserror::Error)]
#[error("{option} is `{}`, expected {expected} (hint: choose another place)", shown(place))]
pub struct BadPlace {
    option: &'static str,
    place: String,
    expected: &'static str,
}

/// The folder of a file or report is not there: it is not made, since its name may be mistyped.
#[derive(Debug, thiserror::Error)]
#[error(
    "{option} is `{}`, expected a place in a folder that exists (hint: mkdir -p '{}')",
    shown(place),
    shown(folder)
)]
pub struct NoFolder {
    option: &'static str,
    place: String,
    folder: String,
}

/// `--diagnosis`, where another than the usual one was asked for.
pub fn diagnosis_option(diagnosis: Budget) -> Option<String> {
    (diagnosis != Budget::USUAL).then(|| format!("--diagnosis {diagnosis}"))
}

/// Whether a file's name stands for standard output.
pub fn is_standard_output(file: &Path) -> bool {
    file == Path::new(STANDARD_OUTPUT)
}

fn in_a_folder(option: &'static str, place: &Path) -> Result<(), NoFolder> {
    match place.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        Some(folder) => {
            let text = |path: &Path| path.to_string_lossy().into_owned();
            Err(NoFolder { option, place: text(place), folder: text(folder) })
        }
        None => Ok(()),
    }
}

/// Whether all that is to be written can be, asked before a run of minutes and not after it. `files` are named by their
/// options.
///
/// # Errors
/// [`CliError`] for a place that cannot be written to, or whose folder is not there.
pub fn prepare(directory: Option<&Path>, files: &[(&'static str, Option<&Path>)]) -> Result<(), CliError> {
    // The default one is made, with the folder that it is in.
    let is_default = |directory: &Path| directory.parent() == Path::new(DEFAULT_REPORT).parent();
    let out = directory.filter(|directory| !is_default(directory));
    for (option, place) in [("--out", out)].iter().chain(files) {
        let Some(place) = place.filter(|place| !is_standard_output(place)) else { continue };
        in_a_folder(option, place)?;
    }
    directory.map_or(Ok(()), report::may_be_written)?;
    let mut written = files.iter().filter_map(|(_, file)| file.filter(|file| !is_standard_output(file)));
    written.try_for_each(report::json::may_be_written)?;
    Ok(())
}

impl Args {
    /// The same places for something beside what is meant for them, by its name: `results.json` becomes `results-NAME.json`, and
    /// the report's directory `latest` `latest-NAME`.
    pub fn named_after(&self, name: &str, directory: Option<&Path>) -> Self {
        let beside = |place: &Path| {
            let mut file = place.file_stem().unwrap_or_default().to_owned();
            file.push(format!("-{name}"));
            if let Some(extension) = place.extension() {
                file.push(".");
                file.push(extension);
            }
            place.with_file_name(file)
        };
        // A directory has no extension, whatever its name.
        let folder = |place: &Path| {
            let mut folder = place.file_name().unwrap_or_default().to_owned();
            folder.push(format!("-{name}"));
            place.with_file_name(folder)
        };
        Args {
            out: directory.map(folder),
            json: self.json.as_deref().map(beside),
            junit: self.junit.as_deref().map(beside),
            parquet: self.parquet.as_deref().map(beside),
        }
    }

    /// [`prepare`], for these options. Of a part: whether its files can be put into the folder, which need not be there yet, but
    /// the one that it is in.
    pub fn prepare(&self, directory: Option<&Path>, part: Option<Part>) -> Result<(), CliError> {
        if let (Some(_), Some(folder)) = (part, &self.out) {
            in_a_folder("--out", folder)?;
            return Ok(report::may_hold_files(folder)?);
        }
        let bad = |option, place: &Path, expected| {
            Err(BadPlace { option, place: place.to_string_lossy().into_owned(), expected }.into())
        };
        if self.parquet.is_some() && cfg!(not(feature = "parquet")) {
            return Err(ReportError::NoParquet.into());
        }
        let files = [
            ("--json", self.json.as_deref()),
            ("--junit", self.junit.as_deref()),
            ("--parquet", self.parquet.as_deref()),
        ];
        for (at, (option, file)) in files.into_iter().enumerate() {
            let Some(file) = file else { continue };
            let taken = files[..at].iter().any(|(_, other)| *other == Some(file));
            if taken || (option != "--json" && is_standard_output(file)) {
                return bad(option, file, "a file of its own");
            }
            if directory.is_some_and(|directory| file.starts_with(directory)) {
                return bad(
                    option,
                    file,
                    "a place outside the report's folder, which is replaced as a whole",
                );
            }
        }
        prepare(directory, &files)
    }
}

/// Writes machine output into its file. What is for standard output comes back; for all else the line that says where it is.
pub fn put_json(
    file: Option<&Path>,
    text: impl FnOnce() -> Result<String, ReportError>,
) -> Result<(Option<String>, String), CliError> {
    match file {
        None => Ok((None, String::new())),
        Some(file) if is_standard_output(file) => Ok((Some(text()?), String::new())),
        Some(file) => {
            report::json::put(file, text()?)?;
            Ok((None, format!("results: {}\n", file.display())))
        }
    }
}

/// Writes a report into a folder.
pub type WriteReport = fn(&Results, &Path) -> Result<report::WrittenReport, ReportError>;

/// Writes all that was asked for. What is for standard output comes back, and the lines that say where the rest is.
fn put(
    results: &Results,
    (args, directory): (&Args, Option<&Path>),
    write: WriteReport,
) -> Result<(Option<String>, String), CliError> {
    if let Some(directory) = directory {
        write(results, directory)?;
    }
    let json = put_json(args.json.as_deref(), || report::json::to_string(results))?;
    if let Some(file) = &args.junit {
        report::json::put(file, report::junit::to_string(results)?)?;
    }
    #[cfg(feature = "parquet")]
    if let Some(file) = &args.parquet {
        report::json::put(file, report::parquet::to_bytes(results)?)?;
    }
    Ok(json)
}

/// Has failing cases explained, so many, after their verdicts are said and stand in all files. What writes these comes back.
pub fn explained<E: Into<CliError>>(
    results: &mut Results,
    places: (&Args, Option<&Path>),
    (diagnosis, failures): (Budget, usize),
    show: Show,
    explain: impl FnOnce(&mut Results, Searches, &(dyn Fn() + Sync)) -> Result<(), E>,
) -> Result<WriteReport, CliError> {
    if failures == 0 || diagnosis == Budget::Off {
        return Ok(report::write);
    }
    put(results, places, report::write)?;
    let searches = diagnosis.begin();
    let looking = Looking::new(failures, searches, show);
    explain(results, searches, &|| looking.advance()).map_err(|error| -> CliError { error.into() })?;
    looking.bar.finish_and_clear();
    Ok(report::write_again)
}

/// The time that is told in place of the clock's, in seconds since 1970: <https://reproducible-builds.org/specs/source-date-epoch/>.
const SOURCE_DATE: &str = "SOURCE_DATE_EPOCH";

/// Says when the run began and how long it took, which alone differs from one run to the next, and of which sources it is.
/// Where the environment says a time, that is told, and no duration.
pub fn stamp(results: &mut Results, took: Option<Duration>) {
    let said = std::env::var(SOURCE_DATE).ok().and_then(|seconds| seconds.parse().ok());
    results.took = took.filter(|_| said.is_none()).map(|took| took.as_secs_f64());
    if results.created.is_empty() {
        results.created = said.map_or_else(|| date::before(took.unwrap_or_default()), date::text);
    }
    env!("HOLDFAST_REVISION").clone_into(&mut results.revision);
}

/// Writes all that was asked for; what the command comes to, with `notes` before its last line.
pub fn finish(
    results: &Results,
    args: &Args,
    directory: Option<&Path>,
    notes: &str,
    took: Duration,
    show: Show,
) -> Result<Outcome, CliError> {
    finish_by(report::write, results, (args, directory), notes, took, show)
}

/// [`finish`], where something else writes the report.
pub fn finish_by(
    write: WriteReport,
    results: &Results,
    (args, directory): (&Args, Option<&Path>),
    notes: &str,
    took: Duration,
    show: Show,
) -> Result<Outcome, CliError> {
    let (json, written) = put(results, (args, directory), write)?;
    let notes = notes.to_owned() + &written;
    let Show { colour, detail } = show;
    let view = View { report: directory, notes: &notes, took: Some(took), colour, detail };
    let text = report::console::render_view(results, view);
    let status = if results.verdict() == Verdict::Pass { PASSED } else { FAILED };
    let aside = github::tell(results, directory);
    Ok(Outcome { text, aside, status }.with_json(json))
}

/// What ran, and why that.
pub fn backend_line(backend: &str, why: &str) -> String {
    report::text::wrap(&format!("backend `{backend}`: "), why, report::console::width()) + "\n"
}

/// Work of less than this needs no progress bar, nor, where standard error is no terminal, lines in the log.
const BAR_AFTER: Duration = Duration::from_secs(1);
const LINES_AFTER: Duration = Duration::from_secs(10);

/// How far the work is, on standard error: a bar where a person looks, otherwise a line every ten seconds.
pub struct Progress {
    bar: ProgressBar,
    noun: &'static str,
    started: Instant,
    shown: Once,
    /// When the next line is due; none where there are none.
    next_line: Option<Mutex<Duration>>,
    /// Whether only a terminal is told, and late: nobody waits long before one in silence.
    quiet: bool,
}

impl Progress {
    pub fn new(units: usize, noun: &'static str, show: Show) -> Self {
        let bar = ProgressBar::with_draw_target(Some(units as u64), ProgressDrawTarget::hidden());
        let template = format!("{{bar:24}} {{pos}}/{{len}} {noun}, {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        let next_line = (!std::io::stderr().is_terminal()).then(|| Mutex::new(LINES_AFTER));
        let quiet = show.detail == Detail::Quiet;
        Progress { bar, noun, started: Instant::now(), shown: Once::new(), next_line, quiet }
    }

    /// Where some of the work turns out to be done.
    pub fn set_all(&self, units: usize) {
        self.bar.set_length(units as u64);
    }

    pub fn advance(&self) {
        self.bar.inc(1);
        let elapsed = self.started.elapsed();
        let is_told = !self.quiet || self.next_line.is_none();
        if !is_told || elapsed < if self.quiet { LINES_AFTER } else { BAR_AFTER } {
            return;
        }
        match &self.next_line {
            None => self.shown.call_once(|| self.bar.set_draw_target(ProgressDrawTarget::stderr())),
            // Another thread that holds it has the same to say.
            Some(next) => {
                if let Ok(mut next) = next.try_lock()
                    && elapsed >= *next
                {
                    *next = elapsed + LINES_AFTER;
                    eprintln!("{}", self.line(elapsed));
                }
            }
        }
    }

    fn line(&self, elapsed: Duration) -> String {
        let (done, all) = (self.done(), self.all());
        let left = elapsed.as_secs_f64() * (all - done.min(all)) as f64 / done.max(1) as f64;
        let left = report::text::duration(Duration::from_secs_f64(left));
        format!("{done}/{all} {}, about {left} left", self.noun)
    }

    /// Units of work that are done, and how many there are.
    pub fn done(&self) -> u64 {
        self.bar.position()
    }

    pub fn all(&self) -> u64 {
        self.bar.length().unwrap_or(0)
    }

    /// The end; how long it took until now.
    pub fn finish(&self) -> Duration {
        self.bar.finish_and_clear();
        self.started.elapsed()
    }
}

/// How far the search for causes is, on standard error: a line before it, and then a bar where a person looks, otherwise a line
/// every ten seconds.
struct Looking {
    bar: ProgressBar,
    searches: Searches,
    /// When the last line was written; none where there are none.
    last_line: Option<Mutex<Instant>>,
}

impl Looking {
    fn new(cases: usize, searches: Searches, show: Show) -> Self {
        let bar = ProgressBar::with_draw_target(Some(cases as u64), ProgressDrawTarget::hidden());
        let mut looking = Looking { bar, searches, last_line: None };
        if show.detail == Detail::Quiet {
            return looking;
        }
        let (count, most) = (report::text::count(cases, "case"), left(searches, cases as u64));
        looking.say(&format!("FAIL: looking for the cause of {count}{most} (--diagnosis off leaves it out)"));
        if !std::io::stderr().is_terminal() {
            looking.last_line = Some(Mutex::new(Instant::now()));
            return looking;
        }
        let left = move |state: &ProgressState, f: &mut dyn std::fmt::Write| {
            // What cannot be drawn is no reason to end.
            let _ = f.write_str(&left(searches, state.len().unwrap_or(0).saturating_sub(state.pos())));
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} cases{left}") {
            looking.bar.set_style(style.with_key("left", left));
        }
        looking.bar.set_draw_target(ProgressDrawTarget::stderr());
        looking.bar.enable_steady_tick(Duration::from_secs(1));
        looking
    }

    fn say(&self, line: &str) {
        // What nobody can read is no reason to end.
        let _ = writeln!(std::io::stderr(), "{line}");
    }

    fn advance(&self) {
        self.bar.inc(1);
        if let Some(Ok(mut last)) = self.last_line.as_ref().map(Mutex::try_lock)
            && last.elapsed() >= LINES_AFTER
        {
            *last = Instant::now();
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            self.say(&format!("{done}/{all} cases{}", left(self.searches, all.saturating_sub(done))));
        }
    }
}

/// How long the search in so many cases takes at most; nothing where it has no end but its own.
fn left(searches: Searches, cases: u64) -> String {
    let most = searches.at_most(usize::try_from(cases).unwrap_or(usize::MAX));
    most.map_or(String::new(), |most| format!(", at most {}", report::text::duration(most)))
}
