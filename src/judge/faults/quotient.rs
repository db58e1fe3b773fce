//! Quotients, Ā = (1 + (1 − α)z)/(1 − αz) and B̄ = Δ/(1 − αz), whose parts have Δ of different positions.

use num_complex::Complex64;

use super::inputs::Read;
use super::place::Map;
use super::step::{Bounded, Terms, modulus};
use crate::formula::Transition;
use crate::promise::allowance::{COEFFICIENT, U};

/// A share of z, and how much a quotient is moved where it is 1 plus that.
fn one_plus(share: Complex64, delta_error: f64) -> (Complex64, f64) {
    let sum = 1.0 + share;
    (sum, modulus(share) / modulus(sum) * (U + 2.0 * delta_error))
}

/// Δ and its relative error of the position that a map has for l, of Ā or of B̄.
fn step_of(read: &Read, which: usize, map: Map, l: usize) -> (f64, f64) {
    let (delta, error) = read.step_of(which, map, l);
    (delta, error + read.a_error)
}

/// Ā of state n where parts of its quotient have Δ of other positions.
pub fn a_bar(read: &Read, n: usize, l: usize) -> Option<Bounded> {
    let [above, below, _] = read.variant.quotient_at;
    // Nearly always, and asked of every step: first of all.
    if [above, below] == [Map::Same; 2] {
        return None;
    }
    let Transition::Quotient(alpha) = read.variant.a_bar.formula().a_bar else { return None };
    let [(of_above, error_above), (of_below, error_below)] =
        [above, below].map(|map| step_of(read, 0, map, l));
    let a = read.a(0, n);
    let (above, moved_above) = one_plus(a * of_above * alpha.complement().value(), error_above);
    let (below, moved_below) = one_plus(-a * of_below * alpha.value(), error_below);
    let value = above / below;
    Some(Bounded { value, error: modulus(value) * (COEFFICIENT + moved_above + moved_below) })
}

/// The terms of B̄/B of state n where their inverse has Δ of another position.
pub fn b_bar(read: &Read, t: Terms, n: usize, l: usize) -> Terms {
    let map = read.variant.quotient_at[2];
    if map == Map::Same {
        return t;
    }
    let Some(alpha) = read.variant.b_bar.formula().pole() else { return t };
    let share = |map: Map| {
        let (delta, error) = step_of(read, 1, map, l);
        one_plus(-read.a(1, n) * delta * alpha.value(), error)
    };
    let ((own, _), (other, moved)) = (share(Map::Same), share(map));
    let ratio = own / other;
    Terms {
        first: t.first * ratio,
        higher: t.higher * ratio,
        neighbour: t.neighbour * ratio,
        error: t.error + moved,
        ..t
    }
}
