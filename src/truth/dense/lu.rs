//! Elimination with pivots: linear systems and inverses of the dense routes, without a proof of anything.

use nalgebra::DMatrix;

use crate::truth::number::scalar::Entry;

/// Where the next pivot is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pivoting {
    /// In its column.
    Partial,
    /// In all that is left.
    Complete,
}

/// A factored square matrix.
pub struct Lu<T: Entry> {
    /// U and, below the diagonal, L without its ones.
    factors: DMatrix<T>,
    /// Which row, and which column, each step swapped with its own.
    swaps: Vec<(usize, usize)>,
}

impl<T: Entry> Lu<T> {
    pub fn new(mut m: DMatrix<T>, pivoting: Pivoting) -> Self {
        let n = m.nrows();
        let mut swaps = Vec::with_capacity(n);
        for k in 0..n {
            let columns = if pivoting == Pivoting::Complete { k..n } else { k..k + 1 };
            let (mut pivot, mut largest) = ((k, k), m[(k, k)].norm1());
            for at in columns.flat_map(|j| (k..n).map(move |i| (i, j))) {
                let size = m[at].norm1();
                if size > largest {
                    (pivot, largest) = (at, size);
                }
            }
            m.swap_rows(k, pivot.0);
            m.swap_columns(k, pivot.1);
            swaps.push(pivot);
            if m[(k, k)].is_zero() {
                continue;
            }
            let inverse = T::one() / m[(k, k)].clone();
            (k + 1..n).for_each(|i| m[(i, k)] *= inverse.clone());
            for j in k + 1..n {
                let above = m[(k, j)].clone();
                for i in k + 1..n {
                    let taken = m[(i, k)].clone() * above.clone();
                    m[(i, j)] -= taken;
                }
            }
        }
        Lu { factors: m, swaps }
    }

    /// X with MX = B; none for a singular M.
    pub fn solve(&self, b: &DMatrix<T>) -> Option<DMatrix<T>> {
        let (n, factors) = (self.factors.nrows(), &self.factors);
        if (0..n).any(|i| factors[(i, i)].is_zero()) {
            return None;
        }
        let mut solution = b.clone();
        self.swaps.iter().enumerate().for_each(|(k, swap)| solution.swap_rows(k, swap.0));
        for column in 0..b.ncols() {
            let eliminate = |x: &mut DMatrix<T>, i: usize, row: usize| {
                let taken = factors[(row, i)].clone() * x[(i, column)].clone();
                x[(row, column)] -= taken;
            };
            for i in 0..n {
                (i + 1..n).for_each(|row| eliminate(&mut solution, i, row));
            }
            for i in (0..n).rev() {
                solution[(i, column)] /= factors[(i, i)].clone();
                (0..i).for_each(|row| eliminate(&mut solution, i, row));
            }
        }
        self.swaps.iter().enumerate().rev().for_each(|(k, swap)| solution.swap_rows(k, swap.1));
        Some(solution)
    }

    pub fn inverse(&self) -> Option<DMatrix<T>> {
        let n = self.factors.nrows();
        self.solve(&DMatrix::identity(n, n))
    }
}
