//! The report for a terminal: at most 100 columns wide whatever the results (a single command-line argument
//! longer than that is left whole, so that it can be pasted). Returns text; printing is `main`'s.

use std::path::Path;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

use super::failures::{self, Failure};
use super::summary;
use super::sweeps::{self, Coefficient};
use super::{grid, invariants, pairs, precision, text};
use crate::method::Method;
use crate::results::{HeaderNote, Results, Verdict, Worst};

/// The widest line.
pub const WIDTH: usize = 100;
/// Failures that are explained; the rest are counted.
const EXPLAINED: usize = 10;
/// Failing pairs that are listed; the rest are counted.
const LISTED_PAIRS: usize = 6;
/// Reasons for not measuring that are listed.
const REASONS: usize = 5;

/// How much to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// One line: the verdict, and how many of what.
    Quiet,
    /// The first few of everything that fails.
    #[default]
    Normal,
    /// All that fails or could not be measured.
    Verbose,
}

impl Detail {
    /// How many of a list are shown that is cut at `normal` by default.
    fn most(self, normal: usize) -> usize {
        if self == Detail::Verbose { usize::MAX } else { normal }
    }
}

/// The whole console report: header, failures explained, verdict table, sweeps, pairs, totals, and where the
/// written report is. ANSI colours only when `colour`.
pub fn render(results: &Results, report: Option<&Path>, colour: bool) -> String {
    render_detail(results, report, colour, Detail::Normal)
}

/// The console report in more or less detail.
pub fn render_detail(results: &Results, report: Option<&Path>, colour: bool, detail: Detail) -> String {
    let mut parts = Vec::new();
    if detail == Detail::Quiet {
        parts.push(one_line(results));
    } else {
        parts.push(header(results));
        parts.extend(explained(results, detail));
        parts.extend(table(results));
        parts.extend(invariant_table(results));
        parts.push(closing(results, report, detail));
    }
    let text = parts.join("\n\n") + "\n";
    if colour { coloured(&text) } else { text }
}

/// `holdfast 0.1.0: PASS; 12/12 cases, 2/2 sweeps and 30/30 pairs pass`: of everything that was run, and of nothing else.
fn one_line(results: &Results) -> String {
    let sweeps = &results.coefficients;
    let lifted = results.cases.iter().map(|c| &c.lifted).chain(sweeps.iter().map(|s| &s.lifted)).flatten();
    let counts = [
        ("cases", summary::totals(results.cases.iter().map(|c| c.verdict))),
        ("sweeps", summary::totals(sweeps.iter().map(|s| s.verdict))),
        ("lifted runs", summary::totals(lifted.map(|l| l.verdict))),
        ("invariants", summary::totals(results.invariants.iter().map(|i| i.verdict))),
    ];
    let pairs = pairs::totals(results);
    let counts = counts.map(|(nouns, totals)| (nouns, totals.pass, totals.all()));
    let pairs = ("pairs", pairs.agreeing, pairs.agreeing + pairs.failing + pairs.unmeasured);
    let run = counts.into_iter().chain([pairs]).filter(|(_, _, all)| *all > 0);
    let mut run: Vec<String> = run.map(|(nouns, pass, all)| format!("{pass}/{all} {nouns}")).collect();
    let last = run.pop().map_or("nothing was run".to_owned(), |last| format!("{last} pass"));
    let counts = if run.is_empty() { last } else { format!("{} and {last}", run.join(", ")) };
    let verdict = text::verdict(results.verdict());
    format!("holdfast {}: {verdict}; {counts}", text::fit(&results.version, 20))
}

fn header(results: &Results) -> String {
    let field = |name: &str, value: &str| text::wrap(&format!("  {name:8} "), value, WIDTH);
    let mut lines = vec![
        format!("holdfast {}: {}", text::fit(&results.version, 40), text::verdict(results.verdict())),
        field("backend", &format!("{}, on {}", results.backend, results.device)),
        field("seed", &results.seed.to_string()),
    ];
    if !results.kernel_source.is_empty() {
        lines.push(field("kernels", &format!("sha256 {}", results.kernel_source)));
    }
    lines.push(text::wrap_command("  command  ", &results.command, WIDTH));
    lines.extend(results.header.as_ref().into_iter().flat_map(rejections));
    lines.join("\n")
}

