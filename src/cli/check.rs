//! `holdfast check`: judges recorded runs.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::output::{self, Progress};
use super::show::Show;
use super::{CliError, Outcome, names, partition};
use crate::check::Options;
use crate::check::files::{Files, Run};
use crate::check::on_device::DeviceJudge;
use crate::formula::Form;
use crate::judge::diagnose::Budget;
use crate::kernel::cuda::CudaError;
use crate::kernel::select::SelectError;
use crate::parts::Part;
use crate::problem::Stages;
use crate::report;
use crate::results::{RegimeNote, Results, Verdict};
use crate::tensor_file::shown;

named! {
    /// What `--backend` takes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum JudgeOn: "backend" {
        Auto => "auto",
        Cuda => "cuda",
        #[default]
        Cpu => "cpu",
    }
}

impl JudgeOn {
    /// The device; none for the CPU.
    ///
    /// # Errors
    /// It was asked for by name and cannot be opened.
    pub fn open<T>(self, open: impl FnOnce() -> Result<T, CudaError>) -> Result<Option<T>, CudaError> {
        match self {
            JudgeOn::Cpu => Ok(None),
            JudgeOn::Auto => Ok(open().ok()),
            JudgeOn::Cuda => open().map(Some),
        }
    }
}

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = format!("A run is a safetensors file with tensors\n  \
    u, delta, [z]          (batch, dim, seqlen)  F32, F16 or BF16, as every tensor on its own\n  \
    A                      (dim, dstate)         real; complex: C64, or a last dimension of 2\n  \
                           (dim, dstate, dstate) a matrix for each channel\n  \
    B, C                   (dim, dstate) as A, or (batch, groups, dstate, seqlen)\n  \
    [D], [delta_bias]      (dim)\n  \
    out.METHOD[.LABEL]     (batch, dim, seqlen)  each one is a case\n  \
    last_state.METHOD[.LABEL] (batch, dim, dstate) as A, optional\n  \
    chunk_states.METHOD[.LABEL] (batch, chunks, dim, dstate), optional: the state before each chunk\n  \
    dA_cumsum.METHOD[.LABEL] (batch, heads, chunks, chunk), optional, with heads: sums of ΔA in each\n  \
    grad.INPUT.METHOD[.LABEL] as its input; each METHOD[.LABEL] is a case\n  \
    [dout], [dlast_state]  as out and last_state   what gradients start from\n  \
    [initial_state]        (batch, dim, dstate)  as A\n  \
    [seq_idx]              (batch, seqlen)       I32 or I64: the packed sequence of each; or\n  \
    [cu_seqlens]           (sequences + 1)       where each begins, in one item\n\
    and metadata layout (bdl as above, bld with positions before channels, or blhp with heads: spec.md §3), delta_softplus (true or false), input_type (f16 or bf16, when these are stored widened to F32), \
    arithmetic (as --arithmetic), scan (log-space or log-space-64), reads (after-update or before-update), complex_output (twice-real-part or real-part), \
    state (with-b or without-b), direction (forward or reverse), state_matrix (dense, for an A (dim, dstate, dstate) of two real states; others say it by their shape), dt_limit (as 0.001 0.1), state_type (bf16 or f16, of a state that is stored so after each step), \
    state_read (stored or unrounded), chunk (positions of a chunk), and any notes, which are not used. METHOD is one of {methods}.\n\n\
    A file with A_bar.METHOD[.LABEL] (systems, n, n) or B_bar.METHOD[.LABEL] (systems, n, m) has steps of systems with a dense A (systems, n, n), with \
    delta (systems) and B (systems, n, m), in F64 as well; arithmetic is f32 or f64 there.\n\n\
    Examples:\n  \
    holdfast check run.safetensors                          judge one run\n  \
    holdfast check runs/*.safetensors --out report          several, with a written report\n  \
    holdfast check run.safetensors --channels 64 --seed 7   a quick look at 64 channels of a large run\n  \
    holdfast check layer.safetensors --backend cuda         a whole layer, judged by a GPU\n  \
    holdfast check runs/*.safetensors --partition 3/8 --out d  the third of eight shares of many\n\n\
    Exit status: 0 all verdicts pass; 1 some verdict fails or could not be measured; 2 bad input or usage; 3 the requested \
    backend cannot run here.", methods = Form::names()))]
