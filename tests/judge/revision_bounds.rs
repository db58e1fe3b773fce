//! Promise: what two revisions differ by is decided at the bounds themselves, and told with all that it rests on: numbers, places
//! and texts.

use holdfast::judge::coefficient;
use holdfast::judge::diagnose::Work;
use holdfast::judge::revisions::{NoOutput, RevisionOutput, cause, compare};
use holdfast::method::Method;
use holdfast::problem::elements::Elements;
use holdfast::problem::{CoefficientProblem, Operand, Weights};
use holdfast::promise::Contract;
use holdfast::results::revisions::{Change, Difference, MethodDiff};
use holdfast::tensor::Coefficients;
use num_complex::Complex64;

use crate::cases::each;

/// Δ, A, B and u of an element.
type Inputs = (f32, Complex64, Complex64, f32);

/// One with B = 0: B̄u is 0, too.
fn plain(delta: f32, a: f64) -> Inputs {
    (delta, a.into(), Complex64::ZERO, 1.0)
}

/// A step at which the bound on zoh's Ā is some u.
fn small() -> Inputs {
    plain(1.0, 1.0)
}

/// One such as trained models have them.
fn trained() -> Inputs {
    plain(0.0625, -1.0)
}

/// One at which nothing is bounded: e¹⁰⁰⁰.
fn free() -> Inputs {
    plain(1000.0, 1.0)
}

fn elements(weights: Weights, of: &[Inputs]) -> Elements {
    let mut coefficients = CoefficientProblem::new(weights);
    for &(delta, a, b, _) in of {
        coefficients.push(delta, a, b);
    }
    Elements { u: of.iter().map(|(.., u)| *u).collect(), coefficients }
}

/// Compares Ā of real elements whose B̄u is 0.
fn compared(elements: &Elements, want: &[f64], old: &[f32], new: &[f32]) -> MethodDiff {
    let zeros = vec![0.0f32; want.len()];
    let (old, new) = (Ok((old, &zeros[..])), Ok((new, &zeros[..])));
    compare(Method::Zoh, Operand::Constant, elements, old, new, Ok((want, &vec![0.0; want.len()][..])))
}

/// What the first Ā may be off if it is this.
fn bound_of(elements: &Elements, want: f64) -> f64 {
    let count = elements.u.len();
    let want = (vec![want; count], vec![0.0; count]);
    coefficient::bounds(Method::Zoh, &elements.coefficients, (&want.0, &want.1), &Contract::FOREIGN).0[0]
}

/// A truth that is exactly so many of its own bounds from 0, a power of two: the bound grows with it, and less than it does.
fn bounds_from_0(elements: &Elements, units: f64) -> f64 {
    let mut want = 0.0;
    for _ in 0..100 {
        want = units * bound_of(elements, want);
    }
    assert_eq!(want / bound_of(elements, want), units);
    want
}

/// A bound itself is still within it.
#[test]
fn an_error_of_one_bound_is_within_it() {
    let cases: [(&str, f64, f64, Change); 4] = [
        ("the old at its bound", 0.0, 0.5, Change::Rounding),
        ("the new at its bound", 0.5, 0.0, Change::Rounding),
        ("from the bound to beyond", 0.0, -0.5, Change::Farther),
        ("from beyond to the bound", -0.5, 0.0, Change::Closer),
    ];
    each(cases, |(_, old, new, change)| {
        let elements = elements(Weights::Real, &[small()]);
        let want = bounds_from_0(&elements, 1.0);
        let [old, new] = [old, new].map(|share| [(share * want) as f32]);
        assert_eq!(compared(&elements, &[want], &old, &new).change, change);
    });
}

/// Two roundings of one wrong value may be two bounds apart, and no more.
#[test]
fn two_wrong_values_exactly_two_bounds_apart_are_one() {
    let elements = elements(Weights::Real, &[small()]);
    let new = (4.0 * bound_of(&elements, 0.0)) as f32;
    // The least truth with that bound; larger ones have larger bounds.
    let half = f64::from(new) / 2.0;
    let (mut below, mut want) = (0.0, 4.0);
    for _ in 0..100 {
        let middle = (below + want) / 2.0;
        *if bound_of(&elements, middle) < half { &mut below } else { &mut want } = middle;
    }
    assert_eq!(bound_of(&elements, want), half);
    for (want, change) in [(want, Change::Rounding), (0.999 * want, Change::Closer)] {
        let found = compared(&elements, &[want], &[0.0], &[new]);
        assert!(found.new_worst.is_some_and(|worst| worst > 1e3), "both are wrong");
        assert_eq!(found.change, change);
    }
}

