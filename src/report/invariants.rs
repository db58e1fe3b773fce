//! The invariants in rows: one invariant over the methods.

use super::{grid, groups, text};
use crate::method::Method;
use crate::results::{InvariantResult, Results, Verdict};

/// One invariant; each method's results are those of the weight types that were asked for.
#[derive(Clone, Debug)]
pub struct InvariantRow<'a> {
    pub name: &'a str,
    /// What must hold, in one sentence.
    pub what: &'a str,
    results: Vec<&'a InvariantResult>,
}

/// The rows in the order in which the invariants first appear.
pub fn rows(results: &Results) -> Vec<InvariantRow<'_>> {
    let groups = groups::by_key(&results.invariants, |result| &*result.name);
    groups.into_iter().map(|(name, results)| InvariantRow { name, what: &results[0].what, results }).collect()
}

/// The methods that any invariant was probed with, in the order of their ids.
pub fn methods(results: &Results) -> Vec<Method> {
    let used = |m: &Method| results.invariants.iter().any(|i| i.method == *m);
    Method::ALL.into_iter().filter(used).collect()
}

/// The order of the worst first.
pub fn worse(a: &InvariantResult, b: &InvariantResult) -> std::cmp::Ordering {
    let key = |i: &InvariantResult| (i.verdict, i.worst.as_ref().map(|worst| worst.share));
    grid::by_severity(key(a), key(b))
}

impl<'a> InvariantRow<'a> {
    /// The worst result of this method, over the weight types; none where the invariant says nothing of it.
    pub fn worst(&self, method: Method) -> Option<&'a InvariantResult> {
        self.results.iter().copied().filter(|i| i.method == method).min_by(|a, b| worse(a, b))
    }

    /// `0.41`, `exact` (no difference was allowed, and there is none), `FAIL 3e5`, `–` (unmeasured), or nothing (it
    /// says nothing of this method).
    pub fn text(&self, method: Method) -> String {
        let Some(result) = self.worst(method) else { return String::new() };
        let exact = result.worst.as_ref().is_some_and(|w| w.bound == 0.0 && w.error == 0.0);
        match result.verdict {
            Verdict::Pass if exact => "exact".to_owned(),
            verdict => text::outcome(verdict, result.worst.as_ref().map(|w| w.share)),
        }
    }
}
