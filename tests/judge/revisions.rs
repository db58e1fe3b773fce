//! Promise: where two revisions differ it is said which is closer, and only where the difference means something; what is
//! recommended is no more than was measured.

use std::collections::HashSet;
use std::sync::Mutex;

use approx::relative_eq;
use holdfast::judge::coefficient;
use holdfast::judge::diagnose::Work;
use holdfast::judge::recommendation::{is_worse, recommend};
use holdfast::judge::revisions::{NoOutput, cause, compare};
use holdfast::method::Method;
use holdfast::problem::elements::{self, Elements};
use holdfast::problem::{CoefficientProblem, Operand, Weights};
use holdfast::promise::Contract;
use holdfast::results::revisions::{Change, MethodDiff};
use holdfast::tensor::Coefficients;
use num_complex::Complex64;

use crate::cases::{crossed, each};

/// A step at which zoh's Ā is exactly 1. Here as below, A = 1.
const EXACT: f32 = 0.0;
/// One at which the bound on Ā is small.
const SMALL: f32 = 1.0;
/// One at which it is huge.
const HUGE: f32 = 600.0;
/// One at which nothing is bounded: e¹⁰⁰⁰.
const FREE: f32 = 1000.0;

/// A step; the truth's Ā, the old revision's and the new one's.
type Element = (f32, [Complex64; 3]);

fn real(delta: f32, values: [f64; 3]) -> Element {
    (delta, values.map(|value| Complex64::new(value, 0.0)))
}

fn elements(weights: Weights, delta: Vec<f32>, b: f32) -> Elements {
    let mut coefficients = CoefficientProblem::new(weights);
    for &delta in &delta {
        coefficients.push(delta, Complex64::ONE, Complex64::new(b.into(), 0.0));
    }
    Elements { u: vec![1.0; delta.len()], coefficients }
}

/// Compares Ā. B is 0, so that every B̄ is 0, too, and counts as equal.
fn compared(weights: Weights, values: &[Element]) -> MethodDiff {
    let flat = |which: usize| -> Vec<f64> {
        let parts = |(_, values): &Element| [values[which].re, values[which].im];
        values.iter().flat_map(|value| parts(value).into_iter().take(weights.width())).collect()
    };
    let single = |which| flat(which).into_iter().map(|value| value as f32).collect::<Vec<f32>>();
    let (want, old, new) = (flat(0), single(1), single(2));
    let (zeros, single_zeros) = (vec![0.0; want.len()], vec![0.0; want.len()]);
    let elements = elements(weights, values.iter().map(|(delta, _)| *delta).collect(), 0.0);
    let (old, new) = (Ok((&old[..], &single_zeros[..])), Ok((&new[..], &single_zeros[..])));
    compare(Method::Zoh, Operand::Constant, &elements, old, new, Ok((&want, &zeros)))
}

fn real_compared(values: &[(f32, [f64; 3])]) -> MethodDiff {
    let values: Vec<Element> = values.iter().map(|&(delta, values)| real(delta, values)).collect();
    compared(Weights::Real, &values)
}

/// What an Ā may be off where the truth is 0.
fn bound(weights: Weights, delta: f32) -> f64 {
    let want = [0.0; 2];
    let problem = elements(weights, vec![delta], 0.0).coefficients;
    coefficient::bounds(Method::Zoh, &problem, (&want, &want), &Contract::FOREIGN).0[0]
}

#[test]
fn only_what_leaves_or_enters_its_bound_or_moves_by_more_than_rounding_counts() {
    let bound = bound(Weights::Real, SMALL);
    for (old, new, want) in [
        (0.2, -0.9, Change::Rounding),
        (0.9, 1.1, Change::Farther),
        (1.1, 0.9, Change::Closer),
        (50.0, 51.0, Change::Rounding),
        (50.0, 53.0, Change::Farther),
        (50.0, 40.0, Change::Closer),
        (f64::INFINITY, f64::NAN, Change::Rounding),
        (f64::INFINITY, 50.0, Change::Closer),
        (0.0, f64::NAN, Change::Farther),
    ] {
        let diff = real_compared(&[(SMALL, [0.0, old * bound, new * bound])]);
        assert_eq!(diff.change, want, "{old} {new}");
    }
}

/// Exact but for the rounding of what a revision has to f32.
fn assert_worst(diff: &MethodDiff, (worst, infinite): (f64, usize), what: &str) {
    let found = diff.old_worst.expect("the old revision ran");
    assert!(relative_eq!(found, worst, epsilon = 0.0, max_relative = 1e-6), "{what}: {found}, not {worst}");
    assert_eq!(diff.old_infinite, Some(infinite), "{what}");
}

