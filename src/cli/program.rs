//! The whole program, for whatever has a command line to give: `main`, and the Python package's own.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};

use super::interrupt;
use crate::kernel::cpu::end_workers;

/// Parses a command line, whose first word is the program's name, carries it out, prints the answer, and ends the workers;
/// the exit status. From here on an interrupt ends the process.
pub fn program(arguments: &[OsString]) -> u8 {
    interrupt::install();
    let outcome = super::parse(arguments).and_then(super::run);
    end_workers();
    match outcome {
        Ok(outcome) => match print(&outcome.text) {
            Ok(()) => outcome.status,
            Err(error) => {
                eprintln!("error: cannot write the answer: {error}");
                2
            }
        },
        Err(error) => {
            eprintln!("error: {error}");
            error.status()
        }
    }
}

/// A reader that has seen enough, as `head` has, is no error.
fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
