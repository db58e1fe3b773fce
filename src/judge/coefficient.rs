//! The verdict on Ā and B̄ themselves, element by element, against the kernels' accuracy contract: 4 ulp for
//! real weights, 8·2⁻²⁴ normwise for complex ones, whatever z. A foreign kernel may round z, too: [`judge_rounded`].

use num_complex::Complex64;

use super::allowance::{COEFFICIENT, COEFFICIENT_ULPS, HALF_SUBNORMAL, U};
use super::budget::complex_at;
use super::contract::Contract;
use super::model;
use super::results::{CoefficientPoint, Verdict, Worst};
use super::ulp::Format;
use super::verdict::{Distance, Element, worst};
use crate::method::Method;
use crate::problem::{CoefficientProblem, Weights};

/// Ā and B̄ of one sweep, judged.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub verdict: Verdict,
    pub worst_a_bar: Option<Worst>,
    pub worst_b_bar: Option<Worst>,
    pub points: Vec<CoefficientPoint>,
}

/// Judges computed coefficients (f32, (n)·w) against the truth's (f64, (n)·w).
pub fn judge(problem: &CoefficientProblem, got: (&[f32], &[f32]), want: (&[f64], &[f64])) -> Judgement {
    judge_within(problem, got, want, None)
}

/// The same for a kernel that keeps the `contract` for the z that it rounds: each bound is [`model::step`]'s.
pub fn judge_rounded(
    method: Method,
    problem: &CoefficientProblem,
    got: (&[f32], &[f32]),
    want: (&[f64], &[f64]),
    contract: &Contract,
) -> Judgement {
    let bounds = (0..problem.delta.len()).map(|i| bounds(method, problem, i, contract)).unzip();
    judge_within(problem, got, want, Some(bounds))
}

/// The bounds on the errors of Ā and B̄ of element i.
pub fn bounds(method: Method, problem: &CoefficientProblem, i: usize, contract: &Contract) -> (f64, f64) {
    let (weights, at) = (problem.weights, i * problem.weights.width());
    let (a, b) = (complex_at(weights, &problem.a, at), complex_at(weights, &problem.b, at));
    let step = model::step(method, weights, (f64::from(problem.delta[i]), 0.0), a, b, contract);
    (step.a_bar_error, step.b_bar_error)
}

fn judge_within(
    problem: &CoefficientProblem,
    got: (&[f32], &[f32]),
    want: (&[f64], &[f64]),
    bounds: Option<(Vec<f64>, Vec<f64>)>,
) -> Judgement {
    let (a_bounds, b_bounds) = bounds.unzip();
    // Where z = 0 every method's Ā is exactly 1, and B̄ is exactly 0 where Δ or B is: nothing rounds.
    let zero = |values: &[f32], i: usize| {
        let width = problem.weights.width();
        values[i * width..(i + 1) * width].iter().all(|&part| part == 0.0)
    };
    let identity = |i| problem.delta[i] == 0.0 || zero(&problem.a, i);
    let nothing = |i| problem.delta[i] == 0.0 || zero(&problem.b, i);
    let (a_distances, worst_a_bar) = compare("a_bar", problem, (got.0, want.0), a_bounds, &identity);
    let (b_distances, worst_b_bar) = compare("b_bar", problem, (got.1, want.1), b_bounds, &nothing);
    let passes = |worst: &Option<Worst>| worst.as_ref().is_some_and(|w| w.ratio <= 1.0);
    let verdict = if passes(&worst_a_bar) && passes(&worst_b_bar) { Verdict::Pass } else { Verdict::Fail };
    let points = a_distances
        .iter()
        .zip(&b_distances)
        .enumerate()
        .map(|(i, (&a_bar_ulp, &b_bar_ulp))| {
            let z = z_at(problem, i);
            CoefficientPoint { z_re: z.re, z_im: z.im, a_bar_ulp, b_bar_ulp }
        })
        .collect();
    Judgement { verdict, worst_a_bar, worst_b_bar, points }
}

fn z_at(problem: &CoefficientProblem, i: usize) -> Complex64 {
    complex_at(problem.weights, &problem.a, i * problem.weights.width()) * f64::from(problem.delta[i])
}

