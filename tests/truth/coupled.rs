//! Promise: the truth of a scan with a dense A is that of its recurrences where A is diagonal, and where it turns pairs of states that of one
//! complex state each.

use holdfast::formula::Form;
use holdfast::problem::conventions::{ComplexOutput, Coupling};
use holdfast::problem::plan::Spec;
use holdfast::problem::{Conventions, InputType, Operand, Problem, Weights, regime};
use holdfast::tensor::TensorName;
use holdfast::truth::scan::solve;
use rstest::rstest;

/// A scan with its A written as matrices.
fn as_matrices(problem: &Problem) -> Problem {
    let (n, width) = (problem.shape.dstate, problem.weights.width());
    let mut a = vec![0.0; problem.a.len() * n];
    for (at, number) in problem.a.chunks(width).enumerate() {
        let (channel, state) = (at / n, at % n);
        let first = ((channel * n + state) * n + state) * width;
        a[first..first + width].copy_from_slice(number);
    }
    let conventions = Conventions { coupling: Coupling::Dense, ..problem.conventions };
    Problem { a, conventions, ..problem.clone() }
}

/// Bias, softplus, gate, skip, inputs of neighbours and both directions, and a state to start from.
#[rstest]
fn a_diagonal_matrix_is_as_many_recurrences(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    let regime = regime::find("everything-on").expect("in the table");
    let (input, b, c) = (InputType::Bf16, Operand::Variable, Operand::Constant);
    let mut problem = Spec { regime, weights, input, b, c }.draw(1);
    problem.judged_channels.truncate(2);
    let states = problem.shape.batch * problem.shape.dim * problem.shape.dstate * weights.width();
    problem.initial_state = Some((0..states).map(|i| (i % 7) as f32 / 4.0 - 0.75).collect());
    let forms: Vec<Form> = Form::all().collect();
    let [plain, dense] =
        [&problem, &as_matrices(&problem)].map(|problem| solve(problem, &forms).expect("certified"));
    for (plain, dense) in plain.iter().zip(&dense) {
        for name in [TensorName::Out, TensorName::LastState] {
            assert_eq!(plain.tensors[name].values, dense.tensors[name].values, "{} {name}", plain.method);
        }
    }
}

/// [[re, −im], [im, re]] multiplies x₁ + ix₂ by re + i im, and C₁x₁ − C₂x₂ is the real part of its product with C₁ + iC₂.
#[test]
fn a_matrix_that_turns_pairs_is_half_as_many_complex_states() {
    let regime = regime::find("short").expect("in the table");
    let (weights, input) = (Weights::Complex, InputType::F32);
    let mut complex = Spec { regime, weights, input, b: Operand::Constant, c: Operand::Constant }.draw(1);
    complex.conventions.output = ComplexOutput::RealPart;
    complex.judged_channels.truncate(2);
    let (half, dim) = (complex.shape.dstate, complex.shape.dim);
    let n = 2 * half;
    let mut real = Problem { weights: Weights::Real, a: vec![0.0; dim * n * n], ..complex.clone() };
    real.shape.dstate = n;
    real.conventions = Conventions { coupling: Coupling::Dense, ..Conventions::default() };
    for (at, parts) in complex.a.chunks(2).enumerate() {
        let (channel, pair) = (at / half, at % half);
        let [first, second] = [0, 1].map(|row| (channel * n + 2 * pair + row) * n + 2 * pair);
        real.a[first..first + 2].copy_from_slice(&[parts[0], -parts[1]]);
        real.a[second..second + 2].copy_from_slice(&[parts[1], parts[0]]);
    }
    // B and the last states are the parts as they lie.
    real.c.iter_mut().skip(1).step_by(2).for_each(|part| *part = -*part);
    let forms: Vec<Form> = Form::all().collect();
    let [complex, real] = [&complex, &real].map(|problem| solve(problem, &forms).expect("certified"));
    for (complex, real) in complex.iter().zip(&real) {
        for name in [TensorName::Out, TensorName::LastState] {
            assert_eq!(complex.tensors[name].values, real.tensors[name].values, "{} {name}", real.method);
        }
    }
}
