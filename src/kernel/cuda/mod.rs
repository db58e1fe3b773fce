//! The CUDA kernels on a GPU: compiled by NVRTC when they are needed ([`nvrtc`], [`images`], [`cache`]), run by a
//! worker process ([`worker`]) that a fault may kill without harm to any other case.
//!
//! ```text
//! this process                                  worker process
//! CudaBackend ── Images ── NVRTC, cache         Gpu (the driver), or a CPU in its place
//!      └── GpuWorker ══ jobs: image, tensors ══►  └── guarded buffers, launch, checks
//! ```
//!
//! Nothing here panics where a library is missing: each is asked for before it is used.

pub mod arch;
pub mod cache;
#[cfg_attr(not(feature = "cuda"), path = "no_gpu.rs")]
pub mod gpu;
pub mod images;
pub mod nvrtc;
pub mod worker;

use std::path::PathBuf;
use std::time::Duration;

use self::arch::Arch;
use self::cache::Cache;
use self::images::{Images, Statistics};
use self::worker::{GpuWorker, Raced};
use super::cpu::CpuBackend;
use super::launch::{DeviceInfo, ElementType, Job, Returned, Series, Timing};
use super::registry::{Dense, Instantiation, Kernel, Lanes, Misbehaviour, Spread};
use super::worker::{Program, limit};
use super::{Backend, Coefficients, Derivatives, KernelError, shapes};
use crate::kernel::Result;
use crate::method::Method;
use crate::problem::dense::DenseProblem;
use crate::problem::{CoefficientProblem, OutputGradients, Problem, Shape};
use crate::promise::{Promise, Tier};
use crate::tensor::{Gradients, Tensors};

/// Why CUDA cannot run here, or why a kernel did not come to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CudaError {
    #[error("this program was built without CUDA (hint: cargo's feature `cuda`)")]
    NotBuilt,
    #[error("the library {library} was not found (hint: {hint})")]
    NoLibrary { library: &'static str, hint: &'static str },
    #[error("{library} is version {found}, expected {expected} or newer (hint: update {update})")]
    TooOld { library: &'static str, found: String, expected: &'static str, update: &'static str },
    #[error(
        "no CUDA device is visible (hint: look at `nvidia-smi`, CUDA_VISIBLE_DEVICES and the device files' rights)"
    )]
    NoDevice,
    #[error("{call} failed: {name}: {text}")]
    Call { call: &'static str, name: String, text: String },
    #[error("{found} is no CUDA architecture, expected one such as sm_90 (hint: {variable} overrides the device's own)", variable = arch::VARIABLE)]
    Architecture { found: String },
    #[error(
        "NVRTC {version} does not compile for {arch}, only for {known} (hint: install an NVRTC that does)"
    )]
    ArchitectureUnknown { arch: String, version: String, known: String },
    #[error("{program} does not compile for {arch}: {reason}\n{log}")]
    Compilation { program: String, arch: String, reason: String, log: String },
    /// What a worker said of its device.
    #[error("{0}")]
    Reported(String),
    #[error("the worker process {0}")]
    Worker(String),
    #[error(
        "{} is no holdfast binary, which could run the worker process (hint: CudaBackend::with_setup names one)",
        .0.display()
    )]
    NotHoldfast(PathBuf),
}

#[derive(Clone, Debug)]
pub struct Setup {
    /// What is run as a worker.
    pub program: Program,
    pub cache: Cache,
    /// Overrides the device's own architecture.
    pub arch: Option<String>,
    /// For one case, on the device.
    pub limit: Duration,
}

impl Setup {
    /// As the environment's variables say.
    pub fn from_environment(program: Program) -> Self {
        Setup {
            program,
            cache: Cache::from_environment(),
            arch: std::env::var(arch::VARIABLE).ok(),
            limit: limit::from_environment(limit::CUDA),
        }
    }
}

