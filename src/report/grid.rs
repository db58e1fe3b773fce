//! The verdict matrix: one row per regime or gradient and weight type, one column per method.

use super::{groups, text};
use crate::formula::Form;
use crate::problem::Weights;
use crate::results::{CaseResult, Results, Verdict};
use crate::tensor::{ComputedName, GradientName, TrapezoidalName};

/// One regime, or one gradient in all of them, with one weight type, over all forms in their order.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    pub name: &'a str,
    pub weights: Weights,
    pub cells: [Cell<'a>; Form::COUNT],
}

/// What is judged of one method in one row: of every input type and operand combination that ran.
#[derive(Clone, Debug, Default)]
pub struct Cell<'a> {
    pub judged: Vec<Judged<'a>>,
}

/// A case, or one tensor of it.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    pub case: &'a CaseResult,
    pub verdict: Verdict,
    /// The share of its allowance that it used; none when nothing was compared.
    pub share: Option<f64>,
}

/// The regimes in the order in which they first appear, real before complex: of cases, whatever they judge.
pub fn rows(results: &Results) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (regime, cases) in groups::by_key(&results.cases, |case| &*case.regime) {
        let mut of_weights = groups::by_key(cases, |case| case.weights);
        of_weights.sort_by_key(|(weights, _)| *weights);
        for (weights, cases) in of_weights {
            let all =
                cases.into_iter().map(|case| Judged { case, verdict: case.verdict, share: share(case) });
            rows.push(Row::new(regime, weights, all));
        }
    }
    rows
}

/// The gradients that any case has, in their order, real before complex.
pub fn gradients(results: &Results) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let of_any = GradientName::ALL.map(ComputedName::Gradient).into_iter();
    let of_trapezoidal = TrapezoidalName::ALL.map(ComputedName::Trapezoidal).into_iter();
    for name in of_any.chain(of_trapezoidal.filter(|name| name.name().starts_with("grad."))) {
        for weights in Weights::ALL {
            let cases = results.cases.iter().filter(|case| case.weights == weights);
            let mut all = cases.filter_map(|case| {
                let tensor = case.tensors.get(name)?;
                let share = tensor.worst.as_ref().map(|worst| worst.share);
                Some(Judged { case, verdict: tensor.verdict, share })
            });
            let Some(first) = all.next() else { continue };
            rows.push(Row::new(name.name(), weights, std::iter::once(first).chain(all)));
        }
    }
    rows
}

impl<'a> Row<'a> {
    fn new(name: &'a str, weights: Weights, all: impl Iterator<Item = Judged<'a>>) -> Row<'a> {
        let mut cells: [Cell; Form::COUNT] = Default::default();
        all.for_each(|judged| cells[judged.case.method.index()].judged.push(judged));
        Row { name, weights, cells }
    }

    /// Whether anything in it is of dense systems.
    pub fn is_dense(&self) -> bool {
        let mut judged = self.cells.iter().flat_map(|cell| &cell.judged);
        judged.any(|judged| judged.case.tensors.iter().any(|(tensor, _)| tensor.is_dense()))
    }
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
    /// What the cell shows: the worst failure, or the measured one with the largest share.
    pub fn worst(&self) -> Option<Judged<'a>> {
        let key = |judged: &Judged| (judged.verdict.max(Verdict::Unmeasured), judged.share);
        self.judged.iter().copied().min_by(|a, b| by_severity(key(a), key(b)))
    }

    /// Of all in it; none when nothing was asked for.
    pub fn verdict(&self) -> Option<Verdict> {
        (!self.judged.is_empty()).then(|| Verdict::of_all(self.judged.iter().map(|judged| judged.verdict)))
    }

    /// `0.41`, `FAIL 3e5`, `–` (unmeasured), `0.41 –` (some of the cases are), or nothing (not asked for).
    pub fn text(&self) -> String {
        let share = self.worst().and_then(|worst| worst.share);
        match (self.verdict(), share) {
            (None, _) => String::new(),
            (Some(Verdict::Unmeasured), Some(share)) => {
                format!("{} {}", text::share(share), text::UNMEASURED)
            }
            (Some(verdict), share) => text::outcome(verdict, share),
        }
    }
}
