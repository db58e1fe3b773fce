//! What to do with a new revision of a header, in one line.

use super::revisions::{Change, Comparison};

/// Whether anything got worse, or could not be told: where neither revision runs there is nothing to compare.
pub fn is_worse(comparisons: &[Comparison]) -> bool {
    let unknown = |change: Change| matches!(change, Change::BothBroken | Change::Unmeasured);
    comparisons.iter().any(|c| c.change.is_worse() || unknown(c.change))
}

/// A recommendation: what to do, and what it rests on.
pub fn of(comparisons: &[Comparison]) -> String {
    let count = |change: Change| comparisons.iter().filter(|c| c.change == change).count();
    let [equal, rounding, closer, farther, mixed, mended, broken, both, unmeasured] = Change::ALL.map(count);
    let better = closer + mended;
    let worse = farther + mixed + broken;
    let advice = match (better, worse, rounding) {
        (_, 1.., _) if better + mixed > 0 => "do not take it as it is",
        (_, 1.., _) => "leave it",
        (0, 0, _) if unmeasured + both == comparisons.len() => "nothing can be said",
        (1.., 0, _) => "take it",
        (0, 0, 0) => "no need to take it",
        (0, 0, _) => "take it or leave it",
    };
    let parts = [
        (closer, "closer on"),
        (mended, "mended on"),
        (equal + rounding, "equal on"),
        (farther, "farther on"),
        (mixed, "closer and farther on"),
        (broken, "broken on"),
        (both, "still broken on"),
        (unmeasured, "unmeasured on"),
    ];
    let mut parts: Vec<String> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what} {n}")).collect();
    if worse == 0 && better > 0 {
        parts.push("worse on none".to_owned());
    }
    let wrong = comparisons.iter().filter(|c| c.new_worst.is_some_and(|worst| worst > 1.0)).count();
    let still = match wrong {
        0 => String::new(),
        n => format!("; the new one is outside the specification on {n}"),
    };
    format!("{advice}: {}{still}", parts.join(", "))
}
