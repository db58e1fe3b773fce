//! What can go wrong on the way to a CUDA kernel.

use std::path::PathBuf;

/// Why CUDA cannot run here, or why a kernel did not come to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CudaError {
    #[error("the library {library} was not found (hint: {hint})")]
    NoLibrary { library: &'static str, hint: &'static str },
    #[error("{library} is version {found}, expected {expected} or newer (hint: update {update})")]
    TooOld { library: &'static str, found: String, expected: &'static str, update: &'static str },
    #[error(
        "no CUDA device is visible (hint: look at `nvidia-smi`, CUDA_VISIBLE_DEVICES and the device files' rights)"
    )]
    NoDevice,
    #[error("{call} failed: {name}: {text}")]
    Call { call: &'static str, name: String, text: String },
    #[error("{found} is no CUDA architecture, expected one such as sm_90 (hint: {variable} overrides the device's own)", variable = super::arch::VARIABLE)]
    Architecture { found: String },
    #[error(
        "NVRTC {version} does not compile for {arch}, only for {known} (hint: install an NVRTC that does)"
    )]
    ArchitectureUnknown { arch: String, version: String, known: String },
    #[error("{program} does not compile for {arch}: {reason}\n{log}")]
    Compilation { program: String, arch: String, reason: String, log: String },
    /// What a worker said of its device.
    #[error("{0}")]
    Reported(String),
    #[error("the worker process {0}")]
    Worker(String),
    #[error(
        "{} is no holdfast binary, which could run the worker process (hint: CudaBackend::with_setup names one)",
        .0.display()
    )]
    NotHoldfast(PathBuf),
}
