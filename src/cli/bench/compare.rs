//! `holdfast bench --compare OLD.json NEW.json`: what became slower.

use std::path::Path;

use super::Error;
use crate::cli::show::Show;
use crate::cli::{CliError, FAILED, Outcome, PASSED, output};
use crate::report::{self, json};
use crate::results::Results;
use crate::results::bench_compare::compare;

/// Compares two files that `holdfast bench --json` wrote.
///
/// # Errors
/// Files that are no benchmarks, or of two devices; a comparison that cannot be written.
pub fn run(
    [old, new]: [&Path; 2],
    percent: f64,
    other_device: bool,
    to: Option<&Path>,
    show: Show,
) -> Result<Outcome, CliError> {
    output::prepare(None, &[("--json", to)])?;
    let read = |path: &Path| json::read(path).map_err(Error::from);
    results([&read(old)?, &read(new)?], percent, other_device, to, show)
}

/// The same of two that were read.
pub fn results(
    [old, new]: [&Results; 2],
    percent: f64,
    other_device: bool,
    to: Option<&Path>,
    show: Show,
) -> Result<Outcome, CliError> {
    let comparison = compare(old, new, percent / 100.0, other_device).map_err(Error::from)?;
    let (json, written) = output::put_json(to, || json::to_string(&comparison))?;
    let text = report::bench_compare::render(&comparison, show.colour, show.detail);
    let status = if comparison.regressed() { FAILED } else { PASSED };
    Ok(Outcome::new(text + &written, status).with_json(json))
}
