//! `holdfast bench`: how fast kernels are, and with `--judge` how fast recordings are judged.

pub mod compare;
mod judge;

use std::path::PathBuf;

use super::check::quoted;
use super::names::{self, Selection};
use super::output::{self, Progress};
use super::show::Show;
use super::{CliError, Outcome, PASSED, partition, planted};
use crate::bench::{Checks, Peer, Plan, Preset, Runner, Wanted, sizes};
use crate::kernel::cuda::CudaError;
use crate::kernel::launch::Repeats;
use crate::kernel::select::{self, Choice, SelectError};
use crate::method::Method;
use crate::operation::Operation;
use crate::parts::{Divisible as _, Part};
use crate::problem::{InputType, Shape, Weights};
use crate::promise::Tier;
use crate::report::{self, json};
use crate::results::Results;
use crate::results::bench::{Check, Work};
use crate::results::bench_compare::{NotComparable, SLOWER};
use crate::verify::Passes;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    holdfast bench                                  every method, forward and backward, in a minute\n  \
    holdfast bench --preset mamba-1.4b --input bf16 a layer of a large model\n  \
    holdfast bench --shape 8,512,1024,16 --method zoh --json zoh.json\n  \
    holdfast bench --preset sweep --out report      how times grow with each size, with pictures\n  \
    holdfast bench --checks                         whether timings can be believed here
  \
    holdfast bench --compare old.json new.json      what became slower by more than 10 %\n  \
    holdfast bench --judge                          how fast `check` judges recordings here\n\n\
    Presets: vim-tiny (the default on a CPU), seed (the default on a GPU), mamba-1.4b, long, sweep. A GPU's times are its own, \
    by events around the launches; a CPU's are those of the kernels' source in a worker process. The tensors of a timing are \
    loaded once; caches are flushed before each cold run.\n\n\
    Exit status: 0 everything was timed, all checks pass, nothing is slower; 1 otherwise; 2 bad input or usage; 3 the requested backend cannot run \
    here; 130 interrupted.")]
