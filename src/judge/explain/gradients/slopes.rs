//! Gradients of a pass whose derivatives are off by a factor, by which the judge's sensitivity is measured.

use super::rows::{self, row, rows};
use super::{WHOLE, specified};
use crate::formula::Form;
use crate::judge::explain::Evaluator;
use crate::problem::{OutputGradients, Problem};
use crate::program::edit::{Edit, Patch, Site};
use crate::program::{Graph, Input, Op, Program, Real, Symbol};
use crate::tensor::{GradientName, Gradients};

/// Gradients that the specified backward pass returns in f64, and those that it returns with a factor of the derivatives of Ā and of h by
/// Δ, and then by A. None of a form that has no gradients.
pub fn with_slopes_times(
    form: Form,
    problem: &Problem,
    given: &OutputGradients,
    factor: f64,
) -> Option<Vec<Gradients<f64>>> {
    let (mut graph, program) = specified(form, problem, given)?;
    let mut programs = vec![program.clone()];
    for symbol in [Symbol::ABarByDelta, Symbol::HByDelta, Symbol::ABarByA, Symbol::HByA] {
        let times = slope_times(&mut graph, &program, symbol, factor);
        programs.push(times.unwrap_or_else(|| program.clone()));
    }
    let mut evaluator = Evaluator::backward(problem, given);
    let is_small = problem.shape.sequence_len() * problem.shape.dstate <= WHOLE;
    let mut all = vec![Gradients::default(); programs.len()];
    for name in GradientName::ALL.into_iter().filter(|name| program.find(Symbol::Gradient(*name)).is_some()) {
        let rows = rows(problem, name);
        let count = rows.iter().map(|row| row.elements.len()).sum::<usize>() * rows::width(problem, name);
        let mut values = vec![vec![0.0; count]; programs.len()];
        for at in &rows {
            for (values, program) in values.iter_mut().zip(&programs) {
                let Some(id) = program.find(Symbol::Gradient(name)) else { continue };
                row(&mut evaluator, (&graph, id), (problem, name), at, &mut |index, value, _| {
                    values[index] = value;
                });
            }
            if !is_small {
                evaluator.forget_all();
            }
        }
        for (gradients, values) in all.iter_mut().zip(values) {
            gradients.insert(name, problem.gradient(name, values));
        }
    }
    Some(all)
}

/// A program with a factor of one derivative; none where it has no such derivative.
fn slope_times(graph: &mut Graph, program: &Program, symbol: Symbol, factor: f64) -> Option<Program> {
    let slope = program.find(symbol)?;
    // A factor of 1 is no node: what it would be a factor of is.
    let mut sites = vec![slope];
    if matches!(graph.op(slope), Op::Number(_)) {
        let [b, u] = [Input::B, Input::U].map(|input| graph.find(&Op::Input(input)));
        let adjoints =
            [Symbol::Adjoint, Symbol::ReversedAdjoint].into_iter().filter_map(|of| program.find(of));
        sites = adjoints.filter_map(|of| graph.find(&Op::Product(vec![of, b?, u?]))).collect();
    }
    let patch = Patch::Scaled(Real::new(factor));
    let times =
        |program: Program, id| Edit { site: Site::Value(id), patch, when: None }.apply(graph, &program);
    Some(sites.into_iter().rev().fold(program.clone(), times))
}
