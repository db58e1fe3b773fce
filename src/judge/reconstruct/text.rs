//! Formulas as people write them: `½Δ²φ₂`, `Δ²A/2`, `exp(z)`.

use super::division::Divisor;
use super::expansion::{Expansion, Monomial, OfB, Term, Which};
use super::fit::{TOLERANCE, recognized};
use super::function::{Argument, Found, Part, Piece, Shape};
use crate::formula::{Fraction, Function};
use crate::notation::{joined, raised, ratio, superscript};
use crate::program::complex::{ABOVE, BELOW};

/// A whole coefficient; 0 where it has no terms.
pub fn expansion(which: Which, expansion: &Expansion) -> String {
    let usual = usual(which);
    let parts = |of: fn(&Term) -> String| joined(expansion.0.iter().map(of));
    match expansion.0.as_slice() {
        [] => "0".to_owned(),
        [first, rest @ ..]
            if first.monomial != usual && rest.iter().all(|one| one.monomial == first.monomial) =>
        {
            let sum = parts(|one| function(one.power, &one.function));
            times(&sum, first.monomial)
        }
        _ if which == Which::ABar => parts(|one| term(Which::ABar, one)),
        _ => parts(|one| term(Which::BBar, one)),
    }
}

/// What every term of a coefficient should multiply.
fn usual(which: Which) -> Monomial {
    if which == Which::ABar { Monomial::CONSTANT } else { Monomial::BU }
}

/// One term, with what it multiplies where that is not what it should be.
pub fn term(which: Which, term: &Term) -> String {
    let text = function(term.power, &term.function);
    if term.monomial == usual(which) { text } else { times(&text, term.monomial) }
}

fn times(text: &str, of: Monomial) -> String {
    if text.contains(' ') {
        format!("({text})·{}", monomial(of))
    } else {
        format!("{text}·{}", monomial(of))
    }
}

/// What a term multiplies: `u B²`, or `1`.
pub fn monomial(monomial: Monomial) -> String {
    let u = ["", "u", "u²"][monomial.u.clamp(0, 2) as usize];
    let b = match monomial.b {
        OfB::None => "",
        OfB::Once => "B",
        OfB::Conjugated => "conj(B)",
        OfB::Squared => "B²",
        OfB::Modulus => "|B|²",
    };
    let both: Vec<&str> = [u, b].into_iter().filter(|text| !text.is_empty()).collect();
    if both.is_empty() { "1".to_owned() } else { both.join(" ") }
}

