//! `holdfast sweep`: the functions of one float that the kernels are made of, at every f32 or at some of each binade.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use super::check::JudgeOn;
use super::names::{self, Selection};
use super::output::{self, Progress};
use super::show::Show;
use super::{CliError, Outcome, partition, planted};
use crate::functions::on_device::DeviceSweep;
use crate::functions::{Place, SAMPLED, Sweeps};
use crate::kernel::cuda::CudaError;
use crate::kernel::select::SelectError;
use crate::kernel::{Backend, CpuBackend};
use crate::parts::Part;
use crate::report::console::Detail;
use crate::report::text::{count, duration};
use crate::results::Results;
use crate::scalar_function::ScalarFunction;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    holdfast sweep                                        every function, at some of each binade's floats\n  \
    holdfast sweep exp --exhaustive --out report          one function at all 2³² of them\n  \
    holdfast sweep --exhaustive --backend cuda --out d    all functions at all of them, on a GPU\n  \
    holdfast sweep --exhaustive --partition 3/8 --out d   the third of eight shares of all functions\n\n\
    How long --exhaustive takes here is measured and said at its start: minutes of a CPU for each function. \
    Each value is judged against f64 with a proven error, and against 237 bits where that leaves something open. \
    `holdfast list functions` shows every name. A report's functions.json is the certificate.\n\n\
    Exit status: 0 all verdicts pass; 1 some verdict fails or could not be measured; 2 bad input or usage; \
    3 the requested backend cannot run here; 130 interrupted.")]
pub struct Args {
    /// Functions, by name; several with commas or patterns, `'*-b-bar'` say [default: all]
    #[arg(value_name = "FUNCTION", value_parser = names::function().several(), hide_possible_values = true)]
    pub functions: Vec<Selection<ScalarFunction>>,
    /// Every f32, and not some of each binade; of functions that are named where all would take hours
    #[arg(long)]
    pub exhaustive: bool,
    /// Only this share of the work, as 3/8: what it finds goes into a file in --out, for `holdfast merge`; finished units of
    /// that part are not repeated
    #[arg(long, value_name = "K/M", requires = "out", conflicts_with_all = ["json", "junit", "parquet"])]
    pub partition: Option<Part>,
    /// What evaluates and judges them: cuda for the first visible GPU, auto for a GPU where there is one
    #[arg(long, default_value = "cpu", value_parser = names::judge_on())]
    pub backend: JudgeOn,
    #[command(flatten)]
    pub output: output::Args,
}

impl Args {
    fn functions(&self) -> Vec<ScalarFunction> {
        let asked = Selection::all(&self.functions);
        ScalarFunction::ALL.into_iter().filter(|one| asked.is_empty() || asked.contains(one)).collect()
    }

    fn command(&self, backend: &str) -> String {
        let asked = if self.functions.is_empty() { Vec::new() } else { self.functions() };
        let words = std::iter::once("holdfast sweep").chain(asked.iter().map(|function| function.name()));
        let words = words.chain(self.exhaustive.then_some("--exhaustive")).collect::<Vec<_>>().join(" ");
        if backend == "cpu" { words } else { format!("{words} --backend {backend}") }
    }
}

/// The longest run at every f32 that needs no name.
const UNNAMED_AT_MOST: Duration = Duration::from_secs(3600);

/// A run of hours that nobody asked for by name.
#[derive(Debug, thiserror::Error)]
#[error(
    "all {functions} functions at every f32 take about {took} on this CPU, expected a function's name \
     (hint: `holdfast sweep exp --exhaustive`, '*' for all of them, or --backend cuda)"
)]
pub struct Unnamed {
    functions: usize,
    took: String,
}

impl Args {
    /// Says how long it takes at every f32.
    ///
    /// # Errors
    /// Hours that nobody asked for; a device that fails.
    fn announce(&self, sweeps: &Sweeps, show: Show) -> Result<(), CliError> {
        let took = sweeps.estimate()?;
        let functions = sweeps.functions.len();
        if took > UNNAMED_AT_MOST && self.functions.is_empty() && self.partition.is_none() {
            return Err(Unnamed { functions, took: duration(took) }.into());
        }
        if show.detail != Detail::Quiet || std::io::stderr().is_terminal() {
            let (share, parts) = match self.partition {
                Some(Part { of, .. }) => (format!(", a share of 1/{of},"), of),
                None => (String::new(), 1),
            };
            let functions = count(functions, "function");
            let took = duration(took.div_f64(parts as f64));
            eprintln!("{functions} at every f32{share} will take about {took} here");
        }
        Ok(())
    }
}

pub fn run(args: &Args, show: Show) -> Result<Outcome, CliError> {
    planted::check()?;
    let out = args.output.out.as_deref();
    args.output.prepare(out, args.partition)?;
    let no_cuda = |error: CudaError| SelectError::NoCuda(error.to_string());
    let device = args.backend.open(DeviceSweep::open).map_err(no_cuda)?;
    let (backend, why, place) = match device {
        None => ("cpu", "the functions run in this process", Place::Cpu(CpuBackend::new().device())),
        Some(device) => ("cuda", "the functions run on the GPU", Place::Device(Mutex::new(device))),
    };
    let sweeps = Sweeps {
        functions: args.functions(),
        every: if args.exhaustive { 1 } else { SAMPLED },
        command: args.command(backend),
        place,
    };
    let notes = output::backend_line(backend, why);
    if args.exhaustive {
        args.announce(&sweeps, show)?;
    }
    if let (Some(part), Some(folder)) = (args.partition, out) {
        return partition::run(&sweeps, (part, folder), ("ranges", |_: &Results| notes), show);
    }
    let bar = Progress::new(sweeps.len(), "ranges", show);
    let mut results = sweeps.run(&|| bar.advance())?;
    let took = bar.finish();
    output::stamp(&mut results, Some(took));
    output::finish(&results, &args.output, out, &notes, took, show)
}