/// Neither of two errors that are equal is closer, however far apart the values are.
#[test]
fn equal_errors_on_both_sides_are_no_change() {
    let elements = elements(Weights::Real, &[small()]);
    let off = (50.0 * bound_of(&elements, 0.0)) as f32;
    let found = compared(&elements, &[0.0], &[off], &[-off]);
    assert_eq!((found.change, found.rounding, found.old_worst), (Change::Rounding, 1, found.new_worst));
}

/// More than 4096 bounds are half of the digits.
#[test]
fn both_are_wrong_where_both_are_off_by_more_than_half_of_the_digits() {
    let elements = elements(Weights::Real, &[trained()]);
    let want = bounds_from_0(&elements, 4096.0);
    let farther = [-want as f32];
    for (want, changes) in
        [(want, [Change::Farther, Change::Closer]), (1.001 * want, [Change::BothWrong, Change::BothWrong])]
    {
        let there = compared(&elements, &[want], &[0.0], &farther);
        let back = compared(&elements, &[want], &farther, &[0.0]);
        assert_eq!([there.change, back.change], changes);
        assert_eq!(there.old_trained, Some(want / bound_of(&elements, want)));
        assert_eq!((back.new_trained, back.old_trained), (there.old_trained, there.new_trained));
    }
}

/// What is far off and the same says nothing of what could not be told.
#[test]
fn what_could_not_be_told_is_not_called_wrong() {
    let elements = elements(Weights::Real, &[trained(), free()]);
    let found = compared(&elements, &[0.9375, 1.0], &[3.0, 1.0], &[3.0, 9.0]);
    assert!(found.old_trained.is_some_and(|worst| worst > 4096.0));
    assert_eq!((found.change, found.unbounded, found.equal), (Change::Unmeasured, 1, 3));
}

/// Only an element that is trained counts as such.
#[test]
fn trained_elements_are_counted_by_themselves() {
    let all = elements(Weights::Real, &[small(), trained()]);
    let (bound, of_trained) = (bound_of(&all, 0.0), bound_of(&elements(Weights::Real, &[trained()]), 0.0));
    let (old, new) = ([(50.0 * bound) as f32, (3.0 * of_trained) as f32], [(30.0 * bound) as f32, 0.0f32]);
    let found = compared(&all, &[0.0; 2], &old, &new);
    let units = |value: f32, bound: f64| Some(f64::from(value) / bound);
    assert_eq!((found.old_worst, found.new_worst), (units(old[0], bound), units(new[0], bound)));
    assert_eq!((found.old_trained, found.new_trained), (units(old[1], of_trained), Some(0.0)));
    assert_eq!((found.old_infinite, found.new_infinite), (Some(0), Some(0)));
    let none = compared(&elements(Weights::Real, &[small()]), &[0.0], &old[..1], &new[..1]);
    assert_eq!((none.old_trained, none.new_trained), (None, None));
}

/// One element for each entry: what is old and what is new, in bounds from a truth of 0.
const IN_BOUNDS: [(f64, f64); 12] = [
    (0.25, -0.75),
    // The first of two that are the farthest apart, and of the two largest errors each.
    (0.5, -0.75),
    (0.5, -0.75),
    (50.0, 40.0),
    (60.0, 1.5),
    (60.0, 1.5),
    (2.0, 70.0),
    (1.5, 80.0),
    (1.5, 80.0),
    (0.125, 0.25),
    (20.0, 10.0),
    (0.5, 9.0),
];

#[test]
fn the_first_of_the_heaviest_differences_of_each_kind_is_shown() {
    let elements = elements(Weights::Real, &[small(); 12]);
    let bound = bound_of(&elements, 0.0);
    let single = |units: f64| (units * bound) as f32;
    let (old, new) = (IN_BOUNDS.map(|(old, _)| single(old)), IN_BOUNDS.map(|(_, new)| single(new)));
    let found = compared(&elements, &[0.0; 12], &old, &new);
    // Every B̄u is 0 and equal.
    assert_eq!((found.compared, found.equal, found.unbounded), (24, 12, 0));
    assert_eq!((found.rounding, found.closer, found.farther, found.change), (4, 4, 4, Change::Mixed));
    let shown: Vec<_> = found.differences.iter().map(|one| (one.change, one.index)).collect();
    assert_eq!(shown, [(Change::Rounding, 1), (Change::Closer, 4), (Change::Farther, 7)]);
    for one in &found.differences {
        assert_eq!((one.value.as_str(), one.trained), ("a_bar", false));
        assert_eq!(one.old_error, f64::from(old[one.index]).abs() / bound);
        assert_eq!(one.new_error, f64::from(new[one.index]).abs() / bound);
    }
}

