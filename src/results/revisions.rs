//! Two revisions of a kernel header, compared: what a `diff` found, as plain values.

use serde::{Deserialize, Serialize};

use super::schema::{Diagnosis, Search};
use crate::method::Method;
use crate::problem::{Operand, Weights};

/// One revision.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Revision {
    /// As it was named.
    pub path: String,
    /// SHA-256, in hex, of the header, of what it includes from its own folder, and of what the harness compiles with it.
    pub sha256: String,
    /// The compiler's own lines for each weight type that it does not take.
    pub rejected: Vec<(Weights, Vec<String>)>,
}

/// Two revisions, compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diff {
    pub schema: u32,
    /// The harness's own version.
    pub version: String,
    pub seed: u64,
    pub backend: String,
    /// What the new one ran on, in words.
    pub device: String,
    pub old: Revision,
    pub new: Revision,
    pub comparisons: Vec<MethodDiff>,
    pub recommendation: String,
    /// Whether anything got worse, or could not be told.
    pub worse: bool,
}

named! {
    /// How the new revision compares with the old one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Change {
        Equal => "bitwise equal",
        Rounding => "equal within rounding",
        Closer => "closer",
        Farther => "FARTHER",
        /// Closer at some inputs, farther at others.
        Mixed => "closer and FARTHER",
        /// Both are far off at values as trained models have them: which is closer does not matter.
        BothWrong => "both wrong",
        /// The old one did not compile or run, the new one does.
        Mended => "mended",
        /// The new one does not compile or run, the old one did.
        Broken => "BROKEN",
        /// Neither compiles and runs.
        BothBroken => "both broken",
        /// There is no truth to compare with.
        Unmeasured => "unmeasured",
    }
}

impl MethodDiff {
    /// Whether something got worse somewhere: also of two that are wrong.
    pub fn is_worse(&self) -> bool {
        self.change.is_worse() || self.change == Change::BothWrong && self.farther > 0
    }
}

impl Change {
    /// Whether something got worse somewhere.
    pub fn is_worse(self) -> bool {
        matches!(self, Change::Farther | Change::Mixed | Change::Broken)
    }

    /// Whether something got better, and nothing worse.
    pub fn is_better(self) -> bool {
        matches!(self, Change::Closer | Change::Mended)
    }
}

/// One element at which the revisions differ. Texts of complex values have both parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Difference {
    /// `rounding`, `closer` or `farther`, of this element alone.
    pub change: Change,
    /// `a_bar` or `b_bar_u`
    pub value: String,
    pub index: usize,
    /// Δ, A, B and u, as `name = value` texts.
    pub inputs: Vec<String>,
    pub old: String,
    pub new: String,
    pub truth: String,
    /// |old − truth| in units of the element's bound; infinite where no number tells.
    pub old_error: f64,
    pub new_error: f64,
    /// Whether Δ and A are such as trained models have them, and not there because they are hard.
    #[serde(default)]
    pub trained: bool,
}

/// One method with one weight type and one layout of B.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MethodDiff {
    pub method: Method,
    pub weights: Weights,
    pub b: Operand,
    pub change: Change,
    /// Values compared: Ā and B̄u of every element.
    pub compared: usize,
    /// How many of them have the same bits, differ by rounding, are closer, are farther.
    pub equal: usize,
    pub rounding: usize,
    pub closer: usize,
    pub farther: usize,
    /// Values whose bits differ and whose bound is infinite: nothing can be said of them.
    #[serde(default)]
    pub unbounded: usize,
    /// The largest error of each revision, in units of the bounds: above 1 it is not what is specified. None where it
    /// did not run. JSON has no infinity: there an infinite one is `null` as well, and the next two tell them apart.
    pub old_worst: Option<f64>,
    pub new_worst: Option<f64>,
    /// The same at values as trained models have them alone: S4D's A, and Δ from 0.001 to 0.1.
    #[serde(default)]
    pub old_trained: Option<f64>,
    #[serde(default)]
    pub new_trained: Option<f64>,
    /// What each revision computes instead, as far as it was found.
    #[serde(default)]
    pub old_cause: Option<Diagnosis>,
    #[serde(default)]
    pub new_cause: Option<Diagnosis>,
    /// Why a cause was not looked for to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// Values of each revision that are infinitely far off: a NaN, an infinity where the truth has none, or anything but
    /// the truth where the bound is 0. None where it did not run.
    #[serde(default)]
    pub old_infinite: Option<usize>,
    #[serde(default)]
    pub new_infinite: Option<usize>,
    /// Why a revision did not compile or run, or why there is no truth.
    pub old_reason: String,
    pub new_reason: String,
    /// The worst element of each kind of difference that there is.
    pub differences: Vec<Difference>,
}

impl MethodDiff {
    /// A comparison of which nothing is known yet.
    pub fn blank(method: Method, weights: Weights, b: Operand) -> Self {
        MethodDiff {
            method,
            weights,
            b,
            change: Change::Unmeasured,
            compared: 0,
            equal: 0,
            rounding: 0,
            closer: 0,
            farther: 0,
            unbounded: 0,
            old_worst: None,
            new_worst: None,
            old_trained: None,
            new_trained: None,
            old_cause: None,
            new_cause: None,
            search: None,
            old_infinite: None,
            new_infinite: None,
            old_reason: String::new(),
            new_reason: String::new(),
            differences: Vec::new(),
        }
    }
}
