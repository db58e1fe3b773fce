//! Every case of the run in one table: a row for each problem, a column for each method.

use std::collections::HashSet;

use minijinja::{Value, context};

use super::anchors::Anchors;
use super::view;
use crate::report::{grid, groups, text};
use crate::results::{CaseResult, Results, Verdict};

/// The problems, those with a failure first, as many as fit into about so many bytes of the page; and the anchors
/// of the cases in them.
pub fn problems(results: &Results, anchors: &Anchors, bytes: usize) -> (Vec<Value>, HashSet<String>) {
    let mut problems = groups::by_key(&results.cases, |case| split(case).0);
    problems.sort_by_key(|(_, cases)| !cases.iter().any(|case| case.verdict == Verdict::Fail));
    let methods = grid::methods(results);
    let (mut left, mut views, mut shown) = (bytes, Vec::new(), HashSet::new());
    for (name, cases) in problems {
        let mut size = 120 + escaped_size(name);
        let mut anchored = Vec::new();
        let mut view = |case: &&CaseResult| {
            let anchor = anchors.case(&case.id).unwrap_or_default();
            let label = split(case).1.strip_prefix(case.method.name()).unwrap_or_default();
            let label = text::fit(label, 40);
            let title = case.worst.as_ref().map(|w| text::element(&w.tensor, &w.index)).unwrap_or_default();
            size += 130 + anchor.len() + escaped_size(&title) + escaped_size(&label);
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
        views.push(context! { problem => text::line(name), shape => cases[0].shape.to_string(), cells });
    }
    (views, shown)
}

/// `regime/weights/input/b-OPERAND/c-OPERAND` (or a recorded run's file) and `METHOD[.LABEL]`: at the id's last slash.
fn split(case: &CaseResult) -> (&str, &str) {
    case.id.rsplit_once('/').unwrap_or((&case.id, ""))
}

/// Bytes of the text on a page.
fn escaped_size(text: &str) -> usize {
    text.len() + 5 * text.bytes().filter(|b| b"<>&\"'/".contains(b)).count()
}
