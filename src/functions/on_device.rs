//! Functions evaluated and judged on a GPU, by the sources that the CPU has: `kernels/functions/` and `kernels/judge/`.
//!
//! In every run launches at fewer arguments are repeated on the CPU: the values are read back, and what the CPU's judge says of them must
//! be the same, number by number.

use rayon::prelude::*;

use super::SweepError;
use crate::kernel::cuda::CudaError;
use crate::kernel::functions::{
    self, Arguments, FunctionFindings, FunctionRules, FunctionTally, FunctionValue, RawEvaluate, RawFunction,
    Tried,
};
use crate::kernel::launch::{DeviceError, Params, plain};
use crate::kernel::local::{LocalDevice, LocalError};
use crate::kernel::registry::Kernel;
use crate::scalar_function::ScalarFunction;

const THREADS: u32 = 256;
/// Blocks of the judge: about four for each multiprocessor of the largest GPU.
const BLOCKS: u32 = 512;

/// A device that functions run on.
pub struct DeviceSweep {
    local: LocalDevice,
    buffers: Option<Buffers>,
}

/// Addresses on the device, and for how many arguments they have room.
#[derive(Clone, Copy)]
struct Buffers {
    room: u32,
    values: u64,
    tallies: u64,
    open: u64,
    near_ties: u64,
    listed: u64,
}

impl DeviceSweep {
    /// The first visible GPU, for this thread.
    pub fn open() -> Result<Self, CudaError> {
        LocalDevice::open().map(DeviceSweep::on)
    }

    pub fn on(local: LocalDevice) -> Self {
        DeviceSweep { local, buffers: None }
    }

    /// The device, in words.
    pub fn name(&self) -> String {
        self.local.described()
    }

    /// Compiles what the functions need, on all cores.
    pub fn prepare(&self, asked: &[ScalarFunction]) -> Result<(), LocalError> {
        let Some(images) = &self.local.images else { return Ok(()) };
        let kernels: Vec<Kernel> =
            asked.iter().flat_map(|&one| [Kernel::Evaluate(one), Kernel::JudgeFunction(one)]).collect();
        Ok(kernels.into_par_iter().try_for_each(|kernel| images.get(kernel).map(drop))?)
    }

    /// Evaluates a function, and what the judge there says of its values. Lists have the order of their arguments.
    pub fn judge(
        &mut self,
        function: ScalarFunction,
        arguments: Arguments,
        rules: &FunctionRules,
    ) -> Result<Tried, LocalError> {
        let Arguments { first, stride, count } = arguments;
        let Buffers { values, tallies, open, near_ties, listed, .. } = self.buffers(count)?;
        let device = self.local.device.as_mut();
        // What is not written is a NaN, and fails.
        device.fill(values, 0xff, (count as usize + 1) * size_of::<f32>())?;
        device.fill(tallies, 0, BLOCKS as usize * size_of::<FunctionTally>())?;
        device.fill(listed, 0, 2 * size_of::<u32>())?;
        let evaluate = RawEvaluate { first, stride, count, unused: 0, values: values as usize as *mut f32 };
        let blocks = (count + 1).div_ceil(THREADS);
        self.local.run(Kernel::Evaluate(function), (blocks, THREADS), Params::Evaluate(evaluate))?;
        let judge = RawFunction {
            rules: *rules,
            first,
            stride,
            count,
            unused: 0,
            values: values as usize as *const f32,
            tallies: tallies as usize as *mut FunctionTally,
            open: open as usize as *mut FunctionValue,
            near_ties: near_ties as usize as *mut FunctionValue,
            listed: listed as usize as *mut u32,
        };
        let blocks = count.div_ceil(THREADS).clamp(1, BLOCKS);
        self.local.run(Kernel::JudgeFunction(function), (blocks, THREADS), Params::Function(judge))?;
        let mut of_blocks = vec![FunctionTally::none(); blocks as usize];
        self.local.device.read(tallies, plain::bytes_mut(&mut of_blocks))?;
        let mut counts = [0u32; 2];
        self.local.device.read(listed, plain::bytes_mut(&mut counts))?;
        let mut tried = Tried::none();
        of_blocks.iter().for_each(|tally| tried.tally.merge(tally));
        let FunctionFindings { judged, outside, nans, .. } = tried.tally.found;
        if judged + outside + nans != u64::from(count) || counts.into_iter().any(|listed| listed > count) {
            let reason = format!("the judge of {function} has not seen every argument");
            return Err(DeviceError::Fault(reason).into());
        }
        tried.open = self.list(open, counts[0])?;
        tried.near_ties = self.list(near_ties, counts[1])?;
        Ok(tried)
    }

    /// The same of few arguments, and what the CPU says of these values.
    ///
    /// # Errors
    /// A device that fails, or says something else than the CPU says of the same values.
    pub fn cross_check(
        &mut self,
        function: ScalarFunction,
        arguments: Arguments,
        rules: &FunctionRules,
    ) -> Result<(), SweepError> {
        let found = self.judge(function, arguments, rules)?;
        let mut values = vec![f32::NAN; arguments.count as usize + 1];
        let mut read = |device: &mut Self| {
            let address = device.buffers(arguments.count)?.values;
            device.local.device.read(address, plain::bytes_mut(&mut values))
        };
        read(self).map_err(LocalError::from)?;
        let expected = functions::judge(function, arguments, &values, rules);
        if found == expected {
            return Ok(());
        }
        let from = f32::from_bits(arguments.first);
        Err(SweepError::Differs {
            function,
            from,
            found: found.tally.into(),
            expected: expected.tally.into(),
        })
    }

    /// Room for so many arguments.
    fn buffers(&mut self, count: u32) -> Result<Buffers, DeviceError> {
        if let Some(buffers) = self.buffers.filter(|buffers| buffers.room >= count) {
            return Ok(buffers);
        }
        self.buffers = None;
        let device = self.local.device.as_mut();
        device.free_all();
        let room = count as usize;
        let buffers = Buffers {
            room: count,
            values: device.allocate((room + 1) * size_of::<f32>())?,
            tallies: device.allocate(BLOCKS as usize * size_of::<FunctionTally>())?,
            open: device.allocate(room * size_of::<FunctionValue>())?,
            near_ties: device.allocate(room * size_of::<FunctionValue>())?,
            listed: device.allocate(2 * size_of::<u32>())?,
        };
        Ok(*self.buffers.insert(buffers))
    }

    fn list(&mut self, address: u64, count: u32) -> Result<Vec<FunctionValue>, DeviceError> {
        let mut values = vec![FunctionValue { bits: 0, got: 0.0 }; count as usize];
        self.local.device.read(address, plain::bytes_mut(&mut values))?;
        values.sort_unstable_by_key(|value| value.bits);
        Ok(values)
    }
}

impl Drop for DeviceSweep {
    fn drop(&mut self) {
        self.local.device.free_all();
    }
}
