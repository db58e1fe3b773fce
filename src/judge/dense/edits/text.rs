//! Formulas of a step as texts, and numbers in them.

use crate::notation::ratio;
pub(super) use crate::program::matrices::{SPECIFIED, Symbols, quotient, term_text, written};

/// Divisors of simple fractions, and the most that is divided.
const BELOW: [i64; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 48, 120];
const MOST_ABOVE: f64 = 120.0;

/// Above and below of the fraction that is this number but for roundings.
fn fraction(number: f64) -> Option<(i64, i64)> {
    let of = |&below: &i64| {
        let above = (number * below as f64).round();
        let is_near = above != 0.0 && (above / below as f64 / number - 1.0).abs() < 1e-6;
        (is_near && above.abs() <= MOST_ABOVE).then_some((above as i64, below))
    };
    BELOW.iter().find_map(of)
}

/// The fraction that is this number but for roundings, or itself.
pub(super) fn simple(number: f64) -> f64 {
    fraction(number).map_or(number, |(above, below)| above as f64 / below as f64)
}

/// Whether a number is 0 or such a fraction.
pub(super) fn is_simple(number: f64) -> bool {
    number == 0.0 || fraction(number).is_some()
}

/// `3 B/4`, or as many times in decimals as no fraction tells.
pub(super) fn multiple(times: f64, text: &str) -> String {
    match fraction(times) {
        Some((above, below)) => ratio(text, above, below),
        None => format!("{} {text}", shortest(times)),
    }
}

/// A number in as few digits as tell it to six.
pub(super) fn shortest(number: f64) -> String {
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    format!("{rounded}").replace('-', "−")
}
