//! `holdfast check`: judges recorded runs.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::names;
use super::output::{self, Progress};
use super::show::Show;
use super::{CliError, Outcome};
use crate::check::on_device::DeviceJudge;
use crate::check::{self, Options, Reason, memory};
use crate::formula::Form;
use crate::kernel::cuda::CudaError;
use crate::kernel::select::SelectError;
use crate::problem::Stages;
use crate::problem::recorded::Recording;
use crate::report;
use crate::results::{RegimeNote, Results};
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
    u, delta, [z]          (batch, dim, seqlen)  of the input type: F32, F16 or BF16\n  \
    A                      (dim, dstate)         F32; complex: C64, or F32 and a last dimension of 2\n  \
    B, C                   (dim, dstate) as A, or (batch, groups, dstate, seqlen) as u\n  \
    [D], [delta_bias]      (dim)                 F32\n  \
    out.METHOD[.LABEL]     (batch, dim, seqlen)  as u; each one is a case\n  \
    last_state.METHOD[.LABEL] (batch, dim, dstate) as A, optional\n  \
    grad.INPUT.METHOD[.LABEL] as its input; each METHOD[.LABEL] is a case\n  \
    [dout], [dlast_state]  as out and last_state   what gradients start from\n  \
    [initial_state]        (batch, dim, dstate)  as A\n\
    and metadata delta_softplus (true or false), input_type (f16 or bf16, when these are stored widened to F32), \
    arithmetic (as --arithmetic), scan (log-space or log-space-64), reads (after-update or before-update), complex_output (twice-real-part or real-part), \
    state (with-b or without-b), direction (forward or reverse), and any provenance. METHOD is one of {methods}.\n\n\
    Examples:\n  \
    holdfast check run.safetensors                          judge one run\n  \
    holdfast check runs/*.safetensors --out report          several, with a written report\n  \
    holdfast check run.safetensors --channels 64 --seed 7   a quick look at 64 channels of a large run\n  \
    holdfast check layer.safetensors --backend cuda         a whole layer, judged by a GPU\n\n\
    Exit status: 0 all verdicts pass; 1 some verdict fails or could not be measured; 2 bad input or usage; 3 the requested \
    backend cannot run here.", methods = Form::names()))]
pub struct Args {
    /// The recorded runs
    #[arg(required = true, value_name = "RUN.safetensors")]
    pub runs: Vec<PathBuf>,
    /// Channels to judge of each run, drawn by the seed, for a quick look [default: all]
    #[arg(long, value_name = "N")]
    pub channels: Option<NonZeroUsize>,
    /// What is rounded to fewer bits on the way: f16, bf16 or tf32 for all stages, or some of delta, du, state, y and
    /// gate, as in `delta=bf16, gate=bf16`; also softplus=naive, and scan=log-space [default: what the file's metadata
    /// state, or else f32]
    #[arg(long, value_name = "STAGES")]
    pub arithmetic: Option<Stages>,
    /// What computes the quick route: cuda for the first visible GPU, auto for a GPU where there is one. Verdicts are the same
    #[arg(long, default_value = "cpu", value_parser = names::judge_on())]
    pub backend: JudgeOn,
    /// Seed of what is drawn: the channels judged of a large run
    #[arg(long, value_name = "N", default_value_t = output::DEFAULT_SEED)]
    pub seed: u64,
    #[command(flatten)]
    pub output: output::Args,
}

/// What is wrong with a recorded run: bad input, exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", shown(&path.to_string_lossy()))]
pub struct Error {
    pub path: PathBuf,
    pub source: Reason,
}

/// Runs the command.
///
/// # Errors
/// [`Error`] for a file that is no recorded run; reports that cannot be written.
pub fn run(args: &Args, show: Show) -> Result<Outcome, CliError> {
    let out = args.output.out.as_deref();
    args.output.prepare(out)?;
    let no_cuda = |error: CudaError| SelectError::NoCudaForJudge(error.to_string());
    let mut device = args.backend.open(DeviceJudge::open).map_err(no_cuda)?;
    let runs = distinct(&args.runs);
    // Every header before any truth: a mistake in the last file should not cost the time of the others.
    let options =
        Options { channels: args.channels.map(NonZeroUsize::get), seed: args.seed, stages: args.arithmetic };
    let mut units = 0;
    for path in &runs {
        let opened = Recording::open(path).map_err(Reason::from).and_then(|recording| {
            let layout = recording.layout();
            units += layout.shape.batch * layout.shape.dim * (layout.outputs.len() + layout.gradients.len());
            // Before the work on its numbers.
            memory::fitting(layout.shape, layout.outputs.len(), options.channels, 1).map_err(Reason::from)
        });
        opened.map_err(|source| Error { path: path.to_path_buf(), source })?;
    }
    let names = names(&runs);
    let bar = Progress::new(units, "channels", show);
    let mut checked = Vec::new();
    for (path, name) in runs.iter().zip(&names) {
        let recording = Recording::open(path).map_err(Reason::from);
        let judged = recording.and_then(|recording| {
            let (name, argument) = (name.as_str(), quoted(path));
            check::check_with(device.as_mut(), (name, &argument), &recording, &options, &|| bar.advance())
        });
        checked.push(judged.map_err(|source| Error { path: path.to_path_buf(), source })?);
    }
    let took = bar.finish();
    let results = check::results(checked, args.seed, command(args, &runs));
    output::finish(&results, &args.output, out, &judged(&results), took, show)
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
    let mut distinct: Vec<&Path> = Vec::new();
    for path in runs {
        if !distinct.contains(&path.as_path()) {
            distinct.push(path);
        }
    }
    distinct
}

/// What identifies each run: its file's name, or the whole path where two have the same name.
fn names(runs: &[&Path]) -> Vec<String> {
    let short = |path: &Path| path.file_name().map(|name| shown(&name.to_string_lossy()));
    let name = |path: &&Path| match short(path) {
        Some(name) if runs.iter().filter(|other| short(other).as_ref() == Some(&name)).count() == 1 => name,
        _ => shown(&path.to_string_lossy()),
    };
    runs.iter().map(name).collect()
}

/// The command line that repeats this run.
fn command(args: &Args, runs: &[&Path]) -> String {
    let mut words = vec!["holdfast check".to_owned()];
    words.extend(runs.iter().map(|path| quoted(path)));
    words.extend(args.channels.map(|n| format!("--channels {n}")));
    words.extend(args.arithmetic.map(|stages| format!("--arithmetic '{stages}'")));
    words.extend((args.backend != JudgeOn::Cpu).then(|| format!("--backend {}", args.backend)));
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
