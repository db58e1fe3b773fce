//! The report for a terminal: at most 100 columns wide whatever the results (a single command-line argument
//! longer than that is left whole, so that it can be pasted). Returns text; printing is `main`'s.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

use super::failures::{self, Failure, SHOWN};
use super::{bench, causes, functions, grid, invariants, pairs, precision, summary, tables, template, text};
use crate::formula::Form;
use crate::results::causes::{Cause, of as causes_of};
use crate::results::explained::chosen;
use crate::results::{HeaderInstantiation, Results, Search, Verdict, Worst};

/// The widest line, and the narrowest that lines are broken for.
pub const WIDTH: usize = 100;
pub const NARROWEST: usize = 60;
/// What a line has beside the columns of methods.
const BESIDE_COLUMNS: usize = 28;
/// Failures that are explained; the rest are counted.
const EXPLAINED: usize = 10;
/// Failing pairs that are listed; the rest are counted.
const LISTED_PAIRS: usize = 6;
/// Reasons for not measuring that are listed.
const REASONS: usize = 5;

static CHOSEN: OnceLock<usize> = OnceLock::new();

/// How wide lines are: [`WIDTH`], unless the program has found a narrower terminal.
pub fn width() -> usize {
    *CHOSEN.get().unwrap_or(&WIDTH)
}

/// Fits all lines into a terminal of so many columns, as far as they can be; to be called once, at the program's start.
pub fn fit_into(columns: usize) {
    // A second call would be a program that changes its mind: the first one holds.
    let _ = CHOSEN.set(columns.clamp(NARROWEST, WIDTH));
}

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

/// What is shown beside the results, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct View<'a> {
    /// Where the written report is.
    pub report: Option<&'a Path>,
    /// Whole lines on the run.
    pub notes: &'a str,
    pub took: Option<Duration>,
    pub colour: bool,
    pub detail: Detail,
}

/// The whole console report: what ran, what is wrong, the failures explained, verdict tables, totals, where the written
/// report is, and in the last line the verdict.
pub fn render(results: &Results, report: Option<&Path>, colour: bool) -> String {
    render_view(results, View { report, colour, ..View::default() })
}

pub fn render_view(results: &Results, view: View) -> String {
    let detail = view.detail;
    let mut parts = Vec::new();
    if detail != Detail::Quiet {
        parts.push(header(results));
        parts.extend(wrong(results));
        parts.extend(explained(results, detail, view.report.is_some()));
        parts.extend(verdict_tables(results));
        parts.extend(invariant_table(results));
        parts.extend(function_table(results));
        parts.extend(bench_tables(results));
        parts.extend(Some(closing(results, detail)).filter(|text| !text.is_empty()));
        let mut notes = view.notes.to_owned();
        if let Some(path) = view.report {
            notes += &format!("report: {}\n", path.display());
        }
        parts.extend((!notes.is_empty()).then(|| notes.trim_end().to_owned()));
    }
    let name = format!("holdfast {}: {}", text::fit(&results.version, 20), text::run_verdict(results));
    let counts = counts(results);
    parts.push(match (detail, view.took) {
        // A line that scripts compare says the same in every run.
        (Detail::Quiet, _) => format!("{name}; {counts}"),
        (_, None) => format!("{}\n{name}", text::wrap("", &counts, width())),
        (_, Some(took)) => {
            format!("{}\n{name}, in {}", text::wrap("", &counts, width()), text::duration(took))
        }
    });
    let text = parts.join("\n\n") + "\n";
    if view.colour { coloured(&text) } else { text }
}

/// What was timed, table by table, and what it comes to; nothing where nothing was.
fn bench_tables(results: &Results) -> Vec<String> {
    let groups = bench::groups(results);
    let lines =
        |lines: Vec<String>| lines.iter().map(|line| text::wrap("  ", line, width())).collect::<Vec<_>>();
    let paragraph = |text: Vec<String>| (!text.is_empty()).then(|| lines(text).join("\n"));
    let mut parts = Vec::from_iter(paragraph(bench::machines(results)));
    let last = groups.len();
    for (place, group) in groups.into_iter().enumerate() {
        let legend = if place + 1 == last { bench::LEGEND } else { "" };
        let rows = group.rows.into_iter().map(|row| row.cells);
        parts.push(format!("{}\n{}", group.title, lined(&group.columns, rows, 1, legend).trim_end()));
    }
    parts.extend(paragraph(bench::unmeasured(results)));
    parts.extend(paragraph(bench::uncertain(results).into_iter().collect()));
    parts.extend(paragraph(bench::against(results)));
    parts.extend(paragraph(bench::scaling(results)));
    let check = |row: bench::CheckRow| {
        let name = format!("{:10} {:14} ", row.verdict.to_uppercase(), row.name);
        text::wrap(&name, &format!("{}: {}", row.backend, row.reason), width())
    };
    let checks: Vec<String> = bench::checks(results).into_iter().map(check).collect();
    parts.extend((!checks.is_empty()).then(|| checks.join("\n")));
    parts
}

