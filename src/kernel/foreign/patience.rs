//! How often a header may hang: waiting for each of its cases would take hours.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::kernel::KernelError;
use crate::kernel::cuda::limit_from_environment;
use crate::method::Method;
use crate::problem::Weights;

/// For one case, unless the environment says otherwise: a thousand times what the largest one takes.
const LIMIT: Duration = Duration::from_secs(10);

/// Cases of one method and weight type that may hang before the rest are given up.
const CASES: usize = 2;

/// The time limit for one case.
pub fn limit() -> Duration {
    limit_from_environment().unwrap_or(LIMIT)
}

/// Counts the cases that hung.
#[derive(Default)]
pub struct Patience(Mutex<HashMap<(Method, Weights), usize>>);

impl Patience {
    /// Runs a case, unless too many like it hung.
    pub fn run<T>(
        &self,
        method: Method,
        weights: Weights,
        case: impl FnOnce() -> Result<T, KernelError>,
    ) -> Result<T, KernelError> {
        let count = |more: usize| {
            let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let hung = table.entry((method, weights)).or_default();
            *hung += more;
            *hung
        };
        if count(0) >= CASES {
            return Err(KernelError::Fault(format!("not run: {method} hung in {CASES} other cases")));
        }
        case().inspect_err(|error| {
            if matches!(error, KernelError::TimedOut(_)) {
                count(1);
            }
        })
    }
}
