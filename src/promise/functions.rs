//! What the kernels promise of the functions of one float that they are made of.

use super::allowance::{Arithmetic, EXPONENTIAL, GATE_SLOPE, LOG_OF_ONE_PLUS, SIGMOID, U};
use super::contract::Contract;
use super::derivatives;
use crate::problem::Weights;
use crate::scalar_function::{ScalarFunction, StepPart};

/// How far a function's values may be off, in u = 2⁻²⁴ of the exact value; of a part of e^ix, of that number's modulus. Besides, two
/// roundings that underflow.
///
/// - Coefficients and derivatives: what [`Contract::PRODUCTION`] and [`derivatives::production`] count.
/// - eˣ in pairs: 0.15u before it is rounded; with its rounding 1.15u, rounded up to the next eighth.
/// - φ in pairs: eˣ's 0.15u times 13, which φ₃ comes to where |x| > 1, 1.95u, and a rounding.
/// - The library's eˣ and log(1 + x), softplus, the sigmoid and the gate: [`super::allowance`]; of the gate an exponential, a sum and a
///   quotient. Below −87 the gate may vanish, and so may its derivative: all of the value, or of its terms, is allowed there.
/// - The gate's derivative σ(x)(1 + xσ(−x)): as there, and for x > 0, where the exponential is damped, two roundings more of xσ(x), which
///   1 − σ(x) loses; and an underflow times |x|.
/// - A GPU's instructions: what the PTX ISA says of them, relative errors of at most 2^−22.5 for 2ˣ and 2⁻²³ for 1/x, and absolute
///   ones of 2^−20.5 for cos and sin, rounded up to the next eighth.
/// - What is rounded to 16 bits: nothing. It is the nearest number.
///
/// That a Hopper GPU keeps all of it at every f32 is certified by `golden/h200/functions.json`, which `tests/judge/certificates.rs` holds to
/// these numbers and to the sources.
pub fn units(function: ScalarFunction) -> f64 {
    use ScalarFunction as F;
    let contract = Contract::PRODUCTION;
    if let Some((method, part)) = function.step_part() {
        let units = derivatives::production(method, Weights::Real);
        return match part {
            StepPart::ABar => contract.a_bar_error(method, Weights::Real) / U,
            StepPart::BBar => contract.b_bar_error(method, Weights::Real) / U,
            StepPart::Slope => units.slope,
            StepPart::H => units.h,
            StepPart::HByDelta => units.h_by_delta,
            StepPart::HByA => units.h_by_a,
        };
    }
    match function {
        F::Exp => contract.units.exponential[0],
        F::Cos | F::Sin => contract.units.exponential[1],
        F::CosInPairs | F::SinInPairs => contract.units.exponential_of_sums[1],
        F::ExpInPairs => 1.25,
        F::Phi1 | F::Phi2 | F::Phi3 => 3.0,
        F::Softplus => Arithmetic::SINGLE.softplus() / U,
        F::Sigmoid => SIGMOID / U,
        F::Gate => EXPONENTIAL / U + 2.0,
        F::GateSlope => GATE_SLOPE / U,
        F::HardwareExp2 => 2.875,
        F::HardwareReciprocal => 2.0,
        F::HardwareCos | F::HardwareSin => 11.375,
        F::LibraryExp => EXPONENTIAL / U,
        F::LibraryLog1p => LOG_OF_ONE_PLUS / U,
        _ => 0.0,
    }
}
