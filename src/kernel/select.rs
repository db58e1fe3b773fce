//! Which backend runs, and why (spec.md §5): an explicit choice, else `VIM_USE_CUDA_KERNEL`, else the best
//! that this machine has.

use super::Backend;
use super::cpu::CpuBackend;
use super::cuda::CudaBackend;
use super::reference::ReferenceBackend;

/// The variable that the production API reads: `1` forces the CUDA kernels, `0` the reference path.
pub const VARIABLE: &str = "VIM_USE_CUDA_KERNEL";

/// What `--backend` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Auto,
    Cuda,
    Cpu,
    Reference,
}

impl Choice {
    pub const ALL: [Choice; 4] = [Choice::Auto, Choice::Cuda, Choice::Cpu, Choice::Reference];

    pub fn name(self) -> &'static str {
        match self {
            Choice::Auto => "auto",
            Choice::Cuda => "cuda",
            Choice::Cpu => "cpu",
            Choice::Reference => "reference",
        }
    }
}

/// A backend, and in words why it was taken.
pub struct Selection {
    pub backend: Box<dyn Backend>,
    pub why: String,
}

/// The requested backend cannot run here, or the request makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    #[error(
        "backend `cuda` cannot run here: {0} (hint: --backend cpu runs the same kernel source on the CPU)"
    )]
    NoCuda(String),
    #[error("{VARIABLE} is `{0}`, expected 0 or 1 (hint: unset it to select automatically)")]
    Variable(String),
}

/// Selects a backend. `variable` is the value of [`VARIABLE`], if it is set.
pub fn select(choice: Choice, variable: Option<&str>) -> Result<Selection, SelectError> {
    select_with(choice, variable, || match CudaBackend::new() {
        Ok(backend) => Ok(Box::new(backend)),
        Err(error) => Err(error.to_string()),
    })
}

/// Selects a backend where `cuda` tells whether CUDA can run, and if not, why.
pub fn select_with(
    choice: Choice,
    variable: Option<&str>,
    cuda: impl FnOnce() -> Result<Box<dyn Backend>, String>,
) -> Result<Selection, SelectError> {
    let selection = |backend: Box<dyn Backend>, why: String| Selection { backend, why };
    let asked = || "asked for by --backend".to_owned();
    match (choice, variable) {
        (Choice::Cuda, _) => Ok(selection(cuda().map_err(SelectError::NoCuda)?, asked())),
        (Choice::Cpu, _) => Ok(selection(Box::new(CpuBackend::new()), asked())),
        (Choice::Reference, _) => Ok(selection(Box::new(ReferenceBackend), asked())),
        (Choice::Auto, Some("1")) => match cuda() {
            Ok(backend) => Ok(selection(backend, format!("{VARIABLE}=1 asks for it"))),
            Err(reason) => Err(SelectError::NoCuda(format!("{VARIABLE}=1 asks for it, but {reason}"))),
        },
        (Choice::Auto, Some("0")) => {
            Ok(selection(Box::new(ReferenceBackend), format!("{VARIABLE}=0 asks for the reference path")))
        }
        (Choice::Auto, Some(other)) => Err(SelectError::Variable(other.to_owned())),
        (Choice::Auto, None) => Ok(match cuda() {
            Ok(backend) => {
                selection(backend, "selected automatically: a GPU runs the production path".to_owned())
            }
            Err(reason) => {
                selection(Box::new(CpuBackend::new()), format!("selected automatically: no CUDA, {reason}"))
            }
        }),
    }
}
