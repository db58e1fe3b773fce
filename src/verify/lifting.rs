//! Runs the lifted kernels beside the f32 ones, and has the judge compare.

use super::known::KnownProblem;
use crate::case::{self, SolvedCase};
use crate::judge::{coefficient, lifting};
use crate::kernel::{Backend, KernelError};
use crate::method::Method;
use crate::problem::CoefficientProblem;
use crate::promise::Contract;
use crate::promise::allowance::HALF_SUBNORMAL;
use crate::results::Lifting;
use crate::results::Verdict;
use crate::tensor::Tensors;
use crate::truth::coefficient::CoefficientTruth;

fn missing(error: &KernelError) -> Lifting {
    lifting::without_output(case::verdict_of(error), error.to_string())
}

/// The lifted run of one case; none where the backend has none.
pub fn of_case(
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
pub fn of_sweep(
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
