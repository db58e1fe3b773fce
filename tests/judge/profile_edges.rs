//! Promise: of each stretch the first of the worst elements is kept, by the share of what it may be off, whatever the elements are:
//! complex, rounded to 16 bits, or no numbers.

use holdfast::judge::budget::Bounds;
use holdfast::judge::profile::{of_case, of_gradient};
use holdfast::method::Method;
use holdfast::problem::{InputType, Problem, Weights};
use holdfast::results::ErrorSequence;
use holdfast::tensor::{ComputedName, GradientName, Tensor};

use crate::cases::each;
use crate::support::problems::{Layout, generator};

fn problem(seqlen: usize) -> Problem {
    Layout::plain(1, 1, 1, seqlen).random(&mut generator("edges of a profile"))
}

/// Values around 1 that are off by so much, `width` of them to an element, and one bound for each element.
fn judged(
    errors: &[f64],
    width: usize,
    element: InputType,
    bound: &[f64],
) -> (Tensor<f64>, Tensor<f64>, Bounds) {
    let tensor = |values| Tensor { shape: vec![bound.len()], width, element, values };
    let got = errors.iter().map(|error| 1.0 + error).collect();
    let bounds = Bounds { bound: bound.to_vec(), store: vec![0.0; bound.len()], ..Bounds::default() };
    (tensor(got), tensor(vec![1.0; errors.len()]), bounds)
}

fn gradient(problem: &Problem, (got, want, bounds): &(Tensor<f64>, Tensor<f64>, Bounds)) -> ErrorSequence {
    let names = (Method::Rk4, "a case", ComputedName::Gradient(GradientName::B));
    of_gradient(names, problem, got, want, bounds)
}

/// 2⁻¹⁰, which 1 + 2⁻¹⁰ tells exactly.
const OFF: f64 = 1.0 / 1024.0;

/// An element has a place and a bound, and both of its parts are judged by them.
#[test]
fn parts_of_an_element_have_its_place_and_its_bound() {
    let problem = problem(3);
    // Two rows of three positions. The worst of each: its imaginary part in the second row, its real part in the first, and the
    // imaginary part in the first.
    let errors = [1.0, 0.0, 4.0, 1.0, 1.0, 3.0, 1.0, 2.0, 3.0, 0.0, 2.0, 1.0].map(|units| units * OFF);
    let bounds = [8.0, 2.0, 1.0, 1.0, 4.0, 1.0];
    let sequence = gradient(&problem, &judged(&errors, 2, InputType::F32, &bounds));
    assert_eq!(sequence.position, [0, 1, 2]);
    assert_eq!(sequence.error, [2.0 * OFF, 4.0 * OFF, 3.0 * OFF]);
    assert_eq!(sequence.bound, [1.0, 2.0, 1.0]);
    assert_eq!(sequence.tensor, ComputedName::Gradient(GradientName::B));
    assert_eq!((sequence.method, sequence.weights), (Method::Rk4, Weights::Real));
    assert_eq!(sequence.case, "a case");
}

/// Positions that are no multiple of the stretches: all are in one, and no stretch is empty.
#[test]
fn equal_errors_leave_the_first_position_of_each_stretch() {
    let cases: [(&str, usize, usize, bool); 5] = [
        ("of outputs", 200, 128, false),
        ("of gradients", 200, 64, true),
        ("just one more", 129, 128, false),
        ("just enough", 64, 64, true),
        ("one position", 1, 1, false),
    ];
    each(cases, |(_, seqlen, stretches, is_gradient)| {
        let problem = problem(seqlen);
        let all = judged(&vec![OFF; 2 * seqlen], 1, InputType::F32, &vec![1.0; 2 * seqlen]);
        let sequence = match is_gradient {
            true => gradient(&problem, &all),
            false => of_case((Method::Zoh, ""), &problem, &all.0, &all.1, &all.2).1,
        };
        let first: Vec<usize> = (0..stretches).map(|at| (at * seqlen).div_ceil(stretches)).collect();
        assert_eq!(sequence.position, first);
        assert_eq!(sequence.error, vec![OFF; stretches]);
    });
}

/// One that is no number is worse than any other, and counted apart.
#[test]
fn what_is_no_number_is_the_worst_of_its_stretch() {
    let problem = problem(2);
    let mut all = judged(&[OFF, 512.0, 0.0, 0.0], 1, InputType::F32, &[1.0; 4]);
    all.0.values[2] = f64::NAN;
    let (histogram, sequence) = of_case((Method::Zoh, ""), &problem, &all.0, &all.1, &all.2);
    assert_eq!(sequence.position, [0, 1]);
    assert_eq!(sequence.error, [f64::INFINITY, 512.0]);
    assert_eq!((histogram.none, histogram.above, histogram.counts.iter().sum::<usize>()), (1, 2, 1));
    assert_eq!(sequence.tensor, ComputedName::out());
    assert_eq!((histogram.method, histogram.weights), (Method::Zoh, Weights::Real));
}

/// What rounding on store takes is no share of what may be off. An overflow is one in the type that was stored.
#[test]
fn shares_are_those_of_the_stored_type() {
    let problem = problem(1);
    let (got, want, mut bounds) = judged(&[4.0 * OFF, 3.0 * OFF], 1, InputType::F16, &[5.0 * OFF, 4.0 * OFF]);
    // Beside what storing rounds the first one is ⅔ of what it may be off, and the second one ¾.
    bounds.store = vec![2.0 * OFF, 0.0];
    let sequence = gradient(&problem, &(got, want, bounds));
    assert_eq!((&sequence.error[..], &sequence.bound[..]), (&[3.0 * OFF][..], &[4.0 * OFF][..]));
    // From 65520 on f16 has infinities.
    for (element, error) in [(InputType::F16, 0.0), (InputType::Bf16, f64::INFINITY)] {
        let (mut got, mut want, bounds) = judged(&[0.0], 1, element, &[1.0]);
        (got.values[0], want.values[0]) = (f64::INFINITY, 65520.0);
        assert_eq!(gradient(&problem, &(got, want, bounds)).error, [error]);
    }
}
