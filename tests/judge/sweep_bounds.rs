//! Promise: a model explains the coefficients of a sweep exactly where all are within its own bounds, and what it leaves of the error
//! is weighed in the larger of these and the contract's.

use holdfast::judge::diagnose::NEARLY;
use holdfast::judge::diagnose::sweep::diagnose;
use holdfast::judge::faults::catalogue;
use holdfast::judge::faults::step;
use holdfast::judge::faults::variant::Variant;
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, Weights};
use holdfast::promise::allowance::{COEFFICIENT, HALF_SUBNORMAL, U, product};
use holdfast::results::Diagnosis;
use num_complex::{Complex32, Complex64};

use crate::cases::{crossed, each};

/// The smallest f32 above 0.
const SMALLEST: f32 = f32::from_bits(1);

/// What was computed of an element, and what is right: Ā and B̄ each.
type Element = [(Complex32, Complex64); 2];

fn problem(weights: Weights, of: &[(f32, Complex64, Complex64)]) -> CoefficientProblem {
    let mut problem = CoefficientProblem::new(weights);
    for &(delta, a, b) in of {
        problem.push(delta, a, b);
    }
    problem
}

fn real(value: f64) -> Complex64 {
    value.into()
}

fn single(value: Complex64) -> Complex32 {
    Complex32::new(value.re as f32, value.im as f32)
}

fn double(value: Complex32) -> Complex64 {
    Complex64::new(value.re.into(), value.im.into())
}

/// What is said of a sweep of zoh.
fn said(problem: &CoefficientProblem, elements: &[Element]) -> Vec<Diagnosis> {
    let width = problem.weights.width();
    let got = |which: usize| -> Vec<f32> {
        let parts = |element: &Element| [element[which].0.re, element[which].0.im];
        elements.iter().flat_map(|element| parts(element).into_iter().take(width)).collect()
    };
    let want = |which: usize| -> Vec<f64> {
        let parts = |element: &Element| [element[which].1.re, element[which].1.im];
        elements.iter().flat_map(|element| parts(element).into_iter().take(width)).collect()
    };
    let found = diagnose(Method::Zoh, problem, (&got(0), &got(1)), (&want(0), &want(1)));
    let mut names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), found.len(), "no model is named twice");
    found
}

fn names(found: &[Diagnosis]) -> Vec<&str> {
    found.iter().map(|one| one.name.as_str()).collect()
}

/// Right but for one rounding to f32, which no model is blamed for.
fn rounded(value: Complex64) -> (Complex32, Complex64) {
    (single(value), double(single(value)))
}

/// Ā and B̄ of an element with a fault, and what each may be off: as the fault's formula has it, with an underflow each of Δ or of two
/// products, and for B̄ the roundings of four products with B.
fn modelled(
    fault: &str,
    (delta, a, b): (f32, Complex64, Complex64),
    weights: Weights,
) -> [(Complex64, f64); 2] {
    let mut variant = Variant::specified(Method::Zoh);
    catalogue::find(fault).expect("in the catalogue").fault.change(&mut variant);
    let delta = variant.step_delta.of(delta.into());
    let a_bar = step::a_bar(&variant, delta, 2.0 * U, a);
    let terms = step::terms(&variant, delta, 2.0 * U, a);
    let b_bar = (terms.first + terms.higher + terms.neighbour) * b;
    // zoh's h is one term.
    let relative = terms.error + 4.0 * product(weights);
    let underflow = 2.0 * HALF_SUBNORMAL;
    [(a_bar.value, a_bar.error + underflow), (b_bar, b_bar.norm() * relative + 2.0 * underflow)]
}

/// The f32 farthest above a model that is within its bound, and the next one, in the real part.
fn at_the_bound((model, bound): (Complex64, f64)) -> [Complex32; 2] {
    let mut value = single(model);
    value.re = (model.re + bound) as f32;
    while (double(value) - model).norm() > bound {
        value.re = value.re.next_down();
    }
    [value, Complex32::new(value.re.next_up(), value.im)]
}

