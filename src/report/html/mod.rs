//! `index.html`: one file that needs nothing else, from the template beside this code.
//!
//! Every text goes through the template engine's escaping; only the pictures, which [`super::plots`] wrote
//! and escaped, are taken as they are.

mod anchors;
mod cases;
mod confusion;
mod formulas;
mod header;
mod invariants;
mod precision;
mod problems;
mod view;

use minijinja::{Value, context};
use serde::Serialize;

use super::plots::{self, About, Plot};
use super::template::{self, value};
use super::{ReportError, failures, grid, pairs, summary, text};
use crate::method::Method;
use crate::results::Results;
use anchors::Anchors;

const PAGE: &str = include_str!("../templates/index.html.jinja");
const STYLE: &str = include_str!("../templates/style.css");
/// Parts of the page, for the page's template to include.
const PARTS: [(&str, &str); 9] = [
    ("precision.html", include_str!("../templates/precision.html.jinja")),
    ("invariants.html", include_str!("../templates/invariants.html.jinja")),
    ("worst.html", include_str!("../templates/worst.html.jinja")),
    ("formulas.html", include_str!("../templates/formulas.html.jinja")),
    ("confusion.html", include_str!("../templates/confusion.html.jinja")),
    ("failures.html", include_str!("../templates/failures.html.jinja")),
    ("matrix.html", include_str!("../templates/matrix.html.jinja")),
    ("pairs.html", include_str!("../templates/pairs.html.jinja")),
    ("cases.html", include_str!("../templates/cases.html.jinja")),
];
/// Limits that keep the page below 3 MB; what is left out is counted on the page and is in `results.json`.
const CASE_BYTES: usize = 900_000;
const EXPLAINED: usize = 60;
const PROBLEMS: usize = 100;
const REASONS: usize = 5;

#[derive(Serialize)]
struct Picture {
    name: String,
    title: String,
    how_to_read: String,
    svg: Value,
}

/// Renders the page with the pictures inside.
pub fn page(results: &Results, plots: &[Plot]) -> Result<String, ReportError> {
    let fail = |source| ReportError::Template { name: "index.html", source };
    let mut env = template::environment().map_err(fail)?;
    env.add_template("index.html", PAGE).map_err(fail)?;
    env.add_template("style.css", STYLE).map_err(fail)?;
    for (name, part) in PARTS {
        env.add_template(name, part).map_err(fail)?;
    }
    let mut anchors = Anchors::new(results);
    let (table, shown) = cases::problems(results, &anchors, CASE_BYTES);
    anchors.retain(shown.iter().map(String::as_str));
    let verdict = results.verdict();
    let case_totals = summary::totals(results.cases.iter().map(|c| c.verdict));
    let sweeps = summary::totals(results.coefficients.iter().map(|c| c.verdict));
    let failures = failures::all(results);
    let explained = failures::explained(&failures, EXPLAINED);
    anchors.explain(&explained);
    let paired = pairs::by_problem(results);
    let pictures =
        |about| value(plots.iter().filter(|p| p.about() == about).map(picture).collect::<Vec<_>>());
    let (invariant_methods, invariants) = invariants::invariants(results, &anchors);
    let page = env.get_template("index.html").map_err(fail)?.render(context! {
        version => results.version.as_str(),
        night => Value::from_safe_string(plots::night_style(plots)),
        headline => text::verdict(verdict),
        headline_class => text::verdict_class(verdict),
        cases_text => case_totals.text("case"),
        sweeps_text => sweeps.text("coefficient sweep"),
        pairs => value(problems::pair_totals(results)),
        reasons => value(summary::unmeasured_reasons(results).into_iter().take(REASONS).collect::<Vec<_>>()),
        backend => results.backend.as_str(),
        device => results.device.as_str(),
        seed => results.seed.to_string(),
        kernel_source => results.kernel_source.as_str(),
        command => text::line(&results.command),
        schema => results.schema,
        method_names => grid::methods(results).iter().map(|m| m.name()).collect::<Vec<_>>(),
        methods => value(view::methods(results, &anchors)),
        more_failures => failures.len().saturating_sub(EXPLAINED),
        failures => value(view::failures(&explained, &anchors)),
        suspects => value(view::suspects(results, &explained)),
        failing_pairs => value(problems::failing(&paired[..paired.len().min(PROBLEMS)])),
        header => value(header::header(results)),
        matrix => value(view::matrix(results, &anchors)),
        sweeps => value(view::sweeps(results, &anchors)),
        more_problems => paired.len().saturating_sub(PROBLEMS),
        problems => value(paired.iter().take(PROBLEMS).map(|p| problems::problem(p, results)).collect::<Vec<_>>()),
        invariants_text => summary::totals(results.invariants.iter().map(|i| i.verdict)).text("invariant"),
        invariant_methods => invariant_methods,
        invariants => value(invariants),
        sensitivity => value(precision::sensitivity(results)),
        sensitivity_lines => super::precision::sensitivity(results),
        lifting => value(precision::lifting(results, &anchors)),
        plots => pictures(About::Kernel),
        method_plots => pictures(About::Methods),
        analysis_reason => results.analysis.reason.as_str(),
        confusion => value(confusion::confusion()),
        all_methods => Method::ALL.map(Method::name).to_vec(),
        worst_cases => value(view::worst_cases(results, &anchors)),
        whys => value(view::whys(results)),
        formulas => value(formulas::formulas(&results.analysis)),
        more_cases => results.cases.len() - shown.len(),
        cases => value(table),
    });
    page.map(text::page).map_err(fail)
}

fn picture(plot: &Plot) -> Picture {
    Picture {
        name: plot.name.clone(),
        title: plot.title.clone(),
        how_to_read: plot.how_to_read.clone(),
        svg: Value::from_safe_string(plot.inline()),
    }
}
