//! The functions of one float that the kernels are made of ([`crate::scalar_function`]), at many arguments, and what the judge's own
//! source (`kernels/judge/functions.cuh`) says of their values: on the CPU, and by launches for a device.

use std::ffi::c_int;

use super::cpu::ffi;
pub use super::cpu::params::{
    FunctionFindings, FunctionRules, FunctionTally, FunctionValue, HISTOGRAM, RawEvaluate, RawFunction,
};
pub use super::sources::functions_hash as source;
use crate::scalar_function::ScalarFunction;

/// A float's.
pub const SIGN: u32 = 1 << 31;

/// Arguments of one sign, by their bits: first, first + stride, …, from zero towards infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arguments {
    pub first: u32,
    pub stride: u32,
    pub count: u32,
}

/// What the judge says of values at some arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub tally: FunctionTally,
    /// Those whose verdict it leaves open.
    pub open: Vec<FunctionValue>,
    /// Those of which it does not know the f32 nearest to the exact value.
    pub near_ties: Vec<FunctionValue>,
}

impl FunctionTally {
    /// Of no argument.
    pub fn none() -> FunctionTally {
        FunctionTally { found: FunctionFindings::default(), histogram: [0; HISTOGRAM] }
    }

    /// Adds what was found at other arguments of the same sign.
    pub fn merge(&mut self, other: &FunctionTally) {
        ffi::holdfast_merge_findings(&mut self.found, &other.found);
        self.histogram.iter_mut().zip(other.histogram).for_each(|(sum, count)| *sum += count);
    }
}

impl Tried {
    /// Of no argument.
    pub fn none() -> Tried {
        Tried { tally: FunctionTally::none(), open: Vec::new(), near_ties: Vec::new() }
    }

    /// Adds what is said of values at other arguments of the same sign.
    pub fn merge(&mut self, other: Tried) {
        self.tally.merge(&other.tally);
        self.open.extend(other.open);
        self.near_ties.extend(other.near_ties);
    }
}

/// The function as the kernels compute it, at each argument.
pub fn evaluate(function: ScalarFunction, x: &[f32]) -> Vec<f32> {
    let mut values = vec![f32::NAN; x.len()];
    // SAFETY: both have as many elements as is said, and the number is that of a function.
    unsafe { ffi::holdfast_evaluate(function as c_int, x.as_ptr(), values.as_mut_ptr(), x.len()) }
    values
}

/// The values that [`judge`] takes, as the kernels compute them.
pub fn values(function: ScalarFunction, Arguments { first, stride, count }: Arguments) -> Vec<f32> {
    // The argument before the first, where there is one.
    let before = (first & !SIGN >= stride).then(|| f32::from_bits(first - stride));
    let arguments = (0..count).map(|i| f32::from_bits(first + i * stride));
    let x: Vec<f32> = std::iter::once(before.unwrap_or(f32::NAN)).chain(arguments).collect();
    evaluate(function, &x)
}

/// What the judge says of a function's values: that at the argument before the first one, or a NaN, and then one for each argument.
///
/// # Panics
/// There are other than that many.
pub fn judge(function: ScalarFunction, arguments: Arguments, values: &[f32], rules: &FunctionRules) -> Tried {
    let Arguments { first, stride, count } = arguments;
    let room = count as usize;
    assert_eq!(values.len(), room + 1, "as many values as arguments, and the one before them");
    let mut tally = FunctionTally::none();
    let [mut open, mut near_ties] = [(); 2].map(|()| vec![FunctionValue { bits: 0, got: 0.0 }; room]);
    let mut listed = [0; 2];
    let params = RawFunction {
        rules: *rules,
        first,
        stride,
        count,
        unused: 0,
        values: values.as_ptr(),
        tallies: &raw mut tally,
        open: open.as_mut_ptr(),
        near_ties: near_ties.as_mut_ptr(),
        listed: listed.as_mut_ptr(),
    };
    // SAFETY: there is a value more than there are arguments, room for what is written, and the number is that of a function.
    unsafe { ffi::holdfast_judge_function(function as c_int, &params, 0, 1, 1) };
    open.truncate(listed[0] as usize);
    near_ties.truncate(listed[1] as usize);
    Tried { tally, open, near_ties }
}
