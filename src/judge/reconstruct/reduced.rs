//! Exponentials of which a multiple of a period is taken off first: constants with few digits, half a period, and what is
//! left as a polynomial that is too short.

use std::f64::consts::{LN_2, PI};

use num_complex::Complex64;

use super::fit::{TOLERANCE, recognized, snapped};
use super::function::{Found, Shape};
use super::search::Samples;
use super::text;
use crate::notation::{joined, raised};

/// How the multiple is found.
type Rounding = (&'static str, fn(f64) -> f64);

const ROUNDINGS: [Rounding; 3] = [("round", f64::round), ("floor", f64::floor), ("trunc", f64::trunc)];

/// exp(z − kp) or exp(z − ikp), times 2ᵏ for the real part, where k is how often p goes into that part of z.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    of_angle: bool,
    /// p
    used: f64,
    rounding: usize,
}

impl Reduced {
    fn times(&self, z: Complex64) -> f64 {
        let (part, period) = if self.of_angle { (z.im, self.used) } else { (z.re, LN_2) };
        (ROUNDINGS[self.rounding].1)(part / period)
    }

    pub fn value(&self, z: Complex64) -> Complex64 {
        let k = self.times(z);
        match self.of_angle {
            true => (z - Complex64::I * (k * self.used)).exp(),
            false => (z + k * (LN_2 - self.used)).exp(),
        }
    }

    pub fn text(&self) -> String {
        let (rounding, p) = (ROUNDINGS[self.rounding].0, text::digits(self.used));
        match self.of_angle {
            true => {
                let right = text::digits(2.0 * PI);
                format!("exp(z − {p}·ik) with k = {rounding}(Im z/{p}), where 2π = {right}")
            }
            false => {
                let right = text::digits(LN_2);
                format!("2ᵏ·exp(z − {p}·k) with k = {rounding}(Re z/ln 2), where ln 2 = {right}")
            }
        }
    }
}

/// 2ᵏ times a polynomial of what is left.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseTwo {
    coefficients: Vec<f64>,
    rounding: usize,
    /// Whether what is left is z/ln 2 − k, and not z − k ln 2.
    of_two: bool,
}

impl BaseTwo {
    fn parts(rounding: usize, of_two: bool, z: Complex64) -> (f64, f64) {
        let k = (ROUNDINGS[rounding].1)(z.re / LN_2);
        (k, if of_two { z.re / LN_2 - k } else { z.re - k * LN_2 })
    }

    pub fn value(&self, z: Complex64) -> Complex64 {
        let (k, rest) = BaseTwo::parts(self.rounding, self.of_two, z);
        (k.exp2() * self.coefficients.iter().rev().fold(0.0, |sum, c| sum * rest + c)).into()
    }

    pub fn text(&self) -> String {
        let powers = self.coefficients.iter().enumerate();
        let terms = powers.map(|(k, &c)| text::fraction(&raised("r", k as i32), c));
        let rest = if self.of_two { "z/ln 2 − k" } else { "z − k ln 2" };
        let rounding = ROUNDINGS[self.rounding].0;
        format!("2ᵏ({}) with k = {rounding}(z/ln 2) and r = {rest}", joined(terms))
    }
}

/// A constant as it may have been typed: of three to seven digits.
fn typed(value: f64) -> f64 {
    let short = (2..=6).filter_map(|digits| format!("{value:.digits$e}").parse::<f64>().ok());
    short.into_iter().find(|short| (short - value).abs() <= 1e-8 * value.abs()).unwrap_or(value)
}

impl Samples<'_> {
    pub fn reduced(&self) -> Option<Found> {
        let angles = [2.0 * PI, PI, 0.5 * PI].map(|period| (true, period));
        let all = angles.into_iter().chain([(false, LN_2)]);
        all.flat_map(|(of_angle, period)| {
            (0..ROUNDINGS.len()).map(move |rounding| (of_angle, period, rounding))
        })
        .find_map(|(of_angle, period, rounding)| {
            let right = Reduced { of_angle, used: period, rounding };
            // By what the constant is off, where it is taken off the fewest times.
            let often = |i: &usize| right.times(self.z[*i]).abs();
            let with = (0..self.z.len()).filter(|i| often(i) >= 1.0);
            let at = with.min_by(|i, j| often(i).total_cmp(&often(j)))?;
            let k = right.times(self.z[at]);
            let off = (self.values[at] / right.value(self.z[at])).ln();
            let off = if of_angle { -off.im / k } else { -off.re / k };
            let used = typed(period + off);
            let is_right = (used / period - 1.0).abs() <= TOLERANCE;
            let nothing = is_right && (period == 2.0 * PI || !of_angle);
            if nothing || off.abs() > 0.1 * period {
                return None;
            }
            self.accepted(Found::plain(Shape::Reduced(Reduced { used, ..right })))
        })
    }

    /// Of a real number: what is left enters a polynomial of degree up to 5, whose coefficients beyond the third degree are fractions.
    pub fn base_two(&self) -> Option<Found> {
        if self.z.iter().any(|z| z.im != 0.0) {
            return None;
        }
        let ways = (0..2).flat_map(|rounding| [true, false].map(|of_two| (rounding, of_two)));
        let all = (1..=5usize).flat_map(|degree| ways.clone().map(move |way| (degree, way)));
        let mut found = all.filter_map(|(degree, (rounding, of_two))| {
            let column = |power: usize| {
                self.column(|z| {
                    let (k, rest) = BaseTwo::parts(rounding, of_two, z);
                    (k.exp2() * rest.powi(power as i32)).into()
                })
            };
            let columns: Vec<_> = (0..=degree).map(column).collect();
            let found: Vec<f64> = self.factors(&columns)?.into_iter().map(snapped).collect();
            let odd = found.iter().filter(|&&c| recognized(c).is_none()).count();
            if degree > 3 && odd > 1 {
                return None;
            }
            let base_two = BaseTwo { coefficients: found, rounding, of_two };
            Some((odd, self.accepted(Found::plain(Shape::BaseTwo(base_two)))?))
        });
        let first = found.next()?;
        // The same polynomial of both kinds of rest: the one with the plainer coefficients.
        let second = found.next();
        Some(second.filter(|second| second.0 < first.0).unwrap_or(first).1)
    }
}
