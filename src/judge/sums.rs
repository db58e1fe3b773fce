//! What h = B̄/B loses where it is summed term by term in plain arithmetic, for any order of the operations.
//!
//! Products round by μ (u real, √5·u complex), sums and quotients of reals by u, complex quotients by 5u (two products, a
//! sum of squares and a division), functions by 2u. To first order in u, with |·| normwise:
//!
//! - **Series**, |z| < 1: Σ zⁱ/(i+k)! with the i-th term of i products and as many quotients by integers, and at most
//!   i + 1 sums, costs at most Σ (i(μ + 2u) + u)|z|ⁱ/(i+k)!. φ₃ so, and then φₖ = 1/k! + zφₖ₊₁, which adds
//!   |z|Eₖ₊₁ + μ|zφₖ₊₁| + u|φₖ|. A polynomial of z such as rk4's so as well, whatever z.
//! - **Closed forms**, |z| ≥ 1: φ₁ = (eᶻ − 1)/z and φₖ₊₁ = (φₖ − 1/k!)/z with a quotient's ρ, so that
//!   E₁ = (E₀ + ρ|eᶻ − 1|)/|z| and Eₖ₊₁ = (Eₖ + (u + ρ)|φₖ − 1/k!|)/|z|. eᶻ − 1 itself is off by
//!   E₀ = 4u·eᶻ + 2u|eᶻ − 1| for real z (an exponential to base 2 and a subtraction, or expm1), and for complex ones, as
//!   expm1(x)cos y − 2sin²(y/2) + i eˣ sin y, by at most 25u·max(1, eˣ).
//!
//!   They lose the more the smaller z is. Where nothing but them is stated to be used ([`Sums::Closed`]), this is allowed for any
//!   z but 0, where they have no value: E₁ comes to 4u/|z|, E₂ to 4u/|z|², E₃ to 4u/|z|³.
//!
//! The terms of h then each take up to five products and sums with Δ and one another: 5u|term|.

use crate::formula::{Function, Term};
use crate::judge::lanes::{INVERSE_FACTORIALS, Lanes, Value};
use crate::problem::Weights;
use crate::promise::allowance::Arithmetic;
use crate::promise::contract::Sums;

/// The bound on h for z, Δ and φ₀…φ₃ there (module docs).
#[inline(always)]
pub fn error<const W: usize, V: Value<W>>(
    (sums, arithmetic): (Sums, Arithmetic),
    terms: &[Term],
    delta: f64,
    z: Lanes<W>,
    phis: &[V; 4],
) -> Lanes<W> {
    let Some(plain) = Plain::new(sums, arithmetic, V::WEIGHTS) else { return Lanes::ZERO };
    let of_phi = |term: &Term| matches!(term.of, Function::Phi(1..));
    let phi_errors = if terms.iter().any(of_phi) { plain.of_phis(z, phis) } else { [Lanes::ZERO; 4] };
    // One term is no sum.
    let polynomial = terms.iter().any(|term| matches!(term.of, Function::Power(1..)));
    let mut total = Lanes::ZERO;
    for term in terms {
        let factor = (term.factor.value() * delta.powi(term.delta)).abs();
        let error = match term.of {
            Function::Phi(k @ 1..) => phi_errors[k] + phis[k].norm() * (5.0 * plain.u),
            Function::Power(k) if polynomial => z.power(k as u32) * plain.of_power(k as u32),
            Function::Phi(_) | Function::Power(_) | Function::Resolvent(_) => continue,
        };
        total = total + error * factor;
    }
    total
}

/// What φ₁…φ₄ lose, at their indices: where derivatives are made of them. φ₄ has a series of its own.
#[inline(always)]
pub fn phi_errors<const W: usize, V: Value<W>>(
    (sums, arithmetic): (Sums, Arithmetic),
    z: Lanes<W>,
    &[phi0, phi1, phi2, phi3, _]: &[V; 5],
) -> [Lanes<W>; 5] {
    let Some(plain) = Plain::new(sums, arithmetic, V::WEIGHTS) else { return [Lanes::ZERO; 5] };
    let [e0, e1, e2, e3] = plain.of_phis(z, &[phi0, phi1, phi2, phi3]);
    let series = plain.of_series(z, 4);
    let closed = (e3 + (phi3 - INVERSE_FACTORIALS[3]).norm() * (plain.u + plain.quotient())) / z;
    [e0, e1, e2, e3, Lanes::if_less(z, Lanes::all(plain.closed_from), series, closed)]
}

