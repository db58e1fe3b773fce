//! A foreign header on the CPU: one worker program for each weight type, several processes of each.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rayon::prelude::*;

use super::compiler::{self, Compiler, Folder, Precision};
use super::header::Header;
use super::patience::{self, Patience};
use super::process::{self, Job, Worker};
use super::{Foreign, ForeignError, check_input, rejection};
use crate::kernel::cuda::LIMIT_VARIABLE;
use crate::kernel::cuda::process::Silence;
use crate::kernel::{Backend, Coefficients, JudgedOutput, KernelError, ScanOutput, shapes};
use crate::method::Method;
use crate::problem::elements::Elements;
use crate::problem::{CoefficientProblem, Operand, Problem, Weights};

/// A header, compiled for this machine.
pub struct ForeignCpu {
    header: Header,
    compiler: Compiler,
    limit: Duration,
    single: [Program; 2],
    /// Compiled when first asked for: most headers need it for nothing.
    lifted: [OnceLock<Result<Program, ForeignError>>; 2],
    patience: Patience,
    /// Holds the programs; removed in the end.
    folder: Folder,
}

/// A worker program and its idle processes.
struct Program {
    /// Its path, or the compiler's own lines.
    compiled: Result<PathBuf, String>,
    idle: Mutex<Vec<Worker>>,
}

impl ForeignCpu {
    /// Compiles the header for real and complex weights.
    ///
    /// # Errors
    /// No compiler runs here, or no file can be written. What the compiler says of the header is no error: it is the
    /// reason of failed cases.
    pub fn new(header: Header) -> Result<Self, ForeignError> {
        ForeignCpu::with(header, Compiler::find()?, patience::limit(), &std::env::temp_dir())
    }

    /// With this compiler, this time limit for one case, and a temporary folder in `parent`.
    ///
    /// # Errors
    /// No file can be written.
    pub fn with(
        header: Header,
        compiler: Compiler,
        limit: Duration,
        parent: &Path,
    ) -> Result<Self, ForeignError> {
        let folder = compiler::folder(&header, parent)?;
        let compile =
            |weights: Weights| Program::new(&compiler, &header, weights, Precision::Single, folder.path());
        let (real, complex) = rayon::join(|| compile(Weights::Real), || compile(Weights::Complex));
        let single = [real?, complex?];
        let lifted = [OnceLock::new(), OnceLock::new()];
        Ok(ForeignCpu { header, compiler, limit, single, lifted, patience: Patience::default(), folder })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    fn single(&self, weights: Weights) -> &Program {
        &self.single[usize::from(weights == Weights::Complex)]
    }

    fn run(&self, method: Method, weights: Weights, job: Job) -> Result<Vec<f64>, KernelError> {
        self.patience.run(method, weights, || self.single(weights).run(weights, job, self.limit))
    }
}

impl Program {
    fn new(
        compiler: &Compiler,
        header: &Header,
        weights: Weights,
        precision: Precision,
        folder: &Path,
    ) -> Result<Self, ForeignError> {
        let compiled = compiler.compile(header, weights, precision, folder)?;
        Ok(Program { compiled, idle: Mutex::default() })
    }

