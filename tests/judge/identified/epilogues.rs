//! Factors on what is read and on the skip, with the gate: how they are written, alone and together.

use std::f64::consts::{LN_2, LOG2_E, PI, SQRT_2};

use holdfast::method::Method;
use num_complex::Complex64 as C;

use super::{Output, Planting, Step, assert_said, drawn, plain, sigmoid};
use crate::cases::each;
use crate::support::problems::Layout;

/// A factor on what is read, as it is written.
const FACTORS: &[(f64, &str)] = &[
    (3.0, "3"),
    (-2.0, "−2"),
    (1.0 / 3.0, "1/3"),
    (-2.0 / 3.0, "−2/3"),
    (0.25, "1/4"),
    (1.25, "5/4"),
    (5.0 / 6.0, "5/6"),
    (0.375, "3/8"),
    (5.0 / 12.0, "5/12"),
    (3.0 / 16.0, "3/16"),
    (12.5, "25/2"),
    // The numerator of a fraction is 64 at most.
    (63.0 / 16.0, "63/16"),
    (65.0 / 16.0, "4.0625"),
    (64.0 / 3.0, "64/3"),
    (31.5, "63/2"),
    (32.5, "32.5"),
    (0.7, "0.7"),
    (-0.9, "−0.9"),
    (1.37, "1.37"),
    (0.1234, "0.1234"),
    (1000.0, "1000"),
    (1234.0, "1234"),
    // Where a decimal is short, it has no exponent.
    (90_000.0, "90000"),
    (100_000.0, "1e5"),
    (0.002, "0.002"),
    (0.0002, "2e−4"),
    (LN_2, "ln 2"),
    (LOG2_E, "log₂e"),
    (PI, "π"),
    (-PI, "−π"),
    (2.0 * PI, "2π"),
    (SQRT_2, "√2"),
    (1.0 / SQRT_2, "1/√2"),
    (1.702, "1.702"),
    // Next to 1 is one that somebody has typed, of one digit, or one that is farther off than lost digits make it.
    (1.001, "1.001"),
    (0.999, "0.999"),
    (-1.001, "−1.001"),
    (1.0025, "1.0025"),
    (0.9975, "0.9975"),
];

#[test]
fn a_factor_is_written_as_somebody_has_typed_it() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 3, 16)));
    let said = |&(factor, text): &(f64, &str)| {
        let got = planting.with_output(|y| factor * y.readout());
        let expected = format!(
            "readout-scaled: what the states contribute is multiplied by {text}: a factor on B̄, on C or on their sum"
        );
        (planting.at_once(&got), expected)
    };
    assert_said(FACTORS.iter().map(said));
}

/// What enters the states shows in last_state, too, which tells it from what is read.
#[test]
fn a_factor_on_what_enters_is_told_from_one_on_what_is_read() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 3, 16)));
    let said = |(factor, text): (f64, &str)| {
        let got = planting.with_step(|s| {
            let [a_bar, input] = planting.right(s);
            [a_bar, factor * input]
        });
        let expected =
            format!("input-scaled: what enters the states is multiplied by {text}: a factor on B̄, B or u");
        (planting.at_once(&got), expected)
    };
    let factors = [(0.7, "0.7"), (-0.5, "−1/2"), (1.0 / 3.0, "1/3"), (LN_2, "ln 2"), (-3.0, "−3")];
    assert_said(factors.map(said));
}

/// Lost digits look like a factor next to 1 that nobody would have typed: it is no finding.
#[test]
fn a_factor_next_to_1_that_nobody_types_is_not_named() {
    let cases: [f64; 2] = [1.0015, 0.9985];
    each(cases, |factor| {
        let planting = Planting::new(Method::Zoh, drawn(plain(1, 2, 12)));
        assert_eq!(planting.at_once(&planting.with_output(|y| factor * y.readout())), "");
    });
}

type Outputs = &'static [(fn(&Output) -> f64, &'static str)];

