//! Promise: packed sequences are judged in every layout, each with its own states; what fails in one is explained there, and what packs
//! none is refused.

use std::sync::Arc;

use holdfast::check::Options;
use holdfast::judge::budget::ChannelBudget;
use holdfast::method::Method;
use holdfast::problem::{Operand, Order, Packed, Problem, Weights};
use holdfast::promise::Promise;
use holdfast::results::Verdict;
use holdfast::tensor::TensorName;
use rstest::rstest;
use safetensors::Dtype;

use crate::conventions::truth;
use crate::layouts::{laid_out, share};
use crate::packed::{By, add, add_truth, drawn, file as packed_file, integers, starts as begin};
use crate::support::problems::{Layout, generator};
use crate::written::{File, named, single, tensor};

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
    add_truth(by, &mut file, problem, method);
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
#[rstest]
#[case(|wrong: &mut Problem| wrong.d = None, "skip-missing")]
#[case(|wrong: &mut Problem| {
    let rows = wrong.initial_state.iter_mut().flat_map(|states| states.chunks_mut(3 * wrong.shape.dstate));
    rows.for_each(|states| states[wrong.shape.dstate..].fill(0.0));
}, "initial-state-of-first-sequence-alone")]
fn what_fails_in_a_sequence_is_explained(#[case] slip: fn(&mut Problem), #[case] name: &str) {
    let (mut wrong, mut file) = recorded();
    slip(&mut wrong);
    add_truth(By::Starts, &mut file, &wrong, Method::Zoh);
    let found = file.judged_by(&Options::EVERYTHING).diagnosis;
    assert_eq!(named(&found).first(), Some(&name), "{found:?}");
}

/// A sequence whose outputs alone are wrong is told, and a last state gets a cause that leaves right outputs as they are.
#[test]
fn a_sequence_and_a_state_have_causes_of_their_own() {
    let by = By::Indices;
    let problem = drawn(by, Weights::Real, Operand::Variable);
    let [mut out, last] = truth(&problem, Method::Zoh.into());
    let last: Vec<f64> = last.iter().map(|x| 2.0 * x).collect();
    out.chunks_mut(11).take(4).for_each(|row| row[3..8].iter_mut().for_each(|y| *y *= 0.5));
    let mut file = packed_file(by, &problem);
    add(by, &mut file, &problem, Method::Zoh, &out, &last);
    let case = file.judged_by(&Options::EVERYTHING);
    let [out, last] = [TensorName::Out, TensorName::LastState].map(|name| &case.tensors[name].diagnosis);
    assert!(out[0].what.contains("multiplied by ½ at positions 3 to 7"), "{out:?}");
    assert_eq!(named(last), ["last-state-doubled"]);
}

/// A problem of one item that is packed so, with so many last states, and what is right of it.
fn of_one_item(layout: Layout, starts: &[usize], last_states: usize) -> (Problem, [Vec<f64>; 2]) {
    let mut problem = layout.random(&mut generator("packed"));
    problem.packed = Some(Arc::new(Packed::by_starts(starts, layout.shape.seqlen, [1, last_states])));
    let right = truth(&problem, Method::Zoh.into());
    (problem, right)
}

/// Sequences that are computed, of one item that is recorded as that of others.
#[rstest]
// A kernel that gives a block to each sequence has chunks that begin anew with it. One that starts from 0 is a sequence of its own.
#[case::chunks_of_each_sequence(&[0, 10, 20, 27, 37, 47, 57, 64], &[0, 27, 64], "chunk-state-forgotten",
    "at positions 10, 20, … of each sequence")]
// Padding behind the sequences has no outputs that could refute it.
#[case::borders_before_padding(&[0, 31], &[0, 12, 20, 31], "state-crosses-borders", "")]
fn borders_that_are_others_are_told(
    #[case] computed: &[usize],
    #[case] recorded: &[usize],
    #[case] name: &str,
    #[case] says: &str,
) {
    let seqlen = if computed.len() > 2 { 64 } else { 40 };
    let (problem, [out, last]) = of_one_item(Layout::plain(1, 2, 3, seqlen), computed, 1);
    let file = File::of_output(&problem, "zoh", &single(&out), Some(&single(&last)));
    let case = file.with("cu_seqlens", begin(recorded)).judged_by(&Options::EVERYTHING);
    let found = &case.diagnosis[0];
    assert!(found.name == name && found.what.contains(says), "{found:?}");
}

/// More sequences than states, of which each has one.
#[test]
fn the_worst_state_is_shown_with_its_own_sequence() {
    let starts: Vec<usize> = (0..=8).map(|i| 2 * i).collect();
    let (problem, [out, last]) = of_one_item(Layout::plain(1, 2, 3, 16), &starts, 8);
    let mut states = vec![0.0f32; 8 * 2 * 3];
    for (i, &x) in last.iter().enumerate() {
        let (channel, slot, n) = (i / 24, i / 3 % 8, i % 3);
        states[(slot * 2 + channel) * 3 + n] = x as f32;
    }
    // State 2 of channel 1 in sequence 6, which ends at position 13.
    states[(6 * 2 + 1) * 3 + 2] += 1.0;
    let file = File::of_output(&problem, "zoh", &single(&out), None).with("cu_seqlens", begin(&starts));
    let file = file.with("last_state.zoh", tensor(Dtype::F32, &[8, 2, 3], &states));
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
    let (problem, [out, _]) = of_one_item(layout, &starts, 1);
    for (factor, verdict) in [(1.0, Verdict::Pass), (1.0 + 0.5f64.powi(9), Verdict::Fail)] {
        let out: Vec<f32> = out.iter().map(|y| (factor * y) as f32).collect();
        let file = File::of_output(&problem, "zoh", &out, None).with("cu_seqlens", begin(&starts));
        let case = file.stating(&[("arithmetic", "y=bf16")]).judged();
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
    let of_states = padded.with("last_state.zoh", zeros(Dtype::F32, &[2, 4, 3]));
    let starts = file.without("seq_idx").with("cu_seqlens", begin(&[0, 11]));
    for (file, says) in [
        (&of_states, "`seq_idx` is -1 at (0, 10), expected a sequence whose last state is recorded"),
        (&of_states.with("seq_idx", indices(&[-1; 22], 2)), "tensor `seq_idx` is -1 at (0, 0)"),
        (
            &file.with("seq_idx", integers(&[0; 22], &[11, 2])),
            "expected (2, 11), the sequence of each position",
        ),
        (&starts, "tensor `u` has batch = 2, expected 1 beside cu_seqlens"),
    ] {
        file.is_refused(says);
    }
}
