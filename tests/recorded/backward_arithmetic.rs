//! Promise: a backward pass that makes grad.z of a y which was kept in 16 bits fails with that name, passes where it is stated, and
//! one that is worse still fails.

use holdfast::method::Method;
use holdfast::problem::{InputType, OutputGradients, Problem, Shape};
use holdfast::results::{CaseResult, Verdict};
use holdfast::tensor::{GradientName, Gradients};
use holdfast::truth::gradient::solve;

use crate::backward::{checked, random, recorded};
use crate::support::problems::Layout;
use crate::written::ComplexAs;

const SHAPE: Shape = Shape { batch: 1, dim: 6, dstate: 4, seqlen: 128, groups: 1 };

pub fn layer(input: InputType) -> (Problem, OutputGradients) {
    let (mut problem, mut given) = random(&Layout { input, ..Layout::whole(SHAPE) });
    (problem.initial_state, given.dlast_state) = (None, None);
    (problem, given)
}

pub fn truth(problem: &Problem, given: &OutputGradients) -> Gradients<f64> {
    solve(problem, given, &[Method::Zoh]).expect("certified").remove(0).tensors
}

/// Sound gradients, but for grad.z: made of y + D·u as it was `kept`.
fn keeping(problem: &Problem, given: &OutputGradients, kept: impl Fn(f64) -> f64) -> Gradients<f32> {
    let gate = problem.z.as_ref().expect("a gate");
    truth(problem, given).map(|name, tensor| {
        let value = |(i, &want): (usize, &f64)| {
            let z = f64::from(gate[i]);
            let rising = 1.0 / (1.0 + (-z).exp());
            let factor = f64::from(given.dout[i]) * rising * (1.0 + z * (1.0 - rising));
            tensor.element.round((factor * kept(want / factor)) as f32)
        };
        let rounded = |&want: &f64| tensor.element.round(want as f32);
        tensor.with(match name {
            GradientName::Z => tensor.values.iter().enumerate().map(value).collect(),
            _ => tensor.values.iter().map(rounded).collect(),
        })
    })
}

/// The verdict where this is stated.
pub fn stated(
    (problem, given): (&Problem, &OutputGradients),
    got: &Gradients<f32>,
    arithmetic: &str,
) -> CaseResult {
    let file = recorded((problem, given), "zoh", got, ComplexAs::Trailing);
    file.stating(&[("arithmetic", arithmetic)]).judged()
}

pub fn fails_alone(case: &CaseResult) {
    for (name, tensor) in case.tensors.iter() {
        let is_z = name.gradient() == Some(GradientName::Z);
        assert_eq!(tensor.verdict == Verdict::Fail, is_z, "{name}: {:?}", tensor.worst);
    }
}

#[test]
fn a_y_that_is_kept_in_16_bits_is_named_and_passes_where_it_is_stated() {
    for (input, kept) in [
        (InputType::Bf16, InputType::Bf16),
        (InputType::F16, InputType::F16),
        (InputType::F32, InputType::Bf16),
        (InputType::F32, InputType::F16),
    ] {
        let (problem, given) = layer(input);
        let round = |y: f64| f64::from(kept.round(y as f32));
        let got = keeping(&problem, &given, round);
        let case = checked(&recorded((&problem, &given), "zoh", &got, ComplexAs::Trailing)).remove(0);
        fails_alone(&case);
        let found = &case.diagnosis[0];
        assert_eq!(found.name, format!("y-in-{kept}"), "{input}");
        assert!(found.what.contains(&format!("--arithmetic 'y={kept}'")), "{}", found.what);

        let arithmetic = format!("y={kept}");
        let case = stated((&problem, &given), &got, &arithmetic);
        assert_eq!(case.verdict, Verdict::Pass, "{input} {kept}: {:?}", case.worst);
        let worst = case.tensors[GradientName::Z].worst.as_ref().expect("it is shown");
        assert!(worst.ratio > 0.5, "{input} {kept}: {worst:?}");

        // By a hundredth, by two bits, and by a constant.
        let scaled = keeping(&problem, &given, |y| 1.01 * round(y));
        let fewer = keeping(&problem, &given, |y| {
            let unit = (y.abs().log2().floor() - if kept == InputType::Bf16 { 5.0 } else { 8.0 }).exp2();
            (y / unit).round() * unit
        });
        let raised = keeping(&problem, &given, |y| round(y) + 0.02);
        for worse in [scaled, fewer, raised] {
            fails_alone(&stated((&problem, &given), &worse, &arithmetic));
        }
    }
}

/// Each element is within the bounds of a kept y, and these are no roundings.
#[test]
fn what_goes_one_way_is_no_kept_y() {
    let (problem, given) = layer(InputType::F32);
    let got = keeping(&problem, &given, |y| 1.003 * y);
    let case = checked(&recorded((&problem, &given), "zoh", &got, ComplexAs::Trailing)).remove(0);
    fails_alone(&case);
    assert!(case.diagnosis.iter().all(|found| !found.name.starts_with("y-in-")), "{:?}", case.diagnosis);
    let case = stated((&problem, &given), &got, "y=bf16");
    fails_alone(&case);
    assert!(case.reason.contains("these errors go one way"), "{}", case.reason);
    assert!(case.tensors[GradientName::Z].worst.as_ref().is_some_and(|worst| worst.ratio < 1.0));
}
