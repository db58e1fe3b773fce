//! `report.md`: the result in a form fit for a pull-request comment, always under 60 KB.

use minijinja::{Value, context};

use super::failures::{self, Failure, SHOWN};
use super::tables::{self, TableRow};
use super::template::{self, value};
use super::{ReportError, functions, pairs, precision, text};
use crate::problem::Weights;
use crate::results::{Pair, PairwiseMatrix, Results, Sensitivity};

const TEMPLATE: &str = include_str!("templates/report.md.jinja");
/// The page stays below this many bytes.
pub const BYTES: usize = 60_000;
const COMPILER_LINES: usize = 20;

/// How many rows of the verdict table, failures and pairs are shown; the rest are counted.
#[derive(Clone, Copy)]
struct Limits {
    rows: usize,
    explained: usize,
    pairs: usize,
}

/// What to show, and what to show instead when that does not fit.
const LIMITS: [Limits; 3] = [
    Limits { rows: 120, explained: 10, pairs: 15 },
    Limits { rows: 60, explained: 5, pairs: 8 },
    Limits { rows: 12, explained: 2, pairs: 3 },
];

/// Renders the page, as much of it as fits.
pub fn page(results: &Results) -> Result<String, ReportError> {
    let mut page = String::new();
    for limits in LIMITS {
        page = render(results, limits)?;
        if page.len() < BYTES {
            break;
        }
    }
    Ok(page)
}

fn render(results: &Results, limits: Limits) -> Result<String, ReportError> {
    let fail = |source| ReportError::Template { name: "report.md", source };
    let mut env = template::environment().map_err(fail)?;
    env.add_filter("md", escape);
    env.add_filter("code", code);
    env.add_filter("clip", clip);
    env.add_template("report.md", TEMPLATE).map_err(fail)?;
    let (rows, failures) = (failing_first(tables::verdicts(results)), failures::all(results));
    let failing_pairs = pairs::failing(results);
    let pair = |(matrix, pair): &(&PairwiseMatrix, &Pair)| {
        context! {
            tensor => matrix.tensor.name(),
            left => pair.left.name(),
            right => pair.right.name(),
            status => pair.status.name(),
            by => text::share(pair.ratio),
            problem => text::fit(&matrix.problem, 120),
        }
    };
    let page = env.get_template("report.md").map_err(fail)?.render(context! {
        compiler_lines => COMPILER_LINES,
        function_rows => functions::rows(results),
        function_columns => functions::COLUMNS,
        function_legend => functions::LEGEND,
        invariant_rows => value(failing_first(tables::invariants(results)).iter().take(limits.rows).collect::<Vec<_>>()),
        sensitivity => sensitivity(results),
        rows => value(rows.iter().take(limits.rows).collect::<Vec<_>>()),
        more_rows => rows.len().saturating_sub(limits.rows),
        failures => failures.iter().take(limits.explained).map(|one| explain(one, results)).collect::<Vec<_>>(),
        more_failures => failures.len().saturating_sub(limits.explained),
        pair_totals => pairs::totals(results).iter().map(pairs::Totals::view).collect::<Vec<_>>(),
        pairs => failing_pairs.iter().take(limits.pairs).map(pair).collect::<Vec<_>>(),
        more_pairs => failing_pairs.len().saturating_sub(limits.pairs),
        ..template::run(results)
    });
    page.map(text::page).map_err(fail)
}

/// Rows with a failure first: those are what a reviewer must see.
fn failing_first(mut rows: Vec<TableRow>) -> Vec<TableRow> {
    rows.sort_by_key(|row| !row.fails());
    rows
}

/// The measured sensitivity, a line for each regime and weight type: Ā and B̄ of each method, as exponents of 2.
fn sensitivity(results: &Results) -> Vec<String> {
    let shown = |exponent: Option<i32>| exponent.map_or(text::UNMEASURED.to_owned(), |e| e.to_string());
    let cell = |one: &&Sensitivity| format!("{:>9}", format!("{}/{}", shown(one.a_bar), shown(one.b_bar)));
    let line = |((regime, weights), measured): ((&str, Weights), Vec<&Sensitivity>)| {
        format!("{:16} {weights:8}", text::fit(regime, 16)) + &measured.iter().map(cell).collect::<String>()
    };
    precision::by_regime(results).into_iter().map(line).collect()
}

fn explain(failure: &Failure, results: &Results) -> Value {
    let mut worst = Vec::new();
    for element in failure.worst() {
        worst.push(text::worst(element));
        let line = |[name, number, beside]: [String; 3]| format!("  {name:5} {number}  {beside}");
        worst.extend(text::numbers(element).map(line).map(|line| line.trim_end().to_owned()));
        worst.push(format!("  from  {}", element.inputs.join(", ")));
    }
    worst.extend(failure.notes());
    worst.extend(failure.besides());
    let diagnosis: Vec<_> = failure.diagnosis().iter().take(SHOWN).map(text::diagnosis).collect();
    let reason = failure.reason();
    context! {
        title => text::fit(&failure.title(), 200),
        detail => text::fit(&(failure.detail() + if reason.is_empty() { "" } else { ": " } + reason), 250),
        worst,
        diagnosis => text::fit(&diagnosis.join(", or "), 300),
        unexplained => failure.unexplained(results),
        rerun => failure.rerun(),
    }
}

/// One line for a fenced block: alignment kept, control characters and fences taken out, at most `width` characters.
fn clip(line: &str, width: usize) -> String {
    let clean: String = line.chars().map(|c| if c.is_control() || c == '`' { ' ' } else { c }).collect();
    if clean.chars().count() <= width {
        clean
    } else {
        clean.chars().take(width - 1).chain(['…']).collect()
    }
}

/// Text that Markdown shows as it is, in a table cell too.
pub(super) fn escape(value: &str) -> String {
    let chars: Vec<char> = text::line(value).chars().collect();
    let mut escaped = String::new();
    for (i, c) in chars.iter().enumerate() {
        let word = |j: Option<usize>| j.and_then(|j| chars.get(j)).is_some_and(|c| c.is_alphanumeric());
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // Within a word an underscore is only that: x86_64.
            '_' if word(i.checked_sub(1)) && word(Some(i + 1)) => escaped.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '@' | '#' => escaped.extend(['\\', *c]),
            c => escaped.push(*c),
        }
    }
    escaped
}

/// A code span, in a table cell too.
pub(super) fn code(value: &str) -> String {
    format!("`{}`", text::line(value).replace('`', "'").replace('|', "\\|"))
}
