//! The inverse-free route: a form's coefficients from its data ([`crate::formula`]), by φ-functions, powers of z and one
//! solve, each with a proven bound of its error ([`super::dense::floor`]). Stated once for scalars and for matrices.

use super::number::ball::{Ball, Enclosure};
use super::number::scalar::Real;
use crate::formula::{Formula, Fraction, Function, Panels, Transition};

/// Δ⁰, Δ¹, Δ², Δ³: as far as the data goes.
pub type Powers<R> = [Ball<R>; 4];

pub fn powers<R: Real>(delta: &Ball<R>) -> Powers<R> {
    let square = delta.times(delta);
    let cube = square.times(delta);
    [Ball::one(), delta.clone(), square, cube]
}

/// The two Ā that are no sums, as far as the form needs them.
pub struct Transitions<V> {
    pub exp: Option<V>,
    /// (I − αz)⁻¹(I + (1 − α)z)
    pub quotient: Option<V>,
}

/// The panels of a form. `power` gives zᵏ, `applied` a function of z times B. None where one of them is missing.
pub fn panels<V: Enclosure>(
    formula: &Formula,
    powers: &Powers<V::Real>,
    transitions: &Transitions<V>,
    power: impl Fn(usize) -> V,
    applied: impl Fn(Function) -> Option<V>,
) -> Option<Panels<V>> {
    let a_bar = match formula.a_bar {
        Transition::Exponential => transitions.exp.clone()?,
        Transition::Quotient(_) => transitions.quotient.clone()?,
        Transition::Polynomial(factors) => {
            let term = |(k, &c): (usize, &Fraction)| power(k).scale(&times(&powers[0], c));
            factors.iter().enumerate().map(term).reduce(|sum, term| sum.plus(&term))?
        }
    };
    let mut panels = [Some(a_bar), None, None, None];
    for (panel, terms) in panels[1..].iter_mut().zip(formula.b_bar) {
        for term in terms {
            let value = applied(term.of)?.scale(&times(&powers[term.delta as usize], term.factor));
            *panel = Some(panel.as_ref().map_or(value.clone(), |sum| sum.plus(&value)));
        }
    }
    Some(panels)
}

/// c·x
pub fn times<R: Real>(x: &Ball<R>, Fraction(above, below): Fraction) -> Ball<R> {
    let integer = |n: f64| Ball::exact(R::exact(n));
    let x = if above == 1 { x.clone() } else { x.times(&integer(f64::from(above))) };
    match below.is_power_of_two() {
        true => x.shifted(-i64::from(below.trailing_zeros())),
        false => x.over(&integer(f64::from(below))),
    }
}
