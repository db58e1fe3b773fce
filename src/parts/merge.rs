//! The undivided run, from the files of its parts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::journal::{Reader, Record, files};
use super::{Head, PartError};
use crate::results::Results;
use crate::results::explained::Explanations;
use crate::results::whole::{Found, Whole};

/// Merges the parts that lie at these places, files or folders, in any order.
///
/// # Errors
/// [`PartError`] where something is missing, there twice and not the same, or of another run.
pub fn merge(places: &[PathBuf]) -> Result<Results, PartError> {
    let mut merging: Option<Merging> = None;
    for place in places {
        let files = files(place)?;
        if files.is_empty() {
            return Err(PartError::NoParts { path: place.clone() });
        }
        for path in files {
            let Some((head, reader)) = Reader::open(&path)? else { continue };
            match &merging {
                Some(merging) => merging.head.same_run(&head, &path)?,
                None => merging = Some(Merging::new(head.clone(), &path)),
            }
            if let Some(merging) = &mut merging {
                merging.add(&head, reader)?;
            }
        }
    }
    match (merging, places.first()) {
        (Some(merging), _) => merging.results(),
        (None, first) => Err(PartError::NoParts { path: first.cloned().unwrap_or_default() }),
    }
}

struct Merging {
    head: Head,
    /// Where the first file lies.
    folder: PathBuf,
    /// The checksum of each unit that is there.
    known: Vec<Option<[u8; 16]>>,
    whole: Whole,
    /// Of each part that is done, by its number.
    ended: BTreeMap<usize, Explanations>,
}

impl Merging {
    fn new(head: Head, path: &Path) -> Self {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Merging {
            folder: folder.unwrap_or(Path::new(".")).to_owned(),
            known: vec![None; head.count()],
            whole: Whole::new(head.seeds().len() > 1),
            ended: BTreeMap::new(),
            head,
        }
    }

    fn add(&mut self, head: &Head, mut reader: Reader) -> Result<(), PartError> {
        loop {
            let records = reader.several()?;
            if records.is_empty() {
                return Ok(());
            }
            let cannot = |error| PartError::read(&reader.path)(error);
            let mut new = Vec::new();
            for record in records {
                if record.is_end() {
                    self.ended.insert(head.part.number, record.explanations().map_err(cannot)?);
                    continue;
                }
                match self.known.get_mut(record.unit) {
                    Some(known @ None) if record.is_unit() => {
                        *known = Some(record.checksum);
                        new.push(record);
                    }
                    // Two processes that ran the same part found the same.
                    Some(Some(known)) if *known == record.checksum => {}
                    Some(_) => {
                        let unit = self.head.named(record.unit);
                        return Err(PartError::Differs { unit, path: reader.path });
                    }
                    None => return Err(PartError::NoPart { path: reader.path }),
                }
            }
            // Nearly all of the time goes into this.
            let found = |record: Record| Ok((record.unit, record.found()?));
            let found: io::Result<Vec<(usize, Found)>> = new.into_par_iter().map(found).collect();
            for (unit, found) in found.map_err(cannot)? {
                let (place, seed) = self.head.at(unit);
                self.whole.add(place, seed, found);
            }
        }
    }

    fn results(self) -> Result<Results, PartError> {
        let missing: Vec<usize> = (0..self.known.len()).filter(|&unit| self.known[unit].is_none()).collect();
        let numbers = 1..=self.head.part.of;
        if let Some(&first) = missing.first() {
            let shares = self.head.shares();
            let lacks = |number: &usize| shares[number - 1].iter().any(|&unit| self.known[unit].is_none());
            let (parts, command) = self.unfinished(numbers.filter(lacks).collect());
            let (count, all, first) = (missing.len(), self.known.len(), self.head.named(first));
            return Err(PartError::Missing { count, all, first, parts, command });
        }
        let unexplained: Vec<usize> = numbers.filter(|number| !self.ended.contains_key(number)).collect();
        if !unexplained.is_empty() {
            let (parts, command) = self.unfinished(unexplained);
            return Err(PartError::Unexplained { parts, command });
        }
        let mut explanations = Explanations::default();
        self.ended.into_values().for_each(|more| explanations.extend(more));
        let mut results = self.whole.results(self.head.results);
        explanations.apply(&mut results);
        Ok(results)
    }

    /// These parts in words, and the command that goes on with the first of them.
    fn unfinished(&self, numbers: Vec<usize>) -> (String, String) {
        const NAMED: usize = 8;
        let mut names: Vec<String> = numbers.iter().take(NAMED).map(usize::to_string).collect();
        if numbers.len() > NAMED {
            names.push(format!("{} more", numbers.len() - NAMED));
        }
        let (noun, verb) = if numbers.len() == 1 { ("part", "is") } else { ("parts", "are") };
        let parts = format!("{noun} {} of {} {verb}", names.join(", "), self.head.part.of);
        (parts, self.head.command(numbers.first().copied().unwrap_or(1), &self.folder))
    }
}
