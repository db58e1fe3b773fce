//! The verdicts as JUnit's XML, which services that run tests show: a suite each of cases, sweeps, invariants, functions and
//! pairs.
//!
//! What could not be measured is an error there, and never skipped: those services count a skip as a pass.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::failures::Failure;
use super::{ReportError, bench, functions, pairs, text};
use crate::results::functions::FunctionSummary;
use crate::results::{Results, Verdict};

/// The results as XML.
pub fn to_string(results: &Results) -> Result<String, ReportError> {
    let mut report = Report::new(format!("holdfast {}", results.backend));
    let cases = results.cases.iter().map(|case| (case.verdict, Failure::Case(case)));
    let sweeps = results.coefficients.iter().map(|sweep| (sweep.verdict, Failure::Sweep(sweep)));
    let laws = results.invariants.iter().map(|law| (law.verdict, Failure::Invariant(law)));
    let suites = [
        ("cases", cases.collect::<Vec<_>>()),
        ("coefficients", sweeps.collect()),
        ("invariants", laws.collect()),
    ];
    for (name, judged) in suites.into_iter().filter(|(_, judged)| !judged.is_empty()) {
        let mut suite = TestSuite::new(name);
        suite.add_test_cases(judged.into_iter().map(|(verdict, judged)| test_case(verdict, judged)));
        report.add_test_suite(suite);
    }
    let functions = functions::all(results);
    if !functions.is_empty() {
        let mut suite = TestSuite::new("functions");
        suite.add_test_cases(functions.iter().map(function));
        report.add_test_suite(suite);
    }
    if bench::is_of(results) {
        let mut suite = TestSuite::new("bench");
        let timings = results.bench.iter().map(|timed| (timed.id.clone(), timed.verdict, &timed.reason));
        let run = results.checks.iter().filter(|checked| !checked.skipped);
        let checks = run.map(|c| (format!("{}/{}", c.check, c.backend), c.verdict, &c.reason));
        suite.add_test_cases(timings.chain(checks).map(|(name, verdict, reason)| {
            let status = match verdict {
                Verdict::Pass => TestCaseStatus::success(),
                other => non_success(other, reason.clone()),
            };
            let mut case = TestCase::new(name, status);
            case.set_classname("holdfast.bench");
            case
        }));
        report.add_test_suite(suite);
    }
    let pairs: Vec<TestCase> =
        pairs::totals(results).iter().filter(|totals| totals.of.problems > 0).map(pairs_case).collect();
    if !pairs.is_empty() {
        let mut suite = TestSuite::new("pairs");
        suite.add_test_cases(pairs);
        report.add_test_suite(suite);
    }
    Ok(report.to_string()?)
}

fn function(of: &FunctionSummary) -> TestCase {
    let said: Vec<String> = functions::problems(of).into_iter().map(|(_, what)| what).collect();
    let status = match of.verdict {
        Verdict::Pass => TestCaseStatus::success(),
        other => non_success(other, said.join("; ")),
    };
    let mut case = TestCase::new(of.function.name(), status);
    case.set_classname("holdfast.functions");
    case
}

/// A verdict that is no pass, and why in a line.
fn non_success(verdict: Verdict, message: String) -> TestCaseStatus {
    let kind = if verdict == Verdict::Fail { NonSuccessKind::Failure } else { NonSuccessKind::Error };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(verdict.name()).set_message(message);
    status
}

fn pairs_case(of: &pairs::Totals) -> TestCase {
    let totals = of.of;
    let (kind, count) = match (totals.failing(), totals.unmeasured) {
        (0, unmeasured) => (NonSuccessKind::Error, unmeasured),
        (failing, _) => (NonSuccessKind::Failure, failing),
    };
    let status = match count {
        0 => TestCaseStatus::success(),
        count => {
            let mut status = TestCaseStatus::non_success(kind);
            status.set_message(format!(
                "{count} of {} {} of methods do not agree with the truth's differences",
                totals.all(),
                of.nouns
            ));
            status
        }
    };
    let mut case = TestCase::new(of.nouns, status);
    case.set_classname("holdfast.pairs");
    case
}

fn test_case(verdict: Verdict, judged: Failure) -> TestCase {
    let status = match judged.verdict_with_lifted(verdict) {
        Verdict::Pass => TestCaseStatus::success(),
        other => {
            let mut status = non_success(other, judged.in_a_line());
            status.set_description(description(judged));
            status
        }
    };
    let mut case = TestCase::new(judged.title(), status);
    case.set_classname(format!("holdfast.{}", judged.method()));
    case
}

/// What the console says of a failure, without the drawing.
fn description(judged: Failure) -> String {
    let mut lines = vec![judged.detail()];
    lines.extend(judged.worst().into_iter().map(text::worst));
    lines.extend(judged.notes());
    lines.extend(
        judged.diagnosis().iter().map(|diagnosis| format!("looks like {}", text::diagnosis(diagnosis))),
    );
    if !judged.rerun().is_empty() {
        lines.push(format!("rerun {}", judged.rerun()));
    }
    lines.join("\n")
}
