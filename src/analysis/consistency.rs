//! Consistency, B̄/Δ → B as Δ → 0, and whether the unit of time matters (spec.md §2).

use super::{ConsistencyCurve, FormStep, SYSTEMS, solved};
use crate::problem::{CoefficientProblem, Weights};
use crate::truth::{Form, TruthError};

/// Δ is 2 to minus these.
const HALVINGS: std::ops::RangeInclusive<i32> = -1..=16;
/// How many times shorter the other unit of time is: a power of two, so that every number stays exact.
const UNIT: f32 = 1024.0;

/// B̄/(ΔB) for A = −1, B = 1; the terms of a textbook form together.
pub fn measure() -> Result<Vec<ConsistencyCurve>, TruthError> {
    let deltas: Vec<f32> = HALVINGS.map(|k| 0.5f32.powi(k)).collect();
    let curve = |form: Form| {
        let steps = SYSTEMS[0].steps(form, &deltas)?;
        let ratio =
            |(step, delta): (&FormStep, &f32)| (step.b[1] + step.b[0] + step.b[2]).re / f64::from(*delta);
        Ok(ConsistencyCurve {
            form: form.name().to_owned(),
            delta: deltas.iter().map(|&d| f64::from(d)).collect(),
            b_bar_over_delta: steps.iter().zip(&deltas).map(ratio).collect(),
        })
    };
    Form::all().map(curve).collect()
}

/// The largest relative change of Ā or B̄ under (A, B, Δ) → (A/s, B/s, sΔ), s = 1024, which is the same system with
/// time counted in another unit. Correctly rounded values of the same number are equal: a change is the form's.
pub fn time_scale_change(form: Form) -> Result<f64, TruthError> {
    let in_unit = |s: f32| {
        let deltas = [0.01f32, 0.1, 0.5, 1.5];
        let problem = CoefficientProblem {
            weights: Weights::Complex,
            delta: deltas.iter().map(|d| d * s).collect(),
            a: [-1.0 / s, 0.5 / s].repeat(deltas.len()),
            b: [1.0 / s, 0.25 / s].repeat(deltas.len()),
        };
        solved(form, &problem)
    };
    let mut largest = 0.0f64;
    for (one, other) in in_unit(1.0)?.iter().zip(in_unit(UNIT)?) {
        let pairs = one.b.into_iter().zip(other.b).chain([(one.a, other.a)]);
        for (x, y) in pairs.filter(|(x, y)| x != y) {
            largest = largest.max((x - y).norm() / x.norm());
        }
    }
    Ok(largest)
}
