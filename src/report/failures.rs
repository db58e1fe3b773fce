//! What failed, worst first, with everything that explains it.

use super::sweeps::Coefficient;
use super::{grid, invariants, text};
use crate::judge::invariants::InvariantResult;
use crate::judge::results::{CaseResult, CoefficientResult, Diagnosis, Results, Verdict, Worst};
use crate::method::Method;

/// A failed scan, coefficient sweep or invariant.
#[derive(Clone, Copy, Debug)]
pub enum Failure<'a> {
    Case(&'a CaseResult),
    Sweep(&'a CoefficientResult),
    Invariant(&'a InvariantResult),
}

/// Every failure. The worst of each method comes first, then the second worst of each, and so on: one broken
/// method must not hide another one behind its many regimes. Sweeps precede scans: wrong coefficients are
/// why a scan is wrong. Broken invariants come last: they say that something is wrong, seldom what.
pub fn all(results: &Results) -> Vec<Failure<'_>> {
    let mut ranked: Vec<(usize, Failure)> = Vec::new();
    for method in Method::ALL {
        let sweeps = results.coefficients.iter().filter(|s| failed(s.verdict) && s.method == method);
        let mut cases: Vec<_> =
            results.cases.iter().filter(|c| failed(c.verdict) && c.method == method).collect();
        cases.sort_by(|a, b| grid::worse(a, b));
        let invariants = results.invariants.iter().filter(|i| failed(i.verdict) && i.method == method);
        let mut invariants: Vec<_> = invariants.collect();
        invariants.sort_by(|a, b| invariants::worse(a, b));
        let failures = sweeps.map(Failure::Sweep).chain(cases.into_iter().map(Failure::Case));
        ranked.extend(failures.chain(invariants.into_iter().map(Failure::Invariant)).enumerate());
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, failure)| failure).collect()
}

fn failed(verdict: Verdict) -> bool {
    verdict == Verdict::Fail
}

impl<'a> Failure<'a> {
    pub fn method(&self) -> Method {
        match self {
            Failure::Case(case) => case.method,
            Failure::Sweep(sweep) => sweep.method,
            Failure::Invariant(invariant) => invariant.method,
        }
    }

    /// The case's id, or the sweep's name in the same style.
    pub fn title(&self) -> String {
        match self {
            Failure::Case(case) => case.id.clone(),
            Failure::Sweep(sweep) => {
                format!("coefficients/{}/{}/{}", sweep.sweep, sweep.weights, sweep.method)
            }
            Failure::Invariant(i) => format!("invariants/{}/{}/{}", i.name, i.weights, i.method),
        }
    }

    /// What ran, beyond what the title says.
    pub fn detail(&self) -> String {
        match self {
            Failure::Case(case) => {
                format!("{}, {} elements judged, backend {}", case.shape, case.judged, case.backend)
            }
            Failure::Sweep(sweep) => format!("{} points, backend {}", sweep.points.len(), sweep.backend),
            Failure::Invariant(i) => {
                let compared = text::count(i.judged, "comparison");
                format!("must hold: {}; probe {}, {compared}, backend {}", i.what, i.problem, i.backend)
            }
        }
    }

    pub fn reason(&self) -> &'a str {
        match self {
            Failure::Case(case) => &case.reason,
            Failure::Sweep(sweep) => &sweep.reason,
            Failure::Invariant(invariant) => &invariant.reason,
        }
    }

    /// The worst element; of a sweep the worst Ā and the worst B̄, as far as they fail.
    pub fn worst(&self) -> Vec<&'a Worst> {
        match self {
            Failure::Case(case) => case.worst.iter().collect(),
            Failure::Sweep(sweep) => {
                let failing = Coefficient::ALL.into_iter().filter(|c| c.failed(sweep));
                failing.filter_map(|c| c.worst(sweep)).collect()
            }
            Failure::Invariant(invariant) => invariant.worst.iter().collect(),
        }
    }

    pub fn diagnosis(&self) -> &'a [Diagnosis] {
        match self {
            Failure::Case(case) => &case.diagnosis,
            Failure::Sweep(sweep) => &sweep.diagnosis,
            Failure::Invariant(_) => &[],
        }
    }

    /// The command that reruns it; empty when the results have none.
    pub fn rerun(&self) -> &'a str {
        match self {
            Failure::Case(case) => &case.rerun,
            Failure::Sweep(sweep) => &sweep.rerun,
            Failure::Invariant(invariant) => &invariant.rerun,
        }
    }
}
