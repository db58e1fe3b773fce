//! Two benchmarks side by side: what became slower, by how much, and how sure that is.

use serde::Serialize;

use super::Results;
use super::bench::{Spread, Timed};

/// By how many percent a timing may become slower, unless something else is asked for.
pub const SLOWER: f64 = 10.0;

/// How a timing became another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    pub id: String,
    /// Medians of warm runs, in seconds.
    pub old: f64,
    pub new: f64,
    /// New over old: above 1 it is slower.
    pub ratio: f64,
    /// What the ratio is in, where both medians are in their intervals; none where one of them has none.
    pub interval: Option<[f64; 2]>,
    /// Whether it is slower by more than is allowed, whatever the intervals leave open.
    pub slower: bool,
}

/// What is the same, what changed, and what cannot be compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchComparison {
    /// How much slower a timing may become, as a share.
    pub allowed: f64,
    /// In the order of the old run.
    pub changes: Vec<Change>,
    /// What the old run timed and the new one did not: a regression.
    pub gone: Vec<String>,
    pub added: Vec<String>,
    /// How the devices differ, where that was allowed.
    pub devices: Option<[String; 2]>,
}

/// Why two files are not compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    #[error(
        "{which} is no benchmark, expected what `holdfast bench --json` wrote (hint: `holdfast compare` has all other results)"
    )]
    NoBenchmark { which: &'static str },
    #[error(
        "expected two runs on one device, found {old} and {new} (hint: --other-device compares them all the same)"
    )]
    OtherDevice { old: String, new: String },
}

impl BenchComparison {
    /// Whether anything became slower than is allowed, or is gone; or nothing was compared.
    pub fn regressed(&self) -> bool {
        self.changes.is_empty() || !self.gone.is_empty() || self.changes.iter().any(|change| change.slower)
    }
}

/// Compares the warm runs of everything that both have; a median may grow by the share `allowed`.
///
/// # Errors
/// One of them is no benchmark; they are of two devices, and nobody allowed it.
pub fn compare(
    old: &Results,
    new: &Results,
    allowed: f64,
    other_device: bool,
) -> Result<BenchComparison, NotComparable> {
    for (which, results) in [("the old file", old), ("the new file", new)] {
        if results.bench.is_empty() {
            return Err(NotComparable::NoBenchmark { which });
        }
    }
    let devices = (old.device != new.device).then(|| [old.device.clone(), new.device.clone()]);
    if let Some([old, new]) = devices.clone().filter(|_| !other_device) {
        return Err(NotComparable::OtherDevice { old, new });
    }
    let timed = |results: &Results| -> Vec<(String, Spread)> {
        let warm = |timed: &Timed| Some((timed.id.clone(), timed.warm?));
        results.bench.iter().filter_map(warm).collect()
    };
    let (old, new) = (timed(old), timed(new));
    let of =
        |list: &[(String, Spread)], id: &str| list.iter().find(|(known, _)| known == id).map(|one| one.1);
    let change = |(id, old): &(String, Spread)| {
        let new = of(&new, id)?;
        // Fewer than six runs say nothing of where the median is.
        let interval = old.interval.zip(new.interval);
        let interval = interval
            .map(|([old_low, old_high], [new_low, new_high])| [new_low / old_high, new_high / old_low]);
        Some(Change {
            id: id.clone(),
            old: old.median,
            new: new.median,
            ratio: new.median / old.median,
            interval,
            slower: interval.is_some_and(|[low, _]| low > 1.0 + allowed),
        })
    };
    let missing = |from: &[(String, Spread)], other: &[(String, Spread)]| -> Vec<String> {
        from.iter().filter(|(id, _)| of(other, id).is_none()).map(|(id, _)| id.clone()).collect()
    };
    Ok(BenchComparison {
        allowed,
        changes: old.iter().filter_map(change).collect(),
        gone: missing(&old, &new),
        added: missing(&new, &old),
        devices,
    })
}
