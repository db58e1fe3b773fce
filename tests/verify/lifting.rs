//! Promise: the kernels' source in double separates a wrong formula from a rounding problem. Right formulas shrink their
//! error by about 2²⁹, wrong ones keep it.

use holdfast::judge::diagnose::Budget;
use holdfast::kernel::{Backend, Coefficients, CpuBackend, KernelError, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{CoefficientProblem, InputType, Operand, Problem, regime};
use holdfast::report::console;
use holdfast::results::{CaseResult, Conclusion, Results, Verdict};
use holdfast::tensor::{TensorName, Tensors};
use holdfast::verify::{Passes, Request};

use crate::support::planted::{FAULTS, affects, planted};
use crate::support::run::{method_of, verify};

fn run(backend: &dyn Backend, regimes: &[&str]) -> Results {
    let filter = Filter {
        regimes: regimes.iter().map(|name| regime::find(name).expect("in the table")).collect(),
        inputs: vec![InputType::F32],
        b: vec![Operand::Variable],
        c: vec![Operand::Constant],
        ..Filter::default()
    };
    let (passes, everything) = (Passes::Forward, Request::everything(1));
    verify(&Request { filter, passes, sensitivity: false, diagnosis: Budget::Off, ..everything }, backend)
}

/// Chunks, both directions, groups, skip, gate, softplus, stiffness, the pole, and 129 positions: several warps.
pub const REGIMES: [&str; 7] =
    ["short", "stiff", "bilinear-pole", "groups", "everything-on", "trained-delta", "seqlen-129"];

pub fn is_right_and_shrinks(case: &CaseResult) {
    let lifted = case.lifted.as_ref().expect("the CPU build lifts");
    assert_eq!(lifted.verdict, Verdict::Pass, "{}: {lifted:?}", case.id);
    assert_eq!(lifted.conclusion, None);
    let shrink = lifted.shrink.expect("both err");
    assert!((24.0..36.0).contains(&shrink), "{}: 2^{shrink}", case.id);
    // Truncation is nothing beside rounding: the formula is the method.
    assert!(lifted.truncation.rel_l2 < 1e-6 * lifted.rounding.rel_l2, "{}: {lifted:?}", case.id);
}

#[test]
fn right_formulas_pass_in_double_and_shrink_their_error() {
    let results = run(&CpuBackend::new(), &REGIMES);
    assert_eq!(results.cases.len(), 14 * 6);
    results.cases.iter().for_each(is_right_and_shrinks);
}

#[test]
fn wrong_formulas_stay_wrong_in_double() {
    for fault in FAULTS {
        let results = run(&planted(fault), &["short"]);
        let shown = console::render(&results, None, false);
        assert!(shown.contains("wrong formula") && shown.contains("truncation (lifted - want)"), "{shown}");
        for case in &results.cases {
            let lifted = case.lifted.as_ref().expect("the copy with faults lifts");
            if affects(fault, method_of(case), case.weights) {
                assert_eq!(lifted.verdict, Verdict::Fail, "{fault} {}", case.id);
                assert_eq!(lifted.conclusion, Some(Conclusion::WrongFormula), "{fault} {}", case.id);
                let (truncation, rounding) = (lifted.truncation.rel_l2, lifted.rounding.rel_l2);
                assert!(truncation > 4.0 * rounding, "{fault} {}: {lifted:?}", case.id);
            } else {
                assert_eq!(lifted.verdict, Verdict::Pass, "{fault} {}", case.id);
            }
        }
    }
}

/// The kernels, but with four bits fewer in every output.
struct Coarse;

impl Backend for Coarse {
    fn name(&self) -> &'static str {
        "coarse"
    }
    fn device(&self) -> String {
        CpuBackend::new().device()
    }
    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>, KernelError> {
        let mut output = CpuBackend::new().scan(method, problem)?;
        for value in &mut output[TensorName::Out].values {
            *value = f32::from_bits(value.to_bits() & !0xff);
        }
        Ok(output)
    }
    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Result<Coefficients, KernelError> {
        CpuBackend::new().coefficients(method, problem)
    }
    fn lifted(&self, method: Method, problem: &Problem) -> Option<Result<Tensors<f64>, KernelError>> {
        CpuBackend::new().lifted(method, problem)
    }
}

#[test]
fn what_only_rounds_badly_is_called_a_rounding_problem() {
    for case in run(&Coarse, &["short"]).cases {
        let lifted = case.lifted.as_ref().expect("lifts");
        assert_eq!((case.verdict, lifted.verdict), (Verdict::Fail, Verdict::Pass), "{}", case.id);
        assert_eq!(lifted.conclusion, Some(Conclusion::Rounding), "{}", case.id);
        assert!(lifted.rounding.share > 1.0 && lifted.truncation.share <= 1.0, "{}: {lifted:?}", case.id);
    }
}

#[test]
fn a_path_without_a_lifted_build_claims_nothing() {
    assert!(run(&ReferenceBackend, &["l1"]).cases.iter().all(|case| case.lifted.is_none()));
}
