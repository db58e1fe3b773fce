//! Promise: a backward pass that sums exponents, as chunked scans do, is judged as such where it says so.

use std::sync::Arc;

use holdfast::judge::budget::{self, gradient};
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, OutputGradients, Packed, Problem, Shape};
use holdfast::promise::Promise;
use holdfast::results::{CaseResult, Verdict};
use holdfast::tensor::{ComputedName, GradientName, Gradients, TensorName};
use holdfast::truth::gradient::solve;

use crate::backward::recorded;
use crate::support::problems::{Layout, generator, uniform};
use crate::written::{ComplexAs, single};

const LEN: usize = 40;

/// Nothing enters in the first positions: their ∂L/∂Δ is 0.
fn drawn() -> (Problem, OutputGradients) {
    let mut rng = generator("log space");
    let layout = Layout { b: Operand::Variable, c: Operand::Variable, ..Layout::plain(1, 2, 4, LEN) };
    let mut problem = layout.random(&mut rng);
    problem.u.chunks_mut(LEN).for_each(|row| row[..9].fill(0.0));
    let dout = uniform(problem.u.len(), InputType::F32, &mut rng);
    (problem, OutputGradients { dout, dlast_state: None })
}

/// ∂L/∂Δ and ∂L/∂A of zoh in f32, by running sums of z and of ∂L/∂z, of which so many terms are lost.
fn backward(problem: &Problem, given: &OutputGradients, lost: usize) -> [Vec<f32>; 2] {
    let Shape { dstate, .. } = problem.shape;
    let (mut by_delta, mut by_a) = (Vec::new(), Vec::new());
    for (_, d) in problem.channels() {
        let row = |values: &[f32], l: usize| values[d * LEN + l];
        let mut of_delta = [0.0f32; LEN];
        for n in 0..dstate {
            let a = problem.a[problem.weight_index(d, n)];
            let operand = |values: &[f32], l| values[problem.operand_index(Operand::Variable, (0, d), n, l)];
            let mut sum = 0.0f32;
            let sums: Vec<f32> = (0..LEN)
                .map(|l| {
                    sum += row(&problem.delta, l) * a;
                    sum
                })
                .collect();
            let mut of_sums = [0.0f32; LEN];
            for l in 0..LEN {
                for s in 0..=l {
                    let input = operand(&problem.b, s) * row(&problem.u, s);
                    let read = row(&given.dout, l) * operand(&problem.c, l);
                    let direct = read * (sums[l] - sums[s]).exp() * input;
                    let term = direct * row(&problem.delta, s);
                    of_sums[l] += term;
                    of_sums[s] -= term;
                    of_delta[s] += direct;
                }
            }
            let (mut of_z, mut of_a) = (0.0f32, 0.0f32);
            for k in (0..LEN - lost).rev() {
                of_z += of_sums[k];
                of_delta[k] += of_z * a;
                of_a += of_z * row(&problem.delta, k);
            }
            by_a.push(of_a);
        }
        by_delta.extend(of_delta);
    }
    [by_delta, by_a]
}

fn judged(
    problem: &Problem,
    given: &OutputGradients,
    [delta, a]: [Vec<f32>; 2],
    scan: Option<&str>,
) -> CaseResult {
    let truth = solve(problem, given, &[Method::Zoh]).expect("certified").remove(0);
    let gradients: Gradients<f32> = truth.tensors.map(|name, tensor| {
        tensor.with(match name {
            GradientName::Delta => delta.clone(),
            GradientName::A => a.clone(),
            _ => single(&tensor.values),
        })
    });
    let mut file = recorded((problem, given), "zoh", &gradients, ComplexAs::Trailing);
    file.metadata.extend(scan.map(|scan| ("scan".to_owned(), scan.to_owned())));
    file.judged()
}

