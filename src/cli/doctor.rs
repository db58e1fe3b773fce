//! `holdfast doctor`: what this machine can run, and why not the rest.

use super::{Outcome, PASSED};
use crate::kernel::Backend;
use crate::kernel::cpu::CpuBackend;
use crate::kernel::select;

/// Runs the command.
pub fn run() -> Outcome {
    let cpu = CpuBackend::new();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let text = format!(
        "holdfast {version}, kernel sources {hash}\n\
         cpu        yes  {device}, {threads} threads: the kernels' own source\n\
         reference  yes  sequential f32 in Rust, a baseline\n\
         cuda       no   {no_cuda}\n",
        version = env!("CARGO_PKG_VERSION"),
        hash = &env!("HOLDFAST_KERNEL_SHA256")[..16],
        device = cpu.device(),
        no_cuda = select::no_cuda(),
    );
    Outcome { text, status: PASSED }
}
