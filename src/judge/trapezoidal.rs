//! Bounds and verdicts for Mamba-3's rule (spec.md §7): the program in [`crate::trapezoidal`] over numbers that carry what f32 may have
//! them off.
//!
//! A number is v = Σ tᵢ, a sum of products, with s ≥ Σ|tᵢ| and the bound e of its error. A sum adds s and e, and rounds by u(s + e); a
//! product has s = s₁s₂, e = e₁s₂ + s₁e₂ + e₁e₂, and rounds by u(s₁ + e₁)(s₂ + e₂). Each operation rounds by u of all of its terms,
//! whatever they cancel to. Sums over states, channels, positions and heads are charged all of their additions for each term, so that
//! their order is free; a state and its cotangent pass one addition for each step and the joins of a scan, as elsewhere
//! ([`super::budget`]). Functions have the errors that their libraries document ([`crate::promise::allowance`]), and carry those of their
//! arguments by their slopes.
//!
//! The roundings of θ are taken as random, as those of states are there: λ√(3lm) of U·2π for l positions, of which m have one step, or all
//! of them where that is less; a step below 16u of what it is added to rounds the way it points, and counts whole. All else is the worst case. It is wider over long memories than the bounds of other scans: all states of a
//! head have one Ā, whose roundings count as repeats there, so that little would be gained; and an error of θ counts from the start on, also
//! in what depends on the angle between two positions alone.

use std::f64::consts::PI;

use super::budget::LAMBDA;
use super::location::{Location, Sources};
use super::scan::of_tally;
use super::ulp::Format;
use super::verdict::{Element, Tally, worst};
use crate::problem::trapezoidal::{Output, Sizes, Values, noun};
use crate::promise::allowance::{
    EXPONENTIAL, GATE_UNDERFLOW, HALF_SUBNORMAL, LIBRARY_TANH, LIBRARY_TURN, SIGMOID, SOFTPLUS, U,
};
use crate::results::{Beyond, TensorResult, Verdict, Worst};
use crate::tensor::{ComputedName, unravel};
use crate::trapezoidal::Number;

/// A number with what an f32 program may have it off.
#[derive(Clone, Copy, Debug)]
pub struct Bounded {
    pub value: f64,
    /// Its terms' sizes together.
    terms: f64,
    pub error: f64,
}

impl Bounded {
    /// A function's value, with its library's relative error, at an argument that is off by so much; `slope` bounds its derivative there.
    fn of_function(value: f64, (slope, argument): (f64, f64), library: f64) -> Bounded {
        let carried = if argument == 0.0 { 0.0 } else { slope * argument };
        let error = carried + library * (value.abs() + carried) + 2.0 * HALF_SUBNORMAL;
        Bounded { value, terms: value.abs(), error }
    }

    fn is_zero(&self) -> bool {
        self.terms == 0.0 && self.error == 0.0
    }
}

impl Number for Bounded {
    fn exact(value: f32) -> Self {
        let value = f64::from(value);
        Bounded { value, terms: value.abs(), error: 0.0 }
    }

    fn pi() -> Self {
        Bounded { value: PI, terms: PI, error: U * PI }
    }

