//! One method on one problem through truth, bounds and judge, whatever its output comes from: a backend that runs here
//! ([`crate::verify`]; a foreign header is one), or a recording ([`crate::check`](mod@crate::check)).

use std::sync::Arc;

use crate::formula::Form;
use crate::judge::budget::Budget;
use crate::judge::pairwise::{self, MethodOutputs};
use crate::judge::relative;
use crate::judge::scan::{self, Place};
use crate::judge::ulp::Format;
use crate::kernel::KernelError;
use crate::method::Method;
use crate::problem::Problem;
use crate::problem::stretch::Inputs;
use crate::promise::Promise;
use crate::results::{CaseResult, PairwiseMatrix, Relative, Verdict};
use crate::tensor::{TensorName, Tensors};
use crate::truth::TruthError;

/// A case whose truth is known, with all that a judgement of it needs.
pub struct SolvedCase<'a, M = Method> {
    /// A method that runs here, or whatever form a recording has.
    pub method: M,
    pub problem: &'a Problem,
    pub want: &'a Tensors<f64>,
    pub budget: Arc<Budget>,
    pub promise: Promise,
}

/// The verdict on what a kernel returned, and the solved case where there is a truth. With it come the bounds of the
/// promise.
pub fn judge<'a, M: Copy + Into<Form>>(
    (method, problem): (M, &'a Problem),
    place: Place,
    promise: Promise,
    truth: Result<(&'a Tensors<f64>, Arc<Budget>), &TruthError>,
    got: Result<&Tensors<f32>, &KernelError>,
) -> (CaseResult, Option<SolvedCase<'a, M>>) {
    let (want, budget) = match truth {
        Ok(known) => known,
        Err(error) => {
            let (unmeasured, reason) = (Verdict::Unmeasured, error.to_string());
            return (scan::without_output(method, problem, place, unmeasured, reason), None);
        }
    };
    let case = match got {
        Ok(got) => scan::case(method, problem, place, scan::judge(method, problem, got, want, &budget)),
        Err(error) => without_output(method, problem, place, error),
    };
    (case, Some(SolvedCase { method, problem, want, budget, promise }))
}

/// A case whose kernel returned nothing, for this reason.
pub fn without_output(
    form: impl Into<Form>,
    problem: &Problem,
    place: Place,
    error: &KernelError,
) -> CaseResult {
    scan::without_output(form, problem, place, verdict_of(error), error.to_string())
}

/// A kernel that faults has been measured, and found wanting; one that could not be run has not been measured.
pub fn verdict_of(error: &KernelError) -> Verdict {
    if error.is_fault() { Verdict::Fail } else { Verdict::Unmeasured }
}

impl<M: Copy + Into<Form>> SolvedCase<'_, M> {
    /// `got` against the same-precision reference.
    pub fn relative(&self, got: &Tensors<f64>, reference: &Tensors<f64>) -> Option<Relative> {
        relative::judge(got, reference, self.want, &self.budget, self.promise.contract.z_roundings)
    }

    /// What a matrix of methods needs of this one, `got` being its judged channels.
    pub fn outputs(&self, got: Option<&Tensors<f64>>) -> MethodOutputs {
        MethodOutputs {
            form: self.method.into(),
            truth: self.want[TensorName::Out].values.clone(),
            kernel: got.map(|got| got[TensorName::Out].values.clone()),
            bound: self.budget.tensors[TensorName::Out].bound.clone(),
        }
    }
}

/// The truth's matrix of methods and that of `source`. `regime` and `id` are the problem's in results.
pub fn matrices(
    problem: &Problem,
    outputs: &[MethodOutputs],
    source: &str,
    regime: &str,
    id: &str,
) -> [PairwiseMatrix; 2] {
    let indexed = problem.judged_tensor(TensorName::Out, Vec::<f64>::new());
    let outline = problem.outline();
    let index = |position| outline.recorded_index(TensorName::Out, problem.judged_index(&indexed, position));
    let (truth, kernel) = pairwise::matrices(outputs, Format::for_input(problem.input), index);
    [("truth", truth), (source, kernel)].map(|(source, pairs)| PairwiseMatrix {
        source: source.to_owned(),
        regime: regime.to_owned(),
        weights: problem.weights,
        input: problem.input,
        problem: id.to_owned(),
        pairs,
    })
}
