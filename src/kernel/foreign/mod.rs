//! Headers of coefficients that other people wrote: a file with
//! `template <typename weight_t, bool kIsComplex> compute_discretization(delta, A, delta_u, B, method)`, taken from its
//! path as it is, compiled with the harness's own drivers (`kernels/foreign/`), and run in a worker process. It may have
//! `compute_discretization_backward(delta, A, B, d_A_bar, d_B_bar, method, &d_delta, &d_A, &d_B)` beside it, which is
//! compiled and run apart.
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
use self::header::{BACKWARD_FUNCTION, Piece};
use super::cuda::CudaError;
use super::launch::{ElementType, Job, Returned};
use super::registry::{Instantiation, Kernel};
use super::worker::limit::{self, Hangs};
use super::{Backend, CoefficientGradients, Coefficients, KernelError, shapes};
use crate::kernel::Result;
use crate::method::Method;
use crate::problem::elements::Elements;
use crate::problem::one_step::OneStep;
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

/// An entry point of the drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeaderEntry {
    pub method: Method,
    pub weights: Weights,
    pub call: Call,
}

/// What of a header is called, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Its coefficients. With constant B the header is told Δu, with variable B BΔu.
    Forward {
        b: Operand,
        /// Of a scan; none where elements are discretized one by one.
        c: Option<Operand>,
    },
    /// Its gradients, element by element.
    Backward,
}

/// A header, compiled for one kind of device.
trait Compiled: Send + Sync {
    fn header(&self) -> &Header;

    /// The name that `--backend` takes.
    fn name(&self) -> &'static str;

    /// What runs it, in words.
    fn device(&self) -> String;

    /// Runs a production kernel's job with the header's coefficients.
    fn run(&self, entry: HeaderEntry, job: &dyn Fn() -> Job) -> Result<Returned>;

    /// The same in double; none where there is no such build.
    fn run_lifted(&self, _entry: HeaderEntry, _job: Job) -> Option<Result<Returned>> {
        None
    }

    /// The compiler's own lines, where what is called does not compile for these weights.
    fn rejected(&self, weights: Weights, call: Call) -> Option<&str>;
}

/// A backend that runs a foreign header.
pub struct ForeignBackend {
    compiled: Box<dyn Compiled>,
    /// Forward, and backward.
    hangs: [Hangs; 2],
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
    pub fn on_cpu_with(
        header: Header,
        compiler: Compiler,
        limit: Duration,
        parent: &Path,
    ) -> Result<Self, ForeignError> {
        let compiled = Box::new(CpuHeader::new(header, compiler, limit, parent)?);
        Ok(ForeignBackend { compiled, hangs: Default::default() })
    }

    /// Compiles the header for the first visible GPU and both weight types; other methods follow when they are needed.
    ///
    /// # Errors
    /// CUDA cannot run here. What the compiler says of the header is no error: it is the reason of failed cases.
    pub fn on_gpu(header: Header) -> Result<Self, CudaError> {
        let compiled = Box::new(GpuHeader::new(header)?);
        Ok(ForeignBackend { compiled, hangs: Default::default() })
    }

    /// Ā and B̄u of each element, as the header's callers get them: with constant B it is told Δu, with variable B BΔu.
    ///
    /// # Errors
    /// [`KernelError::Rejected`] where the header does not compile for these weights; faults.
    pub fn elements(&self, method: Method, b: Operand, elements: &Elements) -> Result<Coefficients> {
        shapes::check_coefficients(&elements.coefficients)?;
        let (entry, job) = elements_entry(method, b, elements);
        Ok(self.run(entry, &job)?.coefficients())
    }

    /// The compiler's own lines, where the header does not compile for these weights and this layout of B.
    pub fn rejected(&self, weights: Weights, b: Operand) -> Option<&str> {
        self.compiled.rejected(weights, Call::Forward { b, c: None })
    }

    /// The same of its backward.
    pub fn rejected_backward(&self, weights: Weights) -> Option<&str> {
        self.compiled.rejected(weights, Call::Backward)
    }

    /// Whether it has a backward.
    pub fn has_backward(&self) -> bool {
        self.compiled.header().has_backward
    }

