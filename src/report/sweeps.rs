//! The coefficient sweeps in rows: Ā and B̄ of the methods over one sweep of z.

use super::{grid, text};
use crate::formula::Form;
use crate::method::Method;
use crate::problem::Weights;
use crate::results::{CoefficientPoint, CoefficientResult, Results, Verdict, Worst};

/// One sweep over all forms in their order, of which methods have any.
#[derive(Clone, Debug)]
pub struct SweepRow<'a> {
    pub sweep: &'a str,
    pub weights: Weights,
    pub cells: [Option<&'a CoefficientResult>; Form::COUNT],
}

named! {
    /// The two coefficients of a step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Coefficient {
        ABar => "Ā",
        BBar => "B̄",
    }
}

/// The rows in the order in which the sweeps first appear.
pub fn rows(results: &Results) -> Vec<SweepRow<'_>> {
    let mut rows: Vec<SweepRow> = Vec::new();
    for result in &results.coefficients {
        let free = |row: &SweepRow| {
            row.sweep == result.sweep
                && row.weights == result.weights
                && row.cells[Form::from(result.method).index()].is_none()
        };
        let position = rows.iter().position(free).unwrap_or_else(|| {
            rows.push(SweepRow { sweep: &result.sweep, weights: result.weights, cells: Default::default() });
            rows.len() - 1
        });
        rows[position].cells[Form::from(result.method).index()] = Some(result);
    }
    rows
}

/// The points of each method's sweeps of one weight type; without the methods that have none.
pub fn points(results: &Results, weights: Weights) -> Vec<(Method, Vec<CoefficientPoint>)> {
    let sweeps =
        |m: Method| results.coefficients.iter().filter(move |s| (s.weights, s.method) == (weights, m));
    let points = |m: Method| (m, sweeps(m).flat_map(|s| &s.points).copied().collect());
    Method::ALL.into_iter().map(points).filter(|(_, points): &(_, Vec<_>)| !points.is_empty()).collect()
}

/// Whether an error is larger than another one; a NaN is larger than any.
pub fn is_larger(error: f64, than: f64) -> bool {
    !than.is_nan() && (error.is_nan() || error > than)
}

impl Coefficient {
    /// That of Ā, or that of B̄.
    fn of<T>(self, [a_bar, b_bar]: [T; 2]) -> T {
        if self == Coefficient::ABar { a_bar } else { b_bar }
    }

    pub fn worst(self, result: &CoefficientResult) -> Option<&Worst> {
        self.of([&result.worst_a_bar, &result.worst_b_bar]).as_ref()
    }

    /// Its error at one point of a sweep, in the unit that [`CoefficientPoint`] documents.
    pub fn error(self, point: &CoefficientPoint) -> f64 {
        self.of([point.a_bar_ulp, point.b_bar_ulp])
    }

    /// What it may be off there, in the same unit.
    pub fn allowed(self, point: &CoefficientPoint) -> f64 {
        self.of([point.a_bar_allowed, point.b_bar_allowed])
    }

    /// The point of a sweep with the largest such error; none without points.
    pub fn largest(self, result: &CoefficientResult) -> Option<&CoefficientPoint> {
        let larger = |a, b| if is_larger(self.error(b), self.error(a)) { b } else { a };
        result.points.iter().reduce(larger)
    }

    /// The one of both that is nearer its bound in a sweep, with its share.
    pub fn nearest_its_bound(result: &CoefficientResult) -> Option<(Coefficient, f64)> {
        let shares = Coefficient::ALL.into_iter().filter_map(|c| Some((c, c.worst(result)?.ratio)));
        shares.max_by(|a, b| grid::severity(a.1).total_cmp(&grid::severity(b.1)))
    }

    /// Of this coefficient alone: of a sweep that fails, whether this one is (one of those) to blame.
    pub fn verdict(self, result: &CoefficientResult) -> Verdict {
        let over = |c: Coefficient| c.worst(result).is_some_and(|w| w.ratio.is_nan() || w.ratio > 1.0);
        match result.verdict {
            Verdict::Fail if !over(self) && Coefficient::ALL.into_iter().any(over) => Verdict::Pass,
            verdict => verdict,
        }
    }

    /// `0.41`, `FAIL 3e5`, `–` (unmeasured), or nothing (not asked for).
    pub fn text(self, result: Option<&CoefficientResult>) -> String {
        result.map_or_else(String::new, |result| {
            text::outcome(self.verdict(result), self.worst(result).map(|w| w.ratio))
        })
    }
}
