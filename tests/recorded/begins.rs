//! Promise: a scan that begins elsewhere, at the last position or from a state, is judged as what it states, and named where it
//! does not.

use holdfast::check::Checked;
use holdfast::formula::Form;
use holdfast::judge::quick;
use holdfast::method::Method;
use holdfast::problem::regime;
use holdfast::problem::{InputType, Problem, Shape, Stages, Weights};
use holdfast::promise::Promise;
use holdfast::results::{CaseResult, Verdict};
use holdfast::tensor::TensorName;

use crate::conventions::{checked, plain, truth};
use crate::searched::asking;
use crate::written::{CONSTANT, ComplexAs, File, REAL, VARIABLE, drawn, named, single};

/// Runs of so many positions, of `width` floats each, from behind.
fn backwards(values: &[f32], seqlen: usize, width: usize) -> Vec<f32> {
    values.chunks(seqlen * width).flat_map(|run| run.chunks(width).rev().flatten().copied()).collect()
}

/// A scan from the last position to the first, in every form, as the file has it.
fn reverse_file(problem: &Problem, change: impl Fn(Form, &mut Vec<f32>)) -> File {
    let seqlen = problem.shape.seqlen;
    let as_stored = problem.with_inputs(|name, values| match problem.varies(name) {
        true => backwards(values, seqlen, problem.grid(name)[0]),
        false => values.to_vec(),
    });
    let mut file = File::of(&as_stored, ComplexAs::Trailing);
    for form in Form::all() {
        let [out, last] = truth(problem, form).map(|values| single(&values));
        let mut out = backwards(&out, seqlen, 1);
        change(form, &mut out);
        file.add_output(problem, form.name(), &out, Some(&last), ComplexAs::Trailing);
    }
    file
}

#[test]
fn a_reverse_scan_is_judged_from_the_last_position_on() {
    let operands = [CONSTANT, VARIABLE];
    for (weights, operands) in
        Weights::ALL.into_iter().flat_map(|weights| operands.map(|operands| (weights, operands)))
    {
        let mut problem = plain(weights, operands);
        let (width, seqlen) = (weights.width(), problem.shape.seqlen);
        problem.z = Some(problem.u.iter().map(|u| u + 0.3).collect());
        problem.initial_state = Some((0..2 * 2 * 3 * width).map(|i| 0.1 * i as f32 - 0.4).collect());
        let file = reverse_file(&problem, |_, _| ()).stating(&[("direction", "reverse")]);
        for recording in [file.recording(), file.recording().by_positions(4)] {
            let Checked { cases, note, .. } = checked(&recording);
            assert!(note.why.contains("direction = reverse is stated"), "{}", note.why);
            for case in &cases {
                assert_eq!(case.verdict, Verdict::Pass, "{}: {} {:?}", case.id, case.reason, case.worst);
            }
            // The quick route alone, which reads a stretch at a time.
            for (name, tensors) in &recording.layout().outputs {
                let got = |tensor, elements| recording.outputs(tensors, tensor, (1, 0), elements);
                let contract = Promise::recorded(Stages::NONE).contract;
                let tallies =
                    quick::judge_stretches((name.form, &contract), &recording, (1, 0), &got, quick::LONG)
                        .expect("read");
                assert!(tallies.values().all(|tally| tally.passed == tally.elements()), "{name}");
            }
        }

        // Places are those of the file.
        let place = |value: f32| {
            let file = reverse_file(&problem, |_, out| out[seqlen + 2] = value);
            file.stating(&[("direction", "reverse")]).judged()
        };
        let wrong = place(1e6);
        assert_eq!(wrong.worst.expect("a worst element").index, [0, 1, 2]);
        assert!(place(f32::NAN).reason.contains("the first of them out[0, 1, 2]"));
    }
}

#[test]
fn a_reverse_scan_that_is_not_stated_is_named() {
    let problem = plain(Weights::Real, VARIABLE);
    for case in checked(&reverse_file(&problem, |_, _| ()).recording()).cases {
        // A last state is where the scan ends. A scan in both directions has the same output.
        if case.method.is_bidirectional() {
            assert_eq!(case.tensors[TensorName::Out].verdict, Verdict::Pass);
            assert_eq!(case.tensors[TensorName::LastState].diagnosis[0].name, "direction-reverse");
            continue;
        }
        let names = case.tensors.map(|_, tensor| tensor.diagnosis[0].name.clone());
        assert_eq!(names.values().collect::<Vec<_>>(), ["direction-reverse"; 2], "{}", case.id);
    }
}

/// What is asked about that.
fn missing(file: &File) -> CaseResult {
    file.judged_by(&asking("initial-state-missing"))
}

/// Channels that start from a state, which is not recorded; `change` does what else is wrong.
fn started(weights: Weights, change: impl Fn(&mut [f32])) -> CaseResult {
    let shape = Shape { batch: 1, dim: 3, dstate: 3, seqlen: 60, groups: 1 };
    let kind = (weights, InputType::F32);
    let mut problem = drawn(regime::PLAIN, shape, kind, VARIABLE, (9, "conventions/started"));
    problem.delta.iter_mut().for_each(|delta| *delta = 0.02 + 0.01 * delta.abs().min(1.0));
    problem.z = Some(problem.u.iter().map(|u| u + 1.0).collect());
    problem.initial_state = Some((0..9 * weights.width()).map(|i| 0.7 * (i as f32 + 1.0).sin()).collect());
    let [mut out, last] = truth(&problem, Method::Zoh.into()).map(|values| single(&values));
    change(&mut out);
    let alone = Problem { initial_state: None, ..problem };
    missing(&File::of_output(&alone, "zoh", &out, Some(&last)))
}

#[test]
fn an_initial_state_that_is_not_recorded_is_missed() {
    for weights in Weights::ALL {
        let case = started(weights, |_| ());
        for (name, tensor) in case.tensors.iter() {
            assert_eq!(tensor.verdict, Verdict::Fail);
            assert_eq!(named(&tensor.diagnosis), ["initial-state-missing"], "{name}");
            assert!(tensor.diagnosis[0].what.contains("each of 3 channels"), "{}", tensor.diagnosis[0].what);
        }
    }
    // No state explains what else is wrong.
    let wrong = started(Weights::Real, |out| out[150] *= 1.001);
    let found = &wrong.tensors[TensorName::Out].diagnosis;
    assert!(found.is_empty(), "{found:?}");
}

/// As many errors as a state has numbers can always be fitted, and are anybody's.
#[test]
fn a_few_errors_are_no_initial_state() {
    let shape = Shape { batch: 1, dim: 1, dstate: 8, seqlen: 8, groups: 1 };
    let mut problem = drawn(regime::PLAIN, shape, REAL, CONSTANT, (9, "conventions/few"));
    problem.delta.fill(0.5);
    let [out, _] = truth(&problem, Method::Zoh.into());
    let wrong: Vec<f32> = (0..).zip(&out).map(|(i, y)| (y + 0.1 * f64::from(i).sin() + 0.2) as f32).collect();
    let case = missing(&File::of_output(&problem, "zoh", &wrong, None));
    assert_eq!(case.verdict, Verdict::Fail);
    let found = named(&case.diagnosis);
    assert!(!found.contains(&"initial-state-missing"), "{found:?}");
}
