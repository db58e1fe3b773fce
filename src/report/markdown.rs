//! `report.md`: the result in a form fit for a pull-request comment, always under 60 KB.

use minijinja::context;
use serde::Serialize;

use super::failures::{self, Failure};
use super::template::{self, value};
use super::{ReportError, grid, invariants, pairs, precision, summary, sweeps, text};
use crate::results::{HeaderInstantiation, Results};

const TEMPLATE: &str = include_str!("templates/report.md.jinja");
/// The page stays below this many bytes.
pub const BYTES: usize = 60_000;
const REASONS: usize = 5;
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

#[derive(Serialize)]
struct Row {
    regime: String,
    weights: String,
    cells: Vec<String>,
}

#[derive(Serialize)]
struct InvariantRow {
    name: String,
    what: String,
    cells: Vec<String>,
}

#[derive(Serialize)]
struct Explained {
    title: String,
    detail: String,
    worst: Vec<String>,
    diagnosis: String,
    rerun: String,
}

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
    env.add_filter("md", |value: String| escape(&value));
    env.add_filter("code", |value: String| code(&value));
    env.add_template("report.md", TEMPLATE).map_err(fail)?;
    let methods = grid::methods(results);
    let rows = rows(results);
    let failures = failures::all(results);
    let failing_pairs = pairs::failing(results);
    let reasons: Vec<_> = summary::unmeasured_reasons(results).into_iter().take(REASONS).collect();
    let pair_totals = pairs::totals(results);
    let page = env.get_template("report.md").map_err(fail)?.render(context! {
        verdict => text::verdict(results.verdict()),
        version => results.version.as_str(),
        backend => results.backend.as_str(),
        device => results.device.as_str(),
        seed => results.seed.to_string(),
        kernel_source => results.kernel_source.as_str(),
        command => text::line(&results.command),
        header => header(results),
        cases => summary::totals(results.cases.iter().map(|c| c.verdict)).text("case"),
        sweeps => summary::totals(results.coefficients.iter().map(|c| c.verdict)).text("coefficient sweep"),
        invariants => if results.invariants.is_empty() {
            String::new()
        } else {
            summary::totals(results.invariants.iter().map(|i| i.verdict)).text("invariant")
        },
        invariant_methods => invariants::methods(results).iter().map(|m| m.name()).collect::<Vec<_>>(),
        invariant_rows => value(invariant_rows(results).iter().take(limits.rows).collect::<Vec<_>>()),
        precision => precision::lifting(results).into_iter().chain(precision::sensitivity(results)).collect::<Vec<_>>(),
        sensitivity => sensitivity(results),
        reasons => value(reasons.iter().map(|(reason, n)| (text::fit(reason, 200), n)).collect::<Vec<_>>()),
        methods => methods.iter().map(|m| m.name()).collect::<Vec<_>>(),
        rows => value(rows.iter().take(limits.rows).collect::<Vec<_>>()),
        more_rows => rows.len().saturating_sub(limits.rows),
        failures => value(failures.iter().take(limits.explained).map(explain).collect::<Vec<_>>()),
        more_failures => failures.len().saturating_sub(limits.explained),
        problems => text::count(pair_totals.problems, "problem"),
        agreeing => pair_totals.agreeing,
        failing => pair_totals.failing,
        unmeasured => pair_totals.unmeasured,
        pairs => failing_pairs.iter().take(limits.pairs).map(|(matrix, pair, truth)| context! {
            left => pair.left.name(),
            right => pair.right.name(),
            status => pairs::status(pair.status),
            rel_l2 => text::number(pair.rel_l2, 3),
            truth => truth.map_or("?".to_owned(), |t| text::number(t.rel_l2, 3)),
            problem => text::fit(&matrix.problem, 120),
        }).collect::<Vec<_>>(),
        more_pairs => failing_pairs.len().saturating_sub(limits.pairs),
    });
    page.map(text::page).map_err(fail)
}

/// The header that was judged, and the first of the compiler's lines.
fn header(results: &Results) -> Option<minijinja::Value> {
    let header = results.header.as_ref()?;
    let instantiation = |one: &HeaderInstantiation| {
        context! {
            weights => one.weights.name(),
            compiles => one.compiles,
            first => text::fit(text::first_error(&one.lines), 160),
            lines => one.lines.iter().take(COMPILER_LINES).map(|line| clip(line, 200)).collect::<Vec<_>>(),
        }
    };
    let instantiations: Vec<_> = header.instantiations.iter().map(instantiation).collect();
    Some(context! { path => text::fit(&header.path, 200), instantiations => instantiations })
}

