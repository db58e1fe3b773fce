//! `index.html`: one file that needs nothing else, from the template beside this code.
//!
//! Every text goes through the template engine's escaping; only the pictures, which [`super::plots`] wrote
//! and escaped, are taken as they are.

mod cases;
pub mod confusion;
mod formulas;
mod precision;
mod problems;
mod view;

use minijinja::{Value, context};

use super::plots::{self, About, Plot};
use super::template::{self, value};
use super::{ReportError, failures, functions, grid, pairs, text};
use crate::method::Method;
use crate::results::{DERIVATIVES, Results};
use cases::Anchors;

/// The page, and the parts that it includes.
const PARTS: [(&str, &str); 16] = [
    ("index.html", include_str!("../templates/index.html.jinja")),
    ("style.css", include_str!("../templates/style.css")),
    ("page.js", include_str!("../templates/page.js")),
    ("precision.html", include_str!("../templates/precision.html.jinja")),
    ("bench.html", include_str!("../templates/bench.html.jinja")),
    ("functions.html", include_str!("../templates/functions.html.jinja")),
    ("invariants.html", include_str!("../templates/invariants.html.jinja")),
    ("worst.html", include_str!("../templates/worst.html.jinja")),
    ("formulas.html", include_str!("../templates/formulas.html.jinja")),
    ("confusion.html", include_str!("../templates/confusion.html.jinja")),
    ("failures.html", include_str!("../templates/failures.html.jinja")),
    ("matrix.html", include_str!("../templates/matrix.html.jinja")),
    ("pairs.html", include_str!("../templates/pairs.html.jinja")),
    ("paired.html", include_str!("../templates/paired.html.jinja")),
    ("dense.html", include_str!("../templates/dense.html.jinja")),
    ("cases.html", include_str!("../templates/cases.html.jinja")),
];
/// Limits that keep the page below 3 MB; what is left out is counted on the page and is in `results.json`.
const CASE_BYTES: usize = 900_000;
const EXPLAINED: usize = 60;
const PROBLEMS: usize = 100;

/// Renders the page with the pictures inside.
pub fn page(results: &Results, plots: &[Plot]) -> Result<String, ReportError> {
    let fail = |source| ReportError::Template { name: "index.html", source };
    let mut env = template::environment().map_err(fail)?;
    for (name, part) in PARTS {
        env.add_template(name, part).map_err(fail)?;
    }
    let mut anchors = Anchors::new(results);
    let (cases, shown) = cases::problems(results, &anchors, CASE_BYTES);
    anchors.retain(&shown);
    let failures = failures::all(results);
    let explained = failures::explained(&failures, EXPLAINED);
    anchors.explain(&explained);
    let paired = pairs::by_problem(results);
    let problems = &paired[..paired.len().min(PROBLEMS)];
    let views = |is_dense| -> Vec<Value> {
        let of_kind = problems.iter().enumerate().filter(|(_, p)| p.tensor.is_dense() == is_dense);
        of_kind.map(|(at, p)| problems::problem(at, p, results)).collect()
    };
    let (dense, rows): (Vec<_>, Vec<_>) = grid::rows(results).into_iter().partition(grid::Row::is_dense);
    let (dense_whys, whys): (Vec<_>, Vec<_>) =
        results.regimes.iter().partition(|note| dense.iter().any(|row| row.name == note.name));
    let pictures = |about| plots.iter().filter(|p| p.about() == about).map(picture).collect::<Vec<_>>();
    let page = env.get_template("index.html").map_err(fail)?.render(context! {
        night => Value::from_safe_string(plots::night_style(plots)),
        verdict_class => results.verdict().name(),
        pair_totals => pairs::totals(results).iter().map(pairs::Totals::view).collect::<Vec<_>>(),
        failing_pair_count => results.pairs.failing() + results.gradient_pairs.failing(),
        method_lines => view::methods(results, &anchors),
        weights => value(view::weights(results)),
        passing => value(view::judged(results)),
        more_failures => failures.len().saturating_sub(EXPLAINED),
        failures => view::failures(results, &explained, &anchors),
        unexplained => text::unexplained(results),
        suspects => view::suspects(results, &explained),
        failing_pairs => problems::failing(problems),
        matrix => view::matrix(rows, results, &anchors),
        dense => view::matrix(dense, results, &anchors),
        gradients => view::matrix(grid::gradients(results), results, &anchors),
        sweeps => view::sweeps(results, &anchors),
        more_problems => paired.len() - problems.len(),
        problems => views(false),
        dense_problems => views(true),
        invariants => view::invariants(results, &anchors),
        functions => functions::rows(results),
        function_columns => functions::COLUMNS,
        function_legend => functions::LEGEND,
        sensitivity => precision::sensitivity(results),
        gradient_sensitivity => precision::gradient_sensitivity(results),
        derivatives => DERIVATIVES.join(" · "),
        lifting => precision::lifting(results, &anchors),
        plots => pictures(About::Kernel),
        method_plots => pictures(About::Methods),
        analysis_reason => &results.analysis.reason,
        confusion => confusion::confusion(),
        all_methods => template::names(&Method::ALL),
        worst_cases => view::worst_cases(results, &anchors),
        whys => value(whys),
        dense_whys => value(dense_whys),
        formulas => formulas::formulas(&results.analysis),
        more_cases => results.cases.len() - shown.len(),
        cases,
        ..template::run(results)
    });
    page.map(text::page).map_err(fail)
}

fn picture(plot: &Plot) -> Value {
    context! {
        name => &plot.name,
        title => &plot.title,
        how_to_read => &plot.how_to_read,
        svg => Value::from_safe_string(plot.inline()),
    }
}
