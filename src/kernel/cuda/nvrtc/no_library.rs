//! NVRTC in a build without the feature `cuda`: there is none.

use super::{Program, Unit};
use crate::kernel::cuda::CudaError;
use crate::kernel::cuda::arch::Arch;

/// NVRTC's version: nothing here asks for it.
pub fn version() -> Result<(i32, i32), CudaError> {
    Err(CudaError::NotBuilt)
}

pub(super) fn known_architectures() -> Result<Vec<i32>, CudaError> {
    Err(CudaError::NotBuilt)
}

/// Compiles nothing.
pub fn compile_unit(
    _: &Unit,
    _: &[String],
    _: &[String],
    _: &Arch,
) -> Result<Result<Program, (String, String)>, CudaError> {
    Err(CudaError::NotBuilt)
}
