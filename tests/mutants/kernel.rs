//! A mutant behind the interface of a backend. It runs in a worker process: a mutant may crash or hang.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdfast::kernel::cpu::device::CpuDevice;
use holdfast::kernel::cpu::params::RawInstantiation;
use holdfast::kernel::launch::{
    Device, DeviceError, DeviceInfo, ElementType, Guarding, Job, Launch, Params, Returned,
};
use holdfast::kernel::registry::{Dense, Kernel, Spread};
use holdfast::kernel::worker::{Message, Program, Worker};
use holdfast::kernel::{Backend, Coefficients, CpuBackend, Derivatives, Instantiation, KernelError};
use holdfast::method::Method;
use holdfast::problem::dense::DenseProblem;
use holdfast::problem::{CoefficientProblem, InputType, OutputGradients, Problem};
use holdfast::promise::{Promise, Tier};
use holdfast::tensor::{Gradients, Tensors};
use libloading::{Library, Symbol};

use crate::table::Variant;

/// For one case.
const LIMIT: Duration = Duration::from_secs(60);

/// The argument that makes this program a worker.
pub const WORKER: &str = "worker";

/// What `library.cpp` says of a kernel that it lacks.
const NOT_COMPILED: &str = "not compiled";

/// Chunks of a mutant whose sequences are in chunks, where these are long enough.
const CHUNKS: usize = 7;

/// A mutant's library, run by a worker.
pub struct MutantBackend {
    program: Program,
    running: Mutex<Option<Worker>>,
    variant: Variant,
    /// Whether the mutant is judged in double as well.
    lifts: bool,
}

impl MutantBackend {
    pub fn new(library: &Path, variant: Variant, lifts: bool) -> Self {
        let path = std::env::current_exe().expect("this program has a path");
        let arguments = vec![WORKER.to_owned(), library.display().to_string()];
        MutantBackend { program: Program { path, arguments }, running: Mutex::new(None), variant, lifts }
    }

    fn run(&self, mut job: Job) -> std::result::Result<Returned, KernelError> {
        let unavailable = |error: Error| KernelError::Unavailable(error.to_string());
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut worker = match running.take() {
            Some(worker) => worker,
            None => Worker::start(&self.program).map_err(unavailable)?,
        };
        let inputs = std::mem::take(&mut job.inputs);
        let reply = worker.ask(Message::new(&job, inputs).map_err(unavailable)?, LIMIT)?;
        *running = Some(worker);
        let reply_header = reply.header::<std::result::Result<(), DeviceError>>().map_err(unavailable)?;
        // That would be the driver's own fault, and count as the mutant's.
        assert_ne!(reply_header, Err(DeviceError::Fault(NOT_COMPILED.to_owned())));
        reply_header?;
        job.returned(&reply.tensors)
    }

    fn run_scan(
        &self,
        method: Method,
        problem: &Problem,
        storage: ElementType,
    ) -> std::result::Result<Returned, KernelError> {
        let which = Instantiation::for_problem(method, problem).in_tier(self.tier());
        let which = match self.variant {
            Variant::FewLanes | Variant::Chunks => which.with_few_lanes(problem.shape.dstate),
            _ => which,
        };
        let chunks = if self.variant == Variant::Chunks { CHUNKS } else { 1 };
        let spread = Spread::in_chunks(which, problem.shape.seqlen, chunks);
        self.run(Job::spread_scan(spread, problem, storage))
    }

    fn elements(&self, method: Method, problem: &CoefficientProblem) -> Kernel {
        Kernel::Discretize { method, weights: problem.weights, tier: self.tier() }
    }

    /// Whether it has a backward pass, and nothing else: the scans that the laws of gradients compare with are production's.
    fn is_backward(&self) -> bool {
        matches!(self.variant, Variant::Backward | Variant::DenseBackward)
    }
}

