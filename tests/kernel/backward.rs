//! Promise: the backward kernels return the gradients of spec.md §6, whatever the layout, the length and the batch, and the
//! same bits every time.
//!
//! What is compared with is the certified truth of gradients, and of coefficients' derivatives the same identities in two
//! doubles.

use std::f64::consts::PI;

use holdfast::formula::Form;
use holdfast::kernel::{Backend, CpuBackend, Derivatives, KernelError, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::tensor::{GradientName, Gradients};
use holdfast::truth::gradient;
use holdfast::truth::gradient::number::Number;
use holdfast::truth::gradient::rules::Rules;
use holdfast::truth::number::ball::Ball;
use holdfast::truth::number::elementary::Exponent;
use holdfast::truth::number::scalar::{Entry, Real};
use holdfast::truth::number::wide::Wide;
use num_complex::Complex64;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rstest::rstest;

use crate::support::problems::{Layout, bits, generator, layouts};

fn drawn(len: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    (0..len).map(|_| rng.random_range(-1.0f32..1.0)).collect()
}

/// The gradients of a problem's outputs; those of the last state are there if there is a gate, or B varies.
fn given(problem: &Problem, rng: &mut ChaCha8Rng) -> OutputGradients {
    let dout = drawn(problem.u.len(), rng).into_iter().map(|x| problem.input.round(x)).collect();
    let sees_last = problem.z.is_some() || problem.b_operand == Operand::Variable;
    let dlast_state = sees_last.then(|| drawn(problem.shape.batch * problem.a.len(), rng));
    OutputGradients { dout, dlast_state }
}

fn run(backend: &dyn Backend, method: Method, problem: &Problem, given: &OutputGradients) -> Gradients<f32> {
    backend.gradients(method, problem, given).expect("there is a backward pass").expect("it runs")
}

/// What rounding to a storage type adds: relative to the value, and at least.
fn storage(input: InputType) -> (f64, f64) {
    match input {
        InputType::F32 => (0.0, 0.0),
        InputType::F16 => (2f64.powi(-11), 2f64.powi(-25)),
        InputType::Bf16 => (2f64.powi(-8), 0.0),
    }
}

/// The largest error of each tensor over the root of its mean square, in units of 2⁻²⁴; beyond `most` of them it is reported.
fn worst(
    backend: &dyn Backend,
    problem: &Problem,
    given: &OutputGradients,
    methods: &[Method],
    most: f64,
    what: &str,
) -> f64 {
    let mut all = 0.0f64;
    for truth in gradient::solve(problem, given, methods).expect("certified") {
        let got = run(backend, truth.method, problem, given);
        for (name, want) in truth.tensors.iter() {
            let got = got.get(name).unwrap_or_else(|| panic!("{what}, {}: no {name}", truth.method));
            assert_eq!((&got.shape, got.width, got.element), (&want.shape, want.width, want.element));
            let square: f64 = want.values.iter().map(|x| x * x).sum();
            let size = (square / want.values.len() as f64).sqrt();
            // Of one position, A's by zoh is nothing.
            assert!(size > 0.0 || problem.shape.seqlen == 1, "{what}, {}: {name} is nothing", truth.method);
            for (i, (&got, &exact)) in got.values.iter().zip(&want.values).enumerate() {
                let (relative, least) = storage(want.element);
                let error = (f64::from(got) - exact).abs() - (exact.abs() * relative).max(least);
                let units = if error > 0.0 { error / size * 2f64.powi(24) } else { 0.0 };
                assert!(
                    units <= most,
                    "{what}, {}: {name} at {:?} is {got:e}, not {exact:e}: {units:.1} units",
                    truth.method,
                    want.index(i)
                );
                all = all.max(units);
            }
        }
        assert_eq!(got.iter().count(), truth.tensors.iter().count(), "{what}, {}", truth.method);
    }
    all
}

/// What an error of a tensor may be, over the root of its mean square: 2⁻¹⁸.
///
/// A value is a sum of up to some hundred terms, each a product of at most eight numbers that are off by up to 8·2⁻²⁴: one of 64
/// units, if all errors went one way, so that they do not come to 2⁻¹⁸ of a sum of terms of one sign. Where signs are mixed, as
/// here, errors add like their squares, as the terms do.
const MOST: f64 = 64.0;

#[test]
fn every_layout_has_the_gradients_of_the_truth() {
    let mut rng = generator("every_layout_has_the_gradients_of_the_truth");
    let shape = Shape { batch: 2, dim: 4, dstate: 3, seqlen: 11, groups: 2 };
    for layout in layouts(shape) {
        let problem = layout.random(&mut rng);
        let given = given(&problem, &mut rng);
        let units = worst(&CpuBackend::new(), &problem, &given, &Method::ALL, MOST, &format!("{layout:?}"));
        println!("{units:6.2} {layout:?}");
    }
}

fn everything(shape: Shape, weights: Weights) -> Layout {
    Layout {
        shape,
        weights,
        b: Operand::Variable,
        c: Operand::Variable,
        gate: true,
        extras: true,
        ..Layout::plain(1, 1, 1, 1)
    }
}

/// The reference path rounds z, and every sum in f32.
#[test]
fn the_reference_path_has_the_gradients_of_the_truth() {
    let mut rng = generator("the_reference_path_has_the_gradients_of_the_truth");
    let shape = Shape { batch: 2, dim: 4, dstate: 3, seqlen: 11, groups: 2 };
    for layout in layouts(shape) {
        let problem = layout.random(&mut rng);
        let given = given(&problem, &mut rng);
        worst(&ReferenceBackend, &problem, &given, &Method::ALL, 2.0 * MOST, &format!("{layout:?}"));
    }
}

#[rstest]
fn every_edge_of_a_tile_has_the_gradients_of_the_truth(
    #[values(Weights::Real, Weights::Complex)] weights: Weights,
) {
    let mut rng = generator("every_edge_of_a_tile_has_the_gradients_of_the_truth");
    let tile = CpuBackend::tile_len(weights);
    for seqlen in [1, 2, 7, tile - 1, tile, tile + 1, 2 * tile + 3] {
        // Several channels, so that the mean is one of several values at length 1, too.
        let layout = everything(Shape { batch: 1, dim: 5, dstate: 2, seqlen, groups: 1 }, weights);
        let problem = layout.random(&mut rng);
        let given = given(&problem, &mut rng);
        worst(&CpuBackend::new(), &problem, &given, &Method::ALL, MOST, &format!("seqlen {seqlen}"));
    }
}

/// 17 channels of a group are one more than a block has, and 17 states one more than a tile.
#[rstest]
fn blocks_that_are_not_full_have_the_gradients_of_the_truth(
    #[values(Weights::Real, Weights::Complex)] weights: Weights,
) {
    let mut rng = generator("blocks_that_are_not_full_have_the_gradients_of_the_truth");
    for (dim, groups, dstate) in [(34, 2, 17), (6, 2, 9), (5, 5, 1)] {
        let shape = Shape { batch: 2, dim, dstate, seqlen: 6, groups };
        let problem = everything(shape, weights).random(&mut rng);
        let given = given(&problem, &mut rng);
        worst(&CpuBackend::new(), &problem, &given, &Method::ALL, MOST, &shape.to_string());
    }
}

fn all_bits(gradients: &Gradients<f32>) -> Vec<(GradientName, Vec<u32>)> {
    gradients.iter().map(|(name, tensor)| (name, bits(&tensor.values))).collect()
}

#[test]
fn runs_are_bitwise_identical_in_thread_pools_of_any_size() {
    let mut rng = generator("backward runs are bitwise identical");
    for weights in Weights::ALL {
        let shape = Shape { batch: 2, dim: 36, dstate: 5, seqlen: 150, groups: 2 };
        let problem = everything(shape, weights).random(&mut rng);
        let given = given(&problem, &mut rng);
        for method in Method::ALL {
            let first = all_bits(&run(&CpuBackend::new(), method, &problem, &given));
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                let again = pool.install(|| run(&CpuBackend::new(), method, &problem, &given));
                assert!(all_bits(&again) == first, "{method}, {weights}, {threads} threads");
            }
        }
    }
}

