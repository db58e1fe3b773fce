//! Promise: packed sequences are judged in every layout, each with its own states; what fails in one is explained there, and what packs
//! none is refused.

use std::sync::Arc;

use holdfast::check::{Options, check};
use holdfast::judge::budget::ChannelBudget;
use holdfast::judge::diagnose::Budget;
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Order, Packed, Problem, Weights};
use holdfast::promise::Promise;
use holdfast::results::Verdict;
use holdfast::tensor::TensorName;
use holdfast::truth;
use safetensors::Dtype;

use crate::layouts::{every, permuted};
use crate::packed::{By, add, drawn, file as packed_file, integers, judged, starts as begin};
use crate::support::problems::{Layout, generator};
use crate::written::{ComplexAs, File, Tensor, tensor};

/// The file with positions before channels, or with heads of two channels.
fn laid_out(plain: &File, order: Order) -> File {
    let mut file = File { metadata: plain.metadata.clone(), ..File::default() };
    file.metadata.insert("layout".to_owned(), order.name().to_owned());
    for (name, from) in &plain.tensors {
        let heads = |tensor: Tensor, axis: usize| {
            let mut shape = tensor.shape.clone();
            if order == Order::Blhp {
                shape.splice(axis..=axis, [2, 2]);
            }
            Tensor { shape, ..tensor }
        };
        let of_head =
            |from: &Tensor, axis| if order == Order::Blhp { every(from, axis, 2) } else { from.clone() };
        let tensor = match name.split('.').next().expect("it has a name") {
            "u" | "z" | "out" => heads(permuted(from, &[0, 2, 1]), 2),
            "delta" => permuted(&of_head(from, 1), &[0, 2, 1]),
            "B" | "C" => permuted(from, &[0, 3, 1, 2]),
            "A" if order == Order::Blhp => {
                let one = every(&of_head(from, 0), 1, 3);
                Tensor { shape: vec![2], ..one }
            }
            "D" | "delta_bias" => of_head(from, 0),
            "initial_state" => heads(from.clone(), 1),
            "last_state" => heads(from.clone(), 1),
            _ => from.clone(),
        };
        file.set(name, tensor);
    }
    file
}

/// A packed run of one item whose channels may be heads of two.
fn recorded() -> (Problem, File) {
    let by = By::Starts;
    let (mut problem, _) = drawn(by, Weights::Real, Operand::Variable, InputType::F32);
    let first = |values: &mut [f32], own: usize| {
        values.chunks_mut(2 * own).for_each(|pair| pair.copy_within(..own, own));
    };
    first(&mut problem.delta, 11);
    first(&mut problem.a, 3);
    problem.a.chunks_mut(3).for_each(|states| states.fill(states[0]));
    problem.d.iter_mut().chain(&mut problem.delta_bias).for_each(|values| first(values, 1));
    let truth = truth::scan::solve(&problem, &[Method::Zoh]).expect("certified").remove(0);
    let mut file = packed_file(by, &problem);
    let [out, last] = [TensorName::Out, TensorName::LastState].map(|name| &truth.tensors[name].values);
    add(by, &mut file, &problem, Method::Zoh, out, last);
    (problem, file)
}

