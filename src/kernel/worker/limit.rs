//! How long a case may take, and how often a kernel may hang: waiting for each of its cases would take hours.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::kernel::{KernelError, Result};
use crate::leftovers::process::Process;
use crate::method::Method;
use crate::problem::Weights;

/// Seconds that one case may take before its worker is replaced.
pub const VARIABLE: &str = "HOLDFAST_CASE_SECONDS";

/// For a case on a GPU. Generous: a full-size one takes less than a second.
pub const CUDA: Duration = Duration::from_secs(120);

/// For a launch on this machine's CPU: a hundred times what the largest one takes.
pub const CPU: Duration = Duration::from_secs(30);

/// For a case of a foreign header: a thousand times what the largest one takes.
pub const FOREIGN: Duration = Duration::from_secs(10);

/// Cases of one method and weight type that may hang before the rest are given up.
const HANGS: usize = 2;

/// Times its limit that a process is waited for at most, if it has hardly had a processor: a busy machine is no fault of a kernel.
const PATIENCE: usize = 10;

/// Waits for a process, by `wait`, which gives up after the limit: once more as long as the process has had less than three quarters of
/// that on a processor and waits for nothing else.
pub fn of_its_own_time<T>(
    process: &Process,
    limit: Duration,
    mut wait: impl FnMut() -> Option<T>,
) -> Option<T> {
    let before = process.usage().map_or(Duration::ZERO, |usage| usage.time);
    for _ in 0..PATIENCE {
        if let Some(reply) = wait() {
            return Some(reply);
        }
        let usage = process.usage().filter(|usage| usage.is_running)?;
        if usage.time.saturating_sub(before) >= limit.mul_f64(0.75) {
            return None;
        }
    }
    None
}

/// The limit that [`VARIABLE`] sets, else `usual`.
pub fn from_environment(usual: Duration) -> Duration {
    let seconds = std::env::var(VARIABLE).ok().and_then(|text| text.parse::<f64>().ok());
    let limit = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()).filter(|limit| !limit.is_zero());
    limit.unwrap_or(usual)
}

/// Counts the cases that hung.
#[derive(Debug, Default)]
pub struct Hangs(Mutex<HashMap<(Method, Weights), usize>>);

impl Hangs {
    /// Runs a case, unless too many like it hung.
    pub fn run<T>(&self, method: Method, weights: Weights, case: impl FnOnce() -> Result<T>) -> Result<T> {
        let count = |more: usize| {
            let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let hung = table.entry((method, weights)).or_default();
            *hung += more;
            *hung
        };
        if count(0) >= HANGS {
            return Err(KernelError::Fault(format!("not run: {method} hung in {HANGS} other cases")));
        }
        case().inspect_err(|error| {
            if matches!(error, KernelError::TimedOut(_)) {
                count(1);
            }
        })
    }
}
