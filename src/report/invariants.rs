//! The invariants in rows: one invariant with one weight type over the methods.

use super::{grid, groups, text};
use crate::judge::invariants::Invariant;
use crate::method::Method;
use crate::problem::Weights;
use crate::results::{InvariantResult, Results, Verdict};

/// One invariant with one weight type.
#[derive(Clone, Debug)]
pub struct InvariantRow<'a> {
    pub name: &'a str,
    pub weights: Weights,
    /// What must hold, in one sentence.
    pub what: &'a str,
    results: Vec<&'a InvariantResult>,
}

/// The rows in the order in which the invariants first appear, real before complex: what holds of the one weight type says
/// nothing of the other.
pub fn rows(results: &Results) -> Vec<InvariantRow<'_>> {
    let names = groups::by_key(&results.invariants, |result| &*result.name);
    let mut rows = Vec::new();
    for (name, results) in names {
        let mut of_weights = groups::by_key(results, |result| result.weights);
        of_weights.sort_by_key(|(weights, _)| *weights);
        rows.extend(of_weights.into_iter().map(|(weights, results)| {
            let what = &results[0].what;
            InvariantRow { name, weights, what, results }
        }));
    }
    rows
}

/// The laws that are not probed of a header, whose scan is the harness's own; empty where no header was judged.
pub fn left_out(results: &Results) -> String {
    let names = Invariant::ALL.into_iter().filter(|law| law.is_of_the_scan()).map(Invariant::name);
    if results.header.is_some() { names.collect::<Vec<_>>().join(", ") } else { String::new() }
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
    /// The worst result of this method; none where the invariant says nothing of it.
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
