//! Compiles kernels with NVRTC: no GPU needed, no file read, no C++ compiler.
//!
//! Every function asks for the library first: cudarc panics on a library that is not there.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::null_mut;

use cudarc::nvrtc::sys;
use serde::{Deserialize, Serialize};

use super::CudaError;
use super::arch::Arch;
use crate::kernel::CpuBackend;
use crate::kernel::registry::Kernel;
use crate::kernel::sources;
use crate::promise::Tier;

/// The oldest NVRTC that is known to have every function used here and C++17.
const OLDEST: (i32, i32) = (12, 0);

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

/// NVRTC's version, or why it cannot be used.
pub fn version() -> Result<(i32, i32), CudaError> {
    // SAFETY: loads and unloads a library, whose constructors are trusted.
    if !unsafe { sys::is_culib_present() } {
        return Err(CudaError::NoLibrary {
            library: "libnvrtc",
            hint: "install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc` and put its folder on LD_LIBRARY_PATH",
        });
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is present; both pointers are valid. Every NVRTC has this function.
    check("nvrtcVersion", unsafe { sys::nvrtcVersion(&mut major, &mut minor) })?;
    if (major, minor) < OLDEST {
        let found = format!("{major}.{minor}");
        return Err(CudaError::TooOld {
            library: "libnvrtc",
            found,
            expected: "12.0",
            update: "the CUDA toolkit",
        });
    }
    Ok((major, minor))
}

/// The architectures that this NVRTC compiles for.
fn known_architectures() -> Result<Vec<i32>, CudaError> {
    let mut count = 0;
    // SAFETY: the caller has seen the library; the pointer is valid.
    check("nvrtcGetNumSupportedArchs", unsafe { sys::nvrtcGetNumSupportedArchs(&mut count) })?;
    let mut known = vec![0; usize::try_from(count).unwrap_or_default()];
    // SAFETY: as above; the array holds as many as were announced.
    check("nvrtcGetSupportedArchs", unsafe { sys::nvrtcGetSupportedArchs(known.as_mut_ptr()) })?;
    Ok(known)
}

/// Fails unless this NVRTC compiles for `arch`.
pub fn check_architecture(arch: &Arch) -> Result<(), CudaError> {
    let (major, minor) = version()?;
    let known = known_architectures()?;
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

/// Compiles the kernels that the expressions name. The inner error is NVRTC's reason and log: the source's own fault.
pub fn compile_unit(
    unit: &Unit,
    expressions: &[String],
    flags: &[String],
    arch: &Arch,
) -> Result<Result<Program, (String, String)>, CudaError> {
    check_architecture(arch)?;
    let expressions: Vec<CString> = expressions.iter().map(|e| c_string(e)).collect();
    let program = Handle::new(unit)?;
    for expression in &expressions {
        // SAFETY: the program and the string live through the call.
        check("nvrtcAddNameExpression", unsafe {
            sys::nvrtcAddNameExpression(program.0, expression.as_ptr())
        })?;
    }
    let mut options = vec![c_string(&format!("--gpu-architecture={arch}"))];
    options.extend(flags.iter().map(|flag| c_string(flag)));
    let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
    // SAFETY: as many valid strings as are announced, alive through the call.
    let status = unsafe { sys::nvrtcCompileProgram(program.0, pointers.len() as c_int, pointers.as_ptr()) };
    let log = program.log()?;
    if let Err(CudaError::Call { name, .. }) = check("nvrtcCompileProgram", status) {
        return Ok(Err((name, log)));
    }
    let cubin = program.cubin()?;
    let (resources, warnings) = read_log(&log);
    let mut named = Vec::new();
    for expression in &expressions {
        let symbol = program.lowered_name(expression)?;
        let of_symbol = resources.iter().find(|(name, _)| *name == symbol).map(|(_, r)| *r);
        let Some(found) = of_symbol else {
            return Ok(Err(("the log does not mention a kernel".to_owned(), log)));
        };
        named.push((symbol, found));
    }
    Ok(Ok(Program { cubin, kernels: named, warnings }))
}

/// Sources hold no zero bytes; what does is compiled as nothing.
fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// An NVRTC program, destroyed in the end.
struct Handle(sys::nvrtcProgram);

impl Handle {
    fn new(unit: &Unit) -> Result<Self, CudaError> {
        let (text, name) = (c_string(&unit.text), c_string(&unit.name));
        let headers = unit.headers.iter().map(|(name, text)| (c_string(name), c_string(text)));
        let headers: Vec<(CString, CString)> = headers.collect();
        let names: Vec<*const c_char> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<*const c_char> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        let mut program = null_mut();
        // SAFETY: all strings live through the call, which copies them; as many headers as are announced.
        let status = unsafe {
            sys::nvrtcCreateProgram(
                &mut program,
                text.as_ptr(),
                name.as_ptr(),
                unit.headers.len() as c_int,
                texts.as_ptr(),
                names.as_ptr(),
            )
        };
        check("nvrtcCreateProgram", status).map(|()| Handle(program))
    }

    fn log(&self) -> Result<String, CudaError> {
        let mut size = 0;
        // SAFETY: the program is alive, the pointer valid.
        check("nvrtcGetProgramLogSize", unsafe { sys::nvrtcGetProgramLogSize(self.0, &mut size) })?;
        let mut log = vec![0u8; size];
        // SAFETY: the buffer is as large as was announced.
        check("nvrtcGetProgramLog", unsafe { sys::nvrtcGetProgramLog(self.0, log.as_mut_ptr().cast()) })?;
        Ok(String::from_utf8_lossy(&log).trim_end_matches('\0').to_owned())
    }

    fn cubin(&self) -> Result<Vec<u8>, CudaError> {
        let mut size = 0;
        // SAFETY: the program is alive, the pointer valid.
        check("nvrtcGetCUBINSize", unsafe { sys::nvrtcGetCUBINSize(self.0, &mut size) })?;
        let mut cubin = vec![0u8; size];
        // SAFETY: the buffer is as large as was announced.
        check("nvrtcGetCUBIN", unsafe { sys::nvrtcGetCUBIN(self.0, cubin.as_mut_ptr().cast()) })?;
        Ok(cubin)
    }

    fn lowered_name(&self, expression: &CStr) -> Result<String, CudaError> {
        let mut name = std::ptr::null();
        // SAFETY: the program is alive; the expression is one of those it was compiled for.
        check("nvrtcGetLoweredName", unsafe {
            sys::nvrtcGetLoweredName(self.0, expression.as_ptr(), &mut name)
        })?;
        // SAFETY: on success it is a string that lives as long as the program.
        Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: created by nvrtcCreateProgram, and destroyed only here.
        let _ = unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
    }
}

fn check(call: &'static str, status: sys::nvrtcResult) -> Result<(), CudaError> {
    if status == sys::nvrtcResult::NVRTC_SUCCESS {
        return Ok(());
    }
    // SAFETY: returns a static string for every value.
    let text = unsafe { CStr::from_ptr(sys::nvrtcGetErrorString(status)) };
    let name = text.to_string_lossy().into_owned();
    Err(CudaError::Call { call, text: format!("status {}", status as u32), name })
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
