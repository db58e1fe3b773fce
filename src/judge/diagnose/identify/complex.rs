//! Complex arithmetic that goes wrong in one place: a conjugate, a part that is lost or taken for the other, a product or a
//! division whose formula is not that of complex numbers.

use super::changes::{Change, Part};
use crate::formula::{Form, Fraction, Function, Transition};
use crate::judge::faults::around::AUse;
use crate::judge::faults::complex::{Division, Divisions, OfComplex, Powers, Product, Way};
use crate::judge::faults::variant::Variant;
use crate::problem::{Problem, Weights};

/// Every place where it may.
pub fn all(problem: &Problem, form: Form) -> Vec<Change> {
    if problem.weights == Weights::Real {
        return Vec::new();
    }
    let mut all = on_the_way(form);
    all.extend(of_a());
    all.extend(products());
    all.extend(divisions(form));
    all.extend(powers(form));
    all
}

/// What is made of a number: what it is called, and what is said of it.
pub const MADE: [(OfComplex, &str, &str); 5] = [
    (OfComplex::Conjugated, "conjugated", "is conjugated"),
    (OfComplex::RealPart, "real-part", "loses its imaginary part"),
    (OfComplex::ImaginaryPart, "imaginary-part", "is its imaginary part, as a real number"),
    (OfComplex::Modulus, "modulus", "is its modulus"),
    (OfComplex::Exchanged, "parts-exchanged", "has real and imaginary parts in each other's place"),
];

fn on_the_way(form: Form) -> Vec<Change> {
    use OfComplex::{Conjugated, Exchanged, ImaginaryPart, Modulus, RealPart};
    // What other changes say as well is theirs: of Ā, its modulus is exp of the real part.
    let of_a_bar: &[OfComplex] = match form.formula().a_bar {
        Transition::Exponential => &[RealPart, ImaginaryPart, Exchanged],
        _ => &[RealPart, ImaginaryPart, Exchanged, Modulus],
    };
    let ways: [(Way, Part, &str, &str, &[OfComplex]); 7] = [
        (Way::B, Part::BValue, "b", "B", &[ImaginaryPart, Modulus]),
        (Way::C, Part::CValue, "c", "C", &[ImaginaryPart, Modulus]),
        (Way::ABar, Part::ABar, "a-bar", "Ā", of_a_bar),
        (Way::BBar, Part::BBar, "b-bar", "B̄ without B", &[RealPart, ImaginaryPart, Exchanged, Modulus]),
        (
            Way::Input,
            Part::BBar,
            "input",
            "what enters the states, B̄Bu,",
            &[Conjugated, RealPart, ImaginaryPart, Exchanged, Modulus],
        ),
        (Way::Kept, Part::Carry, "state", "the state that a position leaves", &[Conjugated, RealPart]),
        (Way::Read, Part::Readout, "read-state", "the state that C reads", &[Exchanged, Modulus]),
    ];
    let mut all = Vec::new();
    for (way, part, name, written, made) in ways {
        for (of, short, what) in MADE.into_iter().filter(|(of, ..)| made.contains(of)) {
            let what = format!("{written} {what}");
            all.push(Change::new(part, format!("{name}-{short}"), what, move |v: &mut Variant| {
                v.ways[way as usize] = of
            }));
        }
    }
    all
}

fn of_a() -> Vec<Change> {
    let uses = [
        (AUse::WithoutRealPart, "without-real-part", "the real part of A is dropped"),
        (AUse::Modulus, "modulus", "A is |A|"),
        (AUse::NegativeModulus, "negative-modulus", "A is −|A|"),
    ];
    let mut all = Vec::new();
    for (of, name, what) in uses {
        for (which, short, place) in [
            (&[0usize, 1][..], "", ""),
            (&[0][..], "-in-a-bar", " in Ā, and not in B̄"),
            (&[1][..], "-in-b-bar", " in B̄, and not in Ā"),
        ] {
            all.push(Change::new(
                Part::AValue,
                format!("a-{name}{short}"),
                format!("{what}{place}"),
                move |v: &mut Variant| which.iter().for_each(|&i| v.a_use[i] = of),
            ));
        }
    }
    all
}

