//! Promise: what is known of one step, element by element, is what the gradients of a scan of one position say of it.

use holdfast::method::Method;
use holdfast::problem::inputs::Draw;
use holdfast::problem::one_step::OneStep;
use holdfast::problem::{OutputGradients, Problem, sweep};
use holdfast::tensor::GradientName::{A, B, Delta};
use holdfast::tensor::StepName;
use holdfast::truth::coefficient;
use holdfast::truth::gradient;
use holdfast::truth::gradient::elements;
use rstest::rstest;

/// One position of each element, from this state with this input, and a loss that is one part of the state after it.
fn one_position(one: &OneStep, (state, u): (f32, f32), part: usize) -> (Problem, OutputGradients) {
    let width = one.problem.weights.width();
    let n = one.problem.delta.len();
    let at = |part: usize, x: f32| -> Vec<f32> {
        (0..n * width).map(|i| if i % width == part { x } else { 0.0 }).collect()
    };
    let problem =
        Problem { u: vec![u; n], b: at(0, 1.0), initial_state: Some(at(0, state)), ..one.problem.clone() };
    (problem, OutputGradients { dout: vec![0.0; n], dlast_state: Some(at(part, 1.0)) })
}

#[rstest]
fn steps_are_those_of_gradients(
    #[values(
        "dense real band",
        "dense complex band",
        "hard real places",
        "hard complex places",
        "real roots",
        "complex roots",
        "real extremes",
        "complex far right"
    )]
    name: &str,
) {
    let swept = sweep::all().into_iter().find(|sweep| sweep.name == name).expect("in the table");
    let one = OneStep::new(swept.draw(1), &mut Draw::new(1, "steps"));
    let width = swept.weights.width();
    let gradients = |method, (problem, given): (Problem, OutputGradients)| {
        gradient::solve(&problem, &given, &[method]).expect("certified").remove(0).tensors
    };
    // A complex gradient by x of a holomorphic f is the conjugate of f′.
    let conjugated = |values: &[f64]| {
        let part = |(i, &x): (usize, &f64)| if i % width == 1 { -x } else { x };
        values.iter().enumerate().map(part).collect::<Vec<f64>>()
    };
    for method in Method::ALL {
        let steps = elements::solve(method, &one.coefficients).expect("certified").values;
        let of_coefficients = coefficient::solve(method, &one.coefficients).expect("certified");
        assert_eq!(of_coefficients.a_bar, steps[StepName::ABar], "{method}: Ā");
        let of_input = gradients(method, one_position(&one, (0.0, 1.0), 0));
        assert_eq!(conjugated(&of_input[B].values), steps[StepName::H], "{method}: h");
        assert_eq!(conjugated(&of_input[A].values), steps[StepName::HByA], "{method}: ∂h/∂A");
        for part in 0..width {
            let of_part = gradients(method, one_position(&one, (0.0, 1.0), part));
            let by_delta: Vec<f64> =
                steps[StepName::HByDelta].iter().skip(part).step_by(width).copied().collect();
            assert_eq!(of_part[Delta].values, by_delta, "{method}: part {part} of ∂h/∂Δ");
        }
        let of_state = gradients(method, one_position(&one, (1.0, 0.0), 0));
        for (i, by_a) in conjugated(&of_state[A].values).into_iter().enumerate() {
            let delta = f64::from(one.coefficients.delta[i / width]);
            let product = steps[StepName::Slope][i] * delta;
            assert!((product - by_a).abs() <= by_a.abs() * 2.0 * f64::EPSILON, "{method}: slope {i}");
        }
    }
}