#[test]
fn the_worst_error_is_infinite_where_one_is_no_number_wherever_it_stands() {
    let bound = bound(Weights::Real, SMALL);
    let (nan, infinite) = (f64::NAN, f64::INFINITY);
    for (errors, expected) in [
        (vec![], (0.0, 0)),
        (vec![0.5, 2.0, 1.0], (2.0, 0)),
        (vec![nan, 0.5], (infinite, 1)),
        (vec![0.5, nan, 2.0, infinite], (infinite, 2)),
    ] {
        let values: Vec<_> = errors.iter().map(|error| (SMALL, [0.0, error * bound, 0.0])).collect();
        assert_worst(&real_compared(&values), expected, &format!("{errors:?}"));
    }
}

#[test]
fn no_bound_excuses_a_nan_and_overflow_excuses_an_infinity() {
    assert!((1e200..f64::INFINITY).contains(&bound(Weights::Real, HUGE)));
    assert_eq!(bound(Weights::Real, FREE), f64::INFINITY);
    let (nan, infinite) = (f64::NAN, f64::INFINITY);
    for (delta, want, got, error) in [
        (HUGE, 1.0, nan, infinite),
        (SMALL, 1.0, infinite, infinite),
        (SMALL, 1e39, infinite, 0.0),
        (SMALL, 1e39, -infinite, infinite),
        (EXACT, 1.0, 1.0, 0.0),
        (EXACT, 1.0, 1.5, infinite),
        (EXACT, nan, 1.5, infinite),
        (FREE, 1.0, 1.5, 0.0),
        (FREE, 1.0, nan, infinite),
    ] {
        let expected = (error, usize::from(error == infinite));
        assert_worst(&real_compared(&[(delta, [want, got, want])]), expected, &format!("{got} for {want}"));
    }
    // Errors that no number tells are equal to each other.
    assert_eq!(real_compared(&[(EXACT, [nan, 1.5, 1.25])]).change, Change::Rounding);
    // By modulus.
    let got = Complex64::new(3.0, 4.0) * 0.4 * bound(Weights::Complex, SMALL);
    let diff = compared(Weights::Complex, &[(SMALL, [Complex64::ZERO, got, got])]);
    assert_worst(&diff, (2.0, 0), "a complex Ā");
}

#[test]
fn what_differs_without_a_bound_is_counted_apart() {
    let alone = real_compared(&[(FREE, [1.0, 1.0, 9.0]), (FREE, [1.0, 3.0, 3.0])]);
    let (values, b_bars) = (1, 2);
    assert_eq!(
        (alone.change, alone.unbounded, alone.equal, alone.rounding),
        (Change::Unmeasured, 1, values + b_bars, 0)
    );
    let beside = real_compared(&[(FREE, [1.0, 1.0, 9.0]), (SMALL, [1.0, 9.0, 1.0])]);
    assert_eq!((beside.change, beside.unbounded, beside.closer), (Change::Closer, 1, 1));
    // A NaN is wrong without any bound.
    let nan = real_compared(&[(FREE, [1.0, 1.0, f64::NAN])]);
    assert_eq!((nan.change, nan.unbounded, nan.farther), (Change::Farther, 0, 1));
    let same = real_compared(&[(FREE, [1.0, 3.0, 3.0])]);
    assert_eq!((same.change, same.unbounded), (Change::Equal, 0));
}

#[test]
fn what_this_machine_lacks_breaks_no_revision() {
    let elements = elements(Weights::Real, vec![1.0], 1.0);
    let (want, got) = (([1.0f64.exp()], [1.0]), ([1.0f64.exp() as f32], [1.0f32]));
    let run = |fault: Option<bool>| match fault {
        None => Ok((&got.0[..], &got.1[..])),
        Some(is_fault) => Err(NoOutput { reason: "why".to_owned(), is_fault }),
    };
    for (old, new, expected) in [
        (None, None, Change::Equal),
        (None, Some(true), Change::Broken),
        (Some(true), None, Change::Mended),
        (Some(true), Some(true), Change::BothBroken),
        (None, Some(false), Change::Unmeasured),
        (Some(false), None, Change::Unmeasured),
        (Some(false), Some(true), Change::Unmeasured),
    ] {
        let want = Ok((&want.0[..], &want.1[..]));
        let c = compare(Method::Zoh, Operand::Variable, &elements, run(old), run(new), want);
        assert_eq!(c.change, expected, "{old:?} {new:?}");
        assert_eq!((c.old_infinite.is_none(), c.new_infinite.is_none()), (old.is_some(), new.is_some()));
        assert_eq!((c.old_reason.is_empty(), c.new_reason.is_empty()), (old.is_none(), new.is_none()));
    }
}

