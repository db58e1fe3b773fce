//! Which backend runs a foreign header, and why: the same choice as for the production kernels (spec.md §5), except
//! that there is no reference path to a header.

use super::{ForeignBackend, ForeignError, Header};
use crate::kernel::select::{Choice, VARIABLE};

/// A backend for a header, and in words why it was taken.
pub struct Selection {
    pub backend: ForeignBackend,
    pub why: String,
}

/// The requested backend cannot run the header here, or the request makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignSelectError {
    #[error("backend `cuda` cannot run here: {0} (hint: --backend cpu compiles the header for the CPU)")]
    NoCuda(String),
    #[error("backend `cpu` cannot run here: {0}")]
    NoCpu(ForeignError),
    #[error("backend `reference` runs no header, expected cpu or cuda (hint: leave --backend out)")]
    Reference,
    #[error("{VARIABLE} is `{0}`, expected 0 or 1 (hint: unset it to select automatically)")]
    Variable(String),
}

impl ForeignSelectError {
    /// Whether it is this machine that lacks something, and not the request that is wrong.
    pub fn is_missing(&self) -> bool {
        matches!(self, ForeignSelectError::NoCuda(_) | ForeignSelectError::NoCpu(_))
    }
}

/// Compiles the header for the selected backend. `variable` is the value of [`VARIABLE`], if it is set.
///
/// # Errors
/// The backend that was asked for, or the last one left, cannot run here.
pub fn select(
    header: Header,
    choice: Choice,
    variable: Option<&str>,
) -> Result<Selection, ForeignSelectError> {
    let cpu = |header, why: String| {
        let backend = ForeignBackend::on_cpu(header).map_err(ForeignSelectError::NoCpu)?;
        Ok(Selection { backend, why })
    };
    let cuda = |header| ForeignBackend::on_gpu(header).map_err(|error| error.to_string());
    let asked = || "asked for by --backend".to_owned();
    match (choice, variable) {
        (Choice::Reference, _) => Err(ForeignSelectError::Reference),
        (Choice::Cpu, _) => cpu(header, asked()),
        (Choice::Cuda, _) => {
            let backend = cuda(header).map_err(ForeignSelectError::NoCuda)?;
            Ok(Selection { backend, why: asked() })
        }
        (Choice::Auto, Some("0")) => cpu(header, format!("{VARIABLE}=0 leaves the GPU alone")),
        (Choice::Auto, Some("1")) => match cuda(header) {
            Ok(backend) => Ok(Selection { backend, why: format!("{VARIABLE}=1 asks for it") }),
            Err(reason) => Err(ForeignSelectError::NoCuda(format!("{VARIABLE}=1 asks for it, but {reason}"))),
        },
        (Choice::Auto, Some(other)) => Err(ForeignSelectError::Variable(other.to_owned())),
        (Choice::Auto, None) => match cuda(header.clone()) {
            Ok(backend) => Ok(Selection {
                backend,
                why: "selected automatically: a GPU runs the production path".to_owned(),
            }),
            Err(reason) => cpu(header, format!("selected automatically: no CUDA, {reason}")),
        },
    }
}
