//! A fault of each kind, planted in the kernels: for tests that run every case on each of them.

use holdfast::judge::faults::catalogue;
use holdfast::kernel::CpuBackend;
use holdfast::method::Method;
use holdfast::problem::Weights;

/// By their names in `kernels/faults/list.cuh`.
pub const FAULTS: [&str; 11] = [
    "bilinear-swapped",
    "phi-taylor-4",
    "runs-as-zoh",
    "runs-as-poly",
    "runs-as-highorder",
    "poly-causal",
    "poly-without-half-foh",
    "highorder-n1",
    "log2e-twice-imaginary",
    "a-bar-2e-18",
    "b-bar-2e-18",
];

/// A copy of the kernels with the fault in it.
pub fn planted(fault: &str) -> CpuBackend {
    CpuBackend::with_faults(fault, None).expect("in the kernels' list")
}

/// Whether the fault changes what this method computes with these weights. What no diagnosis names is in every method.
pub fn affects(fault: &str, method: Method, weights: Weights) -> bool {
    let applies =
        |entry: &catalogue::Entry| entry.fault.applies_to(method) && entry.fault.applies_to_weights(weights);
    catalogue::find(fault).is_none_or(applies)
}
