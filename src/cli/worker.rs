//! `holdfast worker`: one process's share of a CUDA run (see [`crate::kernel::cuda::worker`]). Not for people.

use super::{Outcome, PASSED};
use crate::kernel::cuda::worker;

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Run on the CPU in the place of a GPU with this many bytes of memory, for tests
    #[arg(long, value_name = "BYTES")]
    pub stand_in: Option<usize>,
}

/// The harness ended, or sent something that is no job.
#[derive(Debug, thiserror::Error)]
#[error("the worker's stream of jobs broke: {0} (hint: this command is for holdfast itself)")]
pub struct Error(#[from] std::io::Error);

pub fn run(args: &Args) -> Result<Outcome, Error> {
    worker::serve(args.stand_in, std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(Outcome::new(String::new(), PASSED))
}
