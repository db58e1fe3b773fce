//! The relative gate: a kernel's error may be at most [`MULTIPLE`] times that of a same-precision reference path on
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
//! with ζ the number of times that the kernel rounds z ([`crate::promise::Contract::z_roundings`]); the reference rounds z = ΔA once, at
//! every position anew. A kernel that rounds it more often may do so in what A alone decides, A log₂e say: that is off in the same way
//! at every position, and what it costs does not average out along a sequence. So such a kernel has a second reference, the same path
//! with every part of A off by its last place, which is at least one such rounding; the worse one counts.
//!
//! # Gradients
//!
//! Each gradient is compared on its own, with that of a sequential f32 backward pass: sums over positions are few beside rows
//! of sequences, and would be lost among them. The worst one counts. A sum over positions is an average in itself, and counts for as many
//! values as it has positions. Of a loss that sees few positions every element of a row has the
//! error of one long product, and ρ is what such a product's roundings come to
//! ([`super::budget::gradient`], "The level of rounding").

use super::budget::gradient::GradientBudget;
use super::budget::{Bounds, Budget};
use crate::problem::Problem;
use crate::results::Relative;
use crate::tensor::{Gradients, Tensor, Tensors};

/// How many times the reference's error a kernel's may be. A choice, not a bound: over eight seeds of the default run
/// the kernels of the accurate tier reach 1.34 at most, where they round more often than the reference (the block scan's extra products) and
/// it happens to be lucky, and gradients 1.7; nearly twice that leaves room for other seeds, and is still far below the factor of ten
/// and more that bounds over long sequences leave.
pub const MULTIPLE: f64 = 3.0;

/// How often one z or b may occur for the reference to be a measure: the products of equal Ā in a tree all err alike, and
/// those of a serial scan do not, so that a sound tree may be a hundred times worse where Δ is constant.
pub const MOST_REPEATS: f64 = 16.0;

/// Of fewer elements a root mean square says little.
pub const FEWEST: usize = 16;

/// Squared errors of the kernel and of the reference in units of one rounding, where both are finite (what is not is the derived
/// bound's to judge).
#[derive(Clone, Copy, Default)]
struct Errors {
    sums: [f64; 2],
    count: usize,
}

impl Errors {
    fn add<K, R>(&mut self, kernel: &Tensor<K>, reference: &Tensor<R>, want: &Tensor<f64>, bounds: &Bounds)
    where
        K: Copy + Into<f64>,
        R: Copy + Into<f64>,
    {
        for (i, &exact) in want.values.iter().enumerate() {
            let unit = bounds.rounding[i / want.width];
            let got: [f64; 2] = [kernel.values[i].into(), reference.values[i].into()];
            let errors = got.map(|got| ((got - exact) / unit).powi(2));
            if errors.iter().all(|error| error.is_finite()) {
                self.sums = [self.sums[0] + errors[0], self.sums[1] + errors[1]];
                self.count += 1;
            }
        }
    }

    /// None where they are too few, each of them having so many terms.
    fn compared(&self, terms: usize, z_roundings: f64) -> Option<Relative> {
        if self.count == 0 || self.count.saturating_mul(terms) < FEWEST {
            return None;
        }
        let [kernel, reference] = self.sums.map(|sum| f64::sqrt(sum / self.count as f64));
        let ratio = kernel / reference.max(1.0);
        let multiple = MULTIPLE * z_roundings.max(1.0);
        Some(Relative { kernel, reference, multiple, ratio, tensor: None })
    }
}

/// Compares a kernel's judged outputs with those of each reference; the one that is the worst itself counts. None where they are no
/// measure: few elements, or many equal steps.
pub fn judge(
    kernel: &Tensors<f64>,
    references: &[Tensors<f64>],
    want: &Tensors<f64>,
    budget: &Budget,
    z_roundings: f64,
) -> Option<Relative> {
    let compared = references.iter().filter_map(|reference| {
        let mut all = Errors::default();
        for (name, want, bounds) in want.zip(&budget.tensors) {
            if let (Some(kernel), Some(reference)) = (kernel.get(name), reference.get(name)) {
                all.add(kernel, reference, want, bounds);
            }
        }
        all.compared(1, z_roundings)
    });
    let worst = compared.max_by(|a, b| a.reference.total_cmp(&b.reference));
    worst.filter(|_| budget.repeats <= MOST_REPEATS)
}

/// Compares a kernel's gradients with the reference's, each on its own: the worst one of those that have enough elements. None
/// where there is none, or the reference is no measure.
pub fn gradients(
    problem: &Problem,
    kernel: &Gradients<f32>,
    reference: &Gradients<f32>,
    want: &Gradients<f64>,
    budget: &GradientBudget,
    z_roundings: f64,
) -> Option<Relative> {
    let each = want.zip(&budget.tensors).filter_map(|(name, want, bounds)| {
        let mut errors = Errors::default();
        errors.add(kernel.get(name)?, reference.get(name)?, want, bounds);
        let positions = problem.shape.batch * problem.shape.seqlen;
        let relative = errors.compared(if problem.varies(name) { 1 } else { positions }, z_roundings)?;
        Some(Relative { tensor: Some(name.into()), ..relative })
    });
    let worst = each.max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    worst.filter(|_| budget.walked.repeats <= MOST_REPEATS)
}
