//! Where jobs are run: one worker process at a time, replaced when it dies. GPU work is serial.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::LIMIT_VARIABLE;
use super::cache::Image;
use super::device::{DeviceError, DeviceInfo};
use super::error::CudaError;
use super::job::Prepared;
use super::process::{Program, Silence, Worker};
use super::wire::{Reply, Request};
use crate::kernel::KernelError;

/// A worker, and how to start the next one.
pub struct Station {
    program: Program,
    /// For one job, on the device.
    limit: Duration,
    worker: Mutex<Option<Worker>>,
}

impl Station {
    /// Starts the first worker. Fails where it has no device.
    pub fn start(program: Program, limit: Duration) -> Result<(Self, DeviceInfo), CudaError> {
        let (worker, info) = Worker::start(&program)?;
        Ok((Station { program, limit, worker: Mutex::new(Some(worker)) }, info))
    }

    /// Runs a job, which is encoded when the worker is free; the outputs' bytes.
    pub fn run(
        &self,
        image: Option<Image>,
        job: impl FnOnce() -> Prepared,
    ) -> Result<Vec<Vec<u8>>, KernelError> {
        let unavailable = |error: CudaError| KernelError::Unavailable(error.to_string());
        let mut slot = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let mut worker = match slot.take() {
            Some(worker) => worker,
            None => Worker::start(&self.program).map_err(unavailable)?.0,
        };
        // Encoded with the worker in hand: many threads wait here, and their tensors would fill the memory.
        let Prepared { mut job, inputs } = job();
        job.image = image;
        match worker.ask(Request { job }, inputs, self.limit) {
            Ok((Reply::Done, outputs)) => {
                *slot = Some(worker);
                Ok(outputs.into_iter().flatten().collect())
            }
            Ok((Reply::Failed(DeviceError::Broken(reason)), _)) => Err(KernelError::Fault(reason)),
            Ok((Reply::Failed(error), _)) => {
                *slot = Some(worker);
                Err(match error {
                    DeviceError::OutOfMemory { needed, free } => KernelError::OutOfMemory { needed, free },
                    error => KernelError::Fault(error.to_string()),
                })
            }
            Ok((Reply::Device(_) | Reply::Cannot(_), _)) => {
                Err(KernelError::Unavailable("the worker process speaks another language".to_owned()))
            }
            Err(Silence::Died(how)) => Err(KernelError::Fault(format!("the worker process {how}"))),
            Err(Silence::TimedOut) => Err(KernelError::TimedOut(format!(
                "no result after {} s (hint: {LIMIT_VARIABLE} sets the limit)",
                self.limit.as_secs_f64()
            ))),
        }
    }
}
