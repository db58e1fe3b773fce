//! Which backend runs, and why (spec.md §5): an explicit choice, else `VIM_USE_CUDA_KERNEL`, else the best
//! that this machine has.

use super::Backend;
use super::cpu::CpuBackend;
use super::cuda::CudaBackend;
use super::foreign::{ForeignBackend, ForeignError, Header};
use super::reference::ReferenceBackend;
use crate::promise::Tier;

/// The variable that the production API reads: `1` forces the CUDA kernels, `0` the reference path.
pub const VARIABLE: &str = "VIM_USE_CUDA_KERNEL";

named! {
    /// What `--backend` takes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Choice {
        #[default]
        Auto => "auto",
        Cuda => "cuda",
        Cpu => "cpu",
        Reference => "reference",
    }
}

/// A backend, and in words why it was taken.
pub struct Selection<B> {
    pub backend: B,
    pub why: String,
}

/// The requested backend cannot run here, or the request makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    #[error(
        "backend `cuda` cannot run here: {0} (hint: --backend cpu runs the same kernel source on the CPU)"
    )]
    NoCuda(String),
    #[error("backend `cuda` cannot run here: {0} (hint: --backend cpu compiles the header for the CPU)")]
    NoCudaForHeader(String),
    #[error("backend `cuda` cannot run here: {0} (hint: --backend cpu judges every element, too)")]
    NoCudaForJudge(String),
    #[error("backend `cpu` cannot run here: {0}")]
    NoCpuForHeader(ForeignError),
    #[error("backend `reference` runs no header, expected cpu or cuda (hint: leave --backend out)")]
    NoReferenceForHeader,
    #[error("the reference path has no fast tier, expected cuda or cpu (hint: leave --tier out)")]
    NoTierOfReference,
    #[error("{VARIABLE} is `{0}`, expected 0 or 1 (hint: unset it to select automatically)")]
    Variable(String),
}

impl SelectError {
    /// Whether it is this machine that lacks something, and not the request that is wrong.
    pub fn is_missing(&self) -> bool {
        match self {
            SelectError::NoCuda(_)
            | SelectError::NoCudaForHeader(_)
            | SelectError::NoCudaForJudge(_)
            | SelectError::NoCpuForHeader(_) => true,
            SelectError::NoReferenceForHeader | SelectError::NoTierOfReference | SelectError::Variable(_) => {
                false
            }
        }
    }
}

/// Whether there are kernels of every tier where a choice leads. The reference path has one.
pub fn has_tiers(choice: Choice, variable: Option<&str>) -> bool {
    !matches!((choice, variable), (Choice::Reference, _) | (Choice::Auto, Some("0")))
}

/// Selects a backend for the production kernels, the forward ones of a tier. `variable` is the value of [`VARIABLE`], if it is set.
///
/// # Errors
/// The backend that was asked for cannot run here.
pub fn select(
    choice: Choice,
    tier: Tier,
    variable: Option<&str>,
) -> Result<Selection<Box<dyn Backend>>, SelectError> {
    select_with(choice, tier, variable, || match CudaBackend::new() {
        Ok(backend) => Ok(Box::new(backend.in_tier(tier))),
        Err(error) => Err(error.to_string()),
    })
}

/// The same where `cuda` tells whether CUDA can run, and if not, why.
pub fn select_with(
    choice: Choice,
    tier: Tier,
    variable: Option<&str>,
    cuda: impl FnOnce() -> Result<Box<dyn Backend>, String>,
) -> Result<Selection<Box<dyn Backend>>, SelectError> {
    let (chosen, why) = choose(choice, variable, cuda, SelectError::NoCuda)?;
    let backend = match chosen {
        Chosen::Cuda(backend) => backend,
        Chosen::Cpu => Box::new(CpuBackend::in_tier(tier)),
        Chosen::Reference if tier == Tier::Fast => return Err(SelectError::NoTierOfReference),
        Chosen::Reference => Box::new(ReferenceBackend),
    };
    Ok(Selection { backend, why })
}

/// Compiles a foreign header for the selected backend. There is no reference path to a header.
///
/// # Errors
/// The backend that was asked for, or the last one left, cannot run here.
pub fn select_for_header(
    header: Header,
    choice: Choice,
    variable: Option<&str>,
) -> Result<Selection<ForeignBackend>, SelectError> {
    if choice == Choice::Reference {
        return Err(SelectError::NoReferenceForHeader);
    }
    let cuda = || ForeignBackend::on_gpu(header.clone()).map_err(|error| error.to_string());
    let (chosen, why) = choose(choice, variable, cuda, SelectError::NoCudaForHeader)?;
    let on_cpu = |why| {
        let backend = ForeignBackend::on_cpu(header).map_err(SelectError::NoCpuForHeader)?;
        Ok(Selection { backend, why })
    };
    match chosen {
        Chosen::Cuda(backend) => Ok(Selection { backend, why }),
        Chosen::Cpu => on_cpu(why),
        Chosen::Reference => on_cpu(format!("{VARIABLE}=0 leaves the GPU alone")),
    }
}

enum Chosen<B> {
    Cuda(B),
    Cpu,
    Reference,
}

fn choose<B>(
    choice: Choice,
    variable: Option<&str>,
    cuda: impl FnOnce() -> Result<B, String>,
    no_cuda: fn(String) -> SelectError,
) -> Result<(Chosen<B>, String), SelectError> {
    let asked = || "asked for by --backend".to_owned();
    Ok(match (choice, variable) {
        (Choice::Cuda, _) => (Chosen::Cuda(cuda().map_err(no_cuda)?), asked()),
        (Choice::Cpu, _) => (Chosen::Cpu, asked()),
        (Choice::Reference, _) => (Chosen::Reference, asked()),
        (Choice::Auto, Some("1")) => match cuda() {
            Ok(backend) => (Chosen::Cuda(backend), format!("{VARIABLE}=1 asks for it")),
            Err(reason) => return Err(no_cuda(format!("{VARIABLE}=1 asks for it, but {reason}"))),
        },
        (Choice::Auto, Some("0")) => (Chosen::Reference, format!("{VARIABLE}=0 asks for the reference path")),
        (Choice::Auto, Some(other)) => return Err(SelectError::Variable(other.to_owned())),
        (Choice::Auto, None) => match cuda() {
            Ok(backend) => {
                let why = "selected automatically: a GPU runs the production path";
                (Chosen::Cuda(backend), why.to_owned())
            }
            Err(reason) => (Chosen::Cpu, format!("selected automatically: no CUDA, {reason}")),
        },
    })
}
