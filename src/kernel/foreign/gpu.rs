//! A foreign header on a GPU: NVRTC compiles it with `kernels/foreign/driver.cuh`, and the CUDA backend's worker process
//! launches what comes of it, as it launches the production kernels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::form::{self, Form};
use super::header::Header;
use super::patience::{self, Patience};
use super::{Foreign, check_input, compiler, rejection, runtime};
use crate::kernel::cuda::arch::Arch;
use crate::kernel::cuda::cache::Image;
use crate::kernel::cuda::device::DeviceInfo;
use crate::kernel::cuda::job::{self, Prepared};
use crate::kernel::cuda::nvrtc::{self, Unit};
use crate::kernel::cuda::process::Program;
use crate::kernel::cuda::station::Station;
use crate::kernel::cuda::{CudaError, Setup, gpu};
use crate::kernel::registry::{Instantiation, Kernel};
use crate::kernel::{Backend, Coefficients, KernelError, ScanOutput, shapes};
use crate::method::Method;
use crate::problem::elements::Elements;
use crate::problem::{CoefficientProblem, Operand, Problem, Weights};

/// What a header is compiled with: as the production kernels, so that f32 is IEEE's.
const FLAGS: [&str; 7] = [
    "--std=c++17",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--ptxas-options=-v",
    "--disable-warnings",
];

/// The kernels of one method and weight type, or the compiler's own lines.
type Compiled = Result<Result<HashMap<String, Image>, String>, CudaError>;

/// Compiled once, by whichever thread comes first.
type Shared = Arc<OnceLock<Compiled>>;

/// A header, compiled for the first visible GPU.
pub struct ForeignCuda {
    header: Header,
    info: DeviceInfo,
    arch: Arch,
    version: (i32, i32),
    station: Station,
    patience: Patience,
    compiled: Mutex<HashMap<(Method, Weights), Shared>>,
    rejected: [Option<String>; 2],
}

impl ForeignCuda {
    /// Compiles the header for both weight types; other methods follow when they are needed.
    ///
    /// # Errors
    /// CUDA cannot run here. What the compiler says of the header is no error: it is the reason of failed cases.
    pub fn new(header: Header) -> Result<Self, CudaError> {
        gpu::driver_present()?;
        let version = nvrtc::version()?;
        let setup = Setup::from_environment(Program::of_this_process()?);
        let (station, info) = Station::start(setup.program, patience::limit())?;
        let own = Arch::of_device(info.major, info.minor);
        let arch = Arch::selected(setup.arch.as_deref(), own)?;
        nvrtc::check_architecture(&arch)?;
        let rejected = [None, None];
        let compiled = Mutex::default();
        let mut backend = ForeignCuda {
            header,
            info,
            arch,
            version,
            station,
            patience: Patience::default(),
            compiled,
            rejected,
        };
        // One method instantiates the whole function, whatever the others are.
        let lines = |weights| match &*backend.kernels(Method::Zoh, weights) {
            Ok(Ok(_)) => Ok(None),
            Ok(Err(lines)) => Ok(Some(lines.clone())),
            Err(error) => Err(error.clone()),
        };
        let (real, complex) = rayon::join(|| lines(Weights::Real), || lines(Weights::Complex));
        backend.rejected = [real?, complex?];
        Ok(backend)
    }

    fn kernels(&self, method: Method, weights: Weights) -> impl std::ops::Deref<Target = Compiled> {
        let mut table = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = table.entry((method, weights)).or_default().clone();
        drop(table);
        slot.get_or_init(|| compile(&self.header, method, weights, &self.arch));
        Slot(slot)
    }

    fn run(
        &self,
        method: Method,
        weights: Weights,
        expression: &str,
        job: impl FnOnce() -> Prepared,
    ) -> Result<Vec<Vec<u8>>, KernelError> {
        let image = match &*self.kernels(method, weights) {
            Ok(Ok(images)) => images.get(expression).cloned(),
            Ok(Err(lines)) => return Err(rejection(weights, lines)),
            Err(error) => return Err(KernelError::Unavailable(error.to_string())),
        };
        self.patience.run(method, weights, || self.station.run(image, job))
    }
}

/// A compiled slot, as a reference to what is in it.
struct Slot(Shared);

impl std::ops::Deref for Slot {
    type Target = Compiled;

    fn deref(&self) -> &Compiled {
        static EMPTY: Compiled = Ok(Err(String::new()));
        self.0.get().unwrap_or(&EMPTY)
    }
}

