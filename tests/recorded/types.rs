//! Promise: each tensor of a recording may be of a type of its own, and is judged by the rounding to that.

use half::bf16;
use holdfast::check::{Checked, Options, check};
use holdfast::judge::diagnose::Budget;
use holdfast::judge::quick;
use holdfast::kernel::{Backend, CpuBackend, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::InputType::{self, Bf16, F16, F32};
use holdfast::problem::conventions::{Conventions, Types};
use holdfast::problem::inputs::{self, Draw};
use holdfast::problem::regime::{self, Recipe};
use holdfast::problem::{Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::promise::Contract;
use holdfast::results::Verdict;
use holdfast::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use holdfast::tensor::TensorName::{LastState, Out};
use holdfast::tensor::{ComputedName, Gradients, Tensors};

use crate::backward;
use crate::searched::of_gradients;
use crate::written::{ComplexAs, File};

/// No two neighbours alike.
fn mixed() -> Types {
    let mut types = Types::default();
    let inputs =
        [(U, Bf16), (Delta, F32), (A, Bf16), (B, F16), (C, Bf16), (D, F16), (Z, F16), (DeltaBias, Bf16)];
    inputs.into_iter().for_each(|(input, stored)| types.set(input, stored));
    types.set(InitialState, F16);
    types.set(Out, F16);
    types.set(LastState, Bf16);
    types
}

/// Everything on, with numbers that these types have.
fn problem(weights: Weights, operands: (Operand, Operand), types: Types) -> Problem {
    let shape = Shape { batch: 2, dim: 2, dstate: 3, seqlen: 24, groups: 1 };
    let recipe = Recipe { shape, ..regime::EVERYTHING };
    let mut p = inputs::draw(&recipe, weights, F32, operands, &mut Draw::new(3, "types"));
    let states = shape.batch * shape.dim * shape.dstate * weights.width();
    let mut draw = Draw::new(4, "types/initial");
    p.initial_state = Some((0..states).map(|_| draw.normal() as f32).collect());
    p.judged_channels = p.channels().collect();
    p.conventions.types = types;
    let of = |name: GradientName| p.stored(name);
    let stored = [U, Delta, A, B, C].map(of);
    let optional = [D, Z, DeltaBias, InitialState].map(of);
    for (values, stored) in [&mut p.u, &mut p.delta, &mut p.a, &mut p.b, &mut p.c].into_iter().zip(stored) {
        values.iter_mut().for_each(|value| *value = stored.round(*value));
    }
    let all = [&mut p.d, &mut p.z, &mut p.delta_bias, &mut p.initial_state];
    for (values, stored) in all.into_iter().zip(optional) {
        values.iter_mut().flatten().for_each(|value| *value = stored.round(*value));
    }
    p
}

/// In f32, before anything is stored.
fn computed(problem: &Problem) -> Problem {
    Problem { conventions: Conventions::default(), ..problem.clone() }
}

fn scanned(problem: &Problem, method: Method) -> Tensors<f32> {
    ReferenceBackend.scan(method, &computed(problem)).expect("a scan")
}

fn file(problem: &Problem, method: Method, outputs: &Tensors<f32>) -> File {
    let mut file = File::of(problem, ComplexAs::Trailing);
    let [out, last] = [Out, LastState].map(|name| {
        let stored = problem.stored(name);
        outputs[name].values.iter().map(|value| stored.round(*value)).collect::<Vec<f32>>()
    });
    file.add_output(problem, method.name(), &out, Some(&last), ComplexAs::Trailing);
    file
}

fn judged(file: &File) -> Checked {
    let options = Options { diagnosis: Budget::Off, ..Options::EVERYTHING };
    check("run", "run", &file.recording(), &options, &|| {}).expect("fits")
}

fn verdict(file: &File) -> Verdict {
    judged(file).cases[0].verdict
}

const VARIABLE: (Operand, Operand) = (Operand::Variable, Operand::Variable);
const EVERY: [(Operand, Operand); 2] = [VARIABLE, (Operand::Constant, Operand::Constant)];

#[test]
fn every_tensor_is_judged_by_its_own_type() {
    for (weights, operands) in
        Weights::ALL.into_iter().flat_map(|weights| EVERY.map(|operands| (weights, operands)))
    {
        let problem = problem(weights, operands, mixed());
        for method in Method::ALL {
            let outputs = scanned(&problem, method);
            let right = file(&problem, method, &outputs);
            let checked = judged(&right);
            assert_eq!(
                checked.cases[0].verdict,
                Verdict::Pass,
                "{method} {weights}: {:?}",
                checked.cases[0].worst
            );
            let says = "; delta is in f32";
            assert!(checked.note.why.contains(says) && checked.note.why.contains("; last_state is in bf16"));
            let recording = right.recording();
            let read = recording.read(&[0, 1, 2, 3]).expect("readable");
            let tensors = &read.outputs[0].tensors;
            for &at in &problem.judged_channels {
                for (name, tally) in
                    quick::judge((method, &Contract::FRAMEWORK), &problem, at, tensors).iter()
                {
                    assert_eq!(tally.passed, tally.elements(), "{method} {weights} {name}: {tally:?}");
                }
            }
            // A state that is cut off where it should be rounded, and an output of it in fewer bits than it is stored in.
            let cut = |value: f32| bf16::from_bits((value.to_bits() >> 16) as u16).to_f32();
            for (name, spoilt) in [(LastState, cut as fn(f32) -> f32), (Out, |value| Bf16.round(value))] {
                let mut outputs = outputs.clone();
                outputs[name].values.iter_mut().for_each(|value| *value = spoilt(*value));
                assert_eq!(
                    verdict(&file(&problem, method, &outputs)),
                    Verdict::Fail,
                    "{method} {weights} {name}"
                );
            }
        }
    }
}

/// The scan of other numbers than are recorded fails, whichever tensor it is that was rounded on the way to the file.
#[test]
fn a_scan_of_inputs_that_were_not_rounded_fails() {
    for (name, stored) in
        [(U, Bf16), (Delta, Bf16), (A, Bf16), (B, F16), (C, F16), (D, F16), (InitialState, Bf16)]
    {
        let mut types = Types::default();
        types.set(name, stored);
        let (rounded, whole) =
            (problem(Weights::Real, VARIABLE, types), problem(Weights::Real, VARIABLE, Types::default()));
        let right = scanned(&rounded, Method::Zoh);
        assert_eq!(verdict(&file(&rounded, Method::Zoh, &right)), Verdict::Pass, "{name}");
        assert_eq!(
            verdict(&file(&rounded, Method::Zoh, &scanned(&whole, Method::Zoh))),
            Verdict::Fail,
            "{name}"
        );
        assert_eq!(verdict(&file(&whole, Method::Zoh, &right)), Verdict::Fail, "{name}");
    }
}

/// As VMamba has them.
#[test]
fn outputs_may_be_wider_than_inputs() {
    let mut types = Types::default();
    types.set(Out, F32);
    let mut problem = problem(Weights::Real, VARIABLE, Types::default());
    (problem.input, problem.conventions.types) = (Bf16, types);
    for values in
        [&mut problem.u, &mut problem.delta, &mut problem.b, &mut problem.c].into_iter().chain(&mut problem.z)
    {
        values.iter_mut().for_each(|value| *value = Bf16.round(*value));
    }
    let mut in_f32 = problem.clone();
    in_f32.input = F32;
    let outputs = scanned(&in_f32, Method::Zoh);
    assert_eq!(verdict(&file(&problem, Method::Zoh, &outputs)), Verdict::Pass);
    let mut narrow = outputs.clone();
    narrow[Out].values.iter_mut().for_each(|value| *value = Bf16.round(*value));
    let checked = judged(&file(&problem, Method::Zoh, &narrow));
    assert_eq!(checked.cases[0].verdict, Verdict::Fail);
    let says =
        "(hint: every output is f32 but holds values of bf16 only: the metadata input_type = bf16 says so";
    assert!(checked.note.why.contains(says), "{}", checked.note.why);
}

#[test]
fn a_gradient_is_of_the_type_of_its_input() {
    for (weights, operands) in
        Weights::ALL.into_iter().flat_map(|weights| EVERY.map(|operands| (weights, operands)))
    {
        let mut problem = problem(weights, operands, mixed());
        problem.initial_state = None;
        let mut draw = Draw::new(5, "types/dout");
        let dout = (0..problem.u.len()).map(|_| Bf16.round(draw.normal() as f32)).collect();
        let given = OutputGradients { dout, dlast_state: None };
        let passed = |gradients: &Gradients<f32>| {
            let file = backward::recorded((&problem, &given), "foh", gradients, ComplexAs::Trailing);
            let judged = of_gradients(&file.recording(), None);
            judged.iter().map(|(name, tensor)| (name, tensor.verdict == Verdict::Pass)).collect::<Vec<_>>()
        };
        let found = ReferenceBackend.gradients(Method::Foh, &computed(&problem), &given);
        let found = found.expect("known").expect("a pass");
        let stored = |name: GradientName| -> InputType { problem.stored(ComputedName::from(name)) };
        let rounded = found.map(|name, tensor| {
            tensor.with(tensor.values.iter().map(|value| stored(name).round(*value)).collect())
        });
        for (name, passed) in passed(&rounded) {
            assert!(passed, "{weights} {operands:?} {name}");
        }
        // Rounded to bf16, what is stored in more bits fails.
        let narrow = found
            .map(|_, tensor| tensor.with(tensor.values.iter().map(|value| Bf16.round(*value)).collect()));
        for (name, passed) in passed(&narrow) {
            assert_eq!(passed, stored(name) == Bf16, "{weights} {operands:?} {name}");
        }
    }
}

#[test]
fn no_kernel_of_this_repository_takes_other_types() {
    let problem = Problem { initial_state: None, ..problem(Weights::Real, VARIABLE, mixed()) };
    let error = CpuBackend::new().scan(Method::Zoh, &problem).expect_err("refused").to_string();
    assert!(error.contains("u in bf16"), "{error}");
}
