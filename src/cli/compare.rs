//! `holdfast compare`: what changed between two runs, from their machine output.

use std::path::{Path, PathBuf};

use super::compare_outputs::{self, Address};
use super::show::Show;
use super::{CliError, FAILED, Outcome, PASSED, bench, output};
use crate::check::outputs::NotAlike;
use crate::problem::recorded::RecordError;
use crate::report::console::Detail;
use crate::report::{self, json};
use crate::results::bench_compare::SLOWER;
use crate::results::compare::{self, Incomparable};
use crate::tensor_file::shown;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    holdfast verify --json before.json && …change a kernel… && holdfast verify --json after.json\n  \
    holdfast compare before.json after.json\n  \
    holdfast compare gpu/results.json reports/latest/results.json --verbose\n  \
    holdfast compare a.safetensors:out.zoh b.safetensors:out.zoh.mine   two recorded outputs\n\n\
    Listed are the verdicts that changed, then errors whose share of the allowance has more than doubled or halved \
    and reaches 1/16, then what is gone or new. An error that moved under the same verdict is no regression.\n\n\
    A regression is any of these, of cases, sweeps, invariants and lifted runs alike:\n  \
    worse    what passed fails or is unmeasured, or one of these two has become the other\n  \
    narrower fewer of its elements are judged\n  \
    gone     the old run judged it, the new one did not\n  \
    new      only the new run judged it, and it does not pass\n  \
    pairs    a pair of methods fails in the new run only; or more of them fail or are\n           \
             unmeasured in all, or those of fewer problems were compared\n  \
    nothing  the runs have nothing in common\n\
    Between different backends lifted runs are left out where one run has none.\n\n\
    Two recorded outputs are compared as FILE.safetensors:TENSOR each, for instance a.safetensors:out.zoh and \
    b.safetensors:out.foh.mine: they agree where they differ by what their truths differ by, within both bounds. Names, \
    files and inputs may differ, the shape may not.\n\n\
    Exit status: 0 no regression, or outputs that agree; 1 a regression, or outputs that do not; 2 bad usage, or files that are no results, or of another schema, \
    seed or inputs.")]
pub struct Args {
    /// The earlier run: a results.json, or what --json wrote; or a recorded output, FILE.safetensors:TENSOR
    #[arg(value_name = "OLD.json", value_hint = clap::ValueHint::FilePath)]
    pub old: PathBuf,
    /// The later run; or another recorded output
    #[arg(value_name = "NEW.json", value_hint = clap::ValueHint::FilePath)]
    pub new: PathBuf,
    /// File for the machine-readable comparison
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub json: Option<PathBuf>,
}

/// Why two files were not compared: exit status 2.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Read(#[from] json::ReadError),
    #[error("{}: {source}", shown(&path.to_string_lossy()))]
    Recording { path: PathBuf, source: RecordError },
    #[error("{} has no output `{found}` (hint: it has {known})", shown(&path.to_string_lossy()))]
    NoSuchOutput { path: PathBuf, found: String, known: String },
    #[error(transparent)]
    Outputs(#[from] NotAlike),
    #[error(
        "{0} is a recording, expected one of its outputs or a results.json (hint: {0}:out.zoh, say)",
        shown(&path.to_string_lossy())
    )]
    NoTensor { path: PathBuf },
    #[error(
        "expected two recorded outputs or two results, found one of each (hint: FILE.safetensors:TENSOR twice)"
    )]
    OneOfEach,
    #[error("{} and {} cannot be compared: {source}", old.display(), new.display())]
    Incomparable { old: PathBuf, new: PathBuf, source: Box<Incomparable> },
}

pub fn run(args: &Args, show: Show) -> Result<Outcome, CliError> {
    output::prepare(None, &[("--json", args.json.as_deref())])?;
    match [&args.old, &args.new].map(|argument| Address::read(argument)) {
        [Some(left), Some(right)] => return compare_outputs::run([&left, &right], args.json.as_deref()),
        [None, None] => {
            let is_recording = |path: &&PathBuf| path.extension().is_some_and(|e| e == "safetensors");
            if let Some(path) = [&args.old, &args.new].into_iter().find(is_recording) {
                return Err(Error::NoTensor { path: path.clone() }.into());
            }
        }
        _ => return Err(Error::OneOfEach.into()),
    }
    let read = |path: &Path| json::read(path).map_err(Error::from);
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    if !old.bench.is_empty() && !new.bench.is_empty() {
        return bench::compare::results([&old, &new], SLOWER, false, args.json.as_deref(), show);
    }
    let comparison = compare::compare(&old, &new).map_err(|source| Error::Incomparable {
        old: args.old.clone(),
        new: args.new.clone(),
        source: Box::new(source),
    })?;
    let (old_name, new_name) = (args.old.display().to_string(), args.new.display().to_string());
    let text =
        report::compare::render(&comparison, (&old_name, &old), (&new_name, &new), show.colour, show.detail);
    let (json, written) = output::put_json(args.json.as_deref(), || json::of_comparison(&comparison))?;
    let status = if comparison.regressed() { FAILED } else { PASSED };
    let written = if show.detail == Detail::Quiet { String::new() } else { written };
    Ok(Outcome::new(text + &written, status).with_json(json))
}
