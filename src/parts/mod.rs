//! One plan on many machines. A plan is cut into parts of about the same cost; whoever runs a part writes what each unit found
//! into a file of its own ([`journal`]), and all such files together make the results of the undivided run ([`merge()`]).
//!
//! Nothing here depends on a clock, on locks that work everywhere, or on who ran what: a unit counts once, when it is written
//! whole. A part that was ended in the middle goes on where it stopped, whoever takes it up again.

pub mod journal;
mod merge;
mod run;
mod status;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use self::merge::merge;
pub use self::run::{Divisible, PartRun, run};
pub use self::status::{PartStatus, State, status};
use crate::results::Results;

/// Which part of how many; written `3/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Part {
    /// From 1 on.
    pub number: usize,
    pub of: usize,
}

/// The most parts that a plan can have.
pub const MOST: usize = 100_000;

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(k, m)| Some((k.parse().ok()?, m.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) && of <= MOST => Ok(Part { number, of }),
            _ => Err(format!("K/M with 1 ≤ K ≤ M ≤ {MOST}, as 3/8")),
        }
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// What a part is part of: all that must be the same for parts to be merged, and for one of them to be continued.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    pub part: Part,
    /// The ids of the work that is done with each seed.
    pub units: Vec<String>,
    /// What each of them costs.
    pub costs: Vec<u64>,
    /// The results without what units find.
    pub results: Results,
}

impl Head {
    /// Every seed, ascending.
    pub fn seeds(&self) -> &[u64] {
        match &self.results.seeds[..] {
            [] => std::slice::from_ref(&self.results.seed),
            several => several,
        }
    }

    /// Units in all: seed by seed, each with all of the work.
    pub fn count(&self) -> usize {
        self.units.len() * self.seeds().len()
    }

    /// The place of a unit's work, and its seed.
    pub fn at(&self, unit: usize) -> (usize, u64) {
        (unit % self.units.len(), self.seeds()[unit / self.units.len()])
    }

    /// A unit by its id and, where there are several, its seed.
    fn named(&self, unit: usize) -> String {
        let (place, seed) = self.at(unit);
        match self.seeds().len() {
            1 => self.units[place].clone(),
            _ => format!("{} with seed {seed}", self.units[place]),
        }
    }

    pub fn cost(&self, unit: usize) -> u64 {
        self.costs[unit % self.costs.len()]
    }

    /// The units of each part: the most expensive first, each to the part that has least to do.
    pub fn shares(&self) -> Vec<Vec<usize>> {
        let mut units: Vec<usize> = (0..self.count()).collect();
        units.sort_by_key(|&unit| Reverse(self.cost(unit)));
        let mut shares = vec![Vec::new(); self.part.of];
        let mut loads: BinaryHeap<Reverse<(u64, usize)>> =
            (0..self.part.of).map(|part| Reverse((0, part))).collect();
        for unit in units {
            if let Some(Reverse((load, part))) = loads.pop() {
                shares[part].push(unit);
                loads.push(Reverse((load + self.cost(unit), part)));
            }
        }
        shares
    }

    pub fn share(&self) -> Vec<usize> {
        self.shares().swap_remove(self.part.number - 1)
    }

    /// The command that runs a part, or goes on with it.
    fn command(&self, number: usize, folder: &Path) -> String {
        let part = Part { number, of: self.part.of };
        format!("{} --partition {part} --out {}", self.results.command, folder.display())
    }

