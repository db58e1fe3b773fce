//! Promise: the judge's own source for GPUs has the numbers of the Rust judge, bit by bit, and a device that has others ends
//! the run. On the CPU in the place of a GPU; `tests/cuda/gpu.rs` and `.ci/gpu` have the same on a GPU.

use std::io::Cursor;

use holdfast::check::on_device::{DeviceJudge, DeviceJudgeError};
use holdfast::check::{self, Options};
use holdfast::formula::Form;
use holdfast::judge::budget::{self, Bounds};
use holdfast::judge::diagnose::Budget;
use holdfast::judge::quick;
use holdfast::kernel::launch::DeviceError;
use holdfast::problem::conventions::{ComplexOutput, Direction, Reads, StateHolds};
use holdfast::problem::inputs::Draw;
use holdfast::problem::plan::{self, Filter};
use holdfast::problem::recorded::Recording;
use holdfast::problem::regime;
use holdfast::problem::{Conventions, InputType, Operand, Problem, Shape, Stages, Weights};
use holdfast::promise::{Contract, Promise};
use holdfast::tensor::{TensorName, Tensors};

use crate::searched::asking;
use crate::support::faulty_device::FaultyDevice;
use crate::written::{self, ComplexAs, File};

fn drawn(shape: Shape, weights: Weights, input: InputType, operands: (Operand, Operand)) -> Problem {
    written::drawn(regime::EVERYTHING, shape, (weights, input), operands, (1, "recorded/on_device"))
}

/// What a kernel might return: within the bounds, or most of it, some beyond, and some that is no number.
fn outputs(form: Form, problem: &Problem, sound: bool) -> Tensors<f32> {
    let budget = budget::scan(form, problem, &Contract::FRAMEWORK);
    let tensor = |(name, bounds): (TensorName, &Bounds)| {
        let width = bounds.value.len() / bounds.bound.len();
        let value = |(i, value): (usize, &f64)| {
            let share = [0.0, 0.3, -0.9, 0.05, 0.6][i % 5];
            let off = match if sound { 0 } else { i % 149 } {
                148 => f64::NAN,
                147 => f64::INFINITY,
                146 => -1.2,
                145 => 1.0,
                _ => share,
            };
            let bound = bounds.bound[i / width];
            (if bound.is_finite() { value + off * bound } else { *value }) as f32
        };
        (name, problem.tensor(name, bounds.value.iter().enumerate().map(value).collect()))
    };
    budget.tensors.iter().map(tensor).collect()
}

fn recorded(problem: &Problem, forms: &[Form]) -> Recording<Cursor<Vec<u8>>> {
    recorded_as(problem, forms, false)
}

fn recorded_as(problem: &Problem, forms: &[Form], sound: bool) -> Recording<Cursor<Vec<u8>>> {
    file(problem, forms, sound).recording()
}

fn file(problem: &Problem, forms: &[Form], sound: bool) -> File {
    let mut file = File::of(problem, ComplexAs::Interleaved);
    for form in forms {
        let outputs = outputs(*form, problem, sound);
        let round = |values: &[f32], element: InputType| -> Vec<f32> {
            values.iter().map(|value| element.round(*value)).collect()
        };
        let out = round(&outputs[TensorName::Out].values, problem.input);
        let last = &outputs[TensorName::LastState].values[..];
        file.add_output(problem, form.name(), &out, Some(last), ComplexAs::Interleaved);
    }
    file
}

