//! The pairwise matrices, brought together by problem: the truth's beside each kernel's.

use super::groups;
use crate::formula::Form;
use crate::problem::Weights;
use crate::results::{Pair, PairwiseMatrix, Results};

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
pub fn by_problem<'a>(results: &'a Results) -> Vec<PairedProblem<'a>> {
    let paired = |(problem, mut matrices): (_, Vec<&'a PairwiseMatrix>)| {
        let weights = matrices[0].weights;
        let truth = matrices.iter().position(|matrix| matrix.source == TRUTH).map(|at| matrices.remove(at));
        PairedProblem { problem, weights, truth, kernels: matrices }
    };
    let groups = groups::by_key(&results.pairwise, |matrix| &*matrix.problem);
    let mut problems: Vec<_> = groups.into_iter().map(paired).collect();
    problems.sort_by_key(|p| !p.failed());
    problems
}

impl PairedProblem<'_> {
    /// The pairs that are not as far apart as the truth says.
    pub fn failing(&self) -> impl Iterator<Item = &Pair> {
        self.kernels.iter().flat_map(|m| &m.pairs).filter(|p| p.status.is_failure())
    }

    pub fn failed(&self) -> bool {
        self.failing().next().is_some()
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

/// The rows and columns of its picture: the methods, and the textbook forms that it has; of a recording that has some, those
/// alone that it has.
pub fn columns(matrix: &PairwiseMatrix) -> Vec<Form> {
    let has = |form: &Form| matrix.pairs.iter().any(|pair| [pair.left, pair.right].contains(form));
    let has_textbook = Form::all().any(|form| form.method().is_none() && has(&form));
    Form::all().filter(|form| has(form) || !has_textbook && form.method().is_some()).collect()
}

/// The entry of two methods, whichever comes first.
pub fn entry(matrix: &PairwiseMatrix, a: Form, b: Form) -> Option<&Pair> {
    matrix.pairs.iter().find(|p| (p.left, p.right) == (a, b) || (p.left, p.right) == (b, a))
}
