//! `holdfast diff`: two revisions of a kernel header.

use std::path::PathBuf;

use super::names::Selection;
use super::output::{self, DEFAULT_SEED};
use super::show::Show;
use super::{CliError, FAILED, Outcome, PASSED, names};
use crate::diff::{Request, diff};
use crate::judge::diagnose::Budget;
use crate::kernel::foreign::Header;
use crate::kernel::select::{self, Choice};
use crate::method::Method;
use crate::problem::{Operand, Weights};
use crate::report;
use crate::report::console::Detail;
use crate::tensor_file::shown;

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "For each method, real and complex weights, constant and variable B: is the new revision equal in all\n\
    bits, equal within rounding, closer to the specification or farther from it, and do both compile?\n\n\
    Exit status: 0 nothing got worse; 1 something did, or could not be told; 2 bad input or usage;\n\
    3 the requested backend cannot run here.\n\n\
    Examples:\n  \
    holdfast diff old.cuh new.cuh                        everything\n  \
    holdfast diff old.cuh new.cuh --method foh --json r  one method, machine-readable as well"
)]
pub struct Args {
    /// The revision that is in use
    #[arg(value_name = "OLD.cuh", value_hint = clap::ValueHint::FilePath)]
    pub old: PathBuf,
    /// The revision that might replace it
    #[arg(value_name = "NEW.cuh", value_hint = clap::ValueHint::FilePath)]
    pub new: PathBuf,
    /// Methods to compare, by name or id; several with commas or patterns [default: all]
    #[arg(long = "method", value_name = "M", value_parser = names::method().several())]
    pub methods: Vec<Selection<Method>>,
    /// Only real or only complex weights
    #[arg(long, value_parser = names::weights())]
    pub weights: Option<Weights>,
    /// Only this layout of B
    #[arg(long, value_parser = names::operand())]
    pub b: Option<Operand>,
    /// The headers' callers pass A·log₂e (of a complex A, the real part times log₂e) in place of A, for these methods
    #[arg(long, value_name = "M", value_parser = names::method().several(), hide_possible_values = true)]
    pub a_times_log2e: Vec<Selection<Method>>,
    /// What runs the headers
    #[arg(long, default_value = "auto", value_parser = names::header_backend())]
    pub backend: Choice,
    /// How long the cause of each failing revision is looked for, and six times that in all; `thorough` to the end, `off` for
    /// the comparison alone
    #[arg(long, value_name = "SECONDS", default_value_t = Budget::USUAL)]
    pub diagnosis: Budget,
    /// Seed of the random inputs
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// File for the machine-readable results
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub json: Option<PathBuf>,
}

pub fn run(args: &Args, show: Show) -> Result<Outcome, CliError> {
    let request = Request {
        methods: names::methods_or_all(&Selection::all(&args.methods)),
        weights: args.weights.map_or(Weights::ALL.to_vec(), |weights| vec![weights]),
        b: args.b.map_or(Operand::ALL.to_vec(), |b| vec![b]),
        seed: args.seed,
        diagnosis: args.diagnosis,
    };
    output::prepare(None, &[("--json", args.json.as_deref())])?;
    // Both files before any compiler: a mistake in the second should not cost the time of the first.
    let read = |path| {
        Ok::<_, CliError>(Header { base_two: Selection::all(&args.a_times_log2e), ..Header::read(path)? })
    };
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let variable = std::env::var(select::VARIABLE).ok();
    let compile = |header| select::select_for_header(header, args.backend, variable.as_deref());
    let (old, new) = rayon::join(|| compile(old), || compile(new));
    let (old, new) = (old?, new?);
    let path = |path: &PathBuf| shown(&path.to_string_lossy());
    let result = diff(&request, &old.backend, &new.backend, (path(&args.old), path(&args.new)));
    let (json, written) = output::put_json(args.json.as_deref(), || report::json::to_string(&result))?;
    let status = if result.worse { FAILED } else { PASSED };
    if show.detail == Detail::Quiet {
        let text = format!("holdfast diff: {}\n", result.recommendation);
        return Ok(Outcome::new(text, status).with_json(json));
    }
    let mut text = report::revisions::render(&result);
    text.push_str(&output::backend_line(&result.backend, &new.why));
    text.push_str(&written);
    Ok(Outcome::new(text, status).with_json(json))
}
