//! Promise: the judged bound grows as √n where roundings are independent and only there, no correct path is beyond it, and a
//! kernel that is needlessly worse than a plain one fails although every element is within its bound.

use holdfast::judge::budget;
use holdfast::judge::contract::Contract;
use holdfast::judge::results::{Beyond, Verdict};
use holdfast::kernel::{CpuBackend, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::plan::{self, Filter};
use holdfast::problem::{InputType, Operand, Problem, Weights, regime};
use holdfast::verify::{Request, verify};

fn one_f32(regime: &str, weights: Weights) -> Filter {
    Filter {
        regimes: vec![regime::find(regime).expect("in the table")],
        weights: vec![weights],
        inputs: vec![InputType::F32],
        b: vec![Operand::Variable],
        c: vec![Operand::Variable],
    }
}

fn problem(regime: &str, weights: Weights) -> Problem {
    plan::plan(&one_f32(regime, weights))[0].draw(1)
}

/// The default run shows the same of the kernels, on every case.
#[test]
fn the_reference_path_is_within_the_judged_bound_on_every_regime() {
    let filter = Filter {
        inputs: vec![InputType::F32],
        b: vec![Operand::Constant],
        c: vec![Operand::Variable],
        ..Filter::default()
    };
    let request = Request { filter, sensitivity: false, ..Request::everything(3) };
    let results = verify(&request, &ReferenceBackend, &|| {});
    assert!(results.cases.len() > 300);
    for case in &results.cases {
        assert_eq!((case.verdict, case.beyond), (Verdict::Pass, Beyond::None), "{}", case.id);
        assert!(case.worst_case_ratio <= 1.0, "{}", case.id);
    }
}

#[test]
fn the_judged_bound_is_never_above_the_worst_case_and_far_below_it_over_long_sequences() {
    for name in ["short", "imaginary", "seqlen-4097"] {
        let problem = problem(name, Weights::Complex);
        for method in Method::ALL {
            let budget = budget::scan(method, &problem, &Contract::PRODUCTION);
            let ratios: Vec<f64> =
                budget.out.iter().zip(&budget.worst_out).map(|(judged, worst)| judged / worst).collect();
            assert!(ratios.iter().all(|&ratio| ratio <= 1.0), "{name} {method}");
            if name == "seqlen-4097" {
                let last = ratios[ratios.len() - 1];
                assert!(last < 0.5, "{method}: {last}");
            }
        }
    }
}

/// Constant Δ, B and u: every product of Ā and, at the fixed point, every sum rounds the same way each time.
#[test]
fn repeated_operations_get_the_worst_case() {
    let filter = Filter { b: vec![Operand::Constant], ..one_f32("seqlen-4097", Weights::Real) };
    let drawn = plan::plan(&filter)[0].draw(1);
    let mut constant = drawn.clone();
    constant.delta.fill(0.01);
    constant.u.fill(1.0);
    let at_end = |problem: &Problem| {
        let budget = budget::scan(Method::Zoh, problem, &Contract::PRODUCTION);
        budget.last_state[0] / budget.worst_last_state[0]
    };
    assert_eq!(at_end(&constant), 1.0);
    assert!(at_end(&drawn) < 0.5);
}

/// A relative error of 2⁻²³ in Ā, always to the same side, that every bound of a long regime lets pass.
#[test]
fn the_relative_gate_catches_a_loss_that_the_absolute_one_lets_pass() {
    let request = Request {
        filter: one_f32("seqlen-2047", Weights::Complex),
        sensitivity: false,
        ..Request::everything(1)
    };
    let results = verify(&request, &CpuBackend::perturbed(LOSS, 0.0), &|| {});
    let mut caught = 0;
    for case in &results.cases {
        let relative = case.relative.expect("the reference runs");
        assert_eq!(case.beyond, Beyond::None, "{}: the absolute gate lets it pass", case.id);
        assert!(case.worst.as_ref().is_some_and(|worst| worst.ratio < 1.0), "{}", case.id);
        assert_eq!(case.verdict == Verdict::Fail, !relative.passes(), "{}: {relative:?}", case.id);
        assert_eq!(case.reason.contains("the f32 reference path"), !relative.passes(), "{}", case.reason);
        caught += usize::from(!relative.passes());
    }
    // All but those methods whose reference is that bad itself.
    assert!(caught >= 4, "{caught}");
    let healthy = verify(&request, &CpuBackend::new(), &|| {});
    assert_eq!(healthy.verdict(), Verdict::Pass);
}

/// 2⁻²³, the least by which an f32 Ā moves.
const LOSS: f64 = 1.0 / 8_388_608.0;