/// The batch entry of that number as a problem of its own.
fn alone(problem: &Problem, given: &OutputGradients, batch: usize) -> (Problem, OutputGradients) {
    let part = |values: &[f32]| {
        let len = values.len() / problem.shape.batch;
        values[batch * len..(batch + 1) * len].to_vec()
    };
    let own = Problem {
        shape: Shape { batch: 1, ..problem.shape },
        u: part(&problem.u),
        delta: part(&problem.delta),
        b: part(&problem.b),
        c: part(&problem.c),
        z: problem.z.as_deref().map(part),
        ..problem.clone()
    };
    let given =
        OutputGradients { dout: part(&given.dout), dlast_state: given.dlast_state.as_deref().map(part) };
    (own, given)
}

#[test]
fn an_entry_of_a_batch_has_the_gradients_that_it_has_alone() {
    let mut rng = generator("an_entry_of_a_batch_has_the_gradients_that_it_has_alone");
    for weights in Weights::ALL {
        let shape = Shape { batch: 3, dim: 18, dstate: 3, seqlen: 75, groups: 1 };
        let problem = everything(shape, weights).random(&mut rng);
        let given = given(&problem, &mut rng);
        for method in Method::ALL {
            let all = run(&CpuBackend::new(), method, &problem, &given);
            for batch in 0..shape.batch {
                let (own, given) = alone(&problem, &given, batch);
                let own = run(&CpuBackend::new(), method, &own, &given);
                for name in
                    [GradientName::U, GradientName::Delta, GradientName::B, GradientName::C, GradientName::Z]
                {
                    let (own, all) = (&own[name].values, &all[name].values);
                    let part = &all[batch * own.len()..(batch + 1) * own.len()];
                    assert!(bits(own) == bits(part), "{method}, {weights}: {name} of entry {batch}");
                }
            }
        }
    }
}

