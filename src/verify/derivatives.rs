//! The backward of a header's coefficients over the sweeps, element by element: the case of a backward pass of one step
//! ([`OneStep`]), through truth, bounds and judge as any other.

use super::Request;
use crate::case;
use crate::formula::Form;
use crate::judge::budget::gradient::Pass;
use crate::judge::lost_digits;
use crate::judge::scan::{self, Place};
use crate::kernel::{Backend, CoefficientGradients};
use crate::method::Method;
use crate::problem::Weights;
use crate::problem::one_step::OneStep;
use crate::problem::sweep::Sweep;
use crate::results::{BACKWARD, CaseResult, TensorResult, Verdict};
use crate::tensor::GradientName::{self, A, B, Delta};
use crate::tensor::{Gradients, Named, Tensor};

/// How the name of such a sweep begins, beside that of its Ā and B̄.
const DERIVATIVES: &str = "derivatives";

/// What the cases of a sweep are in the place of a regime.
pub fn regime(sweep: &Sweep) -> String {
    format!("{DERIVATIVES}, {}", sweep.name)
}

pub fn id(sweep: &Sweep, method: Method) -> String {
    format!("{}/{method}{BACKWARD}", unit(sweep))
}

/// The id of all methods' cases together.
pub fn unit(sweep: &Sweep) -> String {
    format!("{DERIVATIVES}/{}/{}", sweep.name, sweep.weights)
}

/// The verdict on each method's gradients; none of a backend that has none.
pub fn solve(request: &Request, backend: &dyn Backend, sweep: &Sweep) -> Vec<CaseResult> {
    let elements = OneStep::of(sweep, request.seed);
    let problem = &elements.problem;
    let inputs = problem.fingerprint();
    let judged = |&method: &Method| {
        let place = Place {
            id: id(sweep, method),
            regime: regime(sweep),
            inputs: inputs.clone(),
            backend: backend.name().to_owned(),
            rerun: super::rerun_of_sweep(request, backend, sweep, method),
        };
        let got = match backend.coefficient_gradients(method, &elements)? {
            Ok(got) => got,
            Err(error) => return Some(case::without_output(method, problem, place, &error)),
        };
        let tensors = judge(backend, method, &elements, got);
        Some(scan::case(method, problem, place, tensors))
    };
    request.methods.iter().filter_map(judged).collect()
}

fn judge(
    backend: &dyn Backend,
    method: Method,
    elements: &OneStep,
    got: CoefficientGradients,
) -> Named<TensorResult, GradientName> {
    let (problem, contract) = (&elements.problem, backend.promise().contract);
    let form = Form::Method(method);
    let got = named(elements, got);
    let pass = Pass { form, problem, given: &elements.given, contract: &contract };
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
    let Some((want, bounds)) = known.filter(|_| tensors.values().any(fails)) else { return tensors };
    let failing: Vec<GradientName> =
        tensors.iter().filter(|(_, tensor)| fails(tensor)).map(|(name, _)| name).collect();
    let wide = got.map(|_, tensor| tensor.with(tensor.values.iter().map(|&x| f64::from(x)).collect()));
    let lifted = backend.lifted_coefficient_gradients(method, elements).and_then(Result::ok);
    let lifted = lifted.map(|lifted| named(elements, lifted));
    for (name, tensor) in tensors.iter_mut().filter(|(name, _)| failing.contains(name)) {
        let double = lifted.as_ref().map(|lifted| &lifted[name].values[..]);
        let lost = double.and_then(|double| {
            lost_digits::found((&wide[name], &want[name]), double, &bounds.tensors[name].bound)
        });
        tensor.diagnosis.extend(lost);
    }
    let rounding = |name: &GradientName| !tensors[*name].diagnosis.is_empty();
    let (_, wrong): (Vec<_>, Vec<_>) = failing.into_iter().partition(rounding);
    for (name, diagnosis) in case::diagnosed_gradients(pass, &got, &want, &bounds, &wrong) {
        tensors[name].diagnosis = diagnosis;
    }
    tensors
}

/// Under the names of the scan's gradients.
fn named<T>(elements: &OneStep, got: CoefficientGradients<T>) -> Gradients<T> {
    let all = [(Delta, got.delta), (A, got.a), (B, got.b)];
    all.into_iter().map(|(name, values)| (name, elements.problem.gradient(name, values))).collect()
}

/// Why a gradient is none that holds NaN.
fn no_numbers(got: &Tensor<f32>) -> Option<String> {
    let count = got.values.iter().filter(|value| value.is_nan()).count();
    let all = got.values.len();
    (count > 0).then(|| {
        format!("{count} of {all} values are NaN (hint: it has to be assigned; what is added to is NaN before)")
    })
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