/// `12/12 cases, 2/2 sweeps and 30/30 pairs pass`: of everything that was run, and of nothing else.
fn counts(results: &Results) -> String {
    let sweeps = &results.coefficients;
    let [forward, backward] = summary::cases(&results.cases);
    let [timings, checks] = bench::totals(results);
    let counts = [
        ("cases", forward),
        ("backward cases", backward),
        ("sweeps", summary::totals(sweeps.iter().map(|s| s.verdict))),
        ("lifted runs", summary::totals(results.lifted().map(|l| l.verdict))),
        ("invariants", summary::totals(results.invariants.iter().map(|i| i.verdict))),
        ("functions", functions::totals(results)),
        ("timings", timings),
        ("checks", checks),
    ];
    let counts = counts.map(|(nouns, totals)| (nouns, totals.pass, totals.all()));
    let pairs =
        pairs::totals(results).into_iter().map(|totals| (totals.nouns, totals.of.agree, totals.of.all()));
    let run = counts.into_iter().chain(pairs).filter(|(_, _, all)| *all > 0);
    let mut run: Vec<String> = run.map(|(nouns, pass, all)| format!("{pass}/{all} {nouns}")).collect();
    let verb = if bench::is_timed_only(results) { "taken" } else { "pass" };
    let last = run.pop().map_or("nothing was run".to_owned(), |last| format!("{last} {verb}"));
    if run.is_empty() { last } else { format!("{} and {last}", run.join(", ")) }
}

/// A line of what ran.
pub(super) fn field(name: &str, value: &str) -> String {
    text::wrap(&format!("  {name:8} "), value, width())
}

fn header(results: &Results) -> String {
    let mut lines = vec![
        format!("holdfast {}", text::fit(&results.version, 40)),
        field("backend", &format!("{}, on {}", results.backend, text::device(results))),
        field("seed", &results.all_seeds()),
    ];
    if !results.kernel_source.is_empty() {
        lines.push(field("kernels", &format!("sha256 {}", results.kernel_source)));
    }
    lines.push(text::wrap_command("  command  ", &results.command, width()));
    let rejected = results.header.iter().flat_map(|h| &h.instantiations).filter(|one| !one.compiles);
    let weights = |one: &HeaderInstantiation| match one.b {
        Some(b) => format!("{} weights and {b} B", one.weights),
        None => format!("{} weights", one.weights),
    };
    lines.extend(rejected.flat_map(|one| rejection("header", &weights(one), &one.lines)));
    let backward = results.header.iter().flat_map(|h| h.backward.iter().flatten());
    let rejected = backward.filter(|one| !one.compiles);
    lines.extend(rejected.flat_map(|one| rejection("backward", &weights(one), &one.lines)));
    lines.join("\n")
}

/// One entry for each method and weight type that fails; none when none does.
fn wrong(results: &Results) -> Option<String> {
    let lines = causes::lines(results);
    let entry = |line: causes::Line| {
        let unexplained = text::unexplained(results);
        let what = if line.looks_like.is_empty() { &unexplained } else { &line.looks_like };
        text::wrap("FAIL ", &format!("{}: {}: {what}", line.title, line.failing), width())
    };
    let entries: Vec<String> = lines.into_iter().map(entry).collect();
    (!entries.is_empty()).then(|| format!("what is wrong\n{}", entries.join("\n")))
}

