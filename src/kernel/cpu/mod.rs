//! The CUDA kernels' own source, built for the CPU by `build.rs` and `kernels/host/`: the same blocks, warps,
//! barriers and shuffles, run by fibres. It computes what a GPU would; it says nothing about a GPU's speed.

mod buffer;
pub(super) mod ffi;

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

use rayon::prelude::*;

use self::buffer::{Input, Output};
use super::registry::{Fault, Instantiation};
use super::{Backend, Coefficients, KernelError, ScanOutput, shapes};
use crate::method::Method;
use crate::problem::{CoefficientProblem, InputType, Operand, Problem, Weights};

/// SHA-256 of the kernel sources, in hex.
pub const KERNEL_SOURCE: &str = env!("HOLDFAST_KERNEL_SHA256");
/// The compiler that built the kernels for the CPU, as it names itself.
pub const COMPILER: &str = env!("HOLDFAST_CXX_VERSION");

/// Runs the kernels on this machine's CPU. The results do not depend on the number of threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuBackend {
    fault: Option<Fault>,
}

impl CpuBackend {
    /// The production kernels.
    pub fn new() -> Self {
        CpuBackend::default()
    }

    /// A copy of the kernels with a fault in it, to test what judges them. It takes f32 inputs only.
    pub fn with_fault(fault: Fault) -> Self {
        CpuBackend { fault: Some(fault) }
    }

    /// The copy of the kernels that faults are planted in, with none planted: must equal the production ones.
    fn fault_number(&self) -> c_int {
        self.fault.map_or(-1, Fault::number)
    }

    /// Threads of a block, for a sequence of this length (`kernels/launch.cuh`).
    pub fn block_threads(seqlen: usize) -> usize {
        // SAFETY: a pure function.
        unsafe { ffi::holdfast_scan_threads(seqlen as i64) as usize }
    }

    /// Positions that a block scans at a time, for a sequence of this length.
    pub fn chunk_len(seqlen: usize) -> usize {
        // SAFETY: a pure function.
        unsafe { ffi::holdfast_scan_chunk(seqlen as i64) as usize }
    }

    /// Bytes of dynamic shared memory of a scan's block.
    pub fn shared_bytes(dstate: usize, weights: Weights) -> usize {
        // SAFETY: a pure function.
        unsafe { ffi::holdfast_scan_shared(dstate as i64, weights.width() as c_int) as usize }
    }

    /// Threads of a block of the element-wise kernels.
    pub fn discretize_threads() -> usize {
        // SAFETY: a pure function.
        unsafe { ffi::holdfast_discretize_block() as usize }
    }

    /// The fault that the build planted in the production kernels (`HOLDFAST_PLANT`).
    pub fn planted_fault() -> Option<Fault> {
        // SAFETY: a pure function.
        let number = unsafe { ffi::holdfast_planted_fault() };
        Fault::ALL.into_iter().find(|fault| fault.number() == number)
    }

    /// The kernels' own name of a fault's number.
    pub fn fault_name(number: i32) -> Option<&'static str> {
        // SAFETY: a pure function; what it returns is a string literal or null.
        let name = unsafe { ffi::holdfast_fault_name(number) };
        // SAFETY: as above.
        (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default())
    }

    /// Runs a kernel that misbehaves on purpose (`kernels/host/misbehave.cpp`), to show that it is caught. What a
    /// well-behaved one computes comes back as text.
    pub fn misbehave(which: i32) -> Result<String, KernelError> {
        // SAFETY: the buffer is valid for the call.
        match ffi::with_message(|text, size| unsafe { ffi::holdfast_misbehave(which, text, size) }) {
            (0, result) => Ok(result),
            (_, message) => Err(KernelError::Fault(message)),
        }
    }
}

/// Runs `blocks` blocks, spread over the threads of the current pool. The first block's fault wins, so that
/// the message does not depend on timing.
pub(super) fn run_blocks(
    blocks: usize,
    run: impl Fn(c_uint, *mut std::ffi::c_char, usize) -> c_int + Sync,
) -> Result<(), KernelError> {
    let faults: Vec<_> = (0..blocks)
        .into_par_iter()
        .filter_map(|block| match ffi::with_message(|text, size| run(block as c_uint, text, size)) {
            (0, _) => None,
            (_, message) => Some(message),
        })
        .collect();
    faults.into_iter().next().map_or(Ok(()), |message| Err(KernelError::Fault(message)))
}

/// A binary that was carried here may use an instruction that this processor lacks.
fn check_processor() -> Result<(), KernelError> {
    #[cfg(holdfast_fma)]
    if !std::is_x86_feature_detected!("fma") {
        return Err(KernelError::Unsupported {
            what: "processor",
            found: "no fused multiply-add".to_owned(),
            expected: "one like that on which this binary was built".to_owned(),
            hint: "build holdfast on this machine",
        });
    }
    Ok(())
}

