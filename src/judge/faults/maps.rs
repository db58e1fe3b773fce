//! Ā and B̄u of a [`super::variant::Variant`] at each position of its scan, with a bound on what a sound f32 kernel with the same
//! fault may be off.

use num_complex::Complex64;

use super::around::{FoundTerm, Stage};
use super::complex::{Product, Way};
use super::quotient;
use super::scan::VariantScan;
use super::step::{self, Bounded, modulus};
use super::variant::Sum;
use crate::formula::Form;
use crate::method::Method;
use crate::problem::InputType;
use crate::promise::allowance::{self, HALF_SUBNORMAL};
use crate::tensor::GradientName;

/// One position's map x → a x + b.
#[derive(Clone, Copy)]
pub struct Map {
    pub a: Bounded,
    pub b: Bounded,
}

impl Map {
    /// Of a position that leaves its state as it is.
    pub const NONE: Map = Map {
        a: Bounded { value: Complex64::ONE, error: 0.0 },
        b: Bounded { value: Complex64::ZERO, error: 0.0 },
    };
}

impl VariantScan<'_> {
    pub fn a_bar(&self, n: usize, l: usize) -> Bounded {
        if self.is_skipped(l) {
            return Bounded { value: Complex64::ONE, error: 0.0 };
        }
        let (delta, delta_error) = self.read.steps[0][l];
        let mut a_bar = self.coefficients.a_bar(delta, delta_error + self.read.a_error, self.read.a(0, n));
        a_bar = quotient::a_bar(&self.read, n, l).unwrap_or(a_bar);
        let (least, most) = self.variant.a_bar_limits;
        // Numbers that are no limits at all are left as they are, NaN too.
        if a_bar.value.re < least || a_bar.value.re > most {
            a_bar.value.re = a_bar.value.re.clamp(least, most);
        }
        a_bar.rounded(self.variant.stages[Stage::ABar as usize])
    }

    /// The maps of state n at the first `len` positions.
    pub fn maps(&self, n: usize, len: usize) -> Vec<Map> {
        let phis = self.phis(n, len);
        let Some(elsewhere) = self.elsewhere else {
            return (0..len).map(|l| self.own_map(n, l, &phis[l])).collect();
        };
        let of_elsewhere = elsewhere.phis(n, len);
        let map = |l: usize| {
            let moving = self.moving(n, l);
            let phis = if std::ptr::eq(moving, elsewhere) { &of_elsewhere } else { &phis };
            moving.own_map(n, l, &phis[l])
        };
        (0..len).map(map).collect()
    }

    /// φ₀…φ₃ that state n takes at the first `len` positions.
    pub fn phis(&self, n: usize, len: usize) -> Vec<[Complex64; 4]> {
        self.coefficients.phis(&self.read.steps[1][..len], self.read.a(1, n))
    }

    fn own_map(&self, n: usize, l: usize, phis: &[Complex64; 4]) -> Map {
        let found = self.variant.found.as_ref().map(|found| &found[..]);
        let moved = |a: Bounded| Map { a, b: self.input((n, l), found, a, phis) };
        self.moving_a_bar(n, l).map_or(Map::NONE, moved)
    }

    /// Ā where a position moves a state at all.
    pub fn moving_a_bar(&self, n: usize, l: usize) -> Option<Bounded> {
        (!self.ignored(l) && !self.is_skipped(l)).then(|| self.a_bar(n, l))
    }

    /// What state n is given at a position whose Ā is `a_bar`, where the terms of B̄ are those of the form or have been `found`.
    pub fn input(
        &self,
        (n, l): (usize, usize),
        found: Option<&[Option<FoundTerm>]>,
        a_bar: Bounded,
        phis: &[Complex64; 4],
    ) -> Bounded {
        let (a, b) = (self.read.a(1, n), self.read.b(n, l));
        let (delta, delta_error) = self.read.steps[1][l];
        let u_at = |l: isize| self.read.u_at(l);
        let u = u_at(l as isize);
        // Two products more, with u and with B.
        let mu = allowance::product(self.problem.weights);
        let delta_error = delta_error + self.read.a_error;
        let is_found = step::is_other(self.variant, delta, a);
        let (value, size, relative) = match found {
            Some(found) if is_found => {
                let near = |offset: isize| u_at(l as isize + offset);
                self.coefficients.found(found, (delta, delta_error), (a, b), near, phis)
            }
            _ => {
                let t = self.coefficients.terms((delta, delta_error), a, *phis);
                let t = quotient::b_bar(&self.read, t, n, l);
                let u_of_higher = if self.variant.u_in_higher_terms { u } else { 1.0 };
                let neighbour =
                    if t.neighbour == Complex64::ZERO { 0.0 } else { u_at(l as isize + t.offset) };
                let of_parts = [(t.first, u), (t.higher, u_of_higher), (t.neighbour, neighbour)];
                let with_b = |(term, u): (Complex64, f64)| self.variant.products[1].of(term, b) * u;
                let mut parts = of_parts.map(with_b);
                if self.variant.sum == Sum::OuterProducts && self.variant.b_bar == Form::Method(Method::Rk4) {
                    parts = self.outer_products(n, l, delta).map(|part| part * u);
                }
                let size = |parts: [Complex64; 3]| parts.iter().map(|part| modulus(*part)).sum::<f64>();
                match self.variant.products[1] {
                    // What is no linear product is one with the whole of B̄, which has cancelled before.
                    Product::InPlace | Product::Moduli if self.variant.u_in_higher_terms => {
                        let whole = with_b((t.first + t.higher, u)) + with_b((t.neighbour, neighbour));
                        (whole, size(of_parts.map(|(term, u)| term * b * u)), t.error)
                    }
                    _ => (parts.iter().sum(), size(parts), t.error),
                }
            }
        };
        let factor = self.variant.input_factor;
        let rounded = if factor == 1.0 { 4.0 * mu } else { 6.0 * mu };
        let size = size * self.variant.products[1].longer(modulus(value));
        let mut b_u = Bounded {
            value: self.variant.ways[Way::Input as usize].of(value) * factor,
            error: size * factor.abs() * (relative + rounded) + 4.0 * HALF_SUBNORMAL * f64::from(size != 0.0),
        };
        let of_stage = |stage: Stage| self.variant.stages[stage as usize];
        let b_given = b * u;
        if of_stage(Stage::DrivenB) != InputType::F32 && b_given != Complex64::ZERO {
            // What both are in a narrow type multiplies without an error.
            let exact = [GradientName::U, GradientName::B]
                .iter()
                .all(|&of| self.problem.stored_input(of) != InputType::F32);
            let error = if exact { 0.0 } else { mu * modulus(b_given) };
            let rounded = Bounded { value: b_given, error }.rounded(of_stage(Stage::DrivenB));
            let gain = modulus(b_u.value) / modulus(b_given);
            b_u.value *= rounded.value / b_given;
            b_u.error += gain * rounded.error;
        }
        if of_stage(Stage::BBar) != InputType::F32 && u != 0.0 {
            b_u = b_u.scaled(1.0 / u).rounded(of_stage(Stage::BBar)).scaled(u);
        }
        b_u = b_u.rounded(of_stage(Stage::Input));
        if self.variant.decays_input {
            let size = modulus(a_bar.value);
            b_u.error = b_u.error * size + (a_bar.error + mu * size) * modulus(b_u.value);
            b_u.value *= a_bar.value;
        }
        b_u
    }

    /// A²B as a(aᵀB), A³B as a(aᵀAB): the terms of first, second, and third and fourth order in Δ.
    fn outer_products(&self, n: usize, l: usize, delta: f64) -> [Complex64; 3] {
        let (mut ab, mut aab) = (Complex64::ZERO, Complex64::ZERO);
        for m in 0..self.problem.shape.dstate {
            let product = self.read.a(1, m) * self.read.b(m, l);
            ab += product;
            aab += self.read.a(1, m) * product;
        }
        let (a, b) = (self.read.a(1, n), self.read.b(n, l));
        let d2 = delta * delta / 2.0;
        [b * delta, a * b * d2, a * (ab * (d2 * delta / 3.0) + aab * (d2 * delta * delta / 12.0))]
    }
}
