//! Promise: packed sequences are judged in every layout, each with its own states; what fails in one is explained there, and what packs
//! none is refused.

use std::sync::Arc;

use holdfast::judge::budget::ChannelBudget;
use holdfast::method::Method;
use holdfast::problem::{Operand, Order, Packed, Problem, Weights};
use holdfast::promise::Promise;
use holdfast::results::{Diagnosis, Verdict};
use holdfast::tensor::TensorName;
use holdfast::truth;
use safetensors::Dtype;

use crate::conventions::checked;
use crate::layouts::{laid_out, share};
use crate::packed::{By, add, add_truth, drawn, file as packed_file, integers, starts as begin};
use crate::support::problems::{Layout, generator};
use crate::written::{ComplexAs, File, tensor};

/// A packed run of one item whose channels may be heads of two.
fn recorded() -> (Problem, File) {
    let by = By::Starts;
    let mut problem = drawn(by, Weights::Real, Operand::Variable);
    share(&mut problem);
    (problem.clone(), of_truth(by, &problem, Method::Zoh))
}

/// The file of a problem with what is right of it.
fn of_truth(by: By, problem: &Problem, method: Method) -> File {
    let mut file = packed_file(by, problem);
    add_truth(by, &mut file, problem, &truth::scan::solve(problem, &[method]).expect("certified")[0]);
    file
}

/// States of sequences come before channels in each layout, and a place says which sequence it is.
#[test]
fn states_of_sequences_have_heads() {
    let (_, file) = recorded();
    for order in Order::ALL {
        let mut file = laid_out(&file, order);
        file.tensors.iter_mut().filter(|(name, _)| name == "last_state.zoh").for_each(|(name, _)| {
            *name = "varlen_states.zoh".to_owned();
        });
        assert_eq!(file.verdict(), Verdict::Pass, "{order}");
        // State 1 of channel 2, head 1, in sequence 1.
        let (_, states) =
            file.tensors.iter_mut().find(|(name, _)| name == "varlen_states.zoh").expect("added");
        states.bytes[(4 * 3 + 2 * 3 + 1) * 4 + 2] ^= 0x40;
        let worst = file.judged().worst.expect("it fails");
        match order {
            Order::Blhp => {
                assert_eq!(worst.index, [1, 1, 0, 1]);
                assert!(worst.place.contains("sequence 1, head 1, channel 0, state 1"), "{}", worst.place);
            }
            _ => assert_eq!(worst.index, [1, 2, 1], "{order}"),
        }
    }
}

/// Padding may hold anything.
#[test]
fn padding_is_not_read() {
    let by = By::Indices;
    let problem = drawn(by, Weights::Real, Operand::Variable);
    let mut file = of_truth(by, &problem, Method::Foh);
    for (name, tensor) in &mut file.tensors {
        if ["u", "delta", "B", "out.foh"].contains(&&**name) {
            let row = 4 * 11;
            let rows = tensor.bytes.len() / row / 2;
            for (i, row) in tensor.bytes.chunks_mut(row).enumerate().filter(|(i, _)| *i >= rows) {
                let value = if i == rows { f32::NAN } else { 1e30 };
                for l in [2, 3] {
                    row[4 * l..][..4].copy_from_slice(&f32::to_le_bytes(value));
                }
            }
        }
    }
    let checked = file.checked();
    assert_eq!(checked.cases[0].verdict, Verdict::Pass);
    let says = "; 5 sequences are packed, and padding counts as 0";
    assert!(checked.note.why.contains(says), "{}", checked.note.why);
}

/// A cause is one of all sequences together.
#[test]
fn what_fails_in_a_sequence_is_explained() {
    let (problem, plain) = recorded();
    let wrong = Problem { d: None, ..problem.clone() };
    let mut file = plain.clone();
    let truth = truth::scan::solve(&wrong, &[Method::Zoh]).expect("certified").remove(0);
    add_truth(By::Starts, &mut file, &problem, &truth);
    let case = checked(&file.recording()).cases.remove(0);
    let found = case.diagnosis.first().expect("it has a name");
    assert_eq!(found.name, "skip-missing", "{found:?}");
}

/// A sequence whose outputs alone are wrong is told, and a last state gets a cause that leaves right outputs as they are.
#[test]
fn a_sequence_and_a_state_have_causes_of_their_own() {
    let by = By::Indices;
    let problem = drawn(by, Weights::Real, Operand::Variable);
    let truth = truth::scan::solve(&problem, &[Method::Zoh]).expect("certified").remove(0);
    let mut out = truth.tensors[TensorName::Out].values.clone();
    let last: Vec<f64> = truth.tensors[TensorName::LastState].values.iter().map(|x| 2.0 * x).collect();
    out.chunks_mut(11).take(4).for_each(|row| row[3..8].iter_mut().for_each(|y| *y *= 0.5));
    let mut file = packed_file(by, &problem);
    add(by, &mut file, &problem, Method::Zoh, &out, &last);
    let case = checked(&file.recording()).cases.remove(0);
    let [out, last] = [TensorName::Out, TensorName::LastState].map(|name| &case.tensors[name].diagnosis);
    assert!(out[0].what.contains("multiplied by ½ at positions 3 to 7"), "{out:?}");
    let names: Vec<&str> = last.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["last-state-doubled"]);
}

