//! Other formulas at a place or to one side, and a place beside what is wrong everywhere.

use holdfast::judge::model::phi;
use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;

use super::{
    A, Border, Change, Content, DELTA, EXP_OF_HALF, FIRST, Function, Holds, INVERSE, In, LARGEST, OF_A,
    RAISED, RE_Z, RESOLVENT, RIGHT, SIZE_IM_Z, SIZE_RE_Z, SUM, THIRD, UNKNOWN, Z, beyond, border_text,
    is_beyond, number, of_step, re_z_from_minus_3,
};
use crate::reconstructed::{List, Own, Step, Wrong, list};

/// What a sum at a place is made of.
const FUNCTIONS: &[(&str, Function)] = &[
    ("1", |_| C::ONE),
    ("z", |z| z),
    ("z²", |z| z * z),
    ("exp(z)", |z| z.exp()),
    ("φ₁", |z| phi(z)[1]),
    ("φ₂", |z| phi(z)[2]),
];
const FACTORS: &[(&str, f64)] = &[("1", 1.0), ("½", 0.5), ("−¾", -0.75), ("0.123", 0.123)];
const POWERS: &[(&str, i32)] = &[("1", 0), ("Δ", 1), ("Δ²", 2), ("Δ³", 3)];

/// Functions times powers of Δ, with one factor or another: two in three of them.
fn one_term_at_a_place() -> Vec<List> {
    let mut all = Vec::new();
    for (i, &(name, function)) in FUNCTIONS.iter().enumerate() {
        for (j, &(step, power)) in POWERS.iter().enumerate().filter(|(j, _)| (i + j) % 3 != 2) {
            let (share, factor) = FACTORS[(i + j) % FACTORS.len()];
            let what = format!("B̄ = {share}·{step}·{name} where Δ < 0.01");
            all.push(Wrong::new(what, move |own, s| {
                let [a_bar, b_bar] = own(s);
                let term = factor * s.delta.powi(power) * function(s.z());
                [a_bar, if s.delta < 0.01 { term * s.b * s.u } else { b_bar }]
            }));
        }
    }
    vec![list("one-term", (Method::Bilinear, Weights::Real), all)]
}

/// What is there elsewhere, and one term more.
fn one_term_more_at_a_place() -> Vec<List> {
    let terms = [(0, 0), (1, 1), (2, 2), (0, 3), (2, 0), (1, 2), (1, 3)];
    let all = terms.into_iter().enumerate().map(|(i, (function, power))| {
        let ((name, function), (step, power)) = (FUNCTIONS[function], POWERS[power]);
        let ((share, factor), of) = (FACTORS[i % FACTORS.len()], In::turn(i));
        let what = format!("{} = right + {share}·{step}·{name} where Δ > 3", of.name());
        Wrong::new(what, move |own, s| {
            let [a_bar, b_bar] = own(s);
            let term = if s.delta > 3.0 { factor * s.delta.powi(power) * function(s.z()) } else { C::ZERO };
            of.of([a_bar + term, b_bar + term * s.b * s.u], [a_bar, b_bar])
        })
    });
    vec![list("one-term-more", (Method::Poly, Weights::Complex), all)]
}

/// B̄u alone.
type Driven = fn(Own, Step) -> C;