#[test]
fn a_loss_that_sees_nothing_has_no_gradients() {
    let mut rng = generator("a_loss_that_sees_nothing_has_no_gradients");
    let shape = Shape { batch: 2, dim: 3, dstate: 3, seqlen: 70, groups: 1 };
    for layout in layouts(shape) {
        let problem = layout.random(&mut rng);
        let given = OutputGradients { dout: vec![0.0; problem.u.len()], dlast_state: None };
        for method in Method::ALL {
            for (name, tensor) in run(&CpuBackend::new(), method, &problem, &given).iter() {
                let zeros = tensor.values.iter().all(|&x| x == 0.0);
                assert!(zeros, "{method}, {layout:?}: {name}");
            }
        }
    }
}

/// A state that nothing reads gets its gradient from the last state alone.
#[test]
fn the_last_state_has_its_part() {
    let mut rng = generator("the_last_state_has_its_part");
    for weights in Weights::ALL {
        let problem =
            everything(Shape { batch: 2, dim: 2, dstate: 3, seqlen: 9, groups: 1 }, weights).random(&mut rng);
        let dlast_state = Some(drawn(2 * problem.a.len(), &mut rng));
        let given = OutputGradients { dout: vec![0.0; problem.u.len()], dlast_state };
        for truth in gradient::solve(&problem, &given, &Method::ALL).expect("certified") {
            let got = run(&CpuBackend::new(), truth.method, &problem, &given);
            let (got, want) = (&got[GradientName::B].values, &truth.tensors[GradientName::B].values);
            let most = want.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            assert!(most > 1e-4, "{}", truth.method);
            for (&got, &want) in got.iter().zip(want) {
                assert!((f64::from(got) - want).abs() < most * MOST * 2f64.powi(-24), "{}", truth.method);
            }
        }
    }
}

#[test]
fn ill_shaped_gradients_are_typed_errors() {
    let mut rng = generator("ill_shaped_gradients_are_typed_errors");
    let problem = Layout::plain(1, 2, 3, 5).random(&mut rng);
    let refused = |given: OutputGradients| {
        let backends: [&dyn Backend; 2] = [&CpuBackend::new(), &ReferenceBackend];
        backends.map(|backend| match backend.gradients(Method::Zoh, &problem, &given) {
            Some(Err(KernelError::Unsupported { what, .. })) => what,
            other => panic!("{}: expected an error, got {other:?}", backend.name()),
        })
    };
    assert_eq!(refused(OutputGradients { dout: vec![0.0; 9], dlast_state: None }), ["dout"; 2]);
    let short = OutputGradients { dout: vec![0.0; 10], dlast_state: Some(vec![0.0; 5]) };
    assert_eq!(refused(short), ["dlast_state"; 2]);
    let faulty = CpuBackend::with_faults("runs-as-zoh", None).expect("in the list");
    let given = OutputGradients { dout: vec![0.0; 10], dlast_state: None };
    assert!(faulty.gradients(Method::Zoh, &problem, &given).is_none());
}

