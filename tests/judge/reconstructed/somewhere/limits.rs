//! Quantities that are held within limits.

use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;

use super::{Change, In, beside_drive, number, re_z_from_minus_3, with_z};
use crate::reconstructed::{List, Step, Wrong, list};

/// What is kept within limits, as a step of which it is so.
type Held = (&'static str, fn(Step, f64, f64) -> Step);

const HELD_DELTA: Held = ("Δ", |s, low, high| Step { delta: s.delta.clamp(low, high), ..s });
const HELD_RE_Z: Held = ("Re z", |s, low, high| with_z(s, C::new(s.z().re.clamp(low, high), s.z().im)));
const HELD_IM_Z: Held = ("|Im z|", |s, low, high| with_z(s, C::new(s.z().re, sized(s.z().im, low, high))));
const HELD_SIZE_RE_Z: Held =
    ("|Re z|", |s, low, high| with_z(s, C::new(sized(s.z().re, low, high), s.z().im)));
const HELD_Z: Held = ("|z|", |s, low, high| with_z(s, resized(s.z(), low, high)));
const HELD_RE_A: Held = ("Re A", |s, low, high| Step { a: C::new(s.a.re.clamp(low, high), s.a.im), ..s });
const HELD_IM_A: Held = ("Im A", |s, low, high| Step { a: C::new(s.a.re, s.a.im.clamp(low, high)), ..s });
const HELD_A: Held = ("|A|", |s, low, high| Step { a: resized(s.a, low, high), ..s });

/// Of another size, unless it is 0.
fn sized(x: f64, low: f64, high: f64) -> f64 {
    if x == 0.0 { x } else { x.abs().clamp(low, high).copysign(x) }
}

fn resized(x: C, low: f64, high: f64) -> C {
    let size = x.norm();
    if size == 0.0 { x } else { x * (size.clamp(low, high) / size) }
}

const DIVIDED_Z: Held = ("|z| by division", |s, low, high| with_z(s, divided(s.z(), low, high)));
const DIVIDED_A: Held = ("|A| by division", |s, low, high| Step { a: divided(s.a, low, high), ..s });

/// Of another size, and NaN where it is 0.
fn divided(x: C, low: f64, high: f64) -> C {
    x / x.norm() * x.norm().clamp(low, high)
}

/// No limit.
const OPEN: f64 = f64::INFINITY;

fn within(of: In, (name, held): Held, low: f64, high: f64) -> Wrong {
    let text = match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("{} ≤ {name} ≤ {}", number(low), number(high)),
        (true, false) => format!("{name} ≥ {}", number(low)),
        _ => format!("{name} ≤ {}", number(high)),
    };
    Wrong::new(format!("{text} in {}", of.name()), move |own, s| of.of(own(held(s, low, high)), own(s)))
}

/// From below, from above and from both sides, from as small limits as are found to as large ones. The last ones hold what is
/// beyond them at the pole of the method.
fn one_limit_or_two() -> Vec<List> {
    let cases: [(Method, Weights, &[(Held, f64, f64)]); 3] = [
        (
            Method::Foh,
            Weights::Real,
            &[
                (HELD_DELTA, 1e-8, OPEN),
                (HELD_DELTA, 0.0371, OPEN),
                (HELD_DELTA, -OPEN, 1e-6),
                (HELD_DELTA, -OPEN, 10.0),
                (HELD_DELTA, 0.001, 0.1),
                (HELD_RE_Z, -20.0, OPEN),
                (HELD_RE_Z, -0.0371, OPEN),
                (HELD_RE_Z, 0.0, OPEN),
                (HELD_RE_Z, -OPEN, 0.0),
                (HELD_RE_Z, -5.0, 5.0),
                (HELD_RE_Z, -0.5, 0.0),
                (HELD_Z, 0.01, OPEN),
                (HELD_Z, 0.1, 4.0),
                (HELD_RE_A, -OPEN, -0.01),
                (HELD_RE_A, -OPEN, 0.0),
                (HELD_RE_A, -1000.0, OPEN),
                (HELD_RE_A, -3.0, -0.1),
                (HELD_A, -OPEN, 500.0),
                (HELD_A, 0.01, OPEN),
                (DIVIDED_Z, 0.5, OPEN),
                (DIVIDED_A, 0.05, 20.0),
            ],
        ),
        (
            Method::HighOrder,
            Weights::Complex,
            &[
                (HELD_DELTA, 0.3, OPEN),
                (HELD_DELTA, 0.001, 0.1),
                (HELD_RE_Z, -3.0, OPEN),
                (HELD_RE_Z, -OPEN, 0.0),
                (HELD_RE_Z, -5.0, 5.0),
                (HELD_IM_Z, -OPEN, 1.0),
                (HELD_IM_Z, -OPEN, 10.0),
                (HELD_IM_Z, 0.3, OPEN),
                (HELD_IM_Z, 0.1, 3.0),
                (HELD_Z, -OPEN, 9.0),
                (HELD_Z, 0.1, 4.0),
                (HELD_RE_A, -OPEN, -0.01),
                (HELD_RE_A, -3.0, -0.1),
                (HELD_A, -OPEN, 3.0),
                (HELD_A, 0.01, OPEN),
                (HELD_SIZE_RE_Z, 0.1, OPEN),
                (HELD_IM_A, -OPEN, 1.0),
            ],
        ),
        (
            Method::Bilinear,
            Weights::Real,
            &[(HELD_DELTA, 0.5, OPEN), (HELD_DELTA, -OPEN, 2.0), (HELD_RE_A, -OPEN, 2.0)],
        ),
    ];
    cases
        .into_iter()
        .map(|(method, weights, limits)| {
            let all = limits.iter().enumerate();
            let all = all.map(|(i, &(held, low, high))| within(In::turn(i), held, low, high));
            list("limits", (method, weights), all)
        })
        .collect()
}

