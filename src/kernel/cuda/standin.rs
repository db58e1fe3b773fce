//! A device that is none: the CPU build of the same kernels behind the same addresses, buffers and launches. It lets
//! a machine without a GPU test everything of the CUDA path but CUDA itself, faults included.

use std::collections::BTreeMap;
use std::time::Duration;

use super::device::{Device, DeviceError, DeviceInfo, Launch, Params};
use crate::kernel::cpu::{ffi, run_blocks};
use crate::kernel::registry::{Kernel, Misbehaviour};
use crate::problem::Weights;

/// Host memory in the place of a GPU's.
pub struct StandIn {
    info: DeviceInfo,
    /// By address. Aligned to 16 bytes, as kernels expect.
    allocations: BTreeMap<u64, Vec<u128>>,
    /// What may be allocated in all.
    limit: usize,
}

impl StandIn {
    /// With this much memory, in bytes.
    pub fn new(limit: usize) -> Self {
        let info = DeviceInfo {
            name: "stand-in for a GPU".to_owned(),
            major: 0,
            minor: 0,
            memory_bytes: limit as u64,
            driver: None,
            cuda: 0,
            devices: 1,
            needs_images: false,
        };
        StandIn { info, allocations: BTreeMap::new(), limit }
    }

    /// The bytes behind an address.
    fn bytes(&mut self, address: u64, len: usize) -> Result<&mut [u8], DeviceError> {
        let illegal = || DeviceError::Broken(format!("an illegal memory access at {address:#x}"));
        let (start, words) = self.allocations.range_mut(..=address).next_back().ok_or_else(illegal)?;
        let offset = (address - start) as usize;
        // SAFETY: the same memory as bytes, which have no invalid values.
        let all =
            unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), words.len() * 16) };
        all.get_mut(offset..offset + len).ok_or_else(illegal)
    }

    fn misbehave(&mut self, which: Misbehaviour, params: &ffi::RawScan) -> Result<(), DeviceError> {
        let total = (params.batch * params.dim * params.seqlen) as usize;
        let states = (params.batch * params.dim * params.dstate) as usize;
        let out = params.out as u64;
        let written = if which == Misbehaviour::Unwritten { total - 1 } else { total };
        self.fill(out, 0, 4 * written)?;
        self.fill(params.last_state as u64, 0, 4 * states)?;
        match which {
            Misbehaviour::IllegalAddress => self.fill(16, 0, 4),
            Misbehaviour::Hang => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            Misbehaviour::Unwritten => Ok(()),
            Misbehaviour::PastTheEnd => self.fill(out + 4 * total as u64, 0, 4),
            Misbehaviour::BeforeTheStart => self.fill(out - 4, 0, 4),
            Misbehaviour::ChangedInput => self.write(params.u as u64, &12345.0f32.to_ne_bytes()),
            Misbehaviour::Abort => std::process::abort(),
        }
    }
}

impl Device for StandIn {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        let used: usize = self.allocations.values().map(|words| words.len() * 16).sum();
        let free = self.limit.saturating_sub(used);
        if bytes > free {
            return Err(DeviceError::OutOfMemory { needed: bytes as u64, free: free as u64 });
        }
        let words = vec![0u128; bytes.div_ceil(16)];
        let address = words.as_ptr() as u64;
        self.allocations.insert(address, words);
        Ok(address)
    }

    fn free(&mut self, address: u64) {
        self.allocations.remove(&address);
    }

    fn fill(&mut self, address: u64, byte: u8, len: usize) -> Result<(), DeviceError> {
        self.bytes(address, len)?.fill(byte);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.bytes(address, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        bytes.copy_from_slice(self.bytes(address, bytes.len())?);
        Ok(())
    }

    fn run(&mut self, launch: &Launch) -> Result<(), DeviceError> {
        match (launch.kernel, &launch.params) {
            (Kernel::Misbehave(which), Params::Scan(params)) => self.misbehave(which, params),
            (Kernel::Scan(which), Params::Scan(params)) => {
                let which = ffi::RawInstantiation::from(which);
                let which = &which;
                // SAFETY: the addresses are this device's buffers, as large as the shape says.
                run_blocks(launch.blocks as usize, |block, text, size| unsafe {
                    ffi::holdfast_scan(which, -1, params, block, 1, text, size)
                })
                .map_err(|error| DeviceError::Fault(error.to_string()))
            }
            (Kernel::Discretize { method, weights }, Params::Discretize(params)) => {
                let complex = (weights == Weights::Complex).into();
                // SAFETY: as above.
                run_blocks(launch.blocks as usize, |block, text, size| unsafe {
                    ffi::holdfast_discretize(method.id().into(), complex, 0, -1, params, block, 1, text, size)
                })
                .map_err(|error| DeviceError::Fault(error.to_string()))
            }
            _ => Err(DeviceError::Fault("the kernel takes other parameters".to_owned())),
        }
    }
}