impl Backend for MutantBackend {
    fn name(&self) -> &'static str {
        "mutant"
    }

    fn device(&self) -> String {
        CpuBackend::new().device()
    }

    fn tier(&self) -> Tier {
        if self.variant == Variant::Fast { Tier::Fast } else { Tier::Accurate }
    }

    fn promise(&self) -> Promise {
        let promise = Promise::of_tier(self.tier());
        if self.is_backward() { promise } else { promise.without_backward() }
    }

    fn scan(&self, method: Method, problem: &Problem) -> std::result::Result<Tensors<f32>, KernelError> {
        if self.is_backward() {
            return CpuBackend::new().scan(method, problem);
        }
        Ok(self.run_scan(method, problem, problem.input.into())?.scan(problem))
    }

    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> std::result::Result<Coefficients, KernelError> {
        Ok(self
            .run(Job::coefficients(self.elements(method, problem), problem, ElementType::F32))?
            .coefficients())
    }

    fn gradients(
        &self,
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
    ) -> Option<std::result::Result<Gradients<f32>, KernelError>> {
        let job = || Job::backward(method, problem, given, problem.input.into());
        self.is_backward().then(|| Ok(self.run(job())?.gradients(problem)))
    }

    fn derivatives(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Option<std::result::Result<Derivatives, KernelError>> {
        let run = || Ok(self.run(Job::derivatives(method, problem))?.derivatives());
        self.is_backward().then(run)
    }

    fn dense(
        &self,
        method: Method,
        problem: &DenseProblem,
    ) -> Option<std::result::Result<Coefficients, KernelError>> {
        let which = Dense::new(method, problem.weights, self.tier(), problem.n);
        let run = || Ok(self.run(Job::dense(which, problem))?.coefficients());
        (self.variant == Variant::Dense).then(run)
    }

    fn dense_scan(
        &self,
        method: Method,
        problem: &Problem,
    ) -> Option<std::result::Result<Tensors<f32>, KernelError>> {
        let which = Instantiation::for_problem(method, problem).in_tier(self.tier());
        let run = || Ok(self.run(Job::dense_scan(which, problem))?.scan(problem));
        (self.variant == Variant::Dense).then(run)
    }

    fn lifted(
        &self,
        method: Method,
        problem: &Problem,
    ) -> Option<std::result::Result<Tensors<f64>, KernelError>> {
        self.lifts.then(|| {
            let returned = self.run_scan(method, problem, ElementType::F64)?;
            Ok(problem.judged(&returned.scan::<f64>(problem)))
        })
    }

    fn lifted_coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Option<std::result::Result<Coefficients<f64>, KernelError>> {
        let job = || Job::coefficients(self.elements(method, problem), problem, ElementType::F64);
        self.lifts.then(|| Ok(self.run(job())?.coefficients()))
    }

    fn lifted_gradients(
        &self,
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
    ) -> Option<std::result::Result<Gradients<f64>, KernelError>> {
        let job = || Job::backward(method, problem, given, ElementType::F64);
        (self.lifts && self.is_backward()).then(|| Ok(self.run(job())?.gradients(problem)))
    }
}

/// Serves jobs until the input ends.
pub fn serve(library: &Path) -> Result<()> {
    // SAFETY: built by this program; it has nothing that runs when it is loaded.
    let library = unsafe { Library::new(library) }.map_err(Error::other)?;
    let mut device = MutantDevice { memory: CpuDevice::default(), loaded: library, lifted: false };
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    loop {
        let mut request = match Message::receive(&mut input) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            received => received?,
        };
        let inputs = std::mem::take(&mut request.tensors);
        let job = Job { inputs, ..request.header()? };
        device.lifted = job.outputs.first().is_some_and(|output| output.element == ElementType::F64);
        let (reply, outputs) = match job.execute(&mut device, Guarding::On) {
            Ok(outputs) => (Ok(()), outputs),
            Err(error) => (Err(error), Vec::new()),
        };
        Message::new(&reply, outputs)?.send(&mut output)?;
    }
}

/// Host memory, and the mutant's kernels.
struct MutantDevice {
    memory: CpuDevice,
    loaded: Library,
    lifted: bool,
}

