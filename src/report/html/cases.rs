//! Every case of the run in one table: a row for each problem, a column for each method.

use serde::Serialize;

use super::anchors::Anchors;
use crate::report::{grid, text};
use crate::results::{CaseResult, Results, Verdict};

#[derive(Serialize)]
pub struct ProblemView {
    /// The cases' id without the method.
    problem: String,
    shape: String,
    /// One for each method that ran; recorded runs may have several of one method.
    methods: Vec<Vec<CaseView>>,
}

#[derive(Serialize)]
pub struct CaseView {
    pub anchor: String,
    class: String,
    share: String,
    ulp: String,
    label: String,
    title: String,
}

/// The problems, those with a failure first, as many as fit into about so many bytes of the page; and the anchors
/// of the cases in them.
pub fn problems(results: &Results, anchors: &Anchors, bytes: usize) -> (Vec<ProblemView>, Vec<String>) {
    let mut problems: Vec<(&str, Vec<&CaseResult>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for case in &results.cases {
        let name = problem_of(case);
        let place = *places.entry(name).or_insert_with(|| {
            problems.push((name, Vec::new()));
            problems.len() - 1
        });
        problems[place].1.push(case);
    }
    problems.sort_by_key(|(_, cases)| !cases.iter().any(|case| case.verdict == Verdict::Fail));
    let methods = grid::methods(results);
    let (mut left, mut views, mut shown) = (bytes, Vec::new(), Vec::new());
    for (name, cases) in problems {
        let of = |m| cases.iter().filter(|case| case.method == m).map(|case| view(case, anchors)).collect();
        let view = ProblemView {
            problem: text::line(name),
            shape: cases[0].shape.to_string(),
            methods: methods.iter().map(|&m| of(m)).collect(),
        };
        let size = |c: &CaseView| 130 + c.anchor.len() + escaped_size(&c.title) + escaped_size(&c.label);
        let row = 120 + escaped_size(name) + view.methods.iter().flatten().map(size).sum::<usize>();
        let Some(rest) = left.checked_sub(row) else { break };
        left = rest;
        shown.extend(view.methods.iter().flatten().map(|case| case.anchor.clone()));
        views.push(view);
    }
    (views, shown)
}

/// `regime/weights/input/b-OPERAND/c-OPERAND`, or a recorded run's file: the id up to its last slash.
fn problem_of(case: &CaseResult) -> &str {
    case.id.rsplit_once('/').map_or(&*case.id, |(problem, _)| problem)
}

fn view(case: &CaseResult, anchors: &Anchors) -> CaseView {
    let share = grid::share(case).map(text::share);
    let class = match (case.verdict, grid::share(case)) {
        (Verdict::Pass, Some(share)) if share > 0.8 => "near",
        (Verdict::Pass, Some(share)) if share > 0.4 => "half",
        (Verdict::Pass, _) => "low",
        (verdict, _) => text::verdict_class(verdict),
    };
    let share = match case.verdict {
        Verdict::Fail => format!("FAIL {}", share.unwrap_or_default()).trim_end().to_owned(),
        Verdict::Unmeasured => text::UNMEASURED.to_owned(),
        Verdict::Pass => share.unwrap_or_else(|| "pass".to_owned()),
    };
    let label = case.id.rsplit_once('/').map_or("", |(_, last)| last);
    let label = label.strip_prefix(case.method.name()).unwrap_or_default();
    CaseView {
        anchor: anchors.case(&case.id).unwrap_or_default().to_owned(),
        class: class.to_owned(),
        share,
        ulp: if case.verdict == Verdict::Unmeasured { String::new() } else { text::number(case.max_ulp, 2) },
        label: text::fit(label, 40),
        title: case.worst.as_ref().map(text::element).unwrap_or_default(),
    }
}

/// Bytes of the text on a page.
fn escaped_size(text: &str) -> usize {
    text.len() + 5 * text.bytes().filter(|b| b"<>&\"'/".contains(b)).count()
}
