//! `holdfast merge`: the report of a run that was done in parts.

use std::path::PathBuf;
use std::time::Instant;

use super::show::Show;
use super::{CliError, Outcome, output};
use crate::parts;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    for k in 1 2 3 4; do holdfast verify --partition $k/4 --out parts; done\n  \
    holdfast merge parts --out report\n\n\
    Parts of another version, plan, seed, backend, device or kernel source are refused, and what is missing is named, with the \
    command that continues it. `holdfast plan` writes scripts that run parts and merge them.\n\n\
    Exit status: 0 all verdicts pass; 1 some verdict fails or could not be measured; 2 parts that are missing or do not belong \
    together.")]
pub struct Args {
    /// What `--partition` wrote: its folders, or files of them
    #[arg(required = true, value_name = "PARTS", value_hint = clap::ValueHint::AnyPath)]
    pub parts: Vec<PathBuf>,
    #[command(flatten)]
    pub output: output::Args,
}

pub fn run(args: &Args, show: Show) -> Result<Outcome, CliError> {
    let started = Instant::now();
    let out = args.output.out.as_deref();
    args.output.prepare(out, None)?;
    let mut results = parts::merge(&args.parts)?;
    output::stamp(&mut results, None);
    output::finish(&results, &args.output, out, "", started.elapsed(), show)
}
