//! φ-functions as they are formed step by step, φₖ = (φₖ₋₁ − 1/(k−1)!)/z from φ₀ = exp(z) on, where the exponential or the
//! reciprocal of z is wrong.

use num_complex::Complex64;

use super::fit::{recognized, snapped};
use super::function::{Found, Shape};
use super::search::{self, Samples};
use super::text;
use crate::formula::Function;
use crate::program::complex::{ABOVE, BELOW, Slip};

/// What stands in the place of exp(z).
#[derive(Clone, Debug, PartialEq)]
enum Exponential {
    Right,
    Zero,
    /// What Ā is.
    Own(Box<Found>),
    /// With a factor of its own on both parts of z.
    Scaled(f64, f64),
}

/// What stands in the place of 1/z.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reciprocal {
    Right,
    Slip(Slip),
    /// 1/|z|
    OfModulus,
    /// conj(z)/(|z|² + ε)
    Guarded(f64),
}

impl Reciprocal {
    fn of(self, z: Complex64) -> Complex64 {
        match self {
            Reciprocal::Right => 1.0 / z,
            Reciprocal::Slip(slip) => slip.of(z),
            Reciprocal::OfModulus => (1.0 / z.norm()).into(),
            Reciprocal::Guarded(epsilon) => z.conj() / (z.norm_sqr() + epsilon),
        }
    }

    fn text(self) -> Option<String> {
        match self {
            Reciprocal::Right => None,
            Reciprocal::Slip(slip) => {
                Some(format!("{}/({})", ABOVE[slip.above].0, BELOW[slip.below].0).replace('w', "z"))
            }
            Reciprocal::OfModulus => Some("1/|z|".to_owned()),
            Reciprocal::Guarded(epsilon) => Some(format!("conj(z)/(|z|² + {})", text::digits(epsilon))),
        }
    }
}

/// How φ-functions are formed.
#[derive(Clone, Debug, PartialEq)]
pub struct Recurrence {
    exponential: Exponential,
    reciprocal: Reciprocal,
    /// The first step whose reciprocal is wrong.
    from: usize,
    /// The φ-function that is formed at once, by the power of the reciprocal; 0 where all steps are made.
    start: usize,
}

impl Recurrence {
    /// φₖ
    pub fn phi(&self, k: usize, z: Complex64) -> Complex64 {
        let exponential = match &self.exponential {
            Exponential::Right => z.exp(),
            Exponential::Zero => Complex64::ZERO,
            Exponential::Own(found) => found.value(z),
            Exponential::Scaled(re, im) => Complex64::new(z.re * re, z.im * im).exp(),
        };
        let series = (0..self.start).map(|j| z.powu(j as u32) * Function::Phi(0).coefficient(j));
        let begun = exponential - series.sum::<Complex64>();
        let begun = begun * self.reciprocal.of(z).powu(self.start as u32);
        (self.start + 1..=k).fold(begun, |phi, step| {
            let reciprocal = if step >= self.from { self.reciprocal } else { Reciprocal::Right };
            (phi - Function::Phi(step - 1).coefficient(0)) * reciprocal.of(z)
        })
    }

    /// How φₖ is formed.
    pub fn text(&self, k: usize) -> String {
        let exponential = match &self.exponential {
            Exponential::Right => None,
            Exponential::Zero => Some("0 in the place of exp(z)".to_owned()),
            Exponential::Own(_) => Some("Ā in the place of exp(z)".to_owned()),
            &Exponential::Scaled(re, im) => {
                let found = Found::plain(Shape::Exponential(1.0, re, im));
                Some(format!("{} in the place of exp(z)", text::function(0, &found)))
            }
        };
        let step = match self.from {
            1 => String::new(),
            from if from == k => format!(" in step {k}"),
            from => format!(" from step {from} on"),
        };
        let reciprocal = self.reciprocal.text().map(|text| format!("{text} in the place of 1/z{step}"));
        let both: Vec<String> = exponential.into_iter().chain(reciprocal).collect();
        let start = if self.start == 0 {
            String::new()
        } else {
            format!(" from φ{} on", ["₀", "₁", "₂", "₃"][self.start])
        };
        format!("formed{start} with {}", both.join(" and "))
    }
}

/// How far from 0 a closed form is used at the nearest: nearer, it would lose digits.
const NEAREST: f64 = 0.25;

