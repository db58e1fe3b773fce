//! Promise: only what is a kernel's own fault fails it. What this machine lacks leaves it unmeasured, which is no pass.

use holdfast::kernel::{Backend, Coefficients, KernelError};
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{CoefficientProblem, InputType, Problem, Weights, regime};
use holdfast::results::Verdict;
use holdfast::tensor::Tensors;
use holdfast::verify::Request;
use rstest::rstest;

use crate::support::run::verify;

/// Runs nothing.
struct Without(KernelError);

impl Backend for Without {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn device(&self) -> String {
        "nothing".to_owned()
    }

    fn scan(&self, _: Method, _: &Problem) -> Result<Tensors<f32>, KernelError> {
        Err(self.0.clone())
    }

    fn coefficients(&self, _: Method, _: &CoefficientProblem) -> Result<Coefficients, KernelError> {
        Err(self.0.clone())
    }
}

fn unsupported() -> KernelError {
    KernelError::Unsupported { what: "seqlen", found: "0".to_owned(), expected: "1".to_owned(), hint: "none" }
}

#[rstest]
#[case(KernelError::Fault("it wrote outside".to_owned()), Verdict::Fail)]
#[case(KernelError::TimedOut("it hung".to_owned()), Verdict::Fail)]
#[case(KernelError::Rejected("it does not compile".to_owned()), Verdict::Fail)]
#[case(KernelError::Unavailable("the worker cannot be started".to_owned()), Verdict::Unmeasured)]
#[case(KernelError::OutOfMemory { needed: 2, free: 1 }, Verdict::Unmeasured)]
#[case(unsupported(), Verdict::Unmeasured)]
fn a_kernel_without_an_output_fails_only_by_its_own_fault(
    #[case] error: KernelError,
    #[case] expected: Verdict,
) {
    let filter = Filter { weights: vec![Weights::Real], inputs: vec![InputType::F32], ..Filter::default() };
    let all = Request { filter, methods: vec![Method::Zoh], sensitivity: false, ..Request::everything(1) };
    let backend = Without(error.clone());
    let reason = error.to_string();
    let mut one = all.clone();
    one.filter.regimes = vec![regime::find("short").expect("a regime")];
    let cases = verify(&one, &backend);
    assert_eq!(cases.cases.len(), 4);
    assert!(cases.cases.iter().all(|case| case.verdict == expected && case.reason == reason));
    let laws = verify(&Request { invariants_only: true, ..all.clone() }, &backend);
    assert!(laws.invariants.len() > 10);
    assert!(laws.invariants.iter().all(|law| law.verdict == expected && law.reason == reason));
    for results in [&cases, &laws] {
        assert_eq!(results.verdict(), expected);
    }
    let planned = all.plan(backend.promise()).into_iter().filter(|id| id.starts_with("coefficients/"));
    let rest = verify(&Request { only: Some(planned.collect()), ..all }, &backend);
    assert!(!rest.coefficients.is_empty());
    assert!(rest.coefficients.iter().all(|sweep| sweep.verdict == expected && sweep.reason == reason));
    assert_eq!(rest.verdict(), expected);
}
