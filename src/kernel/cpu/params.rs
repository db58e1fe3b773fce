//! The C structs that both sides of the kernels' interface know: `kernels/launch.cuh`, `kernels/launch_backward.cuh`,
//! `kernels/launch_dense.cuh`, `kernels/host/interface.h`, and the judge's `kernels/judge/params.h`, which says what its fields are.
//! `build.rs` includes this file, too, and has the C++ compiler compare every field's name, offset and size.

use std::ffi::{c_int, c_longlong, c_void};

/// A field's name, offset and size.
pub type Field = (&'static str, usize, usize);

/// A struct's name in C++, its size and its fields.
pub type Layout = (&'static str, usize, &'static [Field]);

/// Those of all structs here.
#[allow(dead_code, reason = "the build script is what reads it")]
pub const LAYOUTS: [Layout; 24] = [
    RawInstantiation::LAYOUT,
    RawOperands::LAYOUT,
    RawScan::LAYOUT,
    RawDiscretize::LAYOUT,
    RawBackward::LAYOUT,
    RawDerivatives::LAYOUT,
    RawDense::LAYOUT,
    BackwardShape::LAYOUT,
    BackwardWorkspace::LAYOUT,
    Elementary::LAYOUT,
    RawTerm::LAYOUT,
    RawFormula::LAYOUT,
    RawAllowance::LAYOUT,
    RawFormat::LAYOUT,
    RawJudge::LAYOUT,
    RawTally::LAYOUT,
    RawResult::LAYOUT,
    FunctionRules::LAYOUT,
    FunctionFindings::LAYOUT,
    FunctionTally::LAYOUT,
    FunctionValue::LAYOUT,
    RawFunction::LAYOUT,
    RawEvaluate::LAYOUT,
    RawMeasure::LAYOUT,
];

// One that begins with another's fields has these as `operands`, and in C++ inherits them.
macro_rules! c_struct {
    ($(#[$meta:meta])* $name:ident $(: $base:ident)? = $theirs:literal { $($field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct $name {
            $(pub operands: $base,)?
            $(pub $field: $type,)*
        }

        impl $name {
            #[allow(dead_code, reason = "the build script is what reads it")]
            pub const LAYOUT: Layout = (
                $theirs,
                size_of::<$name>(),
                &[$((stringify!($field), std::mem::offset_of!($name, $field), size_of::<$type>()),)*],
            );
        }
    };
}

c_struct! {
    RawInstantiation = "HoldfastInstantiation" {
        method: c_int,
        input: c_int,
        complex: c_int,
        variable_b: c_int,
        variable_c: c_int,
        gate: c_int,
        lifted: c_int,
        fast: c_int,
        few_lanes: c_int,
        perturbation: [f64; 2],
    }
}

c_struct! {
    RawOperands = "holdfast_launch::ScanOperands" {
        u: *const c_void,
        delta: *const c_void,
        a: *const c_void,
        b: *const c_void,
        c: *const c_void,
        d: *const c_void,
        z: *const c_void,
        delta_bias: *const c_void,
        initial_state: *const c_void,
        batch: c_longlong,
        dim: c_longlong,
        dstate: c_longlong,
        seqlen: c_longlong,
        groups: c_longlong,
        delta_softplus: c_int,
        method: c_int,
        input: c_int,
        variable_b: c_int,
        variable_c: c_int,
        width: c_int,
    }
}

c_struct! {
    RawScan: RawOperands = "holdfast_launch::ScanParams" {
        out: *mut c_void,
        last_state: *mut c_void,
        workspace: *mut c_void,
        chunk_steps: *mut c_void,
        chunks: c_longlong,
        chunk_len: c_longlong,
    }
}

// SAFETY: the buffers outlive the call, inputs are only read, and each block writes its own part of the outputs.
unsafe impl Sync for RawScan {}

c_struct! {
    RawDiscretize = "holdfast_launch::DiscretizeParams" {
        delta: *const c_void,
        a: *const c_void,
        b: *const c_void,
        a_bar: *mut c_void,
        b_bar: *mut c_void,
        n: c_longlong,
    }
}

// SAFETY: as for RawScan; each thread writes its own element.
unsafe impl Sync for RawDiscretize {}

c_struct! {
    RawMeasure = "holdfast_bench::Params" {
        from: *const c_void,
        to: *mut c_void,
        n: c_longlong,
        repeat: c_longlong,
        zero: f32,
    }
}

// SAFETY: as for RawScan; each thread writes its own elements.
unsafe impl Sync for RawMeasure {}

c_struct! {
    RawBackward: RawOperands = "holdfast_launch::BackwardParams" {
        dout: *const c_void,
        dlast_state: *const c_void,
        grad_u: *mut c_void,
        grad_delta: *mut c_void,
        grad_a: *mut c_void,
        grad_b: *mut c_void,
        grad_c: *mut c_void,
        grad_d: *mut c_void,
        grad_z: *mut c_void,
        grad_delta_bias: *mut c_void,
        grad_initial_state: *mut c_void,
        states: *mut c_void,
        a_sums: *mut c_void,
        b_sums: *mut c_void,
        c_sums: *mut c_void,
        d_sums: *mut c_void,
        delta_bias_sums: *mut c_void,
        cotangents: *mut c_void,
        is_dense: c_longlong,
    }
}

// SAFETY: as for RawScan; each block has its own part of the workspace, and each thread of the sums its own number.
unsafe impl Sync for RawBackward {}

c_struct! {
    RawDerivatives = "holdfast_launch::DerivativeParams" {
        delta: *const c_void,
        a: *const c_void,
        a_bar: *mut c_void,
        slope: *mut c_void,
        h: *mut c_void,
        h_by_delta: *mut c_void,
        h_by_a: *mut c_void,
        n: c_longlong,
    }
}

// SAFETY: as for RawDiscretize.
unsafe impl Sync for RawDerivatives {}

c_struct! {
    RawDense = "holdfast_launch::DenseParams" {
        delta: *const c_void,
        a: *const c_void,
        b: *const c_void,
        a_bar: *mut c_void,
        b_bar: *mut c_void,
        count: c_longlong,
        n: c_longlong,
        m: c_longlong,
        method: c_int,
    }
}

// SAFETY: as for RawScan; each block has its own matrices.
unsafe impl Sync for RawDense {}

c_struct! {
    /// What a backward scan's workspace depends on.
    BackwardShape = "holdfast_launch::BackwardShape" {
        batch: c_longlong,
        dim: c_longlong,
        dstate: c_longlong,
        seqlen: c_longlong,
        groups: c_longlong,
        width: c_int,
        directions: c_int,
        variable_b: c_int,
        variable_c: c_int,
        element: c_int,
        is_dense: c_int,
    }
}

c_struct! {
    /// Where its parts begin, and its size, in bytes.
    #[derive(Debug, Default)]
    BackwardWorkspace = "holdfast_launch::BackwardWorkspace" {
        states: c_longlong,
        a_sums: c_longlong,
        b_sums: c_longlong,
        c_sums: c_longlong,
        d_sums: c_longlong,
        delta_bias_sums: c_longlong,
        cotangents: c_longlong,
        bytes: c_longlong,
    }
}

c_struct! {
    /// The functions of `kernels/exponential.cuh` and `wide.cuh` at one x: what the bounds on Ā rest on.
    #[derive(Default)]
    Elementary = "HoldfastElementary" {
        exponential: f64,
        wide_exponential: f64,
        wide_sine: f64,
        wide_cosine: f64,
        common_argument: f64,
        common_exponential: f64,
        common_growth: f64,
        common_sine: f64,
        common_cosine: f64,
    }
}

/// Lanes that walk a channel together, and sums that a reversed scan keeps of each position: `kernels/judge/` has them, too,
/// and `host.cpp` there holds both to these.
pub const JUDGE_LANES: usize = 8;
pub const JUDGE_KEPT: usize = 7;
/// The most terms of a B̄, inputs of a step, powers of a polynomial Ā, and terms of φ₃'s series.
pub const TERMS: usize = 4;
pub const INPUTS: usize = 3;
pub const POWERS: usize = 5;
pub const SERIES: usize = 16;

c_struct! {
    RawTerm = "holdfast_judge::JudgeTerm" {
        factor: f64,
        alpha: f64,
        delta: c_int,
        function: c_int,
        k: c_int,
        unused: c_int,
    }
}

c_struct! {
    RawFormula = "holdfast_judge::JudgeFormula" {
        a_bar: c_int,
        powers: c_int,
        phis: c_int,
        is_rational: c_int,
        has_pole: c_int,
        bidirectional: c_int,
        alpha: f64,
        complement: f64,
        power: [f64; POWERS],
        terms: [c_int; INPUTS],
        unused: c_int,
        term: [RawTerm; INPUTS * TERMS],
    }
}

c_struct! {
    /// What the judge's bounds allow.
    RawAllowance = "holdfast_judge::JudgeAllowance" {
        unit: f64,
        underflow: f64,
        state_unit: f64,
        state_underflow: f64,
        state_product: f64,
        further_sums: f64,
        growth: f64,
        narrow_state_unit: f64,
        narrow_state_underflow: f64,
        z_error: f64,
        a_units: f64,
        b_units: f64,
        input_error: f64,
        input_underflow: f64,
        du_underflow: f64,
        applies_b_apart: f64,
        product: f64,
        series: [f64; SERIES],
        joins: f64,
        readout_product: f64,
        additions: f64,
        vanished: f64,
        scale: f64,
        repeats: f64,
        y_unit: f64,
        y_underflow: f64,
        gate: f64,
        gate_unit: f64,
        gate_underflow: f64,
        gate_vanishes_below: f64,
        lambda: f64,
        generic: f64,
        narrow: f64,
        radius: f64,
        most: f64,
    }
}

c_struct! {
    RawFormat = "holdfast_judge::JudgeFormat" {
        overflow: f64,
        precision: c_int,
        min_exponent: c_int,
    }
}

c_struct! {
    RawJudge = "holdfast_judge::JudgeParams" {
        formula: RawFormula,
        allowance: RawAllowance,
        format: [RawFormat; 2],
        narrow_storage: c_int,
        reads_before: c_int,
        reads_with_b: c_int,
        variable_b: c_int,
        variable_c: c_int,
        unused: c_int,
        rows: c_longlong,
        first_row: c_longlong,
        first_group: c_longlong,
        dim: c_longlong,
        dstate: c_longlong,
        seqlen: c_longlong,
        groups: c_longlong,
        delta: *const f64,
        delta_error: *const f64,
        u: *const f32,
        gate: *const f32,
        silu: *const f64,
        skip: *const f32,
        a: *const f32,
        b: *const f32,
        c: *const f32,
        initial: *const f32,
        out: *const f32,
        last_state: *const f32,
        workspace: *mut f64,
        results: *mut RawResult,
    }
}

c_struct! {
    /// What it says of a tensor of a channel.
    RawTally = "holdfast_judge::JudgeTally" {
        passed: u64,
        failed: u64,
        open: u64,
        unbounded: u64,
        worst_at: u64,
        got: f64,
        want: f64,
        bound: f64,
        store: f64,
        share: f64,
        worst_case_ratio: f64,
        max_ulp: f64,
        squared_error: f64,
        squared_want: f64,
    }
}

c_struct! {
    /// What it says of a channel.
    RawResult = "holdfast_judge::JudgeResult" {
        tally: [RawTally; 2],
        largest_z: f64,
    }
}

/// Quarters of an ulp that errors of functions are counted by, and what is beyond them.
pub const HISTOGRAM: usize = 33;

c_struct! {
    /// How a function's values are judged.
    FunctionRules = "holdfast_judge::FunctionRules" {
        units: f64,
        from: f32,
        to: f32,
        on_unit_circle: c_int,
        is_increasing: c_int,
    }
}

c_struct! {
    /// What became of a function's values at some arguments of one sign: counts, the worst and the first of what there is.
    #[derive(Debug, Default, PartialEq)]
    FunctionFindings = "holdfast_judge::FunctionFindings" {
        judged: u64,
        outside: u64,
        failing: u64,
        misrounded: u64,
        falls: u64,
        wrong_signs: u64,
        nans: u64,
        lost_nans: u64,
        worst_share: f64,
        worst_ulp: f64,
        worst_share_at: u32,
        worst_ulp_at: u32,
        first_failing: u32,
        first_fall: u32,
        first_wrong_sign: u32,
        unused: u32,
    }
}

c_struct! {
    /// The same with how many values are off by how many quarters of an ulp.
    #[derive(Debug, PartialEq)]
    FunctionTally = "holdfast_judge::FunctionTally" {
        found: FunctionFindings,
        histogram: [u64; HISTOGRAM],
    }
}

c_struct! {
    /// An argument's bits, and the function's value there.
    #[derive(Debug, PartialEq)]
    FunctionValue = "holdfast_judge::FunctionValue" {
        bits: u32,
        got: f32,
    }
}

c_struct! {
    RawFunction = "holdfast_judge::FunctionParams" {
        rules: FunctionRules,
        first: u32,
        stride: u32,
        count: u32,
        unused: u32,
        values: *const f32,
        tallies: *mut FunctionTally,
        open: *mut FunctionValue,
        near_ties: *mut FunctionValue,
        listed: *mut u32,
    }
}

c_struct! {
    RawEvaluate = "holdfast_functions::EvaluateParams" {
        first: u32,
        stride: u32,
        count: u32,
        unused: u32,
        values: *mut f32,
    }
}

// SAFETY: as for RawScan; each row writes its own result and its own part of the workspace.
unsafe impl Sync for RawJudge {}

impl RawTally {
    const POISON: RawTally = RawTally {
        passed: 0,
        failed: 0,
        open: 0,
        // Settled by nobody.
        unbounded: u64::MAX >> 1,
        worst_at: 0,
        got: f64::NAN,
        want: f64::NAN,
        bound: f64::NAN,
        store: f64::NAN,
        share: f64::NAN,
        worst_case_ratio: f64::NAN,
        max_ulp: f64::NAN,
        squared_error: f64::NAN,
        squared_want: f64::NAN,
    };
}

impl RawResult {
    /// What nothing has been written to: no verdict, so that the CPU judges.
    pub const POISON: RawResult = RawResult { tally: [RawTally::POISON; 2], largest_z: f64::NAN };
}
