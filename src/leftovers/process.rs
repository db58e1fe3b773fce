//! Child processes that are ended on an interrupt: compilers and workers.

use std::io::Result;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use super::listed;

/// A child process and those that it starts in its turn (a compiler's driver has the compiler proper as its child), listed
/// until it has been waited for. Killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    status: Option<ExitStatus>,
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
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut listed = listed();
        let child = command.spawn()?;
        listed.processes.push(child.id());
        Ok(Process { child, status: None })
    }

    /// Takes the pipes, once.
    pub fn pipes(&mut self) -> Pipes {
        let Child { stdin, stdout, stderr, .. } = &mut self.child;
        Pipes { stdin: stdin.take(), stdout: stdout.take(), stderr: stderr.take() }
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// The system does not say.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        if self.status.is_none() {
            // Once a process has been waited for, its id may go to another one: no handler may read the list in between.
            let mut listed = listed();
            self.status = self.child.try_wait()?;
            if self.status.is_some() {
                listed.processes.retain(|&leader| leader != self.child.id());
            }
        }
        Ok(self.status)
    }

    /// How it ended, if it does within the limit.
    ///
    /// # Errors
    /// The system does not say.
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
    ///
    /// # Errors
    /// The system does not say.
    pub fn end(&mut self) -> Result<Option<ExitStatus>> {
        if self.try_wait()?.is_none() {
            kill_group(self.child.id());
            // Where there are no groups.
            let _ = self.child.kill();
        }
        self.wait_for(TIME_TO_END)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Kills a process that was started by [`Process::spawn`], and its group.
pub(super) fn kill_group(leader: u32) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw) {
        // It may be gone already.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = leader;
}
