//! A device in this very process: for the judge's own kernels, which no fault of a user's kernel can reach.

use std::sync::Arc;

use super::cpu::device::CpuDevice;
use super::cuda::arch::{self, Arch};
use super::cuda::cache::{Cache, Image};
use super::cuda::images::Images;
use super::cuda::{CudaError, gpu, nvrtc};
use super::launch::{Device, DeviceError, Launch, Params};
use super::registry::Kernel;

/// Why nothing can be run there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocalError {
    #[error(transparent)]
    Cuda(#[from] CudaError),
    #[error("the device failed: {0}")]
    Device(#[from] DeviceError),
}

/// A device, and what compiles for it. On a GPU it works for the thread that opened it.
pub struct LocalDevice {
    pub device: Box<dyn Device>,
    /// None where its kernels are built in.
    pub images: Option<Images>,
}

impl LocalDevice {
    /// The first visible GPU.
    pub fn open() -> Result<Self, CudaError> {
        // Both libraries before a context: what is missing is said at once.
        gpu::driver_present()?;
        nvrtc::version()?;
        LocalDevice::with_images(gpu::open()?)
    }

    /// The GPU of this number, for launches in any thread beside those of somebody else in this process ([`Device::enqueue_on`]).
    pub fn open_beside(ordinal: i32) -> Result<Self, CudaError> {
        gpu::driver_present()?;
        nvrtc::version()?;
        LocalDevice::with_images(gpu::open_beside(ordinal)?)
    }

    fn with_images(device: Box<dyn Device>) -> Result<Self, CudaError> {
        let info = device.info();
        let own = Arch::of_device(info.major, info.minor);
        let arch = Arch::selected(std::env::var(arch::VARIABLE).ok().as_deref(), own)?;
        let images = Images::new(arch, Cache::from_environment())?;
        Ok(LocalDevice { device, images: Some(images) })
    }

    /// This machine's CPU in the place of a GPU, by the same source.
    pub fn stand_in() -> Self {
        LocalDevice::on(Box::new(CpuDevice::default()))
    }

    /// A device that has the kernels built in.
    pub fn on(device: Box<dyn Device>) -> Self {
        LocalDevice { device, images: None }
    }

    /// The device in words, and what compiles for it.
    pub fn described(&self) -> String {
        let info = self.device.info();
        self.images.as_ref().map_or_else(|| info.to_string(), |images| images.described(&info))
    }

    /// The compiled kernel, where the device needs one.
    pub fn image(&self, kernel: Kernel) -> Result<Option<Arc<Image>>, CudaError> {
        self.images.as_ref().map(|images| images.get(kernel)).transpose()
    }

    /// Compiles a kernel if need be, launches it and waits until it is done.
    pub fn run(
        &mut self,
        kernel: Kernel,
        (blocks, threads): (u32, u32),
        params: Params,
    ) -> Result<(), LocalError> {
        let image = self.image(kernel)?;
        let launch = Launch { kernel, image: image.as_deref(), blocks, threads, shared: 0, params };
        Ok(self.device.run(&launch)?)
    }
}
