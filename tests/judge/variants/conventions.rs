//! Scans under conventions other than the specification's own: outputs that read the state before its update, states that hold
//! the input without a constant B, the real part of complex outputs once.

use holdfast::judge::faults::around::Delay;
use holdfast::judge::faults::only::{Every, Only};
use holdfast::judge::faults::variant::{BUse, LastState, Readout, Variant};
use holdfast::method::Method;
use holdfast::problem::conventions::{ComplexOutput, Reads, StateHolds};
use holdfast::problem::{Conventions, Problem, Weights};
use holdfast::promise::allowance::{HALF_SUBNORMAL, SUM, U};

use super::{assert_near, changed, channel_of, last_state, out, run};
use crate::cases::{crossed, each};

const A: [f32; 2] = [-0.5, -2.0];
const B: [f32; 2] = [1.5, -0.75];
const C: [f32; 2] = [0.25, 2.0];
const START: [f32; 2] = [3.0, -1.0];
const DELTA: [f32; 4] = [0.5, 0.25, 1.0, 0.125];
const INPUT: [f32; 4] = [1.0, -2.0, 0.5, 4.0];

fn problem(reads: Reads, state: StateHolds) -> Problem {
    let mut problem = channel_of(&A, &DELTA);
    problem.u = INPUT.to_vec();
    (problem.b, problem.c) = (B.to_vec(), C.to_vec());
    problem.initial_state = Some(START.to_vec());
    problem.conventions = Conventions { reads, state, ..Conventions::default() };
    problem
}

/// x₋₁, x₀, … of each state by zoh, with B in it or not.
fn states(state: StateHolds) -> Vec<[f64; 2]> {
    let mut x = START.map(f64::from);
    let mut all = vec![x];
    for (delta, u) in DELTA.into_iter().zip(INPUT) {
        let delta = f64::from(delta);
        for (n, x) in x.iter_mut().enumerate() {
            let b = if state == StateHolds::B { B[n] } else { 1.0 };
            *x = (f64::from(A[n]) * delta).exp() * *x + delta * f64::from(b) * f64::from(u);
        }
        all.push(x);
    }
    all
}

/// What is read of these states.
fn read(state: StateHolds, x: [f64; 2]) -> f64 {
    let weight = |n: usize| if state == StateHolds::B { 1.0 } else { f64::from(B[n]) };
    (0..2).map(|n| f64::from(C[n]) * weight(n) * x[n]).sum()
}

#[test]
fn outputs_read_the_state_and_the_weights_that_are_stated() {
    each(
        crossed([Reads::AfterUpdate, Reads::BeforeUpdate], [StateHolds::B, StateHolds::InputAlone]),
        |(reads, state): (Reads, StateHolds)| {
            let channel = run(&Variant::specified(Method::Zoh), &problem(reads, state));
            let all = states(state);
            let first = if reads == Reads::AfterUpdate { 1 } else { 0 };
            let want: Vec<f64> = all[first..][..4].iter().map(|x| read(state, *x)).collect();
            assert_near(&out(&channel).values, &want);
            assert_near(&last_state(&channel).values, &all[4]);
            // A state without B is what a kernel leaves out of it by mistake, too.
            let without_b = changed(Method::Zoh, |v| v.last_state = LastState::WithoutB);
            let channel = run(&without_b, &problem(reads, state));
            assert_near(&last_state(&channel).values, &states(StateHolds::InputAlone)[4]);
        },
    );
}

/// A state that is read late is so beside the stated one; before the first there is nothing.
#[test]
fn a_state_is_read_late_beside_what_is_stated() {
    let cases: [(&str, Reads, usize); 2] =
        [("after its update", Reads::AfterUpdate, 1), ("before its update", Reads::BeforeUpdate, 2)];
    each(cases, |(_, reads, behind)| {
        let variant = changed(Method::Zoh, |v| v.delay = Delay::State(1));
        let channel = run(&variant, &problem(reads, StateHolds::B));
        let all = states(StateHolds::B);
        let want: Vec<f64> = (1..5)
            .map(|l: usize| l.checked_sub(behind).map_or(0.0, |l| read(StateHolds::B, all[l])))
            .collect();
        assert_near(&out(&channel).values, &want);
    });
}

/// C is negated at odd positions; the others read what is stated as well.
#[test]
fn where_a_change_does_not_hold_the_stated_state_is_read() {
    each(
        crossed([Reads::AfterUpdate, Reads::BeforeUpdate], [StateHolds::B, StateHolds::InputAlone]),
        |(reads, state): (Reads, StateHolds)| {
            let odd = Only::Reads(Every::Of { length: 2, at: 1 });
            let variant = changed(Method::Zoh, |v| (v.c_use, v.only) = (BUse::Negated, odd));
            let channel = run(&variant, &problem(reads, state));
            let (all, first) = (states(state), if reads == Reads::AfterUpdate { 1 } else { 0 });
            let sign = |l: usize| if l % 2 == 1 { -1.0 } else { 1.0 };
            let want: Vec<f64> = (0..4).map(|l| sign(l) * read(state, all[first + l])).collect();
            assert_near(&out(&channel).values, &want);
        },
    );
}

/// The state before the first update has no error: all that there is comes of reading it, once more where B does.
#[test]
fn a_product_more_is_off_by_one_rounding_more() {
    let cases: [(&str, StateHolds, f64); 2] =
        [("with b", StateHolds::B, 1.0), ("without b", StateHolds::InputAlone, 2.0)];
    each(cases, |(_, state, products)| {
        let problem = problem(Reads::BeforeUpdate, state);
        let channel = run(&Variant::specified(Method::Zoh), &problem);
        let weight = |n: usize| if state == StateHolds::B { 1.0 } else { f64::from(B[n]) };
        let size = |n: usize| (f64::from(C[n]) * weight(n) * f64::from(START[n])).abs();
        let magnitude = products * (size(0) + size(1));
        let bound = (U * (1.0 + U) + 2.0 * SUM) * magnitude + 4.0 * HALF_SUBNORMAL;
        let value = read(state, START.map(f64::from));
        let want = bound + 2.0 * SUM * (value.abs() + bound) + HALF_SUBNORMAL;
        assert_near(&out(&channel).bound[..1], &[want]);
    });
}

/// Re C x once, where that is stated, and where a kernel forgets that it counts twice.
#[test]
fn the_real_part_counts_as_often_as_is_stated() {
    let cases: [(&str, ComplexOutput, Readout, f64); 4] = [
        ("twice", ComplexOutput::TwiceRealPart, Readout::Right, 2.0),
        ("stated", ComplexOutput::RealPart, Readout::Right, 1.0),
        ("forgotten", ComplexOutput::TwiceRealPart, Readout::RealPartOnce, 1.0),
        ("both", ComplexOutput::RealPart, Readout::RealPartOnce, 1.0),
    ];
    each(cases, |(_, output, readout, factor)| {
        let mut problem = channel_of(&[-1.0], &[0.5]);
        problem.weights = Weights::Complex;
        (problem.a, problem.b, problem.c) = (vec![-1.0, 2.0], vec![1.5, -0.25], vec![0.5, 0.75]);
        problem.conventions.output = output;
        let channel = run(&changed(Method::Zoh, |v| v.readout = readout), &problem);
        // B̄ = ½ B, and the real part of C B is 0.75 + 0.1875.
        assert_near(&out(&channel).values, &[factor * 0.5 * 0.9375]);
    });
}
