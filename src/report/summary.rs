//! The run in a few lines: its verdict, its totals, one line per method.

use super::sweeps::Coefficient;
use super::{grid, precision, text};
use crate::formula::Form;
use crate::problem::Weights;
use crate::results::{CaseResult, CoefficientResult, Results, Verdict};

/// Cases that judge outputs, and those that judge gradients.
pub fn cases<'a>(cases: impl IntoIterator<Item = &'a CaseResult> + Clone) -> [Totals; 2] {
    [false, true].map(|backward| {
        let of_pass = cases.clone().into_iter().filter(|case| case.is_backward() == backward);
        totals(of_pass.map(|case| case.verdict))
    })
}

/// The totals of a run's [`cases`], a line for each that there are any of, or one that says that there are none.
pub fn case_lines(results: &Results) -> Vec<String> {
    let lines = cases(&results.cases).into_iter().zip(["case", "backward case"]);
    let lines: Vec<_> =
        lines.filter(|(totals, _)| totals.all() > 0).map(|(totals, noun)| totals.text(noun)).collect();
    if lines.is_empty() { vec![Totals::default().text("case")] } else { lines }
}

/// How many of something passed, failed or were not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub pass: usize,
    pub fail: usize,
    pub unmeasured: usize,
}

pub fn totals(verdicts: impl Iterator<Item = Verdict>) -> Totals {
    let mut totals = Totals::default();
    for verdict in verdicts {
        match verdict {
            Verdict::Pass => totals.pass += 1,
            Verdict::Fail => totals.fail += 1,
            Verdict::Unmeasured => totals.unmeasured += 1,
        }
    }
    totals
}

/// Why cases, sweeps, invariants and lifted runs were not measured, each reason once with its count, the most frequent first.
pub fn unmeasured_reasons(results: &Results) -> Vec<(&str, usize)> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for (_, reason) in results.verdicts().filter(|(verdict, _)| *verdict == Verdict::Unmeasured) {
        let reason = if reason.is_empty() { "no reason given" } else { reason };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    reasons
}

/// One method over the whole run.
#[derive(Clone, Debug)]
pub struct MethodLine<'a> {
    pub method: Form,
    /// Counts of outputs, and of gradients.
    pub cases: [Totals; 2],
    pub sweeps: Totals,
    pub invariants: Totals,
    /// Of its cases, sweeps, invariants and lifted runs.
    pub verdict: Verdict,
    /// The worst measured case per weight type, in the order of [`Weights::ALL`]: of those that say something of the method
    /// ([`precision::says_nothing`]), as far as there are any.
    pub worst_case: [Option<&'a CaseResult>; 2],
    /// The sweep whose Ā or B̄ is worst, per weight type.
    pub worst_sweep: [Option<&'a CoefficientResult>; 2],
}

/// One line per method that the run used.
pub fn methods(results: &Results) -> Vec<MethodLine<'_>> {
    let probed = |m: &Form| results.invariants.iter().any(|i| i.method == *m);
    let used = |m: &Form| grid::methods(results).contains(m) || probed(m);
    Form::all().filter(used).map(|method| line(results, method)).collect()
}

fn line(results: &Results, method: Form) -> MethodLine<'_> {
    let cases: Vec<_> = results.cases.iter().filter(|c| c.method == method).collect();
    let sweeps: Vec<_> = results.coefficients.iter().filter(|c| c.method == method).collect();
    let measured = |weights: Weights| {
        cases.iter().copied().filter(move |c| c.weights == weights && c.verdict != Verdict::Unmeasured)
    };
    let sweep_severity = |sweep: &CoefficientResult| {
        Coefficient::nearest_its_bound(sweep).map_or(f64::NEG_INFINITY, |(_, share)| grid::severity(share))
    };
    let worst_sweep = |weights: Weights| {
        let measured = sweeps.iter().copied();
        measured.filter(|s| s.weights == weights && s.verdict != Verdict::Unmeasured).max_by(|a, b| {
            let failed = |s: &CoefficientResult| s.verdict == Verdict::Fail;
            failed(a).cmp(&failed(b)).then(sweep_severity(a).total_cmp(&sweep_severity(b)))
        })
    };
    let invariants: Vec<Verdict> =
        results.invariants.iter().filter(|i| i.method == method).map(|i| i.verdict).collect();
    let lifted = cases.iter().map(|c| &c.lifted).chain(sweeps.iter().map(|s| &s.lifted)).flatten();
    let judged = cases.iter().map(|c| c.verdict).chain(sweeps.iter().map(|s| s.verdict));
    let verdict = Verdict::of_all(judged.chain(lifted.map(|l| l.verdict)).chain(invariants.iter().copied()));
    MethodLine {
        method,
        cases: self::cases(cases.iter().copied()),
        sweeps: totals(sweeps.iter().map(|c| c.verdict)),
        invariants: totals(invariants.into_iter()),
        verdict,
        worst_case: Weights::ALL.map(|w| {
            // Derivatives that pass are off by their last rounding, which is most of what they may be.
            let is_rounded = |case: &CaseResult| case.has_no_scan() && case.verdict == Verdict::Pass;
            let silent = |case: &CaseResult| is_rounded(case) || precision::says_nothing(results, case);
            measured(w).min_by(|a, b| silent(a).cmp(&silent(b)).then_with(|| grid::worse(a, b)))
        }),
        worst_sweep: Weights::ALL.map(worst_sweep),
    }
}

/// The worst of a method and weight type.
#[derive(Clone, Copy, Debug)]
pub enum Worst<'a> {
    Case(&'a CaseResult),
    Sweep(&'a CoefficientResult, Coefficient),
}

impl<'a> MethodLine<'a> {
    /// The worst of its cases and sweeps, for the weight type at this place in [`Weights::ALL`], and its share.
    pub fn worst(&self, weights: usize) -> Option<(Worst<'a>, Option<f64>)> {
        let case = self.worst_case[weights].map(|case| (case.verdict, grid::share(case), Worst::Case(case)));
        let sweep = self.worst_sweep[weights].and_then(|sweep| {
            let (coefficient, share) = Coefficient::nearest_its_bound(sweep)?;
            Some((sweep.verdict, Some(share), Worst::Sweep(sweep, coefficient)))
        });
        let worst = case.into_iter().chain(sweep).min_by(|a, b| grid::by_severity((a.0, a.1), (b.0, b.1)));
        worst.map(|(_, share, worst)| (worst, share))
    }
}

impl Totals {
    pub fn all(self) -> usize {
        self.pass + self.fail + self.unmeasured
    }

    /// `N cases: N pass, N fail, N unmeasured`
    pub fn text(self, noun: &str) -> String {
        format!("{}: {}", text::count(self.all(), noun), self.counts())
    }

    /// `N pass, N fail, N unmeasured`
    pub fn counts(self) -> String {
        let Totals { pass, fail, unmeasured } = self;
        format!("{pass} pass, {fail} fail, {unmeasured} unmeasured")
    }
}
