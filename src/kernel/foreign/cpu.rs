//! A foreign header on the CPU: one worker program for each weight type, several processes of each.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rayon::prelude::*;

use super::compiler::{self, Compiler, Folder, Precision};
use super::header::{self, ByLayout, Header, Piece};
use super::{Call, Compiled, ForeignError, HeaderEntry, no_backward, rejection, side};
use crate::kernel::launch::{Job, Returned};
use crate::kernel::worker::{self, Message, Worker};
use crate::kernel::{KernelError, Result};
use crate::problem::{Operand, Weights};

/// A header, compiled for this machine.
pub struct CpuHeader {
    header: Header,
    compiler: Compiler,
    limit: Duration,
    /// By weight type.
    single: [ByLayout<Program>; 2],
    /// By weight type, of a header that has one.
    backward: Option<[Program; 2]>,
    /// Holds the programs; removed in the end.
    folder: Folder,
}

/// A worker program and its idle processes.
struct Program {
    weights: Weights,
    piece: Piece,
    /// The same in double. Compiled when first asked for: most headers need it for nothing.
    lifted: OnceLock<Option<Box<Program>>>,
    /// How it is started, or the compiler's own lines.
    compiled: Result<worker::Program, String>,
    idle: Mutex<Vec<Worker>>,
}

impl CpuHeader {
    /// Compiles the header for real and complex weights, in a folder in `parent`.
    pub fn new(
        header: Header,
        compiler: Compiler,
        limit: Duration,
        parent: &Path,
    ) -> Result<Self, ForeignError> {
        let folder = compiler::folder(&header, parent)?;
        let program = |weights, piece| {
            Program::new(&compiler, &header, (weights, piece), Precision::Single, folder.path())
        };
        let forward = |weights: Weights| {
            let program = |b| program(weights, Piece::Forward(b));
            header::by_layout(program, |program| program.compiled.is_ok())
        };
        let backward = |weights| header.has_backward.then(|| program(weights, Piece::Backward)).transpose();
        let compile = |weights| rayon::join(|| forward(weights), || backward(weights));
        let (real, complex) = rayon::join(|| compile(Weights::Real), || compile(Weights::Complex));
        let backward = real.1?.zip(complex.1?).map(|(real, complex)| [real, complex]);
        let single = [real.0?, complex.0?];
        Ok(CpuHeader { header, compiler, limit, single, backward, folder })
    }
}

impl Program {
    fn new(
        compiler: &Compiler,
        header: &Header,
        (weights, piece): (Weights, Piece),
        precision: Precision,
        folder: &Path,
    ) -> Result<Self, ForeignError> {
        let compiled = compiler.compile(header, (weights, piece), precision, folder)?;
        let started = |path: PathBuf| worker::Program { path, arguments: Vec::new() };
        let compiled = compiled.map(started);
        Ok(Program { weights, piece, lifted: OnceLock::new(), compiled, idle: Mutex::default() })
    }

    fn run(&self, entry: HeaderEntry, mut job: Job, limit: Duration) -> Result<Returned> {
        let program = self.compiled.as_ref().map_err(|lines| rejection(self.weights, self.piece, lines))?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut worker = match idle {
            Some(worker) => worker,
            None => Worker::start(program).map_err(|error| {
                KernelError::Unavailable(format!("the worker cannot be started: {error}"))
            })?,
        };
        let tensors = std::mem::take(&mut job.inputs);
        let reply = worker.ask(Message { header: words(entry, &job), tensors }, limit)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        job.returned(&reply.tensors)
    }
}

/// A job as `kernels/foreign/worker.cpp` reads it: words of 64 bits.
fn words(entry: HeaderEntry, job: &Job) -> Vec<u8> {
    let variable = |operand| u64::from(operand == Some(Operand::Variable));
    let (is_scan, b, c) = match entry.call {
        Call::Forward { b, c } => (c.is_some(), variable(Some(b)), variable(c)),
        Call::Backward => (false, 0, 0),
    };
    let flags = [is_scan.into(), entry.method.id().into(), b, c, job.delta_softplus.into()];
    let sizes = job.sizes.map(|size| size as u64);
    flags.into_iter().chain(sizes).flat_map(u64::to_ne_bytes).collect()
}

impl Compiled for CpuHeader {
    fn header(&self) -> &Header {
        &self.header
    }

    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        let (arch, version) = (std::env::consts::ARCH, &self.compiler.version);
        format!("{arch} CPU, header {} compiled by {version}", self.header.shown())
    }

    fn run(&self, entry: HeaderEntry, job: &dyn Fn() -> Job) -> Result<Returned> {
        let program = self.program(entry.weights, entry.call);
        program.map_or_else(|| Err(no_backward()), |program| program.run(entry, job(), self.limit))
    }

    fn run_lifted(&self, entry: HeaderEntry, job: Job) -> Option<Result<Returned>> {
        let single = self.program(entry.weights, entry.call)?;
        let which = (single.weights, single.piece);
        let lifted =
            |precision| Program::new(&self.compiler, &self.header, which, precision, self.folder.path());
        let compile = || match lifted(Precision::Lifted) {
            Ok(Program { compiled: Err(_), .. }) => lifted(Precision::LiftedWithLibrary),
            tried => tried,
        };
        // A header that cannot be compiled in double has no lifted build.
        let program = single.lifted.get_or_init(|| compile().ok().map(Box::new)).as_ref()?;
        Some(program.run(entry, job, self.limit))
    }

    fn rejected(&self, weights: Weights, call: Call) -> Option<&str> {
        self.program(weights, call)?.compiled.as_ref().err().map(String::as_str)
    }
}

impl CpuHeader {
    /// None for a backward that it does not have.
    fn program(&self, weights: Weights, call: Call) -> Option<&Program> {
        match call {
            Call::Forward { b, .. } => Some(self.single[side(weights)].of(b)),
            Call::Backward => self.backward.as_ref().map(|programs| &programs[side(weights)]),
        }
    }
}

impl Drop for CpuHeader {
    fn drop(&mut self) {
        // Killing takes a moment each.
        let forward = self.single.iter().flat_map(ByLayout::all);
        let single: Vec<&Program> = forward.chain(self.backward.iter().flatten()).collect();
        let lifted = single.iter().filter_map(|program| program.lifted.get()?.as_deref());
        let programs: Vec<&Program> = single.iter().copied().chain(lifted).collect();
        programs.par_iter().for_each(|program| {
            program.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        });
    }
}
