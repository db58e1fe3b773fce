//! A foreign header on a GPU: NVRTC compiles it with `kernels/foreign/driver.cuh`, and the CUDA backend's worker process
//! launches what comes of it, as it launches the production kernels.

use std::collections::HashMap;
use std::sync::Arc;

use super::header::{self, ByLayout, CallForm, Header};
use super::{Compiled, HeaderEntry, compiler, rejection, runtime, side};
use crate::kernel::KernelError;
use crate::kernel::cuda::arch::Arch;
use crate::kernel::cuda::cache::Image;
use crate::kernel::cuda::images::OnceMap;
use crate::kernel::cuda::nvrtc::{self, Unit};
use crate::kernel::cuda::worker::{self, GpuWorker};
use crate::kernel::cuda::{CudaError, Setup, gpu};
use crate::kernel::launch::{DeviceInfo, Job, Returned};
use crate::kernel::worker::limit;
use crate::method::Method;
use crate::problem::{Operand, Weights};

/// The kernels of one method and weight type, or the compiler's own lines, by layout of B.
type Kernels = Result<ByLayout<Images>, CudaError>;
type Images = Result<HashMap<HeaderEntry, Image>, String>;

/// A header, compiled for the first visible GPU.
pub struct GpuHeader {
    header: Header,
    info: DeviceInfo,
    arch: Arch,
    version: (i32, i32),
    worker: GpuWorker,
    kernels: OnceMap<(Method, Weights), Arc<Kernels>>,
    /// The compiler's own lines by weight type and layout of B.
    rejected: [ByLayout<Option<String>>; 2],
}

impl GpuHeader {
    /// Compiles the header for both weight types; other methods follow when they are needed.
    ///
    /// # Errors
    /// CUDA cannot run here.
    pub fn new(header: Header) -> Result<Self, CudaError> {
        gpu::driver_present()?;
        let version = nvrtc::version()?;
        let setup = Setup::from_environment(worker::this_program()?);
        let limit = limit::from_environment(limit::FOREIGN);
        let (worker, info) = GpuWorker::start(setup.program, limit)?;
        let own = Arch::of_device(info.major, info.minor);
        let arch = Arch::selected(setup.arch.as_deref(), own)?;
        nvrtc::check_architecture(&arch)?;
        let nothing = || ByLayout::Both(None);
        let (kernels, rejected) = (OnceMap::default(), [nothing(), nothing()]);
        let mut compiled = GpuHeader { header, info, arch, version, worker, kernels, rejected };
        // One method instantiates the whole function, whatever the others are.
        let lines = |weights| match &*compiled.kernels(Method::Zoh, weights) {
            Ok(images) => Ok(images.map(|images| images.as_ref().err().cloned())),
            Err(error) => Err(error.clone()),
        };
        let (real, complex) = rayon::join(|| lines(Weights::Real), || lines(Weights::Complex));
        compiled.rejected = [real?, complex?];
        Ok(compiled)
    }

    fn kernels(&self, method: Method, weights: Weights) -> Arc<Kernels> {
        let compile = || Arc::new(compile(&self.header, method, weights, &self.arch));
        self.kernels.get_or_make((method, weights), compile)
    }
}

impl HeaderEntry {
    /// The C++ expression that names its kernel.
    fn expression(self) -> String {
        let (method, complex) = (self.method.id(), self.weights == Weights::Complex);
        let b = self.b == Operand::Variable;
        match self.c {
            Some(c) => {
                format!("holdfast_foreign::scan<{method}, {complex}, {b}, {}>", c == Operand::Variable)
            }
            None => format!("holdfast_foreign::elements<{method}, {complex}, {b}>"),
        }
    }
}

/// Every kernel of one method and weight type; the inner error is the compiler's own lines.
///
/// # Errors
/// NVRTC is missing, too old, or does not know the architecture.
pub fn compile(header: &Header, method: Method, weights: Weights, arch: &Arch) -> Kernels {
    let compile = |b| {
        header::first_that_compiles(header, weights, b, |form| attempt(header, method, weights, form, arch))
    };
    header::by_layout(compile, Result::is_ok)
}

fn attempt(
    header: &Header,
    method: Method,
    weights: Weights,
    form: CallForm,
    arch: &Arch,
) -> Result<Images, CudaError> {
    let of_b = |b| {
        let operands = [None, Some(Operand::Constant), Some(Operand::Variable)];
        operands.map(|c| HeaderEntry { method, weights, b, c })
    };
    let entries: Vec<HeaderEntry> =
        Operand::ALL.into_iter().filter(|b| form.b.is_none_or(|only| only == *b)).flat_map(of_b).collect();
    let expressions: Vec<String> = entries.iter().map(|entry| entry.expression()).collect();
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
    // As the production kernels, so that f32 is IEEE's.
    let flags = nvrtc::FLAGS.into_iter().chain(["--disable-warnings"]);
    let mut flags: Vec<String> = flags.map(str::to_owned).collect();
    flags.push(format!("--include-path={}", header.folder.display()));
    flags.extend(header.macros(form).iter().map(|name| format!("--define-macro={name}")));
    let program = match nvrtc::compile_unit(&unit, &expressions, &flags, arch)? {
        Ok(program) => program,
        Err((_, log)) => {
            return Ok(Err(compiler::trimmed(&log, std::path::Path::new("/nowhere"), &header.shown())));
        }
    };
    let source = header.sha256();
    let image = |((entry, expression), (symbol, resources))| {
        let key = format!("{source} {arch} {expression}");
        (entry, Image { key, symbol, resources, cubin: program.cubin.clone() })
    };
    Ok(Ok(entries.into_iter().zip(expressions).zip(program.kernels).map(image).collect()))
}

impl Compiled for GpuHeader {
    fn header(&self) -> &Header {
        &self.header
    }

    fn name(&self) -> &'static str {
        "cuda"
    }

    fn device(&self) -> String {
        let ((major, minor), header) = (self.version, self.header.shown());
        format!("{}, header {header} compiled for {} by NVRTC {major}.{minor}", self.info, self.arch)
    }

    fn run(&self, entry: HeaderEntry, job: &dyn Fn() -> Job) -> Result<Returned, KernelError> {
        let image = match &*self.kernels(entry.method, entry.weights) {
            Ok(images) => match images.of(entry.b) {
                Ok(images) => images.get(&entry).cloned(),
                Err(lines) => return Err(rejection(entry, images.alone(entry.b), lines)),
            },
            Err(error) => return Err(KernelError::Unavailable(error.to_string())),
        };
        self.worker.run([image, None], job)
    }

    fn rejected(&self, weights: Weights, b: Operand) -> Option<&str> {
        self.rejected[side(weights)].of(b).as_deref()
    }
}
