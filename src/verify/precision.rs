//! What is measured beside the verdict: lifted kernels beside the f32 ones, and how small an error of the kernels'
//! coefficients the verdict catches.

use super::known::KnownProblem;
use crate::case::{self, SolvedCase};
use crate::judge::sensitivity::smallest_caught;
use crate::judge::{coefficient, lifting, lost_digits, scan};
use crate::kernel::{Backend, Coefficients, CpuBackend, KernelError};
use crate::method::Method;
use crate::problem::elements::Elements;
use crate::problem::plan::Spec;
use crate::problem::{CoefficientProblem, InputType, Operand};
use crate::promise::Contract;
use crate::promise::allowance::HALF_SUBNORMAL;
use crate::results::{Diagnosis, Lifting, Sensitivity, Verdict};
use crate::tensor::{Tensor, Tensors};
use crate::truth::coefficient::CoefficientTruth;

fn missing(error: &KernelError) -> Lifting {
    lifting::without_output(case::verdict_of(error), error.to_string())
}

/// The lifted run of one case; none where the backend has none.
pub fn lifted_case(
    backend: &dyn Backend,
    case: &SolvedCase,
    known: &KnownProblem,
    verdict: Verdict,
    got: Option<&Tensors<f64>>,
) -> Option<Lifting> {
    let &SolvedCase { method, problem, want, ref budget, .. } = case;
    if !case.promise.lifted_is_judged {
        return None;
    }
    let lifted = match backend.lifted(method, problem)? {
        Ok(lifted) => lifted,
        Err(error) => return Some(missing(&error)),
    };
    let lifted_budget = known.budget(method, &Contract::lifted(problem));
    let bounds = (&**budget, &*lifted_budget);
    Some(lifting::scan(verdict, got, &lifted, want, bounds))
}

/// The lifted run of one sweep: Ā and B̄ one after the other, normwise bounds on each part.
pub fn lifted_sweep(
    backend: &dyn Backend,
    method: Method,
    problem: &CoefficientProblem,
    verdict: Verdict,
    got: &[Vec<f64>; 2],
    want: &CoefficientTruth,
) -> Option<Lifting> {
    if !backend.promise().lifted_is_judged {
        return None;
    }
    let lifted = match backend.lifted_coefficients(method, problem)? {
        Ok(lifted) => [lifted.a_bar, lifted.b_bar].concat(),
        Err(error) => return Some(missing(&error)),
    };
    let both = |contract: &Contract| -> Vec<f64> {
        let (a, b) = coefficient::bounds(method, problem, (&want.a_bar, &want.b_bar), contract);
        a.into_iter().chain(b).flat_map(|bound| vec![bound; problem.weights.width()]).collect()
    };
    let bounds = both(&backend.promise().contract);
    let lifted_bounds = both(&Contract::lifted_coefficients());
    // Where the f32 bound is 0 the result is exact; the parts still differ by what underflows.
    let bounds: Vec<f64> = bounds.into_iter().map(|bound| bound.max(HALF_SUBNORMAL)).collect();
    let store = vec![0.0; bounds.len()];
    let want = [&want.a_bar[..], &want.b_bar[..]].concat();
    let got = got.concat();
    Some(lifting::parts(verdict, Some(&got), &lifted, &want, (&bounds, &store, &lifted_bounds)))
}

/// Whether rounding is to blame for a sweep that fails, of a source that is asked in double: where its lifted runs are judged
/// they say so themselves.
pub fn lost_in_sweep(
    backend: &dyn Backend,
    method: Method,
    problem: &CoefficientProblem,
    got: &Coefficients,
    want: &CoefficientTruth,
) -> Option<Diagnosis> {
    let promise = backend.promise();
    if promise.lifted_is_judged {
        return None;
    }
    let elements = Elements { coefficients: problem.clone(), u: vec![1.0; problem.delta.len()] };
    let lifted = backend.probed(method, Operand::Variable, &elements)?.ok()?;
    let (a, b) = coefficient::bounds(method, problem, (&want.a_bar, &want.b_bar), &promise.contract);
    // Where the bound is 0 the result is exact.
    let bounds: Vec<f64> = a.into_iter().chain(b).map(|bound| bound.max(HALF_SUBNORMAL)).collect();
    let whole = |a_bar: &[f64], b_bar: &[f64]| Tensor {
        shape: vec![bounds.len()],
        width: problem.weights.width(),
        element: InputType::F32,
        values: [a_bar, b_bar].concat(),
    };
    let wide = |values: &[f32]| values.iter().map(|&value| value.into()).collect::<Vec<f64>>();
    let (got, want) = (whole(&wide(&got.a_bar), &wide(&got.b_bar)), whole(&want.a_bar, &want.b_bar));
    lost_digits::found((&got, &want), &[lifted.a_bar, lifted.b_bar].concat(), &bounds)
}

/// The smallest errors of Ā and of B̄ that fail this case. Truth, bounds and the reference's error are those of the case;
/// only the kernel runs again, some six times each, over the judged channels.
pub fn sensitivity(spec: &Spec, case: &SolvedCase, reference: Option<&Tensors<f64>>) -> Sensitivity {
    let fails = |backend: CpuBackend| {
        let Ok(got) = backend.scan_judged(case.method, case.problem) else { return false };
        let relative = reference.and_then(|reference| case.relative(&got, reference));
        !scan::within(&got, case.want, &case.budget) || relative.is_some_and(|relative| !relative.passes())
    };
    Sensitivity {
        method: case.method,
        weights: spec.weights,
        regime: spec.regime.name.clone(),
        problem: spec.id(),
        a_bar: smallest_caught(|size| fails(CpuBackend::perturbed(size, 0.0))),
        b_bar: smallest_caught(|size| fails(CpuBackend::perturbed(0.0, size))),
    }
}