/// The failures, worst first; none when there are none. Those that are left out are in a report, where one is written.
fn explained(results: &Results, detail: Detail, has_report: bool) -> Option<String> {
    let failures = failures::all(results);
    let most = detail.most(EXPLAINED);
    // Failures that are alike are explained once.
    let tried: BTreeSet<&str> = chosen(&results.cases).into_iter().map(|at| &*results.cases[at].id).collect();
    let tried = |failure: &Failure| match failure {
        Failure::Case(case) => {
            tried.contains(case.id.as_str()) && !matches!(case.search, Some(Search::As(_)))
        }
        _ => true,
    };
    let mut distinct: Vec<&Failure> = Vec::new();
    for failure in &failures {
        if distinct.len() == most {
            break;
        }
        if detail == Detail::Verbose || !distinct.iter().any(|other| failure.is_like(other, tried(failure))) {
            distinct.push(failure);
        }
    }
    let said = |failure: &&Failure| {
        explain(failure, &if results.undiagnosed { String::new() } else { failure.unexplained(results) })
    };
    let mut parts: Vec<String> = distinct.iter().map(said).collect();
    if failures.len() > distinct.len() {
        let more = text::count(failures.len() - distinct.len(), "more failure");
        let elsewhere =
            if has_report { "the table below or the report" } else { "the table below, or --json" };
        parts.push(format!("and {more}: --verbose explains them all; or see {elsewhere}"));
    }
    if results.undiagnosed && !parts.is_empty() {
        parts.push(text::unexplained(results));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn explain(failure: &Failure, unexplained: &str) -> String {
    let mut lines =
        vec![text::wrap("FAIL ", &failure.title(), width()), text::wrap("     ", &failure.detail(), width())];
    if !failure.reason().is_empty() {
        lines.push(text::wrap("     ", failure.reason(), width()));
    }
    lines.extend(failure.worst().into_iter().map(worst));
    lines.extend(failure.notes().iter().map(|line| text::wrap("     ", line, width())));
    if !failure.diagnosis().is_empty() {
        let names = failure.diagnosis().iter().take(SHOWN);
        let names: Vec<_> = names.map(text::diagnosis).collect();
        lines.push(text::wrap("     looks like ", &names.join(", or "), width()));
    }
    lines.extend((!unexplained.is_empty()).then(|| text::wrap("     ", unexplained, width())));
    lines.extend(failure.besides().iter().map(|line| text::wrap("     ", line, width())));
    if !failure.rerun().is_empty() {
        lines.push(text::wrap_command("     rerun ", failure.rerun(), width()));
    }
    lines.join("\n")
}

fn worst(worst: &Worst) -> String {
    let mut lines = vec![text::wrap("     worst ", &text::worst(worst), width())];
    for [name, number, beside] in text::numbers(worst) {
        lines.push(
            format!("       {name:5} {number:>15}  {}", text::fit(&beside, width() - 40))
                .trim_end()
                .to_owned(),
        );
    }
    if !worst.inputs.is_empty() {
        lines.push(text::wrap("       from  ", &worst.inputs.join(", "), width()));
    }
    lines.join("\n")
}

/// The verdict matrix and the coefficient sweeps, in tables of as many methods as fit side by side; none where nothing ran.
fn verdict_tables(results: &Results) -> Vec<String> {
    let (methods, rows) = (grid::methods(results), tables::verdicts(results));
    let taken = |i: usize| {
        let cells = rows.iter().map(|row| row.cells[i].chars().count()).max().unwrap_or(0);
        cells.max(methods[i].name().len()) + 3
    };
    let columns = width() - BESIDE_COLUMNS;
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    for i in 0..if rows.is_empty() { 0 } else { methods.len() } {
        match blocks.last_mut() {
            Some(block) if block.iter().map(|&i| taken(i)).sum::<usize>() + taken(i) <= columns => {
                block.push(i)
            }
            _ => blocks.push(vec![i]),
        }
    }
    let legend = "worst share of the allowance used over the row's cases (1 is the bound)";
    let block = |columns: Vec<usize>| {
        let all = columns.iter().map(|&i| taken(i)).sum::<usize>();
        let first = width() - 12 - all.min(width() - BESIDE_COLUMNS);
        let cells =
            |row: &tables::TableRow| columns.iter().map(|&i| row.cells[i].clone()).collect::<Vec<_>>();
        let shown = rows.iter().map(|row| (row, cells(row)));
        let shown = shown.filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty()));
        let lines =
            shown.map(|(row, cells)| [vec![text::fit(&row.name, first), row.about.clone()], cells].concat());
        let names: Vec<Form> = columns.iter().map(|&i| methods[i]).collect();
        lined(&[vec!["regime", "weights"], template::names(&names)].concat(), lines, 2, legend)
    };
    blocks.into_iter().map(block).collect()
}

/// The invariants by method; none when none was probed.
fn invariant_table(results: &Results) -> Option<String> {
    let rows = tables::invariants(results);
    rows.first()?;
    let rows = rows.into_iter().map(|row| [vec![text::fit(&row.name, 29)], row.cells].concat());
    let header = [vec!["invariant"], template::names(&invariants::methods(results))].concat();
    let legend =
        "worst share of each invariant's own budget; exact: no difference was allowed, and there is none";
    Some(lined(&header, rows, 1, legend))
}

/// The functions that were swept, and what is wrong with them; none where none was.
fn function_table(results: &Results) -> Option<String> {
    let all = functions::all(results);
    all.first()?;
    let problems: String =
        functions::problem_lines(results).iter().map(|line| text::wrap("", line, width()) + "\n").collect();
    let table =
        lined(&functions::COLUMNS, all.iter().map(|one| functions::row(one).to_vec()), 1, functions::LEGEND);
    Some(problems + &table)
}