/// Compares every number of every channel; how many elements, and how many of them passed.
fn compare(
    recording: &Recording<Cursor<Vec<u8>>>,
    contract: &Contract,
    judge: &mut DeviceJudge,
) -> [usize; 2] {
    let dim = recording.layout().shape.dim;
    let tries = judge.first_tries(recording, contract).expect("it runs");
    let mut counted = [0, 0];
    for ((name, tensors), tries) in recording.layout().outputs.iter().zip(tries) {
        assert_eq!(tries.len(), recording.layout().shape.batch * dim);
        for (row, (found, found_z)) in tries.iter().enumerate() {
            let at = (row / dim, row % dim);
            let got = |tensor, elements| recording.outputs(tensors, tensor, at, elements);
            let (expected, expected_z) =
                quick::first_try((name.form, contract), recording, at, &got).expect("readable");
            for (tensor, found, expected) in found.zip(&expected) {
                let place = format!("{name} {tensor} {at:?}");
                assert_eq!(found.difference(expected), None, "{place}\n{found:?}\n{expected:?}");
                counted[0] += found.elements();
                counted[1] += found.passed;
            }
            assert_eq!(found_z.to_bits(), expected_z.to_bits(), "{name} {at:?}");
            assert_eq!(found.iter().count(), tensors.iter().count());
        }
    }
    counted
}

fn all_forms() -> Vec<Form> {
    Form::all().collect()
}

#[test]
fn every_form_weight_type_and_layout_has_equal_numbers() {
    let shape = Shape { batch: 2, dim: 4, dstate: 11, seqlen: 37, groups: 2 };
    for weights in Weights::ALL {
        for input in InputType::ALL {
            for b in Operand::ALL {
                for c in Operand::ALL {
                    let recording = recorded(&drawn(shape, weights, input, (b, c)), &all_forms());
                    let [elements, passed] =
                        compare(&recording, &Contract::FRAMEWORK, &mut DeviceJudge::stand_in());
                    assert_eq!(elements, 8 * (37 + 11 * weights.width()) * Form::COUNT);
                    assert!(passed > elements / 2 && passed < elements, "{passed} of {elements}");
                }
            }
        }
    }
}

#[test]
fn every_number_of_states_has_equal_numbers() {
    for weights in Weights::ALL {
        for dstate in [1, 7, 8, 9, 16, 17, 100, 256] {
            let shape = Shape { batch: 1, dim: 3, dstate, seqlen: 9, groups: 3 };
            let problem = drawn(shape, weights, InputType::F32, (Operand::Variable, Operand::Constant));
            let recording = recorded(&problem, &all_forms());
            compare(&recording, &Contract::FRAMEWORK, &mut DeviceJudge::stand_in());
        }
    }
}

/// Every regime with each type of weights and of inputs, or one in so many of them.
fn regimes_have_equal_numbers(one_in: usize) {
    let mut specs = plan::plan(&Filter::default());
    let mut seen = std::collections::BTreeSet::new();
    specs.retain(|spec| seen.insert((spec.regime.name.clone(), spec.weights, spec.input)));
    let of = |spec: &plan::Spec| {
        let mut problem = spec.draw(1);
        if problem.shape.sequence_len() * problem.shape.dstate > 2_000 {
            return 0;
        }
        problem.judged_channels = problem.channels().collect();
        let recording = recorded(&problem, &all_forms());
        compare(&recording, &Contract::FRAMEWORK, &mut DeviceJudge::stand_in())[0]
    };
    // One at a time: the device is told what all threads read.
    let elements: usize = specs.iter().step_by(one_in).map(of).sum();
    println!("{elements} elements");
    assert!(elements > 100_000 / one_in, "{elements}");
}

#[test]
fn one_regime_in_four_has_equal_numbers() {
    regimes_have_equal_numbers(4);
}

#[test]
#[ignore = "`cargo test` tries one in four: .ci/long"]
fn every_regime_has_equal_numbers() {
    regimes_have_equal_numbers(1);
}

