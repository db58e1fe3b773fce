//! What a device can do at most, measured on it: the bandwidth of a copy, fused multiply-adds and special functions, each by a loop of
//! nothing else (`kernels/bench/`). No data sheet is asked.

use crate::bench::runner::Runner;
use crate::kernel::KernelError;
use crate::kernel::launch::{Job, Repeats, Timing};
use crate::kernel::registry::Kernel;
use crate::operation::Operation;
use crate::results::bench::{Machine, Peaks};

/// Threads of a GPU's multiprocessor, several times over, so that the last ones to end do not count.
const THREADS: usize = 4 * 2048;
/// Chains of operations that a thread has in flight, on a GPU and on a CPU (`kernels/bench/operations.cuh`).
const CHAINS: [usize; 2] = [16, 64];

/// A device, and what it can do. Where that cannot be measured, nothing is said of it.
pub fn measure(runner: &Runner, seconds: f64) -> Machine {
    let mut machine =
        Machine { backend: runner.name().to_owned(), device: runner.device(), ..Machine::default() };
    let Some(worker) = runner.worker() else {
        machine.multiprocessors = rayon::current_num_threads() as u32;
        return machine;
    };
    let info = worker.info();
    machine.multiprocessors = info.multiprocessors;
    machine.cache_bytes = info.cache_bytes;
    machine.clock = 1e3 * f64::from(info.clock_khz);
    let mut clocks = Vec::new();
    machine.peaks = peaks(runner, seconds, &mut clocks).ok();
    machine.clocks = clocks;
    machine
}

/// The clock under load, in Hz; none where the device tells none.
pub fn clock(runner: &Runner) -> Option<f64> {
    in_registers(runner, Operation::Fused, 0.05).ok()?.1
}

fn peaks(runner: &Runner, seconds: f64, clocks: &mut Vec<f64>) -> Result<Peaks, KernelError> {
    let (fused, told) = in_registers(runner, Operation::Fused, seconds)?;
    clocks.extend(told);
    Ok(Peaks {
        copy: copy(runner, seconds)?,
        fused: 2.0 * fused,
        special: in_registers(runner, Operation::Special, seconds)?.0,
    })
}

/// Bytes a second, read and written.
fn copy(runner: &Runner, seconds: f64) -> Result<f64, KernelError> {
    let cache = runner.worker().map_or(0, |worker| worker.info().cache_bytes) as usize;
    let most = if runner.is_gpu() { 1 << 28 } else { 1 << 25 };
    // Several times what the cache holds.
    let n = (2 * cache).clamp(1 << 24, most) / 4 * 4;
    let (fastest, _) = fastest(runner, Job::machine(Operation::Copy, n, 0), seconds)?;
    Ok(8.0 * n as f64 / fastest)
}

/// Operations a second that touch no memory, and the clock that they ran at, in Hz.
fn in_registers(
    runner: &Runner,
    operation: Operation,
    seconds: f64,
) -> Result<(f64, Option<f64>), KernelError> {
    let units = runner.worker().map_or(1, |worker| worker.info().multiprocessors) as usize;
    let slow = operation == Operation::Special;
    let (n, repeat, chains) = match runner.is_gpu() {
        true => (units * THREADS, if slow { 512 } else { 4096 }, CHAINS[0]),
        false => (units * 4096, if slow { 1 } else { 64 }, CHAINS[1]),
    };
    let (fastest, told) = fastest(runner, Job::machine(operation, n, repeat), seconds)?;
    let clock = match told.get(n..) {
        Some(&[cycles, nanoseconds]) if nanoseconds > 0.0 => Some(1e9 * cycles / nanoseconds),
        _ => None,
    };
    Ok(((n * repeat * chains) as f64 / fastest, clock))
}

/// Seconds of the fastest of some runs: what the device can do; and the values of the last one, where they tell the clock.
fn fastest(runner: &Runner, job: Job, seconds: f64) -> Result<(f64, Vec<f64>), KernelError> {
    let repeats = Repeats { warmups: 3, samples: 30, seconds };
    let Kernel::Measure(operation) = job.kernel else {
        return Err(KernelError::Unavailable("no operation".to_owned()));
    };
    let timing = Timing { collect: operation.tells_clock(), ..Timing::warm(repeats) };
    let (series, returned) = runner.time(job.kernel, || job, &timing)?;
    let fastest = series.warm.iter().copied().fold(f64::INFINITY, f64::min);
    let values = returned.map(|returned| returned.values().concat()).unwrap_or_default();
    Ok((fastest, values))
}
