//! Promise: a cause that leaves the range of f32 is named by what is finite before that and beside it, and nothing is named where
//! what is finite does not say so.

use holdfast::problem::regime;
use holdfast::problem::{Problem, Shape};
use holdfast::results::Verdict;

use crate::arithmetic::{Factors, caused, scan_by, softplus};
use crate::written::{REAL, VARIABLE, drawn, named};

/// A layer as models have it: A from −1 to −dstate, and steps of 10⁻³ to 10⁻¹ after softplus.
fn layer() -> Problem {
    let shape = Shape { batch: 1, dim: 16, dstate: 8, seqlen: 96, groups: 1 };
    let mut problem = drawn(regime::EVERYTHING, shape, REAL, VARIABLE, (3, "overflow"));
    problem.a = (0..shape.dim).flat_map(|_| (1..=shape.dstate).map(|n| -(n as f32))).collect();
    problem.delta = problem.u.iter().map(|u| 0.5 * u).collect();
    problem.delta_bias = Some((0..shape.dim).map(|d| -6.9 + 0.3 * d as f32).collect());
    problem
}

/// The output of a scan with this in the place of softplus.
fn of(problem: &Problem, softplus: impl Fn(f32) -> f32) -> Vec<f32> {
    scan_by(problem, |_, value| value, Factors::NONE, softplus)
}

/// Findings where all is looked for, or these causes.
#[track_caller]
fn is_named(problem: &Problem, out: Vec<f32>, causes: Option<&str>, name: &str) {
    assert!(out.iter().any(|out| !out.is_finite()), "{name}");
    let case = caused(problem, out, causes);
    assert_eq!(case.verdict, Verdict::Fail);
    assert_eq!(named(&case.diagnosis).first().copied().unwrap_or(""), name, "{:?}", case.diagnosis);
}

/// Ā of up to e⁵⁵ leaves few finite positions.
#[test]
fn a_missing_softplus_is_named_where_nearly_everything_overflows() {
    let problem = layer();
    is_named(&problem, of(&problem, |x| x), None, "softplus-missing");
}

/// One channel alone leaves the range.
#[test]
fn channels_that_are_finite_are_compared_whole() {
    let mut problem = layer();
    problem.delta = problem.delta.iter().map(|delta| 0.05 * delta.abs()).collect();
    let mut bias = vec![0.05; problem.shape.dim];
    bias[5] = -1.0;
    problem.delta_bias = Some(bias);
    is_named(&problem, of(&problem, |x| x), None, "softplus-missing");
}

#[test]
fn a_softplus_that_overflows_is_named_by_where_it_does() {
    let mut problem = layer();
    for d in 0..problem.shape.dim {
        problem.delta[d * problem.shape.seqlen + 20 + 3 * d] = 100.0;
    }
    is_named(&problem, of(&problem, |x| (1.0 + x.exp()).ln()), None, "softplus-overflows");
}

/// A scan that multiplies sums of inputs over products of the decays by these products, which are 0 in f32 sooner or later.
#[test]
fn a_division_by_an_underflowed_product_is_named() {
    let bias = (0..16).map(|d| -3.0 + 0.15 * d as f32).collect();
    let problem = Problem { delta_bias: Some(bias), d: None, z: None, initial_state: None, ..layer() };
    let Shape { dim, dstate, seqlen, .. } = problem.shape;
    let mut out = vec![0.0f32; dim * seqlen];
    for (d, row) in out.chunks_mut(seqlen).enumerate() {
        for n in 0..dstate {
            let (mut product, mut sum) = (1.0f32, 0.0f32);
            for (l, out) in row.iter_mut().enumerate() {
                let (at, bias) = (d * seqlen + l, problem.delta_bias.as_ref().expect("a bias")[d]);
                let step = softplus(problem.delta[at] + bias);
                product *= (step * problem.a[d * dstate + n]).exp();
                sum += step * problem.b[n * seqlen + l] * problem.u[at] / product;
                *out += problem.c[n * seqlen + l] * (product * sum);
            }
        }
    }
    is_named(&problem, out, None, "division-by-underflowed-product");
}

/// NaN as where a kernel never writes: from where a missing softplus leaves the range as well, and from a large step on.
#[test]
fn what_is_no_number_for_another_reason_has_no_name() {
    let mut problem = layer();
    // A large step, which others would clamp, proves nothing either.
    (0..problem.shape.dim).for_each(|d| problem.delta[d * problem.shape.seqlen + 40] = 60.0);
    let right = of(&problem, softplus);
    for first in [2, 40] {
        let mut out = right.clone();
        out.chunks_mut(problem.shape.seqlen).for_each(|row| row[first..].fill(f32::NAN));
        let causes = "softplus-missing + softplus-overflows + delta-at-most-1 + a-negated";
        is_named(&problem, out, Some(causes), "");
    }
}

#[test]
fn one_value_that_is_no_number_hides_no_other_cause() {
    let mut problem = layer();
    let bias = problem.delta_bias.replace(vec![0.0; problem.shape.dim]);
    let mut out = of(&problem, softplus);
    problem.delta_bias = bias;
    out[3 * problem.shape.seqlen + 17] = f32::NAN;
    is_named(&problem, out, Some("bias-missing"), "bias-missing + not-a-number");
}