fn scan_expression(method: Method, weights: Weights, b: Operand, c: Operand) -> String {
    let variable = |operand| operand == Operand::Variable;
    let (complex, b, c) = (weights == Weights::Complex, variable(b), variable(c));
    format!("holdfast_foreign::scan<{}, {complex}, {b}, {c}>", method.id())
}

fn elements_expression(method: Method, weights: Weights, b: Operand) -> String {
    let (complex, b) = (weights == Weights::Complex, b == Operand::Variable);
    format!("holdfast_foreign::elements<{}, {complex}, {b}>", method.id())
}

/// Every kernel of one method and weight type, by name expression; the inner error is the compiler's own lines.
///
/// # Errors
/// NVRTC is missing, too old, or does not know the architecture.
pub fn compile(header: &Header, method: Method, weights: Weights, arch: &Arch) -> Compiled {
    form::first_that_compiles(header, weights, |form| attempt(header, method, weights, form, arch))
}

fn attempt(header: &Header, method: Method, weights: Weights, form: Form, arch: &Arch) -> Compiled {
    let mut expressions = Vec::new();
    for b in Operand::ALL {
        expressions.push(elements_expression(method, weights, b));
        expressions.extend(Operand::ALL.map(|c| scan_expression(method, weights, b, c)));
    }
    let owned = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let sources = runtime::SOURCES.iter().filter(|source| source.name != "worker.cpp");
    let mut headers: Vec<_> = sources.map(|source| owned(source.name, source.text)).collect();
    for name in runtime::EMPTY.iter().chain(runtime::EMPTY_FOR_NVRTC) {
        headers.push(owned(name, runtime::EMPTY_TEXT));
    }
    headers.push(owned(runtime::HEADER, &String::from_utf8_lossy(&header.located())));
    let unit = Unit {
        name: "holdfast_foreign.cu".to_owned(),
        text: format!(
            "#include \"selective_scan_common.h\"\n#include \"selective_scan.h\"\n#include \"{}\"\n\
             #include \"driver.cuh\"\n",
            runtime::HEADER
        ),
        headers,
    };
    let mut flags: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
    flags.push(format!("--include-path={}", header.folder.display()));
    flags.extend(header.macros(form).iter().map(|name| format!("--define-macro={name}")));
    let program = match nvrtc::compile_unit(&unit, &expressions, &flags, arch)? {
        Ok(program) => program,
        Err((_, log)) => {
            return Ok(Err(compiler::trimmed(&log, std::path::Path::new("/nowhere"), &header.shown())));
        }
    };
    let source = header.sha256();
    let image = |(expression, (symbol, resources)): (String, (String, nvrtc::Resources))| {
        let key = format!("{source} {arch} {expression}");
        (expression, Image { key, symbol, resources, cubin: program.cubin.clone() })
    };
    Ok(Ok(expressions.into_iter().zip(program.kernels).map(image).collect()))
}

impl Backend for ForeignCuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn device(&self) -> String {
        let ((major, minor), header) = (self.version, self.header.shown());
        format!("{}, header {header} compiled for {} by NVRTC {major}.{minor}", self.info, self.arch)
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
        let weights = problem.weights;
        let expression = scan_expression(method, weights, problem.b_operand, problem.c_operand);
        // The production kernel's job: the driver has its parameters and its grid.
        let kernel = Kernel::Scan(Instantiation::of(method, problem));
        let outputs = self.run(method, weights, &expression, || job::scan(kernel, problem))?;
        job::scan_output(problem.input, &outputs)
    }

    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Result<Coefficients, KernelError> {
        let elements = Elements { u: vec![1.0; problem.delta.len()], coefficients: problem.clone() };
        self.elements(method, Operand::Variable, &elements)
    }
}

impl Foreign for ForeignCuda {
    fn elements(&self, method: Method, b: Operand, elements: &Elements) -> Result<Coefficients, KernelError> {
        let problem = &elements.coefficients;
        shapes::check_coefficients(problem)?;
        let expression = elements_expression(method, problem.weights, b);
        let prepare = || {
            let mut prepared = job::coefficients(method, problem);
            // u comes behind B.
            if let Some(Some(b)) = prepared.inputs.get_mut(2) {
                b.extend(elements.u.iter().flat_map(|u| u.to_ne_bytes()));
            }
            prepared
        };
        job::coefficients_output(&self.run(method, problem.weights, &expression, prepare)?)
    }

    fn rejected(&self, weights: Weights) -> Option<&str> {
        self.rejected[usize::from(weights == Weights::Complex)].as_deref()
    }
}
