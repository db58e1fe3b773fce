//! The template engine, set up alike for every page, and what every page says of a run.

use std::time::Duration;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, Value, context};
use serde::Serialize;

use super::{bench, causes, functions, grid, invariants, precision, summary, text};
use crate::formula::Form;
use crate::results::{Results, Verdict};

/// Reasons for not measuring that a page lists.
const REASONS: usize = 5;

/// An environment in which a line that holds only a block tag leaves no empty line, with the texts of [`text`] as
/// filters. Templates named `*.html` escape every value; a missing value is an error, not an empty text.
pub fn environment() -> Result<Environment<'static>, Error> {
    let mut env = Environment::new();
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    env.add_filter("line", text::line);
    env.add_filter("fit", text::fit);
    env.add_filter("number", text::number);
    env.add_filter("counted", text::count);
    env.add_filter("slug", text::slug);
    env.add_filter("first_error", |lines: Vec<String>| text::first_error(&lines).to_owned());
    Ok(env)
}

/// A value for a template from anything serializable.
pub fn value(value: impl Serialize) -> Value {
    Value::from(minijinja::value::Serde(value))
}

pub fn names<M: Copy + Into<Form>>(methods: &[M]) -> Vec<&'static str> {
    methods.iter().map(|&m| m.into().name()).collect()
}

/// The run in a page's first lines: what ran where, its totals, and the methods in the columns of its tables.
pub fn run(results: &Results) -> Value {
    let total = |verdicts: Vec<Verdict>, noun| summary::totals(verdicts.into_iter()).text(noun);
    let sweeps: Vec<_> = results.coefficients.iter().map(|c| c.verdict).collect();
    context! {
        verdict => text::run_verdict(results),
        version => &results.version,
        revision => &results.revision,
        created => &results.created,
        took => results.took.map(|seconds| text::duration(Duration::from_secs_f64(seconds.max(0.0)))),
        backend => &results.backend,
        device => text::device(results),
        seed => results.all_seeds(),
        kernel_source => &results.kernel_source,
        command => text::line(&results.command),
        schema => results.schema,
        header => value(&results.header),
        case_total => summary::case_lines(results).join("; "),
        sweep_total => if sweeps.is_empty() { String::new() } else { total(sweeps, "coefficient sweep") },
        bench => bench::page(results),
        function_total => functions::totals(results).text("function"),
        invariant_total => total(results.invariants.iter().map(|i| i.verdict).collect(), "invariant"),
        reasons => value(summary::unmeasured_reasons(results).into_iter().take(REASONS).collect::<Vec<_>>()),
        causes => value(causes::lines(results)),
        methods => names(&grid::methods(results)),
        invariant_methods => names(&invariants::methods(results)),
        scan_laws => invariants::left_out(results),
        lifting_line => precision::lifting(results),
        sensitivity_lines => precision::sensitivity(results),
    }
}
