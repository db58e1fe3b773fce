//! The relative gate: a kernel's error may be at most [`MULTIPLE`] times that of the same-precision reference path on
//! the same problem, whatever the derived bounds allow.
//!
//! Bounds cover the worst input and every rounding against the kernel; an implementation that is ten times worse than a
//! plain one may hide below them, most of all over long sequences. The measure is the root mean square, over all
//! judged outputs and last states, of |got − want| in units of ρ, what rounding every term of the element, and each
//! operation after their sum, once would cost ([`super::budget::Budget::rounding_out`]): every element counts, large or
//! small, and 1 is the level of rounding itself. There neither error means anything, so that the gate is
//!
//! ```text
//! rms(kernel) ≤ MULTIPLE · max(1, ζ) · max(1, rms(reference))
//! ```
//!
//! with ζ the number of times that the kernel rounds z ([`super::contract::Contract::z_roundings`]; the reference
//! rounds it once): where that is all of the error, ζ roundings to the same side cost ζ times as much.

use super::budget::Budget;
use super::scan::Want;
use crate::problem::Weights;
use crate::results::Relative;

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
    weights: Weights,
    kernel: Want,
    reference: Want,
    want: Want,
    budget: &Budget,
    z_roundings: f64,
) -> Option<Relative> {
    let unit = budget.rounding_last_state.iter().flat_map(|&unit| vec![unit; weights.width()]);
    let units = budget.rounding_out.iter().copied().chain(unit);
    let all = |of: Want<'_>| of.out.iter().chain(of.last_state).copied().collect::<Vec<f64>>();
    let (kernel, reference, want) = (all(kernel), all(reference), all(want));
    let (mut sums, mut count) = ([0.0, 0.0], 0);
    for (i, unit) in units.enumerate() {
        let errors = [&kernel, &reference].map(|got| ((got[i] - want[i]) / unit).powi(2));
        if errors.iter().all(|error| error.is_finite()) {
            sums = [sums[0] + errors[0], sums[1] + errors[1]];
            count += 1;
        }
    }
    if count < FEWEST || budget.repeats > MOST_REPEATS {
        return None;
    }
    let [kernel, reference] = sums.map(|sum| f64::sqrt(sum / count as f64));
    let ratio = kernel / reference.max(1.0);
    Some(Relative { kernel, reference, multiple: MULTIPLE * z_roundings.max(1.0), ratio })
}
