//! Products, norms and polynomials of matrices, by plain loops.

use nalgebra::DMatrix;
use num_traits::Zero;

use crate::parallel;
use crate::truth::number::scalar::{Entry, Real};
use crate::truth::number::wide::Wide;

/// Rows from which a product of wide numbers is worth splitting over threads.
const PARALLEL_FROM: usize = 12;

/// a·b. Products with an exact zero are skipped, so that triangular and block matrices cost less and
/// structural zeros stay exact.
pub fn product<T: Entry>(a: &DMatrix<T>, b: &DMatrix<T>) -> DMatrix<T> {
    let rows = a.nrows();
    let column = |j: usize| {
        let mut sums = vec![T::zero(); rows];
        for (k, factor) in b.column(j).iter().enumerate().filter(|(_, f)| !f.is_zero()) {
            // Column by column, as it lies in memory.
            T::add_scaled(&mut sums, &a.as_slice()[k * rows..(k + 1) * rows], factor);
        }
        sums
    };
    let columns: Vec<Vec<T>> = match rows >= PARALLEL_FROM && T::Part::BITS >= Wide::BITS {
        true => parallel::each(b.ncols(), &column),
        false => (0..b.ncols()).map(column).collect(),
    };
    DMatrix::from_iterator(rows, b.ncols(), columns.into_iter().flatten())
}

/// factor·a for a real factor.
pub fn scaled<T: Entry>(a: &DMatrix<T>, factor: &T::Part) -> DMatrix<T> {
    a.map(|entry| if entry.is_zero() { entry } else { entry.scale(factor.clone()) })
}

/// a·2ⁿ
pub fn shifted<T: Entry>(a: &DMatrix<T>, n: i64) -> DMatrix<T> {
    a.map(|entry| entry.shifted(n))
}

/// An upper bound of log₂ of the 1-norm; none for the zero matrix.
pub fn norm_exponent<T: Entry>(a: &DMatrix<T>) -> Option<i64> {
    let column_sum = |column: nalgebra::DVectorView<T>| {
        column.iter().fold(T::Part::zero(), |sum, entry| sum + entry.clone().norm1())
    };
    a.column_iter().filter_map(|c| column_sum(c).exponent()).max().map(|e| e + 1)
}

/// a + c·I
pub fn plus_identity<T: Entry>(mut a: DMatrix<T>, c: &T::Part) -> DMatrix<T> {
    for i in 0..a.nrows() {
        a[(i, i)] += T::from_real(c.clone());
    }
    a
}

/// Σ cₖ zᵏ by Paterson and Stockmeyer: about 2√degree products.
pub fn polynomial<T: Entry>(z: &DMatrix<T>, coefficients: &[T::Part]) -> DMatrix<T> {
    let n = z.nrows();
    let block = (coefficients.len() as f64).sqrt().ceil().max(1.0) as usize;
    let mut powers = vec![z.clone()];
    while powers.len() < block {
        let next = product(&powers[powers.len() - 1], z);
        powers.push(next);
    }
    let mut sum = DMatrix::<T>::zeros(n, n);
    for (index, chunk) in coefficients.chunks(block).enumerate().rev() {
        if (index + 1) * block < coefficients.len() {
            sum = product(&sum, &powers[block - 1]);
        }
        for (power, c) in powers.iter().zip(&chunk[1..]) {
            sum.zip_apply(power, |s, p| {
                if !p.is_zero() {
                    *s += p.scale(c.clone());
                }
            });
        }
        sum = plus_identity(sum, &chunk[0]);
    }
    sum
}

/// c₀ = 1/start!, c₁ = 1/(start+1)!, …, `terms` + 1 of them.
pub fn inverse_factorials<R: Real>(start: usize, terms: usize) -> Vec<R> {
    let mut factorial = R::one();
    let mut coefficients = Vec::with_capacity(terms + 1);
    for k in 0..=start + terms {
        factorial *= R::exact(k.max(1) as f64);
        if k >= start {
            coefficients.push(R::one() / factorial.clone());
        }
    }
    coefficients
}
