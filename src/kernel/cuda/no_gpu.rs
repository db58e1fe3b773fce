//! The GPU in a build without the feature `cuda`: there is none.

use super::CudaError;
use crate::kernel::launch::Device;

/// Whether the driver's library can be loaded: nothing here asks for it.
pub fn driver_present() -> Result<(), CudaError> {
    Err(CudaError::NotBuilt)
}

/// Opens nothing.
pub fn open() -> Result<Box<dyn Device>, CudaError> {
    Err(CudaError::NotBuilt)
}

/// Opens nothing.
pub fn open_beside(_ordinal: i32) -> Result<Box<dyn Device>, CudaError> {
    Err(CudaError::NotBuilt)
}
