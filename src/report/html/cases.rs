//! Every case of the run in one table, a row for each problem and a column for each method; and the names of the page's
//! places: `case-…` from a case's id, unique and fit for an address.

use std::collections::{HashMap, HashSet};

use minijinja::{Value, context};

use super::view;
use crate::problem::Weights;
use crate::report::failures::Failure;
use crate::report::text::{self, slug};
use crate::report::{grid, groups};
use crate::results::{BACKWARD, CaseResult, Results, Verdict};

/// The anchors of the run's cases, and of the failures that the page explains.
pub struct Anchors {
    by_id: HashMap<String, String>,
    explained: HashMap<String, String>,
}

impl Anchors {
    pub fn new(results: &Results) -> Anchors {
        let (mut by_id, mut taken) = (HashMap::new(), HashSet::new());
        for case in &results.cases {
            let slug = format!("case-{}", slug(&case.id));
            let mut anchor = slug.clone();
            for n in 2.. {
                if taken.insert(anchor.clone()) {
                    break;
                }
                anchor = format!("{slug}-{n}");
            }
            by_id.entry(case.id.clone()).or_insert(anchor);
        }
        Anchors { by_id, explained: HashMap::new() }
    }

    /// Without the cases whose anchors `shown` lacks: no link may lead to a place that is not on the page.
    pub fn retain(&mut self, shown: &HashSet<String>) {
        self.by_id.retain(|_, anchor| shown.contains(anchor));
    }

    /// Gives these failures their anchors, `fail-1` and so on.
    pub fn explain(&mut self, failures: &[Failure]) {
        for (i, failure) in failures.iter().enumerate() {
            self.explained.entry(failure.title()).or_insert_with(|| format!("fail-{}", i + 1));
        }
    }

    /// The anchor of the case with this id; none for an unknown id.
    pub fn case(&self, id: &str) -> Option<&str> {
        self.by_id.get(id).map(String::as_str)
    }

    /// A link to where a failure is explained; empty where it passes, or where there are too many.
    pub fn link(&self, failure: Failure) -> String {
        link(self.explained.get(&failure.title()).map(String::as_str))
    }

    /// A link to where a case is explained, or else to its place among all cases.
    pub fn case_link(&self, case: &CaseResult) -> String {
        let explained = self.explained.get(&case.id).map(String::as_str);
        link(explained.or_else(|| self.case(&case.id)))
    }
}

fn link(anchor: Option<&str>) -> String {
    anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default()
}

/// The rows of a sweep: the first one of the two.
pub fn sweep_anchor(name: &str, weights: Weights) -> String {
    format!("sweep-{}-{weights}", slug(name))
}

/// The problems, those with a failure first, as many as fit into about so many bytes of the page; and the anchors
/// of the cases in them.
pub fn problems(results: &Results, anchors: &Anchors, bytes: usize) -> (Vec<Value>, HashSet<String>) {
    let mut problems = groups::by_key(&results.cases, |case| {
        let (problem, _, is_backward) = split(case);
        (problem, is_backward)
    });
    problems.sort_by_key(|(_, cases)| !cases.iter().any(|case| case.verdict == Verdict::Fail));
    let methods = grid::methods(results);
    let (mut left, mut views, mut shown) = (bytes, Vec::new(), HashSet::new());
    for ((name, is_backward), cases) in problems {
        let mut size = 140 + escaped_size(name) + escaped_size(&cases[0].regime);
        let mut anchored = Vec::new();
        let mut view = |case: &&CaseResult| {
            let anchor = anchors.case(&case.id).unwrap_or_default();
            let label = split(case).1.strip_prefix(case.method.name()).unwrap_or_default();
            let label = text::fit(label, 40);
            let title = case.worst.as_ref().map(|w| text::element(&w.tensor, &w.index)).unwrap_or_default();
            size += 137 + anchor.len() + escaped_size(&title) + escaped_size(&label);
            anchored.push(anchor.to_owned());
            let measured = case.verdict != Verdict::Unmeasured;
            context! {
                anchor,
                class => match case.verdict {
                    Verdict::Pass => view::headroom(grid::share(case)),
                    verdict => verdict.name(),
                },
                share => text::outcome(case.verdict, grid::share(case)),
                ulp => if measured { text::number(case.max_ulp, 2) } else { String::new() },
                label,
                title,
            }
        };
        // One cell for each method that ran; recorded runs may have several cases of one method in it.
        let mut cell = |m| cases.iter().filter(|case| case.method == m).map(&mut view).collect::<Vec<_>>();
        let cells: Vec<_> = methods.iter().map(|&m| cell(m)).collect();
        let Some(rest) = left.checked_sub(size) else { break };
        left = rest;
        shown.extend(anchored);
        let (regime, shape) = (text::line(&cases[0].regime), cases[0].shape.to_string());
        let pass = if is_backward { BACKWARD } else { "" };
        views.push(context! { problem => text::line(name) + pass, regime, shape, cells });
    }
    (views, shown)
}

/// `regime/weights/input/b-OPERAND/c-OPERAND` (or a recorded run's file), `METHOD[.LABEL]`, and whether it is a backward pass:
/// what stands behind the last slash of the rest says the method.
fn split(case: &CaseResult) -> (&str, &str, bool) {
    let forward = case.id.strip_suffix(BACKWARD);
    let id = forward.unwrap_or(&case.id);
    let (problem, method) = id.rsplit_once('/').unwrap_or((id, ""));
    (problem, method, forward.is_some())
}

/// Bytes of the text on a page.
fn escaped_size(text: &str) -> usize {
    text.len() + 5 * text.bytes().filter(|b| b"<>&\"'/".contains(b)).count()
}