pub struct Args {
    /// Methods, by name or id; several with commas or patterns [default: all]
    #[arg(long = "method", value_name = "M", value_parser = names::method().several())]
    pub methods: Vec<Selection<Method>>,
    /// Dense systems in the place of scans: Ā and B̄ of 65536 of them (a CPU's of 64), of 4 to 64 states, and scans with them
    #[arg(long, conflicts_with_all = ["shapes", "presets", "input", "pass", "scans_only", "peers", "checks", "judge", "compare", "table"])]
    pub dense: bool,
    /// A shape as batch,dim,seqlen,dstate; may be given more than once
    #[arg(long = "shape", value_name = "B,D,L,N", value_parser = sizes::parse)]
    pub shapes: Vec<Shape>,
    /// Shapes by name; several with commas
    #[arg(long = "preset", value_name = "NAME", value_parser = names::preset().several())]
    pub presets: Vec<Selection<Preset>>,
    /// Only real or only complex weights [default: real]
    #[arg(long, value_parser = names::weights())]
    pub weights: Option<Weights>,
    /// The input type [default: f32]
    #[arg(long, value_parser = names::input())]
    pub input: Option<InputType>,
    /// Scans, their gradients, or both
    #[arg(long, value_parser = names::passes(), default_value = "both")]
    pub pass: Passes,
    /// The tiers of the forward kernels that are timed; several with commas [default: accurate]
    #[arg(long = "tier", value_name = "T", value_parser = names::tier().several())]
    pub tiers: Vec<Selection<Tier>>,
    /// What runs them; several with commas, timed in turn [default: cuda where it can run, else cpu; and reference]
    #[arg(long = "backend", value_name = "B", value_parser = names::backend().several())]
    pub backends: Vec<Selection<Choice>>,
    /// No single operations
    #[arg(long)]
    pub scans_only: bool,
    /// A library that computes forward scans in turn with the kernels, on the same tensors, and whose outputs are judged; may be
    /// given more than once. kernels/bench/holdfast_peer.h says what it has to have
    #[arg(long = "peer", value_name = "NAME=LIB.so")]
    pub peers: Vec<Peer>,
    /// Runs that count, at most
    #[arg(long, value_name = "N", default_value = "51")]
    pub samples: usize,
    /// Seconds that one timing may take; one run is done in any case
    #[arg(long, value_name = "S", default_value = "1", value_parser = positive)]
    pub seconds: f64,
    /// The usual mistakes of benchmarks, tried on this machine, in the place of timings; `holdfast list checks` has them
    #[arg(long, conflicts_with_all = ["partition", "peers"])]
    pub checks: bool,
    /// Checks that are left out, by name; several with commas
    #[arg(long, value_name = "NAME", requires = "checks", value_parser = names::check().several())]
    pub skip: Vec<Selection<Check>>,
    /// Two files that --json wrote: what of the first is slower in the second
    #[arg(long, num_args = 2, value_names = ["OLD.json", "NEW.json"], value_hint = clap::ValueHint::FilePath,
          conflicts_with_all = ["methods", "shapes", "presets", "weights", "input", "backends", "tiers", "checks", "judge", "out", "partition"])]
    pub compare: Vec<PathBuf>,
    /// By how many percent a timing may be slower in the second file
    #[arg(long, value_name = "PERCENT", default_value_t = SLOWER, value_parser = percent, requires = "compare")]
    pub slower: f64,
    /// Compare runs of two devices
    #[arg(long, requires = "compare")]
    pub other_device: bool,
    /// A file that --json wrote, as a table in Markdown
    #[arg(long, value_name = "FILE.json", value_hint = clap::ValueHint::FilePath,
          conflicts_with_all = ["methods", "shapes", "presets", "weights", "input", "backends", "tiers", "checks", "judge", "compare", "out", "json", "partition"])]
    pub table: Option<PathBuf>,
    /// How fast recordings are judged here, in the place of kernels: one shape, by default of 64 channels and 2048 positions
    #[arg(long, conflicts_with_all = ["presets", "weights", "input", "backends", "tiers", "checks", "peers", "json", "out", "partition"])]
    pub judge: bool,
    /// Only this share of the work, as 3/8: what it finds goes into a file in --out, for `holdfast merge`
    #[arg(long, value_name = "K/M", requires = "out", conflicts_with = "json")]
    pub partition: Option<Part>,
    /// Directory for the report, a page with pictures [default: none]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// File for the machine-readable results; `-` for standard output, with the text on standard error
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub json: Option<PathBuf>,
}

/// Why nothing was timed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("backend `cpu` cannot be timed here: {0}")]
    NoWorker(CudaError),
    #[error(transparent)]
    Read(#[from] json::ReadError),
    #[error(transparent)]
    NotComparable(#[from] NotComparable),
    #[error("--judge takes one --shape, found {0} (hint: run it once for each)")]
    OneShape(usize),
    #[error(
        "--peer {0} is a name that is taken, expected each once and none of a backend (hint: give it another one)"
    )]
    PeerName(String),
    #[error(
        "--peer has nothing to be timed beside, expected kernels that compute the forward pass (hint: leave out --backend reference and --pass backward)"
    )]
    NoPeers,
}

/// A time that is one.
fn positive(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && seconds.is_finite());
    seconds.ok_or_else(|| "seconds above 0".to_owned())
}

/// A share that is one, in percent.
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse::<f64>().ok().filter(|percent| *percent >= 0.0 && percent.is_finite());
    percent.ok_or_else(|| "percent, 0 or more".to_owned())
}

/// Where nothing is asked for.
const DEFAULT: [Choice; 2] = [Choice::Auto, Choice::Reference];

impl Args {
    fn methods(&self) -> Vec<Method> {
        names::methods_or_all(&Selection::all(&self.methods))
    }

