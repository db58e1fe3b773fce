//! Names of the page's places: `case-…` from a case's id, unique and fit for an address.

use std::collections::{HashMap, HashSet};

use crate::problem::Weights;
use crate::report::failures::Failure;
use crate::report::text::slug;
use crate::results::{CaseResult, Results};

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
    pub fn retain(&mut self, shown: &HashSet<String>) {
        self.by_id.retain(|_, anchor| shown.contains(anchor));
    }

    /// Gives these failures their anchors, `fail-1` and so on.
    pub fn explain(&mut self, failures: &[Failure]) {
        for (i, failure) in failures.iter().enumerate() {
            self.explained.entry(failure.title()).or_insert_with(|| format!("fail-{}", i + 1));
        }
    }

    /// The anchor of the case with this id; none for an unknown id.
    pub fn case(&self, id: &str) -> Option<&str> {
        self.by_id.get(id).map(String::as_str)
    }

    /// A link to where a failure is explained; empty where it passes, or where there are too many.
    pub fn link(&self, failure: Failure) -> String {
        link(self.explained.get(&failure.title()).map(String::as_str))
    }

    /// A link to where a case is explained, or else to its place among all cases.
    pub fn case_link(&self, case: &CaseResult) -> String {
        let explained = self.explained.get(&case.id).map(String::as_str);
        link(explained.or_else(|| self.case(&case.id)))
    }
}

fn link(anchor: Option<&str>) -> String {
    anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default()
}

/// The rows of a sweep: the first one of the two.
pub fn sweep(name: &str, weights: Weights) -> String {
    format!("sweep-{}-{weights}", slug(name))
}