/// The truth is put where the model leaves an eighth of the error: within ¼, and more than what is nearly explained. So it is the bound
/// alone that decides.
#[test]
fn a_model_explains_what_is_within_its_bound() {
    let cases: [(&str, Weights, &str, usize, (f32, Complex64, Complex64)); 7] = [
        ("of a bar", Weights::Real, "a-bar-delta-doubled", 0, (0.375, real(-2.0), real(3.0))),
        ("of b bar", Weights::Real, "b-bar-delta-doubled", 1, (0.375, real(-2.0), real(3.0))),
        ("of a large b", Weights::Real, "b-bar-delta-doubled", 1, (0.3125, real(-1.0), real(300.0))),
        (
            "of complex a bar",
            Weights::Complex,
            "a-bar-delta-doubled",
            0,
            (0.375, Complex64::new(-2.0, 1.5), Complex64::new(1.5, -2.0)),
        ),
        (
            "of complex b bar",
            Weights::Complex,
            "b-bar-delta-doubled",
            1,
            (0.375, Complex64::new(-2.0, 1.5), Complex64::new(1.5, -2.0)),
        ),
        (
            "of an a bar that underflows",
            Weights::Real,
            "a-bar-delta-doubled",
            0,
            (0.625, real(-80.0), real(3.0)),
        ),
        (
            "of a b bar that underflows",
            Weights::Real,
            "b-bar-delta-doubled",
            1,
            (0.75, real(-2.0), real(40.0 * f64::from(SMALLEST))),
        ),
    ];
    each(cases, |(_, weights, fault, which, element)| {
        let problem = problem(weights, &[element]);
        let models = modelled(fault, element, weights);
        let model = models[which];
        let [within, beyond] = at_the_bound(model);
        assert!((double(beyond) - model.0).norm() > model.1);
        for (got, is_explained) in [(within, true), (beyond, false)] {
            let error = double(got) - model.0;
            let mut values = models.map(|(value, _)| rounded(value));
            values[which] = (got, double(got) + error * 8.0);
            let found = said(&problem, &[values]);
            let named = found.iter().find(|one| one.name == fault);
            assert_eq!(named.is_some(), is_explained, "{got} {:?}", names(&found));
            assert!(named.is_none_or(|one| (one.residual - 0.125).abs() < 0.01), "{found:?}");
        }
    });
}

/// A model that may overflow has what overflowed, whatever it is; a part of it that did not is no other value.
#[test]
fn what_overflows_is_the_models_where_it_may_overflow() {
    let cases: [(&str, f64, [f32; 2], bool); 5] = [
        ("within its error", 0.5, [f32::INFINITY, 0.0], true),
        ("of no number", 0.5, [f32::NAN, 0.0], true),
        ("beyond its error", 2.0, [f32::INFINITY, 0.0], false),
        ("beyond it is no number", 2.0, [f32::NAN, 0.0], false),
        ("by far", -1e5, [f32::INFINITY, 0.0], true),
    ];
    each(
        crossed(cases, [Weights::Real, Weights::Complex]),
        |((_, below, got, is_explained), weights): (_, Weights)| {
            let (delta, a) = (0.75, real(-2.0));
            let fault = "b-bar-delta-doubled";
            // 2ΔB is so many of its own bounds below the largest f32.
            let share = modelled(fault, (delta, a, real(1.0)), weights)[1];
            let b = f64::from(f32::MAX) / share.0.re * (1.0 - below * share.1 / share.0.re);
            let element = (delta, a, real(f64::from(b as f32)));
            let [a_bar, (b_bar, error)] = modelled(fault, element, weights);
            assert_eq!(b_bar.norm() + error > f64::from(f32::MAX), is_explained);
            let specified = element.2 * f64::from(delta);
            let values = [rounded(a_bar.0), (Complex32::new(got[0], got[1]), specified)];
            let found = said(&problem(weights, &[element]), &[values]);
            assert_eq!(names(&found).contains(&fault), is_explained, "{:?}", names(&found));
        },
    );
}

/// What is weighed in units of the contract's bound where a model has next to none: a step that is taken for 0.
#[test]
fn what_is_left_is_in_units_of_the_larger_bound() {
    let elements = [(1e-9, real(-1.0), real(1e-29)), (0.5, real(-1.0), real(0.0))];
    let sweep = problem(Weights::Real, &elements);
    let short = f64::from(sweep.delta[0]);
    let (a_bar, b_bar) = ((-short).exp(), short * f64::from(sweep.b[0]));
    let other = (-0.5f64).exp();
    let underflow = 2.0 * HALF_SUBNORMAL;
    // Δ rounds with A: twice 2u, and one u more.
    let bound = other * (COEFFICIENT + 0.5 * 5.0 * U) + underflow;
    let got = (other + 0.5 * bound) as f32;
    let found = said(
        &sweep,
        &[
            [(single(real(1.0)), real(a_bar)), (single(real(0.0)), real(b_bar))],
            [(single(real(got.into())), real(other)), (single(real(0.0)), real(0.0))],
        ],
    );
    let left = (f64::from(got) - other) / bound;
    assert!((0.4..0.6).contains(&left));
    let of_the_short = [(1.0 - a_bar) / (COEFFICIENT + underflow), b_bar / (COEFFICIENT * b_bar + underflow)];
    let all = of_the_short.into_iter().fold(left, f64::hypot);
    let named = found.iter().find(|one| one.name == "delta-zero-below-1e-8").expect("named");
    assert!((named.residual / (left / all) - 1.0).abs() < 1e-9, "{} {}", named.residual, left / all);
}