/// States of sequences come before channels in each layout, and a place says which sequence it is.
#[test]
fn states_of_sequences_have_heads() {
    let (_, file) = recorded();
    for order in [Order::Bdl, Order::Bld, Order::Blhp] {
        let mut file = laid_out(&file, order);
        if order == Order::Bdl {
            file = recorded().1;
        }
        file.tensors.iter_mut().filter(|(name, _)| name == "last_state.zoh").for_each(|(name, _)| {
            *name = "varlen_states.zoh".to_owned();
        });
        assert_eq!(judged(&file)[0].verdict, Verdict::Pass, "{order}");
        // State 1 of channel 2, head 1, in sequence 1.
        let (_, states) =
            file.tensors.iter_mut().find(|(name, _)| name == "varlen_states.zoh").expect("added");
        states.bytes[(4 * 3 + 2 * 3 + 1) * 4 + 2] ^= 0x40;
        let case = judged(&file).remove(0);
        let worst = case.worst.expect("it fails");
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
    let (problem, _) = drawn(by, Weights::Real, Operand::Variable, InputType::F32);
    let truth = truth::scan::solve(&problem, &[Method::Foh]).expect("certified").remove(0);
    let mut file = packed_file(by, &problem);
    let [out, last] = [TensorName::Out, TensorName::LastState].map(|name| &truth.tensors[name].values);
    add(by, &mut file, &problem, Method::Foh, out, last);
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
    let options = Options { diagnosis: Budget::Off, ..Options::EVERYTHING };
    let checked = check("run", "run", &file.recording(), &options, &|| {}).expect("a run");
    assert_eq!(checked.cases[0].verdict, Verdict::Pass);
    let says = "; 5 sequences are packed, and padding counts as 0";
    assert!(checked.note.why.contains(says), "{}", checked.note.why);
}

/// A cause is looked for in one of the sequences, and says in which.
#[test]
fn what_fails_in_a_sequence_is_explained() {
    let (problem, plain) = recorded();
    let wrong = Problem { d: None, ..problem.clone() };
    let truth = truth::scan::solve(&wrong, &[Method::Zoh]).expect("certified").remove(0);
    let (out, last) = (&truth.tensors[TensorName::Out].values, &truth.tensors[TensorName::LastState].values);
    let mut file = plain.clone();
    add(By::Starts, &mut file, &problem, Method::Zoh, out, last);
    let case =
        check("run", "run", &file.recording(), &Options::EVERYTHING, &|| {}).expect("a run").cases.remove(0);
    let found = case.diagnosis.first().expect("it has a name");
    assert!(found.name.contains("skip") || found.what.contains("D"), "{found:?}");
    let place = "; in the sequence at positions 5 to 10 of item 0, counted from its start";
    assert!(found.what.ends_with(place), "{found:?}");
}

/// A last state of which the sequence that is looked at has none gets no cause.
#[test]
fn a_state_that_is_not_looked_at_has_no_cause() {
    let by = By::Indices;
    let (problem, _) = drawn(by, Weights::Real, Operand::Variable, InputType::F32);
    let truth = truth::scan::solve(&problem, &[Method::Zoh]).expect("certified").remove(0);
    let mut out = truth.tensors[TensorName::Out].values.clone();
    let last: Vec<f64> = truth.tensors[TensorName::LastState].values.iter().map(|x| 2.0 * x).collect();
    out.chunks_mut(11).take(4).for_each(|row| row[3..8].iter_mut().for_each(|y| *y *= 0.5));
    let mut file = packed_file(by, &problem);
    add(by, &mut file, &problem, Method::Zoh, &out, &last);
    let case =
        check("run", "run", &file.recording(), &Options::EVERYTHING, &|| {}).expect("a run").cases.remove(0);
    let [out, last] = [TensorName::Out, TensorName::LastState].map(|name| &case.tensors[name].diagnosis);
    assert!(!out.is_empty() && last.is_empty() && case.diagnosis.is_empty(), "{out:?} {last:?}");
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
    let worst = judged(&file).remove(0).worst.expect("it fails");
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
        let case = judged(&file).remove(0);
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
    let refused = |file: &File| file.try_recording().expect_err("it is no run").to_string();
    for (name, put, says) in [
        ("cu_seqlens", zeros(Dtype::F32, &[4]), "tensor `cu_seqlens` is of type F32, expected I32 or I64"),
        ("cu_seqlens", begin(&[0]), "tensor `cu_seqlens` has shape (1), expected (sequences + 1)"),
        ("cu_seqlens", begin(&[1, 4, 7, 11]), "tensor `cu_seqlens` is 1 at 0, expected 0"),
        ("cu_seqlens", begin(&[0, 4, 4, 11]), "tensor `cu_seqlens` is 4 at 2, expected more than 4"),
        (
            "cu_seqlens",
            begin(&[0, 4, 7, 12]),
            "tensor `cu_seqlens` is 12 at 3, expected more than 7, and at most 11",
        ),
        ("cu_seqlens", begin(&[0, 11]), "tensor `initial_state` has shape (3, 4, 3), expected (1, 4, 3)"),
        (
            "seq_idx",
            integers(&[0; 11], &[1, 11]),
            "tensor `seq_idx` is 0 at (0, 0), expected the sequences of cu_seqlens",
        ),
    ] {
        let mut file = plain.clone();
        file.set(name, put);
        assert!(refused(&file).contains(says), "{}", refused(&file));
    }
    let mut both = plain.clone();
    both.set("seq_idx", integers(&[7, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5], &[1, 11]));
    assert_eq!(judged(&both)[0].verdict, Verdict::Pass);
    let mut reversed = plain.clone();
    reversed.metadata.insert("direction".to_owned(), "reverse".to_owned());
    assert!(
        refused(&reversed).contains("which needs sequences that are not packed"),
        "{}",
        refused(&reversed)
    );
    let by_indices = drawn(By::Indices, Weights::Real, Operand::Constant, InputType::F32).0;
    let mut file = packed_file(By::Indices, &by_indices);
    file.set("out.zoh", zeros(Dtype::F32, &[2, 4, 11]));
    let mut padded = file.clone();
    let ends = [[0; 10], [0; 10]].iter().flat_map(|item| [&item[..], &[-1]].concat()).collect::<Vec<i64>>();
    padded.set("seq_idx", integers(&ends, &[2, 11]));
    assert!(padded.try_recording().is_ok());
    padded.set("last_state.zoh", zeros(Dtype::F32, &[2, 4, 3]));
    let says = "tensor `seq_idx` is -1 at (0, 10), expected a sequence whose last state is recorded";
    assert!(refused(&padded).contains(says), "{}", refused(&padded));
    padded.set("seq_idx", integers(&[-1; 22], &[2, 11]));
    assert!(refused(&padded).contains("tensor `seq_idx` is -1 at (0, 0)"), "{}", refused(&padded));
    let mut misplaced = file.clone();
    misplaced.set("seq_idx", integers(&[0; 22], &[11, 2]));
    assert!(refused(&misplaced).contains("expected (2, 11), the sequence of each position"));
    file.remove("seq_idx");
    file.set("cu_seqlens", begin(&[0, 11]));
    assert!(
        refused(&file).contains("tensor `u` has batch = 2, expected 1 beside cu_seqlens"),
        "{}",
        refused(&file)
    );
}
