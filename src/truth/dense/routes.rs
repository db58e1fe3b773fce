//! One form's dense step by two routes: the literal one, and the inverse-free one with its proven error.

use num_traits::One;

use super::augmented::{self, BoundedPanels};
use super::matrix::{product, scaled};
use super::panels::{Given, Panels, assemble};
use super::{expm, literal};
use crate::truth::number::scalar::Entry;

/// Two routes' results.
pub struct Attempt<T: Entry> {
    pub literal: Panels<T>,
    /// The inverse-free route's, with their proven errors.
    pub bounded: BoundedPanels<T>,
    /// Why the literal route did not take part, if so.
    pub unavailable: Option<&'static str>,
}

/// Runs both routes; where the literal one is not available a second algorithm takes its place. None when a
/// solve failed, which more precision may cure.
pub fn attempt<T: Entry>(given: &Given<T>, singular: bool) -> Option<Attempt<T>> {
    let other = augmented::panels(given)?;
    let (first, unavailable) = match literal::panels(given, singular) {
        Ok(panels) => (panels, None),
        Err(literal::Unavailable::Failed) => return None,
        Err(literal::Unavailable::Reason(reason)) => (by_doubling(given)?, Some(reason)),
    };
    Some(Attempt { literal: first, bounded: other, unavailable })
}

fn by_doubling<T: Entry>(given: &Given<T>) -> Option<Panels<T>> {
    let exp = expm::pade(&given.z, given.chain)?;
    let mut power = T::Part::one();
    let integrals = expm::phi_by_doubling(&given.z, given.chain).map(|phi| {
        power *= given.delta.clone();
        scaled(&product(&phi, given.b), &power)
    });
    Some(assemble(given, exp, &integrals, || given.b.clone()))
}