/// The second element alone differs, in B̄u; what it is, is told of it and of no other one.
#[test]
fn a_difference_is_told_with_its_inputs() {
    each([Weights::Real, Weights::Complex], |weights: Weights| {
        let (width, c) = (weights.width(), Complex64::new);
        let others = (0.25, c(-1.0, 3.0), c(2.0, 4.0), -1.0);
        let elements = elements(
            weights,
            &[others, (0.5, c(-2.0, 1.0), c(0.75, -0.25), 3.0), (0.125, c(-5.0, 6.0), c(7.0, 9.0), 2.0)],
        );
        let a_bar = [0.5, 0.25, -0.5, 1.25, 0.75, 2.25];
        let b_bar = [0.25, -2.0, 1.5, -0.5, 3.0, 5.0];
        let part = |values: [f64; 6]| -> Vec<f64> {
            values.chunks(2).flat_map(|both| both[..width].to_vec()).collect()
        };
        let single = |values: &[f64]| values.iter().map(|value| *value as f32).collect::<Vec<f32>>();
        let times_u = [-0.25, 2.0, 4.5, -1.5, 6.0, 10.0];
        let mut wrong = times_u;
        // Of complex weights in the imaginary part alone.
        (wrong[2], wrong[3]) = if width == 1 { (8.0, 0.0) } else { (4.5, -4.0) };
        let (a_bars, old, new) = (single(&part(a_bar)), single(&part(wrong)), single(&part(times_u)));
        let runs = (Ok((&a_bars[..], &old[..])), Ok((&a_bars[..], &new[..])));
        let want = (part(a_bar), part(b_bar));
        let found = compare(
            Method::Zoh,
            Operand::Variable,
            &elements,
            runs.0,
            runs.1,
            Ok((&want.0[..], &want.1[..])),
        );
        assert_eq!((found.compared, found.equal, found.closer), (6, 5, 1));
        assert_eq!((found.method, found.weights, found.b), (Method::Zoh, weights, Operand::Variable));
        assert_eq!((found.new_worst, found.change), (Some(0.0), Change::Closer));
        let [Difference { change, value, index, inputs, old, new, truth, old_error, new_error, trained }] =
            &found.differences[..]
        else {
            panic!("{:?}", found.differences)
        };
        assert_eq!((*change, value.as_str(), *index, *trained), (Change::Closer, "b_bar_u", 1, false));
        assert_eq!((Some(*old_error), *new_error), (found.old_worst, 0.0));
        let texts = (old.as_str(), new.as_str(), truth.as_str());
        match weights {
            Weights::Real => {
                assert_eq!(inputs, &["delta = 5e-1", "A = -2e0", "B = 7.5e-1", "u = 3e0"]);
                assert_eq!(texts, ("8e0", "4.5e0", "4.5e0"));
            }
            Weights::Complex => {
                assert_eq!(inputs, &["delta = 5e-1", "A = -2e0+1e0i", "B = 7.5e-1-2.5e-1i", "u = 3e0"]);
                assert_eq!(texts, ("4.5e0-4e0i", "4.5e0-1.5e0i", "4.5e0-1.5e0i"));
            }
        }
    });
}

#[test]
fn a_difference_at_a_trained_element_is_told_as_such() {
    let elements = elements(Weights::Real, &[small(), trained()]);
    let found = compared(&elements, &[0.0; 2], &[0.0, 0.0], &[0.0, 1.0]);
    let shown: Vec<_> = found.differences.iter().map(|one| (one.index, one.trained)).collect();
    assert_eq!(shown, [(1, true)]);
}

/// From here on a number rounds to an infinity of f32.
fn threshold() -> f64 {
    2f64.powi(128) - 2f64.powi(103)
}

/// Errors of 0 are those of what overflows as it has to, or may.
#[test]
fn an_infinity_is_right_where_the_truth_may_be_beyond_the_range() {
    let cases: [(&str, Inputs, [f64; 2], [f32; 2], bool); 10] = [
        ("where the bound reaches it", plain(600.0, 1.0), [1.0, 0.0], [f32::INFINITY, 0.0], true),
        ("where the truth is just there", plain(0.0, 1.0), [threshold(), 0.0], [f32::INFINITY, 0.0], true),
        ("just below", plain(0.0, 1.0), [threshold().next_down(), 0.0], [f32::INFINITY, 0.0], false),
        ("of the other sign", plain(600.0, 1.0), [1.0, 0.0], [f32::NEG_INFINITY, 0.0], false),
        ("in the imaginary part", small(), [0.0, 1e39], [0.0, f32::INFINITY], true),
        ("in its negative", small(), [0.0, -1e39], [0.0, f32::NEG_INFINITY], true),
        ("of its other sign", small(), [0.0, 1e39], [0.0, f32::NEG_INFINITY], false),
        ("beside a zero of another sign", small(), [-0.0, 1e39], [0.0, f32::INFINITY], true),
        ("in the part that is small", small(), [1e39, 1.0], [3e38, f32::INFINITY], false),
        ("beside what is no number", small(), [0.0, 1e39], [f32::NAN, f32::INFINITY], false),
    ];
    each(cases, |(_, element, want, got, is_right)| {
        let elements = elements(Weights::Complex, &[element]);
        let run = || Ok((&got[..], &[0.0f32; 2][..]));
        let found =
            compare(Method::Zoh, Operand::Constant, &elements, run(), run(), Ok((&want[..], &[0.0; 2][..])));
        let expected = if is_right { (Some(0.0), Some(0)) } else { (Some(f64::INFINITY), Some(1)) };
        assert_eq!((found.old_worst, found.old_infinite), expected);
        assert_eq!((found.new_worst, found.new_infinite), expected);
    });
}

