//! Promise: the backward kernels return the gradients of spec.md §6, whatever the layout, the length and the batch, and the
//! same bits every time.
//!
//! What is compared with is the certified truth of gradients, and of coefficients' derivatives the same identities in two
//! doubles.

use std::f64::consts::PI;

use holdfast::kernel::{Backend, CpuBackend, Derivatives, KernelError, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::promise::derivatives::{Units, production};
use holdfast::tensor::{GradientName, Gradients};
use holdfast::truth::gradient;
use holdfast::truth::gradient::number::Number;
use holdfast::truth::gradient::rules::Rules;
use holdfast::truth::number::ball::Ball;
use holdfast::truth::number::elementary::Exponent;
use holdfast::truth::number::scalar::{Entry, Real};
use holdfast::truth::number::wide::Wide;
use nalgebra::Complex;
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
    let log = |rng: &mut ChaCha8Rng, low: f64, high: f64| rng.random_range(low.ln()..high.ln()).exp();
    let mut problem = CoefficientProblem::new(weights);
    for i in 0..count {
        let delta = log(rng, 1e-3, 10.0) as f32;
        let size = if i % 3 == 0 { rng.random_range(0.0..6.0) } else { log(rng, 1e-9, 80.0) };
        let angle = match weights {
            Weights::Real if i % 8 == 7 => 0.0,
            Weights::Real => PI,
            Weights::Complex => rng.random_range(0.0..2.0 * PI),
        };
        problem.push(delta, Complex64::from_polar(size, angle) / f64::from(delta), Complex64::ONE);
    }
    problem
}

/// The truth of ∂Ā/∂A, h, ∂h/∂Δ and ∂h/∂A of one element, in 237 bits with a proven error.
fn exact_derivatives<T: Exponent>(method: Method, delta: f32, a: &[f32]) -> [Complex64; 4] {
    let rules = Rules::<Ball<T>>::bounded();
    let step = (rules.step)(method.into(), &Number::given(&[delta]), &Number::given(a));
    let step = step.expect("no pole here");
    let value = |x: &Ball<T>| {
        let part = |i: usize| Real::to_nearest_f64(&Entry::part(&x.mid, i));
        Complex64::new(part(0), if T::WIDTH == 2 { part(1) } else { 0.0 })
    };
    [&step.a_bar_by[1], &step.b_bar, &step.b_bar_by[0], &step.b_bar_by[1]].map(value)
}

fn derived(method: Method, problem: &CoefficientProblem) -> Derivatives {
    CpuBackend::new().derivatives(method, problem).expect("there is one").expect("it runs")
}

/// A weight's parts.
fn number(parts: &[f32]) -> Complex64 {
    Complex64::new(parts[0].into(), parts.get(1).copied().unwrap_or(0.0).into())
}

#[rstest]
fn derivatives_of_coefficients_keep_their_contract(
    #[values(0, 1, 2, 3, 4, 5)] method: usize,
    #[values(Weights::Real, Weights::Complex)] weights: Weights,
) {
    let method = Method::ALL[method];
    let mut rng = generator("derivatives_of_coefficients_keep_their_contract");
    let count = std::env::var("HOLDFAST_ELEMENTS").map_or(3000, |count| count.parse().expect("a number"));
    let problem = elements(&mut rng, weights, count);
    let Derivatives { slope, h, h_by_delta, h_by_a, .. } = derived(method, &problem);
    let width = weights.width();
    let Units { slope: of_slope, h: of_h, h_by_delta: of_delta, h_by_a: of_a, .. } =
        production(method, weights);
    let most = [of_slope, of_h, of_delta, of_a];
    let mut worst = [0.0f64; 4];
    for (i, &delta) in problem.delta.iter().enumerate() {
        let at = i * width..(i + 1) * width;
        let a = &problem.a[at.clone()];
        let want = match weights {
            Weights::Real => exact_derivatives::<Wide>(method, delta, a),
            Weights::Complex => exact_derivatives::<Complex<Wide>>(method, delta, a),
        };
        let got = [&slope, &h, &h_by_delta, &h_by_a].map(|values| number(&values[at.clone()]));
        // The slope times Δ is ∂Ā/∂A, exactly in f64.
        let got = [got[0] * f64::from(delta), got[1], got[2], got[3]];
        for (j, (got, want)) in got.into_iter().zip(want).enumerate() {
            // A subnormal slope is off by half a subnormal, and Δ times it by Δ times that.
            let error = (got - want).norm() - 2f64.powi(-149) * f64::from(delta).max(1.0);
            if error <= 0.0 {
                continue;
            }
            let units = error / want.norm() * 2f64.powi(24);
            assert!(
                units <= most[j],
                "{method}: {j} at Δ = {delta:e}, A = {a:?}: {got}, not {want}: {units:.2}"
            );
            worst[j] = worst[j].max(units);
        }
    }
    println!("{method}, {weights}: {worst:.2?} of {most:?}");
    for (worst, most) in worst.into_iter().zip(most) {
        assert!(worst >= 0.2 * most, "{method}, {weights}: {worst} of {most}: the count says nothing");
    }
}