/// |z| from 10⁻⁹ to 80, Δ from 10⁻³ to 10: left of 0, but for every eighth element, and for complex weights anywhere.
fn elements(rng: &mut ChaCha8Rng, weights: Weights, count: usize) -> CoefficientProblem {
    let mut problem = CoefficientProblem::new(weights);
    for i in 0..count {
        let log = |rng: &mut ChaCha8Rng, low: f64, high: f64| (rng.random_range(low.ln()..high.ln())).exp();
        let delta = log(rng, 1e-3, 10.0) as f32;
        let size = if i % 3 == 0 { rng.random_range(0.0..6.0) } else { log(rng, 1e-9, 80.0) };
        let angle = match weights {
            Weights::Real => {
                if i % 8 == 7 {
                    0.0
                } else {
                    PI
                }
            }
            Weights::Complex => rng.random_range(0.0..2.0 * PI),
        };
        let a = Complex64::from_polar(size, angle) / f64::from(delta);
        problem.push(delta, a, Complex64::ONE);
    }
    problem
}

/// The truth of ∂Ā/∂A, h, ∂h/∂Δ and ∂h/∂A of one element, by 237 bits with a proven error.
fn exact_derivatives<T: Exponent>(method: Method, delta: f32, a: &[f32]) -> [Complex64; 4] {
    let rules = Rules::<Ball<T>>::bounded();
    let step = (rules.step)(Form::Method(method), &Number::given(&[delta]), &Number::given(a));
    let step = step.expect("no pole here");
    let value = |x: &Ball<T>| {
        let part = |i: usize| Real::to_nearest_f64(&Entry::part(&x.mid, i));
        Complex64::new(part(0), if T::WIDTH == 2 { part(1) } else { 0.0 })
    };
    [&step.a_bar_by[1], &step.b_bar, &step.b_bar_by[0], &step.b_bar_by[1]].map(value)
}

#[rstest]
fn derivatives_of_coefficients_keep_their_contract(
    #[values(0, 1, 2, 3, 4, 5)] method: usize,
    #[values(Weights::Real, Weights::Complex)] weights: Weights,
) {
    let method = Method::ALL[method];
    let mut rng = generator("derivatives_of_coefficients_keep_their_contract");
    let problem = elements(&mut rng, weights, 4000);
    let got = CpuBackend::new().derivatives(method, &problem).expect("there is one").expect("it runs");
    let Derivatives { slope, h, h_by_delta, h_by_a, .. } = &got;
    let width = weights.width();
    let mut worst = [0.0f64; 4];
    for i in 0..problem.delta.len() {
        let at = i * width;
        let delta = problem.delta[i];
        let a = &problem.a[at..at + width];
        let want = match weights {
            Weights::Real => exact_derivatives::<Wide>(method, delta, a),
            Weights::Complex => exact_derivatives::<nalgebra::Complex<Wide>>(method, delta, a),
        };
        let value = |values: &[f32]| {
            Complex64::new(values[at].into(), if width == 2 { values[at + 1].into() } else { 0.0 })
        };
        let got = [value(slope) * f64::from(delta), value(h), value(h_by_delta), value(h_by_a)];
        for ((worst, got), want) in worst.iter_mut().zip(got).zip(want) {
            let subnormal = 2f64.powi(-149);
            let error = (got - want).norm() - subnormal;
            if error > 0.0 {
                let units = error / want.norm() * 2f64.powi(24);
                if units > 12.0 {
                    println!("{method} {weights} delta {delta:e} a {a:?}: {got} {want} {units:.1}");
                }
                *worst = worst.max(units);
            }
        }
    }
    println!(
        "{method}, {weights}: slope {:.2}, h {:.2}, by delta {:.2}, by A {:.2}",
        worst[0], worst[1], worst[2], worst[3]
    );
    assert!(worst.iter().all(|&units| units <= 12.0), "{method}, {weights}: {worst:?}");
}
