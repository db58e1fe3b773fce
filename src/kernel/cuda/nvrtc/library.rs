//! NVRTC itself. Every function asks for the library first: cudarc panics on a library that is not there.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::null_mut;

use cudarc::nvrtc::sys;

use super::{Program, Unit, check_architecture, read_log};
use crate::kernel::cuda::CudaError;
use crate::kernel::cuda::arch::Arch;

/// The oldest NVRTC that is known to have every function used here and C++17.
const OLDEST: (i32, i32) = (12, 0);

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
pub(super) fn known_architectures() -> Result<Vec<i32>, CudaError> {
    let mut count = 0;
    // SAFETY: the caller has seen the library; the pointer is valid.
    check("nvrtcGetNumSupportedArchs", unsafe { sys::nvrtcGetNumSupportedArchs(&mut count) })?;
    let mut known = vec![0; usize::try_from(count).unwrap_or_default()];
    // SAFETY: as above; the array holds as many as were announced.
    check("nvrtcGetSupportedArchs", unsafe { sys::nvrtcGetSupportedArchs(known.as_mut_ptr()) })?;
    Ok(known)
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
