//! A diagonal similarity by powers of two that makes a badly scaled matrix smaller, exactly.
//!
//! f(A) = D f(D⁻¹AD) D⁻¹ for D = diag(2^dᵢ) costs no rounding in binary arithmetic, and the smaller norm
//! saves squarings, bits, and exponents out of range.

use nalgebra::DMatrix;

use crate::truth::number::scalar::{Entry, Real};

/// Sweeps of Osborne's iteration; it converges in a few where it does.
const SWEEPS: usize = 24;
/// Bits of the norm that balancing must gain to be worth it.
const WORTHWHILE: f64 = 4.0;

/// The exponents dᵢ, all zero where balancing gains little.
pub fn exponents<T: Entry>(a: &DMatrix<T>) -> Vec<i64> {
    let n = a.nrows();
    let size = |x: &T| match (x.part(0).to_nearest_f64().abs(), x.part(T::WIDTH - 1).to_nearest_f64().abs()) {
        (re, im) if re.max(im) == 0.0 => f64::NEG_INFINITY,
        (re, im) => re.max(im).log2(),
    };
    let logs = a.map(|x| size(&x));
    let mut d = vec![0i64; n];
    let balanced = |d: &[i64], i: usize, j: usize| logs[(i, j)] + (d[j] - d[i]) as f64;
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..SWEEPS {
        let mut moved = false;
        for i in 0..n {
            let others = || (0..n).filter(move |&j| j != i);
            let row = largest(&mut others().map(|j| balanced(&d, i, j)));
            let column = largest(&mut others().map(|j| balanced(&d, j, i)));
            if row.is_finite() && column.is_finite() {
                let by = ((row - column) / 2.0).round() as i64;
                d[i] += by;
                moved |= by != 0;
            }
        }
        if !moved {
            break;
        }
    }
    let norm = |d: &[i64]| {
        largest(&mut (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| balanced(d, i, j)))
    };
    if norm(&d) <= norm(&vec![0; n]) - WORTHWHILE { d } else { vec![0; n] }
}

/// D⁻¹ A D
pub fn balance<T: Entry>(a: &DMatrix<T>, d: &[i64]) -> DMatrix<T> {
    a.map_with_location(|i, j, x| x.shifted(d[j] - d[i]))
}

/// D⁻¹ B
pub fn balance_rows<T: Entry>(b: &DMatrix<T>, d: &[i64]) -> DMatrix<T> {
    b.map_with_location(|i, _, x| x.shifted(-d[i]))
}