/// What each term of φ₃'s series may add, in the order of powers.
pub fn series(arithmetic: Arithmetic, weights: Weights) -> [f64; 16] {
    let (u, mu) = (arithmetic.unit, arithmetic.product(weights));
    let plain = Plain { weights, u, mu, closed_from: 1.0 };
    std::array::from_fn(|i| plain.of_power(i as u32) * INVERSE_FACTORIALS[i + 3])
}

struct Plain {
    weights: Weights,
    u: f64,
    mu: f64,
    /// From which |z| on closed forms are taken.
    closed_from: f64,
}

impl Plain {
    /// None where nothing is lost.
    fn new(sums: Sums, arithmetic: Arithmetic, weights: Weights) -> Option<Plain> {
        let (weights, closed_from) = match sums {
            Sums::Compensated => return None,
            Sums::Plain => (weights, 1.0),
            Sums::PlainComplex => (Weights::Complex, 1.0),
            Sums::Closed => (weights, f64::MIN_POSITIVE),
        };
        Some(Plain { weights, u: arithmetic.unit, mu: arithmetic.product(weights), closed_from })
    }

    /// ρ
    fn quotient(&self) -> f64 {
        match self.weights {
            Weights::Real => self.u,
            Weights::Complex => 5.0 * self.u,
        }
    }

    /// Of Σ zⁱ/(i+k)!
    #[inline(always)]
    fn of_series<const W: usize>(&self, z: Lanes<W>, k: usize) -> Lanes<W> {
        let mut error = Lanes::ZERO;
        for i in (0..16).rev() {
            error = error * z + self.of_power(i) * INVERSE_FACTORIALS[i as usize + k];
        }
        error
    }

    /// Of the term of zⁱ, relative.
    #[inline(always)]
    fn of_power(&self, i: u32) -> f64 {
        f64::from(i) * (self.mu + 2.0 * self.u) + self.u
    }

    /// Of φ₁, φ₂ and φ₃, at their indices.
    #[inline(always)]
    fn of_phis<const W: usize, V: Value<W>>(&self, z: Lanes<W>, phis: &[V; 4]) -> [Lanes<W>; 4] {
        let series = if z.any_below(self.closed_from) { self.by_series(z, phis) } else { [Lanes::ZERO; 4] };
        if z.all_below(self.closed_from) {
            return series;
        }
        let closed = self.closed(z, phis);
        let mut errors = series;
        for (error, closed) in errors.iter_mut().zip(closed) {
            *error = Lanes::if_less(z, Lanes::all(self.closed_from), *error, closed);
        }
        errors
    }

    #[inline(always)]
    fn by_series<const W: usize, V: Value<W>>(
        &self,
        z: Lanes<W>,
        [_, phi1, phi2, phi3]: &[V; 4],
    ) -> [Lanes<W>; 4] {
        let up = |error: Lanes<W>, from: &V, to: &V| z * (error + from.norm() * self.mu) + to.norm() * self.u;
        let e3 = self.of_series(z, 3);
        let e2 = up(e3, phi3, phi2);
        [Lanes::ZERO, up(e2, phi2, phi1), e2, e3]
    }

    #[inline(always)]
    fn closed<const W: usize, V: Value<W>>(
        &self,
        z: Lanes<W>,
        [exp_z, phi1, phi2, _]: &[V; 4],
    ) -> [Lanes<W>; 4] {
        let (u, size) = (self.u, exp_z.norm());
        let less_one = (*exp_z - 1.0).norm();
        let e0 = match self.weights {
            Weights::Real => size * (4.0 * u) + less_one * (2.0 * u),
            Weights::Complex => size.max(Lanes::ONE) * (25.0 * u),
        };
        let quotient = self.quotient();
        let e1 = (e0 + less_one * quotient) / z;
        let e2 = (e1 + (*phi1 - 1.0).norm() * (u + quotient)) / z;
        [Lanes::ZERO, e1, e2, (e2 + (*phi2 - 0.5).norm() * (u + quotient)) / z]
    }
}
