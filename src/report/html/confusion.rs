//! The confusion matrix of the fault catalogue: the harness tested, not the run.

use serde::Serialize;

use crate::judge::faults::{catalogue, recorded};

#[derive(Serialize)]
pub struct ConfusionView {
    faults: usize,
    planted: usize,
    named: usize,
    rows: Vec<FaultRow>,
}

#[derive(Serialize)]
struct FaultRow {
    fault: String,
    what: &'static str,
    cells: Vec<FaultCell>,
    /// Names other than its own that came first.
    others: String,
}

/// One method: its marks for real and complex weights.
#[derive(Serialize)]
struct FaultCell {
    text: String,
    class: &'static str,
}

/// The record that came with this version of the harness.
pub fn confusion() -> ConfusionView {
    let record = recorded::all();
    let count = |test: fn(char) -> bool| {
        record.iter().flat_map(|row| &row.marks).flat_map(|m| m.chars()).filter(|&c| test(c)).count()
    };
    let row = |row: &recorded::RecordedFault| FaultRow {
        fault: row.fault.clone(),
        what: catalogue::find(&row.fault).map_or("", |entry| entry.what),
        cells: row.marks.iter().map(|marks| cell(marks)).collect(),
        others: row
            .named
            .iter()
            .filter(|(name, _)| *name != row.fault)
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    };
    ConfusionView {
        faults: record.len(),
        planted: count(|c| c != '.'),
        named: count(|c| c == '='),
        rows: record.iter().map(row).collect(),
    }
}

fn cell(marks: &str) -> FaultCell {
    let class = match marks {
        ".." => "",
        marks if marks.chars().all(|c| matches!(c, '=' | '.')) => "pass low",
        marks if marks.contains('~') => "unmeasured",
        _ => "fail",
    };
    let word = |c: char| match c {
        '=' => "✓",
        '.' => "·",
        '~' => "~",
        'x' => "✗",
        '-' => "missed",
        _ => "?",
    };
    FaultCell { text: marks.chars().map(word).collect::<Vec<_>>().join(" "), class }
}
