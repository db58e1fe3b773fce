//! Promise: a broken kernel is caught and the method named. Each fault is planted in a copy of the kernels'
//! source; `HOLDFAST_PLANT=<fault> cargo test` plants the same in the production build.

use std::collections::BTreeSet;

use holdfast::judge::coefficient;
use holdfast::judge::diagnose::Budget;
use holdfast::kernel::{Backend, Coefficients, CpuBackend, KernelError};
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{CoefficientProblem, InputType, Operand, Problem, Weights, regime, sweep};
use holdfast::promise::Contract;
use holdfast::report::console;
use holdfast::results::{CaseResult, PairStatus, Results, Verdict};
use holdfast::tensor::Tensors;
use holdfast::truth;
use holdfast::verify::Request;
use rstest::rstest;

use crate::altered::FOH_AS_ZOH;
use crate::support::planted::{FAULTS, affects, planted};
use crate::support::run::{method_of, verify};

/// One layout: each gradient that fails is looked into for a second.
fn in_short() -> Request {
    let filter = Filter {
        regimes: vec![regime::find("short").expect("in the table")],
        inputs: vec![InputType::F32],
        b: vec![Operand::Variable],
        c: vec![Operand::Variable],
        ..Filter::default()
    };
    Request { filter, sensitivity: false, ..Request::everything(1) }
}

fn sweeps_alone() -> Request {
    let id = |sweep: sweep::Sweep| format!("coefficients/{}/{}/highorder", sweep.name, sweep.weights);
    Request { only: Some(sweep::all().into_iter().map(id).collect()), ..Request::everything(1) }
}

fn short_run(backend: &dyn Backend) -> Results {
    let request = Request {
        filter: Filter {
            regimes: regime::all().iter().filter(|r| r.short).collect(),
            inputs: vec![InputType::F32],
            ..Filter::default()
        },
        sensitivity: false,
        diagnosis: Budget::Off,
        ..Request::everything(1)
    };
    verify(&request, backend)
}

fn failing(results: &Results, weights: Weights) -> BTreeSet<Method> {
    let fails = |c: &&CaseResult| c.verdict == Verdict::Fail && c.weights == weights;
    results.cases.iter().filter(fails).map(method_of).collect()
}

fn affected(fault: &str, weights: Weights) -> BTreeSet<Method> {
    Method::ALL.into_iter().filter(|&method| affects(fault, method, weights)).collect()
}

/// In the short regime, by the scan alone: just the broken methods fail, and the console names them.
#[test]
fn every_planted_fault_fails_exactly_its_methods() {
    for fault in FAULTS {
        let results = short_run(&planted(fault));
        assert_eq!(results.verdict(), Verdict::Fail, "{fault}");
        let text = console::render(&results, None, false);
        for weights in Weights::ALL {
            let expected = affected(fault, weights);
            assert_eq!(failing(&results, weights), expected, "{fault} with {weights} weights");
            for method in expected {
                // Not only once: every layout of B and C shows it.
                let passes = |c: &&CaseResult| {
                    c.method == method && c.weights == weights && c.verdict == Verdict::Pass
                };
                assert_eq!(results.cases.iter().filter(passes).count(), 0, "{fault} {method}");
                assert!(text.contains(&format!("/{method}")), "{fault}: {method} not in\n{text}");
            }
        }
    }
}

fn is_diagnosed(cases: &[CaseResult], is_backward: bool) -> bool {
    cases.iter().any(|case| case.is_backward() == is_backward && !case.diagnosis.is_empty())
}

/// Of scans, of gradients and of sweeps alike.
#[rstest]
#[case(&planted("bilinear-swapped"), in_short(), |results: &Results| is_diagnosed(&results.cases, false))]
#[case(&FOH_AS_ZOH, in_short(), |results: &Results| is_diagnosed(&results.cases, true))]
#[case(&planted("highorder-n1"), sweeps_alone(), |results: &Results| {
    results.coefficients.iter().any(|sweep| !sweep.diagnosis.is_empty())
})]
fn without_a_diagnosis_the_verdicts_are_the_same(
    #[case] backend: &dyn Backend,
    #[case] request: Request,
    #[case] is_diagnosed: fn(&Results) -> bool,
) {
    let [mut with, without] = [Budget::Thorough, Budget::Off]
        .map(|diagnosis| verify(&Request { diagnosis, ..request.clone() }, backend));
    assert!(is_diagnosed(&with));
    let text = console::render(&without, None, false);
    assert!(text.contains("why was not looked for (--diagnosis off)"), "{text}");
    with.undiagnosed = true;
    for case in &mut with.cases {
        case.diagnosis.clear();
        case.tensors.iter_mut().for_each(|(_, tensor)| tensor.diagnosis.clear());
    }
    with.coefficients.iter_mut().for_each(|sweep| sweep.diagnosis.clear());
    assert_eq!(format!("{with:?}"), format!("{without:?}"));
}

