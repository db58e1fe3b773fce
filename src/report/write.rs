//! A whole report directory, written beside its place and moved there when it is complete.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{ReportError, functions, html, json, markdown, plots};
use crate::leftovers::scratch;
use crate::results::Results;

/// What [`html`]'s template says of its origin; a directory whose page lacks it is not ours to replace.
const GENERATOR: &str = "<meta name=\"generator\" content=\"holdfast";

/// What a sweep over all of f32 found of each function.
const CERTIFICATE: &str = "functions.json";

/// Where the results of the run before are kept, for `holdfast compare`.
const PREVIOUS: &str = "previous.json";

/// Where the parts of a written report are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenReport {
    pub dir: PathBuf,
    pub html: PathBuf,
    pub markdown: PathBuf,
    pub json: PathBuf,
    pub plots: Vec<PathBuf>,
}

/// What a report calls the table of judged tensors.
pub(super) const TENSORS: &str = "results.parquet";
/// What a report calls the table of swept functions.
pub(super) const FUNCTIONS: &str = "functions.parquet";
/// What a report calls the table of timings.
pub(super) const TIMINGS: &str = "timings.parquet";

#[cfg(feature = "parquet")]
/// What a report calls its table: a run has judged tensors, has swept functions, or has timed kernels.
pub(super) fn file_name(results: &Results) -> &'static str {
    match (results.functions.is_empty(), results.bench.is_empty()) {
        (false, _) => FUNCTIONS,
        (true, false) => TIMINGS,
        (true, true) => TENSORS,
    }
}

/// Writes `index.html`, `report.md`, `results.json`, its table ([`super::parquet`]) and `plots/*.svg` into `dir`; the results of a report that was there
/// stay as `previous.json`.
///
/// Everything is rendered and written into a hidden sibling of `dir` first, and only the complete report is
/// renamed to `dir`: an interrupted run leaves the old report as it was.
///
/// # Errors
/// [`ReportError::NotAReport`] when `dir` exists and is neither empty nor a holdfast report: replacing would
/// delete what we did not write. Otherwise whatever kept a part from being rendered or written.
pub fn write(results: &Results, dir: &Path) -> Result<WrittenReport, ReportError> {
    write_keeping("results.json", results, dir)
}

/// The same of a run that has written its report once: what it keeps is what was there before that.
pub fn write_again(results: &Results, dir: &Path) -> Result<WrittenReport, ReportError> {
    write_keeping(PREVIOUS, results, dir)
}

fn write_keeping(earlier: &str, results: &Results, dir: &Path) -> Result<WrittenReport, ReportError> {
    let plots = replace(dir, |new| {
        keep_earlier(&dir.join(earlier), new)?;
        fill(results, new)
    })?;
    Ok(WrittenReport {
        html: dir.join("index.html"),
        markdown: dir.join("report.md"),
        json: dir.join("results.json"),
        plots: plots.iter().map(|name| dir.join("plots").join(name)).collect(),
        dir: dir.to_owned(),
    })
}

/// The results that a report had whose place this one takes: a second run into the same folder loses nothing of the first.
fn keep_earlier(earlier: &Path, new: &Path) -> Result<(), ReportError> {
    if !earlier.is_file() {
        return Ok(());
    }
    let kept = new.join(PREVIOUS);
    fs::copy(earlier, &kept).map(drop).map_err(ReportError::io("write", kept))
}

/// Whether [`write()`] finds a place for `dir`: to be asked before a run whose results would else be lost.
pub fn may_be_written(dir: &Path) -> Result<(), ReportError> {
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    may_be_replaced(&dir)?;
    scratch::probe(dir.parent().unwrap_or(Path::new("/"))).map_err(ReportError::io("create", &dir))
}

/// Whether files can be put into `folder`, or into the nearest folder above it that there is.
///
/// # Errors
/// [`ReportError::Io`] where they cannot, or where it is no folder.
pub fn may_hold_files(folder: &Path) -> Result<(), ReportError> {
    scratch::probe(folder).map_err(ReportError::io("create a file in", folder))
}

