//! Where a run is a step of one of GitHub's workflows, its summary and annotations go to the service.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::report::{ReportError, github};
use crate::results::Results;

/// The file that the service shows; set in every step.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Appends the summary to the step's; the annotations, for the output, and a warning where it cannot be written: that is no
/// reason to lose the verdict. Nothing anywhere else.
pub fn tell(results: &Results, report: Option<&Path>) -> String {
    let Some(file) = std::env::var_os(SUMMARY).filter(|file| !file.is_empty()).map(PathBuf::from) else {
        return String::new();
    };
    let mut summary = github::summary(results);
    if let Some(report) = report {
        summary += &format!("Report: `{}`\n\n", report.display());
    }
    // Other steps have written to it, and will.
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&file)
        .and_then(|mut f| f.write_all(summary.as_bytes()));
    let annotations = github::annotations(results);
    match written {
        Ok(()) => annotations,
        Err(source) => {
            let error = ReportError::Io { action: "write", path: file, source };
            format!("{annotations}warning: {error}\n")
        }
    }
}
