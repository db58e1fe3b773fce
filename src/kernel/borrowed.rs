//! Scans in memory of the caller's, as a framework's tensors: nothing is allocated, copied, checked afterwards or waited for.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::cpu::check_processor;
use super::cpu::device::CpuDevice;
use super::cuda::CudaError;
use super::cuda::cache::Image;
use super::cuda::images::{Images, OnceMap};
use super::launch::{Addresses, Device, DeviceError, Job};
use super::local::LocalDevice;
use super::registry::{Instantiation, Kernel};
use super::{KernelError, shapes};
use crate::kernel::Result;
use crate::problem::Shape;

/// A scan, or the gradients of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub which: Instantiation,
    pub shape: Shape,
    pub delta_softplus: bool,
    pub backward: bool,
}

/// A GPU, and what compiles for it, which may take seconds and holds up no launch.
pub struct Gpu {
    device: Mutex<Box<dyn Device>>,
    images: Option<Images>,
}

impl Gpu {
    /// A thread that panicked has left nothing undone there.
    fn locked(&self) -> MutexGuard<'_, Box<dyn Device>> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The images of a kernel and of the one after it, compiled side by side.
    fn images(&self, kernel: Kernel) -> Result<(Option<Image>, Option<Image>), CudaError> {
        let Some(images) = &self.images else { return Ok((None, None)) };
        let image = |kernel| images.get(kernel).map(Arc::unwrap_or_clone);
        let (own, then) = rayon::join(|| image(kernel), || kernel.then().map(image).transpose());
        Ok((Some(own?), then?))
    }
}

/// GPUs of this process by their numbers, each opened once.
static GPUS: LazyLock<OnceMap<i32, Result<Arc<Gpu>, CudaError>>> = LazyLock::new(OnceMap::default);

/// The GPU of this number, in the context that the rest of this process has there.
///
/// # Errors
/// There is none, or nothing that compiles for it.
pub fn open(number: i32) -> Result<Arc<Gpu>, CudaError> {
    GPUS.get_or_make(number, || {
        let LocalDevice { device, images } = LocalDevice::open_beside(number)?;
        Ok(Arc::new(Gpu { device: Mutex::new(device), images }))
    })
}

/// What was asked for on a device, its kernels compiled and loaded: to be launched again and again.
pub struct Borrowed {
    job: Job,
    /// None for this machine's CPU.
    gpu: Option<Arc<Gpu>>,
}

impl Borrowed {
    /// For the GPU of this number, or for the CPU.
    ///
    /// # Errors
    /// Sizes that no kernel takes, a device that cannot be had, and a kernel that does not compile for it.
    pub fn new(asked: &Asked, gpu: Option<i32>) -> Result<Self> {
        let Asked { which, shape, delta_softplus, backward } = *asked;
        shapes::check_sizes(shape, which.weights)?;
        let unavailable = |error: CudaError| KernelError::Unavailable(error.to_string());
        let gpu = gpu.map(open).transpose().map_err(unavailable)?;
        let info = gpu.as_ref().map_or_else(|| CpuDevice::default().info(), |gpu| gpu.locked().info());
        let mut job = match backward {
            true => Job::borrowed_backward(which, shape, delta_softplus),
            false => Job::borrowed_scan(info.fastest(which, shape), shape, delta_softplus),
        };
        match &gpu {
            None => check_processor()?,
            Some(gpu) => {
                (job.image, job.image_then) = gpu.images(job.kernel).map_err(unavailable)?;
                // Loaded before a launch: while a graph is recorded nothing can be.
                let nowhere = Addresses { inputs: vec![0; 10], outputs: vec![0; 8], workspace: 0 };
                for launch in job.launches(&nowhere) {
                    gpu.locked().footprint(&launch)?;
                }
            }
        }
        Ok(Borrowed { job, gpu })
    }

    /// Bytes of the workspace that a launch needs.
    pub fn workspace(&self) -> usize {
        self.job.workspace.bytes()
    }

    /// Launches on a stream of the GPU, which is not waited for; on the CPU it computes.
    ///
    /// # Safety
    /// The addresses are of the device, aligned to 16 bytes, of tensors and a workspace as large as
    /// the sizes say, and live until the device is done; nobody else uses what is written.
    ///
    /// # Errors
    /// The device's, and for addresses that are more or fewer than a job's tensors.
    pub unsafe fn launch(&self, addresses: &Addresses, stream: u64) -> Result<()> {
        let (names, outputs) = self.job.tables()?;
        if (addresses.inputs.len(), addresses.outputs.len()) != (names.len(), outputs) {
            return Err(KernelError::Fault("the addresses do not fit the kernel".to_owned()));
        }
        let run = |device: &mut dyn Device| {
            let mut launches = self.job.launches(addresses).into_iter();
            launches.try_for_each(|launch| device.enqueue_on(&launch, stream))
        };
        let launched: Result<(), DeviceError> = match &self.gpu {
            None => run(&mut CpuDevice::default()),
            Some(gpu) => run(gpu.locked().as_mut()),
        };
        Ok(launched?)
    }
}
