//! Numbers that JSON cannot hold: NaN and infinities are written as `null`, and `null` is read as NaN.

use serde::{Deserialize, Deserializer};

/// One number.
pub fn one<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// A list of numbers.
pub fn many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let numbers: Vec<Option<f64>> = Vec::deserialize(from)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}