/// One that is no number has many bit patterns, which say nothing; a zero has two, which differ.
#[test]
fn what_is_no_number_is_equal_whatever_its_bits() {
    let (one, other) = (f32::from_bits(0x7fc0_0000), f32::from_bits(0xffc0_0001));
    let real = elements(Weights::Real, &[small()]);
    let found = compared(&real, &[0.0], &[one], &[other]);
    assert_eq!((found.change, found.equal), (Change::Equal, 2));
    let found = compared(&real, &[0.0], &[0.0], &[-0.0]);
    assert_eq!((found.change, found.equal, found.rounding), (Change::Rounding, 1, 1));
    let complex = elements(Weights::Complex, &[small()]);
    let run = |value: f32| [1.0, value];
    let (old, new) = (run(one), run(other));
    let (old, new) = (Ok((&old[..], &[0.0f32; 2][..])), Ok((&new[..], &[0.0f32; 2][..])));
    let want = Ok((&[1.0, 0.0][..], &[0.0; 2][..]));
    assert_eq!(compare(Method::Zoh, Operand::Constant, &complex, old, new, want).change, Change::Equal);
}

#[test]
fn why_nothing_was_compared_is_told() {
    let elements = elements(Weights::Real, &[trained()]);
    let fault = |reason: &str| Err(NoOutput { reason: reason.to_owned(), is_fault: true });
    let values = || Ok((&[1.5f32][..], &[0.0f32][..]));
    let of = |old: RevisionOutput, new: RevisionOutput, want| {
        compare(Method::Zoh, Operand::Constant, &elements, old, new, want)
    };
    let want = || Ok((&[0.0][..], &[0.0][..]));
    let no_truth = of(values(), values(), Err("no truth".to_owned()));
    assert_eq!((no_truth.change, no_truth.compared, no_truth.old_worst), (Change::Unmeasured, 0, None));
    assert_eq!((no_truth.old_reason.as_str(), no_truth.new_reason.as_str()), ("", "no truth"));
    let error = Some(1.5 / bound_of(&elements, 0.0));
    let broken = of(values(), fault("of the new"), want());
    assert_eq!((broken.change, broken.compared), (Change::Broken, 0));
    assert_eq!((broken.old_worst, broken.old_trained, broken.old_infinite), (error, error, Some(0)));
    assert_eq!((broken.new_worst, broken.new_trained, broken.new_infinite), (None, None, None));
    assert_eq!((broken.old_reason.as_str(), broken.new_reason.as_str()), ("", "of the new"));
    let mended = of(fault("of the old"), values(), want());
    assert_eq!((mended.change, mended.compared), (Change::Mended, 0));
    assert_eq!((mended.new_worst, mended.new_trained, mended.new_infinite), (error, error, Some(0)));
    assert_eq!((mended.old_worst, mended.old_trained, mended.old_infinite), (None, None, None));
    assert_eq!((mended.old_reason.as_str(), mended.new_reason.as_str()), ("of the old", ""));
}

/// A header without a build that can be asked is known by what it computed.
#[test]
fn a_cause_is_a_fault_model_where_no_formula_is_found() {
    let coefficients = CoefficientProblem {
        weights: Weights::Real,
        delta: vec![0.5, 0.25],
        a: vec![-2.0, -1.0],
        b: vec![1.0, 3.0],
    };
    let elements = Elements { coefficients, u: vec![1.0; 2] };
    let evaluate = |_: &Elements| -> Option<Coefficients<f64>> { None };
    let want = ([(-1.0f64).exp(), (-0.25f64).exp()], [0.5, 0.75]);
    let without_delta = || Some([want.0.map(|value| value as f32).to_vec(), vec![1.0, 3.0]]);
    let found =
        cause(Method::Zoh, &elements, (&evaluate, &Work::default()), without_delta, (&want.0, &want.1));
    assert_eq!(found.map(|found| found.name).as_deref(), Some("b-bar-delta-missing"));
    assert!(
        cause(Method::Zoh, &elements, (&evaluate, &Work::default()), || None, (&want.0, &want.1)).is_none()
    );
}