/// The first cause of what one item of packed sequences computes, recorded as that of others.
fn told(layout: Layout, computed: &[usize], recorded: &[usize]) -> Diagnosis {
    let seqlen = layout.shape.seqlen;
    let mut problem = layout.random(&mut generator("borders"));
    problem.judged_channels = problem.channels().collect();
    problem.packed = Some(Arc::new(Packed::by_starts(computed, seqlen, [1, 1])));
    let truth = truth::scan::solve(&problem, &[Method::Zoh]).expect("certified").remove(0);
    let mut file = File::of(&problem, ComplexAs::Trailing);
    file.set("cu_seqlens", begin(recorded));
    for (name, shape) in [(TensorName::Out, [1, 2, seqlen]), (TensorName::LastState, [1, 2, 3])] {
        let values: Vec<f32> = truth.tensors[name].values.iter().map(|&value| value as f32).collect();
        file.set(&format!("{name}.zoh"), tensor(Dtype::F32, &shape, &values));
    }
    checked(&file.recording()).cases.remove(0).diagnosis.remove(0)
}

/// Chunks that begin anew with each sequence, as of kernels that give a block to each.
#[test]
fn what_fails_at_chunks_of_each_sequence_is_told_by_their_positions() {
    // A chunk that starts from 0 is a sequence of its own.
    let found = told(Layout::plain(1, 2, 3, 64), &[0, 10, 20, 27, 37, 47, 57, 64], &[0, 27, 64]);
    assert_eq!(found.name, "chunk-state-forgotten", "{found:?}");
    assert!(found.what.contains("at positions 10, 20, … of each sequence"), "{found:?}");
}

/// Initial states of which the first sequence's alone is read.
#[test]
fn initial_states_that_are_not_read_are_told() {
    let (problem, mut file) = recorded();
    let mut wrong = problem.clone();
    let own = problem.shape.dstate;
    let rows = wrong.initial_state.as_mut().expect("states").chunks_mut(3 * own);
    rows.for_each(|states| states[own..].fill(0.0));
    let truth = truth::scan::solve(&wrong, &[Method::Zoh]).expect("certified").remove(0);
    add_truth(By::Starts, &mut file, &problem, &truth);
    let case = checked(&file.recording()).cases.remove(0);
    assert_eq!(case.diagnosis.first().expect("a name").name, "initial-state-of-first-sequence-alone");
}

/// Padding behind the sequences has no outputs that could refute it.
#[test]
fn a_state_that_crosses_borders_before_padding_is_told() {
    let layout = Layout { c: Operand::Constant, ..Layout::plain(1, 2, 3, 40) };
    assert_eq!(told(layout, &[0, 31], &[0, 12, 20, 31]).name, "state-crosses-borders");
}

/// More sequences than states, of which each has one.
#[test]
fn the_worst_state_is_shown_with_its_own_sequence() {
    let starts: Vec<usize> = (0..=8).map(|i| 2 * i).collect();
    let mut problem = Layout::plain(1, 2, 3, 16).random(&mut generator("packed"));
    problem.judged_channels = problem.channels().collect();
    problem.packed = Some(Arc::new(Packed::by_starts(&starts, 16, [1, 8])));
    let truth = truth::scan::solve(&problem, &[Method::Zoh]).expect("certified").remove(0);
    let mut file = File::of(&problem, ComplexAs::Trailing);
    file.set("cu_seqlens", begin(&starts));
    let out: Vec<f32> = truth.tensors[TensorName::Out].values.iter().map(|&y| y as f32).collect();
    let mut states = vec![0.0f32; 8 * 2 * 3];
    for (i, &x) in truth.tensors[TensorName::LastState].values.iter().enumerate() {
        let (channel, slot, n) = (i / 24, i / 3 % 8, i % 3);
        states[(slot * 2 + channel) * 3 + n] = x as f32;
    }
    // State 2 of channel 1 in sequence 6, which ends at position 13.
    states[(6 * 2 + 1) * 3 + 2] += 1.0;
    file.set("out.zoh", tensor(Dtype::F32, &[1, 2, 16], &out));
    file.set("last_state.zoh", tensor(Dtype::F32, &[8, 2, 3], &states));
    let worst = file.judged().worst.expect("it fails");
    assert_eq!(worst.index, [6, 1, 2]);
    let step = format!("delta = {:e}", f64::from(problem.delta[16 + 13]));
    assert!(worst.inputs.iter().any(|input| input.contains(&step)), "{:?} without {step}", worst.inputs);
}

