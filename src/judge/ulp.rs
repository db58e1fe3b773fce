//! Units in the last place of a binary floating-point format, as fractions: the truth is never rounded to the
//! format before it is compared.

use crate::problem::InputType;

/// A binary floating-point format with gradual underflow, as IEEE 754 describes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Significand bits, the implicit one included.
    pub precision: i32,
    /// Exponent of the smallest normal number, 2^`min_exponent`.
    pub min_exponent: i32,
    /// Exponent of the largest binade: finite values stay below 2^(`max_exponent` + 1).
    pub max_exponent: i32,
}

impl Format {
    /// Its smallest numbers count as coarser than they are: an ulp of any number here is a normal one.
    pub const F64: Format = Format { precision: 53, min_exponent: -1022 + 52, max_exponent: 1023 };
    pub const F32: Format = Format { precision: 24, min_exponent: -126, max_exponent: 127 };
    pub const F16: Format = Format { precision: 11, min_exponent: -14, max_exponent: 15 };
    pub const BF16: Format = Format { precision: 8, min_exponent: -126, max_exponent: 127 };

    /// The format of stored inputs and outputs.
    pub fn for_input(input: InputType) -> Format {
        match input {
            InputType::F32 => Format::F32,
            InputType::F16 => Format::F16,
            InputType::Bf16 => Format::BF16,
        }
    }

    /// The one of both whose numbers overflow first, and of such that overflow alike the coarser one.
    pub fn narrower(self, other: Format) -> Format {
        let narrow = |format: &Format| (format.max_exponent, format.precision);
        if narrow(&other) < narrow(&self) { other } else { self }
    }

    /// The spacing of this format's numbers in the binade of `value` (of the smallest normal binade below
    /// it). `value` must be finite.
    pub fn ulp(self, value: f64) -> f64 {
        let exponent = exponent(value).max(self.min_exponent);
        power_of_two(exponent - (self.precision - 1))
    }

    /// The largest error that rounding a number of at most this magnitude to nearest makes: half an ulp.
    pub fn rounding_error(self, magnitude: f64) -> f64 {
        0.5 * self.ulp(magnitude)
    }

    /// The nearest number of this format, ties to even, of one that is far from the ends of its range.
    pub fn nearest(self, value: f64) -> f64 {
        if !value.is_finite() {
            return value;
        }
        let ulp = self.ulp(value);
        (value / ulp).round_ties_even() * ulp
    }

    /// The number of this format next to `value` towards zero.
    pub fn cut_off(self, value: f64) -> f64 {
        let ulp = self.ulp(value);
        (value / ulp).trunc() * ulp
    }

    /// From this magnitude on, rounding to nearest gives an infinity.
    pub fn overflow_threshold(self) -> f64 {
        let largest_binade = power_of_two(self.max_exponent);
        2.0 * largest_binade - 0.5 * self.ulp(largest_binade)
    }

    /// |got − want| in ulps of `want`.
    pub fn distance(self, got: f64, want: f64) -> f64 {
        if got == want { 0.0 } else { (got - want).abs() / self.ulp(want) }
    }
}

/// 2ⁿ of a normal number, by its bits: `powi` multiplies in a loop, and every element that is judged asks for one.
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// floor(log2 |value|), and below every format's exponents for zero and f64 subnormals.
fn exponent(value: f64) -> i32 {
    let biased = (value.to_bits() >> 52) & 0x7ff;
    biased as i32 - 1023
}
