//! A fault of each kind, planted in the kernels: for tests that run every case on each of them.

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

/// Whether the fault changes what this method computes with these weights. What is off by very little is in every method.
pub fn affects(fault: &str, method: Method, weights: Weights) -> bool {
    match fault {
        "bilinear-swapped" => method == Method::Bilinear,
        "phi-taylor-4" => [Method::Foh, Method::Poly, Method::HighOrder].contains(&method),
        "poly-causal" | "poly-without-half-foh" => method == Method::Poly,
        "highorder-n1" => method == Method::HighOrder,
        "log2e-twice-imaginary" => weights == Weights::Complex && method != Method::Bilinear,
        _ => fault.strip_prefix("runs-as-") != Some(method.name()),
    }
}
