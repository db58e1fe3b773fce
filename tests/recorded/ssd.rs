//! Promise: a scan on tensor cores passes where it says so, with what it keeps of its chunks, and fails where it says less.

use holdfast::problem::{InputType, Problem, Shape, Stages, Weights};
use holdfast::results::Verdict;
use holdfast::tensor::TensorName;

use crate::chunks::{Ssd, recorded, ssd, with_chunks};
use crate::layouts::headed_of;
use crate::searched::asking;
use crate::written::File;

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

fn file(problem: &Problem, scan: &Ssd, arithmetic: &str) -> File {
    with_chunks(&recorded(problem, scan, &[("arithmetic", arithmetic)]), problem.shape, CHUNK, scan)
}

/// The verdict on a scan whose operands are rounded so.
fn verdict(problem: &Problem, round: fn(f32) -> f32, arithmetic: &str) -> Verdict {
    file(problem, &ssd(problem, CHUNK, round), arithmetic).verdict()
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
        let case = file(&problem, &scan, &format!("ssd={operands}, {F32}")).judged();
        assert_eq!(case.verdict, Verdict::Pass, "{input} {operands}: {:?}", case.worst);
        let share = |name| case.tensors[name].worst.as_ref().expect("judged").share;
        let [out, last, before, _] = TensorName::ALL.map(share);
        assert!(out < 0.5 && (0.01..0.5).contains(&last), "{input} {operands}: {out} {last}");
        // Two roundings of few terms come nearer.
        assert!((0.01..0.6).contains(&before), "{input} {operands}: {before}");
        // Without chunks that are stated the bound is looser.
        assert_eq!(verdict(&problem, round, &format!("ssd={operands}")), Verdict::Pass);
        assert_eq!(verdict(&problem, round, F32), Verdict::Fail, "{input} {operands}");
        // What rounds operands is no licence: a state that is not decayed, and another step, are none.
        for name in ["a", "delta"] {
            let mut wrong = problem.clone();
            match name {
                "a" => wrong.a.iter_mut().for_each(|a| *a *= 0.5),
                _ => wrong.delta.iter_mut().for_each(|delta| *delta += 0.125),
            }
            let case = file(&problem, &ssd(&wrong, CHUNK, round), &format!("ssd={operands}, {F32}"));
            assert_eq!(case.verdict(), Verdict::Fail, "{input} {operands} {name}");
        }
    }
}

#[test]
fn a_type_allows_its_own_roundings() {
    // Of few terms, whose roundings do not cancel.
    let few = headed_of(Shape { dstate: 1, ..SHAPE }, Weights::Real, InputType::F32).0;
    // Steps so small that operands of an f16 underflow, and nothing else in which that would be lost. An f32 has no such exponents to lose.
    let mut small = drawn(InputType::F32);
    small.delta.iter_mut().for_each(|delta| *delta -= 12.0);
    (small.initial_state, small.d, small.z) = (None, None, None);
    for (problem, round, stated, expected) in [
        (&few, bf16 as fn(f32) -> f32, "tf32", Verdict::Fail),
        (&few, bf16, "bf16", Verdict::Pass),
        (&small, f16, "f16", Verdict::Pass),
        (&small, f16, "bf16", Verdict::Fail),
    ] {
        assert_eq!(verdict(problem, round, &format!("ssd={stated}, {F32}")), expected, "{stated}");
    }
}

#[test]
fn operands_of_fewer_bits_are_named_where_they_are_not_stated() {
    for (input, name, round) in [
        (InputType::F32, "ssd-in-tf32", cut as fn(f32) -> f32),
        (InputType::F32, "ssd-in-bf16", bf16),
        (InputType::Bf16, "ssd-in-bf16", bf16),
    ] {
        let problem = drawn(input);
        let case = file(&problem, &ssd(&problem, CHUNK, round), "f32").judged_by(&asking(name));
        let says = format!("ssd={}, scan=log-space-64", &name["ssd-in-".len()..]);
        let found = &case.diagnosis[0];
        assert!(found.name == name && found.what.contains(&says), "{input}: {:?}", case.diagnosis);
    }
    // Within the bounds of such operands, and none of their roundings: a step that is a little longer.
    let problem = drawn(InputType::F32);
    let mut wrong = problem.clone();
    wrong.u.iter_mut().for_each(|u| *u *= 1.0005);
    let wrong = ssd(&wrong, CHUNK, |x| x);
    assert_eq!(file(&problem, &wrong, "ssd=bf16, scan=log-space-64").verdict(), Verdict::Pass);
    let case = file(&problem, &wrong, F32).judged_by(&asking("ssd-in-bf16"));
    assert_eq!(case.verdict, Verdict::Fail);
    assert!(case.diagnosis.iter().all(|found| !found.name.starts_with("ssd")), "{:?}", case.diagnosis);
}

#[test]
fn chunks_are_stated_beside_operands_and_no_state_of_each_step() {
    assert_eq!("ssd=f16".parse::<Stages>().expect("stages").to_string(), "ssd=f16, scan=log-space");
    let problem = drawn(InputType::F32);
    let recorded = |key, text| {
        recorded(&problem, &ssd(&problem, CHUNK, cut), &[("arithmetic", "ssd=tf32"), (key, text)])
    };
    let stages = recorded("scan", "log-space-64").recording().layout().stages;
    assert_eq!(stages.to_string(), "ssd=tf32, scan=log-space-64");
    assert!(!stages.holds_for_gradients());
    recorded("state_type", "bf16").is_refused("none beside `ssd`");
}
