//! Elements on which two revisions of a kernel header are compared: (Δ, A, B, u), without a scan around them.

use std::f64::consts::PI;

use num_complex::Complex64;

use super::inputs::Draw;
use super::{CoefficientProblem, Weights, sweep};

/// Elements to discretize: (Δ, A, B) and the input u that B̄ multiplies.
#[derive(Clone, Debug)]
pub struct Elements {
    pub coefficients: CoefficientProblem,
    /// (n)
    pub u: Vec<f32>,
}

/// Elements such as models have them, beside those of the sweeps: with them the methods, both weight types and
/// both layouts of B come to some 10⁵ values.
const TRAINED: usize = 480;

/// States of the models that these elements are of.
const STATES: u32 = 16;

/// Steps of trained models.
const TRAINED_DELTA: std::ops::RangeInclusive<f32> = 1e-3..=0.1;

impl Elements {
    /// Whether an element is such as trained models have: a step of ordinary length of one of their A. The rest are there
    /// because they are hard.
    pub fn is_trained(&self, i: usize) -> bool {
        let CoefficientProblem { weights, delta, a, .. } = &self.coefficients;
        let at = i * weights.width();
        let is = |want: Complex64| match weights {
            Weights::Real => a[at] == want.re as f32,
            Weights::Complex => (a[at], a[at + 1]) == (want.re as f32, want.im as f32),
        };
        TRAINED_DELTA.contains(&delta[i]) && (0..STATES).any(|n| is(trained_a(*weights, n)))
    }
}

/// S4D-Real and S4D-Lin.
fn trained_a(weights: Weights, n: u32) -> Complex64 {
    match weights {
        Weights::Real => Complex64::new(-(f64::from(n) + 1.0), 0.0),
        Weights::Complex => Complex64::new(-0.5, PI * f64::from(n)),
    }
}

/// The sweeps on which a header's coefficients are judged, and the steps of trained models (spec.md §4): the same for the same seed.
pub fn draw(weights: Weights, seed: u64) -> Elements {
    let mut all = CoefficientProblem::new(weights);
    for sweep in sweep::all().into_iter().filter(|sweep| sweep.weights == weights && !sweep.whole_range) {
        let part = sweep.draw(seed);
        all.delta.extend(part.delta);
        all.a.extend(part.a);
        all.b.extend(part.b);
    }
    let mut draw = Draw::new(seed, &format!("elements/{weights}"));
    for i in 0..TRAINED {
        let delta = draw.log_uniform(2e-9, 8.0) as f32;
        all.push(delta, trained_a(weights, i as u32 % STATES), draw.weight(weights));
    }
    let u = all.delta.iter().map(|_| draw.normal() as f32).collect();
    Elements { coefficients: all, u }
}
