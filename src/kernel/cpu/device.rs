//! This machine's memory and threads behind the interface of a GPU. In a worker process it stands in for one, so that a
//! machine without a GPU tests everything of the CUDA path but CUDA itself, faults included.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::time::Duration;

use rayon::prelude::*;

use super::call::{Build, Call};
use super::ffi;
use super::params::{RawEvaluate, RawFunction};
use crate::kernel::functions::{self, Arguments};
use crate::kernel::launch::{Device, DeviceError, DeviceInfo, Launch, Params, plain};
use crate::kernel::registry::{Judge, Kernel, Misbehaviour};
use crate::problem::Weights;
use crate::scalar_function::ScalarFunction;

/// What the kernels' widest load takes: four doubles, when lifted.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Line([u8; 32]);

/// How allocations are aligned.
pub(super) const LINE: usize = size_of::<Line>();

/// Host memory in the place of a GPU's.
pub struct CpuDevice {
    /// By address.
    allocations: BTreeMap<u64, Vec<Line>>,
    /// Bytes that may be allocated in all.
    memory: usize,
}

impl Default for CpuDevice {
    fn default() -> Self {
        CpuDevice::with_memory(usize::MAX)
    }
}

impl CpuDevice {
    /// With the production kernels and this much memory, in bytes.
    pub fn with_memory(memory: usize) -> Self {
        CpuDevice { allocations: BTreeMap::new(), memory }
    }

    /// The bytes behind an address.
    fn bytes(&mut self, address: u64, len: usize) -> Result<&mut [u8], DeviceError> {
        let illegal = || DeviceError::Broken(format!("an illegal memory access at {address:#x}"));
        let (start, lines) = self.allocations.range_mut(..=address).next_back().ok_or_else(illegal)?;
        let offset = (address - start) as usize;
        // SAFETY: the same memory as bytes, which have no invalid values.
        let all =
            unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast::<u8>(), lines.len() * LINE) };
        all.get_mut(offset..offset + len).ok_or_else(illegal)
    }

    fn misbehave(&mut self, which: Misbehaviour, params: &ffi::RawScan) -> Result<(), DeviceError> {
        let given = &params.operands;
        let total = (given.batch * given.dim * given.seqlen) as usize;
        let states = (given.batch * given.dim * given.dstate) as usize;
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
            Misbehaviour::ChangedInput => self.write(given.u as u64, &12345.0f32.to_ne_bytes()),
            Misbehaviour::Abort => std::process::abort(),
        }
    }
}

/// Runs the blocks, spread over the threads of the current pool. The first block's fault wins, so that the message
/// does not depend on timing.
fn run_blocks(call: &Call, blocks: c_uint) -> Result<(), DeviceError> {
    let faults: Vec<_> = (0..blocks)
        .into_par_iter()
        // SAFETY: the addresses are this device's buffers, as large as the shape says, and each block writes its own part.
        .filter_map(|block| match ffi::with_message(|text, size| unsafe { call.block(block, text, size) }) {
            (0, _) => None,
            (_, message) => Some(message),
        })
        .collect();
    faults.into_iter().next().map_or(Ok(()), |message| Err(DeviceError::Fault(message)))
}

/// Judges the rows, spread over the threads of the current pool.
fn judge_rows(judge: Judge, params: &ffi::RawJudge) {
    let complex = (judge.weights == Weights::Complex).into();
    (0..params.rows).into_par_iter().for_each(|row| {
        // SAFETY: the addresses are this device's buffers, as large as the sizes say, and each row writes its own part.
        unsafe { ffi::holdfast_judge_row(complex, judge.chunks(), params, row) }
    });
}

/// Judges a function's values, block by block: their lists are no place for several at once.
fn judge_function(function: ScalarFunction, launch: &Launch, params: &RawFunction) {
    for block in 0..launch.blocks {
        // SAFETY: the addresses are this device's buffers, as large as the count and the launch say.
        unsafe {
            ffi::holdfast_judge_function(function as c_int, params, block, launch.blocks, launch.threads);
        }
    }
}

/// What this machine's memory says of itself in the place of a GPU.
pub(super) fn stand_in(memory: usize) -> DeviceInfo {
    DeviceInfo {
        name: "stand-in for a GPU".to_owned(),
        major: 0,
        minor: 0,
        memory_bytes: memory as u64,
        driver: None,
        cuda: 0,
        devices: 1,
        needs_images: false,
        multiprocessors: rayon::current_num_threads() as u32,
        cache_bytes: last_cache().unwrap_or(0),
        clock_khz: 0,
    }
}

/// Bytes of this processor's largest cache, where the system says.
fn last_cache() -> Option<u64> {
    let sizes = (0..8).filter_map(|index| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().strip_suffix('K')?.parse::<u64>().ok()
    });
    sizes.max().map(|kib| kib << 10)
}

impl Device for CpuDevice {
    fn info(&self) -> DeviceInfo {
        stand_in(self.memory)
    }

    fn allocate(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        let used: usize = self.allocations.values().map(|lines| lines.len() * LINE).sum();
        let free = self.memory.saturating_sub(used);
        if bytes > free {
            return Err(DeviceError::OutOfMemory { needed: bytes as u64, free: free as u64 });
        }
        let mut lines = vec![Line([0; LINE]); bytes.div_ceil(LINE)];
        let address = lines.as_mut_ptr() as u64;
        self.allocations.insert(address, lines);
        Ok(address)
    }

    fn free_all(&mut self) {
        self.allocations.clear();
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
            (Kernel::Judge(judge), Params::Judge(params)) => {
                judge_rows(judge, params);
                Ok(())
            }
            (Kernel::Evaluate(function), Params::Evaluate(params)) => {
                let RawEvaluate { first, stride, count, values, .. } = *params;
                let found = functions::values(function, Arguments { first, stride, count });
                self.write(values as u64, plain::bytes(&found))
            }
            (Kernel::JudgeFunction(function), Params::Function(params)) => {
                judge_function(function, launch, params);
                Ok(())
            }
            _ => run_blocks(&Call::new(Build::default(), launch)?, launch.blocks),
        }
    }
}