pub struct Args {
    /// The recorded runs
    #[arg(required = true, value_name = "RUN.safetensors")]
    pub runs: Vec<PathBuf>,
    /// Channels, or dense systems, to judge of each run, drawn by the seed, for a quick look [default: all]
    #[arg(long, value_name = "N")]
    pub channels: Option<NonZeroUsize>,
    /// What is rounded to fewer bits on the way: f16, bf16 or tf32 for all stages, or some of delta, du, state, y and
    /// gate, as in `delta=bf16, gate=bf16`; also softplus=naive, phi=naive, exp=fast, scan=log-space and state_type=bf16
    /// [default: what the file's metadata state, or else f32]
    #[arg(long, value_name = "STAGES")]
    pub arithmetic: Option<Stages>,
    /// What computes the quick route: cuda for the first visible GPU, auto for a GPU where there is one. Verdicts are the same
    #[arg(long, default_value = "cpu", value_parser = names::judge_on())]
    pub backend: JudgeOn,
    /// How long the cause of each failing case is looked for, and six times that in all; `thorough` for every case to the end,
    /// `off` for verdicts alone
    #[arg(long, value_name = "SECONDS", default_value_t = Budget::USUAL)]
    pub diagnosis: Budget,
    /// Seed of what is drawn: the channels judged of a large run
    #[arg(long, value_name = "N", default_value_t = output::DEFAULT_SEED)]
    pub seed: u64,
    /// Only this share of the files, as 3/8: what it finds goes into a file in --out, for `holdfast merge`; finished files of that
    /// part are not judged again
    #[arg(long, value_name = "K/M", requires = "out", conflicts_with_all = ["json", "junit", "parquet"])]
    pub partition: Option<Part>,
    #[command(flatten)]
    pub output: output::Args,
}

pub fn run(args: &Args, show: Show) -> Result<Outcome, CliError> {
    let out = args.output.out.as_deref();
    args.output.prepare(out, args.partition)?;
    let no_cuda = |error: CudaError| SelectError::NoCudaForJudge(error.to_string());
    let device = args.backend.open(DeviceJudge::open).map_err(no_cuda)?;
    let paths = distinct(&args.runs);
    let run = |(path, name): (&&Path, String)| Run { path: path.to_path_buf(), name, argument: quoted(path) };
    let runs = paths.iter().zip(names(&paths)).map(run).collect();
    let options = Options {
        channels: args.channels.map(NonZeroUsize::get),
        seed: args.seed,
        stages: args.arithmetic,
        diagnosis: args.diagnosis,
        causes: Vec::new(),
    };
    let files = Files::open(runs, options, command(args, &paths), device)?;
    if let (Some(part), Some(folder)) = (args.partition, out) {
        return partition::run(&files.divided()?, (part, folder), ("files", judged), show);
    }
    let bar = Progress::new(files.channels(), "channels", show);
    let (mut results, failing) = files.judge(&|| bar.advance())?;
    output::stamp(&mut results, Some(bar.finish()));
    let (places, failures) = ((&args.output, out), failures(&results));
    let explain = |results: &mut Results, searches, told: &(dyn Fn() + Sync)| {
        files.explain(failing, results, (searches, told))
    };
    let write = output::explained(&mut results, places, (args.diagnosis, failures), show, explain)?;
    let took = bar.finish();
    output::stamp(&mut results, Some(took));
    output::finish_by(write, &results, places, &judged(&results), took, show)
}

fn failures(results: &Results) -> usize {
    results.cases.iter().filter(|case| case.verdict == Verdict::Fail).count()
}

/// Which part of each run was judged: what the console says at its end.
pub fn judged(results: &Results) -> String {
    let part = |note: &RegimeNote| {
        format!("{}:\n{}\n", note.name, report::text::wrap("  ", &note.why, report::console::width()))
    };
    results.regimes.iter().map(part).collect()
}

/// The files, each once.
fn distinct(runs: &[PathBuf]) -> Vec<&Path> {
    let mut seen = HashSet::new();
    runs.iter().map(PathBuf::as_path).filter(|path| seen.insert(*path)).collect()
}

/// What identifies each run: its file's name, or the whole path where two have the same name.
fn names(runs: &[&Path]) -> Vec<String> {
    let text = |path: &OsStr| shown(&path.to_string_lossy());
    let short = |path: &Path| path.file_name().map_or_else(|| text(path.as_os_str()), text);
    let mut count: HashMap<String, usize> = HashMap::new();
    runs.iter().for_each(|path| *count.entry(short(path)).or_default() += 1);
    let name = |path: &&Path| Some(short(path)).filter(|name| count[name] == 1);
    runs.iter().map(|path| name(path).unwrap_or_else(|| text(path.as_os_str()))).collect()
}

fn command(args: &Args, runs: &[&Path]) -> String {
    let mut words = vec!["holdfast check".to_owned()];
    words.extend(runs.iter().map(|path| quoted(path)));
    words.extend(args.channels.map(|n| format!("--channels {n}")));
    words.extend(args.arithmetic.map(|stages| format!("--arithmetic '{stages}'")));
    words.extend((args.backend != JudgeOn::Cpu).then(|| format!("--backend {}", args.backend)));
    words.extend(output::diagnosis_option(args.diagnosis));
    words.push(format!("--seed {}", args.seed));
    words.join(" ")
}

/// The path as a shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=,:@%".contains(c);
    if text.chars().all(plain) && !text.starts_with('-') {
        return text.into_owned();
    }
    let dashed = if text.starts_with('-') { "./" } else { "" };
    format!("'{dashed}{}'", text.replace('\'', "'\\''"))
}