/// The distance of each element (ulps for real, units of 2⁻²⁴ for complex weights) and the worst one.
fn compare(
    tensor: &str,
    problem: &CoefficientProblem,
    (got, want): (&[f32], &[f64]),
    bounds: Option<Vec<f64>>,
    exact: &dyn Fn(usize) -> bool,
) -> (Vec<f64>, Option<Worst>) {
    let width = problem.weights.width();
    let mut shown = Vec::with_capacity(problem.delta.len());
    let mut worst_at: Option<(usize, Element, Distance)> = None;
    for i in 0..problem.delta.len() {
        let bound = bounds.as_ref().map(|bounds| bounds[i]);
        let (element, distance) = match problem.weights {
            Weights::Real => real_distance(f64::from(got[i]), want[i], bound),
            Weights::Complex => {
                let want = Complex64::new(want[i * width], want[i * width + 1]);
                complex_distance(complex_at(Weights::Complex, got, i * width), want, bound)
            }
        };
        let distance = if exact(i) && distance.error > 0.0 { Distance::BROKEN } else { distance };
        shown.push(distance.ulp);
        if worst_at.is_none_or(|(_, _, worst)| distance.ratio > worst.ratio) {
            worst_at = Some((i, element, distance));
        }
    }
    let worst = worst_at.map(|(i, element, distance)| {
        let weight = |values: &[f32]| match problem.weights {
            Weights::Real => format!("{:e}", values[i]),
            Weights::Complex => format!("{:e}{:+e}i", values[i * width], values[i * width + 1]),
        };
        let z = z_at(problem, i);
        let inputs = vec![
            format!("delta = {:e}", problem.delta[i]),
            format!("A = {}", weight(&problem.a)),
            format!("B = {}", weight(&problem.b)),
            format!("z = {:e}{:+e}i", z.re, z.im),
        ];
        worst(tensor, vec![i], element, distance, inputs)
    });
    (shown, worst)
}

/// Subnormal results carry an absolute error: two roundings of half the smallest subnormal.
const UNDERFLOW: f64 = 2.0 * HALF_SUBNORMAL;

fn real_distance(got: f64, want: f64, bound: Option<f64>) -> (Element, Distance) {
    let ulp = if want.is_finite() { Format::F32.ulp(want) } else { f64::INFINITY };
    let element = Element { got, want, bound: bound.unwrap_or(COEFFICIENT_ULPS * ulp), store: 0.0 };
    (element, element.distance(Format::F32))
}

/// Shown by modulus: got and want are |got| and |want|, the error is |got − want|.
fn complex_distance(got: Complex64, want: Complex64, bound: Option<f64>) -> (Element, Distance) {
    let bound = bound.unwrap_or(COEFFICIENT * want.norm() + UNDERFLOW);
    let element = Element { got: got.norm(), want: want.norm(), bound, store: 0.0 };
    let error = (got - want).norm();
    let distance = if error.is_nan() || !want.norm().is_finite() {
        Distance::BROKEN
    } else if error == 0.0 {
        Distance::NONE
    } else {
        let smallest = HALF_SUBNORMAL / U;
        let ratio = error / bound;
        Distance { error, ratio, share: ratio, ulp: error / (U * want.norm().max(smallest)) }
    };
    (element, distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_zero_must_be_the_exact_identity() {
        let problem = |delta, a| CoefficientProblem {
            weights: Weights::Real,
            delta: vec![delta],
            a: vec![a],
            b: vec![1.0],
        };
        let verdict = |problem: &CoefficientProblem, a_bar: f32, b_bar: f32| {
            let want = [f64::from(problem.delta[0])];
            judge(problem, (&[a_bar], &[b_bar]), (&[1.0], &want)).verdict
        };
        for (delta, a) in [(0.0, -1.0), (0.5, 0.0)] {
            let problem = problem(delta, a);
            assert_eq!(verdict(&problem, 1.0, delta), Verdict::Pass);
            assert_eq!(verdict(&problem, 1f32.next_up(), delta), Verdict::Fail);
        }
        assert_eq!(verdict(&problem(0.0, -1.0), 1.0, 1e-30), Verdict::Fail);
    }

    fn one(weights: Weights, got: &[f32], want: &[f64]) -> Judgement {
        let w = weights.width();
        let problem = CoefficientProblem { weights, delta: vec![0.5], a: vec![-1.0; w], b: vec![1.0; w] };
        judge(&problem, (got, got), (want, want))
    }

    #[test]
    fn four_ulps_pass_and_five_fail_real_weights() {
        let off = |ulps: u32| f32::from_bits(0.75f32.to_bits() + ulps);
        assert_eq!(one(Weights::Real, &[off(4)], &[0.75]).verdict, Verdict::Pass);
        assert_eq!(one(Weights::Real, &[off(5)], &[0.75]).verdict, Verdict::Fail);
        assert_eq!(one(Weights::Real, &[f32::NAN], &[0.75]).verdict, Verdict::Fail);
    }

    #[test]
    fn complex_weights_are_judged_by_modulus() {
        // An imaginary part of 7u beside a real part of 1 passes although it has no correct digit.
        let off = |units: f64| [1.0, (units * U) as f32];
        assert_eq!(one(Weights::Complex, &off(7.9), &[1.0, 0.0]).verdict, Verdict::Pass);
        assert_eq!(one(Weights::Complex, &off(8.1), &[1.0, 0.0]).verdict, Verdict::Fail);
        assert_eq!(one(Weights::Complex, &[f32::NAN, 0.0], &[1.0, 0.0]).verdict, Verdict::Fail);
    }
}
