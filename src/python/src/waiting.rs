//! Work beside the interpreter: other Python threads run meanwhile, and Ctrl-C works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How long an interrupt may go unnoticed.
const NOTICED: Duration = Duration::from_millis(50);

/// Whether threads of this process have worked, and whether it is a copy of one in which they have: `fork` leaves them behind,
/// and whoever waits for them waits for ever.
static WORKED: AtomicBool = AtomicBool::new(false);
static LEFT_BEHIND: AtomicBool = AtomicBool::new(false);

/// To be called in a copy of the process that `fork` has made.
#[pyfunction]
pub fn forked() {
    LEFT_BEHIND.fetch_or(WORKED.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Whether `fork` has left the threads behind that this process would wait for.
pub fn is_left_behind() -> bool {
    LEFT_BEHIND.load(Ordering::Relaxed)
}

/// To be called before threads of this process work.
///
/// # Errors
/// `RuntimeError` in a copy of a process that has already worked.
pub fn begin() -> PyResult<()> {
    if is_left_behind() {
        return Err(PyRuntimeError::new_err(
            "this process was forked from one that has used holdfast, expected one that was started anew \
             (hint: multiprocessing.set_start_method(\"spawn\"))",
        ));
    }
    WORKED.store(true, Ordering::Relaxed);
    Ok(())
}

/// Does the work on a thread of its own and waits for it. An interrupt ends the waiting at once; the work learns of it by the
/// flag that it is given, and its result is dropped.
///
/// # Errors
/// What a signal's handler raises, `KeyboardInterrupt` by default; `RuntimeError` in a copy of a process that has already worked.
pub fn work<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(Arc<AtomicBool>) -> T + Send + 'static,
) -> PyResult<T> {
    begin()?;
    let stop = Arc::new(AtomicBool::new(false));
    let (tell, mut told) = mpsc::channel();
    let flag = Arc::clone(&stop);
    let thread = thread::spawn(move || {
        let answer = work(Arc::clone(&flag));
        drop(tell.send(answer));
        if flag.load(Ordering::Relaxed) {
            // Arrays that were let go of beside the interpreter are freed once it is entered, and nobody else may do that soon.
            Python::try_attach(|_| {});
        }
    });
    loop {
        let (again, answer) = py.detach(move || {
            let answer = told.recv_timeout(NOTICED);
            (told, answer)
        });
        told = again;
        match answer {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(PyRuntimeError::new_err("the work ended without a result")),
            },
        }
    }
}
