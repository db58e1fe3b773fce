//! The CUDA kernels' own source, built for the CPU by `build.rs` and `kernels/host/`: the same blocks, warps,
//! barriers and shuffles, run by fibres. It computes what a GPU would; it says nothing about a GPU's speed.

mod buffer;
pub(super) mod ffi;

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

use rayon::prelude::*;

use self::buffer::{Input, Output};
use super::registry::{Fault, Instantiation};
use super::{Backend, Coefficients, JudgedOutput, KernelError, LiftedCoefficients, ScanOutput, shapes};
use crate::method::Method;
use crate::problem::{CoefficientProblem, InputType, Operand, Problem, Weights};

/// SHA-256 of the kernel sources, in hex.
pub const KERNEL_SOURCE: &str = env!("HOLDFAST_KERNEL_SHA256");
/// The compiler that built the kernels for the CPU, as it names itself.
pub const COMPILER: &str = env!("HOLDFAST_CXX_VERSION");

/// `kFaultsPerNumber` of `kernels/faults.cuh`.
const FAULTS_PER_NUMBER: c_int = 1024;

/// Runs the kernels on this machine's CPU. The results do not depend on the number of threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuBackend {
    /// As `kernels/faults.cuh` numbers it; two at once are first + 1024·second.
    fault: Option<c_int>,
    /// Of Ā and of B̄, relative; in the copy with faults only.
    perturbation: [f64; 2],
}

/// The kernels have no fault of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown fault `{0}` (hint: kernels/faults.cuh lists them)")]
pub struct UnknownFault(String);

impl CpuBackend {
    /// The production kernels.
    pub fn new() -> Self {
        CpuBackend::default()
    }

    /// A copy of the kernels with a fault in it, to test what judges them. It takes f32 inputs only.
    pub fn with_fault(fault: Fault) -> Self {
        CpuBackend { fault: Some(fault.number()), ..CpuBackend::default() }
    }

    /// The same copy with a fault of `kernels/faults.cuh`, by its name there, and perhaps a second one.
    ///
    /// # Errors
    /// When the kernels have no fault of that name.
    pub fn with_faults(first: &str, second: Option<&str>) -> Result<Self, UnknownFault> {
        let number = |name: &str| {
            (1..)
                .map_while(|number| Some((number, CpuBackend::fault_name(number)?)))
                .find(|(_, known)| *known == name)
                .map(|(number, _)| number)
                .ok_or_else(|| UnknownFault(name.to_owned()))
        };
        let second = second.map(number).transpose()?.unwrap_or(0);
        Ok(CpuBackend { fault: Some(number(first)? + FAULTS_PER_NUMBER * second), ..CpuBackend::default() })
    }

    /// The same copy with no fault but every Ā and B̄ off by these relative amounts, once computed: to measure how
    /// small an error is caught. Below 2⁻²³ an f32 coefficient does not move.
    pub fn perturbed(a_bar: f64, b_bar: f64) -> Self {
        CpuBackend { fault: Some(0), perturbation: [a_bar, b_bar] }
    }

    /// The scan of the judged channels alone: what measurements that repeat it many times can afford.
    pub fn scan_judged(&self, method: Method, problem: &Problem) -> Result<JudgedOutput, KernelError> {
        Ok(self.run_scan(method, problem, Rows::Judged)?.judged(problem))
    }

