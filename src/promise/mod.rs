//! What a source of outputs promises, and what can be done with it. A backend, somebody's header, a recording: each states
//! its own [`Promise`]; nothing is inferred from names or numbers. The judge derives its bounds from the
//! [`Contract`] in it.

pub mod allowance;
pub mod contract;
pub mod dense;
pub mod derivatives;
mod failure;
pub mod functions;

pub use contract::Contract;
pub use dense::DensePromise;
pub use failure::KernelError;

use serde::{Deserialize, Serialize};

use self::allowance::Arithmetic;
use self::contract::Sums;
use crate::problem::Stages;

named! {
    /// What the production kernels' forward pass is compiled for: the same source, with a promise each. Gradients have one tier.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Tier: "tier" {
        /// Coefficients to a few roundings, whatever they are made of.
        #[default]
        Accurate => "accurate": "coefficients to a few roundings, even where their terms cancel",
        /// A GPU's own approximations, and nothing that compensates for a rounding.
        Fast => "fast": "plain f32 and a GPU's own approximations of 2^x and 1/x",
    }
}

/// What is expected of an implementation, and what it can be used for. What faults can be planted in, and what runs on inputs
/// of the harness's choice, its type says: only [`CpuBackend`](crate::kernel::CpuBackend) takes faults, and a recording is no
/// [`Backend`](crate::kernel::Backend).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// How far its Ā and B̄ may be from those of the specification.
    pub contract: Contract,
    /// Whether its build in double keeps [`Contract::lifted`], so that lifted runs get a verdict. Where that is not known,
    /// a lifted run only helps to explain a failure.
    pub lifted_is_judged: bool,
    /// Whether its coefficients can be perturbed, and its gradients taken for the production kernels', to measure how small an error is
    /// caught.
    pub perturbable: bool,
    /// Whether Ā and B̄ keep the contract wherever they are in f32's range, whatever Δ, A and B: where what they are made
    /// of overflows or underflows on the way, where |Im z| is so large that z rounded to f32 is no angle any more, and so
    /// near to a root or a pole that z rounded to f32 leaves no digit.
    pub whole_range: bool,
    /// Whether the scan around its coefficients is its own. That of a header is the harness's, whose laws say nothing of it.
    pub scans: bool,
    /// How far Ā and B̄ of its backward pass may be from those of the specification, and their derivatives; none where it has no backward
    /// pass and cannot be asked for gradients.
    pub backward: Option<Contract>,
    /// Whether it has the backward of its coefficients alone, and can be asked for their gradients.
    pub differentiates: bool,
    /// Whether what its backward pass takes of a step can be asked for element by element, and keeps [`derivatives::production`].
    pub step_derivatives: bool,
    /// How it computes Ā and B̄ of dense systems; none where it does not.
    pub dense: Option<DensePromise>,
}

impl Promise {
    /// The kernels of `kernels/`: on a GPU, and the same source on the CPU.
    pub const PRODUCTION: Promise = Promise {
        contract: Contract::PRODUCTION,
        lifted_is_judged: true,
        perturbable: true,
        whole_range: true,
        scans: true,
        backward: Some(Contract::BACKWARD),
        differentiates: false,
        step_derivatives: true,
        dense: Some(DensePromise::ACCURATE),
    };

    /// The same, of either tier.
    pub fn of_tier(tier: Tier) -> Promise {
        let (contract, dense) = match tier {
            Tier::Accurate => (Contract::PRODUCTION, DensePromise::ACCURATE),
            Tier::Fast => (Contract::FAST, DensePromise::FAST),
        };
        // Gradients have one tier.
        let promise = Promise { contract, dense: Some(dense), ..Promise::PRODUCTION };
        if tier == Tier::Accurate { promise } else { promise.without_backward() }
    }

    /// The same without a backward pass.
    pub const fn without_backward(self) -> Promise {
        Promise { backward: None, step_derivatives: false, ..self }
    }

    /// The same-precision reference path: a careful framework's arithmetic.
    pub const REFERENCE: Promise = Promise { backward: Some(Contract::FRAMEWORK), ..Promise::RECORDED };

    /// A header of somebody else's. Its constants may be f32 in its build in double as well. Whether it has a backward, it
    /// says itself.
    pub const HEADER: Promise = Promise { contract: Contract::FOREIGN, scans: false, ..Promise::RECORDED };

    /// The same of an implementation that states its arithmetic.
    pub fn recorded(stages: Stages) -> Promise {
        // Where functions are fast, what is subnormal is 0.
        let underflow = stages.fast.map_or(Arithmetic::SINGLE.underflow, |_| f64::from(f32::MIN_POSITIVE));
        let arithmetic = Arithmetic { stages, underflow, ..Arithmetic::SINGLE };
        let sums = if stages.naive_phi { Sums::Closed } else { Contract::FRAMEWORK.sums };
        Promise { contract: Contract { arithmetic, sums, ..Contract::FRAMEWORK }, ..Promise::RECORDED }
    }

    /// A run that was recorded elsewhere, by a careful f32 implementation.
    pub const RECORDED: Promise = Promise {
        contract: Contract::FRAMEWORK,
        lifted_is_judged: false,
        perturbable: false,
        whole_range: false,
        scans: true,
        backward: None,
        differentiates: false,
        step_derivatives: false,
        dense: None,
    };
}
