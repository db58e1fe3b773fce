//! Known and unknown values beyond borders, at exact places, in bands, at several places, and where the input decides.

use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;

use super::{
    A, Border, Content, DELTA, Holds, INFINITE, INVERSE, In, LARGEST, LINEAR, NAN, NOTHING, ONE, RE_A, RE_Z,
    SIZE_IM_Z, SIZE_RE_Z, SUM, UNKNOWN, Z, ZERO, at, beyond, border_text, is_beyond,
};
use crate::reconstructed::{List, Wrong, list};

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
fn a_known_value_beyond_a_border() -> Vec<List> {
    let cases: [(Method, Weights, &[Border], Content); 2] = [
        (Method::Foh, Weights::Real, &BORDERS[..OF_REAL], ZERO),
        (Method::Rk4, Weights::Complex, &BORDERS[OF_REAL..], NAN),
    ];
    cases
        .into_iter()
        .map(|(method, weights, borders, content)| {
            let all = borders.iter().enumerate().map(|(i, &border)| beyond(In::turn(i), content, border));
            list("known-beyond", (method, weights), all)
        })
        .collect()
}

/// What it is there is not known, so that the border is found by where the value jumps.
fn an_unknown_function_beyond_a_border() -> Vec<List> {
    let cases: [(Method, Weights, &[Border]); 2] =
        [(Method::Poly, Weights::Real, &BORDERS[..OF_REAL]), (Method::Zoh, Weights::Complex, &BORDERS[6..])];
    cases
        .into_iter()
        .map(|(method, weights, borders)| {
            let all = borders.iter().enumerate().map(|(i, &border)| beyond(In::turn(i), UNKNOWN, border));
            list("unknown-beyond", (method, weights), all)
        })
        .collect()
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

fn a_border_at_the_end_of_what_is_asked() -> Vec<List> {
    let all: Vec<Wrong> =
        EXTREME.iter().map(|&(content, border)| beyond(In::BBar, content, border)).collect();
    vec![list("extreme-borders", (Method::HighOrder, Weights::Real), all)]
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
fn a_place_without_a_border() -> Vec<List> {
    let cases: [(Method, Weights, &[(&'static str, Holds)], Content); 3] = [
        (Method::Zoh, Weights::Real, &EXACT[..8], INFINITE),
        (Method::Bilinear, Weights::Complex, &EXACT[2..], NAN),
        (Method::HighOrder, Weights::Complex, &EXACT[3..7], ZERO),
    ];
    cases
        .into_iter()
        .map(|(method, weights, places, content)| {
            let (content, value) = content;
            let all = places.iter().enumerate();
            let all = all.map(|(i, &(place, holds))| at(In::turn(i), content, value, place, holds));
            list("exact-places", (method, weights), all)
        })
        .collect()
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

fn a_place_that_is_about_the_input() -> Vec<List> {
    let cases: [(Method, Weights, &[(Content, &'static str, Holds)]); 2] = [
        (Method::Foh, Weights::Real, &OTHER_INPUTS[..6]),
        (Method::Bilinear, Weights::Complex, &OTHER_INPUTS[4..]),
    ];
    cases
        .into_iter()
        .map(|(method, weights, places)| {
            let all = places.iter();
            let all = all.map(|&((content, value), place, holds)| at(In::BBar, content, value, place, holds));
            list("other-inputs", (method, weights), all)
        })
        .collect()
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

fn a_place_with_two_ends_or_with_holes() -> Vec<List> {
    let cases: [(Method, Weights, &[(In, Content, &'static str, Holds)]); 2] =
        [(Method::Poly, Weights::Real, &HOLES[..13]), (Method::Zoh, Weights::Complex, &HOLES[11..])];
    cases
        .into_iter()
        .map(|(method, weights, holes)| {
            let all = holes
                .iter()
                .map(|&(of, (content, value), place, holds)| at(of, content, value, place, holds));
            list("holes", (method, weights), all)
        })
        .collect()
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

fn two_places() -> Vec<List> {
    let cases: [(Method, Weights, &[&'static [(Content, Border)]]); 2] =
        [(Method::HighOrder, Weights::Real, PLACES), (Method::Foh, Weights::Complex, &PLACES[2..4])];
    cases
        .into_iter()
        .map(|(method, weights, places)| {
            let all = places.iter().map(|&places| {
                let text = |((content, _), border): &(Content, Border)| {
                    format!("{content} where {}", border_text(*border))
                };
                let what = places.iter().map(text).collect::<Vec<_>>().join(", ");
                Wrong::new(format!("B̄ = {what}"), move |own, s| {
                    let there = places.iter().find(|(_, border)| is_beyond(*border, s));
                    there.map_or_else(|| own(s), |((_, value), _)| In::BBar.of(value(own, s), own(s)))
                })
            });
            list("two-places", (method, weights), all)
        })
        .collect()
}

pub fn lists() -> Vec<List> {
    let all: [fn() -> Vec<List>; 7] = [
        a_known_value_beyond_a_border,
        an_unknown_function_beyond_a_border,
        a_border_at_the_end_of_what_is_asked,
        a_place_without_a_border,
        a_place_that_is_about_the_input,
        a_place_with_two_ends_or_with_holes,
        two_places,
    ];
    all.into_iter().flat_map(|of| of()).collect()
}
