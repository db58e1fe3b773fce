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
use num_complex::Complex64;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

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

/// What is stored rounds once more, relative to the value.
fn storage(input: InputType) -> f64 {
    match input {
        InputType::F32 => 0.0,
        InputType::F16 => 2f64.powi(-11),
        InputType::Bf16 => 2f64.powi(-8),
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
            assert!(size > 0.0, "{what}, {}: {name} is nothing", truth.method);
            for (i, (&got, &exact)) in got.values.iter().zip(&want.values).enumerate() {
                let error = (f64::from(got) - exact).abs() - exact.abs() * storage(want.element);
                let units = error / size * 2f64.powi(24);
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
