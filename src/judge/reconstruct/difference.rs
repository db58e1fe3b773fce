//! What is different between the formula that is computed and the one that is specified.

use num_complex::Complex64;

use super::expansion::{Expansion, Monomial, Term, Which};
use super::fit::TOLERANCE;
use super::function::{Argument, Found, Part, Shape};
use super::text;
use crate::formula::{Form, Function, Transition};
use crate::notation::raised;

/// What the form specifies.
pub fn specified(form: Form, which: Which) -> Expansion {
    let formula = form.formula();
    let one = |monomial, power, shape| Term { monomial, power, function: Found::plain(shape) };
    match which {
        Which::ABar => {
            let shape = match formula.a_bar {
                Transition::Exponential => Shape::Sum(vec![(1.0, Function::Phi(0))]),
                Transition::Quotient(alpha) => text::quotient(alpha),
                Transition::Polynomial(factors) => {
                    Shape::Quotient(factors.iter().map(|factor| factor.value()).collect(), vec![1.0])
                }
            };
            Expansion(vec![one(Monomial::CONSTANT, 0, shape)])
        }
        Which::BBar => {
            let mut powers: Vec<i32> = formula.now().iter().map(|term| term.delta).collect();
            powers.dedup();
            let of = |power| {
                let terms = formula.now().iter().filter(|term| term.delta == power);
                one(
                    Monomial::BU,
                    power,
                    Shape::Sum(terms.map(|term| (term.factor.value(), term.of)).collect()),
                )
            };
            Expansion(powers.into_iter().map(of).collect())
        }
    }
}

/// Whether two functions agree wherever they are looked at.
fn equal(a: &Found, b: &Found, z: &[Complex64]) -> bool {
    ratio(a, b, z).is_some_and(|ratio| (ratio - 1.0).abs() <= 4.0 * TOLERANCE)
}

/// The real constant that a is of b.
fn ratio(a: &Found, b: &Found, z: &[Complex64]) -> Option<f64> {
    let values: Vec<(Complex64, Complex64)> = z.iter().map(|&z| (a.value(z), b.value(z))).collect();
    let largest = values.iter().max_by(|x, y| x.1.norm().total_cmp(&y.1.norm()))?;
    let ratio = (largest.0 / largest.1).re;
    let constant = values
        .iter()
        .all(|(a, b)| (a - b * ratio).norm() <= 4.0 * TOLERANCE * a.norm().max((b * ratio).norm()));
    (constant && ratio != 0.0 && ratio.is_finite()).then_some(ratio)
}

/// Whether both expansions are the same function.
pub fn same(computed: &Expansion, specified: &Expansion, z: &[Complex64]) -> bool {
    computed.0.len() == specified.0.len()
        && specified.0.iter().all(|right| {
            computed.0.iter().any(|term| {
                (term.monomial, term.power) == (right.monomial, right.power)
                    && equal(&term.function, &right.function, z)
            })
        })
}

/// Sentences without a full stop, one for each difference.
pub fn describe(which: Which, computed: &Expansion, specified: &Expansion, z: &[Complex64]) -> Vec<String> {
    if let Some(said) = other_monomial(which, computed, specified, z) {
        return vec![said];
    }
    let mut left: Vec<&Term> = computed.0.iter().collect();
    let mut missing = Vec::new();
    let mut said = Vec::new();
    let mut cuts = Vec::new();
    for right in &specified.0 {
        let there = |term: &&Term| (term.monomial, term.power) == (right.monomial, right.power);
        // Of several at one power of Δ the one that is most like it.
        let like = |term: &&Term| there(term) && ratio(&term.function, &right.function, z).is_some();
        match left.iter().position(like).or_else(|| left.iter().position(there)) {
            Some(at) => {
                let term = left.remove(at);
                if !equal(&term.function, &right.function, z) {
                    match cut(right, &term.function) {
                        Some(last) => cuts.push((right, last)),
                        None => said.push(changed(which, term, right, z)),
                    }
                }
            }
            None => missing.push(right),
        }
    }
    for right in missing {
        let name = text::function(right.power, &right.function);
        // The same function elsewhere: another power of Δ, or times something else.
        let like = |term: &&Term| ratio(&term.function, &right.function, z).is_some();
        match left.iter().position(like) {
            Some(at) => {
                let term = left.remove(at);
                said.push(format!("{} in place of {name}", text::term(which, term)));
            }
            None => said.push(format!("{name} is missing")),
        }
    }
    said.extend(left.iter().map(|term| format!("{} is too much", text::term(which, term))));
    // Two formulas that have nothing in common stand side by side already.
    let replaced = said.len() == 1
        && said[0].contains(" in place of ")
        && specified.0.len() == 1
        && computed.0.len() == 1;
    let unrelated = cuts.is_empty() && said.len() == specified.0.len() + computed.0.len();
    let whole = |text: &String| text.contains(&text::expansion(which, computed));
    if replaced && said.iter().all(whole) || unrelated {
        said.clear();
    }
    let order = |(right, last): &(&Term, usize)| right.power + *last as i32;
    match cuts.as_slice() {
        [first, _, ..] if cuts.iter().all(|cut| order(cut) == order(first)) => {
            said.push(format!("all terms from {} on are missing", raised("Δ", order(first) + 1)));
        }
        _ => said.extend(cuts.iter().map(|(right, last)| {
            let name = text::function(right.power, &right.function);
            let after = text::basis(right.power, series(right, *last), Function::Power(*last), None);
            // A sum of powers need not be repeated.
            if right.function.shape.as_polynomial().is_some() {
                format!("cut after its term {after}")
            } else {
                format!("{name} is cut after its term {after}")
            }
        })),
    }
    said
}