    fn plus(&self, other: &Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return if self.is_zero() { *other } else { *self };
        }
        let (terms, error) = (self.terms + other.terms, self.error + other.error);
        Bounded { value: self.value + other.value, terms, error: error + U * (terms + error) }
    }

    fn minus(&self, other: &Self) -> Self {
        self.plus(&Bounded { value: -other.value, ..*other })
    }

    fn times(&self, other: &Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Bounded { value: 0.0, terms: 0.0, error: 0.0 };
        }
        let terms = self.terms * other.terms;
        let carried = self.error * other.terms + self.terms * other.error + self.error * other.error;
        // In other orders another factor may underflow.
        let error = carried + U * (terms + carried) + 2.0 * HALF_SUBNORMAL;
        Bounded { value: self.value * other.value, terms, error }
    }

    fn exp(&self) -> Self {
        let value = self.value.exp();
        // (e^{x + ε} − e^x)/ε
        let slope = if self.error == 0.0 { value } else { value * self.error.exp_m1() / self.error };
        Bounded::of_function(value, (slope, self.error), EXPONENTIAL)
    }

    fn sigmoid(&self) -> Self {
        let value = 1.0 / (1.0 + (-self.value).exp());
        let slope = (value * (1.0 - value) * self.error.exp()).min(0.25);
        let sigmoid = Bounded::of_function(value, (slope, self.error), SIGMOID);
        // e^−x may overflow there, and it become 0.
        if self.value - self.error < GATE_UNDERFLOW { sigmoid.off(value) } else { sigmoid }
    }

    fn tanh(&self) -> Self {
        let value = self.value.tanh();
        let slope = ((1.0 - value * value) * (2.0 * self.error).exp()).min(1.0);
        Bounded::of_function(value, (slope, self.error), LIBRARY_TANH)
    }

    fn softplus(&self) -> Self {
        let value = self.value.max(0.0) + (-self.value.abs()).exp().ln_1p();
        let slope = (1.0 / (1.0 + (-self.value).exp()) * self.error.exp()).min(1.0);
        Bounded::of_function(value, (slope, self.error), SOFTPLUS)
    }

    fn cos_sin(&self) -> [Self; 2] {
        let (sin, cos) = self.value.sin_cos();
        [cos, sin].map(|value| Bounded::of_function(value, (1.0, self.error), LIBRARY_TURN))
    }

    fn joined(&self, other: &Self) -> Self {
        let (value, terms) = (self.value + other.value, self.terms + other.terms);
        Bounded { value, terms, error: self.error + other.error }
    }

    fn summed(self, additions: usize) -> Self {
        self.off_by(additions as f64 * U)
    }

    fn walked(self, random: usize, systematic: usize, size: f64, repeats: usize) -> Self {
        let (random, systematic) = (random as f64, systematic as f64);
        let roundings = random.min(LAMBDA * (random * repeats as f64).sqrt());
        self.off((roundings + systematic) * U * size)
    }

    fn off(self, by: f64) -> Self {
        Bounded { error: self.error + by, ..self }
    }

    fn reach(&self) -> f64 {
        self.terms + self.error
    }

    fn about(&self) -> f64 {
        self.value
    }
}

/// Values that a tensor has to have, each with its bound, where something is to be judged.
pub type Wanted = Vec<Option<(f64, f64)>>;

/// The verdict on a tensor of these axes. Angles count modulo 2π.
pub fn judge(
    (name, axes, sizes): (ComputedName, &'static str, Sizes),
    got: &Values,
    wanted: &Wanted,
) -> TensorResult {
    let is_angle = name == Output::LastAngle.computed();
    let format = Format::for_input(got.stored);
    let shape = sizes.shape(axes);
    let index = |at: usize| unravel(&shape, at);
    let nouns = axes.chars().map(|letter| (noun(letter, sizes), sizes.of(letter)));
    let (mut tally, mut judged) = (Tally::default(), Vec::new());
    let mut location = Location::new(name, nouns.clone().collect(), (got.values.len(), 1));
    for (at, (&got, wanted)) in got.values.iter().zip(wanted).enumerate() {
        let Some((want, bound)) = *wanted else { continue };
        let got = f64::from(got);
        let turns = if is_angle && got.is_finite() { ((got - want) / (2.0 * PI)).round() } else { 0.0 };
        let want = want + 2.0 * PI * turns;
        let bound = if bound.is_nan() { f64::INFINITY } else { bound };
        let store = store_error(format, want.abs() + bound);
        let element = Element { got, want, bound: bound + store, store };
        judged.push(at);
        tally.add(element, format);
        location.add(at, element, format);
    }
    let ratio = tally.worst.map_or(0.0, |(_, _, distance)| distance.ratio);
    let mut result = of_tally(&tally, ratio, |(position, element, distance)| {
        let index = index(judged[position]);
        let words = nouns.clone().zip(&index).map(|((noun, _), at)| format!("{noun} {at}"));
        let place = words.collect::<Vec<_>>().join(", ");
        Worst { place, ..worst(name.name(), index, element, distance, Vec::new()) }
    });
    match result.verdict {
        _ if judged.is_empty() => {
            (result.verdict, result.reason) = (Verdict::Unmeasured, "all of it is padding".to_owned());
            result.beyond = Beyond::None;
        }
        Verdict::Fail => {
            result.wrong = location.wrong(index, || Sources {
                got: got.values.iter().map(|&value| f64::from(value)).collect(),
                ..Sources::default()
            });
        }
        _ => {}
    }
    result
}

/// Error of rounding on store, where that is a rounding of its own.
fn store_error(format: Format, size: f64) -> f64 {
    if format == Format::F32 || !size.is_finite() { 0.0 } else { format.rounding_error(size) }
}
