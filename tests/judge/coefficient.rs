//! Promise: coefficients pass within their contract, and no further.

use holdfast::judge::coefficient::{Judgement, judge};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, Weights, sweep};
use holdfast::promise::Contract;
use holdfast::promise::allowance::U;
use holdfast::results::Verdict;
use holdfast::truth;

use crate::cases::{crossed, each};

#[test]
fn a_step_of_zero_must_be_the_exact_identity() {
    let problem = |delta, a| CoefficientProblem {
        weights: Weights::Real,
        delta: vec![delta],
        a: vec![a],
        b: vec![1.0],
    };
    let verdict = |problem: &CoefficientProblem, a_bar: f32, b_bar: f32| {
        let want = [f64::from(problem.delta[0])];
        let got = (&[f64::from(a_bar)][..], &[f64::from(b_bar)][..]);
        judge(Method::Zoh, problem, got, (&[1.0], &want), &Contract::PRODUCTION).verdict
    };
    for (delta, a) in [(0.0, -1.0), (0.5, 0.0)] {
        let problem = problem(delta, a);
        assert_eq!(verdict(&problem, 1.0, delta), Verdict::Pass);
        assert_eq!(verdict(&problem, 1f32.next_up(), delta), Verdict::Fail);
    }
    assert_eq!(verdict(&problem(0.0, -1.0), 1.0, 1e-30), Verdict::Fail);
}

fn one(weights: Weights, got: &[f32], want: &[f64]) -> Judgement {
    let w = weights.width();
    let problem = CoefficientProblem { weights, delta: vec![0.5], a: vec![-1.0; w], b: vec![1.0; w] };
    // Bilinear: 3.125u real, 7.125u complex.
    judge(Method::Bilinear, &problem, (got, got), (want, want), &Contract::PRODUCTION)
}

#[test]
fn real_weights_pass_within_their_contract_and_fail_beyond() {
    // At 1 an ulp is 2u: two of them are beyond 3.125u.
    let off = |ulps: u32| f32::from_bits(1f32.to_bits() + ulps);
    assert_eq!(one(Weights::Real, &[off(1)], &[1.0]).verdict, Verdict::Pass);
    assert_eq!(one(Weights::Real, &[off(2)], &[1.0]).verdict, Verdict::Fail);
    assert_eq!(one(Weights::Real, &[f32::NAN], &[0.75]).verdict, Verdict::Fail);
}

#[test]
fn complex_weights_are_judged_by_modulus() {
    // An imaginary part of 7u beside a real part of 1 passes although it has no correct digit.
    let off = |units: f64| [1.0, (units * U) as f32];
    assert_eq!(one(Weights::Complex, &off(7.1), &[1.0, 0.0]).verdict, Verdict::Pass);
    assert_eq!(one(Weights::Complex, &off(7.2), &[1.0, 0.0]).verdict, Verdict::Fail);
    assert_eq!(one(Weights::Complex, &[f32::NAN, 0.0], &[1.0, 0.0]).verdict, Verdict::Fail);
}

#[test]
fn a_complex_part_overflows_where_its_exact_value_does() {
    let verdict = |got: [f32; 2], want: [f64; 2]| one(Weights::Complex, &got, &want).verdict;
    let (up, down) = (f32::INFINITY, f32::NEG_INFINITY);
    assert_eq!(verdict([up, down], [1e40, -1e39]), Verdict::Pass);
    assert_eq!(verdict([up, 1e30], [1e39, 1e30]), Verdict::Pass);
    assert_eq!(verdict([down, 1e30], [1e39, 1e30]), Verdict::Fail);
    assert_eq!(verdict([f32::NAN, 1e30], [1e39, 1e30]), Verdict::Fail);
    assert_eq!(verdict([f32::MAX, 0.0], [1e39, 0.0]), Verdict::Fail);
    assert_eq!(verdict([up, 0.0], [1e30, 0.0]), Verdict::Fail);
    assert_eq!(verdict([1e30, up], [1e30, 1e30]), Verdict::Fail);
}

#[test]
fn an_infinite_bound_judges_nothing_whatever_stands_beside_it() {
    let problem = CoefficientProblem {
        weights: Weights::Real,
        delta: vec![0.0, 0.5],
        a: vec![-1.0; 2],
        b: vec![1.0; 2],
    };
    let (a_bar, b_bar) = ([1.0, 0.5f64.exp().recip()], [0.0, 0.5]);
    let verdict = |contract: &Contract| {
        judge(Method::Zoh, &problem, (&a_bar, &b_bar), (&a_bar, &b_bar), contract).verdict
    };
    let unbounded = Contract::uniform(f64::INFINITY, 0.0);
    assert_eq!(verdict(&Contract::PRODUCTION), Verdict::Pass);
    assert_eq!(verdict(&unbounded), Verdict::Unmeasured);
}

