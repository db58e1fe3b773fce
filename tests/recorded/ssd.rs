//! Promise: a scan on tensor cores passes where it says so, with what it keeps of its chunks, and fails where it says less.

use holdfast::check::{Options, check};
use holdfast::judge::diagnose::Budget;
use holdfast::problem::{InputType, Problem, Shape, Stages, Weights};
use holdfast::results::{CaseResult, Verdict};
use holdfast::tensor::TensorName;

use crate::chunks::{Ssd, recorded, ssd, with_chunks};
use crate::layouts::headed_of;
use crate::searched::asking;

const CHUNK: usize = 64;
/// The last chunk is not full.
const SHAPE: Shape = Shape { batch: 1, dim: 6, dstate: 4, seqlen: 160, groups: 3 };

fn drawn(input: InputType) -> Problem {
    headed_of(SHAPE, Weights::Real, input).0
}

/// f32 as tensor cores take it: without its last 13 bits.
fn cut(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & !0x1fff)
}

/// To nearest.
fn tf32(x: f32) -> f32 {
    cut(f32::from_bits(x.to_bits() + 0x0fff))
}

fn bf16(x: f32) -> f32 {
    InputType::Bf16.round(x)
}

fn f16(x: f32) -> f32 {
    InputType::F16.round(x)
}

fn judged(problem: &Problem, scan: &Ssd, arithmetic: &str, options: Options) -> CaseResult {
    let file =
        with_chunks(recorded(problem, scan, &[("arithmetic", arithmetic)]), problem.shape, CHUNK, scan);
    check("run", "run", &file.recording(), &options, &|| {}).expect("a run").cases.remove(0)
}

fn verdict(problem: &Problem, scan: &Ssd, arithmetic: &str) -> CaseResult {
    judged(problem, scan, arithmetic, Options { diagnosis: Budget::Off, ..Options::EVERYTHING })
}

const F32: &str = "scan=log-space-64";

#[test]
fn operands_of_fewer_bits_pass_where_they_are_stated() {
    for (input, operands, round) in [
        (InputType::F32, "tf32", cut as fn(f32) -> f32),
        (InputType::F32, "tf32", tf32),
        (InputType::F32, "bf16", bf16),
        (InputType::F32, "f16", f16),
        (InputType::Bf16, "bf16", bf16),
        (InputType::F16, "f16", f16),
    ] {
        let problem = drawn(input);
        let scan = ssd(&problem, CHUNK, round);
        let case = verdict(&problem, &scan, &format!("ssd={operands}, {F32}"));
        assert_eq!(case.verdict, Verdict::Pass, "{input} {operands}: {:?}", case.worst);
        let share = |name| case.tensors[name].worst.as_ref().expect("judged").share;
        let [out, last, before, _] = TensorName::ALL.map(share);
        assert!(out < 0.5 && (0.01..0.5).contains(&last), "{input} {operands}: {out} {last}");
        // Two roundings of few terms come nearer.
        assert!((0.01..0.6).contains(&before), "{input} {operands}: {before}");
        // Without chunks that are stated the bound is looser.
        assert_eq!(verdict(&problem, &scan, &format!("ssd={operands}")).verdict, Verdict::Pass);
        let unstated = verdict(&problem, &scan, F32);
        assert_eq!(unstated.verdict, Verdict::Fail, "{input} {operands}");
        // What rounds operands is no licence: a state that is not decayed, and another step, are none.
        for name in ["a", "delta"] {
            let mut wrong = problem.clone();
            match name {
                "a" => wrong.a.iter_mut().for_each(|a| *a *= 0.5),
                _ => wrong.delta.iter_mut().for_each(|delta| *delta += 0.125),
            }
            let wrong = ssd(&wrong, CHUNK, round);
            let case = verdict(&problem, &wrong, &format!("ssd={operands}, {F32}"));
            assert_eq!(case.verdict, Verdict::Fail, "{input} {operands} {name}");
        }
    }
}

