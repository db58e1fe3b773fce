//! Promise: the fast tier of the forward kernels keeps its own promise on everything that the accurate one is judged by, and only its
//! own; gradients have one tier.

use holdfast::formula::Form;
use holdfast::judge::coefficient;
use holdfast::judge::diagnose::Budget;
use holdfast::judge::scan::Place;
use holdfast::kernel::{Backend, CpuBackend};
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::plan::plan;
use holdfast::problem::{InputType, Problem, Weights, regime, sweep};
use holdfast::promise::functions::units;
use holdfast::promise::{Contract, Promise, Tier};
use holdfast::results::Verdict;
use holdfast::scalar_function::ScalarFunction;
use holdfast::truth;
use holdfast::verify::{self as whole, Passes, Request};

use crate::support::run::{in_one_layout, verify};

fn fast() -> CpuBackend {
    CpuBackend::in_tier(Tier::Fast)
}

/// So many cases, and sweeps.
fn passes_by_its_own_promise(filter: Filter) -> [usize; 2] {
    let request = Request { passes: Passes::Forward, filter, sensitivity: false, ..Request::everything(1) };
    let results = verify(&request, &fast());
    let wrong: Vec<&str> = results
        .cases
        .iter()
        .map(|case| (case.verdict, case.id.as_str()))
        .chain(results.coefficients.iter().map(|sweep| (sweep.verdict, sweep.sweep.as_str())))
        .chain(results.invariants.iter().map(|law| (law.verdict, law.name.as_str())))
        .filter(|(verdict, _)| *verdict != Verdict::Pass)
        .map(|(_, name)| name)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(results.tier.as_deref(), Some("fast"));
    [results.cases.len(), results.coefficients.len()]
}

/// And in every layout those regimes that no bound is wide in.
#[test]
fn the_fast_tier_passes_every_regime_and_sweep_by_its_own_promise() {
    let [cases, sweeps] = passes_by_its_own_promise(in_one_layout());
    assert!(cases > 500 && sweeps > 70, "{cases} {sweeps}");
    let regimes = regime::all().iter().filter(|regime| regime.short).collect();
    assert_eq!(passes_by_its_own_promise(Filter { regimes, ..Filter::default() }), [12 * 6, 0]);
}

#[test]
#[ignore = "`cargo test` tries one layout of each regime: .ci/long"]
fn the_fast_tier_passes_every_case_and_sweep_by_its_own_promise() {
    let [cases, sweeps] = passes_by_its_own_promise(Filter::default());
    assert!(cases > 2500 && sweeps > 70, "nothing is left out");
}

/// A log₂e and A·2/π, rounded, are off in the same way at every position, and angles of thousands of turns show it: some of these seeds
/// were called six and more times as bad as a plain path, which rounds every ΔA anew.
#[test]
fn what_a_rounding_of_a_costs_at_every_position_is_no_failure() {
    let stiff = regime::all().iter().filter(|regime| regime.name == "stiff").collect();
    let inputs = InputType::ALL.to_vec();
    let filter = Filter { regimes: stiff, weights: vec![Weights::Complex], inputs, ..Filter::default() };
    let request = Request {
        passes: Passes::Forward,
        filter,
        more_seeds: (2..=12).collect(),
        sensitivity: false,
        diagnosis: Budget::Off,
        ..Request::everything(1)
    };
    let results = verify(&request, &fast());
    for case in &results.cases {
        assert_eq!(case.verdict, Verdict::Pass, "{}: {}", case.id, case.reason);
    }
    assert!(results.cases.iter().filter(|case| case.relative.is_some()).count() > 50);
}