    /// Whether parts with these heads belong together.
    fn same_run(&self, found: &Head, path: &Path) -> Result<(), PartError> {
        const REPEAT: &str = "repeat it, or choose another folder";
        let texts = |head: &Head| {
            let results = &head.results;
            let header = results.header.as_ref().map_or("none".to_owned(), |header| header.path.clone());
            [
                ("version", results.version.clone(), REPEAT),
                ("seed", results.all_seeds(), "choose another folder for other seeds"),
                ("backend", results.backend.clone(), "name one with --backend, for all parts"),
                (
                    "device",
                    results.device.clone(),
                    "ask for machines of one kind, or judge each kind on its own",
                ),
                ("tier", results.tier.clone().unwrap_or_else(|| "accurate".to_owned()), REPEAT),
                ("header", header, REPEAT),
                ("kernel source", results.kernel_source.clone(), REPEAT),
                ("number of parts", head.part.of.to_string(), "a plan keeps its number of parts"),
                ("command", results.command.clone(), "choose another folder for another plan"),
            ]
        };
        for ((what, expected, hint), (_, found, _)) in texts(self).into_iter().zip(texts(found)) {
            if expected != found {
                let [expected, found] = excerpts(&expected, &found);
                return Err(PartError::Other { path: path.to_owned(), what, found, expected, hint });
            }
        }
        if (&self.units, &self.costs, &self.results.planned)
            != (&found.units, &found.costs, &found.results.planned)
        {
            // The first unit that differs tells files apart; else there are more or fewer, or other costs.
            let differing = self.units.iter().zip(&found.units).find(|(expected, found)| expected != found);
            let said = |head: &Head| format!("of {} units", head.count());
            let (expected, found) = match differing {
                Some((expected, found)) => (format!("with `{expected}`"), format!("with `{found}`")),
                None => (said(self), said(found)),
            };
            return Err(PartError::Other {
                path: path.to_owned(),
                what: "plan",
                found,
                expected,
                hint: REPEAT,
            });
        }
        Ok(())
    }
}

/// Two texts that differ, as an error shows them: of a long one what is around the first difference. A command may name thousands
/// of files.
fn excerpts(one: &str, other: &str) -> [String; 2] {
    const LONG: usize = 200;
    const BEFORE: usize = 40;
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    [one, other].map(|text| {
        if text.chars().count() <= LONG {
            return text.to_owned();
        }
        let skipped = same.saturating_sub(BEFORE);
        let mut rest = text.chars().skip(skipped);
        let shown: String = rest.by_ref().take(LONG).collect();
        let [before, after] = [skipped > 0, rest.next().is_some()].map(|cut| if cut { "…" } else { "" });
        format!("{before}{shown}{after}")
    })
}

/// Why a part was not run, or parts not merged.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    #[error(
        "cannot {action} `{}`: {source} (hint: what was finished is kept; look at the disk and who may write, then repeat the command)",
        path.display()
    )]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("cannot read `{}`: {source} (hint: look whether it is there, and who may read it)", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error(
        "`{}` is a part of a run with {what} {found}, expected {expected} (hint: {hint})",
        path.display()
    )]
    Other { path: PathBuf, what: &'static str, found: String, expected: String, hint: &'static str },
    #[error(
        "`{}` is no part of a run, expected one of this version (hint: `holdfast verify`, `check` and `sweep` write them with `--partition`)",
        path.display()
    )]
    NoPart { path: PathBuf },
    #[error(
        "there are no parts in `{}`, expected some (hint: `holdfast verify --partition 1/8 --out DIR` writes the first of eight)",
        path.display()
    )]
    NoParts { path: PathBuf },
    #[error(
        "part {part} is being run by another process, which writes `{}`, expected to be alone (hint: give each process a part of its own)",
        path.display()
    )]
    Busy { part: Part, path: PathBuf },
    #[error(
        "`{unit}` was found twice, and otherwise in `{}` than before, expected the same (hint: machines differ; remove one of the parts' files and run it again)",
        path.display()
    )]
    Differs { unit: String, path: PathBuf },
    #[error(
        "{count} of the plan's {all} units are missing, expected all; the first is `{first}`; {parts} not finished (hint: `{command}`)"
    )]
    Missing { count: usize, all: usize, first: String, parts: String, command: String },
    #[error(
        "{parts} not finished, expected all; every unit is there, but not what explains failures (hint: `{command}`)"
    )]
    Unexplained { parts: String, command: String },
    /// A unit's input is wrong or cannot be read, or what it runs on fails.
    #[error("{0}")]
    Unit(Box<dyn std::error::Error + Send + Sync>),
}

impl PartError {
    fn read(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> PartError {
        let path = path.into();
        move |source| PartError::Read { path, source }
    }

    fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> PartError {
        let path = path.into();
        move |source| PartError::Io { action, path, source }
    }
}
