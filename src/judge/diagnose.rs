//! When an explanation of a failed case is accepted.
//!
//! Every hypothesis, an edit of the specified [program](crate::program) or another way of writing it, comes with a bound on what a sound
//! f32 kernel that computes it may be off ([`super::explain::evaluate`]). With e = got − hypothesis, and the case's own error got − want
//! beside it:
//!
//! - its **share** is the largest |e| / bound over outputs and last states: at most 1 if it is right;
//! - its **residual** is ‖e‖ / ‖got − want‖, each element in units of the larger of its bound and the specified method's, so that small
//!   elements count as much as large ones. Its inverse says how much better than the specified method it fits.
//!
//! It explains the case if its share is at most 1 and its residual at most ¼: rounding is all that is left, and it is needed to say so
//! ([`NEEDED`]). Two edits must also be that much better than each of the two alone.
//!
//! Where the recorded value is infinite or NaN, a hypothesis agrees that is beyond the range of f32 there
//! ([`Row::beyond`](super::explain::Row)); before that, and in channels that stay within the range, values have to
//! be finite and fit. What is no number proves nothing by itself: finite wrong elements and channels that leave the range at exactly
//! the hypothesis' position, at least [`FEWEST_TOLD`] together or as many as there is wrong, have to say the same. The first channel of each
//! such position counts for three: it says which one of as many as the sequence has.
//!
//! A case that nothing explains gets no diagnosis.

mod budget;
pub(super) mod fit;
pub mod sweep;
mod work;

pub use self::budget::{Budget, BudgetError, CASES, Searches};
pub use self::work::Work;
use crate::formula::Form;
use crate::problem::Problem;
use crate::tensor::Tensors;

/// The most that may remain of the error for an explanation to be needed.
pub const NEEDED: f64 = 0.25;
/// The most that may remain where more than rounding remains: 2⁻⁶.
pub const NEARLY: f64 = 1.0 / 64.0;
/// The same for states rounded to 16 bits: one flipped rounding among 64 of its size.
pub const NEARLY_ROUNDED: f64 = 1.0 / 8.0;
/// Elements that a hypothesis with free numbers has to say something of.
pub(super) const FEWEST_TOLD: usize = 8;

/// A failed case, the judged channels only.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub form: Form,
    pub problem: &'a Problem,
    /// What was recorded.
    pub got: &'a Tensors<f64>,
    pub want: &'a Tensors<f64>,
    pub budget: &'a super::budget::Budget,
    /// Where what looking for a cause takes is counted.
    pub work: &'a Work,
}
