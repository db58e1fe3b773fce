//! Hexadecimal: floats as C99's `%a` writes them, exact, short and comparable by eye; and the bytes of hashes.

/// `value` as `%a`: `0x1.8p+1`, `-0x0p+0`, `0x1p-1074`, `inf`, `-inf`, `nan`. A subnormal is normalized.
pub fn f64(value: f64) -> String {
    let negative = value.is_sign_negative();
    let magnitude = value.to_bits() & !(1 << 63);
    if value.is_nan() {
        return "nan".into();
    }
    let sign = if negative { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}inf");
    }
    if magnitude == 0 {
        return format!("{sign}0x0p+0");
    }
    let field = (magnitude >> 52) as i64;
    let fraction = magnitude & ((1 << 52) - 1);
    let (exponent, fraction) = if field == 0 {
        // The leading one of a subnormal moves to where the hidden bit would be.
        let shift = fraction.leading_zeros() - 11;
        (-1022 - i64::from(shift), (fraction << shift) & ((1 << 52) - 1))
    } else {
        (field - 1023, fraction)
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x1{point}{digits}p{exponent:+}")
}

/// [`f64()`] of an f32: widening is exact, so the text is that of the f32 itself (its subnormals normalized).
pub fn f32(value: f32) -> String {
    f64(f64::from(value))
}

/// Two digits for each byte.
pub fn bytes(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
