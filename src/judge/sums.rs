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
//! The terms of h then each take up to five products and sums with Δ and one another: 5u|term|.

use num_complex::Complex64;

use crate::formula::{Function, Term};
use crate::problem::Weights;
use crate::promise::allowance::Arithmetic;
use crate::promise::contract::Sums;

/// The bound on h for z, Δ and φ₀…φ₃ there (module docs).
pub fn error(
    (sums, arithmetic): (Sums, Arithmetic),
    weights: Weights,
    terms: &[Term],
    delta: f64,
    z: Complex64,
    phis: &[Complex64; 4],
) -> f64 {
    let weights = match sums {
        Sums::Compensated => return 0.0,
        Sums::Plain => weights,
        Sums::PlainComplex => Weights::Complex,
    };
    let plain = Plain { weights, u: arithmetic.unit, mu: arithmetic.product(weights) };
    let of_phi = |term: &Term| matches!(term.of, Function::Phi(1..));
    let phi_errors = match terms.iter().any(of_phi) {
        true if z.norm() < 1.0 => plain.by_series(z.norm(), phis),
        true => plain.closed(z, phis),
        false => [0.0; 4],
    };
    // One term is no sum.
    let polynomial = terms.iter().any(|term| matches!(term.of, Function::Power(1..)));
    let error = |term: &Term| {
        let factor = (term.factor.value() * delta.powi(term.delta)).abs();
        factor
            * match term.of {
                Function::Phi(k @ 1..) => phi_errors[k] + 5.0 * plain.u * phis[k].norm(),
                Function::Power(k) if polynomial => z.norm().powi(k as i32) * plain.of_power(k as u32),
                Function::Phi(_) | Function::Power(_) | Function::Resolvent => 0.0,
            }
    };
    terms.iter().map(error).sum()
}

struct Plain {
    weights: Weights,
    u: f64,
    mu: f64,
}

impl Plain {
    /// Of the term of zⁱ, relative.
    fn of_power(&self, i: u32) -> f64 {
        f64::from(i) * (self.mu + 2.0 * self.u) + self.u
    }

    /// Of φ₁, φ₂ and φ₃, at their indices.
    fn by_series(&self, z: f64, [_, phi1, phi2, phi3]: &[Complex64; 4]) -> [f64; 4] {
        let up = |error: f64, from: &Complex64, to: &Complex64| {
            z * (error + self.mu * from.norm()) + self.u * to.norm()
        };
        // Of Σ zⁱ/(i+3)!
        let (mut term, mut e3) = (1.0 / 6.0, 0.0);
        for i in 0..16 {
            e3 += term * self.of_power(i);
            term *= z / f64::from(i + 4);
        }
        let e2 = up(e3, phi3, phi2);
        [0.0, up(e2, phi2, phi1), e2, e3]
    }

    fn closed(&self, z: Complex64, [exp_z, phi1, phi2, _]: &[Complex64; 4]) -> [f64; 4] {
        let (u, size) = (self.u, exp_z.norm());
        let less_one = (exp_z - 1.0).norm();
        let (e0, quotient) = match self.weights {
            Weights::Real => (4.0 * u * size + 2.0 * u * less_one, u),
            Weights::Complex => (25.0 * u * size.max(1.0), 5.0 * u),
        };
        let e1 = (e0 + quotient * less_one) / z.norm();
        let e2 = (e1 + (u + quotient) * (phi1 - 1.0).norm()) / z.norm();
        [0.0, e1, e2, (e2 + (u + quotient) * (phi2 - 0.5).norm()) / z.norm()]
    }
}
