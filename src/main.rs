//! Parse, dispatch, print, exit.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use holdfast::{cli, kernel};

fn main() -> ExitCode {
    cli::interrupt::install();
    let outcome = cli::parse().and_then(cli::run);
    kernel::cpu::end_workers();
    match outcome {
        Ok(outcome) => match print(&outcome.text) {
            Ok(()) => ExitCode::from(outcome.status),
            Err(error) => {
                eprintln!("error: cannot write the answer: {error}");
                ExitCode::from(2)
            }
        },
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.status())
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
