//! Ctrl-C: ends the process at once, but leaves no half-written file and no process of ours behind.

use crate::leftovers;

/// What a shell expects of a process that an interrupt ended: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

/// From now on an interrupt or a request to terminate ends compilers and workers, removes what is half-written, and ends
/// the process.
pub fn install() {
    let installed = ctrlc::set_handler(|| {
        leftovers::remove_all();
        std::process::exit(INTERRUPTED);
    });
    // Where no handler can be had, an interrupt ends the process all the same: only its leftovers stay.
    drop(installed);
}
