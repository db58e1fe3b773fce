//! The harness's side of a foreign header's worker process (`kernels/foreign/worker.cpp`).

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::kernel::cuda::process::{Silence, obituary, tail};
use crate::leftovers::process::{Pipes, Process};

/// Starts every job and every answer.
const MAGIC: u64 = 0x686f_6c64_6661_7374;

/// One job, as the worker reads it: numbers, then tensors.
#[derive(Clone, Debug)]
pub struct Job {
    pub is_scan: bool,
    /// The method's id.
    pub method: u8,
    pub flags: u64,
    /// batch, dim, dstate, seqlen, groups
    pub sizes: [usize; 5],
    /// Elements, where it is no scan.
    pub n: usize,
    pub tensors: Vec<Vec<f32>>,
    /// Values of the answer.
    pub outputs: usize,
}

pub const SOFTPLUS: u64 = 1;
pub const SKIP: u64 = 2;
pub const GATE: u64 = 4;
pub const BIAS: u64 = 8;
pub const VARIABLE_B: u64 = 16;
pub const VARIABLE_C: u64 = 32;

impl Job {
    fn send(&self, to: &mut impl Write) -> Result<()> {
        let mut words = vec![MAGIC, self.is_scan.into(), self.method.into(), self.flags];
        words.extend(self.sizes.iter().chain([&self.n]).map(|&size| size as u64));
        words.resize(12, 0);
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.extend(self.tensors.iter().flatten().flat_map(|value| value.to_ne_bytes()));
        to.write_all(&bytes)?;
        to.flush()
    }
}

fn receive(from: &mut impl Read, outputs: usize) -> Result<Vec<f64>> {
    let mut word = || {
        let mut bytes = [0; 8];
        from.read_exact(&mut bytes).map(|()| u64::from_ne_bytes(bytes))
    };
    if word()? != MAGIC || word()? != outputs as u64 {
        return Err(Error::new(ErrorKind::InvalidData, "the worker speaks another language"));
    }
    let mut bytes = vec![0; outputs * 8];
    from.read_exact(&mut bytes)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|&value| f64::from_ne_bytes(value)).collect())
}

/// A running worker. Killed when dropped.
pub struct Worker {
    process: Process,
    jobs: Sender<Job>,
    answers: Receiver<Result<Vec<f64>>>,
    stderr: Option<JoinHandle<String>>,
}

impl Worker {
    /// Starts the program.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(program: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::spawn(&mut command)?;
        let Pipes { stdin: Some(stdin), stdout: Some(stdout), stderr: Some(stderr) } = process.pipes() else {
            return Err(Error::other("no pipes"));
        };
        let stderr = Some(thread::spawn(move || tail(stderr)));
        let (jobs, to_send) = mpsc::channel::<Job>();
        let (to_return, answers) = mpsc::channel();
        // A thread of its own: a worker that neither reads nor writes must not hold the harness up.
        thread::spawn(move || serve(stdin, stdout, &to_send, &to_return));
        Ok(Worker { process, jobs, answers, stderr })
    }

    /// Sends a job and waits for its answer. After a silence the worker is of no more use.
    ///
    /// # Errors
    /// The worker died, or was too slow.
    pub fn ask(&mut self, job: Job, limit: Duration) -> std::result::Result<Vec<f64>, Silence> {
        if self.jobs.send(job).is_err() {
            return Err(Silence::Died(self.obituary()));
        }
        match self.answers.recv_timeout(limit) {
            Ok(Ok(values)) => Ok(values),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(Silence::Died(self.obituary())),
            Err(RecvTimeoutError::Timeout) => Err(Silence::TimedOut),
        }
    }

    /// How the worker ended, and its last words.
    fn obituary(&mut self) -> String {
        obituary(&mut self.process, self.stderr.take())
    }
}

fn serve(
    mut stdin: ChildStdin,
    mut stdout: ChildStdout,
    jobs: &Receiver<Job>,
    answers: &Sender<Result<Vec<f64>>>,
) {
    while let Ok(job) = jobs.recv() {
        let answer = job.send(&mut stdin).and_then(|()| receive(&mut stdout, job.outputs));
        let failed = answer.is_err();
        if answers.send(answer).is_err() || failed {
            return;
        }
    }
}
