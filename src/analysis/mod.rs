//! What the methods are as approximations of x' = Ax + Bu, whoever computes them: measured with the certified
//! truth, beside the textbook forms (spec.md §2). No kernel is involved, nothing is judged and nothing depends on a
//! seed: reports draw what stands here, and a test compares it with what the specification claims.
//!
//! - [`order`]: how fast the error of the state vanishes with Δ
//! - [`consistency`]: where B̄/Δ goes as Δ → 0, and whether the unit of time matters
//! - [`stability`]: where |Ā(z)| ≤ 1
//! - [`response`]: to a step, and to every frequency up to Nyquist's
//!
//! ```
//! let analysis = holdfast::analysis::methods();
//! let rk4 = analysis.forms.iter().find(|form| form.form == "rk4").unwrap();
//! assert_eq!(rk4.order_constant.unwrap().round(), 4.0);
//! ```

pub mod consistency;
pub mod order;
pub mod response;
pub mod stability;

use std::sync::OnceLock;

use num_complex::Complex64;

use crate::problem::{CoefficientProblem, Weights};
use crate::results::analysis::{
    CONTINUOUS, ConsistencyCurve, Convergence, FormProperties, FrequencyResponse, MethodAnalysis,
    StabilityRegion, StabilityRow, StepResponse,
};
use crate::truth::{Form, TruthError, coefficient};

/// A test system of one state with B = C = 1; y = x for real A, y = 2 Re x for complex A (spec.md §3).
#[derive(Clone, Copy, Debug)]
pub struct System {
    /// A in words.
    pub name: &'static str,
    pub weights: Weights,
    /// Re A, Im A
    pub a: [f32; 2],
}

/// A decay, and a lightly damped oscillation.
pub const SYSTEMS: [System; 2] = [
    System { name: "A = -1", weights: Weights::Real, a: [-1.0, 0.0] },
    System { name: "A = -0.5+4i", weights: Weights::Complex, a: [-0.5, 4.0] },
];

impl System {
    fn a(&self) -> Complex64 {
        Complex64::new(f64::from(self.a[0]), f64::from(self.a[1]))
    }

    /// A number as this system's weights are laid out.
    fn laid_out<'v>(&self, value: &'v [f32; 2]) -> &'v [f32] {
        &value[..self.weights.width()]
    }

    /// The certified step of `form` for each Δ, with B = 1.
    fn steps(&self, form: Form, delta: &[f32]) -> Result<Vec<FormStep>, TruthError> {
        let n = delta.len();
        let problem = CoefficientProblem {
            weights: self.weights,
            delta: delta.to_vec(),
            a: self.laid_out(&self.a).repeat(n),
            b: self.laid_out(&[1.0, 0.0]).repeat(n),
        };
        solved(form, &problem)
    }
}

/// One certified step: x_l = a x_{l−1} + b[0] u_l + b[1] u_{l−1} + b[2] u_{l+1}, each rounded to f64.
#[derive(Clone, Copy, Debug)]
struct FormStep {
    a: Complex64,
    b: [Complex64; 3],
}

fn solved(form: Form, problem: &CoefficientProblem) -> Result<Vec<FormStep>, TruthError> {
    let truth = coefficient::solve(form, problem)?;
    let width = problem.weights.width();
    let at = |values: &[f64], i: usize| {
        Complex64::new(values[i * width], if width == 2 { values[i * width + 1] } else { 0.0 })
    };
    let b = [&truth.b_bar, &truth.b_bar_prev, &truth.b_bar_next];
    let step = |i| FormStep { a: at(&truth.a_bar, i), b: b.map(|values| at(values, i)) };
    Ok((0..problem.delta.len()).map(step).collect())
}

/// The analysis, measured once in a process.
pub fn methods() -> &'static MethodAnalysis {
    static ANALYSIS: OnceLock<MethodAnalysis> = OnceLock::new();
    ANALYSIS.get_or_init(|| {
        measure().unwrap_or_else(|e| MethodAnalysis { reason: e.to_string(), ..MethodAnalysis::default() })
    })
}

/// Measures everything.
pub fn measure() -> Result<MethodAnalysis, TruthError> {
    let (convergence, stability) = rayon::join(order::measure, stability::measure);
    let convergence = convergence?;
    let consistency = consistency::measure()?;
    let mut forms = Vec::new();
    for form in Form::all() {
        let curve = consistency.iter().find(|c| c.form == form.name());
        let b_bar_over_delta: &[f64] = curve.map_or(&[], |c| &c.b_bar_over_delta);
        let away: Vec<f64> = b_bar_over_delta.iter().map(|ratio| (ratio - 1.0).abs()).collect();
        forms.push(FormProperties {
            form: form.name().to_owned(),
            order_constant: order::find(&convergence, form, order::CONSTANT),
            order_smooth: order::find(&convergence, form, order::SMOOTH),
            b_bar_over_delta: b_bar_over_delta.last().copied().unwrap_or(f64::NAN),
            consistency_order: order::observed(&away),
            time_scale_change: consistency::time_scale_change(form)?,
        });
    }
    Ok(MethodAnalysis {
        reason: String::new(),
        forms,
        convergence,
        consistency,
        stability: stability?,
        frequency: response::frequency()?,
        step: response::step()?,
    })
}