fn pointer(input: &Option<Input>) -> *const c_void {
    input.as_ref().map_or(null(), Input::as_ptr)
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        format!("{} CPU, kernels built by {COMPILER}", std::env::consts::ARCH)
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<ScanOutput, KernelError> {
        check_processor()?;
        shapes::check_scan(problem)?;
        if self.fault.is_some() && problem.input != InputType::F32 {
            return Err(KernelError::Unsupported {
                what: "input type",
                found: problem.input.to_string(),
                expected: "f32".to_owned(),
                hint: "the kernels with planted faults are built for f32 only",
            });
        }
        let shape = problem.shape;
        let storage = problem.input;
        let operand_storage = |operand| match operand {
            Operand::Constant => InputType::F32,
            Operand::Variable => storage,
        };
        let u = Input::new(&problem.u, storage);
        let delta = Input::new(&problem.delta, storage);
        let a = Input::new(&problem.a, InputType::F32);
        let b = Input::new(&problem.b, operand_storage(problem.b_operand));
        let c = Input::new(&problem.c, operand_storage(problem.c_operand));
        let d = problem.d.as_ref().map(|d| Input::new(d, InputType::F32));
        let z = problem.z.as_ref().map(|z| Input::new(z, storage));
        let bias = problem.delta_bias.as_ref().map(|bias| Input::new(bias, InputType::F32));
        let states = shape.batch * shape.dim * shape.dstate * problem.weights.width();
        let mut out = Output::new("out", shape.sequence_len(), storage);
        let mut last_state = Output::new("last_state", states, InputType::F32);
        let needs_workspace = method == Method::Poly
            || self.fault == Some(Fault::Ids34Swapped)
            || CpuBackend::planted_fault() == Some(Fault::Ids34Swapped);
        let mut workspace =
            Output::new("workspace", if needs_workspace { shape.sequence_len() } else { 0 }, InputType::F32);
        let params = ffi::RawScan {
            u: u.as_ptr(),
            delta: delta.as_ptr(),
            a: a.as_ptr(),
            b: b.as_ptr(),
            c: c.as_ptr(),
            d: pointer(&d),
            z: pointer(&z),
            delta_bias: pointer(&bias),
            out: out.as_mut_ptr(),
            last_state: last_state.as_mut_ptr(),
            workspace: if needs_workspace { workspace.as_mut_ptr() } else { null_mut() },
            batch: shape.batch as i64,
            dim: shape.dim as i64,
            dstate: shape.dstate as i64,
            seqlen: shape.seqlen as i64,
            groups: shape.groups as i64,
            delta_softplus: problem.delta_softplus.into(),
        };
        let which = ffi::RawInstantiation::from(Instantiation::of(method, problem));
        let (which, params) = (&which, &params);
        let fault = self.fault_number();
        // SAFETY: check_scan has compared every buffer's length with the shape that the kernel goes by, the
        // buffers live to the end of this function, and each block writes its own channel only.
        run_blocks(shape.batch * shape.dim, |block, text, size| unsafe {
            ffi::holdfast_scan(which, fault, params, block, 1, text, size)
        })?;
        workspace.into_values().map_err(KernelError::Fault)?;
        Ok(ScanOutput {
            out: out.into_values().map_err(KernelError::Fault)?,
            last_state: last_state.into_values().map_err(KernelError::Fault)?,
        })
    }

    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Result<Coefficients, KernelError> {
        check_processor()?;
        shapes::check_coefficients(problem)?;
        let n = problem.delta.len();
        let delta = Input::new(&problem.delta, InputType::F32);
        let a = Input::new(&problem.a, InputType::F32);
        let b = Input::new(&problem.b, InputType::F32);
        let mut a_bar = Output::new("a_bar", problem.a.len(), InputType::F32);
        let mut b_bar = Output::new("b_bar", problem.b.len(), InputType::F32);
        let params = ffi::RawDiscretize {
            delta: delta.as_ptr(),
            a: a.as_ptr(),
            b: b.as_ptr(),
            a_bar: a_bar.as_mut_ptr(),
            b_bar: b_bar.as_mut_ptr(),
            n: n as i64,
        };
        let params = &params;
        let complex = c_int::from(problem.weights == Weights::Complex);
        let fault = self.fault_number();
        // SAFETY: a pure function.
        let per_block = unsafe { ffi::holdfast_discretize_block() } as usize;
        // SAFETY: check_coefficients has compared the lengths, the buffers live to the end of this function, and
        // each thread writes its own element only.
        run_blocks(n.div_ceil(per_block), |block, text, size| unsafe {
            ffi::holdfast_discretize(method.id().into(), complex, fault, params, block, 1, text, size)
        })?;
        Ok(Coefficients {
            a_bar: a_bar.into_values().map_err(KernelError::Fault)?,
            b_bar: b_bar.into_values().map_err(KernelError::Fault)?,
        })
    }
}
