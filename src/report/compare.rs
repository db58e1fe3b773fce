//! A comparison of two runs as text for a terminal, at most 100 columns wide.

use super::console::{Detail, WIDTH, coloured};
use super::text;
use crate::method::Method;
use crate::results::compare::{FACTOR, Item, ItemChange, RunComparison, failing};
use crate::results::{PairTotals, Results, Verdict};

/// Lines of each part that are listed; the rest are counted.
const LISTED: usize = 12;

/// What changed, the worst first. ANSI colours only when `colour`.
pub fn render(
    comparison: &RunComparison,
    (old_name, old): (&str, &Results),
    (new_name, new): (&str, &Results),
    colour: bool,
    detail: Detail,
) -> String {
    let verdict = if comparison.regressed() { "REGRESSION" } else { "no regression" };
    let mut lines = vec![format!("holdfast compare: {verdict}; {}", totals(comparison))];
    if detail != Detail::Quiet {
        lines.push(origin("old", old_name, old));
        lines.push(origin("new", new_name, new));
        let most = if detail == Detail::Verbose { usize::MAX } else { LISTED };
        lines.extend(verdicts(comparison, most));
        lines.extend(errors(comparison, most));
        lines.extend(narrower(comparison, most));
        lines.extend(items("gone, which is a regression", &comparison.gone, most));
        lines.extend(items("new", &comparison.added, most));
        lines.extend(pairs(comparison, most));
    }
    let text = lines.join("\n") + "\n";
    if colour { coloured(&text) } else { text }
}

fn totals(comparison: &RunComparison) -> String {
    if comparison.compared() == 0 {
        let (gone, new) = (comparison.gone.len(), comparison.added.len());
        return format!("nothing was compared: {gone} gone, {new} new");
    }
    let worse = comparison.verdicts.iter().filter(|change| change.is_worse()).count();
    format!(
        "{worse} worse, {} better, {} gone, {} new, {} moved, {} unchanged",
        comparison.verdicts.len() - worse,
        comparison.gone.len(),
        comparison.added.len(),
        comparison.errors.len(),
        comparison.unchanged
    )
}

fn origin(which: &str, name: &str, results: &Results) -> String {
    let kernels = match results.kernel_source.get(..12) {
        Some(hash) => format!(", kernels {hash}"),
        None => String::new(),
    };
    let about = format!(
        "{name}: holdfast {}, backend {}, seed {}{kernels}, on {}",
        results.version, results.backend, results.seed, results.device
    );
    text::wrap(&format!("  {which}  "), &about, WIDTH)
}

/// `pass 0.19`, `FAIL 1e6`, `unmeasured`
fn state(item: &Item) -> String {
    let verdict = if item.verdict == Verdict::Fail { "FAIL" } else { item.verdict.name() };
    match item.share {
        Some(share) => format!("{verdict} {}", text::share(share)),
        None => verdict.to_owned(),
    }
}

/// How many of each method: `zoh 3, rk4 40`.
fn by_method<'a>(items: impl Iterator<Item = &'a Item> + Clone) -> String {
    let count = |method: Method| items.clone().filter(|item| item.method == method).count();
    let counts = Method::ALL.into_iter().map(|method| (method, count(method)));
    let counts: Vec<_> =
        counts.filter(|(_, count)| *count > 0).map(|(method, count)| format!("{method} {count}")).collect();
    counts.join(", ")
}

/// A part's heading, its first lines, and how many there are beyond.
fn part(heading: String, rows: Vec<String>, most: usize) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let more = rows.len().saturating_sub(most);
    let mut lines = vec![String::new(), text::wrap("", &heading, WIDTH)];
    lines.extend(rows.into_iter().take(most));
    if more > 0 {
        lines.push(format!("  and {more} more (--verbose lists them)"));
    }
    lines
}

fn verdicts(comparison: &RunComparison, most: usize) -> Vec<String> {
    let row = |change: &ItemChange| {
        let word = if change.is_worse() { "WORSE " } else { "better" };
        let text = format!("{}: {} → {}", change.new.id, state(&change.old), state(&change.new));
        text::wrap(&format!("  {word}  "), &text, WIDTH)
    };
    let heading = format!(
        "{} changed ({})",
        text::count(comparison.verdicts.len(), "verdict"),
        by_method(comparison.verdicts.iter().map(|change| &change.new))
    );
    part(heading, comparison.verdicts.iter().map(row).collect(), most)
}

fn errors(comparison: &RunComparison, most: usize) -> Vec<String> {
    let row = |change: &ItemChange| {
        let word = if change.grew() { "larger " } else { "smaller" };
        let factor = change.factor();
        let by = if factor.is_finite() { format!(", × {}", text::share(factor)) } else { String::new() };
        let text = format!("{}: {} → {}{by}", change.new.id, state(&change.old), state(&change.new));
        text::wrap(&format!("  {word}  "), &text, WIDTH)
    };
    let heading = format!(
        "{} moved by more than a factor of {FACTOR} ({})",
        text::count(comparison.errors.len(), "error"),
        by_method(comparison.errors.iter().map(|change| &change.new))
    );
    part(heading, comparison.errors.iter().map(row).collect(), most)
}

fn narrower(comparison: &RunComparison, most: usize) -> Vec<String> {
    let row = |change: &ItemChange| {
        let judged = |item: &Item| item.judged.unwrap_or_default();
        let (old, new) = (judged(&change.old), judged(&change.new));
        text::wrap("  FEWER   ", &format!("{}: {old} → {new} elements judged", change.new.id), WIDTH)
    };
    let heading = format!(
        "{} with fewer elements judged, which is a regression ({})",
        comparison.narrower.len(),
        by_method(comparison.narrower.iter().map(|change| &change.new))
    );
    part(heading, comparison.narrower.iter().map(row).collect(), most)
}

fn items(what: &str, items: &[Item], most: usize) -> Vec<String> {
    let row = |item: &Item| text::wrap("  ", &format!("{}: {}", item.id, state(item)), WIDTH);
    let heading = format!("{} {what} ({})", items.len(), by_method(items.iter()));
    part(heading, items.iter().map(row).collect(), most)
}

fn pairs(comparison: &RunComparison, most: usize) -> Vec<String> {
    let count = |pairs: &PairTotals| {
        format!("{} agree, {} fail, {} unmeasured", pairs.agree, failing(pairs), pairs.unmeasured)
    };
    let (old, new) = (count(&comparison.old_pairs), count(&comparison.new_pairs));
    if old == new && comparison.failing_pairs.is_empty() {
        return Vec::new();
    }
    let word = if comparison.pairs_regressed() { "worse" } else { "changed" };
    let mut lines = vec![String::new(), format!("pairs {word}: {old} → {new}")];
    let shown = comparison.failing_pairs.iter().take(most);
    lines.extend(shown.map(|pair| text::wrap("  FAIL  ", pair, WIDTH)));
    lines
}
