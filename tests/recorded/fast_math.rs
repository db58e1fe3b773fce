//! Promise: a scan whose e^x is off by as much as CUDA documents of its approximations passes where it says so, is named with the place
//! in which it shows where it does not, and fails with four times these errors.

use holdfast::problem::regime;
use holdfast::problem::{InputType, Problem, Shape, Stages, Weights};
use holdfast::results::Verdict;
use holdfast::tensor::GradientName;

use crate::arithmetic::{Factors, caused, check, scan_by, softplus};
use crate::backward::{checked, random, recorded};
use crate::backward_arithmetic::{fails_alone, layer, stated, truth};
use crate::support::problems::Layout;
use crate::written::{ComplexAs, REAL, VARIABLE, drawn, named};

/// e^x, off by so much of TIMES the 2 + ⌊1.173|x|⌋ ulp that are documented, the last rounding among them.
fn exponential<const TIMES: u32>(x: f32, share: f64) -> f32 {
    let exact = f64::from(x).exp();
    let ulp = (exact.log2().floor() - 23.0).exp2();
    let most = f64::from(TIMES) * (2.0 + (1.173 * f64::from(x.abs())).floor());
    (exact + share * (most - 0.5) * ulp) as f32
}

/// From −1 to 1, by the argument's bits.
fn either_way(x: f32) -> f64 {
    let bits = x.to_bits().wrapping_mul(0x9e37_79b9) ^ (x.to_bits() >> 7).wrapping_mul(0x85eb_ca6b);
    f64::from(bits) / f64::from(u32::MAX) * 2.0 - 1.0
}

fn either<const TIMES: u32>(x: f32) -> f32 {
    exponential::<TIMES>(x, either_way(x))
}

/// Upwards, as far as it may be.
fn highest(x: f32) -> f32 {
    exponential::<1>(x, 1.0)
}

fn scan(problem: &Problem, exp: fn(f32) -> f32) -> Vec<f32> {
    scan_by(problem, |_, value| value, Factors { exp, ..Factors::NONE }, |x| exp(x).ln_1p())
}

/// A layer that forgets fast, so that errors of Δ do not cancel over positions.
fn forgetting(seqlen: usize) -> Problem {
    let shape = Shape { batch: 1, dim: 4, dstate: 4, seqlen, groups: 1 };
    let mut problem = drawn(regime::EVERYTHING, shape, REAL, VARIABLE, (3, "fast math"));
    problem.d = Some(vec![0.0; shape.dim]);
    problem
}

/// Small steps: x of softplus is about −60. (The sum with the bias is off by as much as half of what is documented there.)
fn of_small_steps() -> Problem {
    let mut problem = forgetting(160);
    problem.delta_bias = Some(vec![-60.0; problem.shape.dim]);
    problem.a.iter_mut().enumerate().for_each(|(i, a)| *a = -1e26 * (1.0 + (i % 4) as f32));
    problem
}

/// Gates that are nearly shut.
fn of_small_gates() -> Problem {
    let mut problem = forgetting(160);
    problem.a.iter_mut().for_each(|a| *a *= 100.0);
    problem.z.as_mut().expect("a gate").iter_mut().for_each(|z| *z = -25.0 - 2.0 * z.clamp(-2.0, 2.0));
    problem
}

#[test]
fn documented_errors_are_named_where_they_show_and_pass_where_they_are_stated() {
    for (problem, place) in [(of_small_steps(), "softplus"), (of_small_gates(), "the gate")] {
        let out = scan(&problem, either::<1>);
        let case = caused(&problem, out, Some("fast-math + naive-softplus"));
        assert_eq!(case.verdict, Verdict::Fail, "{place}: {:?}", case.worst);
        let found = named(&case.diagnosis);
        assert_eq!(found.first(), Some(&"fast-math"), "{place}: {found:?}");
        assert!(!found.contains(&"naive-softplus"), "{place}: {found:?}");
        let what = &case.diagnosis[0].what;
        assert!(
            what.contains(&format!("e^x of {place} is")) && what.contains("--arithmetic 'exp=fast'"),
            "{what}"
        );

        // Plain f32 is right by this statement, too.
        for exp in [f32::exp, either::<1>, highest] {
            let case = &check(&problem, scan(&problem, exp), Some(Stages::FAST)).cases[0];
            assert_eq!(case.verdict, Verdict::Pass, "{place}: {:?}", case.worst);
        }
        let case = &check(&problem, scan(&problem, highest), Some(Stages::FAST)).cases[0];
        assert!(case.worst.as_ref().is_some_and(|worst| worst.ratio > 0.5), "{place}: {:?}", case.worst);
        let case = &check(&problem, scan(&problem, either::<4>), Some(Stages::FAST)).cases[0];
        assert_eq!(case.verdict, Verdict::Fail, "{place}");
    }
}

