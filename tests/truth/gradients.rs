//! Promises of the gradients' truth: the adjoint is the derivative, in every direction, for every method and layout.

use holdfast::hexfloat;
use holdfast::method::Method;
use holdfast::problem::{InputType, Problem, Shape};
use holdfast::tensor::Gradients;
use holdfast::truth::gradient::directional::{Direction, derivative};
use holdfast::truth::gradient::{GradientTruth, OutputGradients, solve};
use holdfast::truth::number::scalar::Real;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rstest::rstest;

use crate::support::problems::{Layout, generator};

/// Two of everything, three positions.
const SMALL: Shape = Shape { batch: 2, dim: 4, dstate: 2, seqlen: 3, groups: 2 };

fn drawn(problem: &Problem, rng: &mut ChaCha8Rng) -> OutputGradients {
    let states = problem.shape.batch * problem.shape.dim * problem.shape.dstate * problem.weights.width();
    let mut draw = |len: usize| (0..len).map(|_| rng.random_range(-1.0f32..1.0)).collect::<Vec<f32>>();
    OutputGradients { dout: draw(problem.shape.sequence_len()), dlast_state: Some(draw(states)) }
}

fn only(problem: &Problem, given: &OutputGradients, method: Method) -> GradientTruth {
    solve(problem, given, &[method]).expect("certified").remove(0)
}

/// Each value against the derivative along its own axis, bit for bit: the latter errs by 2⁻¹⁵⁰ or so of the terms.
fn hold_axis_by_axis(problem: &Problem, given: &OutputGradients, method: Method, gradients: &Gradients<f64>) {
    for (name, tensor) in gradients.iter() {
        for (i, &value) in tensor.values.iter().enumerate() {
            let mut axis = vec![0.0; tensor.values.len()];
            axis[i] = 1.0;
            let along: Direction = [(name, axis)].into_iter().collect();
            let derivative = derivative(problem, given, method, &along).to_nearest_f64();
            assert_eq!(
                hexfloat::f64(value),
                hexfloat::f64(derivative + 0.0),
                "{method}, {name} at {:?} of {problem:?}",
                tensor.index(i)
            );
        }
    }
}

/// Weights × B × C, with and without gate, D, bias, softplus and an initial state.
fn layouts() -> impl Iterator<Item = Layout> {
    crate::support::problems::layouts(SMALL).filter(|layout| layout.input == InputType::F32)
}

#[rstest]
fn adjoint_is_the_derivative_along_every_axis(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let method = Method::ALL[method];
    let mut rng = generator("adjoint_is_the_derivative_along_every_axis");
    for layout in layouts() {
        let mut problem = layout.random(&mut rng);
        if layout.gate {
            let states = problem.shape.batch * problem.a.len();
            problem.initial_state = Some((0..states).map(|_| rng.random_range(-1.0f32..1.0)).collect());
        }
        let given = drawn(&problem, &mut rng);
        let truth = only(&problem, &given, method);
        assert!(truth.certificate.compared > 0);
        hold_axis_by_axis(&problem, &given, method, &truth.tensors);
    }
}