/// Equal sequences round alike: together they may be as far off as one of them.
#[test]
fn equal_sequences_repeat_each_other() {
    let mut problem = Layout::plain(1, 1, 3, 12).random(&mut generator("packed"));
    for values in [&mut problem.u, &mut problem.delta] {
        (1..4).for_each(|i| values.copy_within(..3, 3 * i));
    }
    problem.packed = Some(Arc::new(Packed::by_starts(&[0, 3, 6, 9, 12], 12, [1, 1])));
    let contract = Promise::recorded(Default::default()).contract;
    let budget = ChannelBudget::new(Method::Zoh, &problem, (0, 0), &contract);
    let (Ok(apart), Ok(together)) = (budget.repeats(), budget.repeats_together());
    assert_eq!((apart, together), (1.0, 4.0));
}

/// Errors that go one way are seen in all sequences of a channel together.
#[test]
fn sequences_lean_together() {
    let layout = Layout { gate: true, extras: true, ..Layout::plain(1, 4, 3, 512) };
    let starts: Vec<usize> = (0..=16).map(|i| 32 * i).collect();
    let mut problem = layout.random(&mut generator("packed"));
    problem.judged_channels = problem.channels().collect();
    problem.packed = Some(Arc::new(Packed::by_starts(&starts, 512, [1, 1])));
    let truth = truth::scan::solve(&problem, &[Method::Zoh]).expect("certified").remove(0);
    let mut file = File::of(&problem, ComplexAs::Trailing);
    file.set("cu_seqlens", begin(&starts));
    file.metadata.insert("arithmetic".to_owned(), "y=bf16".to_owned());
    for (factor, verdict) in [(1.0, Verdict::Pass), (1.0 + 0.5f64.powi(9), Verdict::Fail)] {
        let out: Vec<f32> =
            truth.tensors[TensorName::Out].values.iter().map(|y| (factor * y) as f32).collect();
        file.set("out.zoh", tensor(Dtype::F32, &[1, 4, 512], &out));
        let case = file.judged();
        assert_eq!(case.verdict, verdict, "{factor}");
        assert!(
            verdict == Verdict::Pass || case.tensors.values().any(|out| out.reason.contains("go one way"))
        );
    }
}

#[test]
fn what_is_no_packing_is_refused() {
    let (_, plain) = recorded();
    let zeros = |dtype, shape: &[usize]| tensor(dtype, shape, &vec![0.0; shape.iter().product()]);
    let indices = |values: &[i64], items: usize| integers(values, &[items, values.len() / items]);
    for (name, put, says) in [
        ("cu_seqlens", zeros(Dtype::F32, &[4]), "tensor `cu_seqlens` is of type F32, expected I32 or I64"),
        ("cu_seqlens", begin(&[0]), "tensor `cu_seqlens` has shape (1), expected (sequences + 1)"),
        ("cu_seqlens", begin(&[1, 4, 7, 11]), "tensor `cu_seqlens` is 1 at 0, expected 0"),
        ("cu_seqlens", begin(&[0, 4, 4, 11]), "tensor `cu_seqlens` is 4 at 2, expected more than 4"),
        ("cu_seqlens", begin(&[0, 4, 7, 12]), "is 12 at 3, expected more than 7, and at most 11"),
        ("cu_seqlens", begin(&[0, 11]), "tensor `initial_state` has shape (3, 4, 3), expected (1, 4, 3)"),
        ("seq_idx", indices(&[0; 11], 1), "is 0 at (0, 0), expected the sequences of cu_seqlens"),
    ] {
        plain.with(name, put).is_refused(says);
    }
    let both = plain.with("seq_idx", indices(&[7, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5], 1));
    assert_eq!(both.verdict(), Verdict::Pass);
    plain.stating(&[("direction", "reverse")]).is_refused("which needs sequences that are not packed");
    let by_indices = drawn(By::Indices, Weights::Real, Operand::Constant);
    let file = packed_file(By::Indices, &by_indices).with("out.zoh", zeros(Dtype::F32, &[2, 4, 11]));
    let ends: Vec<i64> = (0..22).map(|i| if i % 11 == 10 { -1 } else { 0 }).collect();
    let padded = file.with("seq_idx", indices(&ends, 2));
    assert!(padded.try_recording().is_ok());
    let padded = padded.with("last_state.zoh", zeros(Dtype::F32, &[2, 4, 3]));
    padded.is_refused("`seq_idx` is -1 at (0, 10), expected a sequence whose last state is recorded");
    padded.with("seq_idx", indices(&[-1; 22], 2)).is_refused("tensor `seq_idx` is -1 at (0, 0)");
    let misplaced = file.with("seq_idx", integers(&[0; 22], &[11, 2]));
    misplaced.is_refused("expected (2, 11), the sequence of each position");
    let file = file.without("seq_idx").with("cu_seqlens", begin(&[0, 11]));
    file.is_refused("tensor `u` has batch = 2, expected 1 beside cu_seqlens");
}
