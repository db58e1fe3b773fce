//! A foreign header on a GPU: NVRTC compiles it with `kernels/foreign/driver.cuh`, and the CUDA backend's worker process
//! launches what comes of it, as it launches the production kernels.

use std::collections::HashMap;
use std::sync::Arc;

use super::header::{self, ByLayout, CallForm, Header, Piece};
use super::{Call, Compiled, HeaderEntry, compiler, no_backward, rejection, runtime, side};
use crate::kernel::cuda::arch::Arch;
use crate::kernel::cuda::cache::Image;
use crate::kernel::cuda::images::OnceMap;
use crate::kernel::cuda::nvrtc::{self, Unit};
use crate::kernel::cuda::worker::{self, GpuWorker};
use crate::kernel::cuda::{CudaError, Setup, gpu};
use crate::kernel::launch::{DeviceInfo, Job, Returned};
use crate::kernel::worker::limit;
use crate::kernel::{KernelError, Result};
use crate::method::Method;
use crate::problem::{Operand, Weights};

/// The kernels of one method and weight type, or the compiler's own lines, by layout of B.
type Kernels = Result<ByLayout<Images>, CudaError>;
/// The same of gradients.
type Backward = Result<Images, CudaError>;
pub type Images = Result<HashMap<HeaderEntry, Image>, String>;

/// A header, compiled for the first visible GPU.
pub struct GpuHeader {
    header: Header,
    info: DeviceInfo,
    arch: Arch,
    version: (i32, i32),
    worker: GpuWorker,
    kernels: OnceMap<(Method, Weights), Arc<Kernels>>,
    backward: OnceMap<(Method, Weights), Arc<Backward>>,
    /// The compiler's own lines by weight type and layout of B, and of the backward.
    rejected: [(ByLayout<Option<String>>, Option<String>); 2],
}

impl GpuHeader {
    /// Compiles the header for both weight types; other methods follow when they are needed.
    pub fn new(header: Header) -> Result<Self, CudaError> {
        gpu::driver_present()?;
        let version = nvrtc::version()?;
        let setup = Setup::from_environment(worker::this_program()?);
        let limit = limit::from_environment(limit::FOREIGN);
        let (worker, info) = GpuWorker::start(setup.program, limit)?;
        let own = Arch::of_device(info.major, info.minor);
        let arch = Arch::selected(setup.arch.as_deref(), own)?;
        nvrtc::check_architecture(&arch)?;
        let nothing = || (ByLayout::Both(None), None);
        let (kernels, backward, rejected) = (OnceMap::default(), OnceMap::default(), [nothing(), nothing()]);
        let mut compiled = GpuHeader { header, info, arch, version, worker, kernels, backward, rejected };
        // One method instantiates the whole function, whatever the others are.
        let lines = |weights| {
            let said = |images: &Images| images.as_ref().err().cloned();
            let forward = compiled.kernels(Method::Zoh, weights);
            let forward = forward.as_ref().as_ref().map_err(Clone::clone)?.map(said);
            if !compiled.header.has_backward {
                return Ok((forward, None));
            }
            let backward = compiled.backward(Method::Zoh, weights);
            Ok((forward, said(backward.as_ref().as_ref().map_err(CudaError::clone)?)))
        };
        let (real, complex) = rayon::join(|| lines(Weights::Real), || lines(Weights::Complex));
        compiled.rejected = [real?, complex?];
        Ok(compiled)
    }

    fn kernels(&self, method: Method, weights: Weights) -> Arc<Kernels> {
        let compile = || Arc::new(compile(&self.header, method, weights, &self.arch));
        self.kernels.get_or_make((method, weights), compile)
    }

    fn backward(&self, method: Method, weights: Weights) -> Arc<Backward> {
        let compile =
            || Arc::new(compile_piece(&self.header, (method, weights), Piece::Backward, &self.arch));
        self.backward.get_or_make((method, weights), compile)
    }
}

impl HeaderEntry {
    /// The C++ expression that names its kernel.
    fn expression(self) -> String {
        let (method, complex) = (self.method.id(), self.weights == Weights::Complex);
        let varies = |operand| operand == Operand::Variable;
        match self.call {
            Call::Forward { b, c: Some(c) } => {
                format!("holdfast_foreign::scan<{method}, {complex}, {}, {}>", varies(b), varies(c))
            }
            Call::Forward { b, c: None } => {
                format!("holdfast_foreign::elements<{method}, {complex}, {}>", varies(b))
            }
            Call::Backward => format!("holdfast_foreign::backward<{method}, {complex}>"),
        }
    }
}

/// Every kernel of one method and weight type; the inner error is the compiler's own lines.
///
/// # Errors
/// NVRTC is missing, too old, or does not know the architecture.
pub fn compile(header: &Header, method: Method, weights: Weights, arch: &Arch) -> Kernels {
    let compile = |b| compile_piece(header, (method, weights), Piece::Forward(b), arch);
    header::by_layout(compile, Result::is_ok)
}

/// The kernels of one piece; the inner error is the compiler's own lines.
pub fn compile_piece(
    header: &Header,
    (method, weights): (Method, Weights),
    piece: Piece,
    arch: &Arch,
) -> Result<Images, CudaError> {
    header::first_that_compiles(header, weights, piece, |form| attempt(header, method, weights, form, arch))
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
        operands.map(|c| Call::Forward { b, c })
    };
    let calls: Vec<Call> = match form.piece {
        Piece::Forward(only) => {
            Operand::ALL.into_iter().filter(|b| only.is_none_or(|only| only == *b)).flat_map(of_b).collect()
        }
        Piece::Backward => vec![Call::Backward],
    };
    let entries: Vec<HeaderEntry> =
        calls.into_iter().map(|call| HeaderEntry { method, weights, call }).collect();
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
             #include \"driver.cuh\"\n{}",
            runtime::HEADER,
            if form.piece == Piece::Backward { "#include \"backward.cuh\"\n" } else { "" },
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

    fn run(&self, entry: HeaderEntry, job: &dyn Fn() -> Job) -> Result<Returned> {
        let unavailable = |error: &CudaError| KernelError::Unavailable(error.to_string());
        let image_of = |images: &Images, piece| match images {
            Ok(images) => Ok(images.get(&entry).cloned()),
            Err(lines) => Err(rejection(entry.weights, piece, lines)),
        };
        let image = match entry.call {
            Call::Forward { b, .. } => {
                let images = self.kernels(entry.method, entry.weights);
                let images = images.as_ref().as_ref().map_err(unavailable)?;
                image_of(images.of(b), Piece::Forward(images.alone(b)))?
            }
            Call::Backward if !self.header.has_backward => return Err(no_backward()),
            Call::Backward => {
                let images = self.backward(entry.method, entry.weights);
                image_of(images.as_ref().as_ref().map_err(unavailable)?, Piece::Backward)?
            }
        };
        self.worker.run([image, None], job)
    }

    fn rejected(&self, weights: Weights, call: Call) -> Option<&str> {
        let (forward, backward) = &self.rejected[side(weights)];
        match call {
            Call::Forward { b, .. } => forward.of(b).as_deref(),
            Call::Backward => backward.as_deref(),
        }
    }
}