/// The table of `kernels/README.md` has these numbers before its colons.
#[test]
fn the_contract_is_the_stated_one() {
    for method in Method::ALL {
        for weights in Weights::ALL {
            let of_method = format!("| `{method}`, {weights} |");
            let others = format!("| the others, {weights} |");
            let mut lines = include_str!("../../kernels/README.md").lines();
            let line = lines.find(|line| line.starts_with(&of_method) || line.starts_with(&others));
            let cells = line.expect("a row").split('|').skip(2).take(4).map(str::trim);
            let stated = cells.map(|cell| match cell.split_once(':') {
                Some((units, _)) => units.parse().expect("a number"),
                None => 0.0,
            });
            let Units { slope, h, h_by_delta, h_by_a, .. } = production(method, weights);
            assert_eq!(stated.collect::<Vec<f64>>(), [slope, h, h_by_delta, h_by_a], "{method}, {weights}");
        }
    }
}

/// ψ₁ and its successors are what a slope's closed forms come to far to the left, where φₖ − k φₖ₊₁ has no digit left.
#[test]
fn far_to_the_left_no_digit_is_lost() {
    let mut problem = CoefficientProblem::new(Weights::Real);
    for z in [-81.0, -1e3, -1e5, -1e7, -1e9] {
        problem.push(0.5, Complex64::from(2.0 * z), Complex64::ONE);
    }
    for method in Method::ALL {
        let Derivatives { h, h_by_delta, h_by_a, .. } = derived(method, &problem);
        for (i, &delta) in problem.delta.iter().enumerate() {
            let want = exact_derivatives::<Wide>(method, delta, &problem.a[i..=i]);
            for (got, want) in [h[i], h_by_delta[i], h_by_a[i]].into_iter().zip(&want[1..]) {
                let error = (f64::from(got) - want.re).abs();
                assert!(
                    error <= 8.0 * 2f64.powi(-24) * want.re.abs(),
                    "{method}: {got:e}, not {:e}",
                    want.re
                );
            }
        }
    }
}

#[test]
fn limits_of_derivatives_at_zero_are_exact() {
    for weights in Weights::ALL {
        for method in Method::ALL {
            let mut problem = CoefficientProblem::new(weights);
            for a in [0.0, -1.0, 1e30, -1e30] {
                problem.push(0.0, Complex64::new(a, a), Complex64::ONE);
            }
            let width = weights.width();
            let got = derived(method, &problem);
            let by_delta = if method == Method::Foh { 0.0 } else { 1.0 };
            for i in 0..problem.delta.len() {
                let at = |values: &[f32]| number(&values[i * width..(i + 1) * width]);
                let got = [&got.a_bar, &got.slope, &got.h, &got.h_by_delta, &got.h_by_a].map(|x| at(x));
                let want = [1.0, 1.0, 0.0, by_delta, 0.0].map(Complex64::from);
                assert_eq!(got, want, "{method}, {weights}, element {i}");
            }
        }
    }
}

#[test]
fn a_nan_stays_in_its_channel() {
    let mut rng = generator("a_nan_stays_in_its_channel, backward");
    let mut problem = Layout::plain(2, 3, 2, 70).random(&mut rng);
    let given = given(&problem, &mut rng);
    // Batch 1, channel 1.
    problem.u[4 * 70 + 5] = f32::NAN;
    for method in Method::ALL {
        let got = run(&CpuBackend::new(), method, &problem, &given);
        for name in [GradientName::Delta, GradientName::A, GradientName::B, GradientName::C] {
            let values = &got[name].values;
            let of_channel = values.len() / if name == GradientName::Delta { 6 } else { 3 };
            for (i, value) in values.iter().enumerate() {
                let reached = i / of_channel == if name == GradientName::Delta { 4 } else { 1 };
                assert!(reached || !value.is_nan(), "{method}: {name}[{i}]");
            }
            assert!(values.iter().any(|value| value.is_nan()), "{method}: {name}");
        }
    }
}
