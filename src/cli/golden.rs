//! `holdfast golden`: records outputs of a GPU for `golden/`, which a machine without one compares with.

use std::path::{Path, PathBuf};

use super::{CliError, Outcome, PASSED};
use crate::kernel::Backend;
use crate::kernel::cuda::{CudaBackend, nvrtc};
use crate::kernel::golden::{self, FILE};
use crate::kernel::select::SelectError;

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Folder that the goldens are written to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("a case could not be recorded: {0} (hint: `holdfast verify --backend cuda` says more)")]
    Case(#[from] crate::kernel::KernelError),
    #[error("cannot write {}: {reason}", path.display())]
    Write { path: PathBuf, reason: String },
}

/// Runs the command. Only a GPU's outputs are worth recording.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let backend = CudaBackend::new().map_err(|error| SelectError::NoCuda(error.to_string()))?;
    let recorded = golden::record(&backend, nvrtc::FLAGS.join(" ")).map_err(Error::from)?;
    let path = args.out.join(FILE);
    write(&path, &recorded)
        .map_err(|reason| Error::Write { path: path.clone(), reason: reason.to_string() })?;
    let text = format!("{} cases of {}: {}\n", recorded.cases.len(), backend.device(), path.display());
    Ok(Outcome { text, status: PASSED })
}

fn write(path: &Path, recorded: &golden::Golden) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut text = serde_json::to_string_pretty(recorded).map_err(std::io::Error::other)?;
    text.push('\n');
    std::fs::write(path, text)
}
