//! Everything that computes a [`Problem`] in production precision: the CUDA kernels' own source built for the
//! CPU ([`cpu`]), a same-precision sequential reference ([`mod@reference`]), and headers of other people ([`foreign`]). [`registry`] lists the kernels.
//! Never sees the truth.
//!
//! ```
//! use holdfast::kernel::{Backend, CpuBackend};
//! use holdfast::method::Method;
//! use holdfast::problem::{CoefficientProblem, Weights};
//!
//! let one = |value: f32| vec![value];
//! let problem =
//!     CoefficientProblem { weights: Weights::Real, delta: one(0.5), a: one(-2.0), b: one(1.0) };
//! // The CUDA kernel's own source, built for this CPU.
//! let step = CpuBackend::new().coefficients(Method::Bilinear, &problem)?;
//! assert!((step.a_bar[0] - 1.0 / 3.0).abs() < 1e-7);
//! // And a copy with a bug in it.
//! let broken = CpuBackend::with_faults("bilinear-swapped", None).expect("in the list");
//! assert_eq!(broken.coefficients(Method::Bilinear, &problem)?.a_bar, [3.0]);
//! # Ok::<(), holdfast::kernel::KernelError>(())
//! ```

pub mod borrowed;
pub mod cpu;
pub mod cuda;
pub mod foreign;
pub mod functions;
pub mod golden;
pub mod launch;
pub mod local;
pub mod reference;
pub mod registry;
pub mod select;
mod shapes;
pub mod sources;
pub mod worker;

pub use cpu::{CpuBackend, Elementary};
pub use reference::ReferenceBackend;
pub use registry::{Instantiation, Lanes, Spread};
pub use sources::production_hash;

use crate::method::Method;
use crate::problem::dense::DenseProblem;
use crate::problem::elements::Elements;
use crate::problem::one_step::OneStep;
use crate::problem::{CoefficientProblem, Operand, OutputGradients, Problem};
pub use crate::promise::KernelError;
use crate::promise::{Promise, Tier};
pub use crate::tensor::{CoefficientGradients, Coefficients, Derivatives};
use crate::tensor::{Gradients, TensorName, Tensors};

/// What a forward scan computes of every channel, by the values in the order of a kernel's outputs.
fn scanned<T>(problem: &Problem, values: impl IntoIterator<Item = Vec<T>>) -> Tensors<T> {
    TensorName::SCANNED
        .into_iter()
        .zip(values)
        .map(|(name, values)| (name, problem.tensor(name, values)))
        .collect()
}

pub type Result<T, E = KernelError> = std::result::Result<T, E>;

/// Something that computes problems in production precision.
pub trait Backend: Sync {
    /// The name that `--backend` takes, for instance `cpu`.
    fn name(&self) -> &'static str;

    /// What it runs on, in words, for instance `x86_64 CPU, kernels built by g++ 12.2`.
    fn device(&self) -> String;

    /// SHA-256, in hex, of the kernel source that it runs; empty where it is none.
    fn source(&self) -> String {
        sources::production_hash().to_owned()
    }

    /// The tier of its forward kernels, where it has more than one.
    fn tier(&self) -> Tier {
        Tier::Accurate
    }

    /// What it promises, and what can be done with it.
    fn promise(&self) -> Promise {
        Promise::PRODUCTION.without_backward()
    }

    /// Runs the forward selective scan over every channel of the problem: `out` and `last_state`, widened to f32.
    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>>;

    /// Discretizes each element on its own.
    fn coefficients(&self, method: Method, problem: &CoefficientProblem) -> Result<Coefficients>;

    /// The gradients of a loss by every input that the problem has (spec.md §6), each in its input's layout, widened to f32; of
    /// all channels. A may be a matrix for each channel, as [`Backend::dense_scan`] has it. None where there is no backward pass
    /// ([`Promise::backward`]).
    fn gradients(
        &self,
        _method: Method,
        _problem: &Problem,
        _given: &OutputGradients,
    ) -> Option<Result<Gradients<f32>>> {
        None
    }

    /// What a backward pass takes of each (Δ, A) on its own; none where there is no such kernel.
    fn derivatives(&self, _method: Method, _problem: &CoefficientProblem) -> Option<Result<Derivatives>> {
        None
    }

    /// Ā and B̄ of dense systems, row-major; none where there is no such kernel ([`Promise::dense`]).
    fn dense(&self, _method: Method, _problem: &DenseProblem) -> Option<Result<Coefficients>> {
        None
    }

    /// Runs [`Backend::scan`] of a problem whose A is a matrix for each channel, of up to 64 states ([`Problem::is_dense`]), from its
    /// initial state, where it has one; none where there is no such kernel.
    fn dense_scan(&self, _method: Method, _problem: &Problem) -> Option<Result<Tensors<f32>>> {
        None
    }

    /// What tells the builds apart that the lifted runs are of: of backends with the same answer they are the same. None where
    /// nothing is said.
    fn copies(&self) -> Option<String> {
        None
    }

    /// The judged channels' scan with the kernel's own source in double arithmetic, from the same inputs and without
    /// rounding on store; none where there is no such build of it.
    fn lifted(&self, _method: Method, _problem: &Problem) -> Option<Result<Tensors<f64>>> {
        None
    }

    /// Ā and B̄ likewise.
    fn lifted_coefficients(
        &self,
        _method: Method,
        _problem: &CoefficientProblem,
    ) -> Option<Result<Coefficients<f64>>> {
        None
    }

    /// The gradients with the kernel's own source in double arithmetic, from the same inputs and without rounding on store; none
    /// where there is no such build of it.
    fn lifted_gradients(
        &self,
        _method: Method,
        _problem: &Problem,
        _given: &OutputGradients,
    ) -> Option<Result<Gradients<f64>>> {
        None
    }

    /// The gradients by Δ, A and B of each element, from those by Ā and B̄; none where there is no such function
    /// ([`Promise::differentiates`]).
    fn coefficient_gradients(
        &self,
        _method: Method,
        _elements: &OneStep,
    ) -> Option<Result<CoefficientGradients>> {
        None
    }

    /// The same in double arithmetic; none where there is no such build of it.
    fn lifted_coefficient_gradients(
        &self,
        _method: Method,
        _elements: &OneStep,
    ) -> Option<Result<CoefficientGradients<f64>>> {
        None
    }

    /// Ā and B̄u of each element in double arithmetic, of a source that can be called with anything; none where it cannot.
    fn probed(
        &self,
        _method: Method,
        _b: Operand,
        _elements: &Elements,
    ) -> Option<Result<Coefficients<f64>>> {
        None
    }
}
