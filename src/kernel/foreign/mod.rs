//! Headers of coefficients that other people wrote: a file with
//! `template <typename weight_t, bool kIsComplex> compute_discretization(delta, A, delta_u, B, method)`, taken from its
//! path as it is, compiled with the harness's own drivers (`kernels/foreign/`), and run in a worker process.
//!
//! A header is a [`ForeignBackend`]. On a CPU ([`cpu`]) the system's C++ compiler makes one worker program for each weight type, so that a header whose
//! complex case does not compile is still judged on its real one; on a GPU ([`gpu`]) NVRTC compiles the same drivers for
//! the worker of the CUDA backend.

pub mod compiler;
pub mod cpu;
pub mod gpu;
pub mod header;
pub mod includes;
pub mod runtime;

use std::path::Path;
use std::time::Duration;

pub use header::{Header, HeaderError};

use self::compiler::Compiler;
use self::cpu::CpuHeader;
use self::gpu::GpuHeader;
use super::cuda::CudaError;
use super::launch::{Element, Job, Returned};
use super::registry::{Instantiation, Kernel};
use super::worker::limit::{self, Hangs};
use super::{Backend, Coefficients, KernelError, shapes};
use crate::method::Method;
use crate::problem::elements::Elements;
use crate::problem::{CoefficientProblem, Operand, Problem, Weights};
use crate::promise::{Promise, Tier};
use crate::tensor::Tensors;

/// Why no header can be run here at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    #[error(
        "no C++ compiler runs here, tried {tried}{from} (hint: install one, for instance `apt install g++`, or point {} at it)",
        compiler::VARIABLE
    )]
    NoCompiler { tried: String, from: String },
    #[error("the C++ compiler cannot be run: {0}")]
    Compiler(String),
    #[error("the temporary folder cannot be written: {0} (hint: TMPDIR names another)")]
    Folder(String),
}

/// An entry point of `kernels/foreign/driver.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeaderEntry {
    pub method: Method,
    pub weights: Weights,
    /// With constant B the header is told Δu, with variable B BΔu.
    pub b: Operand,
    /// Of a scan; none where elements are discretized one by one.
    pub c: Option<Operand>,
}

/// A header, compiled for one kind of device.
trait Compiled: Send + Sync {
    fn header(&self) -> &Header;

    /// The name that `--backend` takes.
    fn name(&self) -> &'static str;

    /// What runs it, in words.
    fn device(&self) -> String;

    /// Runs a production kernel's job with the header's coefficients.
    fn run(&self, entry: HeaderEntry, job: &dyn Fn() -> Job) -> Result<Returned, KernelError>;

    /// The same in double; none where there is no such build.
    fn run_lifted(&self, _entry: HeaderEntry, _job: Job) -> Option<Result<Returned, KernelError>> {
        None
    }

    /// The compiler's own lines, where the header does not compile for these weights and this layout of B.
    fn rejected(&self, weights: Weights, b: Operand) -> Option<&str>;
}

/// A backend that runs a foreign header.
pub struct ForeignBackend {
    compiled: Box<dyn Compiled>,
    hangs: Hangs,
}

impl ForeignBackend {
    /// Compiles the header for this machine's CPU, for real and complex weights.
    ///
    /// # Errors
    /// No compiler runs here, or no file can be written. What the compiler says of the header is no error: it is the
    /// reason of failed cases.
    pub fn on_cpu(header: Header) -> Result<Self, ForeignError> {
        let limit = limit::from_environment(limit::FOREIGN);
        ForeignBackend::on_cpu_with(header, Compiler::find()?, limit, &std::env::temp_dir())
    }

    /// With this compiler, this time limit for one case, and a temporary folder in `parent`.
    ///
    /// # Errors
    /// No file can be written.
    pub fn on_cpu_with(
        header: Header,
        compiler: Compiler,
        limit: Duration,
        parent: &Path,
    ) -> Result<Self, ForeignError> {
        let compiled = Box::new(CpuHeader::new(header, compiler, limit, parent)?);
        Ok(ForeignBackend { compiled, hangs: Hangs::default() })
    }

    /// Compiles the header for the first visible GPU and both weight types; other methods follow when they are needed.
    ///
    /// # Errors
    /// CUDA cannot run here. What the compiler says of the header is no error: it is the reason of failed cases.
    pub fn on_gpu(header: Header) -> Result<Self, CudaError> {
        let compiled = Box::new(GpuHeader::new(header)?);
        Ok(ForeignBackend { compiled, hangs: Hangs::default() })
    }

