//! Two revisions of a kernel header for a terminal: at most 100 columns wide. Computes nothing.

use super::console::{field, lined, rejection, width};
use super::text;
use crate::problem::Operand;
use crate::results::revisions::{Change, Diff, Difference, MethodDiff};

/// Combinations that differ by rounding only and are listed; the rest are counted.
const LISTED_ROUNDINGS: usize = 2;

/// The whole comparison: header, table, the worst input of each difference, recommendation.
pub fn render(diff: &Diff) -> String {
    let mut parts = vec![header(diff), table(diff)];
    parts.extend(differences(diff));
    parts.push(text::wrap("recommendation: ", &diff.recommendation, width()));
    parts.join("\n\n") + "\n"
}

fn header(diff: &Diff) -> String {
    let mut lines = vec![
        format!("holdfast {}: two revisions of a header", text::fit(&diff.version, 40)),
        field("old", &diff.old.path),
        field("new", &diff.new.path),
        field("backend", &format!("{}, on {}", diff.backend, diff.device)),
        field("seed", &diff.seed.to_string()),
    ];
    for (which, revision) in [("old", &diff.old), ("new", &diff.new)] {
        lines.extend(
            revision
                .rejected
                .iter()
                .flat_map(|(weights, said)| rejection(which, &format!("{weights} weights"), said)),
        );
    }
    lines.join("\n")
}

fn table(diff: &Diff) -> String {
    let share = |worst: Option<f64>| worst.map_or(text::UNMEASURED.to_owned(), text::share);
    let rows = diff.comparisons.iter().map(|c| {
        let names = [c.method.name(), c.weights.name(), c.b.name(), c.change.name()].map(str::to_owned);
        let same = if c.compared == 0 { text::UNMEASURED.to_owned() } else { percent(c.equal, c.compared) };
        [&names[..], &[share(c.old_worst), share(c.new_worst), same]].concat()
    });
    let header = ["method", "weights", "B", "the new one is", "old error", "new error", "same bits"];
    let legend = "errors: the worst of Ā and B̄u, in units of its bound; above 1 it is not what is specified";
    lined(&header, rows, 4, legend)
}

/// Never 100% of something that is not all of it.
fn percent(part: usize, all: usize) -> String {
    match part {
        part if part == all => "100%".to_owned(),
        part => format!("{}%", (100 * part / all).min(99)),
    }
}

/// What is different, worst first: what got worse, what got better, what is rounding.
fn differences(diff: &Diff) -> Option<String> {
    let mut parts = Vec::new();
    let of = |worse: bool, better: bool| {
        diff.comparisons.iter().filter(move |c| c.is_worse() == worse && c.change.is_better() == better)
    };
    parts.extend(of(true, false).map(explain));
    parts.extend(of(false, true).map(explain));
    let rounding: Vec<&MethodDiff> = of(false, false).filter(|c| c.change == Change::Rounding).collect();
    parts.extend(rounding.iter().take(LISTED_ROUNDINGS).map(|c| explain(c)));
    if rounding.len() > LISTED_ROUNDINGS {
        let more = rounding.len() - LISTED_ROUNDINGS;
        parts.push(format!("and {more} more that differ by rounding: see --json"));
    }
    parts.extend(
        of(false, false)
            .filter(|c| [Change::BothWrong, Change::BothBroken, Change::Unmeasured].contains(&c.change))
            .map(explain),
    );
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn explain(c: &MethodDiff) -> String {
    let b = if c.b == Operand::Constant { "constant B" } else { "variable B" };
    let mut lines = vec![format!("{}, {} weights, {b}: {}", c.method, c.weights, c.change)];
    for (which, reason) in [("old", &c.old_reason), ("new", &c.new_reason)] {
        if !reason.is_empty() {
            lines.push(text::wrap(&format!("  {which:6} "), reason, width()));
        }
    }
    for (which, cause) in [("old", &c.old_cause), ("new", &c.new_cause)] {
        if let Some(cause) = cause {
            let said = format!("looks like {}", text::diagnosis(cause));
            lines.push(text::wrap(&format!("  {which:6} "), &said, width()));
        }
    }
    lines.extend(c.search.as_ref().map(|search| text::wrap("  ", &text::ended(search), width())));
    if let (Some(old), Some(new)) = (c.old_trained, c.new_trained)
        && c.change != Change::Rounding
    {
        let [old, new] = [old, new].map(text::share);
        let said = format!("where Δ and A are those of trained models: old {old} × its bound, new {new} ×");
        lines.push(text::wrap("  ", &said, width()));
    }
    if c.unbounded > 0 {
        let said = format!(
            "{} of {} values differ where there is no bound to judge them by",
            c.unbounded, c.compared
        );
        lines.push(text::wrap("  ", &said, width()));
    }
    // Where something matters more, what differs by rounding alone is left out.
    let matters = |d: &&Difference| d.change != Change::Rounding || c.change == Change::Rounding;
    for d in c.differences.iter().filter(matters) {
        let (count, what) = match d.change {
            Change::Closer => (c.closer, "closer"),
            Change::Farther => (c.farther, "FARTHER"),
            _ => (c.rounding, "apart by rounding"),
        };
        let place = if d.trained { "as trained models have it" } else { "a hard place" };
        let at = format!("{what} at {count} of {} values, most at {} of", c.compared, d.value);
        lines.push(text::wrap("  ", &format!("{at} {} ({place})", d.inputs.join(", ")), width()));
        let value = |name: &str, value: &str, error: &str| {
            text::wrap(&format!("    {name:6} "), &format!("{value}{error}"), width())
        };
        let bounds = |error: f64| format!("  ({} × its bound off)", text::share(error));
        lines.push(value("old", &d.old, &bounds(d.old_error)));
        lines.push(value("new", &d.new, &bounds(d.new_error)));
        lines.push(value("truth", &d.truth, ""));
    }
    lines.join("\n")
}
