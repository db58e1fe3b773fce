//! What GitHub's workflows show of a run: a summary in Markdown, and annotations.

use super::failures::{self, Failure};
use super::markdown::{code, escape};
use super::{bench, causes, functions, summary, text};
use crate::results::Results;

/// Annotations for a run; the service shows ten of a step.
const ANNOTATIONS: usize = 10;

/// The verdict, what is wrong, and a line for each method: for the page of the workflow's run.
pub fn summary(results: &Results) -> String {
    let mut lines = vec![format!("### holdfast: {}", text::run_verdict(results)), String::new()];
    lines.push(format!(
        "{} on {}, {}",
        code(&results.command),
        escape(&results.backend),
        escape(&text::device(results))
    ));
    let wrong = causes::lines(results);
    if !wrong.is_empty() {
        lines.extend([
            String::new(),
            "| fails | how much | looks like |".to_owned(),
            "|---|---|---|".to_owned(),
        ]);
        let rows = wrong.iter().map(|line| {
            let looks_like = if line.looks_like.is_empty() { "–" } else { &line.looks_like };
            format!("| {} | {} | {} |", escape(&line.title), escape(&line.failing), escape(looks_like))
        });
        lines.extend(rows);
    }
    let swept = functions::problem_lines(results);
    if !swept.is_empty() {
        lines.push(String::new());
        lines.extend(swept.iter().map(|line| format!("- {}", escape(line))));
    }
    if bench::is_of(results) {
        let [timings, checks] = bench::totals(results);
        lines.extend([String::new(), timings.text("timing")]);
        lines.extend((checks.all() > 0).then(|| checks.text("check")));
        return lines.join("\n") + "\n\n";
    }
    if !results.functions.is_empty() {
        lines.extend([String::new(), functions::totals(results).text("function")]);
        return lines.join("\n") + "\n\n";
    }
    lines.extend([
        String::new(),
        "| method | verdict | cases | backward cases | sweeps | invariants |".to_owned(),
    ]);
    lines.push("|---|---|---|---|---|---|".to_owned());
    for line in summary::methods(results) {
        let of = |totals: summary::Totals| format!("{}/{} pass", totals.pass, totals.all());
        let [cases, backward] = line.cases;
        let counts = [cases, backward, line.sweeps, line.invariants].map(of).join(" | ");
        lines.push(format!("| {} | {} | {counts} |", line.method, text::verdict(line.verdict)));
    }
    lines.join("\n") + "\n\n"
}

/// One line for each method that fails, for what else fails, and for why something was not measured, in the form that the
/// service reads from the program's output.
pub fn annotations(results: &Results) -> String {
    let lines = causes::lines(results);
    let said = |line: &causes::Line| match line.looks_like.as_str() {
        "" => line.failing.clone(),
        cause => format!("{}: {cause}", line.failing),
    };
    let mut found: Vec<(String, String)> =
        lines.iter().map(|line| (line.title.clone(), said(line))).collect();
    let covered = |failure: &Failure| {
        let of = format!("{}, ", failure.method());
        !matches!(failure, Failure::Invariant(_)) && lines.iter().any(|line| line.title.starts_with(&of))
    };
    let others = failures::all(results).into_iter().filter(|failure| !covered(failure));
    found.extend(others.map(|failure| (failure.title(), failure.in_a_line())));
    found.extend(
        functions::problem_lines(results).into_iter().map(|line| ("holdfast sweep".to_owned(), line)),
    );
    let unmeasured = summary::unmeasured_reasons(results).into_iter();
    found.extend(unmeasured.map(|(reason, count)| (format!("{count} unmeasured"), reason.to_owned())));
    let lines = found.into_iter().take(ANNOTATIONS);
    lines.map(|(title, said)| format!("::error title={}::{}\n", property(&title), message(&said))).collect()
}

/// As the service wants it: <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
