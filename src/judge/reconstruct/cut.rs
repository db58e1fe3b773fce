//! φ-functions that are the beginnings of their series where these do not reach: chosen by something else than |z|, or up to a limit
//! that is too large. Only the number of terms is looked for.

use num_complex::Complex64;

use super::expansion::{Expansion, Point, Term};
use super::fit::blurred;
use super::function::{Argument, Found, Part, Shape};
use super::places::FOUND;
use crate::formula::Function;

/// The highest order in z that a series is followed to.
const ORDERS: usize = 32;
/// Values that have to agree, at least.
const FEWEST: usize = 4;

/// c and k of a term that is c Δᵖ φₖ(z).
fn of_phi(term: &Term) -> Option<(f64, usize)> {
    let is_plain = (term.function.argument, term.function.part) == (Argument::Z, Part::Whole);
    match &term.function.shape {
        Shape::Sum(sum) if is_plain => match sum[..] {
            [(factor, Function::Phi(k))] => Some((factor, k)),
            _ => None,
        },
        _ => None,
    }
}

/// What a formula is with its φ-functions cut, if that is what has these values: all of them at one order, as where one is made of
/// the other; each after as many terms, as in one loop; or one alone.
pub fn find(values: &[(Point, Complex64)], formula: &Expansion) -> Option<Expansion> {
    let phis: Vec<(usize, f64, usize)> =
        formula.0.iter().enumerate().filter_map(|(at, term)| of_phi(term).map(|(c, k)| (at, c, k))).collect();
    if phis.is_empty() || values.len() < FEWEST {
        return None;
    }
    let cut = |of: &[(usize, f64, usize)], order: usize, shift: usize| {
        let mut all = formula.clone();
        for &(at, factor, k) in of {
            all.0[at].function = Found::plain(Shape::Cut(factor, k, order.checked_sub(shift * k)?));
        }
        Some(all)
    };
    let agrees = |formula: &Expansion| {
        values.iter().all(|(point, got)| {
            let (want, size) = formula.value(point);
            (got - want).norm() <= (FOUND + blurred(point.z())) * size
        })
    };
    let together = (1..=ORDERS).filter_map(|order| cut(&phis, order, 1));
    let alike = (1..=ORDERS).filter_map(|last| cut(&phis, last, 0));
    let alone = phis
        .iter()
        .filter(|_| phis.len() > 1)
        .flat_map(|one| (1..=ORDERS).filter_map(move |order| cut(std::slice::from_ref(one), order, 1)));
    together.chain(alike).chain(alone).find(agrees)
}
