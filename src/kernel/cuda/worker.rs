//! The worker of a CUDA run: one process that loads the driver and runs one job after the other, so that a fault ends with
//! it. The harness's side ([`GpuWorker`]) replaces it when it dies; the process's side ([`serve`]) is `holdfast worker`.
//!
//! A request's header is an `Ask`, a reply's a `Reply`.

use std::fmt::Display;
use std::io::{self, Read, Write};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cache::Image;
use super::{CudaError, gpu};
use crate::kernel::cpu::device::CpuDevice;
use crate::kernel::launch::job::Bytes;
use crate::kernel::launch::{
    Device, DeviceError, DeviceInfo, Guarding, Job, Returned, Series, Timing, timing,
};
use crate::kernel::worker::{Message, NoReply, Program, Worker};
use crate::kernel::{KernelError, Result};

/// Starting means loading the driver and creating a context: seconds on a machine with many GPUs.
const START_LIMIT: Duration = Duration::from_secs(120);

/// What a worker is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Ask {
    /// For its device.
    Device,
    /// To run a job, whose inputs follow.
    Run(Job),
    /// To run it again and again.
    Time(Job, Box<Timing>),
}

/// What a worker answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Reply {
    Device(DeviceInfo),
    /// It has no device, and why.
    NoDevice(String),
    /// The outputs follow.
    Done,
    /// Of the kernels and of each peer; their outputs follow, one after the other, where they were asked for.
    Timed(Vec<Result<Series, DeviceError>>),
    Failed(DeviceError),
}

static NAMED: OnceLock<Program> = OnceLock::new();

/// From now on `program` is what [`this_program`] returns. For a process whose own executable is another one, as a Python
/// interpreter is, but which knows how `holdfast worker` is started. Counts once.
pub fn name_program(program: Program) {
    NAMED.get_or_init(|| program);
}

/// What was named as a worker; else this very program, if it is the `holdfast` binary: any other one does not know the
/// subcommand.
pub fn this_program() -> Result<Program, CudaError> {
    if let Some(program) = NAMED.get() {
        return Ok(program.clone());
    }
    let path =
        std::env::current_exe().map_err(|error| CudaError::Worker(format!("has no program: {error}")))?;
    if path.file_stem().is_none_or(|stem| stem != "holdfast") {
        return Err(CudaError::NotHoldfast(path));
    }
    Ok(Program { path, arguments: vec!["worker".to_owned()] })
}

/// Serves until the input ends, or until the device is broken; on the CPU, with so much memory, where a stand-in for a GPU
/// is asked for.
///
/// # Errors
/// Those of the streams: the harness is gone, or sends something else.
pub fn serve(stand_in: Option<usize>, mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut device: Result<Box<dyn Device>, CudaError> = match stand_in {
        Some(memory) => Ok(Box::new(CpuDevice::with_memory(memory))),
        None => gpu::open(),
    };
    loop {
        let request = match Message::receive(&mut input) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            received => received?,
        };
        let mut outputs = Vec::new();
        let reply = match (&mut device, request.header::<Ask>()?) {
            (Err(error), _) => Reply::NoDevice(error.to_string()),
            (Ok(device), Ask::Device) => Reply::Device(device.info()),
            (Ok(device), Ask::Run(job)) => {
                let job = Job { inputs: request.tensors, ..job };
                match job.execute(device.as_mut(), Guarding::On) {
                    Ok(fetched) => {
                        outputs = fetched;
                        Reply::Done
                    }
                    Err(error) => Reply::Failed(error),
                }
            }
            (Ok(device), Ask::Time(job, mut plan)) => {
                let job = Job { inputs: request.tensors, ..job };
                if let Some(flush) = &mut plan.flush {
                    // Inputs travel beside a job, and what flushes a cache has none.
                    flush.inputs = vec![None];
                }
                match timing::time(device.as_mut(), &job, &plan) {
                    Ok(runs) => {
                        outputs = runs.iter().flat_map(|run| run.outputs.clone()).collect();
                        Reply::Timed(runs.into_iter().map(|run| run.series).collect())
                    }
                    Err(error) => Reply::Failed(error),
                }
            }
        };
        Message::new(&reply, outputs)?.send(&mut output)?;
        if matches!(reply, Reply::NoDevice(_) | Reply::Failed(DeviceError::Broken(_))) {
            return Ok(());
        }
    }
}

/// How long runs took, and what the last one returned, where that was asked for.
pub type Raced = Result<(Series, Option<Returned>)>;

