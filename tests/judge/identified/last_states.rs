//! A wrong last state beside right outputs: after how many positions it is that, and whose.

use holdfast::method::Method;
use holdfast::problem::{Shape, Weights};
use holdfast::tensor::{TensorName, Tensors};
use num_complex::Complex64 as C;

use super::{Planting, Step, assert_said, drawn, plain};
use crate::cases::each;
use crate::support::problems::Layout;

impl Planting {
    /// What is right.
    fn sound(&self) -> Tensors<f64> {
        self.with_step(|s| self.right(s))
    }

    /// The last state of a scan with these steps, beside right outputs.
    fn with_last_state(&self, step: impl Fn(Step) -> [C; 2]) -> Tensors<f64> {
        let mut got = self.sound();
        got[TensorName::LastState] = self.with_step(step)[TensorName::LastState].clone();
        got
    }

    /// The state after so many positions: what comes later leaves it as it is.
    fn early(&self, count: usize) -> Tensors<f64> {
        let still = [C::from(1.0), C::from(0.0)];
        self.with_last_state(|s| if s.l < count { self.right(s) } else { still })
    }

    /// A last state that is made of the right one.
    fn with_values(&self, change: impl Fn(&[f64]) -> Vec<f64>) -> Tensors<f64> {
        let mut got = self.sound();
        let last_state = &mut got[TensorName::LastState];
        last_state.values = change(&last_state.values);
        last_state.values.iter_mut().for_each(|value| *value = f64::from(*value as f32));
        got
    }
}

/// How many positions there are, how many are missing in the last state, and what is said of that.
#[test]
fn a_last_state_that_is_too_early() {
    let cases: [(usize, usize, &str); 7] = [
        (
            20,
            4,
            "last-state-of-full-chunk: last_state is that after the last full chunk of 16 positions, \
             without the 4 positions after it",
        ),
        (
            17,
            1,
            "last-state-of-full-chunk: last_state is that after the last full chunk of 16 positions, \
             without the 1 position after it",
        ),
        (
            21,
            1,
            "last-state-of-full-chunk: last_state is that after the last full chunk of 4 positions, \
             without the 1 position after it",
        ),
        (
            21,
            5,
            "last-state-of-full-chunk: last_state is that after the last full chunk of 16 positions, \
             without the 5 positions after it",
        ),
        (20, 3, "last-state-early: last_state is the state before the last 3 positions"),
        (20, 1, "last-state-early: last_state is the state before the last 1 position"),
        (20, 19, "last-state-early: last_state is the state before the last 19 positions"),
    ];
    each(cases, |(seqlen, missing, said)| {
        let planting = Planting::new(Method::Zoh, drawn(plain(2, 2, seqlen)));
        let got = planting.early(seqlen - missing);
        assert_eq!(planting.at_once(&got), format!("{said}: only last_state shows it"));
    });
}

/// Steps of positions beyond the end, with softplus of a bias alone or of nothing.
#[test]
fn a_last_state_after_padded_positions() {
    let cases: [(i32, &str); 3] = [
        (1, "1 padded position more, with u = 0 and delta = 0 there"),
        (4, "4 padded positions more, to a multiple of 8, with u = 0 and delta = 0 there"),
        (12, "12 padded positions more, to a multiple of 32, with u = 0 and delta = 0 there"),
    ];
    each(cases, |(count, text)| {
        let mut problem = drawn(Layout { extras: true, ..plain(2, 2, 20) });
        problem.a = vec![-0.5, -0.75, -1.0, -0.625];
        problem.delta_bias = Some(vec![-1.0, -1.5]);
        let bias = [-1.0f64, -1.5];
        let planting = Planting::new(Method::Zoh, problem);
        // Beyond the last position the state decays by that much.
        let got = planting.with_last_state(|s| {
            let [a_bar, input] = planting.right(s);
            let padded = (s.a * bias[s.channel].exp().ln_1p() * f64::from(count)).exp();
            if s.l == 19 { [a_bar * padded, input * padded] } else { [a_bar, input] }
        });
        let expected = format!("last-state-after-padding: last_state is that after {text}");
        assert_eq!(planting.at_once(&got), expected);
    });
}

/// The other paddings: the last step again, nothing but softplus of 0, and the last position as a whole.
#[test]
fn paddings_differ_in_what_they_are_filled_with() {
    let mut problem = drawn(Layout { extras: true, ..plain(2, 2, 20) });
    problem.a = vec![-0.5, -0.75, -1.0, -0.625];
    let planting = Planting::new(Method::Zoh, problem);
    let padded = |more: &dyn Fn(Step) -> [C; 2]| {
        planting.with_last_state(|s| {
            let [a_bar, input] = planting.right(s);
            let [a_more, b_more] = if s.l == 19 { more(s) } else { [C::from(1.0), C::from(0.0)] };
            [a_more * a_bar, a_more * input + b_more]
        })
    };
    let said = |more: &dyn Fn(Step) -> [C; 2], with: &str| {
        let what = "last-state-after-padding: last_state is that after 1 padded position more, with";
        (planting.at_once(&padded(more)), format!("{what} {with} there"))
    };
    assert_said([
        said(&|s: Step| [planting.right(s)[0], C::from(0.0)], "u = 0 and the last position's Δ"),
        said(&|s: Step| [(s.a * 2f64.ln()).exp(), C::from(0.0)], "u = 0, delta = 0 and no bias"),
        said(&|s: Step| planting.right(s), "all inputs those of the last position"),
    ]);
}

