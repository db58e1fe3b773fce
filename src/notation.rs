//! How powers, factors and sums are written: `Δ²A/2`, `1 − 3z/4`.

/// `xᵏ`, `x`, or nothing.
pub fn raised(base: &str, power: i32) -> String {
    match power {
        0 => String::new(),
        1 => base.to_owned(),
        _ => format!("{base}{}", superscript(power)),
    }
}

/// An exponent: `²³`, `⁻⁶`.
pub fn superscript(exponent: i32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    exponent.to_string().chars().map(|c| c.to_digit(10).map_or('⁻', |digit| digits[digit as usize])).collect()
}

/// `text/6`, `−3text/4`, and the fraction alone where `text` is empty.
pub fn ratio(text: &str, above: i64, below: i64) -> String {
    let minus = if above < 0 { "−" } else { "" };
    let size = match above.unsigned_abs() {
        1 if !text.is_empty() => String::new(),
        size => size.to_string(),
    };
    let below = if below == 1 { String::new() } else { format!("/{below}") };
    format!("{minus}{size}{text}{below}")
}

/// A sum of texts, of which some begin with a minus; 0 where there are none.
pub fn joined(terms: impl IntoIterator<Item = String>) -> String {
    let mut text = String::new();
    for term in terms {
        match (text.is_empty(), term.strip_prefix('−')) {
            (true, _) => text.push_str(&term),
            (false, Some(rest)) => text.extend([" − ", rest]),
            (false, None) => text.extend([" + ", &term]),
        }
    }
    if text.is_empty() { "0".to_owned() } else { text }
}
