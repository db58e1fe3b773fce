//! Where the sums of φ-functions that B̄ is made of vanish: there their terms cancel, and a kernel loses most.

use std::f64::consts::PI;

use num_complex::Complex64;

/// B̄/(ΔB) of a method that has φ-functions in it, as a function of z and Δ (spec.md §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    Foh,
    Poly,
    HighOrder,
}

impl Combination {
    pub const ALL: [Combination; 3] = [Combination::Foh, Combination::Poly, Combination::HighOrder];

    /// Its value at z ≠ 0, without regard to rounding.
    pub fn at(self, delta: f64, z: Complex64) -> Complex64 {
        // Elementary functions of `libm`: the same roots on every machine.
        let size = libm::exp(z.re);
        let exponential = Complex64::new(size * libm::cos(z.im), size * libm::sin(z.im));
        let phi1 = (exponential - 1.0) / z;
        let phi2 = (phi1 - 1.0) / z;
        let phi3 = (phi2 - 0.5) / z;
        match self {
            Combination::Foh => phi2,
            Combination::Poly => phi1 + phi2 * (0.5 * delta),
            Combination::HighOrder => phi1 + phi2 * delta + phi3 * (0.5 * delta * delta),
        }
    }
}

/// A root near 2πi·`turns`, where e^z = 1 and so φ₁ = 0; none where Newton's method finds none.
pub fn nearest(sum: Combination, delta: f64, turns: f64) -> Option<Complex64> {
    let z = from(sum, delta, Complex64::new(2.0, 2.0 * PI * turns + 1.0));
    (sum.at(delta, z).norm() < 1e-9 && (1.0..60.0).contains(&z.norm())).then_some(z)
}

/// Where Newton's method leads from `start`.
pub fn from(sum: Combination, delta: f64, start: Complex64) -> Complex64 {
    let mut z = start;
    for _ in 0..60 {
        let step = 1e-6;
        let slope = (sum.at(delta, z + step) - sum.at(delta, z - step)) / (2.0 * step);
        z -= sum.at(delta, z) / slope;
    }
    z
}

/// The step for which poly's sum has its root at a real z: for every one below −2 it has one.
pub fn step_of_poly(z: f64) -> f64 {
    let numerator = libm::expm1(z);
    -2.0 * z * numerator / (numerator - z)
}

/// highorder's root for a step a little below −2, where e^z is nothing: ((2 + Δ)A + 1)² = −1 to within e^z.
pub fn far_left(delta: f64) -> Complex64 {
    from(Combination::HighOrder, delta, Complex64::new(-1.0, 1.0) * (delta / (2.0 + delta)))
}
