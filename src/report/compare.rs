//! A comparison of two runs as text for a terminal, at most 100 columns wide.

use super::console::{Detail, coloured, width};
use super::text;
use crate::formula::Form;
use crate::results::compare::{FACTOR, Item, RunComparison};
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
        results.version,
        results.backend,
        results.all_seeds(),
        text::device(results)
    );
    text::wrap(&format!("  {which}  "), &about, width())
}

/// `pass 0.19`, `FAIL 1e6`, `unmeasured`
fn state(item: &Item) -> String {
    let verdict = if item.verdict == Verdict::Fail { "FAIL" } else { item.verdict.name() };
    match item.share {
        Some(share) => format!("{verdict} {}", text::share(share)),
        None => verdict.to_owned(),
    }
}

/// How many of each method, and of functions: `zoh 3, rk4 40`.
fn by_method<'a>(items: impl Iterator<Item = &'a Item> + Clone) -> String {
    let count = |method: Option<Form>| items.clone().filter(|item| item.method == method).count();
    let methods = Form::all().map(|method| (method.name(), count(Some(method))));
    let counts = methods.chain([("functions", count(None))]).filter(|(_, count)| *count > 0);
    let counts: Vec<_> = counts.map(|(name, count)| format!("{name} {count}")).collect();
    counts.join(", ")
}

/// A part's heading, with how many there are of each method, its first lines, and how many there are beyond: `item` is what
/// a thing is counted by, `row` its prefix and text.
fn part<T>(
    heading: String,
    things: &[T],
    most: usize,
    item: fn(&T) -> &Item,
    row: impl Fn(&T) -> (&'static str, String),
) -> Vec<String> {
    if things.is_empty() {
        return Vec::new();
    }
    let heading = format!("{heading} ({})", by_method(things.iter().map(item)));
    let mut lines = vec![String::new(), text::wrap("", &heading, width())];
    let rows = things.iter().take(most).map(row);
    lines.extend(rows.map(|(prefix, about)| text::wrap(prefix, &about, width())));
    if let more @ 1.. = things.len().saturating_sub(most) {
        lines.push(format!("  and {more} more (--verbose lists them)"));
    }
    lines
}

fn verdicts(comparison: &RunComparison, most: usize) -> Vec<String> {
    let heading = format!("{} changed", text::count(comparison.verdicts.len(), "verdict"));
    part(
        heading,
        &comparison.verdicts,
        most,
        |change| &change.new,
        |change| {
            let word = if change.is_worse() { "  WORSE   " } else { "  better  " };
            (word, format!("{}: {} → {}", change.new.id, state(&change.old), state(&change.new)))
        },
    )
}

fn errors(comparison: &RunComparison, most: usize) -> Vec<String> {
    let count = text::count(comparison.errors.len(), "error");
    let heading = format!("{count} moved by more than a factor of {FACTOR}");
    part(
        heading,
        &comparison.errors,
        most,
        |change| &change.new,
        |change| {
            let word = if change.grew() { "  larger   " } else { "  smaller  " };
            let factor = change.factor();
            let by = if factor.is_finite() { format!(", × {}", text::share(factor)) } else { String::new() };
            (word, format!("{}: {} → {}{by}", change.new.id, state(&change.old), state(&change.new)))
        },
    )
}

fn narrower(comparison: &RunComparison, most: usize) -> Vec<String> {
    let count = comparison.narrower.len();
    let heading = format!("{count} with fewer elements judged, which is a regression");
    part(
        heading,
        &comparison.narrower,
        most,
        |change| &change.new,
        |change| {
            let [old, new] = [&change.old, &change.new].map(|item| item.judged.unwrap_or_default());
            ("  FEWER   ", format!("{}: {old} → {new} elements judged", change.new.id))
        },
    )
}

fn items(what: &str, items: &[Item], most: usize) -> Vec<String> {
    let heading = format!("{} {what}", items.len());
    part(heading, items, most, |item| item, |item| ("  ", format!("{}: {}", item.id, state(item))))
}

fn pairs(comparison: &RunComparison, most: usize) -> Vec<String> {
    let count = |pairs: &PairTotals| {
        format!("{} agree, {} fail, {} unmeasured", pairs.agree, pairs.failing(), pairs.unmeasured)
    };
    if comparison.left_out > 0 {
        let said = "by what both were asked for; {} of one run alone are left out, and so are pairs";
        let left_out = text::count(comparison.left_out, "item");
        return vec![String::new(), text::wrap("compared ", &said.replacen("{}", &left_out, 1), width())];
    }
    let both = [
        ("pairs", &comparison.old_pairs, &comparison.new_pairs),
        ("pairs of gradients", &comparison.old_gradient_pairs, &comparison.new_gradient_pairs),
    ];
    let changed =
        both.into_iter().filter(|(_, old, new)| count(old) != count(new)).map(|(nouns, old, new)| {
            let word = if new.is_worse_than(old) { "worse" } else { "changed" };
            format!("{nouns} {word}: {} → {}", count(old), count(new))
        });
    let mut shown: Vec<String> = changed.collect();
    if shown.is_empty() && comparison.failing_pairs.is_empty() {
        return Vec::new();
    }
    if !comparison.failing_pairs.is_empty() && !shown.iter().any(|line| line.contains(" worse: ")) {
        shown.push("pairs worse: as many fail as before, but others".to_owned());
    }
    let mut lines = vec![String::new()];
    lines.extend(shown);
    let shown = comparison.failing_pairs.iter().take(most);
    lines.extend(shown.map(|pair| text::wrap("  FAIL  ", pair, width())));
    lines
}
