//! What failed, worst first, with everything that explains it.

use super::sweeps::Coefficient;
use super::{grid, precision};
use crate::judge::results::{CaseResult, CoefficientResult, Diagnosis, Results, Verdict, Worst};
use crate::method::Method;

/// A failed scan or a failed coefficient sweep.
#[derive(Clone, Copy, Debug)]
pub enum Failure<'a> {
    Case(&'a CaseResult),
    Sweep(&'a CoefficientResult),
}

/// Every failure. The worst of each method comes first, then the second worst of each, and so on: one broken
/// method must not hide another one behind its many regimes. Sweeps precede scans: wrong coefficients are
/// why a scan is wrong.
pub fn all(results: &Results) -> Vec<Failure<'_>> {
    let mut ranked: Vec<(usize, Failure)> = Vec::new();
    for method in Method::ALL {
        let sweeps = results.coefficients.iter().filter(|s| failed(s.verdict) && s.method == method);
        let mut cases: Vec<_> =
            results.cases.iter().filter(|c| failed(c.verdict) && c.method == method).collect();
        cases.sort_by(|a, b| grid::worse(a, b));
        ranked.extend(sweeps.map(Failure::Sweep).chain(cases.into_iter().map(Failure::Case)).enumerate());
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
        }
    }

    /// The case's id, or the sweep's name in the same style.
    pub fn title(&self) -> String {
        match self {
            Failure::Case(case) => case.id.clone(),
            Failure::Sweep(sweep) => {
                format!("coefficients/{}/{}/{}", sweep.sweep, sweep.weights, sweep.method)
            }
        }
    }

    /// What ran, beyond what the title says.
    pub fn detail(&self) -> String {
        match self {
            Failure::Case(case) => {
                format!("{}, {} elements judged, backend {}", case.shape, case.judged, case.backend)
            }
            Failure::Sweep(sweep) => format!("{} points, backend {}", sweep.points.len(), sweep.backend),
        }
    }

    pub fn reason(&self) -> &'a str {
        match self {
            Failure::Case(case) => &case.reason,
            Failure::Sweep(sweep) => &sweep.reason,
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
        }
    }

    /// Which bounds it is beyond, and truncation and rounding apart.
    pub fn precision(&self) -> Vec<String> {
        match self {
            Failure::Case(case) => precision::of_case(case),
            Failure::Sweep(sweep) => precision::of_sweep(sweep),
        }
    }

    pub fn diagnosis(&self) -> &'a [Diagnosis] {
        match self {
            Failure::Case(case) => &case.diagnosis,
            Failure::Sweep(_) => &[],
        }
    }

    /// The command that reruns it; empty when the results have none.
    pub fn rerun(&self) -> &'a str {
        match self {
            Failure::Case(case) => &case.rerun,
            Failure::Sweep(sweep) => &sweep.rerun,
        }
    }
}
