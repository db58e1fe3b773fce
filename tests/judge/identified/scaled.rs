//! Numbers that something is multiplied with, or that are added to it: each is found, and written as somebody has typed it.

use std::f64::consts::PI;

use holdfast::method::Method;
use holdfast::problem::{Problem, Weights};
use num_complex::Complex64 as C;

use super::{Planting, Step, assert_said, drawn, plain};
use crate::cases::each;
use crate::support::problems::Layout;

type Change = fn(&Planting, Step) -> [C; 2];

fn said_of(planting: &Planting, (change, expected): &(Change, &str)) -> (String, String) {
    (planting.at_once(&planting.with_step(|s| change(planting, s))), (*expected).to_owned())
}

/// A right step with another Δ.
fn by(planting: &Planting, s: Step, factor: f64) -> [C; 2] {
    planting.right(Step { delta: factor * s.delta, ..s })
}

/// A right step with another A.
fn of_a(planting: &Planting, s: Step, a: C) -> [C; 2] {
    planting.right(Step { a, ..s })
}

/// Of zoh, whose B̄ is Δ alone.
const OF_ZOH: &[(Change, &str)] = &[
    (|p, s| by(p, s, 1.3), "delta-scaled: Δ is multiplied by 1.3"),
    (|p, s| by(p, s, PI), "delta-scaled: Δ is multiplied by π"),
    // Next to 1.
    (|p, s| by(p, s, 1.01), "delta-scaled: Δ is multiplied by 1.01"),
    (|p, s| by(p, s, 0.99), "delta-scaled: Δ is multiplied by 0.99"),
    (|p, s| by(p, s, 1.001), "delta-scaled: Δ is multiplied by 1.001"),
    (|p, s| of_a(p, s, 1.5 * s.a), "a-scaled: A is multiplied by 3/2"),
    (|p, s| of_a(p, s, -0.25 * s.a), "a-scaled: A is multiplied by −1/4"),
    (|p, s| of_a(p, s, s.a + 0.03), "a-offset: 0.03 is added to A"),
    (|p, s| of_a(p, s, s.a - 0.03), "a-offset: −0.03 is added to A"),
];

#[test]
fn a_number_is_found_in_steps() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 3, 16)));
    assert_said(OF_ZOH.iter().map(|one| said_of(&planting, one)));
}

/// One part of A alone.
#[test]
fn a_number_is_found_in_one_part_of_complex_a() {
    let cases: [(Change, &'static str); 2] = [
        (
            |p: &Planting, s: Step| of_a(p, s, C::new(s.a.re, 0.9 * s.a.im)),
            "a-imaginary-part-scaled: the imaginary part of A is multiplied by 0.9",
        ),
        (
            |p: &Planting, s: Step| of_a(p, s, C::new(0.75 * s.a.re, s.a.im)),
            "a-real-part-scaled: the real part of A is multiplied by 3/4",
        ),
    ];
    each(cases, |(change, expected)| {
        let planting =
            Planting::new(Method::Zoh, drawn(Layout { weights: Weights::Complex, ..plain(2, 2, 14) }));
        assert_said([said_of(&planting, &(change, expected))]);
    });
}

/// A small number that guards a division by A or by ΔA, on either side of 0.
const GUARDS: &[(Change, &str)] = &[
    (
        |p, s| [p.right(s)[0], p.right(s)[1] * (s.a / (s.a + 0.01)).powi(2)],
        "division-guarded: B̄ is divided by A + 0.01 in place of A",
    ),
    (
        |p, s| [p.right(s)[0], p.right(s)[1] * (s.a / (s.a - 0.01)).powi(2)],
        "division-guarded: B̄ is divided by A − 0.01 in place of A",
    ),
    (
        |p, s| [p.right(s)[0], p.right(s)[1] * (s.z() / (s.z() - 0.002)).powi(2)],
        "division-guarded: B̄ is divided by ΔA − 0.002 in place of ΔA",
    ),
];

#[test]
fn a_guarded_division_is_named() {
    let planting = Planting::new(Method::Foh, drawn(plain(2, 2, 14)));
    assert_said(GUARDS.iter().map(|one| said_of(&planting, one)));
}

/// With an initial state a factor on what enters is not one on what is read.
#[test]
fn a_factor_on_what_enters_is_found_beside_an_initial_state() {
    let cases: [(f64, &str); 3] = [(0.7, "0.7"), (-0.7, "−0.7"), (0.25, "1/4")];
    each(cases, |(factor, text)| {
        let mut problem = drawn(plain(2, 2, 14));
        problem.initial_state = Some(vec![0.9, -0.7, 0.5, -0.3]);
        let planting = Planting::new(Method::Zoh, problem);
        let got = planting.with_step(|s| [planting.right(s)[0], factor * planting.right(s)[1]]);
        let expected =
            format!("input-scaled: what enters the states is multiplied by {text}: a factor on B̄, B or u");
        assert_eq!(planting.at_once(&got), expected);
    });
}

/// Steps that go through softplus, where arguments of it are as given.
fn of_softplus(delta: impl Fn(usize) -> f32) -> Problem {
    let mut problem = drawn(plain(2, 2, 16));
    problem.delta_softplus = true;
    problem.delta = (0..problem.delta.len()).map(delta).collect();
    problem
}

#[test]
fn a_number_within_softplus_is_found() {
    let planting = Planting::new(Method::Zoh, of_softplus(|i| -3.0 + 0.125 * (i * 5 % 29) as f32));
    let raw = |s: Step| s.delta.exp_m1().ln();
    let beta =
        planting.with_step(|s| planting.right(Step { delta: (2.5 * raw(s)).exp().ln_1p() / 2.5, ..s }));
    let before = planting.with_step(|s| planting.right(Step { delta: (1.7 * raw(s)).exp().ln_1p(), ..s }));
    assert_said([
        (planting.at_once(&beta), "softplus-beta: softplus is log(1 + exp(βx))/β with β = 5/2".to_owned()),
        (
            planting.at_once(&before),
            "delta-scaled-before-softplus: delta is multiplied by 1.7 before softplus".to_owned(),
        ),
    ]);
}

/// A threshold of one or of two digits, between the arguments that are next to it.
#[test]
fn a_threshold_of_softplus_is_written_with_its_digits() {
    let cases: [(f32, f32, &str); 5] =
        [(0.4, 0.02, "0.4"), (0.7, 0.02, "0.7"), (2.0, 0.06, "2"), (0.68, 0.004, "0.68"), (1.3, 0.02, "1.3")];
    each(cases, |(threshold, apart, text)| {
        let problem = of_softplus(|i| match i % 4 {
            0 => threshold - apart,
            1 => threshold + apart,
            2 => -1.0 - 0.05 * (i % 7) as f32,
            _ => threshold + 0.9,
        });
        let planting = Planting::new(Method::Zoh, problem);
        let got = planting.with_step(|s| {
            let raw = s.delta.exp_m1().ln();
            let delta = if raw > f64::from(threshold) { raw } else { s.delta };
            planting.right(Step { delta, ..s })
        });
        let expected = format!("softplus-threshold: softplus(x) is x for x above {text} already");
        assert_eq!(planting.at_once(&got), expected);
    });
}
