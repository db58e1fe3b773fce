//! Which backend runs, and why (spec.md §5): an explicit choice, else `VIM_USE_CUDA_KERNEL`, else the best
//! that this machine has.

use super::Backend;
use super::cpu::CpuBackend;
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
    let selection = |backend: Box<dyn Backend>, why: &str| Selection { backend, why: why.to_owned() };
    match (choice, variable) {
        (Choice::Cuda, _) => Err(SelectError::NoCuda(no_cuda())),
        (Choice::Cpu, _) => Ok(selection(Box::new(CpuBackend::new()), "asked for by --backend")),
        (Choice::Reference, _) => Ok(selection(Box::new(ReferenceBackend), "asked for by --backend")),
        (Choice::Auto, Some("1")) => {
            Err(SelectError::NoCuda(format!("{VARIABLE}=1 asks for it, but {}", no_cuda())))
        }
        (Choice::Auto, Some("0")) => {
            Ok(selection(Box::new(ReferenceBackend), "VIM_USE_CUDA_KERNEL=0 asks for the reference path"))
        }
        (Choice::Auto, Some(other)) => Err(SelectError::Variable(other.to_owned())),
        (Choice::Auto, None) => {
            let why = format!("selected automatically: {}", no_cuda());
            Ok(selection(Box::new(CpuBackend::new()), &why))
        }
    }
}

/// Why the CUDA backend cannot run.
pub fn no_cuda() -> String {
    "this version of holdfast has no CUDA backend yet".to_owned()
}
