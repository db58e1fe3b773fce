//! Ctrl-C: ends the process at once, but leaves no half-written file and no process of ours behind.

use std::ffi::c_int;

use crate::leftovers;

/// What a shell expects of a process that an interrupt ended: 128 + SIGINT.
const INTERRUPTED: c_int = 130;

// The C library's: ends the process without what libraries have put off until its end. NVRTC's threads may still work with that:
// `std::process::exit` then ends in "free(): invalid size".
unsafe extern "C" {
    safe fn _exit(status: c_int) -> !;
}

/// From now on an interrupt or a request to terminate ends compilers and workers, removes what is half-written, and ends
/// the process.
pub fn install() {
    let installed = ctrlc::set_handler(|| {
        leftovers::remove_all();
        _exit(INTERRUPTED);
    });
    // Where no handler can be had, an interrupt ends the process all the same: only its leftovers stay.
    drop(installed);
}