/// B̄u of several terms, and of too many or too odd ones to be said.
const SUMS: &[(&str, Driven, Border)] = &[
    ("Δ + Δz/2", |_, s| s.b * s.u * s.delta * (1.0 + s.z() / 2.0), (DELTA, '<', 0.01)),
    ("½Δ(1 + exp(z))", |_, s| s.b * s.u * s.delta * (1.0 + s.z().exp()) / 2.0, (DELTA, '<', 0.01)),
    ("Δφ₁ − ½Δ²φ₂", |_, s| first_less_second(s), (DELTA, '<', 0.01)),
    (
        "Δ(1 + z/2 + z²/6)",
        |_, s| s.b * s.u * s.delta * (1.0 + s.z() / 2.0 + s.z() * s.z() / 6.0),
        (DELTA, '<', 0.01),
    ),
    ("Δ − Δ² + Δ³/2", |_, s| s.b * s.u * powers(s.delta, [1.0, -1.0, 0.5]), (DELTA, '<', 0.01)),
    ("1 + z + z²/2", |_, s| s.b * s.u * (1.0 + s.z() + s.z() * s.z() / 2.0), (A, '<', 0.3)),
    (
        "right + Δ² − Δ³z",
        |own, s| own(s)[1] + s.b * s.u * s.delta.powi(2) * (1.0 - s.delta * s.z()),
        (DELTA, '>', 3.0),
    ),
    ("0.123Δ + 0.456Δ²", |_, s| s.b * s.u * powers(s.delta, [0.123, 0.456, 0.0]), (DELTA, '<', 0.01)),
    ("Δ without B", |_, s| (s.u * s.delta).into(), (DELTA, '<', 0.01)),
    ("Δ without u", |_, s| s.b * s.delta, (DELTA, '<', 0.01)),
    ("Δ", |_, s| s.b * s.u * s.delta, (Z, '<', 3e-4)),
    ("Δ − ½Δ²", |_, s| s.b * s.u * powers(s.delta, [1.0, -0.5, 0.0]), (Z, '<', 3e-4)),
    ("0.123Δ", |_, s| s.b * s.u * s.delta * 0.123, (Z, '<', 3e-4)),
    ("Δφ₁", |_, s| s.b * s.u * s.delta * phi(s.z())[1], (RE_Z, '<', -14.0)),
    (
        "Δ, but 0 at Re z > 10,",
        |_, s| if s.z().re > 10.0 { C::ZERO } else { s.b * s.u * s.delta },
        (DELTA, '<', 0.01),
    ),
];

fn first_less_second(s: Step) -> C {
    let [_, p1, p2, _] = phi(s.z());
    s.b * s.u * s.delta * (p1 - 0.5 * s.delta * p2)
}

/// With these factors of Δ, Δ² and Δ³.
fn powers(delta: f64, [first, second, third]: [f64; 3]) -> f64 {
    delta * (first + delta * (second + delta * third))
}

fn several_terms_at_a_place() -> Vec<List> {
    let all = SUMS.iter().map(|&(content, value, border)| {
        let what = format!("B̄ = {content} where {}", border_text(border));
        Wrong::new(what, move |own, s| {
            let [a_bar, b_bar] = own(s);
            [a_bar, if is_beyond(border, s) { value(own, s) } else { b_bar }]
        })
    });
    vec![list("sums-at-a-place", (Method::Foh, Weights::Real), all)]
}

/// Functions that no sum of a few terms is: they are found where the place is about z.
fn another_formula_beyond_a_border() -> Vec<List> {
    let cases: [(Method, Weights, &[(Content, Border)]); 2] = [
        (
            Method::Foh,
            Weights::Real,
            &[
                (INVERSE, (Z, '>', 2.3)),
                (INVERSE, (RE_Z, '<', -2.0)),
                (INVERSE, (RE_Z, '<', -8.0)),
                (INVERSE, (Z, '<', 0.5)),
                (RESOLVENT, (Z, '<', 0.05)),
                (RESOLVENT, (DELTA, '<', 0.01)),
                (EXP_OF_HALF, (RE_Z, '>', 2.0)),
                (THIRD, (RE_Z, '<', -6.5)),
            ],
        ),
        (
            Method::Poly,
            Weights::Complex,
            &[
                (INVERSE, (Z, '>', 2.3)),
                (INVERSE, (RE_Z, '>', 2.0)),
                (RESOLVENT, (SUM, '<', 0.5)),
                (THIRD, (LARGEST, '<', 0.5)),
                (EXP_OF_HALF, (SIZE_IM_Z, '>', 2.0)),
                (EXP_OF_HALF, (SIZE_RE_Z, '>', 2.0)),
            ],
        ),
    ];
    cases
        .into_iter()
        .map(|(method, weights, contents)| {
            let all = contents.iter().enumerate();
            let all = all.map(|(i, &(content, border))| beyond(In::turn(i), content, border));
            list("formula-beyond", (method, weights), all)
        })
        .collect()
}

