//! Parse, dispatch, print, exit.

use std::process::ExitCode;

use clap::Parser;
use holdfast::cli::{self, Cli};

fn main() -> ExitCode {
    match cli::run(Cli::parse()) {
        Ok(outcome) => {
            print!("{}", outcome.text);
            ExitCode::from(outcome.status)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.status())
        }
    }
}
