//! Two benchmarks side by side, as text for a terminal, at most 100 columns wide.

use super::bench::seconds;
use super::console::{Detail, coloured, lined, width};
use super::text;
use crate::results::bench_compare::{BenchComparison, Change};

/// Rows that are shown where not all are asked for.
const LISTED: usize = 40;

/// Every change, the slowest first.
pub fn render(comparison: &BenchComparison, colour: bool, detail: Detail) -> String {
    let verdict = if comparison.regressed() { "REGRESSION" } else { "no regression" };
    let slower = comparison.changes.iter().filter(|change| change.slower).count();
    let mut lines = vec![format!(
        "holdfast bench: {verdict}; {slower} of {} slower by more than {} %, {} gone, {} new",
        text::count(comparison.changes.len(), "timing"),
        text::number(100.0 * comparison.allowed, 3),
        comparison.gone.len(),
        comparison.added.len()
    )];
    if detail != Detail::Quiet {
        if let Some([old, new]) = &comparison.devices {
            lines.push(text::wrap("  devices differ: ", &format!("{old}, then {new}"), width()));
        }
        let mut changes: Vec<&Change> = comparison.changes.iter().collect();
        changes.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        let most = if detail == Detail::Verbose { usize::MAX } else { LISTED };
        let rows = changes.iter().take(most).map(|change| {
            let interval = change.interval.map_or(text::UNMEASURED.to_owned(), |interval| {
                let [low, high] = interval.map(|ratio| text::number(ratio, 3));
                format!("{low}…{high}")
            });
            let said = if change.slower { "SLOWER" } else { "" };
            let times = [change.old, change.new].map(seconds);
            let [old, new] = times;
            vec![
                text::fit(&change.id, 48),
                old,
                new,
                text::number(change.ratio, 3),
                interval,
                said.to_owned(),
            ]
        });
        if !changes.is_empty() {
            let head = ["timing", "old", "new", "new/old", "95 %", ""];
            lines.push(lined(
                &head,
                rows,
                1,
                "what was slower first; the interval holds the ratio where each median is in its own; –: fewer than six runs, which decide nothing",
            ));
        }
        let more = changes.len().saturating_sub(most);
        lines.extend((more > 0).then(|| format!("  and {} that became no slower than these", more)));
        for (what, ids) in [("gone, which is a regression", &comparison.gone), ("new", &comparison.added)] {
            lines.extend(
                (!ids.is_empty()).then(|| text::wrap(&format!("  {what}: "), &ids.join(", "), width())),
            );
        }
    }
    let text = lines.join("\n") + "\n";
    if colour { coloured(&text) } else { text }
}
