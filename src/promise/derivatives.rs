//! What the backward kernels promise of the derivatives of coefficients (`kernels/derivatives.cuh`).

use crate::method::Method;
use crate::problem::Weights;

/// How far the kernels' values may be from those of spec.md §6 for exactly given Δ and A with Δ ≥ 0: relative, normwise for
/// complex weights, in units of u = 2⁻²⁴, where they are normal numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    pub a_bar: f64,
    /// f′ of Ā = f(ΔA).
    pub slope: f64,
    /// h = B̄/B
    pub h: f64,
    /// ∂h/∂Δ
    pub h_by_delta: f64,
    /// ∂h/∂A
    pub h_by_a: f64,
}

/// Where Ā is its own slope, as eᶻ is.
const fn units([slope, h, h_by_delta, h_by_a]: [f64; 4]) -> Units {
    Units { a_bar: slope, slope, h, h_by_delta, h_by_a }
}

/// First-order counts of the roundings in `derivatives.cuh`, each of at most u, with an eighth of u on top where they are
/// several, or a quarter.
///
/// - eᶻ as in [`super::Contract::PRODUCTION`]: 1.65u real, 3u complex.
/// - bilinear, real: 1 − z/2 rounded once and a quotient, 2u for r = (1 − z/2)⁻¹ and for h; r² twice that and a product; ∂h/∂A
///   two products more. Complex: the parts of 1 − z/2 rounded once, 2u for |d|², 1u for the division, 4u for r and one product for
///   h; r² twice that and 2u; ∂h/∂A two products more.
/// - rk4, real: h as B̄ in the forward scan, without the product with B. The cubic: z − r two roundings, the quadratic three and
///   ½u of its constants, their product. The quadratic by A: two roundings of z + 4/3, which its square doubles and of which 9/10
///   of the sum can be, with two more; Δ² and a product.
/// - φ-functions, real, for −2 ≤ z ≤ 1. The polynomials with their roundings are good to 1.5u (φ₂), 2.7u (ψ₂), 1.6u (φ₃) and 2u
///   (ψ₃), as measured over a million z each. At z = −2, where the sums that follow cancel most, φ₁ = 1 + zφ₂ takes 1.31 of φ₂'s
///   error, ψ₁ = φ₂ + zψ₂ takes 1.91 of φ₂'s and 0.91 of ψ₂'s, and φ₂ = ½ + zφ₃ and ψ₂ = φ₃ + zψ₃ take 0.76, 1.6 and 0.6; the
///   polynomials see z rounded once, at most 0.9u of any of them. With a rounding for each sum and each product by Δ that is what
///   stands below: for highorder φ₁ 4.6u, ψ₁ 10.4u. Left of −2 the closed forms are good to less: z³ψ₂ = (z − 2)eᶻ + (z + 2) to
///   3.65u, z²ψ₁ to 2.8u, eᶻ − 1 − z to 2.2u, and each has a power of 1/A, rounded once, and a product besides.
/// - φ-functions, complex, and complex rk4's polynomials: double, rounded once. Closed forms and the series of φ₄ lose at most 2⁻²⁸, where
///   monitors let them.
///
/// Where Δ < 0 or weights are complex sums of φ's have zeros that inputs come near, and rk4's polynomials have some whatever Δ; there
/// double leaves [`CANCELLATION`] of their terms besides. `bilinear`'s Ā is the forward scan's.
pub const fn production(method: Method, weights: Weights) -> Units {
    const ROUNDED: f64 = 1.125;
    match (weights, method) {
        (Weights::Real, Method::Zoh) => units([1.75, 0.0, 0.0, 0.0]),
        (Weights::Real, Method::Foh) => units([1.75, 4.25, 4.75, 6.75]),
        (Weights::Real, Method::Bilinear) => Units { a_bar: 3.125, ..units([5.125, 2.125, 5.125, 7.125]) },
        (Weights::Real, Method::Poly) => units([1.75, 5.75, 4.75, 10.25]),
        (Weights::Real, Method::HighOrder) => units([1.75, 6.75, 6.75, 14.5]),
        (Weights::Real, Method::Rk4) => units([1.75, 7.625, 6.625, 7.5]),
        (Weights::Complex, Method::Zoh) => units([3.0, 0.0, 0.0, 0.0]),
        (Weights::Complex, Method::Bilinear) => {
            Units { a_bar: 7.125, ..units([10.125, 5.125, 10.125, 12.125]) }
        }
        (Weights::Complex, Method::Rk4) => units([3.0, ROUNDED, ROUNDED, ROUNDED]),
        (Weights::Complex, Method::Foh | Method::Poly | Method::HighOrder) => units([ROUNDED; 4]),
    }
}

/// What double leaves of the terms of a sum of φ-functions or of powers of z, where those cancel: 2⁻⁴⁴. That is 512 roundings, far more
/// than there are, and a twentieth of a millionth of one in f32: it decides nothing but beside a root.
pub const CANCELLATION: f64 = 1.0 / (1u64 << 44) as f64;
