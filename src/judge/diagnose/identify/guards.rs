//! B̄ that is another one where |ΔA|, |A| or Δ is below a limit: a series, or terms of its own.

use super::b_bar::written;
use super::changes::{Change, Part};
use crate::formula::{Form, Fraction, Function, Term};
use crate::judge::faults::around::{FoundTerm, Guarded, TERMS};
use crate::judge::faults::variant::Variant;
use crate::method::Method;
use crate::problem::Weights;

/// Where a series may take over from a closed form: digits, and what they are multiplied with.
const DIGITS: [f64; 15] = [1.0, 5.0, 2.0, 3.0, 2.5, 7.5, 4.0, 6.0, 7.0, 8.0, 9.0, 1.5, 3.5, 4.5, 1.2];
const UNITS: [f64; 4] = [1.0, 0.1, 0.01, 0.001];

/// What may be asked whether it is small.
const GUARDED: [(Guarded, &str); 4] =
    [(Guarded::Z, "|ΔA|"), (Guarded::A, "|A|"), (Guarded::Delta, "Δ"), (Guarded::RealPartOfZ, "|Re ΔA|")];

/// Of what it may be asked: for real weights |Re ΔA| is |ΔA|.
pub fn guarded(weights: Weights) -> &'static [(Guarded, &'static str)] {
    if weights == Weights::Complex { &GUARDED } else { &GUARDED[..3] }
}

/// Every guard.
pub fn all(form: Form, weights: Weights) -> Vec<Change> {
    let guarded = guarded(weights);
    let mut all = near_0(form, guarded);
    all.extend(found_near_0(form, guarded));
    all
}

/// The likeliest ones, which are tried beside others.
pub fn few(form: Form) -> Vec<Change> {
    near_0(form, &GUARDED[..1])
}

/// Below which a quantity may be called small.
pub fn limits() -> Vec<f64> {
    let all = DIGITS.iter().flat_map(|digit| UNITS.map(|unit| (digit * unit * 1e4).round() / 1e4));
    all.filter(|limit| *limit <= 4.0).collect()
}

/// B̄ of other terms, and what is said of it: a power of Δ, or its own terms with a Δ too many or too few.
fn of_other_terms(form: Form) -> Vec<(String, [Option<FoundTerm>; TERMS])> {
    let of = |term: Term| FoundTerm { term, b: 1, u: 1, offset: 0 };
    let own = form.formula().now();
    let mut others: Vec<(String, Vec<FoundTerm>)> = Vec::new();
    for (by, text) in [(-1, "lacks a factor Δ"), (1, "has one factor Δ too many")] {
        let moved = own.iter().map(|term| of(Term { delta: term.delta + by, ..*term }));
        others.push((text.to_owned(), moved.collect()));
    }
    for (at, _) in own.iter().enumerate().filter(|_| own.len() > 1) {
        let kept = own.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, term)| of(*term));
        others.push((format!("lacks its term {}", written(&of(own[at]))), kept.collect()));
    }
    others.push(("is 0".to_owned(), Vec::new()));
    for delta in [1, 2, 3] {
        for factor in [Fraction::ONE, Fraction::HALF, Fraction(1, 6)] {
            // That of zoh is another change.
            if (delta, factor) != (1, Fraction::ONE) {
                let term = Term { factor, delta, of: Function::Power(0) };
                others.push((format!("is {}", written(&of(term))), vec![of(term)]));
            }
        }
    }
    let slots = |terms: Vec<FoundTerm>| {
        let mut found = [None; TERMS];
        found.iter_mut().zip(&terms).for_each(|(slot, term)| *slot = Some(*term));
        found
    };
    let fit = others.into_iter().filter(|(_, terms)| terms.len() <= TERMS);
    fit.map(|(is, terms)| (format!("B̄ {is}"), slots(terms))).collect()
}

/// The same as changes that hold everywhere.
pub fn otherwise(form: Form) -> Vec<Change> {
    let change = |(is, found): (String, [Option<FoundTerm>; TERMS])| {
        Change::new(Part::BBar, "b-bar-other", is, move |v: &mut Variant| v.found = Some(found))
    };
    of_other_terms(form).into_iter().map(change).collect()
}

/// B̄ that has a term of its own where |z| is small.
fn found_near_0(form: Form, guarded: &[(Guarded, &str)]) -> Vec<Change> {
    let mut all = Vec::new();
    for (is, found) in of_other_terms(form) {
        for limit in limits() {
            for &(guarded, of) in guarded {
                let what = format!("{is} where {of} is below {limit}, and is right elsewhere");
                all.push(Change::new(Part::BBar, "b-bar-other-near-0", what, move |v: &mut Variant| {
                    (v.found, v.other_below, v.guarded) = (Some(found), limit, guarded);
                }));
            }
        }
    }
    all
}

/// B̄ that is another one where |z| is small.
fn near_0(form: Form, guarded: &[(Guarded, &str)]) -> Vec<Change> {
    let mut all = Vec::new();
    let limits = limits();
    let has_phi = form.formula().now().iter().any(|term| matches!(term.of, Function::Phi(1..)));
    for count in 1..=4u32 {
        for &limit in limits.iter().filter(|_| has_phi) {
            let terms = if count == 1 { "its first term".to_owned() } else { format!("{count} terms") };
            for &(guarded, of) in guarded {
                let what = format!(
                    "the series of each φ is cut after {terms} where {of} is below {limit}, and right elsewhere"
                );
                all.push(Change::new(
                    Part::BBar,
                    format!("phi-taylor-{count}-near-0"),
                    what,
                    move |v: &mut Variant| {
                        (v.taylor, v.other_below, v.guarded) = (Some(count), limit, guarded);
                    },
                ));
            }
        }
    }
    for &limit in limits.iter().filter(|_| form != Form::Method(Method::Zoh)) {
        for &(guarded, of) in guarded {
            let what = format!("B̄ is that of zoh, Δ, where {of} is below {limit}, and right elsewhere");
            all.push(Change::new(Part::BBar, "b-bar-of-zoh-near-0", what, move |v: &mut Variant| {
                (v.b_bar, v.other_below, v.guarded) = (Method::Zoh.into(), limit, guarded);
            }));
        }
    }
    all
}
