//! Where the sums of φ-functions that B̄ is made of vanish: there their terms cancel, and a kernel loses most.

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
    let mut z = Complex64::new(2.0, 2.0 * std::f64::consts::PI * turns + 1.0);
    for _ in 0..60 {
        let step = 1e-6;
        let slope = (sum.at(delta, z + step) - sum.at(delta, z - step)) / (2.0 * step);
        z -= sum.at(delta, z) / slope;
    }
    (sum.at(delta, z).norm() < 1e-9 && (1.0..60.0).contains(&z.norm())).then_some(z)
}
