//! Child processes that are ended on an interrupt: compilers and workers.

use std::io::{Error, Result};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use super::listed;

/// A child process and those that it starts in its turn (a compiler's driver has the compiler proper as its child), listed
/// until it has been waited for. Killed when dropped.
#[derive(Debug)]
pub struct Process {
    /// And of its group.
    id: u32,
    /// None of a copy of this process.
    child: Option<Child>,
    status: Option<ExitStatus>,
}

/// Processor time that a process has had, and whether it is using more, or waits for nothing but a processor.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub time: Duration,
    pub is_running: bool,
}

/// The child's ends of the pipes that the command asked for.
pub struct Pipes {
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    pub stderr: Option<ChildStderr>,
}

/// How often a child is asked whether it has ended.
const POLL: Duration = Duration::from_millis(5);

/// How long a killed process may take to end: one that hangs in a driver may take longer, and is left to the system.
const TIME_TO_END: Duration = Duration::from_secs(2);

impl Process {
    /// Starts the command in a process group of its own and lists it, in one step as far as an interrupt can see.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut listed = listed();
        let child = command.spawn()?;
        listed.processes.push(child.id());
        Ok(Process { id: child.id(), child: Some(child), status: None })
    }

    /// The same for a copy of this process, which `fork` makes: it returns the id, which is also that of its group.
    #[cfg(unix)]
    pub fn fork(fork: impl FnOnce() -> Result<u32>) -> Result<Self> {
        let mut listed = listed();
        let id = fork()?;
        listed.processes.push(id);
        Ok(Process { id, child: None, status: None })
    }

    /// Takes the pipes, once.
    pub fn pipes(&mut self) -> Pipes {
        match &mut self.child {
            Some(Child { stdin, stdout, stderr, .. }) => {
                Pipes { stdin: stdin.take(), stdout: stdout.take(), stderr: stderr.take() }
            }
            None => Pipes { stdin: None, stdout: None, stderr: None },
        }
    }

    /// Processor time so far; none where the system does not tell.
    pub fn usage(&self) -> Option<Usage> {
        #[cfg(target_os = "linux")]
        {
            let text = std::fs::read_to_string(format!("/proc/{}/stat", self.id)).ok()?;
            // Behind the name, which may hold anything: the state, ten numbers, and the ticks in the program and in the system.
            let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
            let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
            let seconds = (ticks(11)? + ticks(12)?) as f64 / rustix::param::clock_ticks_per_second() as f64;
            Some(Usage { time: Duration::from_secs_f64(seconds), is_running: fields[0] == "R" })
        }
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// How it ended, if it has.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        if self.status.is_none() {
            // Once a process has been waited for, its id may go to another one: no handler may read the list in between.
            let mut listed = listed();
            self.status = match &mut self.child {
                Some(child) => child.try_wait()?,
                None => status_of(self.id)?,
            };
            if self.status.is_some() {
                listed.processes.retain(|&leader| leader != self.id);
            }
        }
        Ok(self.status)
    }

    /// How it ended, if it does within the limit.
    pub fn wait_for(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        let start = Instant::now();
        loop {
            let status = self.try_wait()?;
            if status.is_some() || start.elapsed() >= limit {
                return Ok(status);
            }
            thread::sleep(POLL);
        }
    }

    /// Kills it with all that it started; how it ended, unless it does not go.
    pub fn end(&mut self) -> Result<Option<ExitStatus>> {
        if self.try_wait()?.is_none() {
            kill_group(self.id);
            // Where there are no groups.
            let _ = self.child.as_mut().map(Child::kill);
        }
        self.wait_for(TIME_TO_END)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// How a child that this process's own list of children does not have ended, if it has.
fn status_of(id: u32) -> Result<Option<ExitStatus>> {
    #[cfg(unix)]
    if let Some(id) = group(id) {
        let ended = rustix::process::waitpid(Some(id), rustix::process::WaitOptions::NOHANG)?;
        let status = |raw: i32| std::os::unix::process::ExitStatusExt::from_raw(raw);
        return Ok(ended.map(|(_, ended)| status(ended.as_raw())));
    }
    Err(Error::other(format!("process {id} is no child")))
}

#[cfg(unix)]
fn group(id: u32) -> Option<rustix::process::Pid> {
    i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw)
}

/// Kills a process that was started by [`Process::spawn`] or [`Process::fork`], and its group.
pub(super) fn kill_group(leader: u32) {
    #[cfg(unix)]
    if let Some(group) = group(leader) {
        // It may be gone already.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = leader;
}