/// Δᵖ f(z)
pub fn function(power: i32, found: &Found) -> String {
    let argument = match found.argument {
        Argument::Z => None,
        Argument::Conjugate => Some("conj(z)".to_owned()),
        Argument::RealPart => Some("Re z".to_owned()),
        Argument::Falling => Some("−|Re z| + i Im z".to_owned()),
        Argument::Rising => Some("|Re z| + i Im z".to_owned()),
        Argument::Upper => Some("Re z + i |Im z|".to_owned()),
        Argument::Scaled(factor) => Some(scaled("z", factor)),
        Argument::Parts(re, im) => Some(parts(re, im)),
    };
    let text = match &found.shape {
        Shape::Sum(terms) => joined(terms.iter().map(|&(c, of)| basis(power, c, of, argument.as_deref()))),
        Shape::Quotient(above, below) if below.len() == 1 && argument.is_none() => {
            let terms = above.iter().enumerate().filter(|(_, c)| **c != 0.0);
            joined(terms.map(|(k, &c)| basis(power, c, Function::Power(k), None)))
        }
        Shape::Quotient(above, below) => {
            let argument = argument.as_deref().unwrap_or("z");
            if below.len() > 1 && above[1..].iter().all(|c| *c == 0.0) {
                return fraction_over(power, above[0], &format!("({})", series(below, argument)));
            }
            let above = format!("({})", series(above, argument));
            let text =
                if below.len() == 1 { above } else { format!("{above}/({})", series(below, argument)) };
            format!("{}{text}", step(power))
        }
        Shape::ConjugateBelow(above, below) if above[1..].iter().all(|c| *c == 0.0) => {
            fraction_over(power, above[0], &format!("({})", series(below, "conj(z)")))
        }
        Shape::ConjugateBelow(above, below) => {
            format!("{}({})/({})", step(power), series(above, "z"), series(below, "conj(z)"))
        }
        &Shape::Exponential(factor, re, im) => {
            format!("{}{}exp({})", leading(factor), step(power), of_parts(re, im))
        }
        // Δᵖ/zᵏ is Δᵖ⁻ᵏ/Aᵏ.
        Shape::Over(of, k) => {
            let power = power - *k as i32;
            let sum = match of[..] {
                [(factor, Piece::Of(one))] => basis(power, factor, one, None),
                [_] => format!("{}{}", step(power), pieces(of)),
                _ => format!("{}({})", step(power), pieces(of)),
            };
            if *k > 0 { over(&sum, &raised("A", *k as i32)) } else { sum }
        }
        Shape::Divided(of, divisor, slip) => {
            let (sum, w) = (pieces(of), divided_by(*divisor));
            let sum = match sum.as_str() {
                "1" => String::new(),
                _ => format!("({sum})·"),
            };
            let (above, below) = (ABOVE[slip.above].0, BELOW[slip.below].0);
            format!("{}{sum}[{above}/({below}) with w = {w}]", step(power))
        }
        Shape::OverWrong(of, wrong, k) => {
            let sum = pieces(of);
            let sum = if sum.contains(' ') { format!("({sum})") } else { sum };
            let below = if *k == 0 { String::new() } else { format!("/{}", raised("z", *k as i32)) };
            format!("{}{sum}{below}, where {}", step(power), wrong.text())
        }
        Shape::Guarded(factor, of, divisor, epsilon) => {
            let (name, below) = (basis(power, *factor, *of, None), divided_by(*divisor));
            let sign = if *epsilon < 0.0 { '−' } else { '+' };
            let below = if below.contains(' ') { format!("({below})") } else { below };
            format!("{name}·{below}/({below} {sign} {})", digits(epsilon.abs()))
        }
        Shape::Raised(above, below, m) => {
            let argument = format!("z/{m}");
            let above = series(above, &argument);
            let text = match below.len() {
                1 => format!("({above})"),
                _ => format!("(({above})/({}))", series(below, &argument)),
            };
            format!("{}{text}{}", step(power), superscript(*m))
        }
        Shape::Cut(factor, k, last) => {
            let whole = basis(power, *factor, Function::Phi(*k), None);
            format!("{whole} (cut after its term in {})", raised("z", *last as i32))
        }
        Shape::Nested(coefficients, horner) => {
            format!("{}({}), {}", step(power), series(coefficients, "z"), horner.text())
        }
        Shape::Mixed(mixed) => format!("{}{}", step(power), mixed.text()),
        Shape::Stepwise(factor, k, recurrence) => {
            format!("{} ({})", basis(power, *factor, Function::Phi(*k), None), recurrence.text(*k))
        }
        Shape::Reduced(reduced) => format!("{}{}", step(power), reduced.text()),
        Shape::BaseTwo(base_two) => format!("{}{}", step(power), base_two.text()),
    };
    match found.part {
        Part::Whole => text,
        Part::Real => format!("Re({text})"),
        Part::Imaginary => format!("i Im({text})"),
        Part::Turned => format!("i·({text})"),
    }
}

/// z with factors of its own on both parts.
fn of_parts(re: f64, im: f64) -> String {
    match (re - im).abs() <= 1e-6 * re.abs() {
        true => scaled("z", re),
        false => parts(re, im),
    }
}

