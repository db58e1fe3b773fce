//! How far two runs of the same kernel are apart, on two machines or on two days, in units of what both may be off.

use super::budget::Budget;
use crate::problem::Problem;
use crate::tensor::Tensors;

/// Two runs, compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// The largest |left − right| / (2 · bound): both lie within the bound of the same truth, or one of them fails
    /// elsewhere. At most 1 where they agree; infinite where one is not finite and the other differs.
    pub ratio: f64,
    /// Values with the same bits in both.
    pub equal: usize,
    pub values: usize,
}

impl Agreement {
    fn value(&mut self, left: f64, right: f64, bound: f64) {
        self.values += 1;
        if left.to_bits() == right.to_bits() {
            self.equal += 1;
            return;
        }
        let apart = (left - right).abs();
        let ratio = if apart == 0.0 { 0.0 } else { apart / (2.0 * bound) };
        // No bound excuses a NaN or an infinity.
        let ratio = if apart.is_finite() && !ratio.is_nan() { ratio } else { f64::INFINITY };
        self.ratio = self.ratio.max(ratio);
    }

    /// The worst of both, over all values of both.
    pub fn add(&mut self, other: Agreement) {
        self.ratio = self.ratio.max(other.ratio);
        self.equal += other.equal;
        self.values += other.values;
    }
}

/// Compares the judged channels of two runs.
pub fn agreement(problem: &Problem, left: &Tensors<f32>, right: &Tensors<f32>, budget: &Budget) -> Agreement {
    let mut agreement = Agreement::default();
    let (left, right) = (problem.judged(left), problem.judged(right));
    for (name, left, right) in left.zip(&right) {
        let bounds = &budget.tensors[name].bound;
        for (i, (&l, &r)) in left.values.iter().zip(&right.values).enumerate() {
            agreement.value(l, r, bounds[i / left.width]);
        }
    }
    agreement
}
