//! What was found besides the bounds: lifted runs, the error of the reference path, measured sensitivity.

use serde::{Deserialize, Serialize};

use super::nullable;
use super::verdict::Verdict;
use crate::method::Method;
use crate::problem::Weights;
use crate::tensor::ComputedName;

/// What a lifted run says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lifting {
    pub verdict: Verdict,
    pub reason: String,
    /// log₂(‖error in f32‖ / ‖error in double‖), about 29 for a right formula and 0 for a wrong one; none where either
    /// error is zero.
    pub shrink: Option<f64>,
    pub conclusion: Option<Conclusion>,
    /// got − lifted, against the bound on got.
    pub rounding: ErrorPart,
    /// lifted − want, against the bound on lifted.
    pub truncation: ErrorPart,
}

named! {
    /// Why a case fails.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Conclusion {
        /// It fails in f32 and passes in double.
        Rounding => "rounding (it passes in double)",
        /// It fails in both.
        WrongFormula => "wrong formula (it fails in double too)",
    }
}

/// One part of the error.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ErrorPart {
    /// Largest share of the allowance, the rounding on store taken out of both.
    #[serde(default, with = "nullable::short")]
    pub share: f64,
    /// Largest modulus.
    #[serde(default, with = "nullable::short")]
    pub max: f64,
    /// ‖part‖₂ / ‖want‖₂; 0 where the part is zero.
    #[serde(default, with = "nullable::short")]
    pub rel_l2: f64,
}

/// Both errors, and whether the gate lets the kernel pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    /// Root mean square of the kernel's errors in units of one rounding.
    #[serde(default, with = "nullable::short")]
    pub kernel: f64,
    /// The same of the reference path.
    #[serde(default, with = "nullable::short")]
    pub reference: f64,
    /// What `ratio` may be.
    #[serde(default, with = "nullable::short")]
    pub multiple: f64,
    /// kernel / max(1, reference); above `multiple` the case fails.
    #[serde(default, with = "nullable::short")]
    pub ratio: f64,
    /// The gradient that these are of; none where they are of all outputs together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<ComputedName>,
}

impl Relative {
    pub fn passes(&self) -> bool {
        self.ratio <= self.multiple
    }

    /// Why a case fails that the derived bound lets pass.
    pub fn reason(&self) -> String {
        let of = self.tensor.map_or(String::new(), |name| format!("{name}: "));
        format!(
            "{of}{:.3} times the error of the f32 reference path ({:.3} against {:.3} roundings, root mean square); at most \
             {} times is sound, though each element is within its derived bound",
            self.ratio, self.kernel, self.reference, self.multiple
        )
    }
}

/// The smallest perturbations caught for one method, weight type and regime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    pub method: Method,
    pub weights: Weights,
    pub regime: String,
    pub problem: String,
    pub a_bar: Option<i32>,
    pub b_bar: Option<i32>,
}

/// The derivatives that gradients are made of, with h = B̄/B.
pub const DERIVATIVES: [&str; 4] = ["∂Ā/∂Δ", "∂h/∂Δ", "∂Ā/∂A", "∂h/∂A"];

/// The smallest errors of derivatives caught in the gradients of one method, weight type and regime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradientSensitivity {
    pub method: Method,
    pub weights: Weights,
    pub regime: String,
    pub problem: String,
    pub a_bar_by_delta: Option<i32>,
    pub h_by_delta: Option<i32>,
    pub a_bar_by_a: Option<i32>,
    pub h_by_a: Option<i32>,
}

impl GradientSensitivity {
    /// In the order of [`DERIVATIVES`].
    pub fn derivatives(&self) -> [Option<i32>; 4] {
        [self.a_bar_by_delta, self.h_by_delta, self.a_bar_by_a, self.h_by_a]
    }
}
