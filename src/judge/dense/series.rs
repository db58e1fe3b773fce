//! Series of matrices, and norms.

use nalgebra::{Complex, ComplexField, DMatrix};

use super::bounds::Matrix;

/// The largest sum of a row by |re| + |im|, as kernels halve by it.
pub fn row_norm(of: &Matrix) -> f64 {
    of.row_iter().map(|row| row.iter().map(|x| x.re.abs() + x.im.abs()).sum()).fold(0.0, f64::max)
}

/// Halvings after which z has a norm of at most this.
pub fn halvings(z: &Matrix, most: f64) -> usize {
    let (mut norm, mut halvings) = (row_norm(z), 0);
    // Larger ones have no e^z that the truth knows.
    while norm > most && halvings < 40 {
        norm *= 0.5;
        halvings += 1;
    }
    halvings
}

/// Whether no entry has an imaginary part: real products take a fraction of the time.
fn is_real(of: &Matrix) -> bool {
    of.iter().all(|x| x.im == 0.0)
}

fn real(of: &Matrix) -> DMatrix<f64> {
    of.map(|x| x.re)
}

/// A product of matrices.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    if is_real(a) && is_real(b) { (real(a) * real(b)).map(Complex::from) } else { a * b }
}

/// Moduli of all entries.
pub fn sizes(of: &Matrix) -> DMatrix<f64> {
    of.map(Complex::norm)
}

/// φ_k(x), for a norm of x of at most 2.
pub fn series<T: ComplexField<RealField = f64>>(x: &DMatrix<T>, k: usize) -> DMatrix<T> {
    let identity = DMatrix::<T>::identity(x.nrows(), x.nrows());
    let of_row = |row: usize| x.row(row).iter().map(|entry| entry.clone().norm1()).sum::<f64>();
    // The rest is below 2⁻⁶⁰.
    let last = if (0..x.nrows()).all(|row| of_row(row) <= 1.0) { 20 } else { 28 };
    let mut sum = identity.clone();
    for j in (1..=last).rev() {
        sum = &identity + (x * sum).unscale((j + k) as f64);
    }
    sum.unscale((1..=k).product::<usize>() as f64)
}

/// φ_k of a matrix whose norm is at most 2.
pub fn phi(x: &Matrix, k: usize) -> Matrix {
    if is_real(x) { series(&real(x), k).map(Complex::from) } else { series(x, k) }
}

/// e^x and its derivative along g, for a norm of x of at most 2.
pub fn series_with<T: ComplexField<RealField = f64>>(x: &DMatrix<T>, g: &DMatrix<T>) -> [DMatrix<T>; 2] {
    let identity = DMatrix::<T>::identity(x.nrows(), x.nrows());
    let (mut sum, mut slope) = (identity.clone(), DMatrix::zeros(x.nrows(), x.nrows()));
    for j in (1..=29).rev() {
        slope = (g * &sum + x * slope).unscale(f64::from(j));
        sum = &identity + (x * sum).unscale(f64::from(j));
    }
    [sum, slope]
}

/// xᵏ/k! and its derivative along g, of which nothing is zero.
pub fn power_with(x: &DMatrix<f64>, g: Option<&DMatrix<f64>>, k: u32) -> [DMatrix<f64>; 2] {
    let n = x.nrows();
    let (mut power, mut slope) = (DMatrix::identity(n, n), DMatrix::zeros(n, n));
    let Some(g) = g else {
        let factorial = (1..=k).map(f64::from).product::<f64>();
        return [x.pow(k) / factorial, slope];
    };
    for j in 1..=k {
        slope = (g * &power + x * slope) / f64::from(j);
        power = x * power / f64::from(j);
    }
    [power, slope]
}

/// At least the 2-norm, and at most n^(1/16) times it.
pub fn spread(of: &Matrix) -> f64 {
    let size = of.norm();
    if size == 0.0 || !size.is_finite() {
        return size;
    }
    let unit = of / Complex::from(size);
    let square = product(&unit.adjoint(), &unit);
    let fourth = product(&square, &square);
    size * product(&fourth, &fourth).norm().powf(0.125)
}
