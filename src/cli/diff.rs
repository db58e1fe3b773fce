//! `holdfast diff`: two revisions of a kernel header.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::verify::{DEFAULT_SEED, method_parser, name_parser};
use super::{CliError, FAILED, Outcome, PASSED};
use crate::diff::{Request, diff};
use crate::kernel::foreign::Header;
use crate::kernel::foreign::select::select;
use crate::kernel::select::{self, Choice};
use crate::method::Method;
use crate::problem::{Operand, Weights};
use crate::report;
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
    #[arg(value_name = "OLD.cuh")]
    pub old: PathBuf,
    /// The revision that might replace it
    #[arg(value_name = "NEW.cuh")]
    pub new: PathBuf,
    /// Methods to compare, by name or id; may be repeated [default: all six]
    #[arg(long = "method", value_name = "M", value_parser = method_parser())]
    pub methods: Vec<Method>,
    /// Only real or only complex weights
    #[arg(long, value_parser = name_parser::<Weights>(Weights::ALL.map(Weights::name)))]
    pub weights: Option<Weights>,
    /// Only this layout of B
    #[arg(long, value_parser = name_parser::<Operand>(Operand::ALL.map(Operand::name)))]
    pub b: Option<Operand>,
    /// What runs the headers
    #[arg(long, default_value = "auto", value_parser = header_backend_parser())]
    pub backend: Choice,
    /// Seed of the random inputs
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// File for the machine-readable results
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// There is no reference path to a header.
fn header_backend_parser() -> impl TypedValueParser<Value = Choice> {
    let choices = Choice::ALL.into_iter().filter(|choice| *choice != Choice::Reference);
    PossibleValuesParser::new(choices.map(Choice::name).collect::<Vec<_>>())
        .try_map(|text| Choice::ALL.into_iter().find(|c| c.name() == text).ok_or("unknown backend"))
}

/// Runs the command.
///
/// # Errors
/// Files that are no headers; a backend that cannot run here; results that cannot be written.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let mut methods = if args.methods.is_empty() { Method::ALL.to_vec() } else { args.methods.clone() };
    methods.sort_unstable();
    methods.dedup();
    let request = Request {
        methods,
        weights: args.weights.map_or(Weights::ALL.to_vec(), |weights| vec![weights]),
        b: args.b.map_or(Operand::ALL.to_vec(), |b| vec![b]),
        seed: args.seed,
    };
    // Both files before any compiler: a mistake in the second should not cost the time of the first.
    let (old, new) = (Header::read(&args.old)?, Header::read(&args.new)?);
    let variable = std::env::var(select::VARIABLE).ok();
    let compile = |header| select(header, args.backend, variable.as_deref());
    let (old, new) = rayon::join(|| compile(old), || compile(new));
    let (old, new) = (old?, new?);
    let path = |path: &PathBuf| shown(&path.to_string_lossy());
    let result =
        diff(&request, old.backend.as_ref(), new.backend.as_ref(), (path(&args.old), path(&args.new)));
    let mut text = report::revisions::render(&result);
    text.push_str(&format!("backend `{}`: {}\n", result.backend, new.why));
    if let Some(file) = &args.json {
        report::json::write(&result, file)?;
        text.push_str(&format!("results: {}\n", file.display()));
    }
    Ok(Outcome { text, status: if result.worse { FAILED } else { PASSED } })
}