/// Limits of the whole step that fault models have, too.
fn limits_of_the_whole_step() -> Vec<List> {
    let all = [
        within(In::Both, HELD_DELTA, -OPEN, 0.1),
        within(In::Both, HELD_DELTA, -OPEN, 1.0),
        within(In::Both, HELD_DELTA, 1e-4, OPEN),
        within(In::Both, HELD_DELTA, 1e-3, OPEN),
        Wrong::new("Δ = 0 where Δ < 1e−8", |own, s| {
            own(Step { delta: if s.delta < 1e-8 { 0.0 } else { s.delta }, ..s })
        }),
    ];
    vec![list("limits", (Method::Rk4, Weights::Real), all)]
}

fn delta_from(s: Step, low: f64) -> Step {
    Step { delta: s.delta.max(low), ..s }
}

/// A limit and something else, what looks like one and is none, and limits of what has none that are looked for.
const BESIDE_LIMITS: &[(&str, Change)] = &[
    ("|Ā| ≤ 1", |own, s| [resized(own(s)[0], 0.0, 1.0), own(s)[1]]),
    ("|Ā| ≥ 0.001", |own, s| [resized(own(s)[0], 1e-3, OPEN), own(s)[1]]),
    ("|B̄u| ≤ 1", |own, s| [own(s)[0], resized(own(s)[1], 0.0, 1.0)]),
    ("|u| ≤ 1", |own, s| own(Step { u: s.u.clamp(-1.0, 1.0), ..s })),
    ("Re z = −3 where Re z < −6", |own, s| own(if s.z().re < -6.0 { re_z_from_minus_3(s) } else { s })),
    ("Δ = 0.5 where Δ > 1", |own, s| own(Step { delta: if s.delta > 1.0 { 0.5 } else { s.delta }, ..s })),
    ("|A| = 1 where |A| > 3", |own, s| {
        own(if s.a.norm() > 3.0 { Step { a: resized(s.a, 1.0, 1.0), ..s } } else { s })
    }),
    ("A = 0 where |z| < 0.05", |own, s| own(if s.z().norm() < 0.05 { Step { a: C::ZERO, ..s } } else { s })),
    ("Re z ≥ −3, NaN where z = 0", |own, s| {
        if s.z() == C::ZERO { [C::from(f64::NAN); 2] } else { own(re_z_from_minus_3(s)) }
    }),
    ("Δ ≥ 0.02, NaN where A = 0", |own, s| {
        if s.a == C::ZERO { [C::from(f64::NAN); 2] } else { own(delta_from(s, 0.02)) }
    }),
    ("Re z ≥ −3, Δ ≤ 0.5", |own, s| own(re_z_from_minus_3(Step { delta: s.delta.min(0.5), ..s }))),
    ("Re z ≥ −3, B̄ = 0 where Δ < 0.001", |own, s| {
        let [a_bar, b_bar] = own(re_z_from_minus_3(s));
        [a_bar, if s.delta < 1e-3 { C::ZERO } else { b_bar }]
    }),
    ("Δ ≥ 0.001, B̄ = 0 where |z| > 5.3", |own, s| {
        let [a_bar, b_bar] = own(delta_from(s, 1e-3));
        [a_bar, if s.z().norm() > 5.3 { C::ZERO } else { b_bar }]
    }),
    ("|z| ≥ 0.0015, B̄ = 0 where |z| > 5.3", |own, s| {
        let [a_bar, b_bar] = own(with_z(s, resized(s.z(), 0.0015, OPEN)));
        [a_bar, if s.z().norm() > 5.3 { C::ZERO } else { b_bar }]
    }),
    ("Re A ≤ −0.01, B̄ = 0 where |z| > 3.3", |own, s| {
        let [a_bar, b_bar] = own(Step { a: C::new(s.a.re.min(-0.01), s.a.im), ..s });
        [a_bar, if s.z().norm() > 3.3 { C::ZERO } else { b_bar }]
    }),
    ("Δ ≥ 0.02, not in Δu", |own, s| own(beside_drive(s, s.delta.max(0.02)))),
    ("Δ ≤ 0.5, not in Δu", |own, s| own(beside_drive(s, s.delta.min(0.5)))),
    ("0.001 ≤ Δ ≤ 0.1, not in Δu", |own, s| own(beside_drive(s, s.delta.clamp(1e-3, 0.1)))),
];

fn a_limit_and_something_else() -> Vec<List> {
    let all: Vec<Wrong> = BESIDE_LIMITS.iter().map(|&(what, step)| Wrong::new(what, step)).collect();
    vec![list("beside-limits", (Method::Poly, Weights::Real), all)]
}

pub fn lists() -> Vec<List> {
    let all: [fn() -> Vec<List>; 3] =
        [one_limit_or_two, limits_of_the_whole_step, a_limit_and_something_else];
    all.into_iter().flat_map(|of| of()).collect()
}