/// The coefficients alone show every fault that is one of coefficients. (Scanning poly one way is not.)
#[rstest]
fn every_coefficient_fault_fails_a_sweep(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    let problems = sweep::all().into_iter().filter(|s| s.weights == weights).map(|s| s.draw(1));
    let solved: Vec<_> = problems
        .flat_map(|problem| Method::ALL.map(|method| (method, problem.clone())))
        .map(|(method, problem)| {
            (method, truth::coefficient::solve(method, &problem).expect("certified"), problem)
        })
        .collect();
    for fault in FAULTS.into_iter().filter(|&fault| fault != "poly-causal") {
        let mut failing = BTreeSet::new();
        for (method, want, problem) in &solved {
            let got = planted(fault).coefficients(*method, problem).expect("runs");
            let widened = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            let (a_bar, b_bar) = (widened(&got.a_bar), widened(&got.b_bar));
            let want = (&want.a_bar[..], &want.b_bar[..]);
            let contract = Contract::PRODUCTION;
            let judgement = coefficient::judge(*method, problem, (&a_bar, &b_bar), want, &contract);
            if judgement.verdict == Verdict::Fail {
                failing.insert(*method);
            }
        }
        assert_eq!(failing, affected(fault, weights), "{fault} with {weights} weights");
    }
}

fn status(results: &Results, weights: Weights, left: Method, right: Method) -> PairStatus {
    let matrix = results.pairwise.iter().find(|m| m.source != "truth" && m.weights == weights);
    let pairs = &matrix.expect("a matrix for each weight type").pairs;
    pairs.iter().find(|p| p.left == left && p.right == right).expect("every pair").status
}

/// A dispatch that takes one method for another.
struct Rk4RunsAsZoh;

impl Rk4RunsAsZoh {
    fn of(method: Method) -> CpuBackend {
        if method == Method::Rk4 { planted("runs-as-zoh") } else { CpuBackend::new() }
    }
}

impl Backend for Rk4RunsAsZoh {
    fn name(&self) -> &'static str {
        "cpu"
    }
    fn device(&self) -> String {
        CpuBackend::new().device()
    }
    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>, KernelError> {
        Self::of(method).scan(method, problem)
    }
    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Result<Coefficients, KernelError> {
        Self::of(method).coefficients(method, problem)
    }
}

#[rstest]
fn a_method_that_runs_as_another_coincides_with_it(
    #[values(Weights::Real, Weights::Complex)] weights: Weights,
) {
    let results = short_run(&Rk4RunsAsZoh);
    assert_eq!(status(&results, weights, Method::Zoh, Method::Rk4), PairStatus::Coincides);
    assert_eq!(status(&results, weights, Method::Zoh, Method::Foh), PairStatus::Agrees);
    assert_eq!(status(&results, weights, Method::Foh, Method::Rk4), PairStatus::Off);
}

#[test]
fn the_copy_that_faults_are_planted_in_is_the_production_kernel() {
    let production = CpuBackend::new();
    let spec = &holdfast::problem::plan::plan(&Filter {
        regimes: vec![regime::find("groups").expect("in the table")],
        inputs: vec![InputType::F32],
        ..Filter::default()
    })[0];
    let problem = spec.draw(1);
    for fault in FAULTS {
        for method in Method::ALL {
            let healthy = production.scan(method, &problem).expect("runs");
            let copy = planted(fault).scan(method, &problem).expect("runs");
            let same = healthy == copy;
            assert_eq!(same, !affects(fault, method, problem.weights), "{fault} {method}");
        }
    }
}