/// The same without a part whose factor is 0.
fn parts(re: f64, im: f64) -> String {
    let all = [("Re z", re), ("i Im z", im)].into_iter().filter(|(_, factor)| *factor != 0.0);
    joined(all.map(|(name, factor)| scaled(name, factor)))
}

/// By what a division divides.
fn divided_by(divisor: Divisor) -> String {
    match divisor {
        Divisor::Z => "z".to_owned(),
        Divisor::Square => "z²".to_owned(),
        Divisor::Cube => "z³".to_owned(),
        Divisor::Pole(alpha) => {
            let sign = if alpha.value() < 0.0 { '+' } else { '−' };
            format!("1 {sign} {}", fraction("z", alpha.value().abs()))
        }
    }
}

/// A sum of pieces in z.
fn pieces(of: &[(f64, Piece)]) -> String {
    let named = |factor: f64, name: &str| format!("{}{name}", leading(factor));
    let text = |&(factor, piece): &(f64, Piece)| match piece {
        Piece::Of(Function::Power(k)) => fraction(&raised("z", k as i32), factor),
        Piece::Of(of) => basis(0, factor, of, None),
        Piece::ExpOfReal => named(factor, "exp(Re z)"),
        Piece::Turn => named(factor, "exp(i Im z)"),
        Piece::ExpOfConjugate => named(factor, "exp(conj(z))"),
        Piece::CosOfImaginary => named(factor, "cos(Im z)"),
        Piece::CosOfTwice => named(factor, "cos(2 Im z)"),
        Piece::ExpOfParts(re, im) => named(factor, &format!("exp({})", of_parts(re, im))),
        Piece::ExpOf(wrong) => named(factor, &wrong.text()),
        Piece::Wrong(_, k) => fraction(&raised("z", k as i32), factor),
    };
    joined(of.iter().map(text))
}

/// c Δᵖ f
pub fn basis(power: i32, factor: f64, of: Function, argument: Option<&str>) -> String {
    let with = argument.map_or(String::new(), |argument| format!("({argument})"));
    match of {
        Function::Power(k) => {
            let a = match (k, argument) {
                (0, _) => String::new(),
                (k, None) => {
                    return fraction(&format!("{}{}", step(power + k as i32), raised("A", k as i32)), factor);
                }
                (k, Some(argument)) => raised(&format!("({argument})"), k as i32),
            };
            fraction(&format!("{}{a}", step(power)), factor)
        }
        Function::Phi(0) => format!("{}{}exp({})", leading(factor), step(power), argument.unwrap_or("z")),
        Function::Phi(k) => format!("{}{}φ{}{with}", leading(factor), step(power), SUBSCRIPTS[k]),
        Function::Resolvent(alpha) => {
            let sign = if alpha.value() < 0.0 { '+' } else { '−' };
            let argument = argument.unwrap_or("z");
            let argument = if argument.contains(' ') { format!("({argument})") } else { argument.to_owned() };
            let below = fraction(&argument, alpha.value().abs());
            fraction_over(power, factor, &format!("(1 {sign} {below})"))
        }
    }
}

/// above/below, where what is above may be a fraction.
fn over(above: &str, below: &str) -> String {
    match above.rsplit_once('/') {
        Some((above, number)) if number.chars().all(|c| c.is_ascii_digit()) => {
            format!("{above}/({number}{below})")
        }
        _ => format!("{above}/{below}"),
    }
}

fn fraction_over(power: i32, factor: f64, below: &str) -> String {
    let above = match step(power) {
        step if step.is_empty() => fraction("", factor),
        step => format!("{}{step}", leading(factor)),
    };
    format!("{above}/{below}")
}

const SUBSCRIPTS: [char; 5] = ['₀', '₁', '₂', '₃', '₄'];

/// Δᵖ; nothing for p = 0.
fn step(power: i32) -> String {
    raised("Δ", power)
}

