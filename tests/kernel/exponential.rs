//! Promise: e^x and e^iy of `kernels/exponential.cuh` and `wide.cuh` are as good as `Contract::PRODUCTION` takes them to be, for every
//! reduced argument.
//!
//! Every f32 from 2⁻⁶ to the end of the reduced range, of either sign, with a tail of half a unit in the last place of
//! alternating sign. Below 2⁻⁶ what is rounded is smaller by 2⁻¹² than at the upper end. Compared with f64, whose
//! functions are good to 2⁻⁵². `cargo test` takes every 61st. The reduction of larger arguments is tried on a sample.

use holdfast::kernel::{CpuBackend, Elementary};
use rayon::prelude::*;

/// The unit roundoff of f32.
const U: f64 = 1.0 / 16_777_216.0;
/// What contract.rs counts with.
const EXPONENTIAL: f64 = 0.15;
/// In double, 2⁻⁴⁴.
const WIDE: f64 = 1.0 / 1_048_576.0;
/// Of common elements.
const COMMON_EXPONENTIAL: f64 = 1.65;
const COMMON_GROWTH: f64 = 1.2;
const COMMON_ROTATION: f64 = 1.47;

/// The error of one result, in u.
type ErrorOf = fn(f64, Elementary) -> f64;

/// Relative.
fn of_exponential(x: f64, got: Elementary) -> f64 {
    (got.exponential / x.exp() - 1.0).abs() / U
}

/// Of common elements x is a product of two floats beside the given one.
fn of_common_exponential(_: f64, got: Elementary) -> f64 {
    (got.common_exponential / got.common_argument.exp() - 1.0).abs() / U
}

/// e^x = 2ⁿ(1 + growth) before it is rounded, as the complex one takes it.
fn of_common_growth(_: f64, got: Elementary) -> f64 {
    let times_two_to_n = got.common_argument.exp() / (1.0 + got.common_growth);
    (times_two_to_n / times_two_to_n.log2().round().exp2() - 1.0).abs() / U
}

fn of_wide_exponential(x: f64, got: Elementary) -> f64 {
    (got.wide_exponential / x.exp() - 1.0).abs() / U
}

/// Of (cos x, sin x), as a vector.
fn of_wide_rotation(x: f64, got: Elementary) -> f64 {
    let (sin, cos) = x.sin_cos();
    (got.wide_sine - sin).hypot(got.wide_cosine - cos) / U
}

fn of_common_rotation(_: f64, got: Elementary) -> f64 {
    let (sin, cos) = got.common_argument.sin_cos();
    (got.common_sine - sin).hypot(got.common_cosine - cos) / U
}

fn worst(arguments: &[(f32, f32)], error: ErrorOf) -> f64 {
    let results = CpuBackend::elementary(arguments);
    let errors = arguments.iter().zip(results).map(|(&(hi, lo), r)| error(f64::from(hi) + f64::from(lo), r));
    errors.fold(0.0, f64::max)
}

/// A float, and a tail of half a unit in its last place.
fn with_tail(bits: u32) -> (f32, f32) {
    let hi = f32::from_bits(bits);
    let half = (f32::from_bits(bits + 1) - hi) / 2.0;
    (hi, if bits.is_multiple_of(2) { half } else { -half })
}

/// The worst of every float from 2⁻⁶ to `end`, of either sign, or of some: an odd `step` keeps the tails' signs alternating.
fn worst_of(step: usize, end: f32, error: ErrorOf) -> f64 {
    const BLOCK: usize = 1 << 16;
    let blocks: Vec<u32> = (2f32.powi(-6).to_bits()..=end.to_bits()).step_by(BLOCK * step).collect();
    let worst_of_block = |first: u32| {
        let last = (first + (BLOCK * step) as u32 - 1).min(end.to_bits());
        let some = (first..=last).step_by(step);
        let arguments: Vec<_> = some.flat_map(|bits| [with_tail(bits), with_tail(bits | SIGN)]).collect();
        worst(&arguments, error)
    };
    blocks.into_par_iter().map(worst_of_block).reduce(|| 0.0, f64::max)
}

const SIGN: u32 = 1 << 31;

/// And not nothing: that would not be the f32 path.
fn assert_within(error: f64, limit: f64) {
    println!("{error:.3e} u, counted with {limit}");
    assert!((limit / 50.0..limit).contains(&error), "{error}");
}

fn assert_reduced(step: usize) {
    let (of_powers, of_angles) = (std::f32::consts::LN_2 / 2.0, std::f32::consts::FRAC_PI_4);
    assert_within(worst_of(step, of_powers, of_exponential), EXPONENTIAL);
    assert_within(worst_of(step, of_powers, of_wide_exponential), WIDE);
    assert_within(worst_of(step, of_angles, of_wide_rotation), WIDE);
    assert_within(worst_of(step, of_powers, of_common_exponential), COMMON_EXPONENTIAL);
    assert_within(worst_of(step, of_powers, of_common_growth), COMMON_GROWTH);
    assert_within(worst_of(step, of_angles, of_common_rotation), COMMON_ROTATION);
}

#[test]
fn reduced_arguments_are_within_what_the_contract_counts() {
    assert_reduced(61);
}

#[test]
#[ignore = "every f32, of which the test above takes every 61st"]
fn every_reduced_argument_is_within_what_the_contract_counts() {
    assert_reduced(1);
}

/// Uniform in bits, as far as arguments are reduced in f32: |x| ≤ 80 for e^x, |y| ≤ 1000 for e^iy.
#[test]
fn larger_arguments_are_reduced_to_that() {
    let sample = |end: f32| -> Vec<(f32, f32)> {
        let bits = (0.3f32.to_bits()..end.to_bits()).step_by(997);
        bits.flat_map(|bits| [with_tail(bits), with_tail(bits | SIGN)]).collect()
    };
    assert_within(worst(&sample(80.0), of_exponential), EXPONENTIAL);
    assert_within(worst(&sample(80.0), of_wide_exponential), WIDE);
    assert_within(worst(&sample(1000.0), of_wide_rotation), WIDE);
    assert_within(worst(&sample(86.0), of_common_exponential), COMMON_EXPONENTIAL);
    assert_within(worst(&sample(80.0), of_common_growth), COMMON_GROWTH);
    assert_within(worst(&sample(1000.0), of_common_rotation), COMMON_ROTATION);
}
