//! The little that a launch asks of a device, so that it is the same on a GPU and on this machine's CPU.

use serde::{Deserialize, Serialize};

use crate::kernel::KernelError;
use crate::kernel::cpu::params::{
    RawBackward, RawDense, RawDerivatives, RawDiscretize, RawEvaluate, RawFunction, RawJudge, RawMeasure,
    RawScan,
};
use crate::kernel::cuda::cache::Image;
use crate::kernel::registry::{Instantiation, Kernel, Spread};
use crate::problem::Shape;

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    pub name: String,
    /// Compute capability.
    pub major: i32,
    pub minor: i32,
    pub memory_bytes: u64,
    /// The driver's own version, where the system tells it.
    pub driver: Option<String>,
    /// The newest CUDA that the driver serves: 1000 · major + 10 · minor.
    pub cuda: i32,
    /// Devices visible; the first one runs.
    pub devices: i32,
    /// Whether kernels must be compiled for it: not for a CPU, for which they are built in.
    pub needs_images: bool,
    /// Multiprocessors, or threads of a CPU.
    pub multiprocessors: u32,
    /// Bytes of its last cache; 0 where it is not known.
    pub cache_bytes: u64,
    /// The highest clock of its multiprocessors, in kHz; 0 where it is not known.
    pub clock_khz: u32,
}

impl DeviceInfo {
    /// How it scans such a shape forward.
    pub fn fastest(&self, which: Instantiation, shape: Shape) -> Spread {
        // A multiprocessor of these has shared memory for the blocks that few lanes count on. A CPU in a GPU's place does not gain.
        let has_room = matches!((self.major, self.minor), (8, 0) | (9 | 10, _));
        match self.needs_images && has_room {
            true => which.fastest_for(shape, self.multiprocessors),
            false => Spread::unsplit(which, shape.seqlen),
        }
    }
}

impl std::fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gib = self.memory_bytes as f64 / f64::from(1 << 30);
        write!(f, "{} (sm_{}{}, {gib:.0} GiB)", self.name, self.major, self.minor)?;
        if let Some(driver) = &self.driver {
            write!(f, ", driver {driver}")?;
        }
        write!(f, ", CUDA {}.{}", self.cuda / 1000, self.cuda % 1000 / 10)
    }
}

pub type Result<T, E = DeviceError> = std::result::Result<T, E>;

/// Why a device did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum DeviceError {
    #[error("out of device memory: a buffer of {needed} bytes was asked for, {free} are free")]
    OutOfMemory { needed: u64, free: u64 },
    /// The kernel did something wrong; the device still works.
    #[error("{0}")]
    Fault(String),
    /// The device cannot be used any more by this process.
    #[error("{0}")]
    Broken(String),
    /// The same, because the kernel did not end in time.
    #[error("{0}")]
    TimedOut(String),
}

impl From<DeviceError> for KernelError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::OutOfMemory { needed, free } => KernelError::OutOfMemory { needed, free },
            DeviceError::Fault(reason) | DeviceError::Broken(reason) => KernelError::Fault(reason),
            DeviceError::TimedOut(reason) => KernelError::TimedOut(reason),
        }
    }
}

/// A kernel's one argument.
#[derive(Clone, Copy)]
pub enum Params<'a> {
    Scan(RawScan),
    Discretize(RawDiscretize),
    Backward(RawBackward),
    Differentiate(RawDerivatives),
    Dense(RawDense),
    Judge(&'a RawJudge),
    Evaluate(RawEvaluate),
    Function(RawFunction),
    Measure(RawMeasure),
}

pub struct Launch<'a> {
    pub kernel: Kernel,
    pub image: Option<&'a Image>,
    pub blocks: u32,
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    pub params: Params<'a>,
}

/// What a launch takes of its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Footprint {
    pub blocks: u32,
    /// Of a block.
    pub threads: u32,
    /// Of a thread; 0 where there is nothing to count, as are the next ones.
    pub registers: u32,
    /// Bytes of a thread in memory of its own.
    pub local_bytes: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// The share of a multiprocessor's threads that its blocks can fill.
    pub occupancy: f64,
}

/// Memory and launches. Addresses are the device's own.
pub trait Device: Send {
    fn info(&self) -> DeviceInfo;

    fn allocate(&mut self, bytes: usize) -> Result<u64>;

    /// Gives every allocation back. Errors are ignored: a broken device is noticed elsewhere.
    fn free_all(&mut self);

    fn fill(&mut self, address: u64, byte: u8, len: usize) -> Result<()>;

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()>;

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<()>;

    /// Launches and waits until it is done.
    fn run(&mut self, launch: &Launch) -> Result<()>;

    /// Launches, without waiting where the device need not be waited for.
    fn enqueue(&mut self, launch: &Launch) -> Result<()> {
        self.run(launch)
    }

    /// Launches on a stream of the caller's, in any thread, and waits no more than [`Device::enqueue`] does.
    fn enqueue_on(&mut self, launch: &Launch, _stream: u64) -> Result<()> {
        self.run(launch)
    }

    /// Waits until all that was launched is done.
    fn wait(&mut self) -> Result<()> {
        Ok(())
    }

    /// Marks the place among the launches after which time counts; none where the host's clock does as well.
    fn start(&mut self) -> Result<()> {
        Ok(())
    }

    /// Waits; seconds of the device's own clock since [`Device::start`], none where it has none.
    fn stop(&mut self) -> Result<Option<f64>> {
        Ok(None)
    }

    /// What a launch takes of the device, as far as it says.
    fn footprint(&mut self, launch: &Launch) -> Result<Footprint> {
        Ok(Footprint { blocks: launch.blocks, threads: launch.threads, ..Footprint::default() })
    }
}