/// The sums of what is stored so, whose method and weights are none of their business.
fn sums_of(input: InputType) -> RawInstantiation {
    let alike = Instantiation::all().find(|which| which.input == input);
    alike.expect("every storage type has kernels").into()
}

/// Kernels as `library.cpp` numbers them.
#[derive(Clone, Copy)]
#[repr(i32)]
enum Number {
    Scan,
    ChunkSteps,
    Discretize,
    Differentiate,
    Backward,
    Sums,
    Dense,
    DenseScan,
    DenseBackward,
}

type Run = unsafe extern "C" fn(
    c_int,
    *const RawInstantiation,
    *const c_void,
    c_uint,
    c_uint,
    *mut c_char,
    usize,
) -> c_int;

impl Device for MutantDevice {
    fn info(&self) -> DeviceInfo {
        self.memory.info()
    }

    fn allocate(&mut self, bytes: usize) -> std::result::Result<u64, DeviceError> {
        self.memory.allocate(bytes)
    }

    fn free_all(&mut self) {
        self.memory.free_all();
    }

    fn fill(&mut self, address: u64, byte: u8, len: usize) -> std::result::Result<(), DeviceError> {
        self.memory.fill(address, byte, len)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> std::result::Result<(), DeviceError> {
        self.memory.write(address, bytes)
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> std::result::Result<(), DeviceError> {
        self.memory.read(address, bytes)
    }

    fn run(&mut self, launch: &Launch) -> std::result::Result<(), DeviceError> {
        fn raw<P>(params: &P) -> *const c_void {
            (&raw const *params).cast()
        }
        let (number, wanted, params) = match (launch.kernel, &launch.params) {
            (Kernel::Scan(which), Params::Scan(params)) => {
                (Number::Scan, RawInstantiation::from(which), raw(params))
            }
            (Kernel::ChunkSteps(which), Params::Scan(params)) => {
                (Number::ChunkSteps, RawInstantiation::from(which), raw(params))
            }
            (Kernel::Discretize { method, weights, tier }, Params::Discretize(params)) => {
                (Number::Discretize, RawInstantiation::of_elements(method, weights, tier), raw(params))
            }
            (Kernel::Differentiate { method, weights }, Params::Differentiate(params)) => {
                let which = RawInstantiation::of_elements(method, weights, Tier::Accurate);
                (Number::Differentiate, which, raw(params))
            }
            (Kernel::Backward(which), Params::Backward(params)) => {
                (Number::Backward, RawInstantiation::from(which), raw(params))
            }
            (Kernel::Dense(which), Params::Dense(params)) => {
                let which = RawInstantiation::of_elements(which.method, which.weights, which.tier);
                (Number::Dense, which, raw(params))
            }
            (Kernel::DenseScan(which), Params::Scan(params)) => {
                (Number::DenseScan, RawInstantiation::from(which), raw(params))
            }
            (Kernel::DenseBackward(which), Params::Backward(params)) => {
                (Number::DenseBackward, RawInstantiation::from(which), raw(params))
            }
            (Kernel::Sums(input), Params::Backward(params)) => (Number::Sums, sums_of(input), raw(params)),
            _ => return Err(DeviceError::Fault("mutants have no such kernel".to_owned())),
        };
        let wanted = if self.lifted { wanted.lifted() } else { wanted };
        let mut message = [0u8; 512];
        let (text, size) = (message.as_mut_ptr().cast::<c_char>(), message.len());
        // SAFETY: tests/mutants/library.cpp declares this function so.
        let run: Symbol<Run> = unsafe { self.loaded.get("mutant_run") }
            .map_err(|error| DeviceError::Broken(error.to_string()))?;
        let (blocks, threads) = (launch.blocks, launch.threads);
        // SAFETY: the job's buffers are as large as its shape says; what a mutant does beyond them ends this process.
        let status = unsafe { run(number as c_int, &wanted, params, blocks, threads, text, size) };
        if status == 0 {
            return Ok(());
        }
        let text = CStr::from_bytes_until_nul(&message)
            .map_or_else(|_| String::new(), |t| t.to_string_lossy().into());
        Err(DeviceError::Fault(text))
    }
}
