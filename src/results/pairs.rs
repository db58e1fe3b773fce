//! How far apart the methods are on one problem, and whether a kernel is as far apart as the truth.

use serde::{Deserialize, Serialize};

use super::nullable;
use crate::method::Method;
use crate::problem::{InputType, Weights};

/// How far apart the methods' outputs are on one problem: the strict upper triangle of methods × methods.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PairwiseMatrix {
    /// `truth`, or the backend's name.
    pub source: String,
    pub regime: String,
    pub weights: Weights,
    pub input: InputType,
    /// The problem's id: a case id without its method.
    pub problem: String,
    pub pairs: Vec<Pair>,
}

/// The difference between two methods' outputs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pair {
    pub left: Method,
    pub right: Method,
    /// Mean of |left − right|.
    #[serde(deserialize_with = "nullable::one")]
    pub mean: f64,
    /// Maximum of |left − right|.
    #[serde(deserialize_with = "nullable::one")]
    pub max: f64,
    /// ‖left − right‖₂ / max(‖left‖₂, ‖right‖₂); 0 when both are zero.
    #[serde(deserialize_with = "nullable::one")]
    pub rel_l2: f64,
    /// Largest difference in units in the last place of the input type.
    #[serde(deserialize_with = "nullable::one")]
    pub max_ulp: f64,
    pub status: PairStatus,
    /// Output index (batch, channel, l) of the largest disagreement with the truth's difference (for the
    /// truth itself: of `max`).
    pub worst_index: Vec<usize>,
    /// |kernel's difference − truth's difference| / (sum of the two bounds) there; 0 for the truth itself.
    #[serde(deserialize_with = "nullable::one")]
    pub ratio: f64,
}

/// How a kernel's difference between two methods compares with the truth's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairStatus {
    /// The truth's own entry: the oracle.
    Oracle,
    /// Differs where the truth differs and by as much, within both methods' bounds.
    Agrees,
    /// The outputs coincide although the truth says that they differ.
    Coincides,
    /// The outputs differ although the truth says that they agree.
    Differs,
    /// The outputs differ, but not by what the truth says.
    Off,
    /// One of the two methods could not be measured.
    Unmeasured,
}

/// How many pairs of methods, over all problems, had each status.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct PairTotals {
    /// Problems whose methods were compared.
    pub problems: usize,
    pub agree: usize,
    pub coincide: usize,
    pub differ: usize,
    pub off: usize,
    pub unmeasured: usize,
}

impl PairTotals {
    /// Counts the pairs of the kernels' matrices; the truth's own are no verdicts.
    pub fn count<'a>(matrices: impl Iterator<Item = &'a PairwiseMatrix>) -> Self {
        let mut totals = PairTotals::default();
        let kernels = matrices.filter(|m| m.pairs.iter().any(|p| p.status != PairStatus::Oracle));
        for pair in kernels.inspect(|_| totals.problems += 1).flat_map(|m| &m.pairs) {
            match pair.status {
                PairStatus::Oracle => {}
                PairStatus::Agrees => totals.agree += 1,
                PairStatus::Coincides => totals.coincide += 1,
                PairStatus::Differs => totals.differ += 1,
                PairStatus::Off => totals.off += 1,
                PairStatus::Unmeasured => totals.unmeasured += 1,
            }
        }
        totals
    }
}

impl PairStatus {
    /// Whether the kernel's difference is not the truth's.
    pub fn is_failure(self) -> bool {
        matches!(self, PairStatus::Coincides | PairStatus::Differs | PairStatus::Off)
    }
}
