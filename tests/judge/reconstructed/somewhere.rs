//! Something is wrong at one place alone, beyond a limit, to one side of a border, or of another step than the one that is
//! asked about.

use holdfast::judge::model::phi;
use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;
use rstest::rstest;

use super::{Own, Step, Wrong, recorded};

/// Which coefficients are wrong.
#[derive(Clone, Copy)]
enum In {
    ABar,
    BBar,
    Both,
}

impl In {
    /// Each in turn.
    fn turn(i: usize) -> In {
        [In::BBar, In::ABar, In::Both][i % 3]
    }

    fn name(self) -> &'static str {
        match self {
            In::ABar => "Ā",
            In::BBar => "B̄",
            In::Both => "both",
        }
    }

    /// These coefficients of a wrong step, the others of the right one.
    fn of(self, [a_bar, b_bar]: [C; 2], right: [C; 2]) -> [C; 2] {
        match self {
            In::ABar => [a_bar, right[1]],
            In::BBar => [right[0], b_bar],
            In::Both => [a_bar, b_bar],
        }
    }
}

/// A number as it stands in a label.
fn number(x: f64) -> String {
    let text = if x != 0.0 && x.abs() < 1e-3 { format!("{x:e}") } else { x.to_string() };
    text.replace('-', "−")
}

/// Another z beside Δ as it is.
fn with_z(s: Step, z: C) -> Step {
    if s.delta == 0.0 { s } else { Step { a: z / s.delta, ..s } }
}

/// Another Δ everywhere but in Δu.
fn beside_drive(s: Step, delta: f64) -> Step {
    let share = if delta == 0.0 { 1.0 } else { s.delta / delta };
    Step { delta, u: s.u * share, ..s }
}