    /// The copy of the kernels that faults are planted in, with none planted: must equal the production ones.
    fn fault_number(&self) -> c_int {
        self.fault.unwrap_or(-1)
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

    /// e^x, sin x and cos x of `kernels/exponential.cuh` at x = hi + lo, before anything is rounded to f32: what the
    /// bounds on Ā rest on. For |x| ≤ 80.
    pub fn elementary(arguments: &[(f32, f32)]) -> Vec<[f64; 3]> {
        let (hi, lo): (Vec<f32>, Vec<f32>) = arguments.iter().copied().unzip();
        let mut results = vec![[0.0; 3]; arguments.len()];
        // SAFETY: two arrays of `len` values are read, and one of 3·len is written.
        unsafe {
            ffi::holdfast_elementary(hi.as_ptr(), lo.as_ptr(), hi.len(), results.as_mut_ptr().cast());
        }
        results
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

/// Floats of the last states.
fn states_len(problem: &Problem) -> usize {
    let shape = problem.shape;
    shape.batch * shape.dim * shape.dstate * problem.weights.width()
}

/// Which channels' blocks run.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    All,
    Judged,
}

impl CpuBackend {
    /// Runs the blocks of `rows`; what the others would have written is NaN.
    fn run_scan(&self, method: Method, problem: &Problem, rows: Rows) -> Result<ScanOutput, KernelError> {
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
        let storage = problem.input;
        let out = Output::new("out", problem.shape.sequence_len(), storage);
        let last_state = Output::new("last_state", states_len(problem), InputType::F32);
        let workspace = |len| Output::new("workspace", len, InputType::F32);
        let input = |values: &[f32]| Input::new(values, storage);
        let (out, last_state) =
            self.launch(method, problem, rows, input, (out, last_state, workspace), false)?;
        Ok(ScanOutput {
            out: out.into_values().map_err(KernelError::Fault)?,
            last_state: last_state.into_values().map_err(KernelError::Fault)?,
        })
    }

    fn discretize(
        &self,
        method: Method,
        problem: &CoefficientProblem,
        output: impl Fn(&'static str, usize) -> Output,
        lifted: bool,
    ) -> Result<(Output, Output), KernelError> {
        let n = problem.delta.len();
        let delta = Input::new(&problem.delta, InputType::F32);
        let a = Input::new(&problem.a, InputType::F32);
        let b = Input::new(&problem.b, InputType::F32);
        let mut a_bar = output("a_bar", problem.a.len());
        let mut b_bar = output("b_bar", problem.b.len());
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
            ffi::holdfast_discretize(
                method.id().into(),
                complex,
                lifted.into(),
                fault,
                params,
                block,
                1,
                text,
                size,
            )
        })?;
        Ok((a_bar, b_bar))
    }

    /// Runs the kernel over buffers of one storage type; the outputs, as the kernel left them.
    fn launch(
        &self,
        method: Method,
        problem: &Problem,
        rows: Rows,
        input: impl Fn(&[f32]) -> Input,
        (mut out, mut last_state, workspace): (Output, Output, impl FnOnce(usize) -> Output),
        lifted: bool,
    ) -> Result<(Output, Output), KernelError> {
        let shape = problem.shape;
        // Constant operands are weights: f32 whatever the input type.
        let operand = |operand, values: &[f32]| match operand {
            Operand::Constant => Input::new(values, InputType::F32),
            Operand::Variable => input(values),
        };
        let u = input(&problem.u);
        let delta = input(&problem.delta);
        let a = Input::new(&problem.a, InputType::F32);
        let b = operand(problem.b_operand, &problem.b);
        let c = operand(problem.c_operand, &problem.c);
        let d = problem.d.as_ref().map(|d| Input::new(d, InputType::F32));
        let z = problem.z.as_ref().map(|z| input(z));
        let bias = problem.delta_bias.as_ref().map(|bias| Input::new(bias, InputType::F32));
        // SAFETY: a pure function.
        let planted = unsafe { ffi::holdfast_planted_fault() };
        // A fault may run another method as poly.
        let needs_workspace = method.is_bidirectional() || self.fault.is_some() || planted != 0;
        let mut workspace = workspace(if needs_workspace { shape.sequence_len() } else { 0 });
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
        let which =
            ffi::RawInstantiation::from(Instantiation::of(method, problem)).perturbed(self.perturbation);
        let which = if lifted { which.lifted() } else { which };
        let blocks: Vec<usize> = match rows {
            Rows::All => (0..shape.batch * shape.dim).collect(),
            Rows::Judged => problem.judged_channels.iter().map(|&(b, d)| b * shape.dim + d).collect(),
        };
        let (which, params) = (&which, &params);
        let fault = self.fault_number();
        // SAFETY: check_scan has compared every buffer's length with the shape that the kernel goes by, the
        // buffers live to the end of this function, and each block writes its own channel only.
        run_blocks(blocks.len(), |i, text, size| unsafe {
            ffi::holdfast_scan(which, fault, params, blocks[i as usize] as c_uint, 1, text, size)
        })?;
        workspace.into_values().map_err(KernelError::Fault)?;
        Ok((out, last_state))
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        format!("{} CPU, kernels built by {COMPILER}", std::env::consts::ARCH)
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<ScanOutput, KernelError> {
        self.run_scan(method, problem, Rows::All)
    }

    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Result<Coefficients, KernelError> {
        check_processor()?;
        shapes::check_coefficients(problem)?;
        let output = |name, len| Output::new(name, len, InputType::F32);
        let (a_bar, b_bar) = self.discretize(method, problem, output, false)?;
        Ok(Coefficients {
            a_bar: a_bar.into_values().map_err(KernelError::Fault)?,
            b_bar: b_bar.into_values().map_err(KernelError::Fault)?,
        })
    }

    fn lifted(&self, method: Method, problem: &Problem) -> Option<Result<JudgedOutput, KernelError>> {
        let run = || {
            check_processor()?;
            shapes::check_scan(problem)?;
            let out = Output::lifted("out", problem.shape.sequence_len());
            let last_state = Output::lifted("last_state", states_len(problem));
            let workspace = |len| Output::lifted("workspace", len);
            let buffers = (out, last_state, workspace);
            let (out, last_state) =
                self.launch(method, problem, Rows::Judged, Input::widened, buffers, true)?;
            let out = out.into_doubles().map_err(KernelError::Fault)?;
            let last_state = last_state.into_doubles().map_err(KernelError::Fault)?;
            Ok(JudgedOutput {
                out: problem.judged_sequences(&out),
                last_state: problem.judged_states(&last_state),
            })
        };
        Some(run())
    }

    fn lifted_coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Option<Result<LiftedCoefficients, KernelError>> {
        let run = || {
            check_processor()?;
            shapes::check_coefficients(problem)?;
            let (a_bar, b_bar) = self.discretize(method, problem, Output::lifted, true)?;
            Ok(LiftedCoefficients {
                a_bar: a_bar.into_doubles().map_err(KernelError::Fault)?,
                b_bar: b_bar.into_doubles().map_err(KernelError::Fault)?,
            })
        };
        Some(run())
    }
}
