//! Compiled kernels on demand: from memory, else from the cache directory, else from NVRTC. Several threads may
//! compile different kernels at once; each kernel is compiled once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::arch::Arch;
use super::cache::{self, Cache, Image};
use super::error::CudaError;
use super::nvrtc;
use crate::kernel::registry::Kernel;

type Slot = Arc<OnceLock<Result<Arc<Image>, CudaError>>>;

/// Where the images of a run came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Compiled by NVRTC.
    pub compiled: usize,
    /// Found in the cache directory, whole.
    pub cached: usize,
    /// Time spent on both, summed over threads.
    pub time: Duration,
}

/// The images of one architecture.
pub struct Images {
    arch: Arch,
    version: (i32, i32),
    cache: Cache,
    slots: Mutex<HashMap<Kernel, Slot>>,
    statistics: Mutex<Statistics>,
}

impl Images {
    /// Fails where NVRTC is missing, too old, or does not know the architecture.
    pub fn new(arch: Arch, cache: Cache) -> Result<Self, CudaError> {
        let version = nvrtc::version()?;
        nvrtc::check_architecture(&arch)?;
        Ok(Images { arch, version, cache, slots: Mutex::default(), statistics: Mutex::default() })
    }

    /// What images are compiled for.
    pub fn arch(&self) -> &Arch {
        &self.arch
    }

    /// NVRTC's version.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// What has been compiled and loaded so far.
    pub fn statistics(&self) -> Statistics {
        *self.statistics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The image of a kernel, compiled if need be.
    pub fn get(&self, kernel: Kernel) -> Result<Arc<Image>, CudaError> {
        let slot =
            self.slots.lock().unwrap_or_else(PoisonError::into_inner).entry(kernel).or_default().clone();
        slot.get_or_init(|| self.make(kernel).map(Arc::new)).clone()
    }

    fn make(&self, kernel: Kernel) -> Result<Image, CudaError> {
        let start = Instant::now();
        let key = cache::key(kernel, &self.arch, self.version);
        let cached = self.cache.load(&key);
        let compiled = cached.is_none();
        let image = match cached {
            Some(image) => image,
            None => {
                let image = self.compile(kernel, key)?;
                self.cache.store(&image);
                image
            }
        };
        let mut statistics = self.statistics.lock().unwrap_or_else(PoisonError::into_inner);
        statistics.compiled += usize::from(compiled);
        statistics.cached += usize::from(!compiled);
        statistics.time += start.elapsed();
        Ok(image)
    }

    fn compile(&self, kernel: Kernel, key: String) -> Result<Image, CudaError> {
        let program = nvrtc::compile(&[kernel], &self.arch)?;
        let (symbol, resources) = program.kernels.into_iter().next().unwrap_or_default();
        Ok(Image { key, symbol, resources, cubin: program.cubin })
    }
}