    /// The backends, each once.
    fn choices(&self) -> Result<Vec<Choice>, SelectError> {
        let mut asked = Selection::all(&self.backends);
        if asked.is_empty() {
            asked = match std::env::var(select::VARIABLE).ok().as_deref() {
                None => DEFAULT.to_vec(),
                Some("1") => vec![Choice::Cuda, Choice::Reference],
                Some("0") => vec![Choice::Reference],
                Some(other) => return Err(SelectError::Variable(other.to_owned())),
            };
        }
        let mut choices = Vec::new();
        for choice in asked {
            if !choices.contains(&choice) {
                choices.push(choice);
            }
        }
        Ok(choices)
    }

    fn tiers(&self) -> Vec<Tier> {
        let tiers = Selection::all(&self.tiers);
        if tiers.is_empty() { vec![Tier::Accurate] } else { tiers }
    }

    fn runners(&self) -> Result<Vec<Runner>, CliError> {
        let open = |choice, tier| {
            Runner::open(choice, tier).map_err(|error| match choice {
                Choice::Cuda => CliError::from(SelectError::NoCuda(error.to_string())),
                _ => Error::NoWorker(error).into(),
            })
        };
        let mut runners: Vec<Runner> = Vec::new();
        for choice in self.choices()? {
            for tier in self.tiers() {
                let runner = open(choice, tier)?;
                if runners.iter().all(|known| known.name() != runner.name()) {
                    runners.push(runner);
                }
            }
        }
        Ok(runners)
    }

    /// Whether every peer has a name of its own, by which its timings are told apart.
    fn check_peers(&self) -> Result<(), Error> {
        for (at, Peer { name, .. }) in self.peers.iter().enumerate() {
            let is_taken = self.peers[..at].iter().any(|other| other.name == *name);
            let of_either_tier = name.strip_suffix("-fast").unwrap_or(name);
            if is_taken || Choice::ALL.iter().any(|choice| choice.name() == of_either_tier) {
                return Err(Error::PeerName(name.clone()));
            }
        }
        Ok(())
    }

    /// The shapes, and the options that ask for them.
    fn shapes(&self, gpu: bool) -> (Vec<Shape>, String) {
        let mut presets = Selection::all(&self.presets);
        if presets.is_empty() && self.shapes.is_empty() {
            presets.push(if gpu { Preset::Seed } else { Preset::VimTiny });
        }
        let mut shapes = self.shapes.clone();
        shapes.extend(presets.iter().flat_map(|preset| preset.shapes(gpu)));
        let mut words = String::new();
        for Shape { batch, dim, seqlen, dstate, .. } in &self.shapes {
            words += &format!(" --shape {batch},{dim},{seqlen},{dstate}");
        }
        if !presets.is_empty() {
            let names: Vec<&str> = presets.iter().map(|preset| preset.name()).collect();
            words += &format!(" --preset {}", names.join(","));
        }
        (shapes, words)
    }

    fn wanted(&self, runners: &[Runner]) -> Wanted {
        let gpu = runners.iter().any(Runner::is_gpu);
        let (shapes, words) = self.shapes(gpu);
        let mut words = if self.dense { " --dense".to_owned() } else { words };
        let mut names: Vec<&str> = runners.iter().map(|runner| runner.choice().name()).collect();
        names.dedup();
        words += &format!(" --backend {}", names.join(","));
        if !self.tiers.is_empty() {
            let tiers: Vec<&str> = self.tiers().into_iter().map(Tier::name).collect();
            words += &format!(" --tier {}", tiers.join(","));
        }
        words += &names::option("--method", &Selection::all(&self.methods));
        if let Some(weights) = self.weights {
            words += &format!(" --weights {weights}");
        }
        if let Some(input) = self.input {
            words += &format!(" --input {input}");
        }
        let passes = match self.pass {
            Passes::Forward => vec![Work::Forward],
            Passes::Backward => vec![Work::Backward],
            Passes::Both => vec![Work::Forward, Work::Backward],
        };
        if self.pass != Passes::Both {
            words += &format!(" --pass {}", self.pass);
        }
        for Peer { name, library } in &self.peers {
            words += &format!(" --peer {name}={}", quoted(library));
        }
        if self.scans_only {
            words += " --scans-only";
        }
        words += &format!(" --samples {} --seconds {}", self.samples, self.seconds);
        Wanted {
            methods: self.methods(),
            shapes: if self.dense { Vec::new() } else { shapes },
            dense: if self.dense { sizes::dense(gpu) } else { Vec::new() },
            weights: vec![self.weights.unwrap_or(Weights::Real)],
            inputs: vec![self.input.unwrap_or(InputType::F32)],
            passes,
            operations: if self.scans_only || self.dense {
                Vec::new()
            } else {
                Operation::OF_NUMBERS.to_vec()
            },
            peers: self.peers.clone(),
            repeats: Repeats { warmups: 5, samples: self.samples, seconds: self.seconds },
            command: format!("holdfast bench{words}"),
        }
    }
}

