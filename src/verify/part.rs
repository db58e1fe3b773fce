//! A share of a request's units, from where it stopped.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::{Known, Plan};
use crate::parts::journal::{Begun, Journal};
use crate::parts::{Head, Part, PartError};
use crate::results::whole::Whole;
use crate::results::{HeaderNote, Results};

/// What came of a part.
#[derive(Clone, Debug)]
pub struct PartRun {
    /// Of the part alone.
    pub results: Results,
    /// Units of the part, and those of them that were finished before.
    pub units: usize,
    pub before: usize,
}

/// What all parts of a plan have in common, and which one this is.
pub fn head(plan: &Plan, part: Part, header: Option<HeaderNote>) -> Head {
    let units = plan.works().iter().map(|work| work.id()).collect();
    Head { part, units, costs: plan.costs(), results: Results { header, ..plan.head() } }
}

/// Does what is left of a part, into a file of its own in the folder. `progress` is given the number of units that are left,
/// and called once more after each of them.
///
/// # Errors
/// The folder has parts of another run, or cannot be written to.
pub fn run(
    plan: &Plan,
    known: &Known,
    head: &Head,
    folder: &Path,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<PartRun, PartError> {
    let mut whole = Whole::new(head.seeds().len() > 1);
    let begun = Begun::look(folder, head, |unit, found| {
        let (place, seed) = head.at(unit);
        whole.add(place, seed, found);
    })?;
    let mut left = head.share();
    let units = left.len();
    left.retain(|unit| !begun.units.contains(unit));
    let whole = Mutex::new(whole);
    let journal = match begun.explanations {
        Some(_) => None,
        None => Some(Journal::begin(folder, head)?),
    };
    if let Some(journal) = &journal {
        plan.solve(known, &left, &|unit, found| {
            journal.unit(unit, &found)?;
            let (place, seed) = head.at(unit);
            whole.lock().unwrap_or_else(PoisonError::into_inner).add(place, seed, found);
            progress(left.len());
            Ok::<(), PartError>(())
        })?;
    }
    let whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut results = whole.results(head.results.clone());
    let explanations = begun.explanations.unwrap_or_else(|| plan.explain(known, &results));
    if let Some(journal) = journal {
        journal.end(&explanations)?;
    }
    explanations.apply(&mut results);
    Ok(PartRun { results, units, before: units - left.len() })
}
