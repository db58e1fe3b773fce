//! The CUDA kernels' own source, built for the CPU by `build.rs` and `kernels/host/`: the same blocks, warps,
//! barriers and shuffles, run by fibres. It computes what a GPU would; it says nothing about a GPU's speed. Launches run in
//! copies of this process (`fork`), so that a crash is one failed case.

mod call;
mod crash;
pub mod device;
pub(super) mod ffi;
mod fork;
pub mod params;

use std::collections::BTreeSet;
use std::ffi::{CStr, c_int, c_uint};
use std::sync::Arc;
use std::time::Duration;

use self::call::Build;
pub use self::crash::Crash;
use self::fork::ForkedDevice;
pub use self::fork::end_workers;
pub use self::params::Elementary;
use super::launch::{ElementType, Guarding, Job, Returned};
use super::registry::{Dense, Instantiation, Kernel, Lanes, Spread};
use super::worker::limit::{self, Hangs};
use super::{Backend, Coefficients, Derivatives, KernelError, shapes};
use crate::kernel::Result;
use crate::method::Method;
use crate::problem::dense::DenseProblem;
use crate::problem::{CoefficientProblem, OutputGradients, Problem, Shape, Weights};
use crate::promise::{Promise, Tier};
use crate::tensor::{Gradients, Tensors};

/// The compiler that built the kernels for the CPU, as it names itself.
pub const COMPILER: &str = env!("HOLDFAST_CXX_VERSION");

/// `kFaultsPerNumber` of `kernels/faults/list.cuh`.
const FAULTS_PER_NUMBER: c_int = 1024;

/// Runs the kernels on this machine's CPU, in processes of their own. The results do not depend on the number of threads.
#[derive(Clone, Debug)]
pub struct CpuBackend {
    build: Build,
    /// For one launch.
    limit: Duration,
    hangs: Arc<Hangs>,
}

impl Default for CpuBackend {
    fn default() -> Self {
        CpuBackend {
            build: Build::default(),
            limit: limit::from_environment(limit::CPU),
            hangs: Arc::default(),
        }
    }
}

/// The kernels have no fault of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown fault `{0}` (hint: kernels/faults/list.cuh lists them)")]
pub struct UnknownFault(String);

impl CpuBackend {
    /// The production kernels.
    pub fn new() -> Self {
        CpuBackend::default()
    }

    /// The production kernels, the forward ones of this tier.
    pub fn in_tier(tier: Tier) -> Self {
        CpuBackend::default().with_build(Build { tier, ..Build::default() })
    }

    /// The same, forward scans with so many lanes a channel where there is such a kernel ([`Instantiation::has_few_lanes`]).
    pub fn with_lanes(self, lanes: Lanes) -> Self {
        self.with_build(Build { lanes, ..self.build })
    }

    /// The same, the sequences of forward scans in about so many chunks ([`Spread`]). Copies with faults, and the kernels in double, have
    /// none.
    pub fn with_chunks(self, chunks: usize) -> Self {
        self.with_build(Build { chunks, ..self.build })
    }

    /// A copy of the kernels with a fault in it, by its name in `kernels/faults/list.cuh`, and perhaps a second one:
    /// to test what judges them. It takes f32 inputs only.
    pub fn with_faults(first: &str, second: Option<&str>) -> Result<Self, UnknownFault> {
        let number = |name: &str| {
            (1..)
                .map_while(|number| Some((number, CpuBackend::fault_name(number)?)))
                .find(|(_, known)| *known == name)
                .map(|(number, _)| number)
                .ok_or_else(|| UnknownFault(name.to_owned()))
        };
        let second = second.map(number).transpose()?.unwrap_or(0);
        let fault = Some(number(first)? + FAULTS_PER_NUMBER * second);
        Ok(CpuBackend::default().with_build(Build { fault, ..Build::default() }))
    }

    /// The same copy with no fault but every Ā and B̄ off by these relative amounts, once computed: to measure how
    /// small an error is caught. Below 2⁻²³ an f32 coefficient does not move.
    pub fn perturbed(a_bar: f64, b_bar: f64) -> Self {
        let perturbation = [a_bar, b_bar];
        CpuBackend::default().with_build(Build { fault: Some(0), perturbation, ..Build::default() })
    }

    /// A kernel that ends its process or never ends, in the place of every one: to test that its cases fail, and nothing else
    /// does.
    pub fn crashing(crash: Crash) -> Self {
        CpuBackend::default().with_build(Build { crash: Some(crash), ..Build::default() })
    }

    pub fn with_limit(self, limit: Duration) -> Self {
        CpuBackend { limit, ..self }
    }

    fn with_build(&self, build: Build) -> Self {
        CpuBackend { build, ..self.clone() }
    }