/// Runs the kernels on the first visible GPU. Cases run one after the other; kernels are compiled by whichever
/// thread needs them, several at once.
pub struct CudaBackend {
    info: DeviceInfo,
    images: Option<Images>,
    worker: GpuWorker,
    /// The lifted source is the same, and so is IEEE 754's double.
    lifted: CpuBackend,
    tier: Tier,
    /// Lanes and chunks in place of the fastest.
    spread: Option<(Lanes, usize)>,
}

impl CudaBackend {
    /// Set up by the environment, with this very program as the worker. Fails where CUDA cannot run.
    pub fn new() -> Result<Self, CudaError> {
        // Before a process is started in vain.
        gpu::driver_present()?;
        nvrtc::version()?;
        CudaBackend::with_setup(Setup::from_environment(worker::this_program()?))
    }

    /// Starts the first worker. Fails where it has no device, or NVRTC cannot compile for it.
    pub fn with_setup(setup: Setup) -> Result<Self, CudaError> {
        let (worker, info) = GpuWorker::start(setup.program, setup.limit)?;
        let images = match info.needs_images {
            false => None,
            true => {
                let own = Arch::of_device(info.major, info.minor);
                Some(Images::new(Arch::selected(setup.arch.as_deref(), own)?, setup.cache.clone())?)
            }
        };
        Ok(CudaBackend {
            info,
            images,
            worker,
            lifted: CpuBackend::new(),
            tier: Tier::Accurate,
            spread: None,
        })
    }

    /// With the forward kernels of this tier.
    pub fn in_tier(self, tier: Tier) -> Self {
        CudaBackend { tier, ..self }
    }

    /// With so many lanes a channel in forward scans, where there is such a kernel, and about so many chunks of the sequence, in place of
    /// what is the fastest.
    pub fn with_spread(self, lanes: Lanes, chunks: usize) -> Self {
        CudaBackend { spread: Some((lanes, chunks)), ..self }
    }

    /// How this device scans a problem forward.
    pub fn spread(&self, method: Method, problem: &Problem) -> Spread {
        let which = Instantiation::for_problem(method, problem).in_tier(self.tier);
        let Shape { dstate, seqlen, .. } = problem.shape;
        match self.spread {
            None => self.info.fastest(which, problem.shape),
            Some((Lanes::Few, chunks)) => Spread::in_chunks(which.with_few_lanes(dstate), seqlen, chunks),
            Some((Lanes::Eight, chunks)) => Spread::in_chunks(which, seqlen, chunks),
        }
    }

    /// How many kernels have been compiled or loaded so far, and how long that took.
    pub fn statistics(&self) -> Statistics {
        self.images.as_ref().map(Images::statistics).unwrap_or_default()
    }

    /// Compiles or loads a kernel before it is needed.
    pub fn prepare(&self, kernel: Kernel) -> Result<(), CudaError> {
        self.images.as_ref().map_or(Ok(()), |images| images.get(kernel).map(drop))
    }

    /// Launches a kernel that misbehaves in the place of a scan over `problem` (f32, real weights), to show what
    /// becomes of it.
    pub fn misbehave(&self, which: Misbehaviour, problem: &Problem) -> Result<Tensors<f32>> {
        shapes::check_scan(problem)?;
        let kernel = Kernel::Misbehave(which);
        Ok(self.run(kernel, || Job::scan(kernel, problem, problem.input.into()))?.scan(problem))
    }

    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Runs a job again and again; how long each run took, and what the last one returned, where that is asked for.
    pub fn time(
        &self,
        kernel: Kernel,
        job: impl FnOnce() -> Job,
        timing: &Timing,
    ) -> Result<(Series, Option<Returned>)> {
        let mut all = self.race(kernel, job, timing)?.into_iter();
        all.next().unwrap_or_else(|| Err(KernelError::Unavailable("nothing was timed".to_owned())))
    }

    /// The same by the kernel and then by each peer, in turn.
    pub fn race(&self, kernel: Kernel, job: impl FnOnce() -> Job, timing: &Timing) -> Result<Vec<Raced>> {
        let mut timing = timing.clone();
        if let Some(flush) = &mut timing.flush {
            flush.image = self.image(flush.kernel)?;
        }
        self.worker.time(self.both_images(kernel)?, job, &timing)
    }

