//! Ā and B̄ of a dense A as texts.

use crate::formula::{Formula, Fraction, Function, Term, Transition};
use crate::notation::{joined, raised, ratio};
use crate::tensor::DenseName;

/// How the step is written: its symbols.
#[derive(Clone, Copy)]
pub struct Symbols<'s> {
    pub delta: &'s str,
    pub a: &'s str,
    pub b: &'s str,
    pub z: Option<&'s str>,
}

/// As spec.md has it.
pub const SPECIFIED: Symbols<'static> = Symbols { delta: "Δ", a: "A", b: "B", z: None };

/// Ā or B̄ of a formula in these symbols.
pub fn written(name: DenseName, formula: Formula, symbols: Symbols) -> String {
    match name {
        DenseName::ABar => transition(formula.a_bar, symbols),
        DenseName::BBar => coefficient(formula.now(), symbols),
    }
}

/// Ā in these symbols.
pub fn transition(of: Transition, symbols: Symbols) -> String {
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
pub fn coefficient(terms: &[Term], symbols: Symbols) -> String {
    joined(terms.iter().map(|&term| term_text(DenseName::BBar, term, symbols)))
}

fn z_text(Symbols { delta, a, z, .. }: Symbols) -> String {
    z.map_or_else(|| format!("{delta}{a}"), str::to_owned)
}

fn wrapped(text: &str) -> String {
    if text.chars().count() > 1 { format!("({text})") } else { text.to_owned() }
}

/// The inverse, and what it multiplies.
pub fn quotient(alpha: Fraction, z: &str) -> [String; 2] {
    let share = |of: Fraction| ratio(z, of.0.into(), of.1.into());
    let above = match alpha.complement() {
        Fraction(0, _) => String::new(),
        other => format!("(I + {})", share(other)),
    };
    [format!("(I − {})⁻¹", share(alpha)), above]
}

pub fn term_text(name: DenseName, term: Term, symbols: Symbols) -> String {
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