/// With a skip and no gate.
const SKIP: Outputs = &[
    (|y| y.readout() - y.skip(), "skip-negated: the skip D·u is subtracted"),
    (|y| y.readout() + 3.0 * y.skip(), "skip-scaled: the skip D·u is multiplied by 3"),
    (|y| y.readout() + y.skip() / 2.0, "skip-scaled: the skip D·u is multiplied by 1/2"),
    (|y| y.readout() - 1.5 * y.skip(), "skip-scaled: the skip D·u is multiplied by −3/2"),
    (|y| y.readout() + y.u, "skip-without-d: the skip is u, without D"),
    (
        |y| y.readout() + 2.0 * y.u,
        "skip-without-d + skip-doubled: the skip is u, without D; the skip D·u is added twice",
    ),
    (
        |y| y.readout() + 2.0 * y.delta * y.skip(),
        "u-times-delta-in-skip + skip-doubled: u is multiplied by Δ once more in the skip alone; the skip D·u is added twice",
    ),
    (
        |y| 0.6 * y.readout() + 0.3 * y.skip(),
        "skip-scaled + readout-scaled: the skip D·u is multiplied by 0.3; what the states contribute is multiplied by 0.6: a \
         factor on B̄, on C or on their sum",
    ),
    (
        |y| 0.6 * y.readout(),
        "skip-missing + readout-scaled: the skip D·u is missing; what the states contribute is multiplied by 0.6: a factor on \
         B̄, on C or on their sum",
    ),
    (
        |y| -y.readout() - y.skip(),
        "skip-negated + readout-negated: the skip D·u is subtracted; what the states contribute is multiplied by −1: a factor on \
         B̄, on C or on their sum",
    ),
];

/// With a skip and a gate.
const GATED: Outputs = &[
    (|y| y.readout() * y.gate() + y.skip(), "gate-before-skip: the skip is added after the gate"),
    (|y| y.readout() + y.skip() * y.gate(), "gate-on-skip-only: the gate multiplies the skip alone"),
    (
        |y| y.readout() * y.gate() + y.u,
        "gate-before-skip + skip-without-d: the skip is added after the gate; the skip is u, without D",
    ),
    (
        |y| y.readout() + 2.0 * y.skip(),
        "gate-missing + skip-doubled: the gate is missing; the skip D·u is added twice",
    ),
    (
        |y| (y.readout() + y.u) * z(y).tanh(),
        "gate-tanh + skip-without-d: the gate is tanh(z); the skip is u, without D",
    ),
    (
        |y| (y.readout() + y.skip()) * z(y) * sigmoid(1.702 * z(y)),
        "gate-quick-gelu: the gate is z·sigmoid(1.702 z)",
    ),
    (|y| (y.readout() + y.skip()) * (1.0 + y.gate()), "gate-plus-1: the gate is 1 + silu(z)"),
    (
        |y| {
            let value = y.readout() + y.skip();
            value * sigmoid(value) * z(y)
        },
        "gate-exchanged: silu is taken of y and multiplied by z: silu(y)·z",
    ),
    (
        |y| (0.6 * y.readout() + y.skip()) * z(y).max(0.0),
        "gate-relu + readout-scaled: the gate is relu(z); what the states contribute is multiplied by 0.6: a factor on B̄, on C \
         or on their sum",
    ),
];

fn z(y: &Output) -> f64 {
    y.z.expect("gated")
}

#[test]
fn skip_and_gate_are_told_apart() {
    let cases: [(bool, Outputs); 2] = [(false, SKIP), (true, GATED)];
    each(cases, |(gate, all)| {
        let planting = Planting::new(Method::Zoh, drawn(Layout { extras: true, gate, ..plain(2, 3, 16) }));
        let said = |(output, expected): &(fn(&Output) -> f64, &str)| {
            (planting.at_once(&planting.with_output(output)), (*expected).to_owned())
        };
        assert_said(all.iter().map(said));
    });
}

/// Where last_state says that what is read is right, it is what enters.
#[test]
fn what_enters_is_named_beside_a_wrong_skip() {
    let planting = Planting::new(Method::Zoh, drawn(Layout { extras: true, ..plain(2, 3, 16) }));
    let said = |(input, skip, expected): (f64, f64, &str)| {
        let step = |s: Step| -> [C; 2] {
            let [a_bar, driven] = planting.right(s);
            [a_bar, input * driven]
        };
        let got = planting.recorded(step, |y| y.readout() + skip * y.skip());
        (planting.at_once(&got), expected.to_owned())
    };
    assert_said([
        said((
            0.6,
            3.0,
            "skip-scaled + input-scaled: the skip D·u is multiplied by 3; what enters the states is multiplied by 0.6: a factor \
             on B̄, B or u",
        )),
        said((
            -1.0,
            -1.0,
            "skip-negated + input-negated: the skip D·u is subtracted; what enters the states is multiplied by −1: a factor on \
             B̄, B or u",
        )),
    ]);
}