/// A table with lines around its head, its columns from `numbers` on flush right, and a legend below it.
pub(super) fn lined(
    header: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
    numbers: usize,
    legend: &str,
) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(comfy_table::LineStyle::none()));
    table.set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n{}", table.trim_fmt(), text::wrap(" ", legend, width()))
}

/// What the compiler said of a header, for weights that it does not take.
pub(super) fn rejection(which: &str, weights: &str, lines: &[String]) -> Vec<String> {
    let what = format!("does not compile for {weights}:");
    let said = lines.iter().map(|line| text::wrap("    ", line, width()));
    std::iter::once(field(which, &what)).chain(said).collect()
}

/// Pairs and totals.
fn closing(results: &Results, detail: Detail) -> String {
    let mut lines = Vec::new();
    if bench::is_of(results) {
        // The last line says how many.
        return String::new();
    }
    if results.functions.is_empty() {
        lines.extend(pair_lines(results, detail));
        if !results.coefficients.is_empty() {
            lines.push(
                summary::totals(results.coefficients.iter().map(|c| c.verdict)).text("coefficient sweep"),
            );
        }
    } else {
        lines.push(functions::totals(results).text("function"));
    }
    if !results.invariants.is_empty() {
        lines.push(summary::totals(results.invariants.iter().map(|i| i.verdict)).text("invariant"));
    }
    if results.functions.is_empty() {
        lines.extend(summary::case_lines(results));
    }
    lines.extend(precision::lifting(results).iter().map(|line| text::wrap("", line, width())));
    for line in precision::sensitivity(results) {
        lines.push(text::wrap("sensitivity, ", &line, width()));
    }
    for (reason, count) in summary::unmeasured_reasons(results).into_iter().take(detail.most(REASONS)) {
        lines.push(text::wrap(&format!("  {count} unmeasured: "), reason, width()));
    }
    if results.verdict() == Verdict::Unmeasured {
        lines.push("not everything was measured: this is not a pass (hint: holdfast doctor)".to_owned());
    }
    lines.join("\n")
}

/// Lines on pairs of methods; none where no pair was compared.
fn pair_lines(results: &Results, detail: Detail) -> Option<String> {
    let most = detail.most(LISTED_PAIRS);
    let (totals, mut failing) = (pairs::totals(results), pairs::failing(results));
    if totals.iter().all(|totals| totals.of.problems == 0) {
        return None;
    }
    let head = |totals: &pairs::Totals| {
        let counts = format!(
            "{} agree with the truth's differences, {} fail, {} unmeasured",
            totals.of.agree,
            totals.of.failing(),
            totals.of.unmeasured
        );
        let of = if totals.what == "gradients" { "gradients of " } else { "" };
        let problems = text::count(totals.of.problems, "problem");
        text::wrap(&format!("pairwise, {of}{problems}: "), &counts, width())
    };
    let mut lines: Vec<String> = totals.iter().map(head).collect();
    // Where a method fails by a cause that is named, its pairs show the same error once more.
    let named: Vec<Cause> = causes_of(results)
        .into_iter()
        .filter(|cause| !cause.found.is_empty() && cause.unexplained == 0 && detail != Detail::Verbose)
        .collect();
    let failed: BTreeSet<&str> =
        results.cases.iter().filter(|case| case.verdict == Verdict::Fail).map(|case| &*case.id).collect();
    let mut methods = BTreeSet::new();
    failing.retain(|(matrix, pair)| {
        let is_of = |cause: &&Cause| {
            cause.weights == matrix.weights
                && [pair.left, pair.right].contains(&cause.method)
                && failed.contains(&*pairs::case(&matrix.problem, matrix.tensor, cause.method))
        };
        let of = named.iter().find(is_of);
        methods.extend(of.map(|cause| cause.method.name()));
        of.is_none()
    });
    for (matrix, pair) in failing.iter().take(most) {
        let line = format!("{}, in {} ({})", text::pair(matrix.tensor, pair), matrix.problem, matrix.source);
        lines.push(text::wrap("  FAIL ", &line, width()));
    }
    let all: usize = totals.iter().map(|totals| totals.of.failing()).sum();
    let more = all.saturating_sub(failing.len().min(most));
    if more > 0 {
        let more = text::count(more, "more failing pair");
        let methods: Vec<&str> = methods.into_iter().collect();
        let line = match (methods.join(", "), failing.is_empty()) {
            (methods, _) if methods.is_empty() => format!("and {more}"),
            (methods, true) => format!("what is wrong with {methods} is said above"),
            (methods, false) => format!("and {more}; what is wrong with {methods} is said above"),
        };
        lines.push(text::wrap("  ", &line, width()));
    }
    Some(lines.join("\n"))
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
