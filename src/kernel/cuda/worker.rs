//! The worker process: runs one job after the other on its device until its input ends. It is the only process that
//! loads the CUDA driver for a user's run, so that a fault ends with it.

use std::io::{self, Read, Write};

use super::device::{Device, DeviceError};
use super::gpu::Gpu;
use super::job;
use super::memory::Guarding;
use super::standin::StandIn;
use super::wire::{self, Reply, Request};

/// What a worker runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Gpu,
    /// The CPU build in the place of a GPU with this many bytes of memory: for tests.
    StandIn {
        memory: usize,
    },
}

/// A device that needs no GPU.
pub fn stand_in(memory: usize) -> Box<dyn Device> {
    Box::new(StandIn::new(memory))
}

/// Serves until the input ends, or until the device is broken. Errors of the streams mean that the harness is gone.
pub fn serve(on: On, mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut device: Box<dyn Device> = match on {
        On::StandIn { memory } => stand_in(memory),
        On::Gpu => match Gpu::open() {
            Ok(gpu) => Box::new(gpu),
            Err(error) => return wire::send(&mut output, &Reply::Cannot(error.to_string()), &[]),
        },
    };
    wire::send(&mut output, &Reply::Device(device.info().clone()), &[])?;
    loop {
        let (Request { job }, inputs) = match wire::receive::<Request>(&mut input) {
            Ok(message) => message,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        };
        match job::execute(&job, &inputs, device.as_mut(), Guarding::On) {
            Ok(outputs) => {
                let outputs: Vec<_> = outputs.into_iter().map(Some).collect();
                wire::send(&mut output, &Reply::Done, &outputs)?;
            }
            Err(error) => {
                let broken = matches!(error, DeviceError::Broken(_));
                wire::send(&mut output, &Reply::Failed(error), &[])?;
                if broken {
                    return Ok(());
                }
            }
        }
    }
}