fn products() -> Vec<Change> {
    let kinds = [
        (Product::PlusInReal, "the products of the imaginary parts are added in place of subtracted"),
        (Product::MinusInImaginary, "the imaginary part has a minus in place of its plus"),
        (Product::PartByPart, "real parts are multiplied, and imaginary parts"),
        (Product::OneCrossTerm, "the imaginary part has one of its two products"),
        (Product::InPlace, "the imaginary part is made of the real part that has just been written"),
        (
            Product::InPlaceAdded,
            "the imaginary part is made of the real part that has just been written, with the input added",
        ),
    ];
    let mut all = Vec::new();
    for (i, name, of) in [(0, "a-bar-x", "Ā and the state"), (1, "b-bar-b", "B̄ and B")] {
        // To B̄B nothing is added.
        for (product, what) in kinds.into_iter().filter(|kind| i == 0 || kind.0 != Product::InPlaceAdded) {
            let what = format!("in the product of {of}, {what}");
            let part = if i == 0 { Part::Carry } else { Part::BBar };
            all.push(Change::new(part, format!("{name}-product"), what, move |v: &mut Variant| {
                v.products[i] = product
            }));
        }
    }
    all
}

/// Powers of z whose products are wrong: in polynomials, and where closed forms of φ₂ and φ₃ divide by them.
fn powers(form: Form) -> Vec<Change> {
    let has = |term: &crate::formula::Term| matches!(term.of, Function::Power(2..) | Function::Phi(2..));
    if !form.formula().now().iter().any(has) {
        return Vec::new();
    }
    let change = |powers: Powers| {
        let what = format!("powers of z in B̄ are formed wrongly: {}", powers.text());
        Change::new(Part::BBar, "z-squared-product", what, move |v: &mut Variant| v.powers = powers)
    };
    Powers::wrong().map(change).collect()
}

/// 1/w that is not: of 1 − αz in bilinear and its like, of A in the closed forms of φₖ.
fn divisions(form: Form) -> Vec<Change> {
    let kinds = [
        (Division::ByConjugate, "reciprocal-not-conjugated", "w/|w|² stands for conj(w)/|w|² = 1/w"),
        (Division::ByModulus, "divided-by-modulus", "1/|w| stands for 1/w: powers of |w| for those of w"),
        (Division::ByRealPart, "divided-by-real-part", "1/Re w stands for 1/w"),
        (Division::TimesConjugate, "reciprocal-is-conjugate", "conj(w) stands for conj(w)/|w|² = 1/w"),
        (Division::ByUnit, "reciprocal-by-modulus", "conj(w)/|w| stands for conj(w)/|w|² = 1/w"),
    ];
    let formula = form.formula();
    let mut all = Vec::new();
    let mut add = |(_, name, what): (Division, &str, &str), of: String, divisions: Divisions| {
        all.push(Change::new(Part::BBar, name, format!("{what}, for w = {of}"), move |v: &mut Variant| {
            v.divisions = divisions
        }));
    };
    for kind in kinds {
        if let Some(alpha) = formula.pole() {
            let share = if alpha == Fraction::HALF { "ΔA/2" } else { "ΔA" };
            let right = Divisions::RIGHT;
            for (in_a_bar, in_b_bar, coefficients) in
                [(true, true, "Ā and B̄"), (true, false, "Ā only"), (false, true, "B̄ only")]
            {
                let of = |is: bool| if is { kind.0 } else { Division::Right };
                let divisions = Divisions { in_a_bar: of(in_a_bar), in_b_bar: of(in_b_bar), ..right };
                add(kind, format!("1 − {share}, in {coefficients}"), divisions);
            }
        }
        let phis: Vec<usize> =
            (1..4).filter(|k| formula.now().iter().any(|term| term.of == Function::Phi(*k))).collect();
        let each = phis.iter().filter(|_| phis.len() > 1).map(|k| Some(*k));
        for of_phi in (!phis.is_empty()).then_some(None).into_iter().chain(each) {
            let of =
                of_phi.map_or("A in B̄".to_owned(), |k| format!("A in φ{} of B̄", ["₀", "₁", "₂", "₃"][k]));
            add(kind, of, Divisions { in_b_bar: kind.0, of_phi, ..Divisions::RIGHT });
        }
    }
    all
}