    fn run(&self, entry: HeaderEntry, job: &dyn Fn() -> Job) -> Result<Returned> {
        let [forward, backward] = &self.hangs;
        let hangs = if entry.call == Call::Backward { backward } else { forward };
        hangs.run(entry.method, entry.weights, || self.compiled.run(entry, job))
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
        Promise { differentiates: self.has_backward(), ..Promise::HEADER }
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>> {
        shapes::check_scan(problem)?;
        shapes::check_f32(problem.input, "headers of coefficients are judged in f32")?;
        let (entry, job) = scan_entry(method, problem);
        Ok(self.run(entry, &job)?.scan(problem))
    }

    fn coefficients(&self, method: Method, problem: &CoefficientProblem) -> Result<Coefficients> {
        let elements = Elements { u: vec![1.0; problem.delta.len()], coefficients: problem.clone() };
        self.elements(method, Operand::Variable, &elements)
    }

    fn lifted(&self, method: Method, problem: &Problem) -> Option<Result<Tensors<f64>>> {
        let (entry, job) = scan_entry(method, problem);
        let mut job = job();
        job.outputs.iter_mut().for_each(|output| output.element = ElementType::F64);
        let run = self.compiled.run_lifted(entry, job)?;
        Some(run.map(|returned| problem.judged(&returned.scan::<f64>(problem))))
    }

    fn coefficient_gradients(
        &self,
        method: Method,
        elements: &OneStep,
    ) -> Option<Result<CoefficientGradients>> {
        let (entry, job) = backward_entry(method, elements, ElementType::F32);
        let run = || {
            shapes::check_coefficients(&elements.coefficients)?;
            Ok(self.run(entry, &job)?.coefficient_gradients(&elements.coefficients))
        };
        self.has_backward().then(run)
    }

    fn lifted_coefficient_gradients(
        &self,
        method: Method,
        elements: &OneStep,
    ) -> Option<Result<CoefficientGradients<f64>>> {
        let (entry, job) = backward_entry(method, elements, ElementType::F64);
        let run = self.has_backward().then(|| self.compiled.run_lifted(entry, job())).flatten()?;
        Some(run.map(|returned| returned.coefficient_gradients(&elements.coefficients)))
    }

    fn probed(&self, method: Method, b: Operand, elements: &Elements) -> Option<Result<Coefficients<f64>>> {
        let (entry, job) = elements_entry(method, b, elements);
        let mut job = job();
        job.outputs.iter_mut().for_each(|output| output.element = ElementType::F64);
        Some(self.compiled.run_lifted(entry, job)?.map(Returned::coefficients))
    }
}

/// A scan, and the production kernel's job, whose tensors the driver takes.
fn scan_entry(method: Method, problem: &Problem) -> (HeaderEntry, impl Fn() -> Job) {
    let which = Instantiation::for_problem(method, problem);
    let call = Call::Forward { b: which.b, c: Some(which.c) };
    let entry = HeaderEntry { method, weights: which.weights, call };
    (entry, move || Job::scan(Kernel::Scan(which), problem, ElementType::F32))
}

/// Elements likewise.
fn elements_entry(method: Method, b: Operand, elements: &Elements) -> (HeaderEntry, impl Fn() -> Job) {
    let problem = &elements.coefficients;
    let entry = HeaderEntry { method, weights: problem.weights, call: Call::Forward { b, c: None } };
    let kernel = Kernel::Discretize { method, weights: problem.weights, tier: Tier::Accurate };
    let job = move || {
        let mut job = Job::coefficients(kernel, problem, ElementType::F32);
        // u comes behind B.
        if let Some(Some(b)) = job.inputs.get_mut(2) {
            b.extend(ElementType::F32.encode(&elements.u));
        }
        job
    };
    (entry, job)
}

/// The gradients of elements, by the launch of their coefficients.
fn backward_entry(
    method: Method,
    elements: &OneStep,
    returned: ElementType,
) -> (HeaderEntry, impl Fn() -> Job) {
    let weights = elements.coefficients.weights;
    let kernel = Kernel::Discretize { method, weights, tier: Tier::Accurate };
    let entry = HeaderEntry { method, weights, call: Call::Backward };
    (entry, move || Job::coefficient_gradients(kernel, elements, returned))
}

/// The place of a weight type in an array of two.
fn side(weights: Weights) -> usize {
    usize::from(weights == Weights::Complex)
}

/// The first of a compiler's lines, as the reason why a piece of the header has no output.
fn rejection(weights: Weights, piece: Piece, lines: &str) -> KernelError {
    let first = lines.lines().next().unwrap_or_default();
    let (what, layout) = match piece {
        Piece::Forward(alone) => {
            ("the header".to_owned(), alone.map(|b| format!(" and {b} B")).unwrap_or_default())
        }
        Piece::Backward => (format!("its {BACKWARD_FUNCTION}"), String::new()),
    };
    KernelError::Rejected(format!("{what} does not compile for {weights} weights{layout}: {first}"))
}

/// Why a header without a backward has no gradients. Nobody asks such a one for them.
fn no_backward() -> KernelError {
    KernelError::Unavailable(format!("the header has no {BACKWARD_FUNCTION}"))
}
