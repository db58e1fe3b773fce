//! What a failed coefficient sweep looks like: the fault models that explain its Ā and B̄, by the same rules as for
//! scans ([module docs](super)), each coefficient in units of the larger of the model's bound and the contract's.
//!
//! Only what a step's coefficients show is there to be named: of two models that differ in the scan alone, the
//! earlier one of the catalogue comes first.

use num_complex::Complex64;

use super::fit::{Fit, FitSums};
use super::{NEARLY, NEEDED, best_first, variant};
use crate::judge::budget::complex_at;
use crate::judge::faults::catalogue::{self, Entry};
use crate::judge::faults::step::{self, Bounded};
use crate::judge::faults::variant::Variant;
use crate::method::Method;
use crate::problem::CoefficientProblem;
use crate::promise::allowance::{self, COEFFICIENT, HALF_SUBNORMAL, U};
use crate::results::Diagnosis;
use crate::sorted;

/// One coefficient: what the kernel returned, what is right, and Ā or B̄ of which element.
#[derive(Clone, Copy)]
struct Coefficient {
    element: usize,
    is_b_bar: bool,
    got: Complex64,
    want: Complex64,
}

impl Coefficient {
    /// The contract, normwise: what the error is measured in.
    fn bound(self) -> f64 {
        COEFFICIENT * self.want.norm() + 2.0 * HALF_SUBNORMAL
    }

    fn ratio(self) -> f64 {
        let ratio = (self.got - self.want).norm() / self.bound();
        if ratio.is_nan() { f64::INFINITY } else { ratio }
    }
}

/// The models that explain computed coefficients (f32, (n)·w; Ā and B̄) of which the truth says `want`, best first.
pub fn diagnose(
    method: Method,
    problem: &CoefficientProblem,
    got: (&[f32], &[f32]),
    want: (&[f64], &[f64]),
) -> Vec<Diagnosis> {
    let coefficients = worst_first(problem, got, want);
    let shown = |entry: &&Entry| entry.fault.shows_in_coefficients(problem.weights);
    let singles: Vec<(&Entry, Fit)> = catalogue::ALL
        .iter()
        .filter(|entry| entry.fault.applies_to(method))
        .filter(shown)
        .map(|entry| (entry, fit(&variant(method.into(), &[entry.fault]), problem, &coefficients, false)))
        .collect();
    let mut exact: Vec<(Vec<&Entry>, Fit)> =
        singles.iter().filter(|(_, fit)| fit.explains()).map(|&(entry, fit)| (vec![entry], fit)).collect();
    if exact.is_empty() {
        exact = pairs(method, problem, &coefficients, &singles);
    }
    let nearly = singles.iter().filter(|(_, fit)| !fit.explains() && fit.residual <= NEARLY);
    best_first(exact, nearly.map(|&(entry, fit)| (vec![entry], fit)).collect())
}

/// Pairs that explain what neither of the two explains. All of them: the worst coefficients rule most out at once.
fn pairs<'a>(
    method: Method,
    problem: &CoefficientProblem,
    coefficients: &[Coefficient],
    singles: &[(&'a Entry, Fit)],
) -> Vec<(Vec<&'a Entry>, Fit)> {
    let mut found = Vec::new();
    for (i, &(b, fit_b)) in singles.iter().enumerate() {
        for &(a, fit_a) in &singles[..i] {
            if a.fault.excludes(b.fault) {
                continue;
            }
            let fit = fit(&variant(method.into(), &[a.fault, b.fault]), problem, coefficients, true);
            if fit.explains() && fit.residual <= NEEDED * fit_a.residual.min(fit_b.residual) {
                found.push((vec![a, b], fit));
            }
        }
    }
    found
}

/// Every Ā and B̄, the one with the largest error in units of its bound first: most models fail there.
fn worst_first(
    problem: &CoefficientProblem,
    got: (&[f32], &[f32]),
    want: (&[f64], &[f64]),
) -> Vec<Coefficient> {
    let width = problem.weights.width();
    let mut coefficients = Vec::new();
    for (is_b_bar, got, want) in [(false, got.0, want.0), (true, got.1, want.1)] {
        for element in 0..problem.delta.len() {
            let at = element * width;
            let imaginary = if width == 2 { want[at + 1] } else { 0.0 };
            coefficients.push(Coefficient {
                element,
                is_b_bar,
                got: complex_at(problem.weights, got, at),
                want: Complex64::new(want[at], imaginary),
            });
        }
    }
    sorted::by_number(&mut coefficients, &|one| -one.ratio());
    coefficients
}

/// Ā or B̄ of a variant, and what a sound f32 kernel with its fault may be off.
///
/// Beyond the bounds of [`coefficient`]'s formulas: a changed Δ may be off by 2u, as where it is squared, and
/// B̄ takes up to four products more, with B and with what the fault has in its place.
fn model(variant: &Variant, problem: &CoefficientProblem, element: usize, is_b_bar: bool) -> Bounded {
    let at = element * problem.weights.width();
    let a = complex_at(problem.weights, &problem.a, at);
    let delta = variant.clamp.of(variant.step_delta.of(f64::from(problem.delta[element])));
    let underflow = 2.0 * HALF_SUBNORMAL;
    if !is_b_bar {
        let a_bar = step::a_bar(variant, delta, 2.0 * U, a);
        return Bounded { error: a_bar.error + underflow, ..a_bar };
    }
    let b = step::used(variant.b_use, complex_at(problem.weights, &problem.b, at));
    let terms = step::terms(variant, delta, 2.0 * U, a);
    let parts = [terms.first, terms.higher, terms.neighbour];
    let size = parts.iter().map(|part| part.norm()).sum::<f64>() * b.norm();
    let products = 4.0 * allowance::product(problem.weights);
    Bounded {
        value: parts.iter().sum::<Complex64>() * b,
        error: size * (terms.error + products) + 2.0 * underflow,
    }
}

/// Fits a variant; with `hasty`, only as long as it may still explain the sweep.
fn fit(variant: &Variant, problem: &CoefficientProblem, coefficients: &[Coefficient], hasty: bool) -> Fit {
    let mut sums = FitSums::default();
    for coefficient in coefficients {
        let Coefficient { element, is_b_bar, got, want } = *coefficient;
        let model = model(variant, problem, element, is_b_bar);
        let finite = got.re.is_finite() && got.im.is_finite();
        let reach = model.value.norm() + model.error;
        let overflows = reach.is_nan() || reach > f64::from(f32::MAX);
        let (error, specified) = match (finite, overflows) {
            (true, _) => ((got - model.value).norm(), (got - want).norm()),
            // As the model has it. Beside the specified method, all of the value is lost.
            (false, true) => (0.0, want.norm()),
            (false, false) => (f64::INFINITY, f64::INFINITY),
        };
        // A model that is no number itself explains no number.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        sums.add_errors(error, model.error, specified, coefficient.bound());
        if hasty && sums.share > 1.0 {
            break;
        }
    }
    sums.fit()
}
