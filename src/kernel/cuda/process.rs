//! The harness's side of a worker: starts it, talks to it under a time limit, and kills it.

use std::io::Read;
use std::path::PathBuf;
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::device::DeviceInfo;
use super::error::CudaError;
use super::wire::{self, Reply, Request};
use crate::leftovers::process::{Pipes, Process};

/// How a worker is started.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<String>,
}

impl Program {
    /// This very program, if it is the `holdfast` binary: any other one does not know the subcommand.
    pub fn of_this_process() -> Result<Self, CudaError> {
        let path =
            std::env::current_exe().map_err(|error| CudaError::Worker(format!("has no program: {error}")))?;
        if path.file_stem().is_none_or(|stem| stem != "holdfast") {
            return Err(CudaError::NotHoldfast(path));
        }
        Ok(Program { path, arguments: vec!["worker".to_owned()] })
    }
}

/// Starting means loading the driver and creating a context: seconds on a machine with many GPUs.
const START_LIMIT: Duration = Duration::from_secs(120);

/// The last bytes of what a worker wrote to standard error.
const STDERR_TAIL: usize = 2000;

type Tensors = Vec<Option<Vec<u8>>>;

/// Why there was no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// The worker is gone; how it ended, in words.
    Died(String),
    /// The time limit has passed.
    TimedOut,
}

/// A running worker. Killed when dropped.
pub struct Worker {
    process: Process,
    requests: Sender<(Request, Tensors)>,
    replies: Receiver<std::io::Result<(Reply, Tensors)>>,
    stderr: Option<JoinHandle<String>>,
}

impl Worker {
    /// Starts a worker and waits until it has its device.
    pub fn start(program: &Program) -> Result<(Self, DeviceInfo), CudaError> {
        let mut command = Command::new(&program.path);
        command.args(&program.arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::spawn(&mut command)
            .map_err(|error| CudaError::Worker(format!("cannot be started: {error}")))?;
        let Pipes { stdin: Some(mut stdin), stdout: Some(mut stdout), stderr: Some(stderr) } =
            process.pipes()
        else {
            return Err(CudaError::Worker("has no pipes".to_owned()));
        };
        let stderr = Some(thread::spawn(move || tail(stderr)));
        let (requests, to_send) = mpsc::channel::<(Request, Tensors)>();
        let (to_return, replies) = mpsc::channel();
        // A thread of its own, so that a worker which neither reads nor writes cannot hold the harness up. It ends
        // when the worker does.
        thread::spawn(move || {
            loop {
                let reply = wire::receive::<Reply>(&mut stdout);
                let failed = reply.is_err();
                if to_return.send(reply).is_err() || failed {
                    return;
                }
                let Ok((request, tensors)) = to_send.recv() else { return };
                // Where this fails, the next receive does, too, and says so.
                let _ = wire::send(&mut stdin, &request, &tensors);
            }
        });
        let mut worker = Worker { process, requests, replies, stderr };
        match worker.reply(START_LIMIT) {
            Ok((Reply::Device(info), _)) => Ok((worker, info)),
            Ok((Reply::Cannot(reason), _)) => Err(CudaError::Reported(reason)),
            Ok(_) => Err(CudaError::Worker("speaks another language".to_owned())),
            Err(Silence::Died(how)) => Err(CudaError::Worker(how)),
            Err(Silence::TimedOut) => {
                Err(CudaError::Worker(format!("did not start within {} s", START_LIMIT.as_secs())))
            }
        }
    }

    /// Sends a request and waits for its reply. After a silence the worker is of no more use.
    pub fn ask(
        &mut self,
        request: Request,
        tensors: Tensors,
        limit: Duration,
    ) -> Result<(Reply, Tensors), Silence> {
        if self.requests.send((request, tensors)).is_err() {
            return Err(Silence::Died(self.obituary()));
        }
        self.reply(limit)
    }

    fn reply(&mut self, limit: Duration) -> Result<(Reply, Tensors), Silence> {
        match self.replies.recv_timeout(limit) {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(Silence::Died(self.obituary())),
            Err(RecvTimeoutError::Timeout) => Err(Silence::TimedOut),
        }
    }

    /// How the worker ended, and its last words.
    fn obituary(&mut self) -> String {
        obituary(&mut self.process, self.stderr.take())
    }
}

/// How a worker that speaks no more ended, and its last words.
pub fn obituary(worker: &mut Process, stderr: Option<JoinHandle<String>>) -> String {
    // It may have closed its output without ending.
    let how = match worker.end() {
        Ok(Some(status)) => ending(status),
        // Its words would have to be waited for.
        Ok(None) => return "died: it was killed, and does not go".to_owned(),
        Err(error) => error.to_string(),
    };
    let words = stderr.and_then(|thread| thread.join().ok()).unwrap_or_default();
    match words.trim() {
        "" => format!("died: {how}"),
        words => format!("died: {how}; its last words: {words}"),
    }
}

/// The last bytes of a stream, read to its end.
pub fn tail(mut from: ChildStderr) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..count]);
        let excess = kept.len().saturating_sub(STDERR_TAIL);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// How a process ended, in words.
pub fn ending(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.to_string()
}
