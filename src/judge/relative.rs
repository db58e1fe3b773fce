//! The relative gate: a kernel's error may be at most [`MULTIPLE`] times that of the same-precision reference path on
//! the same problem, whatever the derived bounds allow.
//!
//! Bounds cover the worst input and every rounding against the kernel; an implementation that is ten times worse than a
//! plain one may hide below them, most of all over long sequences. The measure is the root mean square, over all
//! judged outputs and last states, of |got − want| in units of ρ, what rounding every term of the element, and each
//! operation after their sum, once would cost ([`super::budget::Bounds::rounding`]): every element counts, large or
//! small, and 1 is the level of rounding itself. There neither error means anything, so that the gate is
//!
//! ```text
//! rms(kernel) ≤ MULTIPLE · max(1, ζ) · max(1, rms(reference))
//! ```
//!
//! with ζ the number of times that the kernel rounds z ([`crate::promise::Contract::z_roundings`]; the reference
//! rounds it once): where that is all of the error, ζ roundings to the same side cost ζ times as much.

use super::budget::Budget;
use crate::results::Relative;
use crate::tensor::Tensors;

/// How many times the reference's error a kernel's may be. A choice, not a bound: over eight seeds of the default run
/// the kernels reach 1.34 at most, where they round more often than the reference (the block scan's extra products) and
/// it happens to be lucky; more than twice that leaves room for other seeds, and is still far below the factor of ten
/// and more that bounds over long sequences leave.
pub const MULTIPLE: f64 = 3.0;

/// How often one z or b may occur for the reference to be a measure: the products of equal Ā in a tree all err alike, and
/// those of a serial scan do not, so that a sound tree may be a hundred times worse where Δ is constant.
pub const MOST_REPEATS: f64 = 16.0;

/// Of fewer elements a root mean square says little.
pub const FEWEST: usize = 16;

/// Compares a kernel's judged outputs with the reference's, where both are finite (what is not is the derived bound's to
/// judge). None where the reference is no measure: few elements, or many equal steps.
pub fn judge(
    kernel: &Tensors<f64>,
    reference: &Tensors<f64>,
    want: &Tensors<f64>,
    budget: &Budget,
    z_roundings: f64,
) -> Option<Relative> {
    let (mut sums, mut count) = ([0.0, 0.0], 0);
    for (name, want, bounds) in want.zip(&budget.tensors) {
        let (Some(kernel), Some(reference)) = (kernel.get(name), reference.get(name)) else { continue };
        for (i, &exact) in want.values.iter().enumerate() {
            let unit = bounds.rounding[i / want.width];
            let errors = [kernel, reference].map(|got| ((got.values[i] - exact) / unit).powi(2));
            if errors.iter().all(|error| error.is_finite()) {
                sums = [sums[0] + errors[0], sums[1] + errors[1]];
                count += 1;
            }
        }
    }
    if count < FEWEST || budget.repeats > MOST_REPEATS {
        return None;
    }
    let [kernel, reference] = sums.map(|sum| f64::sqrt(sum / count as f64));
    let ratio = kernel / reference.max(1.0);
    Some(Relative { kernel, reference, multiple: MULTIPLE * z_roundings.max(1.0), ratio })
}
