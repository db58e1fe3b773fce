//! Sweeps of (Δ, A, B) on which Ā and B̄ themselves are judged, without a scan around them.

use std::f64::consts::PI;

use num_complex::Complex64;

use super::inputs::{Draw, draw_coefficients};
use super::{CoefficientProblem, Weights};

/// A named set of (Δ, A, B) triples.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    pub name: &'static str,
    /// Why it is hard, in one sentence.
    pub why: &'static str,
    pub weights: Weights,
    draw: fn(Weights, &mut Draw) -> CoefficientProblem,
}

/// |z| over which the kernels' accuracy contract holds.
pub const CONTRACT_RANGE: (f64, f64) = (1e-9, 80.0);

/// Triples of a random sweep: enough that a fault in any binade of z is hit.
const RANDOM_POINTS: usize = 512;

impl Sweep {
    /// The triples: the same for the same seed, whatever else a run holds.
    pub fn draw(&self, seed: u64) -> CoefficientProblem {
        (self.draw)(self.weights, &mut Draw::new(seed, &format!("sweep/{}/{}", self.name, self.weights)))
    }
}

/// Every sweep.
pub fn all() -> Vec<Sweep> {
    let sweep = |name, why, weights, draw| Sweep { name, why, weights, draw };
    vec![
        sweep(
            "real axis",
            "z of either sign, |z| log-uniform from 1e-9 to 80: every branch of every φ-function",
            Weights::Real,
            |weights, draw| draw_coefficients(weights, RANDOM_POINTS, CONTRACT_RANGE, draw),
        ),
        sweep(
            "complex plane",
            "z at any angle, |z| log-uniform from 1e-9 to 80",
            Weights::Complex,
            |weights, draw| draw_coefficients(weights, RANDOM_POINTS, CONTRACT_RANGE, draw),
        ),
        sweep(
            "hard real places",
            "z = 0, Δ = 0, beside the pole at 2, the zeros at −2 and −2.785 (rk4), where exp underflows",
            Weights::Real,
            hard_places,
        ),
        sweep(
            "hard complex places",
            "the same, the imaginary axis, multiples of 2πi and the zeros of φ₂",
            Weights::Complex,
            hard_places,
        ),
    ]
}

/// The real zero of 1 + z/2 + z²/6 + z³/24, the factor of Δ B in rk4.
const RK4_ZERO: f64 = -2.785_293_563_405_282;

/// The zero of φ₂ nearest to the origin (its conjugate is one too).
const PHI2_ZERO: Complex64 = Complex64::new(2.088_843_015_613_044, 7.461_489_285_654_255);

fn hard_places(weights: Weights, draw: &mut Draw) -> CoefficientProblem {
    let real = |re: f64| Complex64::new(re, 0.0);
    let mut targets = vec![Complex64::ZERO];
    targets.extend([1e-30, -1e-30, 40.0, 79.0].map(real));
    targets.extend([-87.0, -88.5, -95.0, -103.0, -104.5, -150.0, -1e3, -3e4].map(real));
    let mut around = [2.0, -2.0, 1.0, -1.0, 0.5, -0.5, RK4_ZERO].map(real).to_vec();
    if weights == Weights::Complex {
        targets.extend([0.1, 1.0, 3.0, 30.0, 79.0].map(|im| Complex64::new(0.0, im)));
        targets.extend([-100.0, -200.0].map(|re| Complex64::new(re, 60.0)));
        around.extend([1.0, 2.0, 5.0, 12.0].map(|k| Complex64::new(0.0, 2.0 * PI * k)));
        around.extend([PHI2_ZERO, PHI2_ZERO.conj()]);
    }
    for center in around {
        for k in 0..18 {
            let away = 2f64.powi(-k - 3) * if draw.unit() < 0.5 { -1.0 } else { 1.0 };
            let turned = match weights {
                Weights::Real => real(away),
                Weights::Complex => {
                    let angle = 2.0 * PI * draw.unit();
                    Complex64::new(away * libm::cos(angle), away * libm::sin(angle))
                }
            };
            targets.push(center * (1.0 + turned));
        }
    }
    let mut problem = CoefficientProblem::new(weights);
    for z in targets {
        for delta in [1e-3f32, 0.7, 5.0] {
            problem.push(delta, z / f64::from(delta), Complex64::new(draw.normal(), draw.normal()));
        }
    }
    problem.push(0.0, Complex64::new(-3.0, 1.0), Complex64::ONE);
    problem.push(0.5, Complex64::new(-3.0, 1.0), Complex64::ZERO);
    problem
}

/// The Δ sweep behind a plot of |Ā| and |B̄/Δ| against |z|.
#[derive(Clone, Debug)]
pub struct Curve {
    /// A in words.
    pub a: &'static str,
    /// |A|
    pub a_abs: f64,
    /// One A, B = 1, Δ ascending.
    pub problem: CoefficientProblem,
}

/// One curve for each weight type: on the negative real axis, and at 45° in the left half-plane.
pub fn curves() -> Vec<Curve> {
    const POINTS: u32 = 160;
    let deltas = || (0..POINTS).map(|i| (1e-3 * libm::pow(8e4, f64::from(i) / f64::from(POINTS - 1))) as f32);
    let curve = |a: &'static str, weights, value: &[f32], one: &[f32]| Curve {
        a,
        a_abs: value.iter().fold(0.0, |norm: f64, &x| norm.hypot(f64::from(x))),
        problem: CoefficientProblem {
            weights,
            delta: deltas().collect(),
            a: value.repeat(POINTS as usize),
            b: one.repeat(POINTS as usize),
        },
    };
    vec![
        curve("-1", Weights::Real, &[-1.0], &[1.0]),
        curve("-1+1i", Weights::Complex, &[-1.0, 1.0], &[1.0, 0.0]),
    ]
}
