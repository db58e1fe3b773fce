//! Quotients in which the parts of z stand for themselves: products of complex numbers and squares of moduli that are
//! multiplied out wrongly.

use num_complex::Complex64;

use super::fit::{TOLERANCE, plausible, recognized, snapped};
use super::function::{Found, Shape};
use super::search::Samples;
use super::text;
use crate::notation::{joined, raised};

/// A factor and two exponents.
type Monomial = (f64, u32, u32);

/// Σ c zʲ z̄ᵏ over c₀ + Σ c Re(z)ʲ Im(z)ᵏ
#[derive(Clone, Debug, PartialEq)]
pub struct Mixed {
    above: Vec<Monomial>,
    /// Without what stands alone.
    below: Vec<Monomial>,
    /// What stands alone below: 1, or 1 and what is added to it.
    constant: f64,
}

/// All pairs of exponents up to a degree, the lowest first.
fn exponents(degree: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..=degree).flat_map(|sum| (0..=sum).map(move |k| (sum - k, k)))
}

fn above(z: Complex64, (j, k): (u32, u32)) -> Complex64 {
    z.powu(j) * z.conj().powu(k)
}

fn below(z: Complex64, (j, k): (u32, u32)) -> f64 {
    z.re.powi(j as i32) * z.im.powi(k as i32)
}

impl Mixed {
    pub fn value(&self, z: Complex64) -> Complex64 {
        let over: Complex64 = self.above.iter().map(|&(c, j, k)| above(z, (j, k)) * c).sum();
        over / (self.constant + self.below.iter().map(|&(c, j, k)| below(z, (j, k)) * c).sum::<f64>())
    }

    /// What is wrong below, where |1 − αz|² should stand: terms with the right ones.
    pub fn beside_modulus(&self, alpha: f64) -> Vec<String> {
        let right = [(-2.0 * alpha, 1, 0), (alpha * alpha, 2, 0), (alpha * alpha, 0, 2)];
        let factor =
            |of: &[Monomial], (j, k)| of.iter().find(|one| (one.1, one.2) == (j, k)).map_or(0.0, |one| one.0);
        let wrong = exponents(2).skip(1).filter_map(|at| {
            let (is, should) = (factor(&self.below, at), factor(&right, at));
            let same = (is - should).abs() <= 4.0 * TOLERANCE * is.abs().max(should.abs());
            let text = |c: f64| if c == 0.0 { "0".to_owned() } else { of_parts((c, at.0, at.1)) };
            (!same).then(|| format!("{} in place of {}", text(is), text(should)))
        });
        let constant =
            (self.constant != 1.0).then(|| format!("{} in place of 1", text::number(self.constant)));
        constant.into_iter().chain(wrong).collect()
    }

    pub fn is_quotient(&self) -> bool {
        !self.below.is_empty()
    }

    pub fn text(&self) -> String {
        let of_z = |&(c, j, k): &Monomial| {
            let same = j.min(k) as i32;
            let modulus = raised("|z|", 2 * same);
            let (z, conjugate) = (raised("z", j as i32 - same), raised("conj(z)", k as i32 - same));
            text::fraction(&format!("{z}{conjugate}{modulus}"), c)
        };
        let over = joined(self.above.iter().map(of_z));
        if self.below.is_empty() {
            return format!("({over})");
        }
        let under = self.below.iter().map(|&one| of_parts(one));
        format!("({over})/({})", joined(std::iter::once(text::number(self.constant)).chain(under)))
    }
}

/// c Re(z)ʲ Im(z)ᵏ
fn of_parts((c, j, k): Monomial) -> String {
    let part = |name: &str, power: u32| match power {
        0 => String::new(),
        1 => format!("{name} z"),
        _ => raised(&format!("{name}(z)"), power as i32),
    };
    let both = [part("Re", j), part("Im", k)].into_iter().filter(|text| !text.is_empty());
    text::fraction(&both.collect::<Vec<_>>().join("·"), c)
}

impl Samples<'_> {
    /// Polynomials of z and conj(z) up to degree 4; or up to degree 2 over a real polynomial of both parts.
    pub fn mixed(&self) -> Option<Found> {
        [(2, 0), (3, 0), (4, 0), (1, 2), (2, 2)]
            .into_iter()
            .find_map(|(over, under)| self.of_parts(over, under))
    }

    fn of_parts(&self, over: u32, under: u32) -> Option<Found> {
        let (over, under): (Vec<_>, Vec<_>) = (exponents(over).collect(), exponents(under).skip(1).collect());
        let mut columns: Vec<Vec<Complex64>> = over.iter().map(|&at| self.column(|z| above(z, at))).collect();
        columns.extend(under.iter().map(|&at| {
            self.z.iter().zip(self.values).map(|(&z, value)| -value * below(z, at)).collect::<Vec<_>>()
        }));
        let found = self.factors(&columns)?;
        // What is added to a modulus is added to the 1 below: everything is in units of the 1 above.
        let unit = found[0];
        let is_added = !under.is_empty() && recognized(unit).is_none() && (unit - 1.0).abs() < 0.1;
        let (unit, constant) = if is_added { (unit, 1.0 / unit) } else { (1.0, 1.0) };
        let found = found.into_iter().map(|c| c / unit);
        let or_zero = |c: f64| if c.abs() < TOLERANCE * TOLERANCE.sqrt() { 0.0 } else { snapped(c) };
        let found: Vec<f64> = found.map(or_zero).collect();
        if !plausible(&found) {
            return None;
        }
        let with = |factors: &[f64], at: &[(u32, u32)]| -> Vec<Monomial> {
            let all = factors.iter().zip(at).filter(|(c, _)| **c != 0.0);
            all.map(|(&c, &(j, k))| (c, j, k)).collect()
        };
        let (of_over, of_under) = found.split_at(over.len());
        let mixed = Mixed { above: with(of_over, &over), below: with(of_under, &under), constant };
        self.accepted(Found::plain(Shape::Mixed(mixed)))
    }
}