/// A comparison of nothing that came to this.
fn comparison(change: Change) -> MethodDiff {
    let (elements, nothing) = (elements(Weights::Real, Vec::new(), 0.0), || Ok((&[][..], &[][..])));
    let blank = compare(Method::Zoh, Operand::Constant, &elements, nothing(), nothing(), Err(String::new()));
    let new_runs = !matches!(change, Change::Broken | Change::BothBroken | Change::Unmeasured);
    MethodDiff { change, new_worst: new_runs.then_some(0.5), new_infinite: new_runs.then_some(0), ..blank }
}

#[test]
fn take_it_and_worse_on_none_are_said_only_where_everything_was_measured() {
    let closer = || comparison(Change::Closer);
    assert_eq!(recommend(&[closer()]), "take it: closer on 1, worse on none");
    let wrong = MethodDiff { new_worst: Some(f64::INFINITY), ..comparison(Change::Mended) };
    let unbounded = MethodDiff { unbounded: 3, ..closer() };
    for other in [comparison(Change::Unmeasured), comparison(Change::BothBroken), wrong, unbounded] {
        let said = recommend(&[closer(), other]);
        assert!(!said.contains("take it") && !said.contains("worse on none"), "{said}");
    }
    let mended = recommend(&[closer(), comparison(Change::Mended)]);
    assert_eq!(mended, "take it: closer on 1, mended on 1");
    let equal = recommend(&[comparison(Change::Equal), comparison(Change::Unmeasured)]);
    assert_eq!(equal, "no difference that matters where it could be told: equal on 1, unmeasured on 1");
    let said = recommend(&[closer(), comparison(Change::BothWrong)]);
    assert_eq!(said, "better on some, and neither is right on others: closer on 1, both wrong on 1");
    assert_eq!(recommend(&[comparison(Change::BothWrong)]), "neither is right: both wrong on 1");
    let said = recommend(&[comparison(Change::BothBroken), comparison(Change::Unmeasured)]);
    assert_eq!(said, "nothing can be said: still broken on 1, unmeasured on 1");
    assert!(is_worse(&[MethodDiff { farther: 1, ..comparison(Change::BothWrong) }]));
    assert!(is_worse(&[closer(), comparison(Change::Unmeasured)]) && !is_worse(&[closer()]));
    assert!(is_worse(&[MethodDiff { unbounded: 1, ..closer() }]));
}

/// A cause is held against the elements that were compared, as they are: Δ, A, B and u of one.
#[test]
fn a_cause_is_held_against_the_compared_elements() {
    each([Weights::Real, Weights::Complex], |weights: Weights| {
        let elements = elements::draw(weights, 1);
        let asked: Mutex<Vec<Elements>> = Mutex::default();
        // zoh with a step that is twice as long in B̄.
        let evaluate = |elements: &Elements| {
            asked.lock().expect("no test fails here").push(elements.clone());
            let (mut a_bar, mut b_bar) = (Vec::new(), Vec::new());
            for [delta, a_re, a_im, b_re, b_im, u] in numbers_of(elements) {
                let a = (Complex64::new(a_re.into(), a_im.into()) * f64::from(delta)).exp();
                let b = Complex64::new(b_re.into(), b_im.into()) * (2.0 * f64::from(delta) * f64::from(u));
                a_bar.extend(&[a.re, a.im][..weights.width()]);
                b_bar.extend(&[b.re, b.im][..weights.width()]);
            }
            Some(Coefficients { a_bar, b_bar })
        };
        let found = cause(Method::Zoh, &elements, (&evaluate, &Work::default()), || None, (&[], &[]))
            .expect("a cause");
        assert_eq!(found.name, "b-bar-delta-doubled");
        let asked = asked.into_inner().expect("no test fails here");
        let compared: HashSet<[u32; 6]> = numbers_of(&elements).map(|one| one.map(f32::to_bits)).collect();
        let last = asked.last().expect("it was asked");
        assert!(last.u.len() >= 200, "{} elements", last.u.len());
        for one in numbers_of(last) {
            assert!(compared.contains(&one.map(f32::to_bits)), "{one:?} was not compared");
        }
    });
}

/// Δ, both parts of A and of B, and u.
fn numbers_of(elements: &Elements) -> impl Iterator<Item = [f32; 6]> {
    let problem = &elements.coefficients;
    let parts = |values: &[f32], i: usize| match problem.weights {
        Weights::Real => [values[i], 0.0],
        Weights::Complex => [values[2 * i], values[2 * i + 1]],
    };
    (0..elements.u.len()).map(move |i| {
        let ([a_re, a_im], [b_re, b_im]) = (parts(&problem.a, i), parts(&problem.b, i));
        [problem.delta[i], a_re, a_im, b_re, b_im, elements.u[i]]
    })
}

