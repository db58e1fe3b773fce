//! How long it takes to have every kernel: compiled by NVRTC, and from the cache.

use std::time::Instant;

use rayon::prelude::*;

use super::{Finding, device_finding};
use crate::kernel::cuda::CudaBackend;
use crate::kernel::registry::Kernel;

/// Compiles or loads every kernel, on all cores. Cold or cached: that depends on the cache directory.
pub fn run(backend: &CudaBackend) -> Vec<Finding> {
    let start = Instant::now();
    let kernels: Vec<Kernel> = Kernel::production().collect();
    let errors: Vec<String> = kernels
        .par_iter()
        .filter_map(|&kernel| backend.prepare(kernel).err())
        .map(|e| e.to_string())
        .collect();
    let statistics = backend.statistics();
    let figure = format!(
        "{:.1} s on {} threads: {} compiled, {} from the cache, {:.1} s summed over threads",
        start.elapsed().as_secs_f64(),
        rayon::current_num_threads(),
        statistics.compiled,
        statistics.cached,
        statistics.time.as_secs_f64()
    );
    let outcome = errors.into_iter().next().map_or(Ok(figure), Err);
    vec![device_finding(backend), Finding::new(format!("{} kernels", kernels.len()), outcome)]
}
