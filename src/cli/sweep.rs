//! `holdfast sweep`: the functions of one float that the kernels are made of, at every f32 or at some of each binade.

use super::names::{self, Selection};
use super::output::{self, Progress};
use super::show::Show;
use super::{CliError, Outcome, partition, planted};
use crate::functions::{SAMPLED, Sweeps};
use crate::kernel::{Backend, CpuBackend};
use crate::parts::Part;
use crate::results::Results;
use crate::scalar_function::ScalarFunction;

/// What runs it, and why.
const WHY: &str = "the functions run in this process";

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    holdfast sweep                                        every function, at some of each binade's floats\n  \
    holdfast sweep exp --exhaustive --out report          one function at all 2³² of them\n  \
    holdfast sweep --exhaustive --partition 3/8 --out d   the third of eight shares of all functions\n\n\
    Each value is judged against f64 with a proven error, and against 237 bits where that leaves something open. \
    `holdfast list functions` shows every name. A report's functions.json is the certificate.\n\n\
    Exit status: 0 all verdicts pass; 1 some verdict fails or could not be measured; 2 bad input or usage; \
    130 interrupted.")]
pub struct Args {
    /// Functions, by name; several with commas or patterns, `'*-b-bar'` say [default: all]
    #[arg(value_name = "FUNCTION", value_parser = names::function().several(), hide_possible_values = true)]
    pub functions: Vec<Selection<ScalarFunction>>,
    /// Every f32, and not some of each binade
    #[arg(long)]
    pub exhaustive: bool,
    /// Only this share of the work, as 3/8: what it finds goes into a file in --out, for `holdfast merge`; finished units of
    /// that part are not repeated
    #[arg(long, value_name = "K/M", requires = "out", conflicts_with_all = ["json", "junit", "parquet"])]
    pub partition: Option<Part>,
    #[command(flatten)]
    pub output: output::Args,
}

impl Args {
    fn functions(&self) -> Vec<ScalarFunction> {
        let asked = Selection::all(&self.functions);
        ScalarFunction::ALL.into_iter().filter(|one| asked.is_empty() || asked.contains(one)).collect()
    }

    /// The command line that repeats this run.
    fn command(&self) -> String {
        let asked = if self.functions.is_empty() { Vec::new() } else { self.functions() };
        let words = std::iter::once("holdfast sweep").chain(asked.iter().map(|function| function.name()));
        words.chain(self.exhaustive.then_some("--exhaustive")).collect::<Vec<_>>().join(" ")
    }
}

/// Runs the command.
///
/// # Errors
/// A report that cannot be written; parts of another run in its folder.
pub fn run(args: &Args, show: Show) -> Result<Outcome, CliError> {
    planted::check()?;
    let out = args.output.out.as_deref();
    match args.partition {
        Some(_) => output::prepare_folder(out)?,
        None => args.output.prepare(out)?,
    }
    let sweeps = Sweeps {
        functions: args.functions(),
        every: if args.exhaustive { 1 } else { SAMPLED },
        command: args.command(),
        device: CpuBackend::new().device(),
    };
    let notes = output::backend_line("cpu", WHY);
    if let (Some(part), Some(folder)) = (args.partition, out) {
        return partition::run(&sweeps, (part, folder), ("ranges", |_: &Results| notes), show);
    }
    let bar = Progress::new(sweeps.len(), "ranges", show);
    let results = sweeps.run(&|| bar.advance());
    let took = bar.finish();
    output::finish(&results, &args.output, out, &notes, took, show)
}
