//! What is measured beside the verdict: lifted kernels beside the f32 ones, and how small an error of the kernels'
//! coefficients, or of their derivatives, the verdict catches.

use super::known::KnownProblem;
use crate::case::{self, CertifiedGradients, SolvedCase};
use crate::judge::budget::gradient::Pass;
use crate::judge::budget::{self, Bounds};
use crate::judge::explain::gradients;
use crate::judge::sensitivity::{USUAL, smallest_caught, smallest_caught_near};
use crate::judge::{coefficient, gradient, lifting, lost_digits, relative, scan};
use crate::kernel::{Backend, Coefficients, KernelError};
use crate::method::Method;
use crate::problem::elements::Elements;
use crate::problem::plan::Spec;
use crate::problem::{CoefficientProblem, InputType, Operand, Problem};
use crate::promise::Contract;
use crate::promise::allowance::HALF_SUBNORMAL;
use crate::results::{Diagnosis, GradientSensitivity, Lifting, Sensitivity, Verdict};
use crate::tensor::{GradientName, Gradients, Named, Tensor, Tensors};
use crate::truth;
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
    let lifted = match known.lifted(backend, method)? {
        Ok(lifted) => lifted,
        Err(error) => return Some(missing(&error)),
    };
    let lifted_budget = known.budget(method, &Contract::lifted(problem));
    let bounds = (&budget.tensors, &lifted_budget.tensors);
    Some(lifting::tensors(verdict, got, &lifted, want, bounds))
}

/// The largest backward pass, in positions × states × channels, that is run in double: it needs a certified truth of its own, some 10 to
/// 20 µs each, since the quick route is good to f32 alone.
const LIFTED_GRADIENTS: usize = 1200;

/// The largest problem whose sensitivity is measured, of a forward pass unless its regime was asked for by name: kernels run some
/// six times again, and the model of a backward pass five times, at some 1 to 2 µs each.
const MEASURED: usize = 3100;

/// Whether the judged channels are few and short enough for [`sensitivity`] of whatever regime.
pub fn measures(problem: &Problem) -> bool {
    let shape = problem.shape;
    problem.judged_channels.len() * shape.seqlen * shape.dstate <= MEASURED
}

fn size(problem: &Problem) -> usize {
    problem.shape.sequence_len().saturating_mul(problem.shape.dstate)
}

/// Whether a backward pass is small enough for [`lifted_gradients`].
pub fn lifts_gradients(problem: &Problem) -> bool {
    size(problem) <= LIFTED_GRADIENTS
}

/// Whether a backward pass is small enough for [`gradient_sensitivity`].
pub fn measures_gradients(problem: &Problem) -> bool {
    size(problem) <= MEASURED
}

/// The lifted run of one backward pass, of which `got` came out and may be off by these bounds; none where the backend has none.
pub fn lifted_gradients(
    backend: &dyn Backend,
    pass: Pass,
    verdict: Verdict,
    got: &Gradients<f32>,
    bounds: &Named<Bounds, GradientName>,
) -> Option<Lifting> {
    let Pass { form, problem, given, .. } = pass;
    let method = form.method().filter(|_| backend.promise().lifted_is_judged)?;
    let lifted = match backend.lifted_gradients(method, problem, given)? {
        Ok(lifted) => lifted,
        Err(error) => return Some(missing(&error)),
    };
    let want = match truth::gradient::solve(problem, given, &[method]) {
        Ok(mut truths) => truths.remove(0).tensors,
        Err(error) => return Some(lifting::without_output(Verdict::Unmeasured, error.to_string())),
    };
    let contract = Contract::lifted(problem);
    let lifted_bounds = budget::gradient::bounds(Pass { contract: &contract, ..pass }).tensors;
    Some(lifting::tensors(verdict, Some(&case::widened(got)), &lifted, &want, (bounds, &lifted_bounds)))
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

/// The smallest errors of Ā and of B̄ that fail this case, soonest where they are those of the method `before`. Truth, bounds and
/// the reference's error are those of the case; only the kernel runs again, some three times each, over the judged channels.
pub fn sensitivity(
    spec: &Spec,
    case: &SolvedCase,
    known: &KnownProblem,
    references: &[Tensors<f64>],
    before: Option<&Sensitivity>,
) -> Sensitivity {
    let fails = |off: [f64; 2]| {
        let Ok(got) = known.perturbed(case.method, off) else { return false };
        let relative = case.relative(&got, references);
        !scan::within(&got, case.want, &case.budget) || relative.is_some_and(|relative| !relative.passes())
    };
    Sensitivity {
        method: case.method,
        weights: spec.weights,
        regime: spec.regime.name.clone(),
        problem: spec.id(),
        a_bar: smallest_caught_near(before.map_or(USUAL, |one| one.a_bar), |size| fails([size, 0.0])),
        b_bar: smallest_caught_near(before.map_or(USUAL, |one| one.b_bar), |size| fails([0.0, size])),
    }
}

/// The smallest errors of the derivatives of Ā and of h = B̄/B that fail this backward pass, of which `got` came out, and `reference` of
/// the f32 reference path. No kernel runs again: gradients are linear in each derivative, so that with an error of it they are what
/// they were and as much more of its share, rounded to f32. The shares are those of the model of a backward pass in which one of the
/// derivatives counts twice.
pub fn gradient_sensitivity(
    spec: &Spec,
    method: Method,
    pass: Pass,
    got: &Gradients<f32>,
    reference: Option<&Gradients<f32>>,
    (want, budget): &CertifiedGradients,
) -> GradientSensitivity {
    let Pass { problem, given, contract, .. } = pass;
    let fails = |got: &Gradients<f32>| {
        let gate =
            |reference| relative::gradients(problem, got, reference, want, budget, contract.z_roundings);
        !gradient::within(got, want, budget)
            || reference.and_then(gate).is_some_and(|relative| !relative.passes())
    };
    let all = gradients::with_slopes_times(method.into(), problem, given, 2.0).unwrap_or_default();
    let smallest = |derivative: usize| {
        let (Some(right), Some(doubled)) = (all.first(), all.get(1 + derivative)) else {
            return None;
        };
        // Where the model has no number, no error is known.
        let share = |more: f64, one: f64| if (more - one).is_finite() { more - one } else { 0.0 };
        smallest_caught(|size| {
            fails(&got.map(|name, tensor| {
                let values = tensor.values.iter().zip(doubled[name].values.iter().zip(&right[name].values));
                let off = values.map(|(&x, (&more, &one))| (f64::from(x) + size * share(more, one)) as f32);
                tensor.with(off.collect())
            }))
        })
    };
    GradientSensitivity {
        method,
        weights: spec.weights,
        regime: spec.regime.name.clone(),
        problem: spec.id(),
        a_bar_by_delta: smallest(0),
        h_by_delta: smallest(1),
        a_bar_by_a: smallest(2),
        h_by_a: smallest(3),
    }
}