/// With |A| at most 4 nearly all that is asked at ordinary steps lies in the place.
fn another_a_at_a_place() -> Vec<List> {
    let cases: [(Method, Weights, &[(&'static str, Function)], Border); 2] = [
        (Method::Foh, Weights::Real, &OF_A[..4], (A, '<', 4.0)),
        (Method::HighOrder, Weights::Complex, &OF_A[..10], (DELTA, '<', 0.01)),
    ];
    cases
        .into_iter()
        .map(|(method, weights, of_a, border)| {
            let all = of_a.iter().enumerate().map(|(i, &(name, other))| {
                let of = In::turn(i);
                let what = format!("{name} in {} where {}", of.name(), border_text(border));
                Wrong::new(what, move |own, s| {
                    let there = if is_beyond(border, s) { Step { a: other(s.a), ..s } } else { s };
                    of.of(own(there), own(s))
                })
            });
            list("another-a-at-a-place", (method, weights), all)
        })
        .collect()
}

/// The series of φₖ up to a power of z; φₖ itself where it is not cut.
fn series(k: usize, last: Option<usize>, z: C) -> C {
    let Some(last) = last else { return phi(z)[k] };
    let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
    (0..=last).rev().fold(C::ZERO, |sum, j| sum * z + 1.0 / factorial(j + k))
}

fn cut_text(name: &str, last: Option<usize>) -> String {
    match last {
        Some(last) => format!("{name} up to z^{last}"),
        None => format!("{name} whole"),
    }
}

/// Up to which power φ₁ and φ₂ go, and where.
const CUTS: &[(Option<usize>, Option<usize>, Border)] = &[
    (Some(2), Some(1), (DELTA, '<', 0.01)),
    (Some(31), Some(30), (DELTA, '<', 0.01)),
    (Some(32), Some(31), (DELTA, '<', 0.01)),
    (None, Some(4), (DELTA, '<', 0.01)),
    (Some(7), None, (DELTA, '<', 0.01)),
    (Some(5), Some(5), (DELTA, '<', 0.01)),
    (Some(2), Some(1), (Z, '<', 2.5)),
    (Some(3), Some(2), (A, '<', 0.3)),
    (Some(3), Some(2), (Z, '>', 17.0)),
];

/// Series that end too early where Δ or A is small, or up to a limit that is too large.
fn series_are_cut_at_a_place() -> Vec<List> {
    let all = CUTS.iter().map(|&(first, second, border)| {
        let (of_first, of_second) = (cut_text("φ₁", first), cut_text("φ₂", second));
        let what = format!("{of_first}, {of_second} where {}", border_text(border));
        Wrong::new(what, move |own, s| {
            let [a_bar, b_bar] = own(s);
            let sum = series(1, first, s.z()) + 0.5 * s.delta * series(2, second, s.z());
            [a_bar, if is_beyond(border, s) { s.b * s.u * s.delta * sum } else { b_bar }]
        })
    });
    vec![list("cut-series", (Method::Poly, Weights::Real), all)]
}

/// Ā has a series of its own.
fn one_series_is_cut_at_a_place() -> Vec<List> {
    let all = [1, 3, 4, 9].into_iter().enumerate().map(|(i, last)| {
        let of = In::turn(i);
        let what = format!("{} up to z^{last} where Δ < 0.01", of.name());
        Wrong::new(what, move |own, s| {
            let [p0, p2] = [0, 2].map(|k| series(k, Some(last), s.z()));
            let cut = [p0, s.b * s.u * s.delta.powi(2) * p2];
            if s.delta < 0.01 { of.of(cut, own(s)) } else { own(s) }
        })
    });
    vec![list("cut-series", (Method::Foh, Weights::Complex), all)]
}

/// What it is to one side, what it is to the other, and which side the first is.
const SIDES: &[(Content, Content, &str, Holds)] = &[
    (FIRST, UNKNOWN, "|z| ≥ 2", |s| s.z().norm() >= 2.0),
    (FIRST, RIGHT, "|z| ≥ 0.2", |s| s.z().norm() >= 0.2),
    (RAISED, UNKNOWN, "|z| ≥ 0.9", |s| s.z().norm() >= 0.9),
    (RIGHT, UNKNOWN, "|z| < 0.7", |s| s.z().norm() < 0.7),
    (FIRST, UNKNOWN, "|z| < 0.7", |s| s.z().norm() < 0.7),
    (FIRST, RIGHT, "Re z < 0", |s| s.z().re < 0.0),
    (FIRST, UNKNOWN, "Re z < 0", |s| s.z().re < 0.0),
    (FIRST, UNKNOWN, "Re z ≤ 0 and |z| ≥ 0.9", |s| s.z().re <= 0.0 && s.z().norm() >= 0.9),
    (RIGHT, UNKNOWN, "Re z ≤ 0 and |z| ≥ 0.9", |s| s.z().re <= 0.0 && s.z().norm() >= 0.9),
    (RIGHT, FIRST, "Re z < 0", |s| s.z().re < 0.0),
    (RIGHT, FIRST, "|z| ≥ 2", |s| s.z().norm() >= 2.0),
    (FIRST, RIGHT, "|z| ≥ 0.7", |s| s.z().norm() >= 0.7),
    (FIRST, RESOLVENT, "|z| ≥ 2", |s| s.z().norm() >= 2.0),
    (FIRST, RIGHT, "|A| < 5", |s| s.a.norm() < 5.0),
    (FIRST, RIGHT, "Δ > 0.01", |s| s.delta > 0.01),
];

/// Where nothing holds everywhere, what holds to one side is said of that side, or up to a border that is found.
fn a_formula_to_one_side() -> Vec<List> {
    let cases: [(Method, Weights, usize, In); 2] =
        [(Method::Foh, Weights::Real, 1, In::BBar), (Method::Zoh, Weights::Complex, 3, In::ABar)];
    cases
        .into_iter()
        .map(|(method, weights, every, of)| {
            let all =
                SIDES.iter().step_by(every).map(|&((one, value), (other, value_there), place, holds)| {
                    let what = format!("{} = {one} where {place}, {other} elsewhere", of.name());
                    Wrong::new(what, move |own, s| {
                        of.of(if holds(s) { value(own, s) } else { value_there(own, s) }, own(s))
                    })
                });
            list("one-side", (method, weights), all)
        })
        .collect()
}

/// Wrong everywhere, and otherwise wrong at a place. At the last one's place it would be beyond all numbers that are told.
const EVERYWHERE_AND_SOMEWHERE: &[(&str, Change)] = &[
    ("2B̄, 0 where Δ < 0.01", |own, s| [own(s)[0], if s.delta < 0.01 { C::ZERO } else { 2.0 * own(s)[1] }]),
    ("B̄ = Δφ₁, Δ where |z| < 0.01", |own, s| {
        let factor = if s.z().norm() < 0.01 { C::ONE } else { phi(s.z())[1] };
        [own(s)[0], s.b * s.u * s.delta * factor]
    }),
    ("B̄ = 0, right where Δ < 0.01", |own, s| {
        [own(s)[0], if s.delta < 0.01 { own(s)[1] } else { C::ZERO }]
    }),
    ("Ā = 0, right where Δ < 0.01", |own, s| [if s.delta < 0.01 { own(s)[0] } else { C::ZERO }, own(s)[1]]),
    ("Ā = exp(z/2), NaN where z = 0", |own, s| {
        [if s.z() == C::ZERO { C::from(f64::NAN) } else { (s.z() / 2.0).exp() }, own(s)[1]]
    }),
    ("Ā = exp(0.7z), 1 where |z| < 0.01", |own, s| {
        [if s.z().norm() < 0.01 { C::ONE } else { (0.7 * s.z()).exp() }, own(s)[1]]
    }),
    ("Ā = exp(0.7z), and φ₂ made of it", |_, s| {
        let (z, exponential) = (s.z(), (0.7 * s.z()).exp());
        [exponential, s.b * s.u * s.delta.powi(2) * (exponential - 1.0 - z) / (z * z)]
    }),
    ("−B̄ with Re z ≥ −3", |own, s| [own(s)[0], -own(re_z_from_minus_3(s))[1]]),
    ("B̄ = Δφ₁ with Δ ≤ 0.5", |own, s| {
        let held = Step { delta: s.delta.min(0.5), ..s };
        [own(s)[0], of_step(held, phi(held.z())[1])[1]]
    }),
    ("B twice, 0 where |z| < 0.01", |own, s| {
        let [a_bar, b_bar] = own(Step { b: s.b * s.b, ..s });
        [a_bar, if s.z().norm() < 0.01 { C::ZERO } else { b_bar }]
    }),
    ("B twice, Δ where |z| < 0.01", |own, s| {
        let [a_bar, b_bar] = own(Step { b: s.b * s.b, ..s });
        [a_bar, if s.z().norm() < 0.01 { s.b * s.b * s.u * s.delta } else { b_bar }]
    }),
    ("B̄ = Δexp(z)/z³, NaN where |A| < 1e−5 and Δ < 1e−9", |own, s| {
        let z = s.z();
        let (is_zero, is_tiny) = (z == C::ZERO, s.a.norm() < 1e-5 && s.delta < 1e-9);
        let value = if is_tiny { C::from(f64::NAN) } else { z.exp() / z.powi(3) };
        [own(s)[0], if is_zero { C::ZERO } else { s.b * s.u * s.delta * value }]
    }),
];

fn wrong_everywhere_and_somewhere() -> Vec<List> {
    let all = EVERYWHERE_AND_SOMEWHERE.iter().map(|&(what, step)| Wrong::new(what, step));
    vec![list("everywhere-and-somewhere", (Method::Foh, Weights::Real), all)]
}

/// So little is added to what φ₃ is divided by that it shows near 0 alone.
fn little_is_added_below() -> Vec<List> {
    let cases: [(Weights, &[f64]); 2] = [(Weights::Real, &[2.5e-11, -2e-11]), (Weights::Complex, &[1e-10])];
    cases
        .into_iter()
        .map(|(weights, added)| {
            let all = added.iter().map(|&epsilon| {
                Wrong::new(format!("½Δ³φ₃·z³/(z³ + {})", number(epsilon)), move |own, s| {
                    let [a_bar, b_bar] = own(s);
                    let off = phi(s.z())[3] * epsilon / (s.z().powi(3) + epsilon);
                    [a_bar, b_bar - s.b * s.u * 0.5 * s.delta.powi(3) * off]
                })
            });
            list("added-below", (Method::HighOrder, weights), all)
        })
        .collect()
}

pub fn lists() -> Vec<List> {
    let all: [fn() -> Vec<List>; 10] = [
        one_term_at_a_place,
        one_term_more_at_a_place,
        several_terms_at_a_place,
        another_formula_beyond_a_border,
        another_a_at_a_place,
        series_are_cut_at_a_place,
        one_series_is_cut_at_a_place,
        a_formula_to_one_side,
        wrong_everywhere_and_somewhere,
        little_is_added_below,
    ];
    all.into_iter().flat_map(|of| of()).collect()
}