/// At most 2⁻⁶ may be left: a step that is taken for 0 has Ā = 1.
#[test]
fn a_model_that_leaves_a_64th_nearly_explains() {
    let cases: [(&str, f64, bool); 3] =
        [("just so much", 1.0, true), ("a little more", 1.0 - 1e-6, false), ("less", 1.5, true)];
    each(cases, |(_, error, is_named)| {
        let sweep = problem(Weights::Real, &[(4e-9, real(-1.0), real(0.0))]);
        let (left, nothing) = (1.0 / 1024.0, (single(real(0.0)), real(0.0)));
        let got = 1.0 + left;
        let found = said(&sweep, &[[(single(real(got)), real(got - error * left / NEARLY)), nothing]]);
        let named = found.iter().find(|one| one.name == "delta-zero-below-1e-8");
        assert_eq!(named.is_some(), is_named, "{:?}", names(&found));
        assert!(named.is_none_or(|one| (one.residual * error / NEARLY - 1.0).abs() < 1e-12));
    });
}

/// The worst coefficient alone has more than a 64th left, and all together have less.
#[test]
fn what_is_left_is_of_all_coefficients() {
    let element = (0.25, real(-1.0), real(0.0));
    let sweep = problem(Weights::Real, &[element; 11]);
    let [(model, bound), _] = modelled("a-bar-delta-doubled", element, Weights::Real);
    let zero = (single(real(0.0)), real(0.0));
    let off = 100.0 * bound;
    let worst = single(model + off);
    let mut elements = [[(single(model), model - 28.0 * off), zero]; 11];
    elements[7][0] = (worst, double(worst) - 30.0 * off);
    let found = said(&sweep, &elements);
    assert!(names(&found).contains(&"a-bar-delta-doubled"), "{:?}", names(&found));
    // Without the others it is not.
    let alone = problem(Weights::Real, &[element]);
    let found = said(&alone, &[elements[7]]);
    assert!(!names(&found).contains(&"a-bar-delta-doubled"), "{:?}", names(&found));
}

/// Δ a little above 1, doubled in B̄ and cut to 1: B̄ = 2B and not 2ΔB. Errors in u of 2B.
///
/// A = 0 and so Ā = 1. The truth is far off, so that its bound is the larger one of all.
fn doubled_and_cut(above: f64, off: f64, more: &[(f32, f64, f64)]) -> Vec<Diagnosis> {
    let one = (single(real(1.0)), real(1.0));
    let mut of = vec![((1.0 + above * U) as f32, Complex64::ZERO, real(0.75))];
    let mut elements = vec![[one, (single(real(1.5 * (1.0 - off * U))), real(16.0))]];
    for &(delta, b, got) in more {
        of.push((delta, Complex64::ZERO, real(b)));
        elements.push([one, (single(real(got)), real(got))]);
    }
    said(&problem(Weights::Real, &of), &elements)
}

const PAIR: &str = "b-bar-delta-doubled + delta-at-most-1";

/// A pair leaves at most a quarter of what each of its two leaves alone, and is within its bounds.
#[test]
fn a_pair_is_named_where_both_are_needed() {
    let cases: [(&str, f64, f64, bool); 4] = [
        ("a quarter", 48.0, 16.0, true),
        ("more than a quarter", 48.0, 20.0, false),
        ("beyond its bounds", 4096.0, 128.0, false),
        ("less than a quarter", 4096.0, 16.0, true),
    ];
    each(cases, |(_, above, off, is_named)| {
        let found = doubled_and_cut(above, off, &[]);
        assert_eq!(names(&found).contains(&PAIR), is_named, "{:?}", names(&found));
        assert!(is_named || found.iter().all(|one| !one.name.contains(" + ")), "{:?}", names(&found));
        for pair in found.iter().filter(|one| one.name == PAIR) {
            let residual = 1.5 * off * U / (16.0 - 1.5 * (1.0 - off * U));
            assert!((pair.residual / residual - 1.0).abs() < 1e-9, "{} {residual}", pair.residual);
        }
    });
}

/// All coefficients have to agree with a pair, not the worst alone.
#[test]
fn a_pair_explains_every_coefficient() {
    assert!(names(&doubled_and_cut(4096.0, 16.0, &[(0.5, 1.0, 1.0)])).contains(&PAIR));
    let found = doubled_and_cut(4096.0, 16.0, &[(0.5, 1.0, 3.0)]);
    assert!(found.iter().all(|one| !one.name.contains(" + ")), "{:?}", names(&found));
}
