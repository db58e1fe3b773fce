//! The functions of one float that the kernels are made of ([`crate::scalar_function`]), at many arguments, on the CPU; and what the
//! judge's own source (`kernels/judge/functions.cuh`) says of their values.

use std::ffi::c_int;

use super::cpu::ffi;
pub use super::cpu::params::{FunctionRules, FunctionTally, HISTOGRAM};
use super::sources::{self, Source, sources};
use crate::hexfloat;
use crate::scalar_function::ScalarFunction;

/// What asks the production sources for their functions, and is none of them.
const EVALUATE: &[Source] = sources!["../../kernels/": "functions/evaluate.cuh"];

/// SHA-256, in hex, over the production sources and the file that asks them for their functions.
pub fn source() -> String {
    hexfloat::bytes(&sources::hash_of(sources::production().chain(EVALUATE)))
}

/// The function as the kernels compute it, at each argument.
pub fn evaluate(function: ScalarFunction, x: &[f32]) -> Vec<f32> {
    let mut values = vec![f32::NAN; x.len()];
    // SAFETY: both have as many elements as is said, and the number is that of a function.
    unsafe { ffi::holdfast_evaluate(function as c_int, x.as_ptr(), values.as_mut_ptr(), x.len()) }
    values
}

impl FunctionTally {
    /// Of no argument.
    pub const NONE: FunctionTally = FunctionTally {
        judged: 0,
        outside: 0,
        failing: 0,
        open: 0,
        near_ties: 0,
        misrounded: 0,
        falls: 0,
        wrong_signs: 0,
        nans: 0,
        lost_nans: 0,
        worst_share: 0.0,
        worst_ulp: 0.0,
        worst_share_at: 0,
        worst_ulp_at: 0,
        first_failing: 0,
        first_fall: 0,
        first_wrong_sign: 0,
        unused: 0,
        histogram: [0; HISTOGRAM],
    };

    /// Adds what the judge says of a function's values at the arguments whose bits are `first`, `first + stride`, …, of one sign and
    /// with growing size: one value for each, and one before them, of the argument before the first or a NaN. Returns the bits of those
    /// arguments whose verdict it leaves open, and of those of which it does not know the f32 nearest to the exact value.
    pub fn add(
        &mut self,
        function: ScalarFunction,
        (first, stride): (u32, u32),
        values: &[f32],
        rules: &FunctionRules,
    ) -> [Vec<u32>; 2] {
        let count = values.len().saturating_sub(1);
        let (mut open, mut near_ties) = (vec![0; count], vec![0; count]);
        (self.open, self.near_ties) = (0, 0);
        // SAFETY: there is a value more than there are arguments, room for all of them, and the number is that of a function.
        unsafe {
            ffi::holdfast_judge_function(
                function as c_int,
                first,
                stride,
                count as u32,
                values.as_ptr(),
                rules,
                self,
                open.as_mut_ptr(),
                near_ties.as_mut_ptr(),
            );
        }
        open.truncate(self.open as usize);
        near_ties.truncate(self.near_ties as usize);
        [open, near_ties]
    }
}

/// The values that [`FunctionTally::add`] takes, as the kernels compute them.
pub fn values(function: ScalarFunction, (first, stride): (u32, u32), count: usize) -> Vec<f32> {
    // The argument before the first, where there is one.
    let before = (first & !SIGN >= stride).then(|| f32::from_bits(first - stride));
    let arguments = (0..count as u32).map(|i| f32::from_bits(first + i * stride));
    let x: Vec<f32> = std::iter::once(before.unwrap_or(f32::NAN)).chain(arguments).collect();
    evaluate(function, &x)
}

/// A float's.
pub const SIGN: u32 = 1 << 31;