#[test]
fn every_convention_and_arithmetic_has_equal_numbers() {
    let shape = Shape { batch: 2, dim: 2, dstate: 10, seqlen: 20, groups: 1 };
    let stages =
        ["f32", "bf16", "f16", "delta=bf16", "du=f16", "state=bf16", "y=f16", "gate=bf16", "softplus=naive"];
    for weights in Weights::ALL {
        let drawn = drawn(shape, weights, InputType::F32, (Operand::Constant, Operand::Variable));
        for (reads, direction) in Reads::ALL.into_iter().zip(Direction::ALL) {
            for state in StateHolds::ALL {
                for output in ComplexOutput::ALL {
                    if weights == Weights::Real && output == ComplexOutput::RealPart {
                        continue;
                    }
                    let states = 2 * 2 * 10 * weights.width();
                    let initial = (0..states).map(|i| ((i * 37 % 17) as f32 - 8.0) / 4.0).collect();
                    let problem = Problem {
                        conventions: Conventions {
                            reads,
                            state,
                            output,
                            direction,
                            ..Conventions::default()
                        },
                        initial_state: Some(initial),
                        ..drawn.clone()
                    };
                    let recording = recorded(&problem, &all_forms());
                    for stages in stages {
                        let stages: Stages = stages.parse().expect("an arithmetic");
                        let contract = Promise::recorded(stages).contract;
                        compare(&recording, &contract, &mut DeviceJudge::stand_in());
                    }
                }
            }
        }
    }
}

/// What a device does not know is the CPU's, and the note says so.
#[test]
fn a_scan_in_log_space_is_judged_on_the_cpu() {
    let shape = Shape { batch: 1, dim: 2, dstate: 3, seqlen: 20, groups: 1 };
    let problem = drawn(shape, Weights::Real, InputType::F32, (Operand::Constant, Operand::Variable));
    let recording = recorded(&problem, &all_forms());
    let stages = Some("scan=log-space".parse().expect("an arithmetic"));
    let options = Options { stages, ..Options::EVERYTHING };
    let mut judge = DeviceJudge::stand_in();
    let checked =
        check::check_with(Some(&mut judge), ("run", "run"), &recording, &options, &|| ()).expect("a run");
    assert!(checked.note.why.contains("not known to a device, and the CPU alone"), "{}", checked.note.why);
    assert!(!checked.note.why.contains("cross-checked"), "{}", checked.note.why);
}

#[test]
fn numbers_do_not_depend_on_the_size_of_pieces() {
    let shape = Shape { batch: 3, dim: 12, dstate: 5, seqlen: 21, groups: 4 };
    for (b, c) in [(Operand::Variable, Operand::Constant), (Operand::Constant, Operand::Variable)] {
        let problem = drawn(shape, Weights::Complex, InputType::F32, (b, c));
        let recording =
            recorded(&problem, &["zoh", "poly", "foh-textbook"].map(|name| name.parse().expect("a form")));
        for bytes in [1, 9_000, 30_000, 100_000] {
            let mut judge = DeviceJudge::stand_in().by_pieces_of(bytes);
            compare(&recording, &Contract::FRAMEWORK, &mut judge);
        }
    }
}

#[test]
fn a_run_without_last_states_has_equal_numbers() {
    let shape = Shape { batch: 1, dim: 3, dstate: 5, seqlen: 12, groups: 1 };
    let problem = drawn(shape, Weights::Real, InputType::F32, (Operand::Variable, Operand::Constant));
    let forms = ["zoh", "poly"].map(|name| name.parse().expect("a form"));
    let mut file = file(&problem, &forms, true);
    // Of one output alone: the other one's are still on the device.
    file.remove("last_state.poly");
    let [elements, passed] = compare(&file.recording(), &Contract::FRAMEWORK, &mut DeviceJudge::stand_in());
    assert_eq!((elements, passed), (3 * (12 + 5) + 3 * 12, elements));
}

fn faulty(lie: fn(&mut [u8]), launches: usize) -> DeviceJudge {
    DeviceJudge::on(Box::new(FaultyDevice { lie, launches, ..FaultyDevice::default() })).by_pieces_of(4_000)
}