    fn run(&self, weights: Weights, job: Job, limit: Duration) -> Result<Vec<f64>, KernelError> {
        let program = self.compiled.as_ref().map_err(|lines| rejection(weights, lines))?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut worker = match idle {
            Some(worker) => worker,
            None => Worker::start(program).map_err(|error| {
                KernelError::Unavailable(format!("the worker cannot be started: {error}"))
            })?,
        };
        match worker.ask(job, limit) {
            Ok(values) => {
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
                Ok(values)
            }
            Err(Silence::Died(how)) => Err(KernelError::Fault(format!("the worker process {how}"))),
            Err(Silence::TimedOut) => Err(KernelError::TimedOut(format!(
                "no result after {} s (hint: {LIMIT_VARIABLE} sets the limit)",
                limit.as_secs_f64()
            ))),
        }
    }
}

/// The job of a scan whose sizes have been checked.
fn scan_job(method: Method, problem: &Problem) -> Job {
    let shape = problem.shape;
    let mut flags = 0;
    let mut set = |flag: u64, on: bool| flags |= if on { flag } else { 0 };
    set(process::SOFTPLUS, problem.delta_softplus);
    set(process::SKIP, problem.d.is_some());
    set(process::GATE, problem.z.is_some());
    set(process::BIAS, problem.delta_bias.is_some());
    set(process::VARIABLE_B, problem.b_operand == Operand::Variable);
    set(process::VARIABLE_C, problem.c_operand == Operand::Variable);
    let mut tensors = vec![
        problem.u.clone(),
        problem.delta.clone(),
        problem.a.clone(),
        problem.b.clone(),
        problem.c.clone(),
    ];
    tensors.extend([&problem.d, &problem.z, &problem.delta_bias].into_iter().flatten().cloned());
    Job {
        is_scan: true,
        method: method.id(),
        flags,
        sizes: [shape.batch, shape.dim, shape.dstate, shape.seqlen, shape.groups],
        n: 0,
        tensors,
        outputs: shape.sequence_len() + shape.batch * shape.dim * shape.dstate * problem.weights.width(),
    }
}

/// Ā, then B̄u, of each element.
fn elements_job(method: Method, b: Operand, elements: &Elements) -> Job {
    let problem = &elements.coefficients;
    let n = problem.delta.len();
    Job {
        is_scan: false,
        method: method.id(),
        flags: if b == Operand::Variable { process::VARIABLE_B } else { 0 },
        sizes: [0; 5],
        n,
        tensors: vec![problem.delta.clone(), problem.a.clone(), problem.b.clone(), elements.u.clone()],
        outputs: 2 * n * problem.weights.width(),
    }
}

fn narrowed(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

impl Backend for ForeignCpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        let (arch, version) = (std::env::consts::ARCH, &self.compiler.version);
        format!("{arch} CPU, header {} compiled by {version}", self.header.shown())
    }

    fn source(&self) -> String {
        self.header.sha256()
    }

    /// log₂e as an f32, its product with A or z, and the product with Δ.
    fn z_roundings(&self) -> u32 {
        3
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<ScanOutput, KernelError> {
        shapes::check_scan(problem)?;
        check_input(problem.input)?;
        let values = self.run(method, problem.weights, scan_job(method, problem))?;
        let (out, last_state) = values.split_at(problem.shape.sequence_len());
        Ok(ScanOutput { out: narrowed(out), last_state: narrowed(last_state) })
    }

    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Result<Coefficients, KernelError> {
        let elements = Elements { u: vec![1.0; problem.delta.len()], coefficients: problem.clone() };
        self.elements(method, Operand::Variable, &elements)
    }

    fn lifted(&self, method: Method, problem: &Problem) -> Option<Result<JudgedOutput, KernelError>> {
        let side = usize::from(problem.weights == Weights::Complex);
        let compile = || {
            Program::new(&self.compiler, &self.header, problem.weights, Precision::Lifted, self.folder.path())
        };
        // A header that cannot be compiled in double has no lifted build.
        let program = self.lifted[side].get_or_init(compile).as_ref().ok()?;
        let values = match program.run(problem.weights, scan_job(method, problem), self.limit) {
            Ok(values) => values,
            Err(error) => return Some(Err(error)),
        };
        let (out, last_state) = values.split_at(problem.shape.sequence_len());
        let (out, last_state) = (problem.judged_sequences(out), problem.judged_states(last_state));
        Some(Ok(JudgedOutput { out, last_state }))
    }
}

impl Foreign for ForeignCpu {
    fn elements(&self, method: Method, b: Operand, elements: &Elements) -> Result<Coefficients, KernelError> {
        shapes::check_coefficients(&elements.coefficients)?;
        let values = self.run(method, elements.coefficients.weights, elements_job(method, b, elements))?;
        let (a_bar, b_bar) = values.split_at(values.len() / 2);
        Ok(Coefficients { a_bar: narrowed(a_bar), b_bar: narrowed(b_bar) })
    }

    fn rejected(&self, weights: Weights) -> Option<&str> {
        self.single(weights).compiled.as_ref().err().map(String::as_str)
    }
}

impl Drop for ForeignCpu {
    fn drop(&mut self) {
        // Killing takes a moment each.
        let lifted = self.lifted.iter().filter_map(|program| program.get()?.as_ref().ok());
        let programs: Vec<&Program> = self.single.iter().chain(lifted).collect();
        programs.par_iter().for_each(|program| {
            program.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        });
    }
}