/// What a place may be about.
type Measure = (&'static str, fn(Step) -> f64);

const Z: Measure = ("|z|", |s| s.z().norm());
const DELTA: Measure = ("Δ", |s| s.delta);
const A: Measure = ("|A|", |s| s.a.norm());
const RE_Z: Measure = ("Re z", |s| s.z().re);
const RE_A: Measure = ("Re A", |s| s.a.re);
const SUM: Measure = ("|Re z| + |Im z|", |s| s.z().re.abs() + s.z().im.abs());
const LARGEST: Measure = ("max(|Re z|, |Im z|)", |s| s.z().re.abs().max(s.z().im.abs()));
const SIZE_IM_Z: Measure = ("|Im z|", |s| s.z().im.abs());
const SIZE_RE_Z: Measure = ("|Re z|", |s| s.z().re.abs());

/// Of what a border is, to which side of it something is wrong, and where it is.
type Border = (Measure, char, f64);

fn is_beyond(((_, measure), side, end): Border, s: Step) -> bool {
    if side == '<' { measure(s) < end } else { measure(s) > end }
}

fn border_text(((name, _), side, end): Border) -> String {
    format!("{name} {side} {}", number(end))
}

/// Whether a step is at a place.
type Holds = fn(Step) -> bool;

/// Smaller than any |z| but 0.
const NOTHING: f64 = 1e-300;

/// What is computed in the place of Ā and of B̄u.
type Change = fn(Own, Step) -> [C; 2];

/// The same by a name.
type Content = (&'static str, Change);

const RIGHT: Content = ("right", |own, s| own(s));
const ZERO: Content = ("0", |_, _| [C::ZERO; 2]);
const ONE: Content = ("1", |_, s| [C::ONE, s.b * s.u]);
const NAN: Content = ("NaN", |_, _| [C::from(f64::NAN); 2]);
const INFINITE: Content = ("∞", |_, _| [C::from(f64::INFINITY); 2]);
const LINEAR: Content = ("Δ", |_, s| [s.delta.into(), s.b * s.u * s.delta]);
const INVERSE: Content = ("−1/A", |_, s| [-1.0 / s.a, -s.b * s.u / s.a]);
const RESOLVENT: Content = ("(Δ)/(1 − z)", |_, s| of_step(s, 1.0 / (1.0 - s.z())));
const EXP_OF_HALF: Content = ("(Δ)exp(z/2)", |_, s| of_step(s, (s.z() / 2.0).exp()));
const FIRST: Content = ("(Δ)φ₁", |_, s| of_step(s, phi(s.z())[1]));
const THIRD: Content = ("(Δ)φ₃", |_, s| of_step(s, phi(s.z())[3]));
const RAISED: Content = ("(Δ)(1 + z/16)¹⁶", |_, s| of_step(s, (1.0 + s.z() / 16.0).powi(16)));
const UNKNOWN: Content = ("unknown", |own, s| own(s).map(|x| strange(s) * x));

/// A function of z alone, and Δ times it.
fn of_step(s: Step, value: C) -> [C; 2] {
    [value, s.b * s.u * s.delta * value]
}

/// No formula has this factor, which differs at every size of z and is not near 1 anywhere.
fn strange(s: Step) -> f64 {
    1.3 + 0.1 * (9.0 * (s.z().norm() + 1e-30).ln()).cos()
}

/// Something else where a condition holds.
fn at(
    of: In,
    content: &str,
    value: impl Fn(Own, Step) -> [C; 2] + Sync + 'static,
    place: &str,
    holds: impl Fn(Step) -> bool + Sync + 'static,
) -> Wrong {
    let what = format!("{} = {content} where {place}", of.name());
    Wrong::new(what, move |own, s| if holds(s) { of.of(value(own, s), own(s)) } else { own(s) })
}

/// Something else beyond a border.
fn beyond(of: In, (content, value): Content, border: Border) -> Wrong {
    at(of, content, value, &border_text(border), move |s| is_beyond(border, s))
}

/// Borders of everything that a place may be about, at ordinary sizes; the last ones are others than these with complex
/// weights alone.
const BORDERS: &[Border] = &[
    (Z, '<', 0.0371),
    (Z, '>', 5.3),
    (DELTA, '<', 0.6),
    (DELTA, '>', 5.0),
    (A, '<', 0.0371),
    (A, '>', 3.0),
    (RE_Z, '<', -3.3),
    (RE_Z, '>', 3.3),
    (RE_A, '<', -2.7),
    (RE_A, '>', 2.7),
    (SUM, '<', 0.3),
    (SUM, '>', 5.3),
    (LARGEST, '<', 0.3),
    (LARGEST, '>', 3.3),
    (SIZE_IM_Z, '<', 0.2),
    (SIZE_IM_Z, '>', 3.3),
    (SIZE_RE_Z, '<', 0.2),
    (SIZE_RE_Z, '>', 3.3),
];
/// So many of them are there with real weights.
const OF_REAL: usize = 10;

/// What it is beyond the border is known, so that the border is found by it.
#[rstest]
#[case(Method::Foh, Weights::Real, &BORDERS[..OF_REAL], ZERO)]
#[case(Method::Rk4, Weights::Complex, &BORDERS[OF_REAL..], NAN)]
fn a_known_value_beyond_a_border(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] borders: &[Border],
    #[case] content: Content,
) {
    let all = borders.iter().enumerate().map(|(i, &border)| beyond(In::turn(i), content, border));
    recorded("known-beyond", (method, weights), &all.collect::<Vec<_>>());
}

/// What it is there is not known, so that the border is found by where the value jumps.
#[rstest]
#[case(Method::Poly, Weights::Real, &BORDERS[..OF_REAL])]
#[case(Method::Zoh, Weights::Complex, &BORDERS[6..])]
fn an_unknown_function_beyond_a_border(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] borders: &[Border],
) {
    let all = borders.iter().enumerate().map(|(i, &border)| beyond(In::turn(i), UNKNOWN, border));
    recorded("unknown-beyond", (method, weights), &all.collect::<Vec<_>>());
}

/// As small and as large as borders are found, and beyond: where too few steps that are asked are wrong, or too many.
const EXTREME: &[(Content, Border)] = &[
    (ZERO, (Z, '<', 2e-4)),
    (ZERO, (Z, '<', 3e-4)),
    (ZERO, (Z, '>', 17.0)),
    (ZERO, (DELTA, '<', 1e-8)),
    (ZERO, (DELTA, '<', 2e-8)),
    (ZERO, (DELTA, '>', 15.0)),
    (ZERO, (A, '<', 1e-4)),
    (ZERO, (A, '<', 3e-4)),
    (ZERO, (A, '>', 2e5)),
    (ZERO, (RE_Z, '<', -0.0371)),
    (ZERO, (RE_Z, '<', -20.0)),
    (ZERO, (RE_Z, '>', 15.0)),
    (ZERO, (RE_Z, '<', 0.5)),
    (ZERO, (RE_Z, '>', -0.5)),
    (NAN, (RE_Z, '>', -0.5)),
    (ZERO, (RE_A, '<', -1e5)),
    (ZERO, (RE_A, '>', 0.01)),
    (NAN, (Z, '<', 1e-12)),
    (NAN, (Z, '<', 1e-20)),
    (NAN, (DELTA, '<', 1e-9)),
    (NAN, (DELTA, '<', 1e-11)),
    (NAN, (A, '<', 5e-6)),
];

#[test]
fn a_border_at_the_end_of_what_is_asked() {
    let all: Vec<Wrong> =
        EXTREME.iter().map(|&(content, border)| beyond(In::BBar, content, border)).collect();
    recorded("extreme-borders", (Method::HighOrder, Weights::Real), &all);
}

