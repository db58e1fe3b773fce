//! The harness's side of a worker: starts it, asks it under a time limit, and kills it.

use std::io::{ErrorKind, Read, Result};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::limit;
use super::message::Message;
use crate::kernel::KernelError;
use crate::kernel::launch::DeviceError;
use crate::leftovers::process::{Pipes, Process};

/// The last bytes of what a worker wrote to standard error.
const STDERR_TAIL: usize = 2000;

/// How a worker is started.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<String>,
}

/// Why there was no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoReply {
    /// The worker is gone; how it ended, in words.
    Died(String),
    /// This time limit has passed.
    TimedOut(Duration),
}

impl From<NoReply> for DeviceError {
    fn from(why: NoReply) -> Self {
        match why {
            NoReply::Died(how) => DeviceError::Broken(format!("the worker process {how}")),
            NoReply::TimedOut(limit) => DeviceError::TimedOut(format!(
                "no result after {} s (hint: {} sets the limit)",
                limit.as_secs_f64(),
                limit::VARIABLE
            )),
        }
    }
}

impl From<NoReply> for KernelError {
    fn from(why: NoReply) -> Self {
        DeviceError::from(why).into()
    }
}

/// Starts the command. A program that was written just now is busy while another child, started meanwhile by another thread,
/// has not yet closed what it was written through.
fn spawn(command: &mut Command) -> Result<Process> {
    for _ in 0..100 {
        match Process::spawn(command) {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(5));
            }
            spawned => return spawned,
        }
    }
    Process::spawn(command)
}

/// A running worker. Killed when dropped.
pub struct Worker {
    process: Process,
    requests: Sender<Message>,
    replies: Receiver<Result<Message>>,
    stderr: Option<JoinHandle<String>>,
}

impl Worker {
    /// Starts the program.
    pub fn start(program: &Program) -> Result<Self> {
        let mut command = Command::new(&program.path);
        command.args(&program.arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = spawn(&mut command)?;
        let Pipes { stdin: Some(stdin), stdout: Some(stdout), stderr: Some(stderr) } = process.pipes() else {
            return Err(std::io::Error::other("no pipes"));
        };
        let stderr = Some(thread::spawn(move || tail(stderr)));
        let (requests, to_send) = mpsc::channel();
        let (to_return, replies) = mpsc::channel();
        // A thread of its own, so that a worker which neither reads nor writes cannot hold the harness up. It ends
        // when the worker does.
        thread::spawn(move || serve(stdin, stdout, &to_send, &to_return));
        Ok(Worker { process, requests, replies, stderr })
    }

    /// Sends a request and waits for its reply. Without one the worker is of no more use.
    ///
    /// # Errors
    /// The worker died, or was too slow.
    pub fn ask(&mut self, request: Message, limit: Duration) -> std::result::Result<Message, NoReply> {
        if self.requests.send(request).is_err() {
            return Err(NoReply::Died(self.ending()));
        }
        let replies = &self.replies;
        let reply = limit::of_its_own_time(&self.process, limit, || match replies.recv_timeout(limit) {
            Err(RecvTimeoutError::Timeout) => None,
            Ok(Ok(reply)) => Some(Some(reply)),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Some(None),
        });
        match reply {
            Some(Some(reply)) => Ok(reply),
            Some(None) => Err(NoReply::Died(self.ending())),
            None => Err(NoReply::TimedOut(limit)),
        }
    }

    fn ending(&mut self) -> String {
        let stderr = self.stderr.take();
        how_it_ended(&mut self.process, || stderr.and_then(|thread| thread.join().ok()).unwrap_or_default())
    }
}

/// How a worker that does not answer ended, and what it wrote last.
pub fn how_it_ended(process: &mut Process, written: impl FnOnce() -> String) -> String {
    // It may have closed its output without ending.
    let how = match process.end() {
        Ok(Some(status)) => status_in_words(status),
        // What it wrote would have to be waited for.
        Ok(None) => return "died: it was killed, and does not go".to_owned(),
        Err(error) => error.to_string(),
    };
    match written().trim() {
        "" => format!("died: {how}"),
        words => format!("died: {how}; its last words: {words}"),
    }
}

fn serve(
    mut stdin: ChildStdin,
    mut stdout: ChildStdout,
    requests: &Receiver<Message>,
    replies: &Sender<Result<Message>>,
) {
    while let Ok(request) = requests.recv() {
        let sent = request.send(&mut stdin);
        // Its tensors may be large.
        drop(request);
        let reply = sent.and_then(|()| Message::receive(&mut stdout));
        let failed = reply.is_err();
        if replies.send(reply).is_err() || failed {
            return;
        }
    }
}

/// The last bytes of a stream, read to its end.
pub fn tail(mut from: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..count]);
        let excess = kept.len().saturating_sub(STDERR_TAIL);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn status_in_words(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.to_string()
}
