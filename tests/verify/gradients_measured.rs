//! Promise: a backward pass is judged against a sequential f32 one and run in double, as a forward pass is. Needless errors fail although
//! every element is within its bound, and double separates a wrong formula from bad rounding.

use holdfast::judge::budget::gradient::{Pass, bounds};
use holdfast::judge::diagnose::Budget;
use holdfast::judge::relative;
use holdfast::kernel::{Backend, CpuBackend, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::plan::{Filter, plan};
use holdfast::problem::{InputType, Operand, Weights, regime};
use holdfast::promise::Contract;
use holdfast::promise::allowance::{HALF_SUBNORMAL, U};
use holdfast::report::console;
use holdfast::results::{Beyond, CaseResult, Conclusion, Results, Verdict};
use holdfast::tensor::{GradientName, Gradients};
use holdfast::verify::{Passes, Request, verify};

use crate::altered::{Altered, FOH_AS_ZOH, SOUND};
use crate::lifting::{REGIMES, is_right_and_shrinks};

fn filter(regimes: &[&str]) -> Filter {
    Filter {
        regimes: regimes.iter().map(|name| regime::find(name).expect("in the table")).collect(),
        inputs: vec![InputType::F32],
        b: vec![Operand::Variable],
        c: vec![Operand::Variable],
        ..Filter::default()
    }
}

fn run(backend: &dyn Backend, regimes: &[&str]) -> Results {
    run_methods(backend, regimes, &Method::ALL)
}

fn run_methods(backend: &dyn Backend, regimes: &[&str], methods: &[Method]) -> Results {
    let (filter, methods) = (filter(regimes), methods.to_vec());
    let everything = Request { sensitivity: false, diagnosis: Budget::Off, ..Request::everything(1) };
    verify(&Request { filter, methods, passes: Passes::Backward, ..everything }, backend, &|| {})
}

const WORSE: f32 = 1.0 + 1.0 / 32768.0;

fn scaled(gradients: &mut Gradients<f32>, name: GradientName, factor: f32) {
    gradients[name].values.iter_mut().for_each(|value| *value *= factor);
}

/// 2⁻¹⁵ of grad.A, a sum over so many positions that its bounds let it pass. (Complex terms cancel more.)
#[test]
fn the_gate_fails_a_gradient_that_is_needlessly_worse() {
    let worse = Altered { to: |all| scaled(all, GradientName::A, WORSE), ..SOUND };
    let regime = ["seqlen-1025"];
    let (sound, worse) = (run(&SOUND, &regime), run(&worse, &regime));
    assert_eq!((sound.cases.len(), worse.cases.len()), (12, 12));
    for case in &sound.cases {
        let relative = case.relative.expect("the reference runs");
        assert!(case.verdict == Verdict::Pass && relative.passes(), "{}: {relative:?}", case.id);
        assert!(relative.tensor.is_some_and(|name| name.gradient().is_some()), "{relative:?}");
    }
    for case in worse.cases.iter().filter(|case| case.weights == Weights::Real) {
        let relative = case.relative.expect("the reference runs");
        let of_tensors: Vec<Verdict> = case.tensors.values().map(|tensor| tensor.verdict).collect();
        assert!(
            of_tensors.iter().all(|&verdict| verdict == Verdict::Pass),
            "{}: the bounds let it pass",
            case.id
        );
        assert_eq!((case.beyond, case.verdict), (Beyond::None, Verdict::Fail), "{}: {relative:?}", case.id);
        assert_eq!(relative.tensor, Some(GradientName::A.into()), "{}: {relative:?}", case.id);
        let begin = format!("grad.A: {:.3} times the error of the f32 reference path", relative.ratio);
        assert!(case.reason.starts_with(&begin), "{}", case.reason);
    }
    assert!(console::render(&worse, None, false).contains("grad.A: "));
}

/// Of a loss that sees one position every element has the error of one product of thousands of Ā. Two sound passes are as far apart as
/// two random walks, and in units of one rounding of each element their quotient says nothing.
#[test]
fn a_single_random_walk_is_no_average() {
    let spec = plan(&filter(&["everything-6145"])).into_iter().find(|spec| spec.weights == Weights::Real);
    let (spec, seed, contract) = (spec.expect("in the plan"), 1, Contract::PRODUCTION);
    let problem = spec.draw(seed);
    let given = spec.draw_given(&problem, seed);
    assert!(given.dout.iter().filter(|x| **x != 0.0).count() <= 2 * problem.shape.batch * problem.shape.dim);
    let form = Method::Zoh.into();
    let mut budget = bounds(Pass { form, problem: &problem, given: &given, contract: &contract });
    let gradients = |backend: &dyn Backend| {
        let run = backend.gradients(Method::Zoh, &problem, &given).expect("a backward pass");
        run.expect("it runs")
    };
    let (got, reference) = (gradients(&CpuBackend::new()), gradients(&ReferenceBackend));
    let want = budget.tensors.map(|name, bounds| problem.gradient(name, bounds.value.clone()));
    let judged =
        |budget: &_| relative::gradients(&problem, &got, &reference, &want, budget, 0.0).expect("long");
    assert!(judged(&budget).ratio < 0.5 * relative::MULTIPLE, "{:?}", judged(&budget));
    let of_u = &mut budget.tensors[GradientName::U];
    for (unit, value) in of_u.rounding.iter_mut().zip(&of_u.value) {
        *unit = value.abs() * U + HALF_SUBNORMAL;
    }
    let relative = judged(&budget);
    assert!(!relative.passes() && relative.tensor == Some(GradientName::U.into()), "{relative:?}");
}

#[test]
fn right_gradients_pass_in_double_and_shrink_their_error() {
    // Every layout, of which each regime's own first one is lifted.
    let layouts = Filter { b: Vec::new(), c: Vec::new(), ..filter(&REGIMES) };
    let request =
        Request { filter: layouts, passes: Passes::Backward, sensitivity: false, ..Request::everything(1) };
    let results = verify(&request, &CpuBackend::new(), &|| {});
    let lifted = || results.cases.iter().filter(|case| case.lifted.is_some());
    assert_eq!(lifted().count(), 14 * 6);
    lifted().for_each(is_right_and_shrinks);
}

#[test]
fn a_wrong_backward_pass_stays_wrong_in_double() {
    for case in run(&FOH_AS_ZOH, &["short"]).cases {
        let lifted = case.lifted.as_ref().expect("it lifts");
        let expected = match case.method == Method::Foh {
            true => (Verdict::Fail, Some(Conclusion::WrongFormula)),
            false => (Verdict::Pass, None),
        };
        assert_eq!((lifted.verdict, lifted.conclusion), expected, "{}", case.id);
    }
}

#[test]
fn gradients_that_only_round_badly_are_called_a_rounding_problem() {
    let coarse = Altered {
        to: |all| {
            let values = all.iter_mut().flat_map(|(_, tensor)| &mut tensor.values);
            values.for_each(|value| *value = f32::from_bits(value.to_bits() & !0xff));
        },
        ..SOUND
    };
    for case in run_methods(&coarse, &["short"], &[Method::Bilinear]).cases {
        let lifted = case.lifted.as_ref().expect("it lifts");
        assert_eq!((case.verdict, lifted.verdict), (Verdict::Fail, Verdict::Pass), "{}", case.id);
        assert_eq!(lifted.conclusion, Some(Conclusion::Rounding), "{}", case.id);
    }
}

/// What the bounds let pass, too.
#[test]
fn gradients_that_the_gate_alone_fails_are_called_a_rounding_problem() {
    let worse = Altered { to: |all| scaled(all, GradientName::A, 1.0 + 1.0 / 60000.0), ..SOUND };
    let cases = run(&worse, &["seqlen-257"]).cases;
    let is_its_own = |case: &&CaseResult| (case.beyond, case.verdict) == (Beyond::None, Verdict::Fail);
    let by_gate: Vec<_> = cases.iter().filter(is_its_own).collect();
    let ratios: Vec<_> = cases.iter().map(|case| (case.verdict, case.beyond, case.relative)).collect();
    assert!(by_gate.len() > 3, "{ratios:?}");
    for case in by_gate {
        let lifted = case.lifted.as_ref().expect("it lifts");
        let found = (lifted.verdict, lifted.conclusion);
        assert_eq!(found, (Verdict::Pass, Some(Conclusion::Rounding)), "{}: {:?}", case.id, case.relative);
    }
}

#[test]
fn large_gradients_and_a_path_without_a_lifted_build_claim_nothing() {
    assert!(run(&CpuBackend::new(), &["seqlen-1025"]).cases.iter().all(|case| case.lifted.is_none()));
    assert!(run(&ReferenceBackend, &["l1"]).cases.iter().all(|case| case.lifted.is_none()));
}
