//! How far apart the methods are on one problem, and whether a kernel is as far apart as the truth.

use serde::{Deserialize, Serialize};

use super::nullable;
use crate::formula::Form;
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
    pub left: Form,
    pub right: Form,
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

named! {
    /// How a kernel's difference between two methods compares with the truth's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum PairStatus {
        Oracle => "oracle": "the truth's own difference",
        Agrees => "agrees": "differs by as much as the truth says, within both methods' bounds",
        Coincides => "coincides": "the outputs coincide although the truth says that they differ",
        Differs => "differs": "the outputs differ although the truth says that they agree",
        Off => "off": "the outputs differ, but not by what the truth says",
        Unmeasured => "unmeasured": "one of the two methods could not be measured",
    }
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

/// How many failing problems keep their matrices: enough to see a pattern, without drowning the report.
const FAILING_MATRICES: usize = 6;

/// The matrices worth showing, each the truth's and the kernel's of one problem: one problem for each weight type, and
/// failing ones. All problems of a run go in, in the plan's order.
pub fn shown(problems: &[[PairwiseMatrix; 2]]) -> Vec<PairwiseMatrix> {
    let mut shown: Vec<&[PairwiseMatrix; 2]> = Vec::new();
    for weights in Weights::ALL {
        let of_weights = || problems.iter().filter(|[truth, _]| truth.weights == weights);
        let f32_ones = || of_weights().filter(|[truth, _]| truth.input == InputType::F32);
        let showcase = f32_ones().find(|[truth, _]| ["vim-tiny", "s4d-lin"].contains(&truth.regime.as_str()));
        shown.extend(showcase.or(f32_ones().next()).or(of_weights().next()));
    }
    let fails = |[_, kernel]: &&[PairwiseMatrix; 2]| kernel.pairs.iter().any(|p| p.status.is_failure());
    for failing in problems.iter().filter(fails).take(FAILING_MATRICES) {
        if shown.iter().all(|[truth, _]| truth.problem != failing[0].problem) {
            shown.push(failing);
        }
    }
    shown.into_iter().flatten().filter(|matrix| !matrix.pairs.is_empty()).cloned().collect()
}

impl PairTotals {
    /// How many pairs are not as far apart as the truth says.
    pub fn failing(&self) -> usize {
        self.coincide + self.differ + self.off
    }

    /// The totals of disjoint parts together.
    pub fn sum(parts: impl IntoIterator<Item = PairTotals>) -> Self {
        parts.into_iter().fold(PairTotals::default(), |all, part| PairTotals {
            problems: all.problems + part.problems,
            agree: all.agree + part.agree,
            coincide: all.coincide + part.coincide,
            differ: all.differ + part.differ,
            off: all.off + part.off,
            unmeasured: all.unmeasured + part.unmeasured,
        })
    }

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