/// What the compiler said of a header, for each weight type that it does not take.
fn rejections(header: &HeaderNote) -> Vec<String> {
    let mut lines = Vec::new();
    for instantiation in header.instantiations.iter().filter(|i| !i.compiles) {
        let what = format!("does not compile for {} weights:", instantiation.weights);
        lines.push(text::wrap(&format!("  {:8} ", "header"), &what, WIDTH));
        lines.extend(instantiation.lines.iter().map(|line| text::wrap("    ", line, WIDTH)));
    }
    lines
}

/// The failures, worst first; none when there are none.
fn explained(results: &Results, detail: Detail) -> Option<String> {
    let failures = failures::all(results);
    let most = detail.most(EXPLAINED);
    // What could not be run for one and the same reason is explained once.
    let mut distinct: Vec<&Failure> = Vec::new();
    for failure in &failures {
        let unlike = |other: &&Failure| {
            failure.reason().is_empty() || !failure.worst().is_empty() || other.reason() != failure.reason()
        };
        if distinct.len() == most {
            break;
        }
        if distinct.iter().all(unlike) {
            distinct.push(failure);
        }
    }
    let mut parts: Vec<String> = distinct.iter().map(|failure| explain(failure)).collect();
    if failures.len() > distinct.len() {
        let more = text::count(failures.len() - distinct.len(), "more failure");
        parts.push(format!(
            "and {more}: --verbose explains them all; or see the table below, the report, or --json"
        ));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn explain(failure: &Failure) -> String {
    let mut lines =
        vec![text::wrap("FAIL ", &failure.title(), WIDTH), text::wrap("     ", &failure.detail(), WIDTH)];
    if !failure.reason().is_empty() {
        lines.push(text::wrap("     ", failure.reason(), WIDTH));
    }
    lines.extend(failure.worst().into_iter().map(worst));
    lines.extend(failure.notes().iter().map(|line| text::wrap("     ", line, WIDTH)));
    if !failure.diagnosis().is_empty() {
        let names = failure.diagnosis().iter().take(3);
        let names: Vec<_> = names.map(text::diagnosis).collect();
        lines.push(text::wrap("     looks like ", &names.join(", or "), WIDTH));
    }
    if !failure.rerun().is_empty() {
        lines.push(text::wrap_command("     rerun ", failure.rerun(), WIDTH));
    }
    lines.join("\n")
}

fn worst(worst: &Worst) -> String {
    let value = |name: &str, value: f64, digits: usize, beside: &str| {
        format!("       {name:5} {:>15}  {}", text::number(value, digits), text::fit(beside, 60))
    };
    let mut lines = vec![
        text::wrap(
            "     worst ",
            &format!("{}: {}", text::element(worst), text::verdict_on_error(worst.ratio)),
            WIDTH,
        ),
        value("got", worst.got, 9, &worst.got_hex),
        value("want", worst.want, 9, &worst.want_hex),
        value("error", worst.error, 3, &format!("{} ulp", text::number(worst.ulp, 3))),
        value("bound", worst.bound, 3, "").trim_end().to_owned(),
    ];
    if !worst.inputs.is_empty() {
        lines.push(text::wrap("       from  ", &worst.inputs.join(", "), WIDTH));
    }
    lines.join("\n")
}

/// The verdict matrix and the coefficient sweeps in one table: both are read by method.
fn table(results: &Results) -> Option<String> {
    let methods = grid::methods(results);
    let mut rows: Vec<(String, String, Vec<String>)> = Vec::new();
    for row in grid::rows(results) {
        let cells = methods.iter().map(|m| row.cells[*m as usize].text()).collect();
        rows.push((row.regime.to_owned(), row.weights.to_string(), cells));
    }
    for row in sweeps::rows(results) {
        for coefficient in Coefficient::ALL {
            let cells = methods.iter().map(|m| coefficient.text(row.cells[*m as usize])).collect();
            rows.push((format!("{} {}", coefficient.symbol(), row.sweep), row.weights.to_string(), cells));
        }
    }
    if rows.is_empty() {
        return None;
    }
    let first =
        WIDTH - 10 - methods.iter().enumerate().map(|(i, m)| cell_width(&rows, i, *m) + 3).sum::<usize>();
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(comfy_table::LineStyle::none()));
    let mut header = vec!["regime".to_owned(), "weights".to_owned()];
    header.extend(methods.iter().map(|m| m.to_string()));
    table.set_header(header);
    for (regime, weights, cells) in rows {
        let mut row = vec![text::fit(&regime, first - 2), weights];
        row.extend(cells);
        table.add_row(row);
    }
    for index in 2..methods.len() + 2 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let legend = "worst share of the allowance used over the row's inputs and operands (1 is the bound)";
    Some(format!("{}\n {legend}", table.trim_fmt()))
}

fn cell_width(rows: &[(String, String, Vec<String>)], column: usize, method: Method) -> usize {
    let cells = rows.iter().map(|(_, _, cells)| cells[column].chars().count()).max().unwrap_or(0);
    cells.max(method.name().len())
}

/// The invariants by method, the worse of both weight types; none when none was probed.
fn invariant_table(results: &Results) -> Option<String> {
    let methods = invariants::methods(results);
    let rows = invariants::rows(results);
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(comfy_table::LineStyle::none()));
    let mut header = vec!["invariant".to_owned()];
    header.extend(methods.iter().map(|m| m.to_string()));
    table.set_header(header);
    for row in rows {
        let mut cells = vec![text::fit(row.name, 22)];
        cells.extend(methods.iter().map(|m| row.text(*m)));
        table.add_row(cells);
    }
    for index in 1..=methods.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let legend =
        "worst share of each invariant's own budget; exact: no difference was allowed, and there is none";
    Some(format!("{}\n {legend}", table.trim_fmt()))
}