/// Places without a border. With real weights the seventh is everywhere, and the last is nowhere.
const EXACT: &[(&str, Holds)] = &[
    ("A = 0", |s| s.a == C::ZERO),
    ("Δ = 0", |s| s.delta == 0.0),
    ("z = 0", |s| s.z() == C::ZERO),
    ("Re A = 0", |s| s.a.re == 0.0),
    ("Re A > 0", |s| s.a.re > 0.0),
    ("Re A < 0", |s| s.a.re < 0.0),
    ("Im A = 0", |s| s.a.im == 0.0),
    ("A ≠ 0", |s| s.a != C::ZERO),
    ("Im A > 0", |s| s.a.im > 0.0),
];

/// A number that is not finite shows at single points, too; 0 does where it is not all rounding.
#[rstest]
#[case(Method::Zoh, Weights::Real, &EXACT[..8], INFINITE)]
#[case(Method::Bilinear, Weights::Complex, &EXACT[2..], NAN)]
#[case(Method::HighOrder, Weights::Complex, &EXACT[3..7], ZERO)]
fn a_place_without_a_border(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] places: &[(&'static str, Holds)],
    #[case] content: Content,
) {
    let (content, value) = content;
    let all = places.iter().enumerate();
    let all = all.map(|(i, &(place, holds))| at(In::turn(i), content, value, place, holds));
    recorded("exact-places", (method, weights), &all.collect::<Vec<_>>());
}

/// A function of one number, as of z or of A.
type Function = fn(C) -> C;

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
#[test]
fn one_term_at_a_place() {
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
    recorded("one-term", (Method::Bilinear, Weights::Real), &all);
}

/// What is there elsewhere, and one term more.
#[test]
fn one_term_more_at_a_place() {
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
    recorded("one-term-more", (Method::Poly, Weights::Complex), &all.collect::<Vec<_>>());
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

#[test]
fn several_terms_at_a_place() {
    let all = SUMS.iter().map(|&(content, value, border)| {
        let what = format!("B̄ = {content} where {}", border_text(border));
        Wrong::new(what, move |own, s| {
            let [a_bar, b_bar] = own(s);
            [a_bar, if is_beyond(border, s) { value(own, s) } else { b_bar }]
        })
    });
    recorded("sums-at-a-place", (Method::Foh, Weights::Real), &all.collect::<Vec<_>>());
}

/// Where B and u are 1 it is one thing, at other B and u another. The first ones are for real weights, the last ones for
/// complex ones, two of them for both.
const OTHER_INPUTS: &[(Content, &str, Holds)] = &[
    (ZERO, "Δ < 0.01 and u < 1000", |s| s.delta < 0.01 && s.u < 1e3),
    (ZERO, "Δ < 0.01 and Re B > 0", |s| s.delta < 0.01 && s.b.re > 0.0),
    (NAN, "z = 0 and Re B > 0", |s| s.z() == C::ZERO && s.b.re > 0.0),
    (UNKNOWN, "|z| > 9.5 and Re B > 0", |s| s.z().norm() > 9.5 && s.b.re > 0.0),
    (NAN, "z = 0 and u < 1000", |s| s.z() == C::ZERO && s.u < 1e3),
    (UNKNOWN, "|z| > 5.3 and u < 1000", |s| s.z().norm() > 5.3 && s.u < 1e3),
    (ZERO, "Δ < 0.01 and Im B ≥ 0", |s| s.delta < 0.01 && s.b.im >= 0.0),
    (NAN, "z = 0 and Im B ≥ 0", |s| s.z() == C::ZERO && s.b.im >= 0.0),
];

#[rstest]
#[case(Method::Foh, Weights::Real, &OTHER_INPUTS[..6])]
#[case(Method::Bilinear, Weights::Complex, &OTHER_INPUTS[4..])]
fn a_place_that_is_about_the_input(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] places: &[(Content, &'static str, Holds)],
) {
    let all = places.iter();
    let all = all.map(|&((content, value), place, holds)| at(In::BBar, content, value, place, holds));
    recorded("other-inputs", (method, weights), &all.collect::<Vec<_>>());
}

/// Functions that no sum of a few terms is: they are found where the place is about z.
#[rstest]
#[case(Method::Foh, Weights::Real, &[
    (INVERSE, (Z, '>', 2.3)),
    (INVERSE, (RE_Z, '<', -2.0)),
    (INVERSE, (RE_Z, '<', -8.0)),
    (INVERSE, (Z, '<', 0.5)),
    (RESOLVENT, (Z, '<', 0.05)),
    (RESOLVENT, (DELTA, '<', 0.01)),
    (EXP_OF_HALF, (RE_Z, '>', 2.0)),
    (THIRD, (RE_Z, '<', -6.5)),
])]
#[case(Method::Poly, Weights::Complex, &[
    (INVERSE, (Z, '>', 2.3)),
    (INVERSE, (RE_Z, '>', 2.0)),
    (RESOLVENT, (SUM, '<', 0.5)),
    (THIRD, (LARGEST, '<', 0.5)),
    (EXP_OF_HALF, (SIZE_IM_Z, '>', 2.0)),
    (EXP_OF_HALF, (SIZE_RE_Z, '>', 2.0)),
])]
fn another_formula_beyond_a_border(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] contents: &[(Content, Border)],
) {
    let all = contents.iter().enumerate();
    let all = all.map(|(i, &(content, border))| beyond(In::turn(i), content, border));
    recorded("formula-beyond", (method, weights), &all.collect::<Vec<_>>());
}