/// The verdict matrix, rows with a failure first: those are what a reviewer must see.
fn rows(results: &Results) -> Vec<Row> {
    let methods = grid::methods(results);
    let mut rows = Vec::new();
    for row in grid::rows(results) {
        let cells = methods.iter().map(|m| row.cells[*m as usize].text()).collect();
        rows.push(Row { regime: text::fit(row.regime, 60), weights: row.weights.to_string(), cells });
    }
    for row in sweeps::rows(results) {
        for coefficient in sweeps::Coefficient::ALL {
            let cells = methods.iter().map(|m| coefficient.text(row.cells[*m as usize])).collect();
            let regime = format!("{} {}", coefficient.symbol(), text::fit(row.sweep, 60));
            rows.push(Row { regime, weights: row.weights.to_string(), cells });
        }
    }
    rows.sort_by_key(|row| !row.cells.iter().any(|cell| cell.starts_with("FAIL")));
    rows
}

/// The invariants, broken ones first.
fn invariant_rows(results: &Results) -> Vec<InvariantRow> {
    let methods = invariants::methods(results);
    let mut rows: Vec<InvariantRow> = invariants::rows(results)
        .iter()
        .map(|row| InvariantRow {
            name: text::fit(row.name, 60),
            what: text::fit(row.what, 250),
            cells: methods.iter().map(|m| row.text(*m)).collect(),
        })
        .collect();
    rows.sort_by_key(|row| !row.cells.iter().any(|cell| cell.starts_with("FAIL")));
    rows
}

/// The measured sensitivity, a line for each regime and weight type: Ā and B̄ of each method, as exponents of 2.
fn sensitivity(results: &Results) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut heads: Vec<String> = Vec::new();
    for one in &results.sensitivity {
        let shown = |exponent: Option<i32>| exponent.map_or(text::UNMEASURED.to_owned(), |e| e.to_string());
        let head = format!("{:16} {:8}", text::fit(&one.regime, 16), one.weights);
        let cell = format!("{:>9}", format!("{}/{}", shown(one.a_bar), shown(one.b_bar)));
        match heads.iter().position(|other| *other == head) {
            Some(at) => lines[at].push_str(&cell),
            None => {
                lines.push(format!("{head}{cell}"));
                heads.push(head);
            }
        }
    }
    lines
}

fn explain(failure: &Failure) -> Explained {
    let mut worst = Vec::new();
    for w in failure.worst() {
        worst.push(format!("{}: {}", text::element(w), text::verdict_on_error(w.ratio)));
        worst.push(format!("  got   {}  {}", text::number(w.got, 9), w.got_hex));
        worst.push(format!("  want  {}  {}", text::number(w.want, 9), w.want_hex));
        worst.push(format!("  error {}  {} ulp", text::number(w.error, 3), text::number(w.ulp, 3)));
        worst.push(format!("  bound {}", text::number(w.bound, 3)));
        worst.push(format!("  from  {}", w.inputs.join(", ")));
    }
    worst.extend(failure.notes());
    let diagnosis: Vec<_> = failure.diagnosis().iter().take(3).map(text::diagnosis).collect();
    let reason = failure.reason();
    let detail = failure.detail() + if reason.is_empty() { "" } else { ": " } + reason;
    Explained {
        title: text::fit(&failure.title(), 200),
        detail: text::fit(&detail, 250),
        worst: worst.iter().map(|line| clip(line, 200)).collect(),
        diagnosis: text::fit(&diagnosis.join(", or "), 300),
        rerun: clip(failure.rerun(), 800),
    }
}

/// One line for a fenced block: alignment kept, control characters and fences taken out, not endless.
fn clip(line: &str, width: usize) -> String {
    let clean: String = line.chars().map(|c| if c.is_control() || c == '`' { ' ' } else { c }).collect();
    if clean.chars().count() <= width {
        clean
    } else {
        clean.chars().take(width - 1).chain(['…']).collect()
    }
}

/// Text that Markdown shows as it is, in a table cell too.
fn escape(value: &str) -> String {
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
fn code(value: &str) -> String {
    format!("`{}`", text::line(value).replace('`', "'").replace('|', "\\|"))
}