/// Errors that go one way are no roundings of e^x, though its bounds allow them.
#[test]
fn a_factor_on_small_steps_is_no_fast_math() {
    let problem = of_small_steps();
    let out = scan_by(&problem, |_, value| value, Factors::NONE, |x| softplus(x) * (1.0 + 1e-5));
    let case = caused(&problem, out, Some("fast-math"));
    assert_eq!(case.verdict, Verdict::Fail);
    assert!(case.diagnosis.iter().all(|found| found.name != "fast-math"), "{:?}", case.diagnosis);
}

/// A naive softplus loses the same digits wherever it runs.
#[test]
fn errors_as_large_as_those_of_a_naive_softplus_are_none() {
    let mut problem = forgetting(160);
    problem.delta_bias = Some(vec![-4.0; problem.shape.dim]);
    problem.a.iter_mut().for_each(|a| *a *= 100.0);
    let naive = |x: f32| (1.0f32 + x.exp()).ln();
    let as_large = |x: f32| {
        let exact = f64::from(x).exp().ln_1p();
        (exact + either_way(x) / f64::from(1 << 24)) as f32
    };
    for (softplus, is_named) in [(&naive as &dyn Fn(f32) -> f32, true), (&as_large, false)] {
        let out = scan_by(&problem, |_, value| value, Factors::NONE, softplus);
        let case = caused(&problem, out, Some("naive-softplus"));
        assert_eq!(case.verdict, Verdict::Fail);
        let found = named(&case.diagnosis);
        assert_eq!(found.contains(&"naive-softplus"), is_named, "{found:?}");
    }
}

/// Beyond ±π nothing is documented of sine and cosine: no bound there explains an error.
#[test]
fn angles_of_which_nothing_is_documented_explain_nothing() {
    let shape = Shape { batch: 1, dim: 4, dstate: 3, seqlen: 24, groups: 1 };
    let (mut problem, given) = random(&Layout { weights: Weights::Complex, ..Layout::whole(shape) });
    problem.a.iter_mut().skip(1).step_by(2).for_each(|angle| *angle = 50.0);
    let wrong = truth(&problem, &given).map(|name, tensor| {
        let factor = if name == GradientName::Delta { 1.5 } else { 1.0 };
        tensor.with(tensor.values.iter().map(|&want| (factor * want) as f32).collect())
    });
    let case = checked(&recorded((&problem, &given), "zoh", &wrong, ComplexAs::Trailing)).remove(0);
    assert_eq!(case.verdict, Verdict::Fail);
    let found = named(&case.diagnosis);
    assert!(!found.is_empty() && !found.contains(&"fast-math"), "{found:?}");
}

/// A gate that is nearly shut, of a backward pass.
#[test]
fn gradients_may_be_off_by_what_is_documented_where_it_is_stated() {
    let (mut problem, given) = layer(InputType::F32);
    problem.z.as_mut().expect("a gate").iter_mut().for_each(|z| *z = 8.0 * *z - 16.5);
    let truth = truth(&problem, &given);
    let off_by = |times: f64| {
        truth.map(|name, tensor| {
            let off = |(i, &want): (usize, &f64)| {
                let z = f64::from(problem.z.as_ref().expect("a gate")[i]);
                let most = times * (4.0 + 2.0 * (1.173 * z.abs()).floor()) / f64::from(1 << 24);
                (want * (1.0 + if i % 2 == 0 { most } else { -most })) as f32
            };
            tensor.with(match name {
                GradientName::Z => tensor.values.iter().enumerate().map(off).collect(),
                _ => tensor.values.iter().map(|&want| want as f32).collect(),
            })
        })
    };
    let sound = off_by(1.0);
    let case = checked(&recorded((&problem, &given), "zoh", &sound, ComplexAs::Trailing)).remove(0);
    fails_alone(&case);
    let found = &case.diagnosis[0];
    assert!(found.name == "fast-math" && found.what.contains("e^x of the gate is"), "{:?}", case.diagnosis);
    let case = stated((&problem, &given), &sound, "exp=fast");
    assert_eq!(case.verdict, Verdict::Pass, "{:?}", case.worst);
    assert!(case.tensors[GradientName::Z].worst.as_ref().is_some_and(|worst| worst.ratio > 0.5));
    fails_alone(&stated((&problem, &given), &off_by(4.0), "exp=fast"));
}
