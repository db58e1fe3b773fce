//! A mutant behind the interface of a backend. It runs in a worker process: a mutant may crash or hang.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdfast::kernel::cpu::device::CpuDevice;
use holdfast::kernel::launch::{
    Device, DeviceError, DeviceInfo, Element, Guarding, Job, Launch, Params, Returned,
};
use holdfast::kernel::registry::Kernel;
use holdfast::kernel::worker::{Message, Program, Worker};
use holdfast::kernel::{Backend, Coefficients, CpuBackend, Instantiation, KernelError};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, InputType, Operand, Problem, Weights};
use holdfast::promise::Tier;
use holdfast::tensor::Tensors;
use libloading::{Library, Symbol};

/// For one case.
const LIMIT: Duration = Duration::from_secs(60);

/// The argument that makes this program a worker.
pub const WORKER: &str = "worker";

/// What `library.cpp` says of a kernel that it lacks.
const NOT_COMPILED: &str = "not compiled";

/// A mutant's library, run by a worker.
pub struct MutantBackend {
    program: Program,
    running: Mutex<Option<Worker>>,
    /// Whether the mutant is judged in double as well.
    lifts: bool,
}

impl MutantBackend {
    pub fn new(library: &Path, lifts: bool) -> Self {
        let path = std::env::current_exe().expect("this program has a path");
        let arguments = vec![WORKER.to_owned(), library.display().to_string()];
        MutantBackend { program: Program { path, arguments }, running: Mutex::new(None), lifts }
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
        storage: Element,
    ) -> std::result::Result<Returned, KernelError> {
        self.run(Job::scan(Kernel::Scan(Instantiation::for_problem(method, problem)), problem, storage))
    }
}

fn elements(method: Method, problem: &CoefficientProblem) -> Kernel {
    Kernel::Discretize { method, weights: problem.weights, tier: Tier::Accurate }
}

impl Backend for MutantBackend {
    fn name(&self) -> &'static str {
        "mutant"
    }

    fn device(&self) -> String {
        CpuBackend::new().device()
    }

    fn scan(&self, method: Method, problem: &Problem) -> std::result::Result<Tensors<f32>, KernelError> {
        Ok(self.run_scan(method, problem, problem.input.into())?.scan(problem))
    }

    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> std::result::Result<Coefficients, KernelError> {
        Ok(self.run(Job::coefficients(elements(method, problem), problem, Element::F32))?.coefficients())
    }

    fn lifted(
        &self,
        method: Method,
        problem: &Problem,
    ) -> Option<std::result::Result<Tensors<f64>, KernelError>> {
        self.lifts.then(|| {
            let returned = self.run_scan(method, problem, Element::F64)?;
            Ok(problem.judged(&returned.scan::<f64>(problem)))
        })
    }

    fn lifted_coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Option<std::result::Result<Coefficients<f64>, KernelError>> {
        self.lifts.then(|| {
            Ok(self.run(Job::coefficients(elements(method, problem), problem, Element::F64))?.coefficients())
        })
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
        device.lifted = job.outputs.first().is_some_and(|output| output.element == Element::F64);
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

/// `HoldfastInstantiation` of `kernels/host/interface.h`.
#[repr(C)]
struct Wanted {
    method: c_int,
    input: c_int,
    complex: c_int,
    variable_b: c_int,
    variable_c: c_int,
    gate: c_int,
    lifted: c_int,
    fast: c_int,
    few_lanes: c_int,
    perturbation: [f64; 2],
}

type Scan = unsafe extern "C" fn(*const Wanted, *const c_void, c_uint, *mut c_char, usize) -> c_int;
type Discretize =
    unsafe extern "C" fn(*const Wanted, *const c_void, c_uint, c_uint, *mut c_char, usize) -> c_int;

impl MutantDevice {
    fn symbol<T>(&self, name: &str) -> std::result::Result<Symbol<'_, T>, DeviceError> {
        // SAFETY: tests/mutants/library.cpp declares these functions so.
        unsafe { self.loaded.get(name) }.map_err(|error| DeviceError::Broken(error.to_string()))
    }
}

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
        let mut wanted = Wanted {
            method: 0,
            input: 0,
            complex: 0,
            variable_b: 0,
            variable_c: 0,
            gate: 0,
            lifted: self.lifted.into(),
            fast: 0,
            few_lanes: 0,
            perturbation: [0.0; 2],
        };
        let mut message = [0u8; 512];
        let (text, size) = (message.as_mut_ptr().cast::<c_char>(), message.len());
        let status = match (launch.kernel, &launch.params) {
            (Kernel::Scan(which), Params::Scan(params)) => {
                wanted.method = which.method.id().into();
                wanted.input = match which.input {
                    InputType::F32 => 0,
                    InputType::F16 => 1,
                    InputType::Bf16 => 2,
                };
                wanted.complex = (which.weights == Weights::Complex).into();
                wanted.variable_b = (which.b == Operand::Variable).into();
                wanted.variable_c = (which.c == Operand::Variable).into();
                wanted.gate = which.gate.into();
                let scan: Symbol<Scan> = self.symbol("mutant_scan")?;
                // SAFETY: the job's buffers are as large as its shape says; what a mutant does beyond them ends this process.
                unsafe { scan(&wanted, (&raw const *params).cast(), launch.blocks, text, size) }
            }
            (Kernel::Discretize { method, weights, .. }, Params::Discretize(params)) => {
                wanted.method = method.id().into();
                wanted.complex = (weights == Weights::Complex).into();
                let discretize: Symbol<Discretize> = self.symbol("mutant_discretize")?;
                let params = (&raw const *params).cast();
                // SAFETY: as above.
                unsafe { discretize(&wanted, params, launch.blocks, launch.threads, text, size) }
            }
            _ => return Err(DeviceError::Fault("mutants have no such kernel".to_owned())),
        };
        if status == 0 {
            return Ok(());
        }
        let text = CStr::from_bytes_until_nul(&message)
            .map_or_else(|_| String::new(), |t| t.to_string_lossy().into());
        Err(DeviceError::Fault(text))
    }
}
