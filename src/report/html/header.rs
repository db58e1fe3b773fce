//! A foreign header as the template takes it.

use serde::Serialize;

use crate::report::text;
use crate::results::{HeaderInstantiation, Results};

#[derive(Serialize)]
pub struct HeaderView {
    path: String,
    instantiations: Vec<InstantiationView>,
}

#[derive(Serialize)]
struct InstantiationView {
    weights: &'static str,
    compiles: bool,
    /// The first line with an error.
    first: String,
    /// How many lines there are, in words.
    count: String,
    lines: Vec<String>,
}

/// The header that was judged in place of the production kernels, if any.
pub fn header(results: &Results) -> Option<HeaderView> {
    let header = results.header.as_ref()?;
    let view = |one: &HeaderInstantiation| InstantiationView {
        weights: one.weights.name(),
        compiles: one.compiles,
        first: text::line(text::first_error(&one.lines)),
        count: text::count(one.lines.len(), "line"),
        lines: one.lines.clone(),
    };
    Some(HeaderView {
        path: text::line(&header.path),
        instantiations: header.instantiations.iter().map(view).collect(),
    })
}
