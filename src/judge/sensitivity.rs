//! How small a relative error of Ā or of B̄, or of a derivative of theirs, the verdict catches: measured, with one planted.

/// The exponents that are tried: an f32 coefficient does not move by less than 2⁻²³ of itself, and of derivatives errors as small are far
/// below what rounding costs.
pub const SMALLEST: i32 = -23;
pub const LARGEST: i32 = -1;

/// Where a search begins that nothing is known of.
pub const USUAL: Option<i32> = Some(-16);

/// The smallest exponent in [[`SMALLEST`], [`LARGEST`]] at which `caught` holds: a larger error of the same sign shows if a smaller
/// one does.
pub fn smallest_caught(caught: impl Fn(f64) -> bool) -> Option<i32> {
    smallest_caught_near(USUAL, caught)
}

/// Search as [`smallest_caught`] has it, from the exponent of something alike, where it ends soonest: steps that double, then
/// bisection of the last one.
pub fn smallest_caught_near(alike: Option<i32>, caught: impl Fn(f64) -> bool) -> Option<i32> {
    let at = |exponent: i32| caught(2f64.powi(exponent));
    let begin = alike.unwrap_or(LARGEST).clamp(SMALLEST, LARGEST);
    let (mut missed, mut found, mut step) = (SMALLEST - 1, begin, 1);
    if at(begin) {
        while found - step > missed {
            if !at(found - step) {
                missed = found - step;
                break;
            }
            found -= step;
            step *= 2;
        }
    } else {
        missed = begin;
        loop {
            if missed == LARGEST {
                return None;
            }
            found = (missed + step).min(LARGEST);
            if at(found) {
                break;
            }
            missed = found;
            step *= 2;
        }
    }
    while found - missed > 1 {
        let middle = missed + (found - missed) / 2;
        if at(middle) { found = middle } else { missed = middle }
    }
    Some(found)
}
