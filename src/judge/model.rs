//! The methods in f64, with their sensitivities: what error budgets are made of. Not a truth: relative
//! errors of 1e-13 are nothing to a bound.

use num_complex::Complex64;

use crate::formula::{Function, Term, Transition};
use crate::judge::sums;
use crate::method::Method;
use crate::problem::Weights;
use crate::promise::Contract;

/// One step's coefficients and how far a correct kernel's may be from them.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub a_bar: Complex64,
    /// Bound on |computed Ā − Ā|.
    pub a_bar_error: f64,
    pub b_bar: Complex64,
    /// Bound on |computed B̄ − B̄|.
    pub b_bar_error: f64,
    /// The same of what multiplies u_{l−1} and u_{l+1}, where they are read.
    pub neighbours: [Option<(Complex64, f64)>; 2],
}

/// φ₀(z)…φ₃(z) (spec.md §1).
pub fn phi(z: Complex64) -> [Complex64; 4] {
    if z.norm() < 1.0 {
        // Taylor for φ₃: |z|ᵏ·3!/(k+3)! is below 2⁻⁵³ from k = 16 on. Then φₖ = 1/k! + z·φₖ₊₁.
        let mut phi3 = Complex64::ZERO;
        for k in (0..18).rev() {
            phi3 = phi3 * z + INVERSE_FACTORIALS[k + 3];
        }
        let phi2 = z * phi3 + 0.5;
        let phi1 = z * phi2 + 1.0;
        [z * phi1 + 1.0, phi1, phi2, phi3]
    } else {
        let phi0 = z.exp();
        let phi1 = (phi0 - 1.0) / z;
        let phi2 = (phi1 - 1.0) / z;
        [phi0, phi1, phi2, (phi2 - 0.5) / z]
    }
}

/// A function f at z, and z f′, of φ₀…φ₃ there: zφₖ′ = (z − k)φₖ + 1/(k−1)!.
pub fn function(of: Function, z: Complex64, phis: &[Complex64; 4]) -> (Complex64, Complex64) {
    match of {
        Function::Phi(0) => (phis[0], z * phis[0]),
        Function::Phi(k) => (phis[k], (z - k as f64) * phis[k] + INVERSE_FACTORIALS[k - 1]),
        Function::Power(k) => {
            let power = z.powu(k as u32);
            (power, power * k as f64)
        }
        Function::Resolvent => {
            let value = 1.0 / (1.0 - z * 0.5);
            (value, value * value * z * 0.5)
        }
    }
}

/// 1/k!
static INVERSE_FACTORIALS: [f64; 21] = {
    let (mut inverses, mut factorial, mut k) = ([1.0; 21], 1.0, 1);
    while k < inverses.len() {
        factorial *= k as f64;
        inverses[k] = 1.0 / factorial;
        k += 1;
    }
    inverses
};

/// The step for Δ = `delta`, known to a relative error of `delta_error`, and one state's A and B.
///
/// Ā and B̄ may be off by the `contract` for the Δ and z that the kernel works with. Its Δ has the relative error
/// `delta_error`, which moves Δ and z together; its own roundings of z are ζ ([`Contract::z_error`]). With
/// θ = ζ + `delta_error` and h = B̄/B as a function of Δ and z, that moves
///
/// - exp by |e^{z(1+θ)} − eᶻ| ≤ |eᶻ|(e^{|z|θ} − 1), the conditioning of the exponential; a polynomial by its own terms;
/// - h by |z ∂h/∂z|·ζ + |z ∂h/∂z + Δ ∂h/∂Δ|·`delta_error`; times e^{|z|θ} for the higher orders;
/// - bilinear Ā by exactly |z|θ/(|1 − z/2|²(1 − η)): its denominator moves by η = θ|z/2|/|1 − z/2| of itself,
///   and the higher orders of its h are 1/(1 − η). At η ≥ 1 nothing is bounded;
/// - h by what the kernel loses where it sums h term by term ([`super::sums`]).
pub fn step(
    method: Method,
    weights: Weights,
    (delta, delta_error): (f64, f64),
    a: Complex64,
    b: Complex64,
    contract: &Contract,
) -> Step {
    let z = a * delta;
    let underflow = contract.arithmetic.underflow;
    let zeta = contract.z_error();
    let theta = zeta + delta_error;
    let a_units = contract.a_bar_error(method, weights);
    let phis = phi(z);
    let formula = method.formula();
    let denominator = 1.0 - z * 0.5;
    let higher_orders = if formula.has_pole() {
        let eta = theta * 0.5 * z.norm() / denominator.norm();
        if eta < 1.0 { 1.0 / (1.0 - eta) } else { f64::INFINITY }
    } else {
        (z.norm() * theta).exp()
    };
    let (a_bar, a_bar_error) = match formula.a_bar {
        Transition::Quotient => {
            let a_bar = (1.0 + z * 0.5) / denominator;
            let moved = z.norm() * theta / denominator.norm_sqr() * higher_orders;
            (a_bar, a_bar.norm() * a_units + moved)
        }
        Transition::Exponential => {
            // Where eᶻ underflows to 0 the other factor may be infinite.
            let error = match phis[0].norm() {
                0.0 => (z.re + z.norm() * theta).exp(),
                size => size * a_units * higher_orders + size * (z.norm() * theta).exp_m1(),
            };
            (phis[0], error)
        }
        Transition::Polynomial(factors) => {
            (0..).zip(factors).fold((Complex64::ZERO, 0.0), |(sum, error), (k, c)| {
                let value = z.powu(k) * c.value();
                (sum + value, error + value.norm() * (a_units + f64::from(k) * theta * higher_orders))
            })
        }
    };
    // At z = 0 every method's Ā is 1, and any kernel's exponential or quotient gives exactly that.
    let a_bar_error = if z == Complex64::ZERO { 0.0 } else { a_bar_error + 2.0 * underflow };
    let input = |terms: &[Term]| {
        // h, z ∂h/∂z and Δ ∂h/∂Δ.
        let [mut h, mut by_z, mut by_delta] = [Complex64::ZERO; 3];
        for term in terms {
            let (value, changed) = function(term.of, z, &phis);
            let factor = term.factor.value() * delta.powi(term.delta);
            h += value * factor;
            by_z += changed * factor;
            by_delta += value * (f64::from(term.delta) * factor);
        }
        let moved = (by_z.norm() * zeta + (by_z + by_delta).norm() * delta_error) * higher_orders;
        let summed = sums::error((contract.sums, contract.arithmetic), weights, terms, delta, z, &phis);
        let error = summed + h.norm() * contract.b_bar_error(method, weights) + moved;
        let b_bar = h * b;
        (b_bar, if b_bar == Complex64::ZERO { 0.0 } else { error * b.norm() + 2.0 * underflow })
    };
    let [now, neighbours @ ..] = formula.b_bar;
    let (b_bar, b_bar_error) = input(now);
    let neighbours = neighbours.map(|terms| (!terms.is_empty()).then(|| input(terms)));
    Step { a_bar, a_bar_error, b_bar, b_bar_error, neighbours }
}
