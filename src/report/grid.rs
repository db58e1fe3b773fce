//! The verdict matrix: one row per regime and weight type, one column per method.

use super::text;
use crate::method::Method;
use crate::problem::Weights;
use crate::results::{CaseResult, Results, Verdict};

/// One regime with one weight type, over the methods in the order of their ids.
#[derive(Clone, Debug)]
pub struct RegimeRow<'a> {
    pub regime: &'a str,
    pub weights: Weights,
    pub cells: [Cell<'a>; Method::ALL.len()],
}

/// The cases of one method in one row: every input type and operand combination that ran.
#[derive(Clone, Debug, Default)]
pub struct Cell<'a> {
    pub cases: Vec<&'a CaseResult>,
}

/// The rows in the order in which the regimes first appear, real before complex.
pub fn rows(results: &Results) -> Vec<RegimeRow<'_>> {
    let mut regimes: Vec<(&str, Vec<RegimeRow>)> = Vec::new();
    for case in &results.cases {
        let position = regimes.iter().position(|(name, _)| *name == case.regime).unwrap_or_else(|| {
            regimes.push((&case.regime, Vec::new()));
            regimes.len() - 1
        });
        let rows = &mut regimes[position].1;
        let row = rows.iter().position(|row| row.weights == case.weights).unwrap_or_else(|| {
            rows.push(RegimeRow { regime: &case.regime, weights: case.weights, cells: Default::default() });
            rows.len() - 1
        });
        rows[row].cells[case.method as usize].cases.push(case);
    }
    for (_, rows) in &mut regimes {
        rows.sort_by_key(|row| row.weights);
    }
    regimes.into_iter().flat_map(|(_, rows)| rows).collect()
}

/// The methods that any case of the run used, in the order of their ids.
pub fn methods(results: &Results) -> Vec<Method> {
    let used = |m: &Method| {
        results.cases.iter().any(|c| c.method == *m) || results.coefficients.iter().any(|c| c.method == *m)
    };
    Method::ALL.into_iter().filter(used).collect()
}

/// The ratio as a sort key: a NaN is worse than any number.
pub fn severity(ratio: f64) -> (bool, f64) {
    (ratio.is_nan(), if ratio.is_nan() { 0.0 } else { ratio })
}

/// The share of its allowance that the case used; none when nothing was compared.
pub fn share(case: &CaseResult) -> Option<f64> {
    case.worst.as_ref().map(|worst| worst.share)
}

/// The order of the worst first: failures, among them those that produced nothing to compare, then by ratio.
pub fn worse(a: &CaseResult, b: &CaseResult) -> std::cmp::Ordering {
    let key = |case: &CaseResult| {
        let failed = case.verdict == Verdict::Fail;
        let (nan, share) = share(case).map_or((failed, f64::NEG_INFINITY), severity);
        (failed, nan, share)
    };
    let (a, b) = (key(a), key(b));
    (b.0, b.1).cmp(&(a.0, a.1)).then(b.2.total_cmp(&a.2))
}

impl<'a> Cell<'a> {
    /// The case that the cell shows: the worst failure, or the measured one with the largest ratio.
    pub fn worst(&self) -> Option<&'a CaseResult> {
        self.cases.iter().copied().min_by(|a, b| worse(a, b))
    }

    /// Of all its cases; none when no case was asked for.
    pub fn verdict(&self) -> Option<Verdict> {
        (!self.cases.is_empty()).then(|| Verdict::of_all(self.cases.iter().map(|case| case.verdict)))
    }

    /// `0.41`, `FAIL 3e5`, `–` (unmeasured), `0.41 –` (some of the cases are), or nothing (not asked for).
    pub fn text(&self) -> String {
        let share = self.worst().and_then(share);
        match (self.verdict(), share) {
            (None, _) => String::new(),
            (Some(Verdict::Unmeasured), Some(share)) => {
                format!("{} {}", text::share(share), text::UNMEASURED)
            }
            (Some(verdict), share) => text::outcome(verdict, share),
        }
    }
}