/// Pairs, totals, and where the report is.
fn closing(results: &Results, report: Option<&Path>, detail: Detail) -> String {
    let mut lines = vec![pair_lines(results, detail)];
    lines.push(summary::totals(results.coefficients.iter().map(|c| c.verdict)).text("coefficient sweep"));
    if !results.invariants.is_empty() {
        lines.push(summary::totals(results.invariants.iter().map(|i| i.verdict)).text("invariant"));
    }
    lines.push(summary::totals(results.cases.iter().map(|c| c.verdict)).text("case"));
    lines.extend(precision::lifting(results).iter().map(|line| text::wrap("", line, WIDTH)));
    for line in precision::sensitivity(results) {
        lines.push(text::wrap("sensitivity, ", &line, WIDTH));
    }
    for (reason, count) in summary::unmeasured_reasons(results).into_iter().take(detail.most(REASONS)) {
        lines.push(text::wrap(&format!("  {count} unmeasured: "), reason, WIDTH));
    }
    if results.verdict() == Verdict::Unmeasured {
        lines.push("not everything was measured: this is not a pass (hint: holdfast doctor)".to_owned());
    }
    if let Some(path) = report {
        lines.push(format!("report: {}", path.display()));
    }
    lines.join("\n")
}

fn pair_lines(results: &Results, detail: Detail) -> String {
    let most = detail.most(LISTED_PAIRS);
    let totals = pairs::totals(results);
    if totals.problems == 0 {
        return "pairwise: not compared".to_owned();
    }
    let mut lines = vec![format!(
        "pairwise, {}: {} agree with the truth's differences, {} fail, {} unmeasured",
        text::count(totals.problems, "problem"),
        totals.agreeing,
        totals.failing,
        totals.unmeasured
    )];
    for (matrix, pair, truth) in pairs::failing(results).into_iter().take(most) {
        let truth = truth.map_or("?".to_owned(), |t| text::number(t.rel_l2, 3));
        let index: Vec<_> = pair.worst_index.iter().map(usize::to_string).collect();
        let line = format!(
            "{} vs {}: {}; rel L2 {}, truth {truth}, {} × bounds at [{}], in {} ({})",
            pair.left,
            pair.right,
            pairs::explain(pair.status),
            text::number(pair.rel_l2, 3),
            text::share(pair.ratio),
            index.join(", "),
            matrix.problem,
            matrix.source,
        );
        lines.push(text::wrap("  FAIL ", &line, WIDTH));
    }
    let listed = pairs::failing(results).len().min(most);
    if totals.failing > listed {
        lines.push(format!("  and {}", text::count(totals.failing - listed, "more failing pair")));
    }
    lines.join("\n")
}

/// Bold red and green on the words that matter.
pub(super) fn coloured(text: &str) -> String {
    text.replace("REGRESSION", "\u{1b}[1;31mREGRESSION\u{1b}[0m")
        .replace("WORSE", "\u{1b}[1;31mWORSE\u{1b}[0m")
        .replace("no regression", "\u{1b}[1;32mno regression\u{1b}[0m")
        .replace("FAIL", "\u{1b}[1;31mFAIL\u{1b}[0m")
        .replace(": PASS", ": \u{1b}[1;32mPASS\u{1b}[0m")
        .replace("UNMEASURED", "\u{1b}[1;33mUNMEASURED\u{1b}[0m")
}
