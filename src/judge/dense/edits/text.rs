//! Formulas of a step as texts, and numbers in them.

use crate::formula::{Formula, Fraction, Function, Term, Transition};
use crate::notation::{joined, raised, ratio};
use crate::tensor::DenseName;

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

/// How the step is written: its symbols.
#[derive(Clone, Copy)]
pub(super) struct Symbols<'s> {
    pub(super) delta: &'s str,
    pub(super) a: &'s str,
    pub(super) b: &'s str,
    pub(super) z: Option<&'s str>,
}

/// As spec.md has it.
pub(super) const SPECIFIED: Symbols<'static> = Symbols { delta: "Δ", a: "A", b: "B", z: None };

/// Ā or B̄ of a formula in these symbols.
pub(super) fn written(name: DenseName, formula: Formula, symbols: Symbols) -> String {
    match name {
        DenseName::ABar => transition(formula.a_bar, symbols),
        DenseName::BBar => coefficient(formula.now(), symbols),
    }
}

/// Ā in these symbols.
fn transition(of: Transition, symbols: Symbols) -> String {
    let z = &z_text(symbols);
    match of {
        Transition::Exponential => format!("exp({z})"),
        Transition::Quotient(alpha) => quotient(alpha, z).join(" ").trim().to_owned(),
        Transition::Polynomial(factors) => joined(factors.iter().enumerate().map(|(k, factor)| {
            let power = if k == 0 { "I".to_owned() } else { raised(&wrapped(z), k as i32) };
            ratio(&power, factor.0.into(), factor.1.into())
        })),
    }
}

/// B̄ of one input in these symbols.
fn coefficient(terms: &[Term], symbols: Symbols) -> String {
    joined(terms.iter().map(|&term| term_text(DenseName::BBar, term, symbols)))
}

fn z_text(Symbols { delta, a, z, .. }: Symbols) -> String {
    z.map_or_else(|| format!("{delta}{a}"), str::to_owned)
}

fn wrapped(text: &str) -> String {
    if text.chars().count() > 1 { format!("({text})") } else { text.to_owned() }
}

/// The inverse, and what it multiplies.
pub(super) fn quotient(alpha: Fraction, z: &str) -> [String; 2] {
    let share = |of: Fraction| ratio(z, of.0.into(), of.1.into());
    let above = match alpha.complement() {
        Fraction(0, _) => String::new(),
        other => format!("(I + {})", share(other)),
    };
    [format!("(I − {})⁻¹", share(alpha)), above]
}

pub(super) fn term_text(name: DenseName, term: Term, symbols: Symbols) -> String {
    let z = z_text(symbols);
    let power = match symbols.delta {
        "" => String::new(),
        delta => raised(delta, term.delta),
    };
    let b = if name == DenseName::BBar { symbols.b } else { "" };
    let of = match term.of {
        Function::Phi(k) => format!("{power} {}({z}) {b}", ["exp", "φ₁", "φ₂", "φ₃"][k.min(3)]),
        Function::Power(0) if name == DenseName::ABar => "I".to_owned(),
        Function::Power(0) => format!("{power}{b}"),
        Function::Power(k) => format!("{power} {} {b}", raised(&wrapped(&z), k as i32)),
        Function::Resolvent(alpha) => format!("{} {power}{b}", quotient(alpha, &z)[0]),
    };
    ratio(of.trim(), term.factor.0.into(), term.factor.1.into())
}
