//! A share of a plan, from where it stopped.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::journal::{Begun, Journal};
use super::{Head, Part, PartError};
use crate::results::Results;
use crate::results::explained::Explanations;
use crate::results::whole::{Found, Whole};

/// What can be done in parts: units of work that know nothing of each other.
pub trait Divisible {
    /// The ids of the work that is done with each seed.
    fn units(&self) -> Vec<String>;
    /// What each of them costs.
    fn costs(&self) -> Vec<u64>;
    /// Everything in the results that no unit finds.
    fn head(&self) -> Results;
    /// Does these units on all cores, and hands on what each of them found.
    ///
    /// # Errors
    /// The first that `found` returns; then nothing more is begun.
    fn solve(
        &self,
        units: &[usize],
        found: &(dyn Fn(usize, Found) -> Result<(), PartError> + Sync),
    ) -> Result<(), PartError>;
    /// Of results that are not explained yet, why things in them fail.
    fn explain(&self, results: &Results) -> Explanations;

    /// What all parts have in common, and which one this is.
    fn part(&self, part: Part) -> Head {
        Head { part, units: self.units(), costs: self.costs(), results: self.head() }
    }
}

/// What came of a part.
#[derive(Clone, Debug)]
pub struct PartRun {
    /// Of the part alone.
    pub results: Results,
    /// Units of the part, and those of them that were finished before.
    pub units: usize,
    pub before: usize,
}

/// Does what is left of a part, into a file of its own in the folder. `progress` is given the number of units that are left,
/// and called once more after each of them.
///
/// # Errors
/// The folder has parts of another run, or cannot be written to.
pub fn run(
    plan: &dyn Divisible,
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
        plan.solve(&left, &|unit, found| {
            journal.unit(unit, &found)?;
            let (place, seed) = head.at(unit);
            whole.lock().unwrap_or_else(PoisonError::into_inner).add(place, seed, found);
            progress(left.len());
            Ok(())
        })?;
    }
    let whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut results = whole.results(head.results.clone());
    let explanations = begun.explanations.unwrap_or_else(|| plan.explain(&results));
    if let Some(journal) = journal {
        journal.end(&explanations)?;
    }
    explanations.apply(&mut results);
    Ok(PartRun { results, units, before: units - left.len() })
}
