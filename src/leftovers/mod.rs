//! What an interrupt must not leave behind: temporary files and folders ([`scratch`]), and child processes
//! ([`process`]).
//!
//! Each of them goes when it is dropped, but a signal ends the process without dropping anything. So each is listed here
//! while it exists, and [`remove_all`], which a signal handler calls, ends and removes what is listed. What must not be
//! torn apart (a process that starts, a finished report taking the place of an older one) happens under the list's lock:
//! the handler waits for it.

pub mod process;
pub mod scratch;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often removing is tried anew while another thread or an ending process still writes.
const ATTEMPTS: usize = 100;

static LISTED: Mutex<Listed> = Mutex::new(Listed { paths: Vec::new(), processes: Vec::new() });

struct Listed {
    paths: Vec<PathBuf>,
    /// Leaders of process groups, none of which has been waited for: their ids are still theirs.
    processes: Vec<u32>,
}

fn listed() -> MutexGuard<'static, Listed> {
    // A panic in another thread does not damage the list.
    LISTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends every process that is listed, removes every file and folder, and never lets go of the list: for a handler that
/// ends the process.
pub fn remove_all() {
    let listed = listed();
    // Processes first: they could still write into the folders.
    listed.processes.iter().for_each(|&leader| process::kill_group(leader));
    listed.paths.iter().for_each(|path| remove(path));
    std::mem::forget(listed);
}

fn remove(path: &Path) {
    for _ in 0..ATTEMPTS {
        let gone = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        if gone.is_ok() || !path.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