    /// The scan of the judged channels alone: what measurements that repeat it many times can afford.
    pub fn scan_judged(&self, method: Method, problem: &Problem) -> Result<Tensors<f64>> {
        Ok(problem.judged(&self.run_scan(method, problem, Rows::Judged)?.scan::<f64>(problem)))
    }

    /// Threads of a scan's block (`kernels/launch.cuh`).
    pub fn block_threads() -> usize {
        ffi::holdfast_scan_threads() as usize
    }

    /// Positions that a block scans at a time.
    pub fn tile_len(weights: Weights) -> usize {
        ffi::holdfast_scan_tile(weights.width() as c_int) as usize
    }

    /// Bytes of dynamic shared memory of a scan's block.
    pub fn shared_bytes(dstate: usize, weights: Weights) -> usize {
        ffi::holdfast_scan_shared(dstate as i64, weights.width() as c_int) as usize
    }

    /// Threads of a block of the element-wise kernels.
    pub fn discretize_threads() -> usize {
        ffi::holdfast_discretize_block() as usize
    }

    /// The functions of `kernels/exponential.cuh` at x = hi + lo. For |x| ≤ 80 of eˣ in pairs, 86 of a common one, 1000 of sine
    /// and cosine.
    pub fn elementary(arguments: &[(f32, f32)]) -> Vec<Elementary> {
        let (hi, lo): (Vec<f32>, Vec<f32>) = arguments.iter().copied().unzip();
        let mut results = vec![Elementary::default(); arguments.len()];
        // SAFETY: two arrays of `len` values are read, and one of `len` is written.
        unsafe {
            ffi::holdfast_elementary(hi.as_ptr(), lo.as_ptr(), hi.len(), results.as_mut_ptr());
        }
        results
    }

    /// The number of the fault that the build planted in the production kernels (`HOLDFAST_PLANT`).
    pub fn planted_fault() -> Option<i32> {
        Some(ffi::holdfast_planted_fault()).filter(|&number| number != 0)
    }

    /// The kernels' own name of a fault's number.
    pub fn fault_name(number: i32) -> Option<&'static str> {
        let name = ffi::holdfast_fault_name(number);
        // SAFETY: a string literal.
        (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default())
    }

    /// Runs a kernel that misbehaves on purpose (`kernels/host/misbehave.cpp`), to show that it is caught. What a
    /// well-behaved one computes comes back as text.
    pub fn misbehave(which: i32) -> Result<String> {
        // SAFETY: the buffer is valid for the call.
        match ffi::with_message(|text, size| unsafe { ffi::holdfast_misbehave(which, text, size) }) {
            (0, result) => Ok(result),
            (_, message) => Err(KernelError::Fault(message)),
        }
    }
}

/// A binary that was carried here may use an instruction that this processor lacks.
pub(super) fn check_processor() -> Result<()> {
    #[cfg(holdfast_fma)]
    if !std::is_x86_feature_detected!("fma") {
        let (found, expected) = ("no fused multiply-add", "one like that on which this binary was built");
        return Err(shapes::unsupported("processor", found, expected, "build holdfast on this machine"));
    }
    Ok(())
}

/// Which channels' blocks run: all of them, or those with a judged channel in them.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    All,
    Judged,
}

impl CpuBackend {
    /// The same kernels in double.
    fn lift(&self) -> Self {
        self.with_build(Build { lifted: true, lanes: Lanes::Eight, ..self.build })
    }

    /// A scan of `rows`; what the others would have written is NaN.
    fn run_scan(&self, method: Method, problem: &Problem, rows: Rows) -> Result<Returned> {
        check_processor()?;
        shapes::check_scan(problem)?;
        let Build { fault, lifted, .. } = self.build;
        if fault.is_some() && !lifted {
            shapes::check_f32(problem.input, "the kernels with planted faults are built for f32 only")?;
        }
        let storage = if lifted { ElementType::F64 } else { problem.input.into() };
        let which = Instantiation::for_problem(method, problem).in_tier(self.build.tier);
        let which = match self.build.lanes {
            Lanes::Few => which.with_few_lanes(problem.shape.dstate),
            Lanes::Eight => which,
        };
        // Nor have planted ones, of which one may run as another method.
        let planted = CpuBackend::planted_fault().is_some();
        let split = fault.is_none() && !planted && !lifted && rows == Rows::All;
        let chunks = if split { self.build.chunks } else { 1 };
        let mut job =
            Job::spread_scan(Spread::in_chunks(which, problem.shape.seqlen, chunks), problem, storage);
        if fault.is_some() {
            // A fault may run another method as poly.
            job = job.with_workspace();
        }
        job.complete = rows == Rows::All;
        let Shape { dim, groups, .. } = problem.shape;
        let block = |&(batch, channel): &(usize, usize)| {
            let [batch, channel, dim, groups] = [batch, channel, dim, groups].map(|number| number as i64);
            ffi::holdfast_scan_block_of(batch, channel, dim, groups, which.lanes.are_few()) as c_uint
        };
        let judged = || problem.judged_channels.iter().map(block).collect::<BTreeSet<_>>();
        let only = (rows == Rows::Judged).then(|| judged().into_iter().collect());
        self.run(&job, only)
    }