impl Args {
    /// The checks, on the first of the shapes.
    fn check(&self, wanted: &Wanted, runners: &[Runner]) -> Results {
        let devices: Vec<String> = runners.iter().map(Runner::device).collect();
        let names: Vec<&str> = runners.iter().map(Runner::name).collect();
        let skip = Selection::all(&self.skip);
        let mut command = format!("{} --checks", wanted.command);
        if !skip.is_empty() {
            command += " --skip ";
            command += &skip.iter().map(|check| check.name()).collect::<Vec<_>>().join(",");
        }
        let checks = Checks {
            runners,
            methods: &wanted.methods,
            shape: wanted.shapes[0],
            repeats: wanted.repeats,
            skip: &skip,
        };
        Results {
            checks: checks.run(),
            kernel_source: crate::kernel::production_hash().to_owned(),
            ..Results::empty(1, &names.join(","), devices.join("; "), command)
        }
    }
}

pub fn run(args: &Args, show: Show) -> Result<Outcome, CliError> {
    planted::check()?;
    if args.judge {
        return match args.shapes[..] {
            [] => Ok(judge::run(&args.methods(), None)),
            [shape] => Ok(judge::run(&args.methods(), Some(shape))),
            _ => Err(Error::OneShape(args.shapes.len()).into()),
        };
    }
    if let [old, new] = &args.compare[..] {
        let files = [old.as_path(), new.as_path()];
        return compare::run(files, args.slower, args.other_device, args.json.as_deref(), show);
    }
    if let Some(file) = &args.table {
        let results = json::read(file).map_err(Error::from)?;
        if results.bench.is_empty() {
            return Err(Error::from(NotComparable::NoBenchmark { which: "the file" }).into());
        }
        return Ok(Outcome::new(report::bench::table(&results), PASSED));
    }
    let output = output::Args { out: args.out.clone(), json: args.json.clone(), junit: None, parquet: None };
    output.prepare(args.out.as_deref(), args.partition)?;
    args.check_peers()?;
    let runners = args.runners()?;
    if !args.peers.is_empty()
        && (args.pass == Passes::Backward || runners.iter().all(|runner| runner.worker().is_none()))
    {
        return Err(Error::NoPeers.into());
    }
    let wanted = args.wanted(&runners);
    if args.checks {
        let begun = std::time::Instant::now();
        let mut results = args.check(&wanted, &runners);
        let took = begun.elapsed();
        output::stamp(&mut results, Some(took));
        return output::finish(&results, &output, args.out.as_deref(), "", took, show);
    }
    let plan = Plan::new(&wanted, runners);
    if let (Some(part), Some(folder)) = (args.partition, &args.out) {
        return partition::run(&plan, (part, folder), ("timings", |_: &Results| String::new()), show);
    }
    let bar = Progress::new(plan.units().len(), "timings", show);
    let mut results = plan.run(&|| bar.advance());
    let took = bar.finish();
    output::stamp(&mut results, Some(took));
    output::finish(&results, &output, args.out.as_deref(), "", took, show)
}
