//! The invariants as the template takes them.

use serde::Serialize;

use super::anchors::{self, Anchors};
use super::view::Tag;
use crate::report::failures::Failure;
use crate::report::{invariants, text};
use crate::results::{Results, Verdict};

#[derive(Serialize)]
pub struct InvariantView {
    anchor: String,
    name: String,
    what: String,
    cells: Vec<Tag>,
}

/// One row per invariant, one cell per method that any was probed with; a failing one leads to its explanation.
pub fn invariants(results: &Results, anchors: &Anchors) -> (Vec<&'static str>, Vec<InvariantView>) {
    let methods = invariants::methods(results);
    let view = |row: invariants::Row| InvariantView {
        anchor: anchors::invariant(row.name),
        name: row.name.to_owned(),
        what: row.what.to_owned(),
        cells: methods
            .iter()
            .map(|&method| {
                let Some(worst) = row.worst(method) else { return Tag::default() };
                let class = text::verdict_class(worst.verdict);
                let low = if worst.verdict == Verdict::Pass { " low" } else { "" };
                let title = text::fit(&format!("{}; {}", worst.problem, worst.rerun), 240);
                let explained = anchors.explained(&Failure::Invariant(worst).title());
                let href = explained.map(|anchor| format!("#{anchor}")).unwrap_or_default();
                Tag { text: row.text(method), class: format!("{class}{low}"), href, title }
            })
            .collect(),
    };
    let rows = invariants::rows(results).into_iter().map(view).collect();
    (methods.iter().map(|m| m.name()).collect(), rows)
}
