//! Headers of coefficients that other people wrote: a file with
//! `template <typename weight_t, bool kIsComplex> compute_discretization(delta, A, delta_u, B, method)`, taken from its
//! path as it is, compiled with the harness's own drivers (`kernels/foreign/`), and run in a worker process.
//!
//! On a CPU ([`cpu`]) the system's C++ compiler makes one worker program for each weight type, so that a header whose
//! complex case does not compile is still judged on its real one; on a GPU ([`gpu`]) NVRTC compiles the same drivers for
//! the worker of the CUDA backend.

pub mod compiler;
pub mod cpu;
pub mod form;
pub mod gpu;
pub mod header;
pub mod includes;
pub mod patience;
pub mod process;
pub mod runtime;
pub mod select;

pub use cpu::ForeignCpu;
pub use gpu::ForeignCuda;
pub use header::{Header, HeaderError};

use super::{Backend, Coefficients, KernelError};
use crate::method::Method;
use crate::problem::elements::Elements;
use crate::problem::{InputType, Operand, Weights};

/// Why no header can be run here at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    #[error(
        "no C++ compiler runs here, tried {tried}{from} (hint: install one, for instance `apt install g++`, or point {} at it)",
        compiler::VARIABLE
    )]
    NoCompiler { tried: String, from: String },
    #[error("the C++ compiler cannot be run: {0}")]
    Compiler(String),
    #[error("the temporary folder cannot be written: {0} (hint: TMPDIR names another)")]
    Folder(String),
}

/// A backend that runs a foreign header.
pub trait Foreign: Backend + Send {
    /// Ā and B̄u of each element, as the header's callers get them: with constant B it is told Δu, with variable B BΔu.
    ///
    /// # Errors
    /// [`KernelError::Rejected`] where the header does not compile for these weights; faults.
    fn elements(&self, method: Method, b: Operand, elements: &Elements) -> Result<Coefficients, KernelError>;

    /// The compiler's own lines, where the header does not compile for these weights.
    fn rejected(&self, weights: Weights) -> Option<&str>;
}

/// The arithmetic of such headers is f32.
fn check_input(input: InputType) -> Result<(), KernelError> {
    if input == InputType::F32 {
        return Ok(());
    }
    Err(KernelError::Unsupported {
        what: "input type",
        found: input.to_string(),
        expected: "f32".to_owned(),
        hint: "headers of coefficients are judged in f32",
    })
}

/// The first of a compiler's lines, as the reason why there is no output.
fn rejection(weights: Weights, lines: &str) -> KernelError {
    let first = lines.lines().next().unwrap_or_default();
    KernelError::Rejected(format!("the header does not compile for {weights} weights: {first}"))
}
