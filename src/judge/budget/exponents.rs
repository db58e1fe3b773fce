//! Tensors of chunks, as chunked scans keep them.
//!
//! The state before a chunk is a state like the last one, with the joins that there may have been until then; an initial state is kept as
//! it is given. Running sums of ΔA within a chunk are off by what each term is, and each term passes as many additions as there are others,
//! in whatever order: with z off by e, j of them come to (1 + u)^{j−1} Σ(|z| + e) − Σ|z| at most, which is judged by.

use std::ops::Range;

use super::states::Channel;
use super::step_size::step_size;
use super::{Bounds, store_error};
use crate::tensor::TensorName;

/// A running sum of ΔA since a chunk's start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exponents {
    /// Σz
    sum: f64,
    /// Σ|z|
    size: f64,
    /// Errors of the terms together.
    error: f64,
    terms: f64,
}

impl Exponents {
    /// Bounds at these positions of the whole, which come next, of an A that all states share.
    pub fn walk(&mut self, channel: Channel, positions: Range<usize>) -> Bounds {
        let Channel { problem, at, contract, first, .. } = channel;
        let arithmetic = contract.arithmetic.of_states();
        let (u, a) = (arithmetic.unit, f64::from(problem.a[problem.weight_index(at.1, 0)]));
        let mut bounds = Bounds::default();
        for l in positions {
            let (delta, error) = step_size(problem, at, l - first, contract.arithmetic);
            let z = delta * a;
            let product = if z == 0.0 { 0.0 } else { contract.z_roundings * u };
            (self.sum, self.size) = (self.sum + z, self.size + z.abs());
            self.error += z.abs() * (error + product * (1.0 + error));
            if a != 0.0 {
                self.error += arithmetic.underflow;
            }
            let grown = (self.terms * u.ln_1p()).exp_m1();
            self.terms += 1.0;
            let bound = self.error + grown * (self.size + self.error);
            let store = store_error(problem, TensorName::DaCumsum, self.sum.abs() + bound);
            bounds.value.push(self.sum);
            bounds.push(bound + store, bound + store, store, u * self.size + store);
        }
        bounds
    }
}