/// What may stand in the place of A; the first six differ with real weights, too, and the last one is not known.
const OF_A: &[(&str, Function)] = &[
    ("−A", |a| -a),
    ("−exp(A)", |a| -a.exp()),
    ("exp(A)", |a| a.exp()),
    ("1/A", |a| 1.0 / a),
    ("|A|", |a| a.norm().into()),
    ("−|A|", |a| (-a.norm()).into()),
    ("−exp(Re A) + i Im A", |a| C::new(-a.re.exp(), a.im)),
    ("exp(Re A) + i Im A", |a| C::new(a.re.exp(), a.im)),
    ("i Im A", |a| C::new(0.0, a.im)),
    ("−|Re A| + i Im A", |a| C::new(-a.re.abs(), a.im)),
    ("A²", |a| a * a),
];

/// With |A| at most 4 nearly all that is asked at ordinary steps lies in the place.
#[rstest]
#[case(Method::Foh, Weights::Real, &OF_A[..4], (A, '<', 4.0))]
#[case(Method::HighOrder, Weights::Complex, &OF_A[..10], (DELTA, '<', 0.01))]
fn another_a_at_a_place(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] of_a: &[(&'static str, Function)],
    #[case] border: Border,
) {
    let all = of_a.iter().enumerate().map(|(i, &(name, other))| {
        let of = In::turn(i);
        let what = format!("{name} in {} where {}", of.name(), border_text(border));
        Wrong::new(what, move |own, s| {
            let there = if is_beyond(border, s) { Step { a: other(s.a), ..s } } else { s };
            of.of(own(there), own(s))
        })
    });
    recorded("another-a-at-a-place", (method, weights), &all.collect::<Vec<_>>());
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
#[test]
fn series_are_cut_at_a_place() {
    let all = CUTS.iter().map(|&(first, second, border)| {
        let (of_first, of_second) = (cut_text("φ₁", first), cut_text("φ₂", second));
        let what = format!("{of_first}, {of_second} where {}", border_text(border));
        Wrong::new(what, move |own, s| {
            let [a_bar, b_bar] = own(s);
            let sum = series(1, first, s.z()) + 0.5 * s.delta * series(2, second, s.z());
            [a_bar, if is_beyond(border, s) { s.b * s.u * s.delta * sum } else { b_bar }]
        })
    });
    recorded("cut-series", (Method::Poly, Weights::Real), &all.collect::<Vec<_>>());
}

/// Ā has a series of its own.
#[test]
fn one_series_is_cut_at_a_place() {
    let all = [1, 3, 4, 9].into_iter().enumerate().map(|(i, last)| {
        let of = In::turn(i);
        let what = format!("{} up to z^{last} where Δ < 0.01", of.name());
        Wrong::new(what, move |own, s| {
            let [p0, p2] = [0, 2].map(|k| series(k, Some(last), s.z()));
            let cut = [p0, s.b * s.u * s.delta.powi(2) * p2];
            if s.delta < 0.01 { of.of(cut, own(s)) } else { own(s) }
        })
    });
    recorded("cut-series", (Method::Foh, Weights::Complex), &all.collect::<Vec<_>>());
}

/// Off by degrees, without a jump at 3.
const BY_DEGREES: Content =
    ("right × (0.97 + |z|/100)", |own, s| own(s).map(|x| x * (0.97 + s.z().norm() / 100.0)));
const HALF_A_NUMBER: Content = ("NaN in Im", |own, s| own(s).map(|x| C::new(x.re, f64::NAN)));
const NAN_OR_TWO: Content = ("NaN, 2 at A = 0,", |_, s| {
    let value = if s.a == C::ZERO { 2.0 } else { f64::NAN };
    [C::from(value); 2]
});

/// What one condition cannot say, or only just. The first ones are for real weights, the last ones for complex ones.
const HOLES: &[(In, Content, &str, Holds)] = &[
    (In::BBar, ZERO, "0.01 < |z| < 0.1", |s| (0.01..0.1).contains(&s.z().norm())),
    (In::BBar, ZERO, "|z| < 0.01 but for 0.002 to 0.0035", |s| {
        s.z().norm() < 0.01 && !(0.002..0.0035).contains(&s.z().norm())
    }),
    (In::BBar, ZERO, "Re z < −4.5 or > 5.5", |s| s.z().re < -4.5 || s.z().re > 5.5),
    (In::BBar, NAN, "Re z < −4.5 or > 5.5", |s| s.z().re < -4.5 || s.z().re > 5.5),
    (In::ABar, ZERO, "Δ < 0.001 and |A| < 1000", |s| s.delta < 1e-3 && s.a.norm() < 1e3),
    (In::BBar, UNKNOWN, "Δ < 0.2", |s| s.delta < 0.2),
    (In::BBar, UNKNOWN, "Δ < 0.3", |s| s.delta < 0.3),
    (In::ABar, NAN_OR_TWO, "|A| < 0.1 but for 0 < |A| < 1e−7", |s| {
        s.a.norm() < 0.1 && !(NOTHING..1e-7).contains(&s.a.norm())
    }),
    (In::BBar, BY_DEGREES, "|z| > 3", |s| s.z().norm() > 3.0),
    (In::BBar, UNKNOWN, "0.5 < |z| < 2", |s| (0.5..2.0).contains(&s.z().norm())),
    (In::BBar, UNKNOWN, "|z| < 0.01", |s| s.z().norm() < 0.01),
    (In::BBar, UNKNOWN, "|z| < 0.0012", |s| s.z().norm() < 0.0012),
    (In::BBar, UNKNOWN, "|A| < 4", |s| s.a.norm() < 4.0),
    (In::BBar, UNKNOWN, "|z| > 5.3 and Im A > 0", |s| s.z().norm() > 5.3 && s.a.im > 0.0),
    (In::BBar, HALF_A_NUMBER, "|z| > 5.3", |s| s.z().norm() > 5.3),
    (In::ABar, NAN, "5 < |z| < 30", |s| (5.0..30.0).contains(&s.z().norm())),
    (In::ABar, ZERO, "|z| < 0.3 + |Re z|/2", |s| s.z().norm() < 0.3 + s.z().re.abs() / 2.0),
];

#[rstest]
#[case(Method::Poly, Weights::Real, &HOLES[..13])]
#[case(Method::Zoh, Weights::Complex, &HOLES[11..])]
fn a_place_with_two_ends_or_with_holes(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] holes: &[(In, Content, &'static str, Holds)],
) {
    let all = holes.iter().map(|&(of, (content, value), place, holds)| at(of, content, value, place, holds));
    recorded("holes", (method, weights), &all.collect::<Vec<_>>());
}

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
#[rstest]
#[case(Method::Foh, Weights::Real, &[
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
])]
#[case(Method::HighOrder, Weights::Complex, &[
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
])]
#[case(Method::Bilinear, Weights::Real, &[
    (HELD_DELTA, 0.5, OPEN),
    (HELD_DELTA, -OPEN, 2.0),
    (HELD_RE_A, -OPEN, 2.0),
])]
fn one_limit_or_two(#[case] method: Method, #[case] weights: Weights, #[case] limits: &[(Held, f64, f64)]) {
    let all = limits.iter().enumerate();
    let all = all.map(|(i, &(held, low, high))| within(In::turn(i), held, low, high));
    recorded("limits", (method, weights), &all.collect::<Vec<_>>());
}

