//! Numbers that were found in the data, as somebody wrote them: fractions, decimals of few digits, and a few constants.

use std::f64::consts::{LN_2, LOG2_E, PI, SQRT_2};

/// A number and how it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub value: f64,
    pub text: String,
    /// How many digits it takes to say it: as many as it has, two for fractions and constants, and [`NO_CHOICE`] for what nobody
    /// would have typed.
    pub digits: usize,
}

/// Of a number as it was found.
pub const NO_CHOICE: usize = usize::MAX;

/// Numbers that are known, the simplest first, within this relative distance of `found`; `n` is the number of states. The
/// number itself comes last.
pub fn near(found: f64, distance: f64, n: usize) -> Vec<Known> {
    let close = |value: f64| (value - found).abs() <= distance * found.abs().max(1e-12);
    let mut all: Vec<Known> = Vec::new();
    let mut add = |value: f64, text: String, digits: usize| {
        if close(value) && all.iter().all(|known| known.value != value) {
            all.push(Known { value, text, digits });
        }
    };
    let sign = if found < 0.0 { "−" } else { "" };
    add(0.0, "0".to_owned(), 1);
    for denominator in [1u32, 2, 3, 4, 6, 8, 12, 16] {
        let numerator = (found.abs() * f64::from(denominator)).round();
        if (1.0..=64.0).contains(&numerator) || denominator == 1 && numerator > 0.0 && numerator < 1e4 {
            let text = if denominator == 1 {
                format!("{sign}{numerator}")
            } else {
                format!("{sign}{numerator}/{denominator}")
            };
            // The zeros of 1000 say its size.
            let digits = if denominator == 1 { numerator.to_string().trim_end_matches('0').len() } else { 2 };
            add(found.signum() * numerator / f64::from(denominator), text, digits);
        }
    }
    let size = n as f64;
    let constants = [
        (1.0 / size, format!("1/{n}")),
        (1.0 / size.sqrt(), format!("1/√{n}")),
        (size.sqrt(), format!("√{n}")),
        (LN_2, "ln 2".to_owned()),
        (LOG2_E, "log₂e".to_owned()),
        (PI, "π".to_owned()),
        (2.0 * PI, "2π".to_owned()),
        (SQRT_2, "√2".to_owned()),
        (1.0 / SQRT_2, "1/√2".to_owned()),
        (1.702, "1.702".to_owned()),
    ];
    for (value, text) in constants {
        add(found.signum() * value, format!("{sign}{text}"), 2);
    }
    // One to four digits.
    if found != 0.0 && found.is_finite() {
        for digits in 0..4usize {
            let text = format!("{found:.digits$e}");
            if let Ok(value) = text.parse::<f64>() {
                add(value, shown(value), digits + 1);
            }
        }
    }
    all.push(Known { value: found, text: decimal(found), digits: NO_CHOICE });
    all
}

/// Six decimals; below 0.001 six significant digits.
pub fn decimal(value: f64) -> String {
    let is_small = value.abs() < 1e-3;
    let rounded =
        if is_small { format!("{value:.5e}").parse().unwrap_or(value) } else { (value * 1e6).round() / 1e6 };
    shown(rounded)
}

/// A decimal without an exponent where that is short.
fn shown(value: f64) -> String {
    let text = if value != 0.0 && (value.abs() < 1e-3 || value.abs() >= 1e5) {
        format!("{value:e}")
    } else {
        format!("{value}")
    };
    text.replace('-', "−")
}
