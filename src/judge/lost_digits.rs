//! Whether a failed case has a wrong formula, or a right one that loses digits: by the same source in double.
//!
//! The unit roundoff of double is 2⁻²⁹ of single's, and what rounding costs a formula, cancellation included, is in
//! proportion to it; what is wrong with the formula itself stays. With e the error of the single run and e′ that of the
//! double one, each element in units of its bound, rounding is to blame where either
//!
//! - ‖e′‖ ≤ 2⁻²⁰ ‖e‖: the 2⁹ that are left are room for roundings that happen to cancel in single, and for constants
//!   and thresholds (softplus above 20) that are as coarse in double; or
//! - every |e′| ≤ 1 and ‖e′‖ ≤ ¼ ‖e‖: in double the case passes, and most of the error is gone. Constants typed as
//!   single ones keep an error of their own in double.

use super::diagnose::{Case, NEEDED};
use crate::results::{Diagnosis, explained};
use crate::tensor::{Tensor, TensorName, Tensors};

/// What may be left of an error that is all rounding.
pub const LEFT_IN_DOUBLE: f64 = 1.0 / (1 << 20) as f64;

/// The name of the finding, beside those of the fault models.
pub const NAME: &str = explained::LOST_DIGITS;

/// A finding, where rounding is to blame for what is wrong with a tensor: `lifted` is the double run's, the judged
/// channels only.
pub fn diagnose(case: &Case, tensor: TensorName, lifted: &Tensors<f64>) -> Option<Diagnosis> {
    let (got, lifted) = (case.got.get(tensor)?, lifted.get(tensor)?);
    let (want, bounds) = (case.want.get(tensor)?, case.budget.tensors.get(tensor)?);
    found((got, want), &lifted.values, &bounds.bound)
}

/// The same of any tensor, with a bound for each of its elements.
pub fn found((got, want): (&Tensor<f64>, &Tensor<f64>), lifted: &[f64], bounds: &[f64]) -> Option<Diagnosis> {
    let (mut single, mut double, mut worst) = (0.0, 0.0, 0.0f64);
    let mut add = |got: f64, lifted: f64, want: f64, bound: f64| {
        let in_units = |value: f64| if value == want { 0.0 } else { (value - want).abs() / bound };
        let (e, lifted) = (in_units(got), in_units(lifted));
        single += e * e;
        double += lifted * lifted;
        worst = if lifted.is_nan() { f64::INFINITY } else { worst.max(lifted) };
    };
    for (i, (&got, &exact)) in got.values.iter().zip(&want.values).enumerate() {
        add(got, *lifted.get(i)?, exact, bounds[i / want.width]);
    }
    // An overflow is no cancellation.
    if !single.is_finite() {
        return None;
    }
    let residual = (double / single).sqrt();
    let rounding = residual <= LEFT_IN_DOUBLE || worst <= 1.0 && residual <= NEEDED;
    let what = "the formula is right, but f32 loses its digits, by cancellation: compiled in double, the error is gone";
    rounding.then(|| Diagnosis::new(NAME, what, residual))
}