/// So many positions are tried, and not one more.
#[test]
fn paddings_end_somewhere() {
    let cases: [(i32, &str); 2] = [
        (
            127,
            "last-state-after-padding: last_state is that after 127 padded positions more, with u = \
             0 and the last position's Δ there",
        ),
        (129, ""),
    ];
    each(cases, |(count, expected)| {
        let mut problem = drawn(plain(1, 2, 20));
        problem.a = vec![-0.5, -0.75];
        problem.delta[19] = 0.0078125;
        let planting = Planting::new(Method::Zoh, problem);
        let got = planting.with_last_state(|s| {
            let [a_bar, input] = planting.right(s);
            let padded = (s.z() * f64::from(count)).exp();
            if s.l == 19 { [a_bar * padded, input * padded] } else { [a_bar, input] }
        });
        assert_eq!(planting.at_once(&got), expected);
    });
}

/// Numbers of other channels and states, of three each: values are (channel, state).
#[test]
fn a_last_state_in_other_places() {
    let planting = Planting::new(Method::Zoh, drawn(plain(3, 3, 16)));
    let moved = |from: fn(usize, usize) -> (usize, usize)| {
        planting.with_values(|right| {
            (0..9)
                .map(|i| {
                    let (channel, state) = from(i / 3, i % 3);
                    right[3 * channel + state]
                })
                .collect()
        })
    };
    let said = |from: fn(usize, usize) -> (usize, usize), what: &str| {
        let expected = format!("last-state-of-other-place: last_state {what}: only last_state shows it");
        (planting.at_once(&moved(from)), expected)
    };
    assert_said([
        said(|d, n| (2 - d, n), "is written from the last channel to the first"),
        said(|d, n| ((d + 1) % 3, n), "of channel i is that of i + 1, around the end"),
        said(|d, n| ((d + 2) % 3, n), "of channel i is that of i − 1, around the end"),
        said(|_, n| (0, n), "is that of channel 0 for all"),
        said(|_, n| (2, n), "is that of the last channel for all"),
        said(|d, n| (d, (n + 1) % 3), "of state i is that of i + 1, around the end"),
        said(|d, _| (d, 2), "is that of the last state for all"),
        said(|d, n| ((3 * d + n) % 3, (3 * d + n) / 3), "lies in memory as (batch, dstate, dim)"),
    ]);
}

/// Items of a batch that take each other's place.
#[test]
fn a_last_state_of_another_item_of_the_batch() {
    let shape = Shape { batch: 3, dim: 1, dstate: 2, seqlen: 16, groups: 1 };
    let planting = Planting::new(Method::Zoh, drawn(Layout { shape, ..plain(1, 2, 16) }));
    let got = planting.with_values(|right| (0..6).map(|i| right[(i + 2) % 6]).collect());
    let what = "last_state of batch i is that of i + 1, around the end: only last_state shows it";
    assert_eq!(planting.at_once(&got), format!("last-state-of-other-place: {what}"));
}

/// Parts of it, and its size.
#[test]
fn a_last_state_in_part() {
    let mut problem = drawn(plain(2, 3, 16));
    problem.initial_state = Some(vec![0.9, -0.7, 0.5, -0.3, 0.8, 0.6]);
    let planting = Planting::new(Method::Zoh, problem);
    let kept = |keep: fn(usize) -> bool| {
        planting.with_values(|right| {
            right.iter().enumerate().map(|(i, x)| if keep(i % 3) { *x } else { 0.0 }).collect()
        })
    };
    let times = |factor: f64| planting.with_values(|right| right.iter().map(|x| factor * x).collect());
    let without_input = planting.with_last_state(|s| {
        let [a_bar, input] = planting.right(s);
        [a_bar, if s.l == 15 { C::from(0.0) } else { input }]
    });
    assert_said([
        (planting.at_once(&kept(|_| false)), "last-state-missing: last_state is 0".to_owned()),
        (
            planting.at_once(&kept(|n| n < 2)),
            "last-state-in-part: states from 2 on are 0 in last_state only".to_owned(),
        ),
        (
            planting.at_once(&kept(|n| n >= 1)),
            "last-state-in-part: states below 1 are 0 in last_state only".to_owned(),
        ),
        (
            planting.at_once(&times(0.5)),
            "last-state-halved: last_state is half of what it should be: only last_state shows it".to_owned(),
        ),
        (
            planting.at_once(&times(-1.0)),
            "last-state-negated: last_state has the wrong sign: only last_state shows it".to_owned(),
        ),
        (
            planting.at_once(&without_input),
            "last-state-without-input: last_state lacks the input of the last position".to_owned(),
        ),
    ]);
}

/// What is made of complex states.
#[test]
fn a_complex_last_state_in_part() {
    let planting = Planting::new(Method::Zoh, drawn(Layout { weights: Weights::Complex, ..plain(2, 2, 14) }));
    let made = |of: fn(f64, f64) -> [f64; 2]| {
        planting.with_values(|right| right.chunks(2).flat_map(|x| of(x[0], x[1])).collect())
    };
    let said = |of: fn(f64, f64) -> [f64; 2], expected: &str| {
        (planting.at_once(&made(of)), format!("last-state-{expected}"))
    };
    assert_said([
        said(|re, im| [re, -im], "conjugated: last_state is conjugated"),
        said(|re, _| [re, 0.0], "real-part: last_state loses its imaginary part"),
        said(|_, im| [im, 0.0], "imaginary-part: last_state is its imaginary part, as a real number"),
        said(|re, im| [re.hypot(im), 0.0], "modulus: last_state is its modulus"),
        said(
            |re, im| [im, re],
            "parts-exchanged: last_state has real and imaginary parts in each other's place",
        ),
    ]);
}
