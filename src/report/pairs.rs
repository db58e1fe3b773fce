//! The pairwise matrices, brought together by problem and tensor: the truth's beside each kernel's.

use minijinja::{Value, context};

use super::groups;
use crate::formula::Form;
use crate::problem::Weights;
use crate::results::{BACKWARD, Pair, PairTotals, PairwiseMatrix, Results};
use crate::tensor::ComputedName;

/// The source name of the truth's own matrices.
pub const TRUTH: &str = "truth";

/// One problem's matrices of one tensor.
#[derive(Clone, Debug)]
pub struct PairedProblem<'a> {
    /// The problem's id: a case id without its method.
    pub problem: &'a str,
    pub weights: Weights,
    pub tensor: ComputedName,
    pub truth: Option<&'a PairwiseMatrix>,
    pub kernels: Vec<&'a PairwiseMatrix>,
}

/// Every problem that has a matrix, once for each tensor, the ones with a failing pair first.
pub fn by_problem<'a>(results: &'a Results) -> Vec<PairedProblem<'a>> {
    let paired = |((problem, tensor), mut matrices): ((_, _), Vec<&'a PairwiseMatrix>)| {
        let weights = matrices[0].weights;
        let truth = matrices.iter().position(|matrix| matrix.source == TRUTH).map(|at| matrices.remove(at));
        PairedProblem { problem, weights, tensor, truth, kernels: matrices }
    };
    let groups = groups::by_key(&results.pairwise, |matrix| (&*matrix.problem, matrix.tensor));
    let mut problems: Vec<_> = groups.into_iter().map(paired).collect();
    problems.sort_by_key(|p| !p.failed());
    problems
}

/// What all pairs of one kind came to.
pub struct Totals<'a> {
    /// What is compared, of the methods of so many problems.
    pub what: &'static str,
    /// What such pairs are called.
    pub nouns: &'static str,
    pub of: &'a PairTotals,
}

/// The totals of outputs, and those of gradients; where none were compared, those of outputs say so.
pub fn totals(results: &Results) -> Vec<Totals<'_>> {
    let outputs = Totals { what: "outputs", nouns: "pairs", of: &results.pairs };
    let gradients = Totals { what: "gradients", nouns: "pairs of gradients", of: &results.gradient_pairs };
    match (outputs.of.problems, gradients.of.problems) {
        (_, 0) => vec![outputs],
        (0, _) => vec![gradients],
        _ => vec![outputs, gradients],
    }
}

impl Totals<'_> {
    /// As the templates take them.
    pub fn view(&self) -> Value {
        let PairTotals { problems, agree, unmeasured, .. } = *self.of;
        context! { what => self.what, problems, agree, unmeasured, failing => self.of.failing() }
    }
}

/// The id of the case of a method in a problem, of the pass that a tensor is of.
pub fn case(problem: &str, tensor: ComputedName, form: Form) -> String {
    let pass = if tensor.gradient().is_some() { BACKWARD } else { "" };
    format!("{problem}/{form}{pass}")
}

impl PairedProblem<'_> {
    /// The id of the case of one of its methods.
    pub fn case(&self, form: Form) -> String {
        case(self.problem, self.tensor, form)
    }

    /// The pairs that are not as far apart as the truth says.
    pub fn failing(&self) -> impl Iterator<Item = &Pair> {
        self.kernels.iter().flat_map(|m| &m.pairs).filter(|p| p.status.is_failure())
    }

    pub fn failed(&self) -> bool {
        self.failing().next().is_some()
    }
}

/// Every failing pair with its kernel's matrix.
pub fn failing(results: &Results) -> Vec<(&PairwiseMatrix, &Pair)> {
    let matrices = by_problem(results).into_iter().flat_map(|problem| problem.kernels);
    let failing = |pair: &&Pair| pair.status.is_failure();
    matrices.flat_map(|matrix| matrix.pairs.iter().filter(failing).map(move |pair| (matrix, pair))).collect()
}

/// The rows and columns of its picture: the forms that it has.
pub fn columns(matrix: &PairwiseMatrix) -> Vec<Form> {
    let has = |form: &Form| matrix.pairs.iter().any(|pair| [pair.left, pair.right].contains(form));
    Form::all().filter(has).collect()
}

/// The entry of two methods, whichever comes first.
pub fn entry(matrix: &PairwiseMatrix, a: Form, b: Form) -> Option<&Pair> {
    matrix.pairs.iter().find(|p| (p.left, p.right) == (a, b) || (p.left, p.right) == (b, a))
}