    fn image(&self, kernel: Kernel) -> Result<Option<cache::Image>> {
        let unavailable = |error: CudaError| KernelError::Unavailable(error.to_string());
        match &self.images {
            Some(images) => images.get(kernel).map(|image| Some((*image).clone())).map_err(unavailable),
            None => Ok(None),
        }
    }

    /// Those of a kernel and of the one that is launched after it.
    fn both_images(&self, kernel: Kernel) -> Result<[Option<cache::Image>; 2]> {
        Ok([self.image(kernel)?, kernel.then().map_or(Ok(None), |then| self.image(then))?])
    }

    fn run(&self, kernel: Kernel, job: impl FnOnce() -> Job) -> Result<Returned> {
        self.worker.run(self.both_images(kernel)?, job).map_err(|error| match error {
            KernelError::TimedOut(reason) => KernelError::Fault(reason),
            error => error,
        })
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn device(&self) -> String {
        self.images.as_ref().map_or_else(|| self.info.to_string(), |images| images.described(&self.info))
    }

    fn tier(&self) -> Tier {
        self.tier
    }

    fn promise(&self) -> Promise {
        Promise::of_tier(self.tier)
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>> {
        shapes::check_scan(problem)?;
        let spread = self.spread(method, problem);
        let job = || Job::spread_scan(spread, problem, problem.input.into());
        Ok(self.run(spread.kernel(), job)?.scan(problem))
    }

    fn coefficients(&self, method: Method, problem: &CoefficientProblem) -> Result<Coefficients> {
        shapes::check_coefficients(problem)?;
        let kernel = Kernel::Discretize { method, weights: problem.weights, tier: self.tier };
        Ok(self.run(kernel, || Job::coefficients(kernel, problem, ElementType::F32))?.coefficients())
    }

    fn gradients(
        &self,
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
    ) -> Option<Result<Gradients<f32>>> {
        let run = || {
            let job = Job::backward(method, problem, given, problem.input.into());
            Ok(self.run(job.kernel, || job)?.gradients(problem))
        };
        Some(shapes::check_backward(problem, given).and_then(|()| run()))
    }

    fn derivatives(&self, method: Method, problem: &CoefficientProblem) -> Option<Result<Derivatives>> {
        let kernel = Kernel::Differentiate { method, weights: problem.weights };
        let run = || Ok(self.run(kernel, || Job::derivatives(method, problem))?.derivatives());
        Some(shapes::check_coefficients(problem).and_then(|()| run()))
    }

    fn dense(&self, method: Method, problem: &DenseProblem) -> Option<Result<Coefficients>> {
        let which = Dense::new(method, problem.weights, self.tier, problem.n);
        let run = || Ok(self.run(Kernel::Dense(which), || Job::dense(which, problem))?.coefficients());
        Some(shapes::check_dense(problem).and_then(|()| run()))
    }

    fn dense_scan(&self, method: Method, problem: &Problem) -> Option<Result<Tensors<f32>>> {
        let which = Instantiation::for_problem(method, problem).in_tier(self.tier);
        let job = || Job::dense_scan(which, problem);
        let run = || Ok(self.run(Kernel::DenseScan(which), job)?.scan(problem));
        Some(shapes::check_dense_scan(problem).and_then(|()| run()))
    }

    fn copies(&self) -> Option<String> {
        self.lifted.copies()
    }

    /// By the CPU build.
    fn lifted(&self, method: Method, problem: &Problem) -> Option<Result<Tensors<f64>>> {
        self.lifted.lifted(method, problem)
    }

    fn lifted_coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Option<Result<Coefficients<f64>>> {
        self.lifted.lifted_coefficients(method, problem)
    }

    fn lifted_gradients(
        &self,
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
    ) -> Option<Result<Gradients<f64>>> {
        self.lifted.lifted_gradients(method, problem, given)
    }
}