/// Of a step of trained models: two that are the same are equal, and neither is said to be wrong, however far both are off.
#[test]
fn what_is_equal_is_not_called_wrong() {
    let mut coefficients = CoefficientProblem::new(Weights::Real);
    coefficients.push(0.0625, Complex64::from(-1.0), Complex64::ZERO);
    let elements = Elements { u: vec![1.0], coefficients };
    assert!(elements.is_trained(0));
    let want = [0.9375];
    let bounds =
        coefficient::bounds(Method::Zoh, &elements.coefficients, (&want, &[0.0]), &Contract::FOREIGN).0;
    for (old, new, change) in [
        (1e5, 1e5, Change::Equal),
        (1e5, 2e5, Change::BothWrong),
        (2e5, 1e5, Change::BothWrong),
        (0.5, 2e5, Change::Farther),
        (2e5, 0.5, Change::Closer),
        (3.0, 2e5, Change::Farther),
    ] {
        let off = |units: f64| [(want[0] + units * bounds[0]) as f32];
        let (old_values, new_values) = (off(old), off(new));
        let runs = (Ok((&old_values[..], &[0.0f32][..])), Ok((&new_values[..], &[0.0f32][..])));
        let diff = compare(Method::Zoh, Operand::Constant, &elements, runs.0, runs.1, Ok((&want, &[0.0])));
        assert_eq!(diff.change, change, "{old} {new}");
    }
}

/// What a B̄u may be off: B̄'s bound times |u|, the rounding of the products with u and with B, and their underflows.
#[test]
fn the_products_with_b_and_u_round() {
    each(
        crossed(
            crossed(crossed([Weights::Real, Weights::Complex], [3.0, -0.375, 0.0]), [0.0, 1e-44, 0.75, -4e6]),
            [1e-44, 1.5],
        ),
        |(((weights, u), b_bar), b): (((Weights, f32), f64), f32)| {
            let product =
                f64::from(f32::EPSILON) / 2.0 * if weights == Weights::Complex { 5f64.sqrt() } else { 1.0 };
            let smallest = f64::from(f32::from_bits(1));
            let elements = Elements { u: vec![u], ..elements(weights, vec![0.5], b) };
            let width = weights.width();
            let (a_bar, b_bar) = ([1.5, 0.0], [b_bar, -0.25 * b_bar]);
            let (want, size) =
                (&b_bar[..width], f64::hypot(b_bar[0], if width == 2 { b_bar[1] } else { 0.0 }));
            let (_, bounds) = coefficient::bounds(
                Method::Zoh,
                &elements.coefficients,
                (&a_bar[..width], want),
                &Contract::FOREIGN,
            );
            let u = f64::from(u);
            let bound = if u == 0.0 {
                0.0
            } else {
                bounds[0] * u.abs() * (1.0 + 2.0 * product) + 2.0 * product * size * u.abs() + smallest
            };
            // Well beyond the bound in the last part.
            let off = 1e3 * (bound + smallest);
            let old: Vec<f32> =
                (0..width).map(|i| (b_bar[i] * u + if i + 1 == width { off } else { 0.0 }) as f32).collect();
            let right: Vec<f32> = want.iter().map(|part| (part * u) as f32).collect();
            let parts = old.iter().zip(want).map(|(&old, want)| f64::from(old) - want * u);
            let error = parts.fold(0.0, f64::hypot) / bound;
            let a_bar = [1.5f32, 0.0];
            let diff = compare(
                Method::Zoh,
                Operand::Variable,
                &elements,
                Ok((&a_bar[..width], &old)),
                Ok((&a_bar[..width], &right)),
                Ok((&[1.5, 0.0][..width], want)),
            );
            let found = diff.old_worst.expect("the old revision ran");
            assert!(found == error || (found - error).abs() <= 1e-12 * error, "{found}, not {error}");
            assert_eq!(diff.change, Change::Closer);
        },
    );
}

/// Where nothing is bounded two numbers cannot be told apart, and a number is told from what is none; two that are none, not.
#[test]
fn without_a_bound_numbers_are_told_from_what_is_none() {
    let none = f64::NAN;
    for (old, new, change, unbounded) in [
        (1.0, 2.0, Change::Unmeasured, 1),
        (none, 2.0, Change::Closer, 0),
        (1.0, none, Change::Farther, 0),
        (none, -f64::INFINITY, Change::Unmeasured, 1),
    ] {
        let compared = real_compared(&[(FREE, [f64::INFINITY, old, new])]);
        assert_eq!((compared.change, compared.unbounded), (change, unbounded), "{old} {new}");
    }
}
