//! `holdfast bench --judge`: how fast recordings are judged here. A measurement, not a test: it has no verdict.

use std::time::Instant;

use rayon::prelude::*;

use crate::cli::{Outcome, PASSED};
use crate::judge::quick::{self, QuickTally};
use crate::method::Method;
use crate::problem::inputs::{self, Draw};
use crate::problem::regime::{EVERYTHING, Recipe};
use crate::problem::{InputType, Operand, Problem, Shape, Weights};
use crate::promise::Contract;
use crate::tensor::{Named, TensorName, Tensors};
use crate::truth;

/// Channels and positions of a layer, and states of a channel, where no shape is asked for.
const LAYER: Shape = Shape { batch: 1, dim: 64, dstate: 16, seqlen: 2048, groups: 1 };

/// Times these methods, on a layer of this shape.
pub fn run(methods: &[Method], shape: Option<Shape>) -> Outcome {
    let shape = shape.unwrap_or(LAYER);
    let threads = rayon::current_num_threads();
    let mut text = format!(
        "element-states (batch × dim × seqlen × dstate) a second, on {threads} threads\n\n\
         {:10} {:8} {:>12} {:>12}\n",
        "method", "weights", "quick", "certified"
    );
    for &method in methods {
        for weights in Weights::ALL {
            let problem = problem(shape, weights);
            let outputs = outputs(method, &problem);
            let judge =
                |at: &(usize, usize)| quick::judge((method, &Contract::FRAMEWORK), &problem, *at, &outputs);
            let quick = rate(&problem, || {
                let tallies: Vec<Named<QuickTally>> = problem.judged_channels.par_iter().map(judge).collect();
                std::hint::black_box(tallies);
            });
            let few = few(&problem);
            let certified = rate(&few, || {
                std::hint::black_box(truth::scan::solve(&few, &[method]).is_ok());
            });
            text.push_str(&format!(
                "{:10} {:8} {quick:>12.2e} {certified:>12.2e}\n",
                method.name(),
                weights.name()
            ));
        }
    }
    Outcome::new(text, PASSED)
}

/// Element-states a second of the better of two runs: the first one warms up.
fn rate(problem: &Problem, mut work: impl FnMut()) -> f64 {
    let states = problem.judged_channels.len() * problem.shape.seqlen * problem.shape.dstate;
    let mut time = || {
        let start = Instant::now();
        work();
        states as f64 / start.elapsed().as_secs_f64()
    };
    time().max(time())
}

/// A layer as models have them: variable B and C, softplus with a bias, skip and gate.
fn problem(shape: Shape, weights: Weights) -> Problem {
    let recipe = Recipe { shape, ..EVERYTHING };
    let operands = (Operand::Variable, Operand::Variable);
    inputs::draw(&recipe, weights, InputType::F32, operands, &mut Draw::new(1, "bench"))
}

/// The same with as few channels to solve as can be.
fn few(problem: &Problem) -> Problem {
    let mut few = problem.clone();
    few.judged_channels.truncate(1);
    few
}

/// What a sound kernel returns: the quick values, rounded.
fn outputs(method: Method, problem: &Problem) -> Tensors<f32> {
    let values = quick::values(method, problem);
    let tensor = |(name, values): (TensorName, Vec<f64>)| {
        (name, problem.tensor(name, values.into_iter().map(|value| value as f32).collect()))
    };
    values.into_iter().map(tensor).collect()
}
