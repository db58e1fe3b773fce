//! The whole program, for whatever has a command line to give: `main`, and the Python package's own.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};

use super::{Outcome, interrupt, show};
use crate::kernel::cpu::end_workers;
use crate::report::console;

/// Parses a command line, whose first word is the program's name, carries it out, prints the answer, and ends the workers;
/// the exit status. From here on an interrupt ends the process.
pub fn program(arguments: &[OsString]) -> u8 {
    interrupt::install();
    console::fit_into(show::columns());
    let outcome = super::parse(arguments).and_then(super::run);
    end_workers();
    match outcome {
        Ok(outcome) => match print(&outcome) {
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
fn print(outcome: &Outcome) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(outcome.text.as_bytes()).and_then(|()| out.flush());
    // What nobody can read is no reason to end otherwise.
    let _ = std::io::stderr().write_all(outcome.aside.as_bytes());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
