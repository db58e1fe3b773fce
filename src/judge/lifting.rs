//! Precision lifting: the same kernel source in double must shrink the error by about 2²⁹ (53 bits for 24).
//!
//! The lifted run has a verdict of its own, free of any tolerance: it must lie within the same derived bound
//! ([`super::budget`]), evaluated at u = 2⁻⁵³ with the contract of the kernels' double path, plus half an ulp of the truth, which
//! is rounded to f64. A wrong formula stays wrong by as much as before; what only rounds badly is cured. With that the
//! error of a case splits in two, each against its own allowance:
//!
//! - **rounding**: the kernel against its own formula in high precision, got − lifted;
//! - **truncation**: that formula against the specified method, lifted − want.
//!
//! What it does not separate: in double the coefficients come of the double path (`kernels/precise.cuh`), not of the f32
//! path's polynomials and pairs. A wrong constant in those is f32's alone and is called rounding here; the coefficient
//! sweeps judge it. Everything else, from loads to store, is the same source. So it is with the derivatives of a backward pass.

use super::budget::Bounds;
use super::verdict::share;
use crate::results::{Conclusion, ErrorPart, Lifting, Verdict};
use crate::tensor::{Named, Tensor};

/// Compares values, all (elements): each with its allowance, of which the second number is the rounding on store.
fn part<'a>(elements: impl Iterator<Item = (f64, f64, f64, (f64, f64))> + 'a) -> ErrorPart {
    let (mut part, mut squared, mut size) = (ErrorPart::default(), 0.0, 0.0);
    for (got, want, scale, (bound, store)) in elements {
        let error = (got - want).abs();
        let share = share(error, (bound, store));
        part.share = if share.is_nan() { f64::INFINITY } else { part.share.max(share) };
        part.max = if error.is_nan() { f64::INFINITY } else { part.max.max(error) };
        squared += error * error;
        size += scale * scale;
    }
    part.rel_l2 = if squared == 0.0 { 0.0 } else { (squared / size).sqrt() };
    part
}

/// Half an ulp of a truth that is rounded to f64.
fn truth_rounding(want: f64) -> f64 {
    want.abs() * (f64::EPSILON / 2.0) + 5e-324
}

/// The lifted run of one scan, for the judged channels, or of one backward pass; `got` is none where the kernel returned nothing. With
/// the bounds on what the kernel and what its lifted run computed.
pub fn tensors<N: Ord + Copy>(
    verdict: Verdict,
    got: Option<&Named<Tensor<f64>, N>>,
    lifted: &Named<Tensor<f64>, N>,
    want: &Named<Tensor<f64>, N>,
    (budget, lifted_budget): (&Named<Bounds, N>, &Named<Bounds, N>),
) -> Lifting {
    let values = |of: &Named<Tensor<f64>, N>| {
        want.zip(of).flat_map(|(_, _, t)| t.values.iter().copied()).collect::<Vec<_>>()
    };
    let bounds = |of: &Named<Bounds, N>, which: fn(&Bounds) -> &Vec<f64>| -> Vec<f64> {
        let each = want.zip(of);
        each.flat_map(|(_, want, bounds)| which(bounds).iter().flat_map(|&b| vec![b; want.width])).collect()
    };
    parts(
        verdict,
        got.map(values).as_deref(),
        &values(lifted),
        &values(want),
        (&bounds(budget, |b| &b.bound), &bounds(budget, |b| &b.store), &bounds(lifted_budget, |b| &b.bound)),
    )
}

/// The lifted run of one tensor: values and bounds (elements), the second bound being the rounding on store, the third
/// that on the lifted values.
pub fn parts(
    verdict: Verdict,
    got: Option<&[f64]>,
    lifted: &[f64],
    want: &[f64],
    (bound, store, lifted_bound): (&[f64], &[f64], &[f64]),
) -> Lifting {
    let indices = 0..want.len();
    let truncation = part(
        indices
            .clone()
            .map(|i| (lifted[i], want[i], want[i], (lifted_bound[i] + truth_rounding(want[i]), 0.0))),
    );
    // An infinity that the truth's size explains is judged elsewhere.
    let rounding = got.map_or(ErrorPart { share: f64::NAN, max: f64::NAN, rel_l2: f64::NAN }, |got| {
        let finite = indices.clone().filter(|&i| !got[i].is_infinite());
        part(finite.map(|i| (got[i], lifted[i], want[i], (bound[i], store[i]))))
    });
    let unbounded = indices.clone().any(|i| lifted_bound[i].is_infinite());
    let (own, reason) = if unbounded {
        (Verdict::Unmeasured, "the derived bound in double is infinite: nothing can be judged".to_owned())
    } else if truncation.share <= 1.0 {
        (Verdict::Pass, String::new())
    } else {
        (Verdict::Fail, String::new())
    };
    let shrink = got.and_then(|got| {
        let finite = indices.filter(|&i| !got[i].is_infinite());
        let error = part(finite.map(|i| (got[i], want[i], want[i], (bound[i], store[i]))));
        (error.rel_l2 > 0.0 && truncation.rel_l2 > 0.0).then(|| (error.rel_l2 / truncation.rel_l2).log2())
    });
    let conclusion = match (verdict, own) {
        (Verdict::Fail, Verdict::Pass) => Some(Conclusion::Rounding),
        (Verdict::Fail, Verdict::Fail) => Some(Conclusion::WrongFormula),
        _ => None,
    };
    Lifting { verdict: own, reason, shrink, conclusion, rounding, truncation }
}

/// A lifted run that returned nothing: it faulted, or could not be run.
pub fn without_output(verdict: Verdict, reason: String) -> Lifting {
    let none = ErrorPart { share: f64::NAN, max: f64::NAN, rel_l2: f64::NAN };
    Lifting { verdict, reason, shrink: None, conclusion: None, rounding: none, truncation: none }
}
