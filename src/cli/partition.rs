//! `--partition`: one share of a plan, from where it stopped.

use std::error::Error;
use std::path::Path;

use super::output::{self, Progress};
use super::show::Show;
use super::{CliError, Outcome, PASSED};
use crate::check::files::FileError;
use crate::functions::SweepError;
use crate::parts::{self, Divisible, Part, PartError};
use crate::results::Results;

/// Runs what is left of a part, and shows what all of it found; `nouns` are its units, and `notes` are made of the results.
///
/// # Errors
/// A folder with parts of another run, or one that cannot be written to.
pub fn run(
    plan: &dyn Divisible,
    (number, folder): (Part, &Path),
    (nouns, notes): (&'static str, impl FnOnce(&Results) -> String),
    show: Show,
) -> Result<Outcome, CliError> {
    let head = plan.part(number);
    let bar = Progress::new(head.share().len(), nouns, show);
    let done = parts::run(plan, &head, folder, &|left| {
        bar.set_all(left);
        bar.advance();
    });
    let done = done.map_err(cause)?;
    let took = bar.finish();
    if done.units == 0 {
        let (parts, units) = (head.part, head.count());
        let text = format!("part {parts} has none of the {units} units: there are more parts than units\n");
        return Ok(Outcome::new(text, PASSED));
    }
    let mut notes = notes(&done.results);
    let (own, all, before) = (done.units, head.count(), done.before);
    notes += &format!("part {number}: {own} of {all} units, {before} of which were finished before\n");
    notes += &format!("the report is `holdfast merge {}`'s, once all parts are done\n", folder.display());
    // The results are in the part's file.
    output::finish(&done.results, &output::Args::default(), None, &notes, took, show)
}

/// What a unit failed of, where that is why the part did not end: the error that it is without parts.
fn cause(error: PartError) -> CliError {
    let PartError::Unit(error) = error else { return error.into() };
    let of_a_file =
        |error: Box<dyn Error + Send + Sync>| error.downcast::<FileError>().map(|error| (*error).into());
    let of_a_sweep =
        |error: Box<dyn Error + Send + Sync>| error.downcast::<SweepError>().map(|error| (*error).into());
    of_a_file(error).or_else(of_a_sweep).unwrap_or_else(|error| PartError::Unit(error).into())
}
