//! Numbers that JSON cannot hold: NaN and infinities are written as `null`, and `null` is read as NaN.

use serde::{Deserialize, Deserializer, Serializer};

/// One number.
pub fn one<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// A list of numbers.
pub fn many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let numbers: Vec<Option<f64>> = Vec::deserialize(from)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

/// Significant digits of an error, a bound or a share in a text: nobody reads more.
pub const DIGITS: usize = 6;

/// A number to so many digits.
pub fn rounded(number: f64, digits: usize) -> f64 {
    format!("{number:.*e}", digits - 1).parse().unwrap_or(number)
}

/// One number that texts have to a few digits.
pub mod short {
    pub use super::one as deserialize;
    use super::{DIGITS, Serializer, rounded};

    pub fn serialize<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
        let number = if to.is_human_readable() { rounded(*number, DIGITS) } else { *number };
        to.serialize_f64(number)
    }
}

/// Numbers of which texts have so many digits each.
pub fn short_list<S: Serializer>(numbers: &[f64], digits: usize, to: S) -> Result<S::Ok, S::Error> {
    let readable = to.is_human_readable();
    to.collect_seq(numbers.iter().map(|&number| if readable { rounded(number, digits) } else { number }))
}

/// Several numbers that texts have to a few digits.
pub mod shorts {
    pub use super::many as deserialize;
    use super::{DIGITS, Serializer, short_list};

    pub fn serialize<S: Serializer>(numbers: &[f64], to: S) -> Result<S::Ok, S::Error> {
        short_list(numbers, DIGITS, to)
    }
}

/// The value of a number that is left out.
pub fn nan() -> f64 {
    f64::NAN
}
