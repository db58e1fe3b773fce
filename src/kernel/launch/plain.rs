//! Numbers as the bytes that a device has of them.

use crate::kernel::cpu::params::{FunctionTally, FunctionValue, RawResult};

/// A number, or a struct of numbers without padding.
///
/// # Safety
/// All bytes of a value are initialized, and any bytes are a value.
pub unsafe trait Plain: Copy {}

// SAFETY: numbers.
unsafe impl Plain for f32 {}
// SAFETY: numbers.
unsafe impl Plain for f64 {}
// SAFETY: numbers.
unsafe impl Plain for u32 {}
// SAFETY: `LAYOUT` lists fields of 8 bytes only.
unsafe impl Plain for RawResult {}
// SAFETY: the fields of 4 bytes are an even number, after those of 8.
unsafe impl Plain for FunctionTally {}
// SAFETY: two fields of 4 bytes.
unsafe impl Plain for FunctionValue {}

/// The values' bytes.
pub fn bytes<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: the trait's.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The same, to be written to.
pub fn bytes_mut<T: Plain>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: the trait's.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}
