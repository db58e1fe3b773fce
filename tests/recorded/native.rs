//! Promise: limits of the step and a type for each tensor, as a recording states them, are what it is judged by.

use holdfast::judge::quick;
use holdfast::kernel::{Backend, CpuBackend, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::InputType::{self, Bf16, F16, F32};
use holdfast::problem::conventions::{Conventions, StepLimit, Types};
use holdfast::problem::inputs::Draw;
use holdfast::problem::regime;
use holdfast::problem::{Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::promise::Contract;
use holdfast::results::Verdict;
use holdfast::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use holdfast::tensor::TensorName::{LastState, Out};
use holdfast::tensor::{Gradients, Tensor, Tensors};
use safetensors::Dtype;

use crate::backward;
use crate::searched::{asking, of_gradients};
use crate::written::{self, ComplexAs, File, tensor};

/// Everything on, stored in these types.
fn drawn(weights: Weights, operand: Operand, types: Types) -> Problem {
    let shape = Shape { batch: 2, dim: 2, dstate: 3, seqlen: 24, groups: 1 };
    let mut p = written::drawn(regime::EVERYTHING, shape, (weights, F32), (operand, operand), (3, "native"));
    p.conventions.types = types;
    p.with_inputs(|name, values| values.iter().map(|value| p.stored_input(name).round(*value)).collect())
}

/// Problem of steps made in f32 of delta + bias.
fn plain(problem: &Problem, step: impl Fn(f32) -> f32) -> Problem {
    let bias = problem.delta_bias.as_ref().expect("everything is on");
    let Shape { dim, seqlen, .. } = problem.shape;
    let steps = problem.delta.iter().enumerate().map(|(i, delta)| step(delta + bias[i / seqlen % dim]));
    Problem {
        delta: steps.collect(),
        delta_bias: None,
        delta_softplus: false,
        input: F32,
        conventions: Conventions::default(),
        ..problem.clone()
    }
}

fn softplus(x: f32) -> f32 {
    if x <= 20.0 { x.exp().ln_1p() } else { x }
}

fn clamped(problem: &Problem, step: f32) -> f32 {
    let [low, high] = problem.conventions.limit.ends();
    step.clamp(low, high)
}

fn scanned(problem: &Problem, method: Method) -> Tensors<f32> {
    let of_steps = plain(problem, |x| clamped(problem, softplus(x)));
    ReferenceBackend.scan(method, &of_steps).expect("a scan")
}

/// Outputs as the problem stores them.
fn file(problem: &Problem, method: Method, outputs: &Tensors<f32>) -> File {
    let [out, last] = [Out, LastState].map(|name| {
        let stored = problem.stored(name);
        outputs[name].values.iter().map(|value| stored.round(*value)).collect::<Vec<f32>>()
    });
    File::of_output(problem, method.name(), &out, Some(&last))
}

fn passes(problem: &Problem, method: Method, outputs: &Tensors<f32>) -> bool {
    file(problem, method, outputs).verdict() == Verdict::Pass
}

/// Whether the quick route passes all of it within this share of the bounds.
fn quickly_passes(problem: &Problem, method: Method, outputs: &Tensors<f32>, share: f64) -> bool {
    problem.judged_channels.iter().all(|&at| {
        let tallies = quick::judge((method, &Contract::FRAMEWORK), problem, at, outputs);
        tallies.values().all(|tally| tally.passed == tally.elements() && tally.share <= share)
    })
}

/// Constant and variable B and C in turn.
fn every() -> impl Iterator<Item = (Weights, Operand, Method)> {
    let all = Weights::ALL.into_iter().flat_map(|weights| Method::ALL.map(|method| (weights, method)));
    all.zip(Operand::ALL.into_iter().cycle()).map(|((weights, method), operand)| (weights, operand, method))
}

/// Those of three methods, one of which goes both ways: gradients take longer.
fn some() -> impl Iterator<Item = (Weights, Operand, Method)> {
    every().filter(|(_, _, method)| [Method::Zoh, Method::Foh, Method::Poly].contains(method))
}

/// Limits beyond which a quarter of the steps is at either end.
fn limited(weights: Weights, operand: Operand) -> Problem {
    let problem = drawn(weights, operand, Types::default());
    let mut steps = plain(&problem, softplus).delta;
    steps.sort_by(f32::total_cmp);
    with_limit(&problem, [1, 3].map(|quarter| f64::from(steps[quarter * steps.len() / 4])))
}

fn with_limit(problem: &Problem, [low, high]: [f64; 2]) -> Problem {
    let limit = StepLimit::new(low, high).expect("two limits");
    Problem { conventions: Conventions { limit, ..problem.conventions }, ..problem.clone() }
}

#[test]
fn a_scan_that_clamps_its_steps_passes_where_it_says_so_and_nowhere_else() {
    for (weights, operand, method) in every() {
        let problem = limited(weights, operand);
        let free = Problem { conventions: Conventions::default(), ..problem.clone() };
        let [right, unclamped] = [&problem, &free].map(|problem| scanned(problem, method));
        assert!(quickly_passes(&problem, method, &right, 0.5), "{method} {weights}");
        let found = [(&problem, &right), (&free, &unclamped), (&free, &right), (&problem, &unclamped)];
        let found = found.map(|(problem, outputs)| passes(problem, method, outputs));
        assert_eq!(found, [true, true, false, false], "{method} {weights} {operand}");
        let worst = file(&problem, method, &unclamped).judged().worst.expect("it fails");
        assert!(worst.inputs[0].starts_with("clamped softplus(delta + delta_bias) = "), "{:?}", worst.inputs);
    }
}

/// Gradients of the plain problem, with the slope of the step by f32's softplus, and where it is clamped by none.
fn gradients(problem: &Problem, given: &OutputGradients, method: Method) -> [Gradients<f32>; 2] {
    let of_steps = plain(problem, |x| clamped(problem, softplus(x)));
    let of_steps = ReferenceBackend.gradients(method, &of_steps, given).expect("known").expect("a pass");
    let biased = plain(problem, |x| x).delta;
    [true, false].map(|is_clamped| {
        let slope = |(by, &x): (&f32, &f32)| {
            let is_within = !is_clamped || clamped(problem, softplus(x)) == softplus(x);
            if is_within { by * (x.exp() / (1.0 + x.exp())) } else { 0.0 }
        };
        let of_delta: Vec<f32> = of_steps[Delta].values.iter().zip(&biased).map(slope).collect();
        let Shape { dim, seqlen, .. } = problem.shape;
        let mut of_bias = vec![0.0; dim];
        of_delta.iter().enumerate().for_each(|(i, by)| of_bias[i / seqlen % dim] += by);
        let mut all = of_steps.clone();
        all.insert(Delta, problem.gradient(Delta, of_delta));
        all.insert(DeltaBias, problem.gradient(DeltaBias, of_bias));
        all
    })
}

/// Names of gradients that fail.
fn failing(
    problem: &Problem,
    given: &OutputGradients,
    method: Method,
    all: &Gradients<f32>,
) -> Vec<GradientName> {
    let stored = all.map(|name, tensor| {
        let stored = problem.stored(name);
        tensor.with(tensor.values.iter().map(|value| stored.round(*value)).collect())
    });
    let file = backward::recorded((problem, given), method.name(), &stored, ComplexAs::Trailing);
    // Verdicts are asked for: a name that no cause has is looked for in no time.
    let judged = of_gradients(&file.recording(), Some("none"));
    judged.iter().filter(|(_, tensor)| tensor.verdict == Verdict::Fail).map(|(name, _)| name).collect()
}

fn given(problem: &Problem) -> OutputGradients {
    let mut draw = Draw::new(4, "native/dout");
    OutputGradients {
        dout: problem.u.iter().map(|_| Bf16.round(draw.normal() as f32)).collect(),
        dlast_state: None,
    }
}

#[test]
fn gradients_of_clamped_steps_are_zero() {
    for (weights, operand, method) in some() {
        let problem = limited(weights, operand);
        let given = given(&problem);
        let failing = gradients(&problem, &given, method).map(|all| failing(&problem, &given, method, &all));
        assert_eq!(failing, [vec![], vec![Delta, DeltaBias]], "{method} {weights} {operand}");
    }
}

/// An ulp of f32 decides on which side a step is: a kernel's may be on either, and nowhere else.
#[test]
fn a_step_beside_its_limit_may_be_on_either_side() {
    let problem = drawn(Weights::Real, Operand::Variable, Types::default());
    let (given, method) = (given(&problem), Method::Zoh);
    let step = f64::from(plain(&problem, softplus).delta[0]);
    for (off, expected) in [(0.0, [true, true]), (-1e-5, [true, false]), (1e-5, [false, true])] {
        let problem = with_limit(&problem, [0.0, step * (1.0 + off)]);
        let [_, free] = gradients(&problem, &given, method);
        let passes = [0.0, free[Delta].values[0]].map(|value| {
            let mut all = backward::rounded(&problem, &given, method);
            all[Delta].values[0] = value;
            failing(&problem, &given, method, &all).is_empty()
        });
        assert_eq!(passes, expected, "{off}");
    }
}

#[test]
fn a_fault_beside_a_limit_is_named() {
    let problem = limited(Weights::Real, Operand::Variable);
    let without_bias = Problem { delta_bias: Some(vec![0.0; problem.shape.dim]), ..problem.clone() };
    let outputs = scanned(&without_bias, Method::Foh);
    let case = file(&problem, Method::Foh, &outputs).judged_by(&asking("bias-missing"));
    assert_eq!((case.verdict, &*case.diagnosis[0].name), (Verdict::Fail, "bias-missing"));
}

fn types<const N: usize>(inputs: [(GradientName, InputType); N]) -> Types {
    let mut types = Types::default();
    inputs.into_iter().for_each(|(input, stored)| types.set_input(input, stored));
    types
}

/// No two neighbours alike.
fn mixed() -> Types {
    let inputs = [(U, Bf16), (A, Bf16), (B, F16), (C, Bf16), (D, F16), (Z, F16), (DeltaBias, Bf16)];
    let mut mixed = types(inputs);
    mixed.set(Out, F16);
    mixed.set(LastState, Bf16);
    mixed
}

#[test]
fn every_tensor_is_judged_by_its_own_type() {
    for (weights, operand, method) in every() {
        let problem = drawn(weights, operand, mixed());
        let outputs = scanned(&problem, method);
        let right = file(&problem, method, &outputs);
        let why = right.checked().note.why;
        assert!(why.contains("; delta is in f32") && why.contains("; last_state is in bf16"), "{why}");
        assert!(passes(&problem, method, &outputs), "{method} {weights} {operand}");
        let read = right.recording().read(&[0, 1, 2, 3]).expect("readable");
        assert!(quickly_passes(&problem, method, &read.outputs[0].tensors, 1.0), "{method} {weights}");
        // A state that is cut off where it should be rounded, and an output in fewer bits than it is stored in.
        let cut = |value: f32| f32::from_bits(value.to_bits() >> 16 << 16);
        for (name, spoilt) in [(LastState, cut as fn(f32) -> f32), (Out, |value| Bf16.round(value))] {
            let mut outputs = outputs.clone();
            outputs[name].values.iter_mut().for_each(|value| *value = spoilt(*value));
            assert!(!passes(&problem, method, &outputs), "{method} {weights} {operand} {name}");
        }
    }
}

#[test]
fn a_scan_of_inputs_that_were_not_rounded_fails() {
    let whole = drawn(Weights::Real, Operand::Variable, Types::default());
    for input in [U, Delta, A, B, C, D, Z, DeltaBias] {
        let rounded = drawn(Weights::Real, Operand::Variable, types([(input, Bf16)]));
        let [right, wrong] = [&rounded, &whole].map(|problem| scanned(problem, Method::Zoh));
        let found = [(&rounded, &right), (&rounded, &wrong), (&whole, &right)];
        let found = found.map(|(problem, outputs)| passes(problem, Method::Zoh, outputs));
        assert_eq!(found, [true, false, false], "{input}");
    }
}

/// A state to start from, of 16 bits; and as VMamba has them, outputs in f32 of inputs in 16 bits.
#[test]
fn outputs_may_be_wider_than_inputs() {
    let mut wide = types([(U, Bf16), (Delta, Bf16), (B, Bf16), (C, Bf16), (Z, Bf16), (InitialState, F16)]);
    wide.set(Out, F32);
    let mut problem = drawn(Weights::Real, Operand::Variable, wide);
    problem.initial_state = Some((0..12).map(|i| F16.round(i as f32 * 0.3 - 1.7)).collect());
    let mut outputs = scanned(&problem, Method::Zoh);
    assert!(passes(&problem, Method::Zoh, &outputs));
    outputs[Out].values.iter_mut().for_each(|value| *value = Bf16.round(*value));
    let checked = file(&problem, Method::Zoh, &outputs).checked();
    assert_eq!(checked.cases[0].verdict, Verdict::Fail);
    let says =
        "(hint: every output is f32 but holds values of bf16 only: the metadata input_type = bf16 says so";
    assert!(checked.note.why.contains(says), "{}", checked.note.why);
}

#[test]
fn a_gradient_is_of_the_type_of_its_input() {
    for (weights, operand, method) in some() {
        let problem = drawn(weights, operand, mixed());
        let given = given(&problem);
        let [_, found] = gradients(&problem, &given, method);
        assert_eq!(failing(&problem, &given, method, &found), [], "{method} {weights} {operand}");
        // Only those stored in more bits; D's are so few that they may be near bf16's.
        let narrow =
            found.map(|_, tensor| tensor.with(tensor.values.iter().map(|x| Bf16.round(*x)).collect()));
        let mut failing = failing(&problem, &given, method, &narrow);
        failing.retain(|name| *name != D);
        assert_eq!(failing, [Delta, B, Z], "{method} {weights} {operand}");
    }
}

/// Stored in f32 of an input in 16 bits. What was computed is no part of the inputs.
#[test]
fn a_gradient_may_be_wider_than_its_input() {
    let problem = drawn(Weights::Real, Operand::Variable, mixed());
    let given = given(&problem);
    let [_, found] = gradients(&problem, &given, Method::Zoh);
    let mut file = backward::recorded((&problem, &given), "zoh", &found, ComplexAs::Trailing);
    let fingerprint = |file: &File| file.recording().overview().expect("a run").fingerprint;
    let before = fingerprint(&file);
    for (rounded, verdict) in [(false, Verdict::Pass), (true, Verdict::Fail)] {
        let values = found[U].values.iter().map(|x| if rounded { Bf16.round(*x) } else { *x });
        let Tensor { shape, .. } = &found[U];
        file.set("grad.u.zoh", tensor(Dtype::F32, shape, &values.collect::<Vec<f32>>()));
        assert_eq!(of_gradients(&file.recording(), None)[U].verdict, verdict);
        assert!(file.checked().note.why.contains("; grad.u is in f32"));
        assert_eq!(fingerprint(&file), before);
    }
}

#[test]
fn no_kernel_of_this_repository_takes_either() {
    let mut problem = limited(Weights::Real, Operand::Variable);
    problem.conventions.types = mixed();
    for backend in [&CpuBackend::new() as &dyn Backend, &ReferenceBackend] {
        let error = backend.scan(Method::Zoh, &problem).expect_err("refused").to_string();
        assert!(error.contains(&format!("dt_limit = {}, u in bf16", problem.conventions.limit)), "{error}");
    }
}