/// Lets `fill` write into a new directory and moves that to `dir` when it succeeded.
///
/// # Errors
/// Those of [`write()`] and of `fill`; then `dir` is as it was.
pub fn replace<T>(dir: &Path, fill: impl FnOnce(&Path) -> Result<T, ReportError>) -> Result<T, ReportError> {
    // A link to a directory stays a link: what it points to is replaced.
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let exists = may_be_replaced(&dir)?;
    let parent = scratch::parent(&dir);
    fs::create_dir_all(parent).map_err(ReportError::io("create", parent))?;
    // Hidden, and readable as other new directories are.
    let sibling = || scratch::readable(".holdfast-report-", 0o777).tempdir_in(parent);
    let cannot = || ReportError::io("create a directory in", parent);
    // Removes itself, also when the run is interrupted.
    let new = scratch::create(sibling, tempfile::TempDir::path).map_err(cannot())?;
    let filled = fill(new.path())?;
    let moved = new.publish(|new| {
        if exists {
            // Not listed: an interrupt must never remove what is parked there, and waits until it is gone.
            let old = sibling().map_err(cannot())?;
            let parked = old.path().join("report");
            fs::rename(&dir, &parked).map_err(ReportError::io("replace", &dir))?;
            if let Err(error) = fs::rename(new.path(), &dir) {
                // Nothing better can be done when this fails too; the first error says what happened.
                let _ = fs::rename(&parked, &dir);
                return Err(ReportError::io("replace", &dir)(error));
            }
        } else {
            fs::rename(new.path(), &dir).map_err(ReportError::io("create", &dir))?;
        }
        // Its directory has moved: there is nothing left to remove.
        let _ = new.keep();
        Ok(())
    });
    moved.unwrap_or(Ok(())).map(|()| filled)
}

/// Renders and writes every part into `dir`; the plots' file names.
fn fill(results: &Results, dir: &Path) -> Result<Vec<String>, ReportError> {
    let plots = plots::all(results)?;
    let put = |name: &str, content: &[u8]| {
        let path = dir.join(name);
        fs::write(&path, content).map_err(ReportError::io("write", path))
    };
    put("index.html", html::page(results, &plots)?.as_bytes())?;
    put("report.md", markdown::page(results)?.as_bytes())?;
    put("results.json", json::to_string(results)?.as_bytes())?;
    // Checks alone are no rows of any table.
    if results.checks.is_empty() || !results.bench.is_empty() {
        #[cfg(feature = "parquet")]
        put(file_name(results), &super::parquet::to_bytes(results)?)?;
    }
    if let Some(certificate) = functions::certificate(results)? {
        put(CERTIFICATE, certificate.as_bytes())?;
    }
    let folder = dir.join("plots");
    fs::create_dir(&folder).map_err(ReportError::io("create", &folder))?;
    for plot in &plots {
        put(&format!("plots/{}", plot.file_name()), plot.svg.as_bytes())?;
    }
    Ok(plots.iter().map(plots::Plot::file_name).collect())
}

/// Whether `dir` exists; an error when it holds anything that is no part of a report.
fn may_be_replaced(dir: &Path) -> Result<bool, ReportError> {
    let refuse = |found: String| Err(ReportError::NotAReport { path: dir.to_owned(), found });
    match fs::symlink_metadata(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(ReportError::io("look at", dir)(error)),
        Ok(metadata) if !metadata.is_dir() => return refuse("something that is no directory".to_owned()),
        Ok(_) => {}
    }
    let names = entries(dir)?;
    if names.is_empty() {
        return Ok(true);
    }
    let known = [
        "index.html",
        "report.md",
        "results.json",
        TENSORS,
        FUNCTIONS,
        TIMINGS,
        CERTIFICATE,
        PREVIOUS,
        "plots",
        "screenshots",
        ".DS_Store",
    ];
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return refuse(format!("`{name}`"));
    }
    if !is_our_page(&dir.join("index.html")) {
        return refuse("no index.html that holdfast wrote".to_owned());
    }
    // The screenshots are those of `.ci/browser`.
    for (folder, kinds) in [("plots", &["svg"][..]), ("screenshots", &["png", "pdf"])] {
        if !names.iter().any(|name| name == folder) {
            continue;
        }
        let ours = |name: &String| name.rsplit_once('.').is_some_and(|(_, kind)| kinds.contains(&kind));
        if let Some(name) = entries(&dir.join(folder))?.iter().find(|name| !ours(name)) {
            return refuse(format!("`{folder}/{name}`"));
        }
    }
    Ok(true)
}

fn entries(dir: &Path) -> Result<Vec<String>, ReportError> {
    let list = fs::read_dir(dir).and_then(|list| list.collect::<Result<Vec<_>, _>>());
    let list = list.map_err(ReportError::io("list", dir))?;
    Ok(list.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

fn is_our_page(page: &Path) -> bool {
    let mut head = Vec::new();
    let read = fs::File::open(page).and_then(|file| file.take(4096).read_to_end(&mut head));
    read.is_ok() && String::from_utf8_lossy(&head).contains(GENERATOR)
}
