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
use serde::{Deserialize, Serialize};

use crate::nullable;
use crate::problem::{CoefficientProblem, Weights};
use crate::truth::{Form, TruthError, coefficient};

/// Everything that was measured. Forms are named as in spec.md §2.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MethodAnalysis {
    /// Why there is nothing; empty otherwise.
    pub reason: String,
    /// The methods, then the textbook forms.
    pub forms: Vec<FormProperties>,
    pub convergence: Vec<Convergence>,
    pub consistency: Vec<ConsistencyCurve>,
    pub stability: Vec<StabilityRegion>,
    pub frequency: Vec<FrequencyResponse>,
    pub step: Vec<StepResponse>,
}

/// One form in one line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FormProperties {
    pub form: String,
    /// The order of the error of the state for u = 1, and for u = t²: log₂ of the ratio of the errors at the two
    /// smallest steps. None where the form is exact.
    pub order_constant: Option<f64>,
    pub order_smooth: Option<f64>,
    /// B̄/(ΔB) at the smallest step.
    #[serde(default, deserialize_with = "nullable::one")]
    pub b_bar_over_delta: f64,
    /// The order in which |B̄/(ΔB) − 1| vanishes; none where it is zero.
    pub consistency_order: Option<f64>,
    /// The largest relative change of Ā or B̄ when time is counted in another unit; 0 where no bit changes.
    #[serde(default, deserialize_with = "nullable::one")]
    pub time_scale_change: f64,
}

/// Errors of one form against Δ: |x(T) − x_N| / |x(T)| at T = NΔ = 1, for B = 1 and x(0) = 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Convergence {
    pub form: String,
    pub system: String,
    /// `constant` (u = 1) or `smooth` (u = t²).
    pub input: String,
    /// Descending, each half of the one before.
    pub delta: Vec<f64>,
    pub error: Vec<f64>,
}

/// B̄/(ΔB) of one form against Δ, for A = −1.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConsistencyCurve {
    pub form: String,
    /// Descending, each half of the one before.
    pub delta: Vec<f64>,
    pub b_bar_over_delta: Vec<f64>,
}

/// Where |Ā(z)| ≤ `bound`, row by row of the complex plane.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StabilityRegion {
    /// The forms that share this Ā.
    pub forms: Vec<String>,
    /// The part of the plane that was looked at.
    pub re: [f64; 2],
    pub im: [f64; 2],
    pub bound: f64,
    pub rows: Vec<StabilityRow>,
}

/// The intervals of Re z, from and to, on one line of constant Im z.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StabilityRow {
    pub im: f64,
    pub intervals: Vec<[f64; 2]>,
}

/// The response of the output to u = e^{iωt}: of a method, or of the `continuous` system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FrequencyResponse {
    pub form: String,
    pub system: String,
    pub delta: f64,
    /// Angular frequencies, up to Nyquist's π/Δ.
    pub omega: Vec<f64>,
    pub magnitude: Vec<f64>,
    /// In degrees, −180 to 180.
    pub phase: Vec<f64>,
}

/// The output for u = 1 from t = 0 on: of a method at its steps, or of the `continuous` system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepResponse {
    pub form: String,
    pub system: String,
    pub delta: f64,
    pub time: Vec<f64>,
    pub output: Vec<f64>,
}

/// The name under which the continuous system stands beside the methods.
pub const CONTINUOUS: &str = "continuous";

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
    fn steps(&self, form: Form, delta: &[f32]) -> Result<Vec<Step>, TruthError> {
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

/// One certified step: x_l = a x_{l−1} + prev u_{l−1} + now u_l + next u_{l+1}, each rounded to f64.
#[derive(Clone, Copy, Debug)]
struct Step {
    a: Complex64,
    prev: Complex64,
    now: Complex64,
    next: Complex64,
}

impl Step {
    /// What a constant input adds in a step.
    fn input(&self) -> Complex64 {
        self.prev + self.now + self.next
    }
}

fn solved(form: Form, problem: &CoefficientProblem) -> Result<Vec<Step>, TruthError> {
    let truth = coefficient::solve(form, problem)?;
    let width = problem.weights.width();
    let at = |values: &[f64], i: usize| {
        Complex64::new(values[i * width], if width == 2 { values[i * width + 1] } else { 0.0 })
    };
    let step = |i| Step {
        a: at(&truth.a_bar, i),
        prev: at(&truth.b_bar_prev, i),
        now: at(&truth.b_bar, i),
        next: at(&truth.b_bar_next, i),
    };
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
///
/// # Errors
/// A value that the truth cannot certify.
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
            order_constant: order::of(&convergence, form, order::CONSTANT),
            order_smooth: order::of(&convergence, form, order::SMOOTH),
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
