//! The pairwise matrices, brought together by problem: the truth's beside each kernel's.

use crate::method::Method;
use crate::problem::Weights;
use crate::results::{Pair, PairStatus, PairwiseMatrix, Results};

/// The source name of the truth's own matrices.
pub const TRUTH: &str = "truth";

/// One problem's matrices.
#[derive(Clone, Debug)]
pub struct PairedProblem<'a> {
    /// The problem's id: a case id without its method.
    pub problem: &'a str,
    pub weights: Weights,
    pub truth: Option<&'a PairwiseMatrix>,
    pub kernels: Vec<&'a PairwiseMatrix>,
}

/// Every problem that has a matrix, the ones with a failing pair first.
pub fn by_problem(results: &Results) -> Vec<PairedProblem<'_>> {
    let mut problems: Vec<PairedProblem> = Vec::new();
    for matrix in &results.pairwise {
        let position = problems.iter().position(|p| p.problem == matrix.problem).unwrap_or_else(|| {
            problems.push(PairedProblem {
                problem: &matrix.problem,
                weights: matrix.weights,
                truth: None,
                kernels: Vec::new(),
            });
            problems.len() - 1
        });
        let problem = &mut problems[position];
        if matrix.source == TRUTH && problem.truth.is_none() {
            problem.truth = Some(matrix);
        } else {
            problem.kernels.push(matrix);
        }
    }
    problems.sort_by_key(|p| !p.failed());
    problems
}

impl PairedProblem<'_> {
    pub fn failed(&self) -> bool {
        self.kernels.iter().flat_map(|m| &m.pairs).any(|p| p.status.is_failure())
    }
}

/// How many kernel pairs agree with the truth's difference, how many do not, how many were not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairTotals {
    pub problems: usize,
    pub agreeing: usize,
    pub failing: usize,
    pub unmeasured: usize,
}

pub fn totals(results: &Results) -> PairTotals {
    let pairs = &results.pairs;
    PairTotals {
        problems: pairs.problems,
        agreeing: pairs.agree,
        failing: pairs.coincide + pairs.differ + pairs.off,
        unmeasured: pairs.unmeasured,
    }
}

/// Every failing pair with its kernel's matrix and, where there is one, the truth's entry.
pub fn failing(results: &Results) -> Vec<(&PairwiseMatrix, &Pair, Option<&Pair>)> {
    let mut found = Vec::new();
    for problem in by_problem(results) {
        for matrix in problem.kernels {
            for pair in matrix.pairs.iter().filter(|p| p.status.is_failure()) {
                found.push((matrix, pair, problem.truth.and_then(|t| entry(t, pair.left, pair.right))));
            }
        }
    }
    found
}

/// The entry of two methods, whichever comes first.
pub fn entry(matrix: &PairwiseMatrix, a: Method, b: Method) -> Option<&Pair> {
    matrix.pairs.iter().find(|p| (p.left, p.right) == (a, b) || (p.left, p.right) == (b, a))
}

/// The status in one or two words.
pub fn status(status: PairStatus) -> &'static str {
    match status {
        PairStatus::Oracle => "oracle",
        PairStatus::Agrees => "agrees",
        PairStatus::Coincides => "coincides",
        PairStatus::Differs => "differs",
        PairStatus::Off => "off",
        PairStatus::Unmeasured => "unmeasured",
    }
}

/// What the status says, as a sentence without its full stop.
pub fn explain(status: PairStatus) -> &'static str {
    match status {
        PairStatus::Oracle => "the truth's own difference",
        PairStatus::Agrees => "differs by as much as the truth says, within both methods' bounds",
        PairStatus::Coincides => "the outputs coincide although the truth says that they differ",
        PairStatus::Differs => "the outputs differ although the truth says that they agree",
        PairStatus::Off => "the outputs differ, but not by what the truth says",
        PairStatus::Unmeasured => "one of the two methods could not be measured",
    }
}
