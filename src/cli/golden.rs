//! `holdfast golden`: records outputs of a GPU for `golden/`, which a machine without one compares with.

use std::path::PathBuf;

use super::{CliError, Outcome, PASSED};
use crate::kernel::Backend;
use crate::kernel::cuda::{CudaBackend, nvrtc};
use crate::kernel::golden::{self, FILE};
use crate::kernel::select::SelectError;
use crate::promise::Tier;
use crate::report::json;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    holdfast golden --out golden/h200     what the kernels compute on an H200, into golden/h200/scans.json\n\n\
    Exit status: 0 recorded; 2 bad input or usage; 3 no GPU can run here.")]
pub struct Args {
    /// Folder that the goldens are written to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// A case could not be run.
#[derive(Debug, thiserror::Error)]
#[error("a case could not be recorded: {0} (hint: `holdfast verify --backend cuda` says more)")]
pub struct Error(#[from] crate::kernel::KernelError);

/// Runs the command. Only a GPU's outputs are worth recording.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let backend = CudaBackend::new().map_err(|error| SelectError::NoCuda(error.to_string()))?;
    let recorded = golden::record(&backend, nvrtc::flags(Tier::Accurate).join(" ")).map_err(Error::from)?;
    let path = args.out.join(FILE);
    json::write(&recorded, &path)?;
    let text = format!("{} cases of {}: {}\n", recorded.cases.len(), backend.device(), path.display());
    Ok(Outcome::new(text, PASSED))
}
