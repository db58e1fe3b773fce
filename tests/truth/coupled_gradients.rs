//! Gradients of scans with a dense A: those of the same system with a diagonal one, to the last bit, and what differences of the
//! certified outputs tend to.

use std::sync::Arc;

use holdfast::method::Method;
use holdfast::problem::conventions::{ComplexOutput, Coupling, Reads, StepLimit};
use holdfast::problem::{InputType, OutputGradients, Packed, Problem, Shape, Weights};
use holdfast::tensor::GradientName::{self, A};
use holdfast::tensor::TensorName::{LastState, Out};
use holdfast::truth::gradient::solve;
use holdfast::truth::scan;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rstest::rstest;

use crate::support::problems::{Layout, generator, layouts};

/// Numbers of few bits, to which small ones can be added exactly.
fn drawn(len: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    (0..len).map(|_| (rng.random_range(-1.0f32..1.0) * 1024.0).round() / 1024.0).collect()
}

/// A problem with a diagonal A, and the gradients of its outputs.
fn random(layout: &Layout, rng: &mut ChaCha8Rng) -> (Problem, OutputGradients) {
    let mut problem = layout.random(rng);
    let Shape { batch, dim, dstate, .. } = problem.shape;
    let states = batch * dim * dstate * problem.weights.width();
    problem.initial_state = layout.extras.then(|| drawn(states, rng));
    if layout.gate {
        problem.conventions.reads = Reads::BeforeUpdate;
        problem.conventions.limit = StepLimit::new(0.03125, 0.25).expect("two limits");
    }
    if layout.extras && problem.weights == Weights::Complex {
        problem.conventions.output = ComplexOutput::RealPart;
    }
    // A step that is repeated.
    problem.delta[1] = problem.delta[0];
    let given = OutputGradients {
        dout: drawn(problem.u.len(), rng),
        dlast_state: layout.gate.then(|| drawn(states, rng)),
    };
    (problem, given)
}

/// Place of each diagonal part in a dense A.
fn diagonal(problem: &Problem) -> Vec<usize> {
    let (n, width) = (problem.shape.dstate, problem.weights.width());
    let place = |i: usize| {
        let (channel, state, part) = (i / (n * width), i / width % n, i % width);
        ((channel * n + state) * n + state) * width + part
    };
    (0..problem.shape.dim * n * width).map(place).collect()
}

#[rstest]
fn diagonal_matrices_have_the_gradients_of_their_diagonals(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let method = Method::ALL[method];
    let mut rng = generator("diagonal_matrices_have_the_gradients_of_their_diagonals");
    let shape = Shape { batch: 2, dim: 2, dstate: 2, seqlen: 3, groups: 1 };
    for layout in layouts(shape).filter(|layout| layout.input == InputType::F32) {
        let (mut problem, mut given) = random(&layout, &mut rng);
        if layout.b == layout.c {
            // Two states for each channel are those of two items.
            let states = shape.dim * shape.dstate * 2 * problem.weights.width();
            problem = Layout { shape: Shape { batch: 1, seqlen: 5, ..shape }, ..layout }.random(&mut rng);
            problem.packed = Some(Arc::new(Packed::by_starts(&[0, 2, 4], 5, [2, 2])));
            problem.initial_state = Some(drawn(states, &mut rng));
            let dout = drawn(problem.u.len(), &mut rng);
            given = OutputGradients { dout, dlast_state: Some(drawn(states, &mut rng)) };
        }
        let mut dense = problem.clone();
        let places = diagonal(&problem);
        dense.conventions.coupling = Coupling::Dense;
        dense.a = vec![0.0; shape.dim * dense.floats_of_a()];
        places.iter().zip(&problem.a).for_each(|(&place, &a)| dense.a[place] = a);
        let [want, got] = [&problem, &dense]
            .map(|problem| solve(problem, &given, &[method]).expect("certified").remove(0).tensors);
        for (name, want) in want.iter() {
            let got = &got[name].values;
            let got = match name {
                A => places.iter().map(|&place| got[place]).collect(),
                _ => got.clone(),
            };
            assert_eq!(got, want.values, "{method}, {layout:?}: {name}");
        }
    }
}

/// The loss that these gradients are of.
fn loss(problem: &Problem, given: &OutputGradients, method: Method) -> f64 {
    let mut all = problem.clone();
    all.judged_channels = problem.channels().collect();
    let truth = scan::solve(&all, &[method]).expect("certified").remove(0).tensors;
    let product = |x: &[f64], y: &[f32]| x.iter().zip(y).map(|(x, &y)| x * f64::from(y)).sum::<f64>();
    let of_state = given.dlast_state.as_ref().map_or(0.0, |dlast| product(&truth[LastState].values, dlast));
    product(&truth[Out].values, &given.dout) + of_state
}

fn input(problem: &mut Problem, name: GradientName) -> &mut Vec<f32> {
    use GradientName::{B, C, D, Delta, DeltaBias, InitialState, U, Z};
    match name {
        U => &mut problem.u,
        Delta => &mut problem.delta,
        A => &mut problem.a,
        B => &mut problem.b,
        C => &mut problem.c,
        D => problem.d.as_mut().expect("there is one"),
        Z => problem.z.as_mut().expect("there is one"),
        DeltaBias => problem.delta_bias.as_mut().expect("there is one"),
        InitialState => problem.initial_state.as_mut().expect("there is one"),
    }
}

#[rstest]
fn gradients_are_what_differences_tend_to(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let method = Method::ALL[method];
    let mut rng = generator("gradients_are_what_differences_tend_to");
    let shape = Shape { batch: 1, dim: 2, dstate: 3, seqlen: 4, groups: 2 };
    for layout in layouts(shape).filter(|layout| layout.input == InputType::F32) {
        let (mut problem, given) = random(&layout, &mut rng);
        problem.conventions.limit = StepLimit::NONE;
        problem.conventions.coupling = Coupling::Dense;
        problem.a = drawn(shape.dim * problem.floats_of_a(), &mut rng);
        for (name, _) in problem.gradients() {
            let few = |x: &mut f32| *x = (*x * 1024.0).round() / 1024.0;
            input(&mut problem, name).iter_mut().for_each(few);
        }
        let truth = solve(&problem, &given, &[method]).expect("certified").remove(0).tensors;
        for (name, tensor) in truth.iter() {
            let along: Vec<f32> = tensor.values.iter().map(|_| rng.random_range(-4i8..=4).into()).collect();
            let moved = |h: f32| {
                let mut moved = problem.clone();
                input(&mut moved, name).iter_mut().zip(&along).for_each(|(x, by)| *x += h * by);
                loss(&moved, &given, method)
            };
            let slope = |h: f32| (moved(h) - moved(-h)) / (2.0 * f64::from(h));
            let h = 1.0 / 1024.0;
            let found = (4.0 * slope(h) - slope(2.0 * h)) / 3.0;
            let terms = tensor.values.iter().zip(&along).map(|(x, &by)| x * f64::from(by));
            let (want, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
            assert!(
                (found - want).abs() <= 1e-8 * (1.0 + size),
                "{method}, {layout:?}: {name} is {want}, and differences tend to {found}"
            );
        }
    }
}
