//! The CPU's memory in the place of a GPU's, with a fault.

use holdfast::kernel::cpu::device::CpuDevice;
use holdfast::kernel::launch::{Device, DeviceError, DeviceInfo, Launch};
use holdfast::kernel::registry::Kernel;

pub struct FaultyDevice {
    pub device: CpuDevice,
    /// Changes what is read back.
    pub lie: fn(&mut [u8]),
    /// How many launches it lives through.
    pub launches: usize,
    /// Which kernels do nothing.
    pub idles: fn(&Kernel) -> bool,
}

impl Default for FaultyDevice {
    /// With no fault yet.
    fn default() -> Self {
        FaultyDevice { device: CpuDevice::default(), lie: |_| {}, launches: usize::MAX, idles: |_| false }
    }
}

impl Device for FaultyDevice {
    fn info(&self) -> DeviceInfo {
        self.device.info()
    }

    fn allocate(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        self.device.allocate(bytes)
    }

    fn free_all(&mut self) {
        self.device.free_all();
    }

    fn fill(&mut self, address: u64, byte: u8, len: usize) -> Result<(), DeviceError> {
        self.device.fill(address, byte, len)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.device.write(address, bytes)
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.device.read(address, bytes)?;
        (self.lie)(bytes);
        Ok(())
    }

    fn run(&mut self, launch: &Launch) -> Result<(), DeviceError> {
        let broken = || DeviceError::Broken("cuCtxSynchronize failed".to_owned());
        self.launches = self.launches.checked_sub(1).ok_or_else(broken)?;
        if (self.idles)(&launch.kernel) { Ok(()) } else { self.device.run(launch) }
    }
}
