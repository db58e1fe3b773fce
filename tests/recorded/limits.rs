//! Promise: limits of the step that a recording states are what its outputs and gradients are judged by.

use holdfast::check::{Options, check};
use holdfast::judge::diagnose::Budget;
use holdfast::judge::quick;
use holdfast::kernel::{Backend, CpuBackend, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::conventions::{Conventions, StepLimit};
use holdfast::problem::inputs::{self, Draw};
use holdfast::problem::regime::{self, Recipe};
use holdfast::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::promise::Contract;
use holdfast::results::{CaseResult, Verdict};
use holdfast::tensor::{GradientName, Gradients, TensorName, Tensors};

use crate::backward;
use crate::searched::{asking, of_gradients};
use crate::written::{ComplexAs, File};

/// Everything on, and limits beyond which a quarter of the steps is at either end.
fn limited(weights: Weights) -> Problem {
    let shape = Shape { batch: 2, dim: 2, dstate: 3, seqlen: 24, groups: 1 };
    let recipe = Recipe { shape, ..regime::EVERYTHING };
    let operands = (Operand::Variable, Operand::Variable);
    let mut problem = inputs::draw(&recipe, weights, InputType::F32, operands, &mut Draw::new(3, "limits"));
    problem.judged_channels = problem.channels().collect();
    let mut steps = plain(&problem, |_, x| softplus(x)).delta;
    steps.sort_by(f32::total_cmp);
    let [low, high] = [1, 3].map(|quarter| f64::from(steps[quarter * steps.len() / 4]));
    let limit = StepLimit::new(low, high).expect("two limits");
    Problem { conventions: Conventions { limit, ..Conventions::default() }, ..problem }
}

fn softplus(x: f32) -> f32 {
    if x <= 20.0 { x.exp().ln_1p() } else { x }
}

/// As a kernel has it: in f32.
fn clamped(problem: &Problem, step: f32) -> f32 {
    let [low, high] = problem.conventions.limit.ends();
    step.clamp(low, high)
}

/// The problem of steps that are given, made in f32 of delta + bias.
fn plain(problem: &Problem, step: impl Fn(&Problem, f32) -> f32) -> Problem {
    let bias = problem.delta_bias.as_ref().expect("everything is on");
    let of =
        |(i, delta): (usize, &f32)| step(problem, delta + bias[i / problem.shape.seqlen % problem.shape.dim]);
    let delta = problem.delta.iter().enumerate().map(of).collect();
    let free = Conventions::default();
    Problem { delta, delta_bias: None, delta_softplus: false, conventions: free, ..problem.clone() }
}

fn sound(problem: &Problem) -> Problem {
    plain(problem, |problem, x| clamped(problem, softplus(x)))
}

fn file(problem: &Problem, method: Method, outputs: &Tensors<f32>) -> File {
    let mut file = File::of(problem, ComplexAs::Trailing);
    let last = &outputs[TensorName::LastState].values;
    file.add_output(
        problem,
        method.name(),
        &outputs[TensorName::Out].values,
        Some(last),
        ComplexAs::Trailing,
    );
    file
}

fn judged(file: &File, causes: Option<&str>) -> CaseResult {
    let budget = if causes.is_some() { Budget::Thorough } else { Budget::Off };
    let options = Options { diagnosis: budget, ..asking(causes.unwrap_or_default()) };
    check("run", "run", &file.recording(), &options, &|| {}).expect("fits").cases.remove(0)
}

#[test]
fn a_scan_that_clamps_its_steps_passes_where_it_says_so_and_nowhere_else() {
    for (weights, method) in
        Weights::ALL.into_iter().flat_map(|weights| Method::ALL.map(|method| (weights, method)))
    {
        let problem = limited(weights);
        let outputs = ReferenceBackend.scan(method, &sound(&problem)).expect("a scan");
        assert_eq!(judged(&file(&problem, method, &outputs), None).verdict, Verdict::Pass, "{method}");
        for &at in &problem.judged_channels {
            for tally in quick::judge((method, &Contract::FRAMEWORK), &problem, at, &outputs).values() {
                assert!(
                    tally.passed == tally.elements() && tally.share < 0.5,
                    "{method} {weights}: {tally:?}"
                );
            }
        }
        let free = Problem { conventions: Conventions::default(), ..problem.clone() };
        assert_eq!(judged(&file(&free, method, &outputs), None).verdict, Verdict::Fail, "{method}");
        let unclamped = ReferenceBackend.scan(method, &plain(&problem, |_, x| softplus(x))).expect("a scan");
        assert_eq!(judged(&file(&problem, method, &unclamped), None).verdict, Verdict::Fail, "{method}");
        assert_eq!(judged(&file(&free, method, &unclamped), None).verdict, Verdict::Pass, "{method}");
    }
}

/// Those of the plain problem, with the slope of the step by f32's softplus, and where it is clamped by none.
fn gradients(problem: &Problem, given: &OutputGradients, method: Method) -> [Gradients<f32>; 2] {
    let sound = sound(problem);
    let of_steps = ReferenceBackend.gradients(method, &sound, given).expect("known").expect("a pass");
    let free = plain(problem, |_, x| x).delta;
    [true, false].map(|is_clamped| {
        let mut all = of_steps.clone();
        let by_step = &of_steps[GradientName::Delta].values;
        let slope = |(&by, &x): (&f32, &f32)| {
            let is_within = !is_clamped || clamped(problem, softplus(x)) == softplus(x);
            if is_within { by * (x.exp() / (1.0 + x.exp())) } else { 0.0 }
        };
        let of_delta: Vec<f32> = by_step.iter().zip(&free).map(slope).collect();
        let Shape { dim, seqlen, .. } = problem.shape;
        let mut of_bias = vec![0.0; dim];
        of_delta.iter().enumerate().for_each(|(i, by)| of_bias[i / seqlen % dim] += by);
        for (name, values) in [(GradientName::Delta, of_delta), (GradientName::DeltaBias, of_bias)] {
            all.insert(name, problem.gradient(name, values));
        }
        all
    })
}

#[test]
fn gradients_of_clamped_steps_are_zero() {
    for (weights, method) in
        Weights::ALL.into_iter().flat_map(|weights| Method::ALL.map(|method| (weights, method)))
    {
        let problem = limited(weights);
        let mut draw = Draw::new(4, "limits/dout");
        let dout = (0..problem.u.len()).map(|_| draw.normal() as f32).collect();
        let given = OutputGradients { dout, dlast_state: None };
        let [right, unclamped] = gradients(&problem, &given, method);
        let verdicts = |gradients: &Gradients<f32>| {
            let file = backward::recorded((&problem, &given), method.name(), gradients, ComplexAs::Trailing);
            of_gradients(&file.recording(), None)
        };
        for (name, tensor) in verdicts(&right).iter() {
            assert_eq!(tensor.verdict, Verdict::Pass, "{method} {weights} {name}: {tensor:?}");
        }
        for (name, tensor) in verdicts(&unclamped).iter() {
            let of_step = [GradientName::Delta, GradientName::DeltaBias].contains(&name);
            assert_eq!(tensor.verdict == Verdict::Fail, of_step, "{method} {weights} {name}: {tensor:?}");
        }
    }
}

/// An ulp of f32 decides on which side a step is: a kernel's may be on either, and nowhere else.
#[test]
fn a_step_beside_its_limit_may_be_on_either_side() {
    let drawn = limited(Weights::Real);
    let given = OutputGradients { dout: vec![1.0; drawn.u.len()], dlast_state: None };
    let step = f64::from(plain(&drawn, |_, x| softplus(x)).delta[0]);
    for (high, expected) in
        [(step, [true, true]), (step * (1.0 - 1e-5), [true, false]), (step * (1.0 + 1e-5), [false, true])]
    {
        let limit = StepLimit::new(0.0, high).expect("two limits");
        let problem =
            Problem { conventions: Conventions { limit, ..Conventions::default() }, ..drawn.clone() };
        let right = backward::rounded(&problem, &given, Method::Zoh);
        let [_, free] = gradients(&problem, &given, Method::Zoh);
        let passes = [0.0, free[GradientName::Delta].values[0]].map(|value| {
            let mut gradients = right.clone();
            gradients[GradientName::Delta].values[0] = value;
            let file = backward::recorded((&problem, &given), "zoh", &gradients, ComplexAs::Trailing);
            of_gradients(&file.recording(), None)[GradientName::Delta].verdict == Verdict::Pass
        });
        assert_eq!(passes, expected, "{high} beside {step}");
    }
}

#[test]
fn a_fault_beside_a_limit_is_named() {
    let problem = limited(Weights::Real);
    let without_bias = Problem { delta_bias: Some(vec![0.0; problem.shape.dim]), ..problem.clone() };
    let outputs = ReferenceBackend.scan(Method::Foh, &sound(&without_bias)).expect("a scan");
    let case = judged(&file(&problem, Method::Foh, &outputs), Some("bias-missing"));
    assert_eq!((case.verdict, &*case.diagnosis[0].name), (Verdict::Fail, "bias-missing"));
}

#[test]
fn no_kernel_of_this_repository_takes_a_limit() {
    let problem = limited(Weights::Real);
    for backend in [&CpuBackend::new() as &dyn Backend, &ReferenceBackend] {
        let error = backend.scan(Method::Zoh, &problem).expect_err("refused").to_string();
        assert!(error.contains(&format!("dt_limit = {}", problem.conventions.limit)), "{error}");
    }
}
