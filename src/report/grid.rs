//! The verdict matrix: one row per regime and weight type, one column per method.

use super::{groups, text};
use crate::formula::Form;
use crate::problem::Weights;
use crate::results::{CaseResult, Results, Verdict};

/// One regime with one weight type, over all forms in their order.
#[derive(Clone, Debug)]
pub struct RegimeRow<'a> {
    pub regime: &'a str,
    pub weights: Weights,
    pub cells: [Cell<'a>; Form::COUNT],
}

/// The cases of one method in one row: every input type and operand combination that ran.
#[derive(Clone, Debug, Default)]
pub struct Cell<'a> {
    pub cases: Vec<&'a CaseResult>,
}

/// The rows in the order in which the regimes first appear, real before complex.
pub fn rows(results: &Results) -> Vec<RegimeRow<'_>> {
    let mut rows = Vec::new();
    for (regime, cases) in groups::by_key(&results.cases, |case| &*case.regime) {
        let mut of_weights = groups::by_key(cases, |case| case.weights);
        of_weights.sort_by_key(|(weights, _)| *weights);
        for (weights, cases) in of_weights {
            let mut row = RegimeRow { regime, weights, cells: Default::default() };
            cases.into_iter().for_each(|case| row.cells[case.method.index()].cases.push(case));
            rows.push(row);
        }
    }
    rows
}

/// The methods, and the textbook forms, that any case of the run used, in their order.
pub fn methods(results: &Results) -> Vec<Form> {
    let used = |m: &Form| {
        results.cases.iter().any(|c| c.method == *m) || results.coefficients.iter().any(|c| c.method == *m)
    };
    Form::all().filter(used).collect()
}

/// The ratio as a sort key, by [`f64::total_cmp`]: a NaN is worse than any number.
pub fn severity(ratio: f64) -> f64 {
    if ratio.is_nan() { f64::NAN } else { ratio }
}

/// The order of the worst first, of verdicts and shares of an allowance: the worst verdict, among failures those that
/// produced nothing to compare, then by share.
pub fn by_severity(a: (Verdict, Option<f64>), b: (Verdict, Option<f64>)) -> std::cmp::Ordering {
    let share = |(verdict, share): (Verdict, Option<f64>)| match (share, verdict) {
        (Some(share), _) => severity(share),
        (None, Verdict::Fail) => f64::NAN,
        (None, _) => f64::NEG_INFINITY,
    };
    b.0.cmp(&a.0).then(share(b).total_cmp(&share(a)))
}

/// The share of its allowance that the case used; none when nothing was compared.
pub fn share(case: &CaseResult) -> Option<f64> {
    case.worst.as_ref().map(|worst| worst.share)
}

/// The order of the worst first, where a case that passes and one that was not measured count alike.
pub fn worse(a: &CaseResult, b: &CaseResult) -> std::cmp::Ordering {
    let key = |case: &CaseResult| (case.verdict.max(Verdict::Unmeasured), share(case));
    by_severity(key(a), key(b))
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
