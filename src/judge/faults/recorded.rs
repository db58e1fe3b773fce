//! What became of every fault model when it was planted: the record of the test that plants them all, for reports.

use serde::{Deserialize, Serialize};

use crate::method::Method;

/// One fault, planted in one method and weight type at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedFault {
    pub fault: String,
    /// For each method, in the order of ids, a mark for real and one for complex weights: `=` named first, `x`
    /// another name, `?` no name, `-` not caught, `.` it does not apply.
    pub marks: [String; Method::ALL.len()],
    /// The names that came first, and how often.
    pub named: Vec<(String, usize)>,
}

/// The record: `cargo test` compares it with what it finds.
const RECORD: &str = include_str!("../../../golden/fault-catalogue.snap.json");

/// Every fault of the catalogue, in its order; empty if the record is not readable, which a test rules out.
pub fn all() -> Vec<RecordedFault> {
    serde_json::from_str(RECORD).unwrap_or_default()
}