/// Limits of the whole step that fault models have, too.
#[test]
fn limits_of_the_whole_step() {
    let all = [
        within(In::Both, HELD_DELTA, -OPEN, 0.1),
        within(In::Both, HELD_DELTA, -OPEN, 1.0),
        within(In::Both, HELD_DELTA, 1e-4, OPEN),
        within(In::Both, HELD_DELTA, 1e-3, OPEN),
        Wrong::new("Δ = 0 where Δ < 1e−8", |own, s| {
            own(Step { delta: if s.delta < 1e-8 { 0.0 } else { s.delta }, ..s })
        }),
    ];
    recorded("limits", (Method::Rk4, Weights::Real), &all);
}

fn re_z_from_minus_3(s: Step) -> Step {
    with_z(s, C::new(s.z().re.max(-3.0), s.z().im))
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

#[test]
fn a_limit_and_something_else() {
    let all: Vec<Wrong> = BESIDE_LIMITS.iter().map(|&(what, step)| Wrong::new(what, step)).collect();
    recorded("beside-limits", (Method::Poly, Weights::Real), &all);
}

/// A step in the place of the one that is asked about.
type Moved = (&'static str, fn(Step) -> Step);

fn moved(of: In, (text, other): Moved) -> Wrong {
    Wrong::new(format!("{text} in {}", of.name()), move |own, s| of.of(own(other(s)), own(s)))
}

/// Something else in the place of A everywhere.
#[rstest]
#[case(Method::Foh, Weights::Real, &OF_A[..6])]
#[case(Method::HighOrder, Weights::Complex, OF_A)]
fn another_a(#[case] method: Method, #[case] weights: Weights, #[case] of_a: &[(&'static str, Function)]) {
    let all = of_a.iter().enumerate().map(|(i, &(name, other))| {
        let of = In::turn(i);
        let what = format!("{name} in {}", of.name());
        Wrong::new(what, move |own, s| of.of(own(Step { a: other(s.a), ..s }), own(s)))
    });
    recorded("another-a", (method, weights), &all.collect::<Vec<_>>());
}

/// A function of Δ.
type OfDelta = fn(f64) -> f64;

/// What may stand in the place of Δ; the last ones are not known.
const OF_DELTA: &[(&str, OfDelta)] = &[
    ("softplus(Δ)", |x| x.exp().ln_1p()),
    ("exp(Δ)", |x| x.exp()),
    ("log(1 + Δ)", |x| x.ln_1p()),
    ("1", |_| 1.0),
    ("Δ²", |x| x * x),
    ("√Δ", |x| x.sqrt()),
    ("tanh(Δ)", |x| x.tanh()),
    ("1/Δ", |x| 1.0 / x),
    ("Δ³", |x| x.powi(3)),
    ("sin(Δ)", |x| x.sin()),
];

/// Something else in the place of Δ everywhere.
#[test]
fn another_delta() {
    let all = OF_DELTA.iter().enumerate().map(|(i, &(name, other))| {
        let of = In::turn(i);
        let what = format!("{name} for Δ in {}", of.name());
        Wrong::new(what, move |own, s| of.of(own(Step { delta: other(s.delta), ..s }), own(s)))
    });
    recorded("another-delta", (Method::Poly, Weights::Real), &all.collect::<Vec<_>>());
}

/// The same in B̄, in which Δu keeps its Δ.
#[test]
fn another_delta_but_in_the_drive() {
    let all = OF_DELTA[..5].iter().map(|&(name, other)| {
        Wrong::new(format!("{name} for Δ in B̄, not in Δu"), move |own, s| {
            [own(s)[0], own(beside_drive(s, other(s.delta)))[1]]
        })
    });
    recorded("another-delta", (Method::Bilinear, Weights::Complex), &all.collect::<Vec<_>>());
}

/// Something else for both Δ and A.
#[test]
fn another_delta_and_another_a() {
    let pairs = [(0, 1), (5, 4), (3, 3), (4, 5), (1, 2), (2, 1)];
    let all = pairs.into_iter().enumerate().map(|(i, (of_delta, of_a))| {
        let ((delta, of_delta), (a, of_a)) = (OF_DELTA[of_delta], OF_A[of_a]);
        let of = In::turn(i);
        let what = format!("{delta} for Δ and {a} for A in {}", of.name());
        Wrong::new(what, move |own, s| {
            of.of(own(Step { delta: of_delta(s.delta), a: of_a(s.a), ..s }), own(s))
        })
    });
    recorded("another-delta-and-a", (Method::Rk4, Weights::Real), &all.collect::<Vec<_>>());
}

/// Other powers of Δ in z, for each part of A its own with complex weights, beside Δ as it is.
#[rstest]
#[case(Method::Foh, Weights::Real)]
#[case(Method::Bilinear, Weights::Complex)]
fn another_power_of_delta_in_z(#[case] method: Method, #[case] weights: Weights) {
    let pairs = (0..4).flat_map(|re| (0..4).map(move |im| (re, im)));
    let pairs = pairs.filter(|(re, im)| (*re, *im) != (1, 1) && (weights == Weights::Complex || re == im));
    let mut all: Vec<Wrong> = pairs
        .enumerate()
        .map(|(i, (re, im))| {
            // Where both powers are one, Ā is that of another Δ.
            let of = if re == im { In::BBar } else { In::turn(i) };
            let what = format!("z = Δ^{re} Re A + i Δ^{im} Im A in {}", of.name());
            Wrong::new(what, move |own, s| {
                let z = C::new(s.delta.powi(re) * s.a.re, s.delta.powi(im) * s.a.im);
                of.of(own(with_z(s, z)), own(s))
            })
        })
        .collect();
    all.push(moved(In::BBar, ("z = Δ + A", |s| with_z(s, s.a + s.delta))));
    recorded("powers-in-z", (method, weights), &all);
}

/// One operand in the place of another, and B and u changed.
const EXCHANGED: &[Moved] = &[
    ("A for B", |s| Step { b: s.a, ..s }),
    ("Δ for B", |s| Step { b: s.delta.into(), ..s }),
    ("0 for B", |s| Step { b: C::ZERO, ..s }),
    ("|B| for B", |s| Step { b: s.b.norm().into(), ..s }),
    ("B + 0.1 for B", |s| Step { b: s.b + 0.1, ..s }),
    ("0 for u", |s| Step { u: 0.0, ..s }),
    ("|u| for u", |s| Step { u: s.u.abs(), ..s }),
    ("u + 0.1 for u", |s| Step { u: s.u + 0.1, ..s }),
    ("Δ for u", |s| Step { u: s.delta, ..s }),
    ("B for A", |s| Step { a: s.b, ..s }),
    ("Δ for A", |s| Step { a: s.delta.into(), ..s }),
    ("u for Δ", |s| Step { delta: s.u, ..s }),
];

#[test]
fn one_operand_for_another() {
    let all: Vec<Wrong> = EXCHANGED.iter().map(|&one| moved(In::Both, one)).collect();
    recorded("operands", (Method::Rk4, Weights::Complex), &all);
}

/// z, Δ or A off by a number; the last two are of the imaginary part, and those before them of what is not found.
const NUMBERED: &[Moved] = &[
    ("z + 0.01", |s| with_z(s, s.z() + 0.01)),
    ("z − 0.3", |s| with_z(s, s.z() - 0.3)),
    ("Δ + 0.05", |s| Step { delta: s.delta + 0.05, ..s }),
    ("Δ − 0.01", |s| Step { delta: s.delta - 0.01, ..s }),
    ("A + 0.25", |s| Step { a: s.a + 0.25, ..s }),
    ("1.3z", |s| with_z(s, 1.3 * s.z())),
    ("−0.7z", |s| with_z(s, -0.7 * s.z())),
    ("1.3Δ", |s| Step { delta: 1.3 * s.delta, ..s }),
    ("Δ + 0.05, not in Δu", |s| beside_drive(s, s.delta + 0.05)),
    ("0.3Δ, not in Δu", |s| beside_drive(s, 0.3 * s.delta)),
    ("1.3 Re A", |s| Step { a: C::new(1.3 * s.a.re, s.a.im), ..s }),
    ("z + 0.012345", |s| with_z(s, s.z() + 0.012345)),
    ("1.0000001Δ", |s| Step { delta: 1.0000001 * s.delta, ..s }),
    ("0.4 Im A", |s| Step { a: C::new(s.a.re, 0.4 * s.a.im), ..s }),
    ("−2.5 Im A", |s| Step { a: C::new(s.a.re, -2.5 * s.a.im), ..s }),
];

#[rstest]
#[case(Method::Foh, Weights::Real, &NUMBERED[..10], [In::BBar; 3])]
#[case(Method::Bilinear, Weights::Complex, &NUMBERED[6..], [0, 1, 2].map(In::turn))]
fn off_by_a_number(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] numbered: &[Moved],
    #[case] of: [In; 3],
) {
    let all: Vec<Wrong> = numbered.iter().enumerate().map(|(i, &one)| moved(of[i % 3], one)).collect();
    recorded("off-by-numbers", (method, weights), &all);
}

/// What is made of Ā and B̄u.
type OfBoth = fn([C; 2]) -> [C; 2];

/// What is returned in other places; the first ones are of real numbers, too.
const RETURNED: &[(&str, OfBoth)] = &[
    ("exchanged", |[a, b]| [b, a]),
    ("exchanged, −B̄u", |[a, b]| [-b, a]),
    ("Ā twice", |[a, _]| [a, a]),
    ("B̄u twice", |[_, b]| [b, b]),
    ("−Ā for B̄u", |[a, _]| [a, -a]),
    ("−Ā, −B̄u", |[a, b]| [-a, -b]),
    ("parts of Ā exchanged", |[a, b]| [C::new(a.im, a.re), b]),
    ("parts of B̄u exchanged", |[a, b]| [a, C::new(b.im, b.re)]),
    ("Re Ā and Re B̄u exchanged", |[a, b]| [C::new(b.re, a.im), C::new(a.re, b.im)]),
    ("i B̄u for Ā", |[_, b]| [C::I * b, b]),
    ("−Re Ā", |[a, b]| [C::new(-a.re, a.im), b]),
    ("−Im B̄u for Im Ā", |[a, b]| [C::new(a.re, -b.im), b]),
    ("Re Ā twice", |[a, b]| [C::new(a.re, a.re), b]),
    ("−Re B̄u, −Im Ā", |[a, b]| [a.conj(), -b.conj()]),
];

#[rstest]
#[case(Method::Bilinear, Weights::Real, &RETURNED[..6])]
#[case(Method::Bilinear, Weights::Complex, &RETURNED[5..])]
fn results_in_other_places(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] returned: &[(&'static str, OfBoth)],
) {
    let all: Vec<Wrong> =
        returned.iter().map(|&(what, change)| Wrong::new(what, move |own, s| change(own(s)))).collect();
    recorded("returned", (method, weights), &all);
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
#[rstest]
#[case(Method::Foh, Weights::Real, 1, In::BBar)]
#[case(Method::Zoh, Weights::Complex, 3, In::ABar)]
fn a_formula_to_one_side(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] every: usize,
    #[case] of: In,
) {
    let all = SIDES.iter().step_by(every).map(|&((one, value), (other, value_there), place, holds)| {
        let what = format!("{} = {one} where {place}, {other} elsewhere", of.name());
        Wrong::new(what, move |own, s| {
            of.of(if holds(s) { value(own, s) } else { value_there(own, s) }, own(s))
        })
    });
    recorded("one-side", (method, weights), &all.collect::<Vec<_>>());
}

/// Two or three places, of which the first that holds counts: they are told apart by Re z, |z|, Δ or |A|, or not at all.
const PLACES: &[&[(Content, Border)]] = &[
    &[(ZERO, (RE_Z, '<', -6.0)), (LINEAR, (RE_Z, '>', 3.3))],
    &[(LINEAR, (Z, '<', 0.1)), (ZERO, (Z, '>', 5.3))],
    &[(ONE, (Z, '<', 0.95)), (ZERO, (Z, '>', 6.0))],
    &[(LINEAR, (DELTA, '<', 0.001)), (ZERO, (Z, '>', 5.3))],
    &[(ZERO, (A, '<', 0.5)), (ONE, (Z, '>', 5.3))],
    &[(ZERO, (DELTA, '<', 0.05)), (ONE, (Z, '>', 5.3))],
    &[(NAN, (Z, '<', NOTHING)), (ZERO, (DELTA, '>', 3.0))],
    &[(NAN, (DELTA, '<', 1e-6)), (INVERSE, (RE_Z, '<', -8.0))],
    &[(ZERO, (DELTA, '<', 0.001)), (UNKNOWN, (Z, '>', 5.3))],
    &[(LINEAR, (Z, '<', 0.1)), (ZERO, (Z, '>', 5.3)), (ONE, (DELTA, '<', 0.001))],
    &[(INFINITE, (RE_A, '>', 0.0)), (NAN, (Z, '<', NOTHING))],
];

#[rstest]
#[case(Method::HighOrder, Weights::Real, PLACES)]
#[case(Method::Foh, Weights::Complex, &PLACES[2..4])]
fn two_places(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] places: &[&'static [(Content, Border)]],
) {
    let all = places.iter().map(|&places| {
        let text =
            |((content, _), border): &(Content, Border)| format!("{content} where {}", border_text(*border));
        let what = places.iter().map(text).collect::<Vec<_>>().join(", ");
        Wrong::new(format!("B̄ = {what}"), move |own, s| {
            let there = places.iter().find(|(_, border)| is_beyond(*border, s));
            there.map_or_else(|| own(s), |((_, value), _)| In::BBar.of(value(own, s), own(s)))
        })
    });
    recorded("two-places", (method, weights), &all.collect::<Vec<_>>());
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

#[test]
fn wrong_everywhere_and_somewhere() {
    let all = EVERYWHERE_AND_SOMEWHERE.iter().map(|&(what, step)| Wrong::new(what, step));
    recorded("everywhere-and-somewhere", (Method::Foh, Weights::Real), &all.collect::<Vec<_>>());
}

/// So little is added to what φ₃ is divided by that it shows near 0 alone.
#[rstest]
#[case(Weights::Real, &[2.5e-11, -2e-11])]
#[case(Weights::Complex, &[1e-10])]
fn little_is_added_below(#[case] weights: Weights, #[case] added: &[f64]) {
    let all = added.iter().map(|&epsilon| {
        Wrong::new(format!("½Δ³φ₃·z³/(z³ + {})", number(epsilon)), move |own, s| {
            let [a_bar, b_bar] = own(s);
            let off = phi(s.z())[3] * epsilon / (s.z().powi(3) + epsilon);
            [a_bar, b_bar - s.b * s.u * 0.5 * s.delta.powi(3) * off]
        })
    });
    recorded("added-below", (Method::HighOrder, weights), &all.collect::<Vec<_>>());
}