/// One worker process at a time, and how to start the next one. GPU work is serial.
pub struct GpuWorker {
    program: Program,
    /// For one job, on the device.
    limit: Duration,
    running: Mutex<Option<Worker>>,
}

impl GpuWorker {
    /// Starts the first process.
    pub fn start(program: Program, limit: Duration) -> Result<(Self, DeviceInfo), CudaError> {
        let (worker, info) = start(&program)?;
        Ok((GpuWorker { program, limit, running: Mutex::new(Some(worker)) }, info))
    }

    /// Runs a job, which is encoded when the process is free, with the images of its kernels; what they returned.
    pub fn run(&self, images: [Option<Image>; 2], job: impl FnOnce() -> Job) -> Result<Returned> {
        let (job, reply, outputs) = self.ask(images, job, |job| Ask::Run(job.clone()))?;
        match reply {
            Reply::Done => job.returned(&outputs),
            _ => Err(strange()),
        }
    }

    /// Runs a job again and again, by the kernels and then by each peer; how long each run took, and what the last one returned, where
    /// that is asked for.
    pub fn time(
        &self,
        images: [Option<Image>; 2],
        job: impl FnOnce() -> Job,
        timing: &Timing,
    ) -> Result<Vec<Raced>> {
        let (job, reply, outputs) =
            self.ask(images, job, |job| Ask::Time(job.clone(), Box::new(timing.clone())))?;
        let Reply::Timed(all) = reply else { return Err(strange()) };
        let mut outputs = outputs.into_iter();
        let raced = |series: Result<Series, DeviceError>| {
            let series = series.map_err(KernelError::from)?;
            let fetched: Bytes = outputs.by_ref().take(job.outputs.len()).collect();
            let returned = timing.collect.then(|| job.returned(&fetched)).transpose()?;
            Ok((series, returned))
        };
        Ok(all.into_iter().map(raced).collect())
    }

    /// The job without its inputs, and the answer.
    fn ask(
        &self,
        [image, image_then]: [Option<Image>; 2],
        job: impl FnOnce() -> Job,
        ask: impl FnOnce(&Job) -> Ask,
    ) -> Result<(Job, Reply, Bytes)> {
        let unavailable = |reason: &dyn Display| KernelError::Unavailable(reason.to_string());
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut worker = match running.take() {
            Some(worker) => worker,
            None => start(&self.program).map_err(|error| unavailable(&error))?.0,
        };
        // Encoded with the worker in hand: many threads wait here, and their tensors would fill the memory.
        let mut job = Job { image, image_then, ..job() };
        let inputs = std::mem::take(&mut job.inputs);
        let request = Message::new(&ask(&job), inputs).map_err(|error| unavailable(&error))?;
        let reply = worker.ask(request, self.limit)?;
        let answer: Result<Reply> = match reply.header() {
            // That process has ended.
            Ok(Reply::Failed(error @ DeviceError::Broken(_))) => return Err(error.into()),
            Ok(Reply::Failed(error)) => Err(error.into()),
            Ok(Reply::Device(_) | Reply::NoDevice(_)) | Err(_) => return Err(strange()),
            Ok(answer) => Ok(answer),
        };
        *running = Some(worker);
        drop(running);
        Ok((job, answer?, reply.tensors))
    }
}

/// What answers is no worker of this version.
fn strange() -> KernelError {
    KernelError::Unavailable("the worker process speaks another language".to_owned())
}

/// Starts a process and waits until it has its device.
pub fn start(program: &Program) -> Result<(Worker, DeviceInfo), CudaError> {
    let unusable = |reason: String| CudaError::Worker(reason);
    let mut worker =
        Worker::start(program).map_err(|error| unusable(format!("cannot be started: {error}")))?;
    let question = Message::new(&Ask::Device, Vec::new()).map_err(|error| unusable(error.to_string()))?;
    match worker.ask(question, START_LIMIT) {
        Ok(reply) => match reply.header() {
            Ok(Reply::Device(info)) => Ok((worker, info)),
            Ok(Reply::NoDevice(reason)) => Err(CudaError::Reported(reason)),
            Ok(Reply::Done | Reply::Timed(_) | Reply::Failed(_)) | Err(_) => {
                Err(unusable("speaks another language".to_owned()))
            }
        },
        Err(NoReply::Died(how)) => Err(unusable(how)),
        Err(NoReply::TimedOut(limit)) => Err(unusable(format!("did not start within {} s", limit.as_secs()))),
    }
}
