//! A source of outputs that has none.

/// Why a kernel did not produce an output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    #[error("{what} of {found} is not supported, expected {expected} (hint: {hint})")]
    Unsupported { what: &'static str, found: String, expected: String, hint: &'static str },
    #[error("kernel fault: {0}")]
    Fault(String),
    /// No result in time.
    #[error("kernel fault: {0}")]
    TimedOut(String),
    /// A compiler does not take a foreign kernel's source; the first of its own lines.
    #[error("{0}")]
    Rejected(String),
    #[error(
        "out of device memory: a buffer of {needed} bytes was asked for, {free} are free (hint: a smaller batch)"
    )]
    OutOfMemory { needed: u64, free: u64 },
    /// The kernel did not run, for a reason that is not its own.
    #[error("{0}")]
    Unavailable(String),
}

impl KernelError {
    /// Whether it is the kernel's own fault, and so a failure. What this machine or the harness lacks leaves the kernel
    /// unmeasured.
    pub fn is_fault(&self) -> bool {
        match self {
            KernelError::Fault(_) | KernelError::TimedOut(_) | KernelError::Rejected(_) => true,
            KernelError::Unsupported { .. }
            | KernelError::OutOfMemory { .. }
            | KernelError::Unavailable(_) => false,
        }
    }
}
