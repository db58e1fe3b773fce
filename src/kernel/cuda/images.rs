//! Compiled kernels on demand: from memory, else from the cache directory, else from NVRTC. Several threads may
//! compile different kernels at once; each kernel is compiled once.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::arch::Arch;
use super::cache::{self, Cache, Image};
use super::{CudaError, nvrtc};
use crate::kernel::launch::DeviceInfo;
use crate::kernel::registry::Kernel;

/// Values that are made once, by whichever thread asks first; meanwhile others may make other ones.
pub struct OnceMap<K, V>(Mutex<HashMap<K, Arc<OnceLock<V>>>>);

impl<K, V> Default for OnceMap<K, V> {
    fn default() -> Self {
        OnceMap(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> OnceMap<K, V> {
    /// The value of `key`, made if need be.
    pub fn get_or_make(&self, key: K, make: impl FnOnce() -> V) -> V {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        slot.get_or_init(make).clone()
    }
}

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
    images: OnceMap<Kernel, Result<Arc<Image>, CudaError>>,
    statistics: Mutex<Statistics>,
}

impl Images {
    /// Fails where NVRTC is missing, too old, or does not know the architecture.
    pub fn new(arch: Arch, cache: Cache) -> Result<Self, CudaError> {
        let version = nvrtc::version()?;
        nvrtc::check_architecture(&arch)?;
        Ok(Images { arch, version, cache, images: OnceMap::default(), statistics: Mutex::default() })
    }

    pub fn arch(&self) -> &Arch {
        &self.arch
    }

    /// The device that they are for, in words, with what compiles them.
    pub fn described(&self, device: &DeviceInfo) -> String {
        let (major, minor) = self.version;
        format!("{device}, kernels for {} by NVRTC {major}.{minor}", self.arch)
    }

    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    pub fn statistics(&self) -> Statistics {
        *self.statistics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The image of a kernel, compiled if need be.
    pub fn get(&self, kernel: Kernel) -> Result<Arc<Image>, CudaError> {
        let kernel = kernel.compiled();
        self.images.get_or_make(kernel, || self.make(kernel).map(Arc::new))
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