#[test]
fn running_sums_of_gradients_are_allowed_where_they_are_stated() {
    let (problem, given) = drawn();
    let got = backward(&problem, &given, 0);
    let case = judged(&problem, &given, got.clone(), None);
    assert_eq!(case.verdict, Verdict::Fail);
    for scan in ["log-space", "log-space-64"] {
        let case = judged(&problem, &given, got.clone(), Some(scan));
        assert_eq!(case.verdict, Verdict::Pass);
        for name in [GradientName::Delta, GradientName::A] {
            let share = case.tensors[ComputedName::from(name)].worst.as_ref().expect("judged").share;
            assert!((1e-4..0.5).contains(&share), "{name}: {share}");
        }
    }
    let lost = backward(&problem, &given, 1);
    assert_eq!(judged(&problem, &given, lost, Some("log-space")).verdict, Verdict::Fail);
}

/// Sums that begin before a sequence do are off by more, and those of blocks that begin with it by less.
#[test]
fn blocks_are_those_of_the_item() {
    let (problem, given) = drawn();
    let contract = |scan: &str| {
        let stages = format!("scan={scan}").parse().expect("stages");
        Promise::recorded(stages).contract
    };
    let bounds_of = |given: &OutputGradients, scan: &str, starts: &[usize]| {
        let mut problem = problem.clone();
        problem.packed = Some(Arc::new(Packed::by_starts(starts, LEN, [1, 1])));
        let form = Method::Zoh;
        let outputs = budget::scan(form, &problem, &contract(scan));
        let pass = gradient::Pass { form: form.into(), problem: &problem, given, contract: &contract(scan) };
        let gradients = gradient::bounds(pass);
        let out = outputs.tensors[TensorName::Out].worst_case.clone();
        [out, gradients.tensors[GradientName::Delta].worst_case.clone()]
    };
    let bounds = |scan: &str, starts: &[usize]| bounds_of(&given, scan, starts);
    // A second sequence from 20 on: in a block of the first one, and in one of its own.
    let [of_another, own] = ["log-space-40", "log-space-20"].map(|scan| bounds(scan, &[0, 20, LEN]));
    let [whole, one] = [bounds("log-space", &[0, 20, LEN]), bounds("log-space", &[0, LEN])];
    for ((of_another, own), (whole, one)) in of_another.iter().zip(&own).zip(whole.iter().zip(&one)) {
        assert!(
            of_another[25] > own[25] && whole[25] > own[25],
            "{} {} {}",
            of_another[25],
            own[25],
            whole[25]
        );
        assert!(own[10] <= whole[10] && whole[10] <= one[10] * 1.001);
    }
    // What a running sum meets in the second sequence is in that of the first one, where they are of one block.
    let mut loud = given.clone();
    loud.dout.chunks_mut(LEN).for_each(|row| row[20..].iter_mut().for_each(|dout| *dout *= 1e6));
    let [[_, alone], [_, together]] =
        ["log-space-20", "log-space"].map(|scan| bounds_of(&loud, scan, &[0, 20, LEN]));
    assert!(together[10] > 1e3 * alone[10]);
    // Nothing is known of sums over padding, nor of those of a scan backwards that come from behind.
    let mut padded = problem.clone();
    let indices: Vec<i64> = (0..LEN as i64).map(|l| if l < 20 { -1 } else { 0 }).collect();
    padded.packed = Some(Arc::new(Packed::by_indices(&indices, LEN)));
    let mut two = problem.clone();
    two.packed = Some(Arc::new(Packed::by_starts(&[0, 20, LEN], LEN, [1, 1])));
    for (problem, method, at) in [(&padded, Method::Zoh, 25), (&two, Method::Poly, 5)] {
        for (scan, is_known) in [("log-space", false), ("log-space-20", method == Method::Zoh)] {
            let bounds = budget::scan(method, problem, &contract(scan));
            assert_eq!(bounds.tensors[TensorName::Out].bound[at].is_finite(), is_known, "{method} {scan}");
        }
    }
}
