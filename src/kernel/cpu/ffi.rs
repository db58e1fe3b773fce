//! The C interface of the kernels built for the CPU: `kernels/host/interface.h`.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_void};

pub use super::params::{
    BackwardShape, BackwardWorkspace, Elementary, FunctionFindings, RawBackward, RawDense, RawDerivatives,
    RawDiscretize, RawFunction, RawInstantiation, RawJudge, RawMeasure, RawOperands, RawScan,
};
use crate::kernel::registry::Instantiation;
use crate::method::Method;
use crate::problem::{InputType, Operand, Weights};
use crate::promise::Tier;

impl RawInstantiation {
    /// The copy whose arithmetic is double: it has one storage type, double, which holds every other's values.
    pub fn lifted(self) -> Self {
        RawInstantiation { input: 0, lifted: 1, ..self }
    }

    /// That of an element-wise kernel, which has no layout.
    pub fn of_elements(method: Method, weights: Weights, tier: Tier) -> Self {
        RawInstantiation {
            method: method.id().into(),
            input: 0,
            complex: (weights == Weights::Complex).into(),
            variable_b: 0,
            variable_c: 0,
            gate: 0,
            lifted: 0,
            fast: (tier == Tier::Fast).into(),
            few_lanes: 0,
            perturbation: [0.0; 2],
        }
    }

    /// Ā and B̄ off by these relative amounts, in the kernels with run-time faults.
    pub fn perturbed(self, perturbation: [f64; 2]) -> Self {
        RawInstantiation { perturbation, ..self }
    }
}

impl From<Instantiation> for RawInstantiation {
    fn from(which: Instantiation) -> Self {
        RawInstantiation {
            input: number(which.input),
            variable_b: (which.b == Operand::Variable).into(),
            variable_c: (which.c == Operand::Variable).into(),
            gate: which.gate.into(),
            few_lanes: which.lanes.are_few(),
            ..RawInstantiation::of_elements(which.method, which.weights, which.tier)
        }
    }
}

/// Kernels of matrices, as `kernels/launch_dense.cuh` numbers them.
pub enum DenseUse {
    Steps,
    Scans,
    Gradients,
}

/// As the kernels number storage types.
pub fn number(input: InputType) -> c_int {
    match input {
        InputType::F32 => 0,
        InputType::F16 => 1,
        InputType::Bf16 => 2,
    }
}

/// The sums of gradients in double, in the place of a storage type.
pub const LIFTED_SUMS: c_int = 3;

/// Functions that run `count` blocks from `first` on: 0, or something else with a message of at most `capacity` bytes.
macro_rules! blocks {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        unsafe extern "C" {$(
            pub fn $name(
                $($argument: $type,)*
                first: c_uint,
                count: c_uint,
                message: *mut c_char,
                capacity: usize,
            ) -> c_int;
        )*}
    };
}

blocks! {
    holdfast_scan(which: *const RawInstantiation, fault: c_int, params: *const RawScan);
    holdfast_chunk_steps(which: *const RawInstantiation, params: *const RawScan);
    holdfast_discretize(which: *const RawInstantiation, fault: c_int, params: *const RawDiscretize);
    holdfast_backward(which: *const RawInstantiation, params: *const RawBackward);
    holdfast_lifted_backward(which: *const RawInstantiation, params: *const RawBackward);
    holdfast_sum_gradients(input: c_int, params: *const RawBackward);
    holdfast_differentiate(method: c_int, complex: c_int, params: *const RawDerivatives);
    holdfast_dense(which: *const RawInstantiation, params: *const RawDense);
    holdfast_dense_scan(which: *const RawInstantiation, params: *const RawScan);
    holdfast_dense_backward(which: *const RawInstantiation, params: *const RawBackward);
}