/// A polynomial in `argument`.
fn series(coefficients: &[f64], argument: &str) -> String {
    let argument =
        if argument.contains([' ', '/', '·']) { format!("({argument})") } else { argument.to_owned() };
    let terms = coefficients.iter().enumerate().filter(|(_, c)| **c != 0.0);
    joined(terms.map(|(k, &c)| fraction(&raised(&argument, k as i32), c)))
}

/// `text/6`, `3text/4`, `0.1667·text`; a number alone where `text` is empty.
pub fn fraction(text: &str, factor: f64) -> String {
    match recognized(factor) {
        Some((above, below)) => ratio(text, above, below),
        None => {
            let minus = if factor < 0.0 { "−" } else { "" };
            format!("{minus}{}{}{text}", digits(factor.abs()), if text.is_empty() { "" } else { "·" })
        }
    }
}

/// A factor in front of a name: `½`, `3/4 `, `0.1667 `; nothing for 1.
fn leading(factor: f64) -> String {
    let minus = if factor < 0.0 { "−" } else { "" };
    let size = match recognized(factor.abs()) {
        Some((1, 1)) => String::new(),
        Some((1, 2)) => "½".to_owned(),
        Some((above, 1)) => format!("{above}"),
        Some((above, below)) => format!("({above}/{below})"),
        None => format!("{}·", digits(factor.abs())),
    };
    format!("{minus}{size}")
}

/// A constant by its name, a fraction, or six digits.
pub fn number(value: f64) -> String {
    let named =
        [(std::f64::consts::LN_2, "ln 2"), (std::f64::consts::LOG2_E, "log₂e"), (std::f64::consts::PI, "π")];
    if let Some((_, name)) = named.iter().find(|(constant, _)| (value.abs() - constant).abs() < 1e-6) {
        return format!("{}{name}", if value < 0.0 { "−" } else { "" });
    }
    match recognized(value) {
        Some((above, 1)) => above.to_string().replace('-', "−"),
        Some((above, below)) => format!("{above}/{below}").replace('-', "−"),
        None => of_logarithm(value).unwrap_or_else(|| digits(value)).replace('-', "−"),
    }
}

/// A number of up to three decimals times a constant of exponentials to base 2, as where log₂e is typed with few digits.
fn of_logarithm(value: f64) -> Option<String> {
    let constants = [(std::f64::consts::LN_2, "ln 2"), (std::f64::consts::LOG2_E, "log₂e")];
    constants.into_iter().find_map(|(constant, name)| {
        let short = (value / constant * 1e3).round() / 1e3;
        let is_small = short != 0.0 && short.abs() < 4.0;
        let near = is_small && (short * constant - value).abs() <= TOLERANCE * value.abs();
        near.then(|| format!("{short}·{name}"))
    })
}

/// Six digits; nine where six say 1 of what is not 1.
pub fn digits(value: f64) -> String {
    let rounded = |count: usize| format!("{value:.count$e}").parse::<f64>().unwrap_or(value);
    let is_one = rounded(5).abs() == 1.0 && (value.abs() - 1.0).abs() > TOLERANCE;
    let rounded = rounded(if is_one { 8 } else { 5 });
    if rounded == 0.0 || (1e-3..1e6).contains(&rounded.abs()) {
        format!("{rounded}")
    } else {
        format!("{rounded:e}")
    }
}

fn scaled(name: &str, factor: f64) -> String {
    match recognized(factor) {
        Some((1, 1)) => name.to_owned(),
        Some((-1, 1)) => format!("−{name}"),
        Some((above, below)) if below > 1 && above.abs() == 1 => fraction(name, factor),
        _ => format!("{}·{name}", number(factor)),
    }
}

/// 1 − αz
pub fn quotient_below(alpha: f64) -> String {
    joined(["1".to_owned(), fraction("z", -alpha)])
}

/// αz of a quotient, for the specified ones.
pub fn quotient(alpha: Fraction) -> Shape {
    Shape::Quotient(vec![1.0, alpha.complement().value()], vec![1.0, -alpha.value()])
}
