//! Names of every fault when it was planted in the kernels: the harness tested, not the run.

use std::cmp::Reverse;

use minijinja::{Value, context};
use serde::{Deserialize, Serialize};

use crate::method::Method;

/// One fault, planted in one method and weight type at a time: a line of the record of the test that plants them all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedFault {
    pub fault: String,
    /// For each method, in the order of ids, a mark for real and one for complex weights: `=` named, `?` caught and not named, `.` it
    /// changes nothing that can be seen.
    pub marks: [String; Method::ALL.len()],
    /// The names that came first, and how often.
    pub named: Vec<(String, usize)>,
}

/// The record: `cargo test` compares what it finds of each fault in one method, and `.ci/long` in all.
const RECORD: &str = include_str!("../../../golden/fault-catalogue.snap.json");

/// Every planted fault, in the kernels' order; empty if the record is not readable, which a test rules out.
pub fn record() -> Vec<RecordedFault> {
    serde_json::from_str(RECORD).unwrap_or_default()
}

/// The record that came with this version of the harness.
pub(super) fn confusion() -> Value {
    let record = record();
    let marks = || record.iter().flat_map(|row| &row.marks).flat_map(|marks| marks.chars());
    let row = |row: &RecordedFault| {
        let mut named: Vec<_> = row.named.iter().collect();
        named.sort_by_key(|(_, count)| Reverse(*count));
        context! {
            fault => &row.fault,
            // One for each method.
            cells => row.marks.iter().map(|marks| cell(marks)).collect::<Vec<_>>(),
            names => named.iter().map(|(name, _)| name.as_str()).map(Value::from).collect::<Vec<_>>(),
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
        _ => "?",
    };
    context! { text => marks.chars().map(word).collect::<Vec<_>>().join(" "), class }
}