unsafe extern "C" {
    // Pure functions of numbers.
    pub safe fn holdfast_backward_workspace(shape: &BackwardShape, workspace: &mut BackwardWorkspace);
    pub safe fn holdfast_sum_blocks(shape: &BackwardShape) -> c_longlong;
    pub safe fn holdfast_sum_threads() -> c_uint;
    pub safe fn holdfast_discretize_block() -> c_uint;
    pub safe fn holdfast_dense_threads(n: c_longlong) -> c_uint;
    pub safe fn holdfast_dense_blocks(count: c_longlong, n: c_longlong, m: c_longlong) -> c_longlong;
    pub safe fn holdfast_dense_shared(which: &RawInstantiation, n: c_longlong, of: c_int) -> c_longlong;
    pub safe fn holdfast_scan_threads() -> c_uint;
    pub safe fn holdfast_scan_tile(width: c_int) -> c_uint;
    pub safe fn holdfast_scan_lanes(few: c_int) -> c_int;
    pub safe fn holdfast_spread(
        batch: c_longlong,
        dim: c_longlong,
        groups: c_longlong,
        seqlen: c_longlong,
        has_few_lanes: c_int,
        directions: c_int,
        multiprocessors: c_longlong,
        chunks: &mut c_longlong,
    ) -> c_int;
    pub safe fn holdfast_chunk_len(seqlen: c_longlong, chunks: c_longlong) -> c_longlong;
    pub safe fn holdfast_chunks(seqlen: c_longlong, chunk_len: c_longlong) -> c_longlong;
    pub safe fn holdfast_chunk_step_blocks(
        blocks: c_longlong,
        chunks: c_longlong,
        dstate: c_longlong,
        directions: c_int,
    ) -> c_longlong;
    pub safe fn holdfast_scan_blocks(
        batch: c_longlong,
        dim: c_longlong,
        groups: c_longlong,
        few_lanes: c_int,
    ) -> c_longlong;
    pub safe fn holdfast_scan_block_of(
        batch: c_longlong,
        channel: c_longlong,
        dim: c_longlong,
        groups: c_longlong,
        few_lanes: c_int,
    ) -> c_longlong;
    pub safe fn holdfast_scan_shared(dstate: c_longlong, width: c_int) -> c_uint;
    pub safe fn holdfast_fault_name(fault: c_int) -> *const c_char;
    pub safe fn holdfast_planted_fault() -> c_int;
    pub fn holdfast_misbehave(which: c_int, message: *mut c_char, capacity: usize) -> c_int;
    pub fn holdfast_crash(which: c_int, block: c_uint, message: *mut c_char, capacity: usize) -> c_int;
    pub fn holdfast_fork(
        orders: c_int,
        errors: c_int,
        obey: extern "C" fn(*mut c_void),
        order: *mut c_void,
    ) -> c_int;
    pub fn holdfast_judge_row(complex: c_int, chunks: c_int, params: *const RawJudge, row: c_longlong);
    pub fn holdfast_evaluate(function: c_int, x: *const f32, values: *mut f32, count: usize);
    pub fn holdfast_measure(operation: c_int, params: *const RawMeasure, block: c_uint);
    pub fn holdfast_judge_function(
        function: c_int,
        params: *const RawFunction,
        block: c_uint,
        blocks: c_uint,
        threads: c_uint,
    );
    pub safe fn holdfast_merge_findings(found: &mut FunctionFindings, other: &FunctionFindings);
    pub fn holdfast_elementary(hi: *const f32, lo: *const f32, count: usize, results: *mut Elementary);
}

/// Calls `run` with a buffer for its message; its status, and the message.
pub fn with_message(run: impl FnOnce(*mut c_char, usize) -> c_int) -> (c_int, String) {
    let mut buffer = [0u8; 512];
    let status = run(buffer.as_mut_ptr().cast(), buffer.len());
    (status, text(&buffer))
}

/// What a message's buffer says.
pub fn text(buffer: &[u8]) -> String {
    CStr::from_bytes_until_nul(buffer).map_or_else(|_| String::new(), |text| text.to_string_lossy().into())
}