    fn discretize(&self, method: Method, problem: &CoefficientProblem) -> Result<Returned> {
        check_processor()?;
        shapes::check_coefficients(problem)?;
        let returned = if self.build.lifted { ElementType::F64 } else { ElementType::F32 };
        let kernel = Kernel::Discretize { method, weights: problem.weights, tier: self.build.tier };
        self.run(&Job::coefficients(kernel, problem, returned), None)
    }

    /// The production kernels' alone: there are no copies with faults of these.
    fn backward(&self, method: Method, problem: &Problem, given: &OutputGradients) -> Result<Returned> {
        check_processor()?;
        shapes::check_backward(problem, given)?;
        // Kernels with a dense A compute in double as they are.
        let lifted = self.build.lifted && !problem.is_dense();
        let storage = if lifted { ElementType::F64 } else { problem.input.into() };
        self.run(&Job::backward(method, problem, given, storage), None)
    }

    fn differentiate(&self, method: Method, problem: &CoefficientProblem) -> Result<Derivatives> {
        check_processor()?;
        shapes::check_coefficients(problem)?;
        Ok(self.run(&Job::derivatives(method, problem), None)?.derivatives())
    }

    fn run(&self, job: &Job, only: Option<Vec<c_uint>>) -> Result<Returned> {
        let (method, weights) = job.kernel.computes();
        self.hangs.run(method, weights, || {
            let device = ForkedDevice::new(job.size(), self.build, only, self.limit);
            let mut device = device.map_err(|error| {
                KernelError::Unavailable(format!("the worker process cannot be started: {error}"))
            })?;
            let outputs = job.execute(&mut device, Guarding::On)?;
            device.give_back();
            job.returned(&outputs)
        })
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        format!("{} CPU, kernels built by {COMPILER}", std::env::consts::ARCH)
    }

    fn tier(&self) -> Tier {
        self.build.tier
    }

    /// The copies with faults have no backward pass.
    fn promise(&self) -> Promise {
        let promise = Promise::of_tier(self.build.tier);
        match self.build.fault {
            None => promise,
            Some(_) => Promise { dense: None, ..promise.without_backward() },
        }
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>> {
        Ok(self.run_scan(method, problem, Rows::All)?.scan(problem))
    }

    fn coefficients(&self, method: Method, problem: &CoefficientProblem) -> Result<Coefficients> {
        Ok(self.discretize(method, problem)?.coefficients())
    }

    fn gradients(
        &self,
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
    ) -> Option<Result<Gradients<f32>>> {
        self.promise().backward.map(|_| Ok(self.backward(method, problem, given)?.gradients(problem)))
    }

    fn derivatives(&self, method: Method, problem: &CoefficientProblem) -> Option<Result<Derivatives>> {
        self.promise().backward.map(|_| self.differentiate(method, problem))
    }

    fn dense(&self, method: Method, problem: &DenseProblem) -> Option<Result<Coefficients>> {
        let run = || {
            check_processor()?;
            shapes::check_dense(problem)?;
            let which = Dense::new(method, problem.weights, self.build.tier, problem.n);
            Ok(self.run(&Job::dense(which, problem), None)?.coefficients())
        };
        self.promise().dense.map(|_| run())
    }

    fn dense_scan(&self, method: Method, problem: &Problem) -> Option<Result<Tensors<f32>>> {
        let run = || {
            check_processor()?;
            shapes::check_dense_scan(problem)?;
            let which = Instantiation::for_problem(method, problem).in_tier(self.build.tier);
            Ok(self.run(&Job::dense_scan(which, problem), None)?.scan(problem))
        };
        self.promise().dense.map(|_| run())
    }

    /// Copies have neither tiers nor chunks.
    fn copies(&self) -> Option<String> {
        let Build { tier, chunks, .. } = Build::default();
        Some(format!("{:?}", Build { tier, chunks, ..self.lift().build }))
    }

    fn lifted(&self, method: Method, problem: &Problem) -> Option<Result<Tensors<f64>>> {
        Some(self.lift().scan_judged(method, problem))
    }

    fn lifted_coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Option<Result<Coefficients<f64>>> {
        Some(self.lift().discretize(method, problem).map(Returned::coefficients))
    }

    fn lifted_gradients(
        &self,
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
    ) -> Option<Result<Gradients<f64>>> {
        let run = || Ok(self.lift().backward(method, problem, given)?.gradients(problem));
        self.promise().backward.map(|_| run())
    }
}
