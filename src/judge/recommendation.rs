//! What to do with a new revision of a header, in one line.

use crate::results::revisions::{Change, MethodDiff};

/// Whether anything got worse, or could not be told: where neither revision runs there is nothing to compare, and where
/// there is no bound nothing says what a difference means.
pub fn is_worse(comparisons: &[MethodDiff]) -> bool {
    comparisons.iter().any(|c| c.is_worse() || is_unknown(c))
}

/// Whether something about it could not be told.
fn is_unknown(c: &MethodDiff) -> bool {
    matches!(c.change, Change::BothBroken | Change::Unmeasured) || c.unbounded > 0
}

/// Whether the new revision is outside its bounds somewhere.
fn is_wrong(c: &MethodDiff) -> bool {
    c.new_worst.is_some_and(|worst| worst.is_nan() || worst > 1.0)
}

/// A recommendation: what to do, and what it rests on. "Take it" and "worse on none" are said only where everything was
/// measured, and what only the new revision runs on is right.
pub fn recommend(comparisons: &[MethodDiff]) -> String {
    let count = |change: Change| comparisons.iter().filter(|c| c.change == change).count();
    let [equal, rounding, closer, farther, mixed, wrong, mended, broken, both, unmeasured] =
        Change::ALL.map(count);
    let unbounded: usize = comparisons.iter().map(|c| c.unbounded).sum();
    let better = closer + mended;
    let worse = farther + mixed + broken;
    let unknown = comparisons.iter().any(is_unknown);
    let mended_wrong = comparisons.iter().any(|c| c.change == Change::Mended && is_wrong(c));
    let advice = match (better, worse, rounding) {
        (0, 0, _) if wrong > 0 => "neither is right",
        (1.., 0, _) if wrong > 0 => "better on some, and neither is right on others",
        (_, 1.., _) if better + mixed > 0 => "do not take it as it is",
        (_, 1.., _) => "leave it",
        (0, 0, _) if unmeasured + both == comparisons.len() => "nothing can be said",
        (1.., 0, _) if unknown => "better where it could be told",
        (1.., 0, _) if mended_wrong => "it runs where the old one does not, but not to specification",
        (1.., 0, _) => "take it",
        (0, 0, _) if unknown => "no difference that matters where it could be told",
        (0, 0, 0) => "no need to take it",
        (0, 0, _) => "take it or leave it",
    };
    let parts = [
        (closer, "closer on"),
        (mended, "mended on"),
        (equal + rounding, "equal on"),
        (farther, "farther on"),
        (mixed, "closer and farther on"),
        (wrong, "both wrong on"),
        (broken, "broken on"),
        (both, "still broken on"),
        (unmeasured, "unmeasured on"),
    ];
    let mut parts: Vec<String> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what} {n}")).collect();
    match unbounded {
        0 => {}
        1 => parts.push("1 value differs where there is no bound".to_owned()),
        _ => parts.push(format!("{unbounded} values differ where there is no bound")),
    }
    // What was broken has nothing to be worse than.
    if worse == 0 && better > 0 && mended == 0 && wrong == 0 && !unknown {
        parts.push("worse on none".to_owned());
    }
    let still = match comparisons.iter().filter(|c| is_wrong(c)).count() {
        0 => String::new(),
        n => format!("; the new one is outside the specification on {n}"),
    };
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    format!("{advice}{parts}{still}")
}
