//! Names of the page's places: `case-…` from a case's id, unique and fit for an address.

use std::collections::{HashMap, HashSet};

use crate::problem::Weights;
use crate::report::failures::Failure;
use crate::results::Results;

/// The anchors of the run's cases, and of the failures that the page explains.
pub struct Anchors {
    by_id: HashMap<String, String>,
    explained: HashMap<String, String>,
}

impl Anchors {
    pub fn new(results: &Results) -> Anchors {
        let (mut by_id, mut taken) = (HashMap::new(), HashSet::new());
        for case in &results.cases {
            let slug = format!("case-{}", slug(&case.id));
            let mut anchor = slug.clone();
            for n in 2.. {
                if taken.insert(anchor.clone()) {
                    break;
                }
                anchor = format!("{slug}-{n}");
            }
            by_id.entry(case.id.clone()).or_insert(anchor);
        }
        Anchors { by_id, explained: HashMap::new() }
    }

    /// Without the cases whose anchors `shown` lacks: no link may lead to a place that is not on the page.
    pub fn retain<'a>(&mut self, shown: impl Iterator<Item = &'a str>) {
        let shown: HashSet<&str> = shown.collect();
        self.by_id.retain(|_, anchor| shown.contains(anchor.as_str()));
    }

    /// Gives these failures their anchors, `fail-1` and so on.
    pub fn explain(&mut self, failures: &[Failure]) {
        for (i, failure) in failures.iter().enumerate() {
            self.explained.entry(failure.title()).or_insert_with(|| format!("fail-{}", i + 1));
        }
    }

    /// Where a failure of this title is explained; none where it passes, or where there are too many.
    pub fn explained(&self, title: &str) -> Option<&str> {
        self.explained.get(title).map(String::as_str)
    }

    /// The anchor of the case with this id; none for an unknown id.
    pub fn case(&self, id: &str) -> Option<&str> {
        self.by_id.get(id).map(String::as_str)
    }
}

/// The row of an invariant.
pub fn invariant(name: &str) -> String {
    format!("invariant-{}", slug(name))
}

/// The rows of a sweep: the first one of the two.
pub fn sweep(name: &str, weights: Weights) -> String {
    format!("sweep-{}-{weights}", slug(name))
}

/// Letters, digits, dots and underscores; anything else becomes a hyphen. Not endless.
pub fn slug(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '_' { c } else { '-' };
    text.chars().map(keep).take(120).collect()
}
