//! Limits: something is kept from below, from above or on both sides, from some number on.

use holdfast::method::Method;
use num_complex::Complex64 as C;

use super::{Planting, Step, assert_said, drawn, plain};
use crate::cases::each;

type Change = fn(&Planting, Step) -> [C; 2];

fn of_delta(planting: &Planting, s: Step, delta: f64) -> [C; 2] {
    planting.right(Step { delta, ..s })
}

fn of_u(planting: &Planting, s: Step, u: f64) -> [C; 2] {
    planting.right(Step { u, ..s })
}

const OF_ZOH: &[(Change, &str)] = &[
    (|p, s| of_delta(p, s, s.delta.min(0.125)), "delta-at-most: Δ is clamped to at most 1/8"),
    (|p, s| of_delta(p, s, s.delta.max(0.0625)), "delta-at-least: Δ is clamped to at least 1/16"),
    (|p, s| of_delta(p, s, s.delta.clamp(0.0625, 0.2)), "delta-clamped: Δ is clamped to [1/16, 0.2]"),
    (|p, s| of_delta(p, s, s.delta.clamp(0.05, 0.15)), "delta-clamped: Δ is clamped to [0.05, 0.15]"),
    (|p, s| of_u(p, s, s.u.clamp(-0.5, 0.5)), "u-clipped: u of the scan is kept within [−1/2, 1/2]"),
    (|p, s| of_u(p, s, s.u.min(0.4)), "u-clipped: u of the scan is at most 0.4"),
    // As little as a thirtieth of the largest.
    (|p, s| of_u(p, s, s.u.clamp(-0.07, 0.07)), "u-clipped: u of the scan is kept within [−0.07, 0.07]"),
    (
        |p, s| {
            let [_, input] = p.right(s);
            [s.z().re.max(-0.3).exp().into(), input]
        },
        "exponent-clipped: Re ΔA is at least −0.3 in Ā and B̄",
    ),
    (
        |p, s| {
            let [a_bar, input] = p.right(s);
            [a_bar.re.min(0.9).into(), input]
        },
        "a-bar-at-most: Ā is clamped to at most 0.9",
    ),
    (
        |p, s| p.right(Step { b: s.b.re.clamp(-0.6, 0.6).into(), ..s }),
        "b-clipped: B is kept within [−0.6, 0.6]",
    ),
];

#[test]
fn a_limit_is_found() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 3, 20)));
    let said = |(change, expected): &(Change, &str)| {
        (planting.at_once(&planting.with_step(|s| change(&planting, s))), (*expected).to_owned())
    };
    assert_said(OF_ZOH.iter().map(said));
}

/// Which of the coefficients has the limit.
#[test]
fn a_limit_of_the_exponent_is_where_it_holds() {
    let cases: [(Change, &str); 3] = [
        (
            |p: &Planting, s: Step| [s.z().re.max(-0.3).exp().into(), p.right(s)[1]],
            "exponent-clipped-in-a-bar: Re ΔA is at least −0.3 in Ā only",
        ),
        (
            |p: &Planting, s: Step| {
                [p.right(s)[0], p.right(Step { a: (s.z().re.max(-0.3) / s.delta).into(), ..s })[1]]
            },
            "exponent-clipped-in-b-bar: Re ΔA is at least −0.3 in B̄ only",
        ),
        (
            |p: &Planting, s: Step| p.right(Step { a: (s.z().re.max(-0.3) / s.delta).into(), ..s }),
            "exponent-clipped: Re ΔA is at least −0.3 in Ā and B̄",
        ),
    ];
    each(cases, |(change, expected)| {
        let planting = Planting::new(Method::Rk4, drawn(plain(2, 3, 16)));
        assert_eq!(planting.at_once(&planting.with_step(|s| change(&planting, s))), expected);
    });
}

/// What is returned of all positions is no larger than a number, as f32 has it.
#[test]
fn outputs_that_are_clipped_are_said_to_be() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 3, 16)));
    let got = planting.with_output(|y| y.right().clamp(-0.05, 0.05));
    assert_eq!(planting.at_once(&got), "output-clipped: the output is clipped to [−0.05, 0.05]");
}
