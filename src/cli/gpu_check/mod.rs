//! `holdfast gpu-check STEP`: what must hold on a real GPU beyond `verify`. `.ci/gpu` runs every step. Hidden from
//! users, whose question `verify` answers.

mod backward;
mod kernels;
mod record;
mod repeat;
mod scans;

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use super::{CliError, FAILED, Outcome, PASSED};
use crate::kernel::cuda::{CudaBackend, CudaError, Setup, worker};
use crate::kernel::select::SelectError;
use crate::kernel::{Backend, Lanes};
use crate::method::Method;
use crate::problem::inputs::{self, Draw};
use crate::problem::regime::{EVERYTHING, Recipe, StateMatrix};
use crate::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Check {
    /// Compile every kernel, cold and cached
    Jit,
    /// Every instantiation in this process, on tiny shapes, for a sanitizer to watch
    Tiny,
    /// CUDA and CPU runs of every planned problem agree within their bounds
    Agree,
    /// Ten runs are bitwise identical
    Repeat,
    /// Results do not depend on the position in the batch, on other channels or on how many lanes a channel has
    Independence,
    /// Planted faults stay where they happen
    Faults,
    /// The shape of Mamba-1 1.4B, sampled channels judged
    FullSize,
    /// Gradients on the GPU against the truth and the CPU's, on small problems, ten times the same
    Backward,
    /// A recorded run of that shape, for `check`
    Record,
}

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    pub step: Check,
    /// Run on the CPU in the place of a GPU, to test the checks themselves
    #[arg(long)]
    pub stand_in: bool,
    /// No guard zones and no poison, which would hide faults from a sanitizer
    #[arg(long)]
    pub sanitizer: bool,
    /// Only this input type
    #[arg(long)]
    pub input: Option<InputType>,
    /// The method of the recorded run
    #[arg(long, default_value = "zoh")]
    pub method: Method,
    /// Where the recorded run is written
    #[arg(long, value_name = "RUN.safetensors", default_value = "layer.safetensors")]
    pub out: PathBuf,
}

/// One thing that was checked or measured.
struct Finding {
    what: String,
    passed: bool,
    figure: String,
}

impl Finding {
    /// What was found, or why the check fails.
    fn new(what: impl Into<String>, outcome: Result<String, impl ToString>) -> Self {
        let (passed, figure) = outcome.map_or_else(|why| (false, why.to_string()), |found| (true, found));
        Finding { what: what.into(), passed, figure }
    }
}

pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let rows = match args.step {
        Check::Jit => kernels::compile(&backend(args)?),
        Check::Tiny => kernels::launch_each(args)?,
        Check::Agree => scans::agree(&backend(args)?.with_spread(Lanes::Eight, 1), args.input),
        Check::Repeat => repeat::ten_times(&backend(args)?),
        Check::Independence => repeat::independence(backend(args)?),
        Check::Faults => scans::faults(&backend(args)?),
        Check::FullSize => scans::full_size(&backend(args)?, args),
        Check::Backward => backward::gradients(&backend(args)?, args.input),
        Check::Record => record::record(&backend(args)?, args, args.method, &args.out),
    };
    let mut text = String::new();
    for Finding { what, passed, figure } in &rows {
        let verdict = if *passed { "pass" } else { "FAIL" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{verdict}  {what:<44}  {figure}");
    }
    // A check that checked nothing has not passed.
    let passed = !rows.is_empty() && rows.iter().all(|row| row.passed);
    Ok(Outcome::new(text, if passed { PASSED } else { FAILED }))
}

/// Memory of the stand-in.
const STAND_IN: usize = 4 << 30;

fn no_cuda(error: CudaError) -> CliError {
    CliError::Backend(SelectError::NoCuda(error.to_string()))
}

fn backend(args: &Args) -> Result<CudaBackend, CliError> {
    if !args.stand_in && args.step != Check::Faults {
        return CudaBackend::new().map_err(no_cuda);
    }
    let mut setup = Setup::from_environment(worker::this_program().map_err(no_cuda)?);
    if args.stand_in {
        setup.program.arguments.extend(["--stand-in".to_owned(), STAND_IN.to_string()]);
    }
    if args.step == Check::Faults {
        // One of the faults is a hang.
        setup.limit = Duration::from_secs(10);
    }
    CudaBackend::with_setup(setup).map_err(no_cuda)
}

/// What a check runs on, in words.
fn device_finding(backend: &dyn Backend) -> Finding {
    Finding::new("device", Ok::<_, String>(backend.device()))
}

/// Inputs as Mamba has them (spec.md §4): A = −(1…N) or S4D-Lin, Δ = softplus(½·normal + bias) with softplus(bias)
/// log-uniform on [1e-3, 0.1], skip D.
fn mamba(
    name: &str,
    shape: Shape,
    weights: Weights,
    input: InputType,
    layout: (Operand, Operand),
    gate: bool,
) -> Problem {
    let recipe = Recipe {
        shape,
        a: if weights == Weights::Real { StateMatrix::S4dReal } else { StateMatrix::S4dLin },
        gate,
        bias: Some((1e-3, 0.1)),
        judged_channels: 6,
        ..EVERYTHING
    };
    inputs::draw(&recipe, weights, input, layout, &mut Draw::new(1, name))
}

/// Gradients of a problem's outputs, between −1 and 1 and in the order of nothing.
fn output_gradients(problem: &Problem) -> OutputGradients {
    // Multiples of 1/128, which every storage type holds.
    let value = |i: usize| ((i * 89 + i / 7 * 31) % 257) as f32 / 128.0 - 1.0;
    let Shape { batch, dim, dstate, .. } = problem.shape;
    let states = batch * dim * dstate * problem.weights.width();
    OutputGradients {
        dout: (0..problem.u.len()).map(|i| problem.input.round(value(i))).collect(),
        dlast_state: Some((0..states).map(|i| value(i + 5)).collect()),
    }
}

/// Whether two outputs have the same bits: −0 is not 0, and a NaN equals itself.
fn same_bits(left: &[f32], right: &[f32]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(l, r)| l.to_bits() == r.to_bits())
}

/// Batch 8, dim 4096, seqlen 2048, N = 16.
const MAMBA_1_4B: Shape = Shape { batch: 8, dim: 4096, dstate: 16, seqlen: 2048, groups: 1 };
