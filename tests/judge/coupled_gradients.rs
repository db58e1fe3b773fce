//! Bounds of gradients of scans with a dense A: the truth is within them, what somebody may forget is not, and the quick route knows
//! values as well as it claims.

use holdfast::case;
use holdfast::judge::budget::gradient::{Pass, bounds};
use holdfast::judge::quick::RADIUS;
use holdfast::judge::ulp::Format;
use holdfast::method::Method;
use holdfast::problem::conventions::{Coupling, Reads, StepLimit};
use holdfast::problem::{InputType, OutputGradients, Problem, Shape, Stages, Weights};
use holdfast::promise::{Contract, Promise};
use holdfast::results::Verdict;
use holdfast::tensor::GradientName::{self, A, B, C, Delta, U};
use holdfast::tensor::Gradients;
use holdfast::truth::gradient::solve;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rstest::rstest;

use crate::support::problems::{Layout, generator, layouts};

fn random(layout: &Layout, rng: &mut ChaCha8Rng) -> (Problem, OutputGradients) {
    let mut problem = layout.random(rng);
    let Shape { batch, dim, dstate, .. } = problem.shape;
    let mut drawn = |len: usize| -> Vec<f32> { (0..len).map(|_| rng.random_range(-1.0..1.0)).collect() };
    let states = batch * dim * dstate * problem.weights.width();
    problem.conventions.coupling = Coupling::Dense;
    problem.a = drawn(dim * problem.floats_of_a());
    problem.initial_state = Some(drawn(states));
    if layout.gate {
        problem.conventions.reads = Reads::BeforeUpdate;
        problem.conventions.limit = StepLimit::new(0.03125, 0.25).expect("two limits");
    }
    let dlast_state = Some(drawn(states));
    let given = OutputGradients { dout: drawn(problem.u.len()), dlast_state };
    (problem, given)
}

fn rounded(want: &Gradients<f64>) -> Gradients<f32> {
    want.map(|_, tensor| tensor.with(tensor.values.iter().map(|&x| x as f32).collect()))
}

#[rstest]
fn the_truth_passes_and_the_quick_route_is_near_it(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let method = Method::ALL[method];
    let mut rng = generator("the_truth_passes_and_the_quick_route_is_near_it");
    let contract = Promise::recorded(Stages::NONE).contract;
    let shape = Shape { batch: 2, dim: 2, dstate: 3, seqlen: 5, groups: 1 };
    for layout in layouts(shape).filter(|layout| layout.input == InputType::F32) {
        let (problem, given) = random(&layout, &mut rng);
        let pass = Pass { form: method.into(), problem: &problem, given: &given, contract: &contract };
        let want = solve(&problem, &given, &[method]).expect("certified").remove(0).tensors;
        let budget = bounds(pass);
        for (name, want) in want.iter() {
            let known = &budget.tensors[name];
            for (i, (value, exact)) in known.value.iter().zip(&want.values).enumerate() {
                let (off, worst) = ((value - exact).abs(), known.worst_case[i / want.width]);
                assert!(
                    off <= RADIUS * worst,
                    "{method}, {layout:?}: {name} {i} is off by {off:e} of {worst:e}"
                );
            }
        }
        let judged = case::gradients(pass, &rounded(&want), false, &|| {});
        for (name, tensor) in judged.tensors.iter() {
            assert_eq!(tensor.verdict, Verdict::Pass, "{method}, {layout:?}: {name}: {tensor:?}");
        }
    }
}

/// Kernels that compute in double have half an ulp, whatever the type.
#[rstest]
fn what_is_off_by_an_ulp_fails(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let method = Method::ALL[method];
    let mut rng = generator("what_is_off_by_an_ulp_fails");
    let shape = Shape { batch: 2, dim: 2, dstate: 3, seqlen: 5, groups: 1 };
    for layout in layouts(shape) {
        let (problem, given) = random(&layout, &mut rng);
        let contract = &Contract::BACKWARD;
        let pass = Pass { form: method.into(), problem: &problem, given: &given, contract };
        let want = solve(&problem, &given, &[method]).expect("certified").remove(0).tensors;
        for (ulps, verdict) in [(0.0, Verdict::Pass), (1.0, Verdict::Fail)] {
            let got = want.map(|_, tensor| {
                let format = Format::for_input(tensor.element);
                let off = |&x: &f64| (format.nearest(x) + ulps * format.ulp(x)) as f32;
                tensor.with(tensor.values.iter().map(off).collect())
            });
            let judged = case::gradients(pass, &got, false, &|| {});
            for (name, tensor) in judged.tensors.iter() {
                assert_eq!(tensor.verdict, verdict, "{method}, {layout:?}: {name}: {tensor:?}");
            }
        }
    }
}

/// Gradients of one position from a given state, complex, and which of them fail after an edit.
fn failing(method: Method, edit: impl Fn(&Problem, &mut Gradients<f64>)) -> Vec<GradientName> {
    let mut rng = generator("failing");
    let contract = Promise::recorded(Stages::NONE).contract;
    let layout = Layout { weights: Weights::Complex, ..Layout::plain(1, 1, 3, 1) };
    let (problem, given) = random(&layout, &mut rng);
    let pass = Pass { form: method.into(), problem: &problem, given: &given, contract: &contract };
    let mut got = solve(&problem, &given, &[method]).expect("certified").remove(0).tensors;
    edit(&problem, &mut got);
    let judged = case::gradients(pass, &rounded(&got), false, &|| {});
    let fails = judged.tensors.iter().filter(|(_, tensor)| tensor.verdict == Verdict::Fail);
    fails.map(|(name, _)| name).collect()
}

#[rstest]
fn what_is_forgotten_fails(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let method = Method::ALL[method];
    let transposed = |problem: &Problem, got: &mut Gradients<f64>| {
        let (n, a) = (problem.shape.dstate, &mut got[A].values);
        let before = a.clone();
        (0..a.len()).for_each(|i| a[i] = before[(i / 2 % n * n + i / 2 / n) * 2 + i % 2]);
    };
    assert_eq!(failing(method, transposed), [A]);
    // At one position ∂L/∂A is Δ times what A multiplies in ∂L/∂Δ.
    let without_z = |problem: &Problem, got: &mut Gradients<f64>| {
        let products = problem.a.iter().zip(&got[A].values).map(|(&a, by)| f64::from(a) * by);
        let through_z = products.sum::<f64>() / f64::from(problem.delta[0]);
        got[Delta].values[0] -= through_z;
    };
    assert_eq!(failing(method, without_z), [Delta]);
    let once = |_: &Problem, got: &mut Gradients<f64>| {
        for name in [U, B, C] {
            got[name].values.iter_mut().for_each(|x| *x *= 0.5);
        }
    };
    assert_eq!(failing(method, once), [U, B, C]);
    let conjugated = |_: &Problem, got: &mut Gradients<f64>| {
        got[A].values.iter_mut().skip(1).step_by(2).for_each(|im| *im = -*im);
    };
    assert_eq!(failing(method, conjugated), [A]);
}