#[test]
fn a_point_says_where_it_is_and_how_many_ulps_it_is_off() {
    let off = 1.0 + 2.0 * U;
    let real = one(Weights::Real, &[off as f32], &[1.0]).points[0];
    assert_eq!((real.z_re, real.z_im, real.a_bar_ulp, real.b_bar_ulp), (-0.5, 0.0, 1.0, 1.0));
    // Complex ones are counted in units of the modulus.
    let complex = one(Weights::Complex, &[off as f32, 0.0], &[1.0, 0.0]).points[0];
    assert_eq!((complex.z_re, complex.z_im, complex.a_bar_ulp, complex.b_bar_ulp), (-0.5, -0.5, 2.0, 2.0));
}

/// The contract as the kernels' own page states it, in units of 2⁻²⁴, of Ā or of B̄ (`which`).
fn stated(method: Method, weights: Weights, which: usize) -> f64 {
    let formula = method.formula();
    let formula = match (formula.pole().is_some(), which, formula.phis(), formula.now().len()) {
        (true, ..) => "Ā and B̄ of `bilinear`",
        (_, 0, 0, 1) => "Ā = eᶻ of `zoh`",
        (_, 0, ..) => "Ā = eᶻ of the others",
        (_, _, 0, 1) => "B̄ = ΔB",
        (_, _, 0, _) => "B̄ of `rk4`",
        _ => "B̄ by φ-functions",
    };
    let mut lines = include_str!("../../kernels/README.md").lines();
    let line = lines.find(|line| line.starts_with(&format!("| {formula} |"))).expect("a row");
    let cells: Vec<&str> = line.split('|').collect();
    let (units, _) =
        cells[1 + weights.width()].split_once(": ").expect("what is promised, and what was measured");
    units.trim().parse().expect("a number")
}

/// Every element of a sweep off by a share of the contract: within it at ⅞, beyond it at 1¼.
#[test]
fn the_contract_is_the_stated_one_and_no_wider() {
    each(crossed([Weights::Real, Weights::Complex], [0, 1]), |(weights, which): (Weights, usize)| {
        let problem =
            sweep::all().into_iter().find(|sweep| sweep.weights == weights).expect("a sweep").draw(1);
        let width = weights.width();
        for method in Method::ALL {
            let units = stated(method, weights, which);
            let want = truth::coefficient::solve(method, &problem).expect("certified");
            let off = |share: f64| {
                let mut got = [want.a_bar.clone(), want.b_bar.clone()];
                for (i, element) in got[which].chunks_mut(width).enumerate() {
                    // Exact where nothing rounds; where half a subnormal is a large share, that is allowed as well.
                    let size = element.iter().fold(0.0, |size: f64, part| size.hypot(*part));
                    let z = problem.delta[i] * problem.a[i * width];
                    if z != 0.0 && size > 1e-30 && size < 1e30 {
                        element.iter_mut().for_each(|part| *part *= 1.0 + share * units * U);
                    }
                }
                let (got, want) = ((&got[0][..], &got[1][..]), (&want.a_bar[..], &want.b_bar[..]));
                judge(method, &problem, got, want, &Contract::PRODUCTION).verdict
            };
            assert_eq!(off(0.0), Verdict::Pass, "{method}");
            assert_eq!((off(0.875), off(-0.875)), (Verdict::Pass, Verdict::Pass), "{method}: {units}");
            assert_eq!((off(1.25), off(-1.25)), (Verdict::Fail, Verdict::Fail), "{method}: {units}");
        }
    });
}

/// A modulus alone says nothing of a turned phase.
#[test]
fn the_worst_complex_coefficient_is_shown_with_both_its_parts() {
    let worst = one(Weights::Complex, &[0.0, -1.0], &[0.0, 1.0]).worst_a_bar.expect("compared");
    assert_eq!((worst.got_parts, worst.want_parts), (vec![0.0, -1.0], vec![0.0, 1.0]));
    assert_eq!((worst.got, worst.want, worst.error), (1.0, 1.0, 2.0));
    assert!(worst.got_hex.contains(", -0x1"), "{}", worst.got_hex);
    let real = one(Weights::Real, &[2.0], &[1.0]).worst_a_bar.expect("compared");
    assert!(real.got_parts.is_empty() && real.want_parts.is_empty());
}
