//! Two revisions of a kernel header, compared: what a `diff` found, as plain values.

use serde::{Deserialize, Serialize};

use super::revisions::Comparison;
use crate::problem::Weights;

/// One revision.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Revision {
    /// As it was named.
    pub path: String,
    /// SHA-256, in hex, of the header, of what it includes from its own folder, and of what the harness compiles with it.
    pub sha256: String,
    /// The compiler's own lines for each weight type that it does not take.
    pub rejected: Vec<(Weights, Vec<String>)>,
}

/// Two revisions, compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diff {
    pub schema: u32,
    /// The harness's own version.
    pub version: String,
    pub seed: u64,
    pub backend: String,
    /// What the new one ran on, in words.
    pub device: String,
    pub old: Revision,
    pub new: Revision,
    pub comparisons: Vec<Comparison>,
    pub recommendation: String,
    /// Whether anything got worse, or could not be told.
    pub worse: bool,
}