/// Said where nothing is wrong but what the whole sum multiplies.
fn other_monomial(
    which: Which,
    computed: &Expansion,
    specified: &Expansion,
    z: &[Complex64],
) -> Option<String> {
    let (found, usual) = (computed.0.first()?.monomial, specified.0.first()?.monomial);
    if found == usual || computed.0.iter().any(|term| term.monomial != found) {
        return None;
    }
    let as_usual = computed.0.iter().map(|term| Term { monomial: usual, ..term.clone() }).collect();
    let name = if which == Which::ABar { "Ā" } else { "B̄u" };
    same(&Expansion(as_usual), specified, z).then(|| {
        format!("{name} is right times {} in place of {}", text::monomial(found), text::monomial(usual))
    })
}

/// The coefficient of zᵏ of a specified term.
fn series(term: &Term, k: usize) -> f64 {
    match &term.function.shape {
        Shape::Sum(terms) => terms.iter().map(|(factor, of)| factor * of.coefficient(k)).sum(),
        Shape::Quotient(above, below) if below.len() == 1 => above.get(k).copied().unwrap_or(0.0),
        // (1 + βz)/(1 − αz)
        Shape::Quotient(above, below) => {
            let alpha = -below[1];
            let lower = if k == 0 { 0.0 } else { alpha.powi(k as i32 - 1) * above[1] };
            alpha.powi(k as i32) + lower
        }
        _ => f64::NAN,
    }
}

/// α of what is divided by 1 − αz.
fn pole(shape: &Shape) -> Option<f64> {
    match shape {
        Shape::Quotient(_, below) if below.len() == 2 => Some(-below[1]),
        Shape::Sum(terms) => match terms[..] {
            [(_, Function::Resolvent(alpha))] => Some(alpha.value()),
            _ => None,
        },
        _ => None,
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 4.0 * TOLERANCE * a.abs().max(b.abs())
}

/// The last term that is there, where the computed function is the beginning of the specified one's series.
fn cut(right: &Term, found: &Found) -> Option<usize> {
    if (found.argument, found.part) != (Argument::Z, Part::Whole) {
        return None;
    }
    let coefficients = found.shape.as_polynomial()?;
    let last = coefficients.iter().rposition(|&c| c != 0.0)?;
    let agree = (0..=last).all(|k| close(coefficients[k], series(right, k)));
    // What has all terms of the specified one is not cut.
    (agree && series(right, last + 1) != 0.0).then_some(last)
}

/// A term of the right power that is another function.
fn changed(which: Which, term: &Term, right: &Term, z: &[Complex64]) -> String {
    let (found, name) = (&term.function, text::function(right.power, &right.function));
    if let Some(factor) = ratio(found, &right.function, z) {
        if close(factor, -1.0) {
            return format!("the sign of {name} is wrong");
        }
        return format!("{name} is multiplied by {}", text::number(factor));
    }
    if let (Shape::Mixed(mixed), Some(alpha)) = (&found.shape, pole(&right.function.shape))
        && mixed.is_quotient()
    {
        let wrong = mixed.beside_modulus(alpha);
        let below = text::quotient_below(alpha);
        // Where the modulus is right, what stands above it is wrong.
        return match wrong.is_empty() {
            true => format!("{} in place of {name}", text::term(which, term)),
            false => format!("|{below}|² has {}", wrong.join(", ")),
        };
    }
    let is_exponential =
        matches!(&right.function.shape, Shape::Sum(sum) if sum[..] == [(1.0, Function::Phi(0))]);
    if let (Shape::Exponential(whole, re, im), Which::ABar, true) = (&found.shape, which, is_exponential) {
        let part = |what, factor: f64| {
            (!close(factor, 1.0)).then(|| format!("the {what} has the factor {}", text::number(factor)))
        };
        let of_exponent = if close(*re, *im) {
            vec![part("exponent", *re)]
        } else {
            vec![part("exponent's real part", *re), part("exponent's imaginary part", *im)]
        };
        let parts: Vec<String> =
            of_exponent.into_iter().chain([part("exponential", *whole)]).flatten().collect();
        if !parts.is_empty() {
            return parts.join(", ");
        }
    }
    if let (Some(coefficients), true) =
        (found.shape.as_polynomial(), found.argument == Argument::Z && found.part == Part::Whole)
    {
        let last = coefficients.iter().rposition(|&c| c != 0.0).unwrap_or(0);
        let wrong: Vec<usize> = (0..=last).filter(|&k| !close(coefficients[k], series(right, k))).collect();
        // A few wrong terms of a series are named; a series with nothing right is another function.
        if wrong.len() <= last.max(1) && wrong.len() <= 2 {
            let one = |&k: &usize| {
                let text = |c| {
                    if c == 0.0 {
                        "0".to_owned()
                    } else {
                        text::basis(right.power, c, Function::Power(k), None)
                    }
                };
                format!("{} in place of {}", text(coefficients[k]), text(series(right, k)))
            };
            let mut parts: Vec<String> = wrong.iter().map(one).collect();
            if series(right, last + 1) != 0.0 {
                parts.push(match right.power + last as i32 {
                    0 => "nothing after it".to_owned(),
                    power => format!("nothing after the term in {}", raised("Δ", power)),
                });
            }
            if !parts.is_empty() {
                return parts.join(", ");
            }
        }
    }
    format!("{} in place of {name}", text::term(which, term))
}
