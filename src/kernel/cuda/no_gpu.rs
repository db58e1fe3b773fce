//! The GPU in a build without the feature `cuda`: there is none.

use super::CudaError;
use crate::kernel::launch::{Device, DeviceError, DeviceInfo, Launch};

/// No GPU.
pub enum Gpu {}

/// Whether the driver's library can be loaded: nothing here asks for it.
pub fn driver_present() -> Result<(), CudaError> {
    Err(CudaError::NotBuilt)
}

impl Gpu {
    /// Opens nothing.
    pub fn open() -> Result<Self, CudaError> {
        Err(CudaError::NotBuilt)
    }
}

impl Device for Gpu {
    fn info(&self) -> DeviceInfo {
        match *self {}
    }

    fn allocate(&mut self, _: usize) -> Result<u64, DeviceError> {
        match *self {}
    }

    fn free_all(&mut self) {
        match *self {}
    }

    fn fill(&mut self, _: u64, _: u8, _: usize) -> Result<(), DeviceError> {
        match *self {}
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), DeviceError> {
        match *self {}
    }

    fn read(&mut self, _: u64, _: &mut [u8]) -> Result<(), DeviceError> {
        match *self {}
    }

    fn run(&mut self, _: &Launch) -> Result<(), DeviceError> {
        match *self {}
    }
}