impl Samples<'_> {
    /// One φ-function that is formed of something wrong.
    pub fn stepwise(&self, own: Option<&Found>) -> Option<Found> {
        if self.z.iter().any(|z| z.norm() < NEAREST) {
            return None;
        }
        let complex = self.z.iter().any(|z| z.im != 0.0);
        let mut exponentials = vec![Exponential::Right, Exponential::Zero];
        exponentials.extend(own.map(|own| Exponential::Own(Box::new(own.clone()))));
        let mut reciprocals = vec![Reciprocal::Right];
        if complex {
            reciprocals.extend(Slip::all().map(Reciprocal::Slip));
        }
        reciprocals.push(Reciprocal::OfModulus);
        let guards = (1..=8).flat_map(|k| [1.0, 5.0].map(|x| x * 10f64.powi(-k)));
        if complex {
            reciprocals.extend(guards.map(Reciprocal::Guarded));
        }
        for exponential in &exponentials {
            for &reciprocal in &reciprocals {
                if *exponential == Exponential::Right && reciprocal == Reciprocal::Right {
                    continue;
                }
                // φ₃ may be made of a φ₂ that is formed at once.
                let steps = (1..=3).flat_map(|k| (1..=k).map(move |from| (k, from, 0))).chain([(3, 1, 2)]);
                for (k, from, start) in steps {
                    if from > 1 && reciprocal == Reciprocal::Right {
                        continue;
                    }
                    // That is −1/z, whoever forms it.
                    if k == 1 && (exponential, reciprocal) == (&Exponential::Zero, Reciprocal::Right) {
                        continue;
                    }
                    let recurrence = Recurrence { exponential: exponential.clone(), reciprocal, from, start };
                    if let Some(found) = self.formed(k, recurrence) {
                        return Some(found);
                    }
                }
            }
        }
        self.scaled_exponential()
    }

    fn formed(&self, k: usize, recurrence: Recurrence) -> Option<Found> {
        // Two values say whether it is worth a fit.
        let ratio = |i: usize| self.values[i] / recurrence.phi(k, self.z[i]);
        let (first, last) = (ratio(0), ratio(self.z.len() - 1));
        if (first - last).norm() > 1e-4 * first.norm() || !first.is_finite() {
            return None;
        }
        let column = self.column(|z| recurrence.phi(k, z));
        let factor = snapped(self.factors(&[column])?[0]);
        recognized(factor)?;
        self.accepted(Found::plain(Shape::Stepwise(factor, k, recurrence)))
    }

    /// Whatever exponential makes the values a φ-function: both factors are read off single values.
    fn scaled_exponential(&self) -> Option<Found> {
        let factors_of_phi = [1.0, 0.5, 1.0 / 6.0, 2.0];
        let all = (1..=3).flat_map(|k| factors_of_phi.map(|c| (k, c)));
        all.into_iter().find_map(|(k, c)| {
            let exponential = |i: usize| {
                let z = self.z[i];
                let series = (0..k).map(|j| z.powu(j as u32) * Function::Phi(0).coefficient(j));
                z.powu(k as u32) * self.values[i] / c + series.sum::<Complex64>()
            };
            let real = (0..self.z.len()).filter(|&i| self.z[i].im == 0.0);
            let at = real.max_by(|&i, &j| self.z[i].re.total_cmp(&self.z[j].re))?;
            let re = exponential(at).ln().re / self.z[at].re;
            let turned = (0..self.z.len()).filter(|&i| self.z[i].im != 0.0);
            let nearest = turned.min_by(|&i, &j| self.z[i].im.abs().total_cmp(&self.z[j].im.abs()));
            let im = nearest.map_or(re, |i| exponential(i).ln().im / self.z[i].im);
            let named = |x: f64| {
                let is = |value: f64| (x - value).abs() <= 1e-5;
                let all = [1.0, std::f64::consts::LN_2, std::f64::consts::LOG2_E];
                all.into_iter().find(|&value| is(value)).or_else(|| search::typed(x)).unwrap_or(x)
            };
            let (re, im) = (named(re), named(im));
            let recurrence = Recurrence {
                exponential: Exponential::Scaled(re, im),
                reciprocal: Reciprocal::Right,
                from: 1,
                start: 0,
            };
            (re.is_finite() && im.is_finite() && (re, im) != (1.0, 1.0))
                .then(|| self.formed(k, recurrence))?
        })
    }
}
