//! What the methods are as approximations, as [`crate::analysis`] measures it.

use serde::{Deserialize, Serialize};

use super::nullable;

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
