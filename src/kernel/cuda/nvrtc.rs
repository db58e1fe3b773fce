//! Compiles kernels with NVRTC: no GPU needed, no file read, no C++ compiler.

#[cfg_attr(not(feature = "cuda"), path = "nvrtc/no_library.rs")]
mod library;

use serde::{Deserialize, Serialize};

pub use self::library::{compile_unit, version};
use super::CudaError;
use super::arch::Arch;
use crate::kernel::registry::Kernel;
use crate::kernel::{CpuBackend, sources};
use crate::promise::Tier;

/// What every kernel is compiled with, besides its architecture. No fast math: division, square root and
/// subnormals as IEEE has them, which the kernels' error bounds presuppose.
///
/// `--fmad=false`: products and sums are contracted nowhere but where the source asks for an fma by name, as it does
/// throughout its inner loops. The roundings are then those of the source, the same on every architecture, compiler
/// version and on the CPU build (`-ffp-contract=off`), whose results a GPU's can be compared with.
///
/// `--ptxas-options=-v` makes the log name each kernel's registers and spills.
pub const FLAGS: [&str; 6] = [
    "--std=c++17",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--ptxas-options=-v",
];

/// The flags that the kernels of a tier are compiled with, and the fault that this build was asked to plant in its kernels, if
/// any.
pub fn flags(tier: Tier) -> Vec<String> {
    let planted = CpuBackend::planted_fault().map(|number| format!("--define-macro=HOLDFAST_FAULT={number}"));
    let fast = (tier == Tier::Fast).then(|| "--define-macro=HOLDFAST_FAST=1".to_owned());
    FLAGS.iter().map(|&flag| flag.to_owned()).chain(planted).chain(fast).collect()
}

/// What one kernel takes of a multiprocessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    pub registers: u32,
    /// Bytes of registers written to memory for want of registers, and read back.
    pub spill_stores: u32,
    pub spill_loads: u32,
    /// Bytes of memory per thread: spills, and arrays that are indexed at run time.
    pub stack: u32,
    /// Bytes of static shared memory per block.
    pub shared: u32,
}

/// A compiled program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Machine code for one architecture.
    pub cubin: Vec<u8>,
    /// For each kernel, in the order asked for: its symbol, and what it takes.
    pub kernels: Vec<(String, Resources)>,
    /// What the compiler said beyond resources: warnings. Empty when all is well.
    pub warnings: String,
}

/// Fails unless this NVRTC compiles for `arch`.
pub fn check_architecture(arch: &Arch) -> Result<(), CudaError> {
    let (major, minor) = version()?;
    let known = library::known_architectures()?;
    if known.contains(&arch.number) {
        return Ok(());
    }
    let known: Vec<_> = known.iter().map(|number| format!("sm_{number}")).collect();
    Err(CudaError::ArchitectureUnknown {
        arch: arch.to_string(),
        version: format!("{major}.{minor}"),
        known: known.join(", "),
    })
}

/// A program's source and what it includes, by the names under which it does.
pub struct Unit {
    pub name: String,
    pub text: String,
    pub headers: Vec<(String, String)>,
}

/// Compiles kernels that share one source file and tier. May be called from several threads at once.
pub fn compile(kernels: &[Kernel], arch: &Arch) -> Result<Program, CudaError> {
    let name = kernels.first().map_or("", Kernel::source);
    let tier = kernels.first().map_or(Tier::Accurate, Kernel::tier);
    let fail = |reason: &str, log: String| CudaError::Compilation {
        program: name.to_owned(),
        arch: arch.to_string(),
        reason: reason.to_owned(),
        log,
    };
    let source = sources::program(name)
        .filter(|_| kernels.iter().all(|kernel| kernel.source() == name && kernel.tier() == tier))
        .ok_or_else(|| fail("the kernels share no source file and tier", String::new()))?;
    let text = |source: &sources::Source| (source.name.to_owned(), source.text.to_owned());
    let headers = sources::headers(source).map(text).collect();
    let (name, source) = text(source);
    let unit = Unit { name, text: source, headers };
    let expressions: Vec<String> = kernels.iter().map(Kernel::name_expression).collect();
    compile_unit(&unit, &expressions, &flags(tier), arch)?.map_err(|(reason, log)| fail(&reason, log))
}

/// Each entry point's resources by symbol, and every line that says something else.
pub fn read_log(log: &str) -> (Vec<(String, Resources)>, String) {
    let mut entries: Vec<(String, Resources)> = Vec::new();
    let mut others = Vec::new();
    let mut in_entry = false;
    for line in log.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            entries.push((rest.split('\'').next().unwrap_or_default().to_owned(), Resources::default()));
            in_entry = true;
        } else if let Some(rest) = line.split("Function properties for ").nth(1) {
            // Functions that are called, not inlined, have properties of their own.
            in_entry = entries.last().is_some_and(|(symbol, _)| symbol == rest.trim());
        } else if line.contains("bytes stack frame") {
            if let Some((_, r)) = entries.last_mut().filter(|_| in_entry) {
                r.stack = number_before(line, " bytes stack frame");
            }
            if let Some((_, r)) = entries.last_mut() {
                r.spill_stores += number_before(line, " bytes spill stores");
                r.spill_loads += number_before(line, " bytes spill loads");
            }
        } else if line.contains(": Used ") {
            if let Some((_, r)) = entries.last_mut() {
                r.registers = number_before(line, " registers");
                r.shared = number_before(line, " bytes smem");
                r.stack = r.stack.max(number_before(line, " bytes cumulative stack size"));
            }
        } else if !line.trim_start().starts_with("ptxas info") {
            others.push(line);
        }
    }
    (entries, others.join("\n"))
}

/// The number that ends where `unit` starts, 0 if there is none.
fn number_before(line: &str, unit: &str) -> u32 {
    let before = line.split(unit).next().filter(|before| before.len() < line.len());
    before.and_then(|text| text.rsplit([' ', ',']).next()).and_then(|n| n.parse().ok()).unwrap_or(0)
}