/// Of few terms, whose roundings do not cancel.
#[test]
fn bf16_is_no_tf32() {
    let shape = Shape { dstate: 1, ..SHAPE };
    let problem = headed_of(shape, Weights::Real, InputType::F32).0;
    let scan = ssd(&problem, CHUNK, bf16);
    let case = verdict(&problem, &scan, "ssd=tf32, scan=log-space-64");
    assert_eq!(case.verdict, Verdict::Fail);
    assert_eq!(verdict(&problem, &scan, "ssd=bf16, scan=log-space-64").verdict, Verdict::Pass);
}

#[test]
fn operands_of_fewer_bits_are_named_where_they_are_not_stated() {
    for (input, name, round) in [
        (InputType::F32, "ssd-in-tf32", cut as fn(f32) -> f32),
        (InputType::F32, "ssd-in-bf16", bf16),
        (InputType::Bf16, "ssd-in-bf16", bf16),
    ] {
        let problem = drawn(input);
        let case = judged(&problem, &ssd(&problem, CHUNK, round), "f32", asking(name));
        let found: Vec<&str> = case.diagnosis.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(found.first(), Some(&name), "{input}: {found:?}");
        let says = format!("ssd={}, scan=log-space-64", &name["ssd-in-".len()..]);
        assert!(case.diagnosis[0].what.contains(&says), "{}", case.diagnosis[0].what);
    }
    // Within the bounds of such operands, and none of their roundings: a step that is a little longer.
    let problem = drawn(InputType::F32);
    let mut wrong = problem.clone();
    wrong.u.iter_mut().for_each(|u| *u *= 1.0005);
    let wrong = ssd(&wrong, CHUNK, |x| x);
    assert_eq!(verdict(&problem, &wrong, "ssd=bf16, scan=log-space-64").verdict, Verdict::Pass);
    let case = judged(&problem, &wrong, F32, asking("ssd-in-bf16"));
    assert_eq!(case.verdict, Verdict::Fail);
    assert!(case.diagnosis.iter().all(|found| !found.name.starts_with("ssd")), "{:?}", case.diagnosis);
}

/// Steps so small that operands of an f16 underflow, and nothing else in which that would be lost.
#[test]
fn operands_that_underflow_are_allowed() {
    let mut problem = drawn(InputType::F32);
    problem.delta.iter_mut().for_each(|delta| *delta -= 12.0);
    (problem.initial_state, problem.d, problem.z) = (None, None, None);
    let scan = ssd(&problem, CHUNK, f16);
    let case = verdict(&problem, &scan, "ssd=f16, scan=log-space-64");
    assert_eq!(case.verdict, Verdict::Pass, "{:?}", case.worst);
    // An f32 has no such exponents to lose.
    assert_eq!(verdict(&problem, &scan, "ssd=bf16, scan=log-space-64").verdict, Verdict::Fail);
}

#[test]
fn a_statement_of_operands_is_read_and_written() {
    for text in ["ssd=bf16, scan=log-space-256", "y=bf16, ssd=tf32, scan=log-space"] {
        assert_eq!(text.parse::<Stages>().expect("stages").to_string(), text);
    }
    assert_eq!("ssd=f16".parse::<Stages>().expect("stages").to_string(), "ssd=f16, scan=log-space");
    assert_eq!("ssd=f32".parse::<Stages>().expect("stages"), Stages::NONE);
    for wrong in ["ssd=int8", "ssd=bf16, ssd=bf16", "ssd=bf16, state_type=bf16"] {
        assert!(wrong.parse::<Stages>().is_err(), "{wrong}");
    }
    // Chunks may be stated beside it, and no state of each step.
    let problem = drawn(InputType::F32);
    let stated = [("arithmetic", "ssd=tf32"), ("scan", "log-space-64")];
    let stages = recorded(&problem, &ssd(&problem, CHUNK, cut), &stated).recording().layout().stages;
    assert_eq!(stages.to_string(), "ssd=tf32, scan=log-space-64");
    assert!(!stages.holds_for_gradients());
    let stated = [("arithmetic", "ssd=tf32"), ("state_type", "bf16")];
    let error = recorded(&problem, &ssd(&problem, CHUNK, cut), &stated).try_recording().expect_err("no run");
    assert!(error.to_string().contains("none beside `ssd`"), "{error}");
}