/// And a kernel that reads A wrongly by some last places is not taken for one that rounds it.
#[test]
fn what_is_off_by_more_than_roundings_of_a_fails_the_gate() {
    let stiff = regime::all().iter().filter(|regime| regime.name == "stiff").collect();
    let filter = Filter {
        regimes: stiff,
        weights: vec![Weights::Complex],
        inputs: vec![InputType::F32],
        ..Filter::default()
    };
    let mut failing = 0;
    for spec in plan(&filter) {
        let problem = spec.draw(1);
        let truth = truth::scan::solve(&problem, &[Method::Zoh]).expect("certified").remove(0);
        let passes = |places: u32| {
            let a = problem.a.iter().map(|a| (0..places).fold(*a, |a, _| a.next_up())).collect();
            let run = fast().scan(Method::Zoh, &Problem { a, ..problem.clone() }).expect("it runs");
            let [id, regime, inputs, backend, rerun] = Default::default();
            let place = Place { id, regime, inputs, backend, rerun };
            let known = whole::Known::default();
            let known = known.of(&problem);
            let of = (Method::Zoh, &problem);
            let judged = whole::judge_scan(&fast(), &known, of, place, Ok(&truth), Ok(&run));
            judged.case.relative.expect("enough steps").passes()
        };
        assert!(passes(0), "{}", spec.id());
        failing += usize::from(!passes(32));
    }
    assert_eq!(failing, 4);
}

/// Beside the root of rk4's polynomial the fast tier loses what the accurate one has, so that it is one tier that a run judges, and one
/// promise by which.
#[test]
fn each_tier_is_judged_by_its_own_promise() {
    let roots = sweep::all().into_iter().find(|sweep| sweep.name == "real roots").expect("a sweep of roots");
    let problem = roots.draw(1);
    let truth = truth::coefficient::solve(Method::Rk4, &problem).expect("certified");
    let verdict = |tier, contract: &Contract| {
        let got = CpuBackend::in_tier(tier).coefficients(Method::Rk4, &problem).expect("it runs");
        let (got, want) = ((&got.a_bar[..], &got.b_bar[..]), (&truth.a_bar[..], &truth.b_bar[..]));
        coefficient::judge(Method::Rk4, &problem, got, want, contract).verdict
    };
    assert_eq!(verdict(Tier::Accurate, &Contract::PRODUCTION), Verdict::Pass);
    assert_eq!(verdict(Tier::Fast, &Contract::FAST), Verdict::Pass);
    assert_eq!(verdict(Tier::Fast, &Contract::PRODUCTION), Verdict::Fail);
}

/// Measured, as ever, on the perturbed copies of the accurate kernels: how tight the fast tier's bounds are.
#[test]
fn the_bounds_of_the_fast_tier_catch_an_error_of_two_to_the_minus_18() {
    let filter = Filter {
        regimes: vec![regime::find("short").expect("in the table")],
        inputs: vec![InputType::F32],
        ..Filter::default()
    };
    let request = Request { filter, passes: Passes::Forward, ..Request::everything(1) };
    let results = verify(&request, &fast());
    assert_eq!(results.sensitivity.len(), 12);
    for one in &results.sensitivity {
        let most = -18;
        assert!(one.a_bar.is_some_and(|a_bar| a_bar <= most), "{one:?}");
        assert!(one.b_bar.is_some_and(|b_bar| b_bar <= most), "{one:?}");
    }
}

/// What is promised of eᶻ and of quotients is not less than what the instructions are certified to.
#[test]
fn the_promise_has_room_for_the_instructions_that_it_is_made_of() {
    let Contract { units: promised, .. } = Contract::FAST;
    let [exp2, reciprocal] = [ScalarFunction::HardwareExp2, ScalarFunction::HardwareReciprocal].map(units);
    assert!(promised.exponential[0] >= exp2);
    // The angle, sine and cosine, and their product.
    assert!(promised.exponential[1] >= exp2 + 1.3 + 1.2 + 1.0);
    // 1 ± z/2, the reciprocal and a product; for complex ones |d|², and a numerator.
    assert!(promised.quotient[0] >= 1.0 + 1.0 + reciprocal + 1.0);
    assert!(promised.quotient[1] >= 2.0 + 2.0 + reciprocal + 1.0 + 2.0);
    let of_bilinear = |contract: Contract| contract.z_error(&Form::from(Method::Bilinear).formula());
    assert_eq!(of_bilinear(Contract::FAST), 0.0);
    assert!(Contract::FAST.z_error(&Form::from(Method::Zoh).formula()) > 0.0);
    assert!(of_bilinear(Contract::FOREIGN) > 0.0);
}

#[test]
fn gradients_have_one_tier() {
    assert!(fast().promise().backward.is_none());
    assert!(Promise::of_tier(Tier::Accurate).backward.is_some());
    let request = Request { passes: Passes::Backward, ..Request::everything(1) };
    assert!(request.plan(fast().promise()).iter().all(|id| !id.ends_with("/backward")));
}
