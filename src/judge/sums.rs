//! What h = B̄/B loses where it is summed term by term in plain arithmetic, for any order of the operations.
//!
//! Products round by μ (u real, √5·u complex), sums and quotients of reals by u, complex quotients by 5u (two products, a
//! sum of squares and a division), functions by 2u. To first order in u, with |·| normwise:
//!
//! - **Series**, |z| < 1: Σ zⁱ/(i+k)! with the i-th term of i products and as many quotients by integers, and at most
//!   i + 1 sums, costs at most Σ (i(μ + 2u) + u)|z|ⁱ/(i+k)!. φ₃ so, and then φₖ = 1/k! + zφₖ₊₁, which adds
//!   |z|Eₖ₊₁ + μ|zφₖ₊₁| + u|φₖ|. rk4's polynomial is φ₁'s series of four terms, whatever z.
//! - **Closed forms**, |z| ≥ 1: φ₁ = (eᶻ − 1)/z and φₖ₊₁ = (φₖ − 1/k!)/z with a quotient's ρ, so that
//!   E₁ = (E₀ + ρ|eᶻ − 1|)/|z| and Eₖ₊₁ = (Eₖ + (u + ρ)|φₖ − 1/k!|)/|z|. eᶻ − 1 itself is off by
//!   E₀ = 4u·eᶻ + 2u|eᶻ − 1| for real z (an exponential to base 2 and a subtraction, or expm1), and for complex ones, as
//!   expm1(x)cos y − 2sin²(y/2) + i eˣ sin y, by at most 25u·max(1, eˣ).
//!
//! The terms of h then each take up to five products and sums with Δ and one another: 5u|term|.

use num_complex::Complex64;

use super::allowance::Arithmetic;
use super::contract::Sums;
use crate::method::Method;
use crate::problem::Weights;

/// The bound on h for z, Δ and φ₁, φ₂, φ₃ there (module docs).
pub fn error(
    (sums, arithmetic): (Sums, Arithmetic),
    weights: Weights,
    method: Method,
    delta: f64,
    (z, exp_z): (Complex64, Complex64),
    phis: [Complex64; 3],
) -> f64 {
    let weights = match sums {
        Sums::Compensated => return 0.0,
        Sums::Plain => weights,
        Sums::PlainComplex => Weights::Complex,
    };
    let plain = Plain { weights, u: arithmetic.unit, mu: arithmetic.product(weights) };
    let delta = delta.abs();
    // The coefficients of φ₁, φ₂ and φ₃ in h.
    let factors = match method {
        Method::Zoh | Method::Bilinear => return 0.0,
        Method::Rk4 => return plain.series(z.norm(), 1, 4) * delta,
        Method::Foh => [0.0, delta.powi(2), 0.0],
        Method::Poly => [delta, 0.5 * delta.powi(2), 0.0],
        Method::HighOrder => [delta, delta.powi(2), 0.5 * delta.powi(3)],
    };
    let errors = if z.norm() < 1.0 { plain.by_series(z.norm(), phis) } else { plain.closed(z, exp_z, phis) };
    let terms = (0..3).filter(|&k| factors[k] > 0.0);
    terms.map(|k| factors[k] * (errors[k] + 5.0 * plain.u * phis[k].norm())).sum()
}

struct Plain {
    weights: Weights,
    u: f64,
    mu: f64,
}

impl Plain {
    /// Of Σ_{i < terms} zⁱ/(i+k)!.
    fn series(&self, z: f64, k: u32, terms: u32) -> f64 {
        let mut term = 1.0 / (1..=k).map(f64::from).product::<f64>();
        let mut error = 0.0;
        for i in 0..terms {
            error += term * (f64::from(i) * (self.mu + 2.0 * self.u) + self.u);
            term *= z / f64::from(i + 1 + k);
        }
        error
    }

    /// Of φ₁, φ₂ and φ₃.
    fn by_series(&self, z: f64, [phi1, phi2, phi3]: [Complex64; 3]) -> [f64; 3] {
        let up = |error: f64, from: Complex64, to: Complex64| {
            z * (error + self.mu * from.norm()) + self.u * to.norm()
        };
        let e3 = self.series(z, 3, 16);
        let e2 = up(e3, phi3, phi2);
        [up(e2, phi2, phi1), e2, e3]
    }

    fn closed(&self, z: Complex64, exp_z: Complex64, [phi1, phi2, _]: [Complex64; 3]) -> [f64; 3] {
        let (u, size) = (self.u, exp_z.norm());
        let less_one = (exp_z - 1.0).norm();
        let (e0, quotient) = match self.weights {
            Weights::Real => (4.0 * u * size + 2.0 * u * less_one, u),
            Weights::Complex => (25.0 * u * size.max(1.0), 5.0 * u),
        };
        let e1 = (e0 + quotient * less_one) / z.norm();
        let e2 = (e1 + (u + quotient) * (phi1 - 1.0).norm()) / z.norm();
        [e1, e2, (e2 + (u + quotient) * (phi2 - 0.5).norm()) / z.norm()]
    }
}