fn small() -> Recording<Cursor<Vec<u8>>> {
    let shape = Shape { batch: 1, dim: 8, dstate: 4, seqlen: 50, groups: 1 };
    recorded(
        &drawn(shape, Weights::Real, InputType::F32, (Operand::Variable, Operand::Variable)),
        &["zoh".parse().expect("a form")],
    )
}

#[test]
fn a_device_with_other_numbers_ends_the_run() {
    let recording = small();
    let survey = |mut judge: DeviceJudge| {
        judge.survey(&recording, &Contract::FRAMEWORK, Draw::new(1, "device"), &|| {})
    };
    let (_, shares) = survey(faulty(|_| {}, usize::MAX)).expect("it tells the truth");
    assert_eq!((shares.checked, shares.all), (8, 8));
    // One bit of any number of any channel.
    for at in [0, 8, 48, 56, 64, 80, 96, 104, 8 * 14, 8 * 28] {
        BIT.with(|bit| bit.set(at));
        let lie: fn(&mut [u8]) = |bytes| bytes[BIT.with(std::cell::Cell::get)] ^= 1;
        let Err(error) = survey(faulty(lie, usize::MAX)) else { panic!("a lie at {at} goes unseen") };
        let DeviceJudgeError::Differs { output, batch, .. } = &error else { panic!("{error}") };
        assert_eq!((&output[..], *batch), ("zoh", 0), "{error}");
    }
}

thread_local! {
    static BIT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[test]
fn a_device_that_writes_nothing_gives_no_verdict() {
    let recording = small();
    let tries = DeviceJudge::on(Box::new(FaultyDevice { idles: |_| true, ..FaultyDevice::default() }))
        .first_tries(&recording, &Contract::FRAMEWORK)
        .expect("it reads back what was there");
    for (tallies, largest_z) in &tries[0] {
        assert!(!quick::is_settled(tallies.values(), *largest_z));
    }
}

#[test]
fn a_device_that_breaks_is_an_error() {
    let recording = small();
    for launches in [0, 1] {
        let survey =
            faulty(|_| {}, launches).survey(&recording, &Contract::FRAMEWORK, Draw::new(1, "device"), &|| {});
        let Err(DeviceJudgeError::Device(DeviceError::Broken(reason))) = survey else { panic!("no error") };
        assert!(reason.contains("cuCtxSynchronize"), "{reason}");
    }
}

/// Verdicts, numbers and texts of a run too large for a truth of every channel.
#[test]
fn results_are_those_of_the_cpu() {
    let shape = Shape { batch: 2, dim: 12, dstate: 16, seqlen: 300, groups: 3 };
    for (weights, sound) in [(Weights::Real, true), (Weights::Real, false), (Weights::Complex, true)] {
        // Failures are explained in one way only, whichever judge it was; nothing explains these, however long it is looked for.
        let options = Options {
            diagnosis: if weights == Weights::Real { Budget::Work(1 << 15) } else { Budget::Off },
            ..asking("u-late")
        };
        let problem = drawn(shape, weights, InputType::F32, (Operand::Variable, Operand::Constant));
        let recording =
            recorded_as(&problem, &["foh", "poly"].map(|name| name.parse().expect("a form")), sound);
        let on_cpu = check::check("run", "run", &recording, &options, &|| ()).expect("a run");
        let mut judge = DeviceJudge::stand_in();
        let on_device =
            check::check_with(Some(&mut judge), ("run", "run"), &recording, &options, &|| ()).expect("a run");
        let text = |checked: &check::Checked| format!("{:?}", (&checked.cases, &checked.pairwise));
        assert_eq!(text(&on_device), text(&on_cpu));
        assert!(!on_cpu.note.why.contains("stand-in"), "{}", on_cpu.note.why);
        assert!(on_device.note.why.contains("stand-in for a GPU (20 of 48"), "{}", on_device.note.why);
        // What nothing is wrong with is settled there, all of it.
        assert_eq!(!on_device.note.why.contains("handed to the CPU"), sound, "{}", on_device.note.why);
    }
}
