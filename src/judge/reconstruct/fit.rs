//! Least squares in f64: complex values as sums of given columns with real factors.

use nalgebra::{DMatrix, DVector};
use num_complex::Complex64;

/// What a fit may leave, relative: constants typed as single ones (⅙ as `0.166667f`) are as coarse in double, and double's
/// own rounding is far below it.
pub const TOLERANCE: f64 = 1.0 / (1 << 20) as f64;

/// What a double may have lost where it sums what cancels, as φ₃'s closed form does: its roundoff over |z|³, with room
/// for the operations that it has.
pub fn blurred(z: Complex64) -> f64 {
    4.0 * TOLERANCE + 64.0 * f64::EPSILON * z.norm().powi(-3)
}

/// Singular values below this share of the largest one count as 0: columns that the samples cannot tell apart.
const RANK: f64 = 1e-13;

/// The real factors c with Σ cⱼ columnⱼ = values as nearly as can be, each row in units of its scale; none where the columns
/// cannot be told apart.
pub fn factors(columns: &[Vec<Complex64>], values: &[Complex64], scales: &[f64]) -> Option<Vec<f64>> {
    let rows = values.len();
    if columns.is_empty() || rows == 0 {
        return None;
    }
    let scaled = |column: &[Complex64], row: usize| {
        let value = column[row % rows] / scales[row % rows];
        if row < rows { value.re } else { value.im }
    };
    let matrix = DMatrix::from_fn(2 * rows, columns.len(), |row, column| scaled(&columns[column], row));
    let right = DVector::from_fn(2 * rows, |row, _| scaled(values, row));
    // Columns of like length, so that the rank does not depend on their units.
    let lengths: Vec<f64> = matrix.column_iter().map(|column| column.norm()).collect();
    if lengths.iter().any(|length| !length.is_normal()) || right.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let unit =
        DMatrix::from_fn(2 * rows, columns.len(), |row, column| matrix[(row, column)] / lengths[column]);
    let svd = unit.svd(true, true);
    if svd.singular_values.min() < RANK * svd.singular_values.max() {
        return None;
    }
    let solution = svd.solve(&right, 0.0).ok()?;
    Some(solution.iter().zip(lengths).map(|(factor, length)| factor / length).collect())
}

/// The largest |model − value| in units of the scales.
pub fn residual(model: &[Complex64], values: &[Complex64], scales: &[f64]) -> f64 {
    let off =
        model.iter().zip(values).zip(scales).map(|((model, value), scale)| (model - value).norm() / scale);
    // A NaN fits nothing.
    off.fold(0.0, |worst, off| if off.is_nan() { f64::INFINITY } else { worst.max(off) })
}

/// A fraction that `value` is to within what a fit leaves: denominators up to 64, and products of small ones.
pub fn recognized(value: f64) -> Option<(i64, i64)> {
    (1..=64)
        .chain([72, 90, 96, 100, 120, 144, 180, 240, 360, 384, 480, 720, 840, 1440, 5040, 40320])
        .find_map(|denominator| {
            let numerator = (value * denominator as f64).round();
            let near = (numerator / denominator as f64 - value).abs() <= TOLERANCE * value.abs();
            (near && numerator != 0.0 && numerator.abs() <= 1000.0).then_some((numerator as i64, denominator))
        })
}

/// Whether numbers look chosen and not fitted: fractions, but for one in three.
pub fn plausible(values: &[f64]) -> bool {
    let odd = values.iter().filter(|&&value| value != 0.0 && recognized(value).is_none()).count();
    odd <= 1 && 3 * odd <= values.len().max(3)
}

/// `value`, or the fraction that it is.
pub fn snapped(value: f64) -> f64 {
    recognized(value).map_or(value, |(numerator, denominator)| numerator as f64 / denominator as f64)
}
