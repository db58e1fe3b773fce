//! What a backward pass takes of one step, over the sweeps, element by element. Of the production kernels the derivatives
//! themselves, against their promise. Of a header, whose backward of coefficients starts from gradients by Ā and B̄, the case of a
//! backward pass of one step ([`OneStep`]), through truth, bounds and judge as any other.

use super::Request;
use crate::case;
use crate::judge::budget::gradient::Pass;
use crate::judge::one_step::{self, Judged};
use crate::judge::scan::{self, Place};
use crate::judge::step;
use crate::kernel::{Backend, CoefficientGradients, KernelError};
use crate::method::Method;
use crate::problem::Weights;
use crate::problem::one_step::OneStep;
use crate::problem::sweep::Sweep;
use crate::results::{BACKWARD, CaseResult, SWEPT, Search, TensorResult, Verdict};
use crate::tensor::GradientName::{self, A, B, Delta};
use crate::tensor::{Gradients, Named, Tensor};
use crate::truth::gradient::elements;

/// What the cases of a sweep are in the place of a regime: in tables beside the rows of Ā and B̄.
pub fn regime(sweep: &Sweep) -> String {
    format!("∂ {}", sweep.name)
}

pub fn id(sweep: &Sweep, method: Method) -> String {
    format!("{}/{method}{BACKWARD}", unit(sweep))
}

/// The id of all methods' cases together.
pub fn unit(sweep: &Sweep) -> String {
    format!("{SWEPT}{}/{}", sweep.name, sweep.weights)
}

/// The verdict on each method's derivatives, or gradients; none of a backend that has neither.
pub fn solve(request: &Request, backend: &dyn Backend, sweep: &Sweep) -> Vec<CaseResult> {
    let one_step = OneStep::of(sweep, request.seed);
    let problem = &one_step.problem;
    let inputs = problem.fingerprint();
    let (promise, coefficients) = (backend.promise(), &one_step.coefficients);
    let of_pass = if promise.backward.is_some() { " --pass backward" } else { "" };
    let judged = |&method: &Method| {
        let place = Place {
            id: id(sweep, method),
            regime: regime(sweep),
            inputs: inputs.clone(),
            backend: backend.name().to_owned(),
            rerun: super::rerun_of_sweep(request, backend, sweep, method) + of_pass,
        };
        let none = || Err(KernelError::Unavailable("it has no derivatives".to_owned()));
        if promise.step_derivatives {
            let case = match backend.derivatives(method, coefficients).unwrap_or_else(none) {
                Ok(got) => match elements::solve(method, coefficients) {
                    Ok(want) => {
                        let tensors = step::judge(method, coefficients, &got, &want.values);
                        scan::case(method, problem, place, tensors)
                    }
                    Err(error) => {
                        scan::without_output(method, problem, place, Verdict::Unmeasured, error.to_string())
                    }
                },
                Err(error) => case::without_output(method, problem, place, &error),
            };
            return Some(case);
        }
        let got = match backend.coefficient_gradients(method, &one_step)? {
            Ok(got) => got,
            Err(error) => return Some(case::without_output(method, problem, place, &error)),
        };
        let (tensors, search) = judge(request, backend, method, &one_step, got);
        Some(CaseResult { search, ..scan::case(method, problem, place, tensors) })
    };
    request.methods.iter().filter_map(judged).collect()
}

fn judge(
    request: &Request,
    backend: &dyn Backend,
    method: Method,
    elements: &OneStep,
    got: CoefficientGradients,
) -> (Named<TensorResult, GradientName>, Option<Search>) {
    let (problem, contract) = (&elements.problem, backend.promise().contract);
    let got = named(elements, got);
    let pass = Pass { form: method.into(), problem, given: &elements.given, contract: &contract };
    let (mut tensors, known) = case::certified_gradients(pass, &got);
    let fails = |tensor: &TensorResult| tensor.verdict == Verdict::Fail;
    for (name, tensor) in tensors.iter_mut() {
        if let Some(worst) = &mut tensor.worst {
            worst.inputs = inputs(elements, worst.index[if name == Delta { 1 } else { 0 }]);
        }
        if let Some(reason) = no_numbers(&got[name]) {
            (tensor.verdict, tensor.reason) = (Verdict::Fail, reason);
        }
    }
    // What is no number has no cause beside it.
    let failing: Vec<GradientName> =
        tensors.iter().filter(|(_, one)| fails(one) && one.reason.is_empty()).map(|(name, _)| name).collect();
    let (searches, mut search) = (request.diagnosis.begin(), None);
    if let (Some((want, budget)), Some(work), false) = (known, searches.of_case(&[]), failing.is_empty()) {
        let lifted = backend.lifted_coefficient_gradients(method, elements).and_then(Result::ok);
        let lifted = lifted.map(|lifted| named(elements, lifted));
        let judged = Judged {
            pass,
            got: &one_step::in_range(&got, &want),
            want: &want,
            budget: &budget,
            lifted: lifted.as_ref(),
            work: &work,
        };
        for (name, diagnosis) in one_step::diagnose(&judged, &failing) {
            tensors[name].diagnosis = diagnosis;
        }
        let is_named = failing.iter().any(|name| !tensors[*name].diagnosis.is_empty());
        search = work.is_open(is_named).then(|| Search::Ended(searches.of_each()));
    }
    (tensors, search)
}

/// Under the names of the scan's gradients.
fn named<T>(elements: &OneStep, got: CoefficientGradients<T>) -> Gradients<T> {
    let all = [(Delta, got.delta), (A, got.a), (B, got.b)];
    all.into_iter().map(|(name, values)| (name, elements.problem.gradient(name, values))).collect()
}

/// Why a gradient is none that holds NaN.
fn no_numbers(got: &Tensor<f32>) -> Option<String> {
    let elements = got.values.chunks(got.width);
    let all = elements.len();
    match elements.filter(|parts| parts.iter().any(|part| part.is_nan())).count() {
        0 => None,
        count if count == all => {
            Some("every element is NaN (hint: outputs are to be assigned, not added to)".to_owned())
        }
        count => Some(format!("{count} of {all} elements are NaN")),
    }
}

/// What an element is computed from.
fn inputs(elements: &OneStep, i: usize) -> Vec<String> {
    let OneStep { coefficients, grad_a_bar, grad_b_bar, .. } = elements;
    let weight = |values: &[f32]| match coefficients.weights {
        Weights::Real => format!("{:e}", values[i]),
        Weights::Complex => format!("{:e}{:+e}i", values[2 * i], values[2 * i + 1]),
    };
    vec![
        format!("delta = {:e}", coefficients.delta[i]),
        format!("A = {}", weight(&coefficients.a)),
        format!("B = {}", weight(&coefficients.b)),
        format!("d_A_bar = {}", weight(grad_a_bar)),
        format!("d_B_bar = {}", weight(grad_b_bar)),
    ]
}
