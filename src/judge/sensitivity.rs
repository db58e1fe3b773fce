//! How small a relative error of Ā or of B̄, or of a derivative of theirs, the verdict catches: measured, with one planted.

/// The exponents that are tried: an f32 coefficient does not move by less than 2⁻²³ of itself, and of derivatives errors as small are far
/// below what rounding costs.
pub const SMALLEST: i32 = -23;
pub const LARGEST: i32 = -1;

/// The smallest exponent in [[`SMALLEST`], [`LARGEST`]] at which `caught` holds, by bisection: a larger error of the same
/// sign shows if a smaller one does.
pub fn smallest_caught(caught: impl Fn(f64) -> bool) -> Option<i32> {
    let at = |exponent: i32| caught(2f64.powi(exponent));
    if !at(LARGEST) {
        return None;
    }
    let (mut missed, mut found) = (SMALLEST - 1, LARGEST);
    while found - missed > 1 {
        let middle = missed + (found - missed) / 2;
        if at(middle) { found = middle } else { missed = middle }
    }
    Some(found)
}
