//! The confusion matrix of the fault catalogue: the harness tested, not the run.

use minijinja::{Value, context};

use crate::judge::faults::catalogue;
use crate::judge::faults::recorded::{self, RecordedFault};

/// The record that came with this version of the harness.
pub fn confusion() -> Value {
    let record = recorded::all();
    let marks = || record.iter().flat_map(|row| &row.marks).flat_map(|marks| marks.chars());
    let row = |row: &RecordedFault| {
        let others = row.named.iter().map(|(name, _)| &**name).filter(|name| *name != row.fault);
        context! {
            fault => &row.fault,
            what => catalogue::find(&row.fault).map_or("", |entry| entry.what),
            // One for each method.
            cells => row.marks.iter().map(|marks| cell(marks)).collect::<Vec<_>>(),
            // Names other than its own that came first.
            others => others.collect::<Vec<_>>().join(", "),
        }
    };
    context! {
        faults => record.len(),
        planted => marks().filter(|&mark| mark != '.').count(),
        named => marks().filter(|&mark| mark == '=').count(),
        rows => record.iter().map(row).collect::<Vec<_>>(),
    }
}

/// The marks of one method, for real and complex weights.
fn cell(marks: &str) -> Value {
    let class = match marks {
        ".." => "",
        marks if marks.chars().all(|c| matches!(c, '=' | '.')) => "pass low",
        _ => "fail",
    };
    let word = |c: char| match c {
        '=' => "✓",
        '.' => "·",
        'x' => "✗",
        '-' => "missed",
        _ => "?",
    };
    context! { text => marks.chars().map(word).collect::<Vec<_>>().join(" "), class }
}
