//! What one element of a gradient is, and what its terms add up to.

use super::estimate::Estimate;
use crate::judge::budget::state::WIDTH;
use crate::judge::budget::{Bounds, LAMBDA, or_less};
use crate::judge::lanes::Value;
use crate::judge::ulp::Format;
use crate::problem::InputType;
use crate::problem::stages::Rounding;
use crate::promise::allowance::Arithmetic;

/// A sum of estimates ([`Estimate`]), before its own additions are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Re and im.
    pub value: [f64; 2],
    pub worst: f64,
    pub linear: f64,
    pub variance: f64,
    pub size: f64,
    /// The largest that the terms may come to, without their signs.
    pub weight: f64,
    /// Terms that are so small beside the others that adding them rounds in the direction that they give it.
    pub stagnating: f64,
}

/// How an element is made of its total.
#[derive(Clone, Copy, Debug)]
pub struct Finish {
    pub arithmetic: Arithmetic,
    /// Terms that are added, in any order.
    pub additions: f64,
    /// How often one z or b occurs in what is added.
    pub repeats: f64,
    /// Type that it is rounded to behind the last addition.
    pub store: Option<InputType>,
    /// Values of an element: 2, re and im, where it is complex.
    pub width: usize,
}

impl Total {
    /// One of eight.
    #[inline(never)]
    pub fn of<V: Value<WIDTH>>(estimate: &Estimate<V>, lane: usize) -> Total {
        let value = estimate.value.at(lane);
        Total {
            value: [value.re, value.im],
            worst: estimate.worst.0[lane],
            linear: estimate.linear.0[lane],
            variance: estimate.variance.0[lane],
            size: estimate.size.0[lane],
            weight: estimate.norm.0[lane] + estimate.worst.0[lane],
            stagnating: 0.0,
        }
    }

    pub fn add(&mut self, other: &Total) {
        self.value = [self.value[0] + other.value[0], self.value[1] + other.value[1]];
        self.worst += other.worst;
        self.linear += other.linear;
        self.variance += other.variance;
        self.size += other.size;
        self.weight += other.weight;
        self.stagnating += other.stagnating;
    }

    /// Adds the real parts of eight states' estimates.
    #[inline(never)]
    pub fn add_real_lanes<V: Value<WIDTH>>(&mut self, estimate: &Estimate<V>) {
        self.value[0] += estimate.value.re().sum();
        self.worst += estimate.worst.sum();
        self.linear += estimate.linear.sum();
        self.variance += estimate.variance.sum();
        self.size += estimate.size.sum();
        self.weight += estimate.reach().sum();
    }

    /// After so many additions, whose roundings are not taken as random.
    pub fn summed(self, additions: f64, u: f64) -> Total {
        let rounded = additions * u * self.weight;
        Total { worst: self.worst + rounded, linear: self.linear + rounded, ..self }
    }

    /// The largest that its sum may be.
    fn reach(&self) -> f64 {
        self.value[0].hypot(self.value[1]) + self.worst
    }

    /// Times a real number that is off by at most `error`, in so many rounded products.
    pub fn times(self, factor: f64, error: f64, products: f64, arithmetic: Arithmetic) -> Total {
        let size = factor.abs() + error;
        let rounded = products * arithmetic.unit * self.reach() * size;
        // Whatever is multiplied first may underflow.
        let lost = 2.0 * products * arithmetic.underflow * (1.0 + size + self.reach());
        let systematic = self.reach() * error + rounded + lost;
        Total {
            value: self.value.map(|part| part * factor),
            worst: self.worst * size + systematic,
            linear: self.linear * size + systematic,
            variance: self.variance * (size * size),
            size: self.size * factor.abs() + lost / arithmetic.unit,
            weight: self.weight * size,
            stagnating: self.stagnating,
        }
    }

    /// Kept in a type that rounds so.
    pub fn kept(self, rounding: Rounding) -> Total {
        let rounded = rounding.unit * self.reach() + rounding.underflow;
        Total { worst: self.worst + rounded, linear: self.linear + rounded, ..self }
    }

    /// With a real number added that is off by at most `error`.
    pub fn plus(self, value: f64, error: f64, u: f64) -> Total {
        let rounded = u * (self.reach() + value.abs() + error);
        Total {
            value: [self.value[0] + value, self.value[1]],
            worst: self.worst + error + rounded,
            linear: self.linear + error + rounded,
            size: self.size + value.abs(),
            weight: self.weight + value.abs() + error,
            ..self
        }
    }

    /// Its bounds, with the additions that make it.
    pub fn push_to(&self, bounds: &mut Bounds, finish: &Finish) {
        let Finish { arithmetic, additions, repeats, store, width } = *finish;
        let u = arithmetic.unit;
        let worst = self.worst + additions * u * self.weight + arithmetic.underflow;
        let random = self.variance + additions * (u * self.weight) * (u * self.weight);
        let linear = self.linear + self.stagnating * u * self.weight + arithmetic.underflow;
        let judged = or_less(linear + LAMBDA * (repeats * random).sqrt(), worst);
        let size = self.value[0].abs().max(self.value[1].abs()) + judged;
        let store = store.map_or(0.0, |to| Format::for_input(to).rounding_error(size));
        bounds.value.extend(&self.value[..width]);
        bounds.push(judged + store, worst + store, store, u * self.size + arithmetic.underflow + store);
    }
}
