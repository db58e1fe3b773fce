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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(f64, f64, f64)]) -> Agreement {
        let mut agreement = Agreement::default();
        for &(left, right, bound) in pairs {
            agreement.value(left, right, bound);
        }
        agreement
    }

    #[test]
    fn twice_the_bound_is_one() {
        assert_eq!(of(&[(1.0, 1.5, 0.25)]).ratio, 1.0);
        assert_eq!(of(&[(1.0, 1.0, 0.0)]), Agreement { ratio: 0.0, equal: 1, values: 1 });
        assert_eq!(of(&[(0.0, -0.0, 0.0)]), Agreement { ratio: 0.0, equal: 0, values: 1 });
        assert_eq!(of(&[(1.0, 2.0, 0.0), (1.0, 1.5, 1.0)]).ratio, f64::INFINITY);
    }

    #[test]
    fn what_is_not_finite_agrees_only_with_itself() {
        assert_eq!(of(&[(f64::NAN, f64::NAN, 1.0), (f64::INFINITY, f64::INFINITY, 1.0)]).ratio, 0.0);
        for other in [f64::NAN, f64::INFINITY] {
            assert_eq!(of(&[(other, 1.0, 1.0), (1.0, 1.5, 1.0)]).ratio, f64::INFINITY);
            assert_eq!(of(&[(1.0, other, f64::INFINITY)]).ratio, f64::INFINITY);
        }
    }
}
