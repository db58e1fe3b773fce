//! How far apart the methods are on one problem, and whether a kernel is as far apart as the truth.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::nullable;
use crate::formula::Form;
use crate::problem::Weights;
use crate::tensor::{ComputedName, ElementType};

/// How far apart one tensor of the methods is on one problem: the strict upper triangle of methods × methods.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PairwiseMatrix {
    pub source: String,
    pub regime: String,
    pub weights: Weights,
    pub input: ElementType,
    pub problem: String,
    #[serde(default = "ComputedName::out")]
    pub tensor: ComputedName,
    pub pairs: Vec<Pair>,
}

/// The difference between two methods' values of a tensor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pair {
    pub left: Form,
    pub right: Form,
    #[serde(with = "nullable::short")]
    pub mean: f64,
    #[serde(with = "nullable::short")]
    pub max: f64,
    /// ‖left − right‖₂ / max(‖left‖₂, ‖right‖₂); 0 when both are zero.
    #[serde(with = "nullable::short")]
    pub rel_l2: f64,
    /// Largest difference in units in the last place of the input type.
    #[serde(with = "nullable::short")]
    pub max_ulp: f64,
    pub status: PairStatus,
    /// Index into the tensor of the largest disagreement with the truth's difference (for the
    /// truth itself: of `max`).
    pub worst_index: Vec<usize>,
    /// |kernel's difference − truth's difference| / (sum of the two bounds) there; 0 for the truth itself.
    #[serde(with = "nullable::short")]
    pub ratio: f64,
}

named! {
    /// How a kernel's difference between two methods compares with the truth's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum PairStatus {
        Oracle => "oracle": "the truth's own difference",
        Agrees => "agrees": "differs by as much as the truth says, within both methods' bounds",
        Coincides => "coincides": "they coincide although the truth says that they differ",
        Differs => "differs": "they differ although the truth says that they agree",
        Off => "off": "they differ, but not by what the truth says",
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
/// The same of each gradient: where one is wrong, others mostly are.
const FAILING_GRADIENTS: usize = 2;

/// The place of the problem whose matrices are shown even where nothing fails: what tells it are the weights, input type and
/// regime of all problems of a run, in the plan's order.
pub fn showcase<'a>(
    weights: Weights,
    problems: impl Iterator<Item = (Weights, ElementType, &'a str)>,
) -> Option<usize> {
    let rank = |input, regime| match input {
        ElementType::F32 if ["vim-tiny", "s4d-lin"].contains(&regime) => 0,
        ElementType::F32 => 1,
        _ => 2,
    };
    let of_weights = problems.enumerate().filter(|(_, (other, ..))| *other == weights);
    // Among equals, the first.
    of_weights.min_by_key(|&(_, (_, input, regime))| rank(input, regime)).map(|(place, _)| place)
}

/// The matrices worth showing, each the truth's and the kernel's of one tensor of one problem: of each tensor one problem for
/// each weight type, and failing ones. All problems of a run go in, in the plan's order.
pub fn shown(problems: &[[PairwiseMatrix; 2]]) -> Vec<PairwiseMatrix> {
    let tensors: BTreeSet<ComputedName> = problems.iter().map(|[truth, _]| truth.tensor).collect();
    let of = |tensor| problems.iter().filter(move |[truth, _]| truth.tensor == tensor);
    tensors.into_iter().flat_map(|tensor| shown_of(tensor, &of(tensor).collect::<Vec<_>>())).collect()
}

fn shown_of(tensor: ComputedName, problems: &[&[PairwiseMatrix; 2]]) -> Vec<PairwiseMatrix> {
    let keys = || problems.iter().map(|[truth, _]| (truth.weights, truth.input, &*truth.regime));
    let mut shown: Vec<&[PairwiseMatrix; 2]> = Weights::ALL
        .into_iter()
        .filter_map(|weights| showcase(weights, keys()))
        .map(|place| problems[place])
        .collect();
    let most = if tensor.gradient().is_some() { FAILING_GRADIENTS } else { FAILING_MATRICES };
    for failing in problems.iter().filter(|[_, kernel]| kernel.fails()).take(most) {
        if shown.iter().all(|[truth, _]| truth.problem != failing[0].problem) {
            shown.push(failing);
        }
    }
    shown.into_iter().flatten().filter(|matrix| !matrix.pairs.is_empty()).cloned().collect()
}

impl PairwiseMatrix {
    /// Whether any of its pairs does.
    pub fn fails(&self) -> bool {
        self.pairs.iter().any(|pair| pair.status.is_failure())
    }
}

impl PairTotals {
    /// How many pairs there are.
    pub fn all(&self) -> usize {
        self.agree + self.failing() + self.unmeasured
    }

    /// How many pairs are not as far apart as the truth says.
    pub fn failing(&self) -> usize {
        self.coincide + self.differ + self.off
    }

    /// Whether more of them fail or are unmeasured than did, or fewer problems were compared.
    pub fn is_worse_than(&self, old: &Self) -> bool {
        self.failing() > old.failing() || self.unmeasured > old.unmeasured || self.problems < old.problems
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

    /// Those of outputs, and those of gradients, of two disjoint parts together.
    pub fn sums(one: [Self; 2], other: [Self; 2]) -> [Self; 2] {
        [0, 1].map(|pass| PairTotals::sum([one[pass], other[pass]]))
    }

    /// Counts the pairs of the kernels' matrices of outputs, and those of gradients; the truth's own are no verdicts.
    pub fn of_passes<'a>(matrices: impl IntoIterator<Item = &'a PairwiseMatrix>) -> [Self; 2] {
        let (gradients, outputs): (Vec<_>, Vec<_>) =
            matrices.into_iter().partition(|matrix| matrix.tensor.gradient().is_some());
        [outputs, gradients].map(PairTotals::count)
    }

    fn count(matrices: Vec<&PairwiseMatrix>) -> Self {
        let mut totals = PairTotals::default();
        let is_kernels = |m: &&PairwiseMatrix| m.pairs.iter().any(|p| p.status != PairStatus::Oracle);
        let kernels: Vec<_> = matrices.into_iter().filter(is_kernels).collect();
        let problems: BTreeSet<(&str, &str)> = kernels.iter().map(|m| (&*m.source, &*m.problem)).collect();
        totals.problems = problems.len();
        for pair in kernels.iter().flat_map(|m| &m.pairs) {
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