    /// Ā and B̄u of each element, as the header's callers get them: with constant B it is told Δu, with variable B BΔu.
    ///
    /// # Errors
    /// [`KernelError::Rejected`] where the header does not compile for these weights; faults.
    pub fn elements(
        &self,
        method: Method,
        b: Operand,
        elements: &Elements,
    ) -> Result<Coefficients, KernelError> {
        shapes::check_coefficients(&elements.coefficients)?;
        let (entry, job) = elements_entry(method, b, elements);
        Ok(self.run(entry, &job)?.coefficients())
    }

    /// The compiler's own lines, where the header does not compile for these weights and this layout of B.
    pub fn rejected(&self, weights: Weights, b: Operand) -> Option<&str> {
        self.compiled.rejected(weights, b)
    }

    fn run(&self, entry: HeaderEntry, job: &dyn Fn() -> Job) -> Result<Returned, KernelError> {
        self.hangs.run(entry.method, entry.weights, || self.compiled.run(entry, job))
    }
}

impl Backend for ForeignBackend {
    fn name(&self) -> &'static str {
        self.compiled.name()
    }

    fn device(&self) -> String {
        self.compiled.device()
    }

    fn source(&self) -> String {
        self.compiled.header().sha256()
    }

    fn promise(&self) -> Promise {
        Promise::HEADER
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>, KernelError> {
        shapes::check_scan(problem)?;
        shapes::check_f32(problem.input, "headers of coefficients are judged in f32")?;
        let (entry, job) = scan_entry(method, problem);
        Ok(self.run(entry, &job)?.scan(problem))
    }

    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Result<Coefficients, KernelError> {
        let elements = Elements { u: vec![1.0; problem.delta.len()], coefficients: problem.clone() };
        self.elements(method, Operand::Variable, &elements)
    }

    fn lifted(&self, method: Method, problem: &Problem) -> Option<Result<Tensors<f64>, KernelError>> {
        let (entry, job) = scan_entry(method, problem);
        let mut job = job();
        job.outputs.iter_mut().for_each(|output| output.element = Element::F64);
        let run = self.compiled.run_lifted(entry, job)?;
        Some(run.map(|returned| problem.judged(&returned.scan::<f64>(problem))))
    }

    fn probed(
        &self,
        method: Method,
        b: Operand,
        elements: &Elements,
    ) -> Option<Result<Coefficients<f64>, KernelError>> {
        let (entry, job) = elements_entry(method, b, elements);
        let mut job = job();
        job.outputs.iter_mut().for_each(|output| output.element = Element::F64);
        Some(self.compiled.run_lifted(entry, job)?.map(Returned::coefficients))
    }
}

/// A scan, and the production kernel's job, whose tensors the driver takes.
fn scan_entry(method: Method, problem: &Problem) -> (HeaderEntry, impl Fn() -> Job) {
    let which = Instantiation::for_problem(method, problem);
    let entry = HeaderEntry { method, weights: which.weights, b: which.b, c: Some(which.c) };
    (entry, move || Job::scan(Kernel::Scan(which), problem, Element::F32))
}

/// Elements likewise.
fn elements_entry(method: Method, b: Operand, elements: &Elements) -> (HeaderEntry, impl Fn() -> Job) {
    let problem = &elements.coefficients;
    let entry = HeaderEntry { method, weights: problem.weights, b, c: None };
    let kernel = Kernel::Discretize { method, weights: problem.weights, tier: Tier::Accurate };
    let job = move || {
        let mut job = Job::coefficients(kernel, problem, Element::F32);
        // u comes behind B.
        if let Some(Some(b)) = job.inputs.get_mut(2) {
            b.extend(Element::F32.encode(&elements.u));
        }
        job
    };
    (entry, job)
}

/// The place of a weight type in an array of two.
fn side(weights: Weights) -> usize {
    usize::from(weights == Weights::Complex)
}

/// The first of a compiler's lines, as the reason why there is no output; `alone` is the layout of B that was compiled apart.
fn rejection(entry: HeaderEntry, alone: Option<Operand>, lines: &str) -> KernelError {
    let first = lines.lines().next().unwrap_or_default();
    let layout = alone.map(|b| format!(" and {b} B")).unwrap_or_default();
    KernelError::Rejected(format!(
        "the header does not compile for {} weights{layout}: {first}",
        entry.weights
    ))
}
