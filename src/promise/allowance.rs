//! Every allowance of the judge, in one place, each with its derivation. Nothing else in the crate types a
//! tolerance.
//!
//! u = 2⁻²⁴ is the unit roundoff of f32, in which all kernels compute (spec.md §3): a correctly rounded
//! operation has a relative error of at most u. Errors of complex numbers are normwise.

use std::f64::consts::{LN_2, PI};

use num_complex::Complex64;

use crate::problem::stages::Fast;
use crate::problem::{Stage, Stages, Weights};

/// The unit roundoff of f32, 2⁻²⁴.
pub const U: f64 = 1.0 / (1 << 24) as f64;

/// Half the smallest subnormal f32, 2⁻¹⁵⁰: the error of one rounding that underflows.
pub const HALF_SUBNORMAL: f64 = 7.006492321624085e-46;

/// exp of a compiler's library in f32, relative. CUDA's comes to 2.56u at x = −78.66, of all arguments on an H200
/// (`library-exp` of golden/h200/functions.json); those of CPUs are nearer.
pub const EXPONENTIAL: f64 = 2.625 * U;

/// log1p of a compiler's library in f32 for x ≥ 0, relative: CUDA's comes to 1.38u (`library-log1p` there).
pub const LOG_OF_ONE_PLUS: f64 = 1.5 * U;

/// tanh of a compiler's library in f32, relative: CUDA documents 2 ulp of at most 2u each from the correctly rounded result, which is off by
/// u itself ("Mathematical Functions"); glibc's is as near.
pub const LIBRARY_TANH: f64 = 5.0 * U;

/// sin and cos of a compiler's library in f32, relative, for every argument: 2 ulp, as [`LIBRARY_TANH`] has them.
pub const LIBRARY_TURN: f64 = 5.0 * U;

/// e^x by CUDA's `__expf`, which `--use_fast_math` puts in the place of `expf`, relative: 2 + ⌊1.173|x|⌋ ulp of at most 2u each, so that
/// it is this and [`FAST_EXPONENT`] for each 1 in |x|. This and the other numbers of its kind are the largest errors that the CUDA C++
/// Programming Guide documents ("Mathematical Functions", "Intrinsic Functions"): distances from the correctly rounded result, which is
/// off by u itself.
const FAST_EXPONENTIAL: f64 = 5.0 * U;

/// It has room for 2^x by the hardware, 2 ulp, of x log₂e as well: log₂e in f32 and its product with A, which are rounded before z is, move
/// eᶻ by 2u|z|.
const FAST_EXPONENT: f64 = 2.0 * 1.173 * U;

/// A quotient by `__fdividef`: 2 ulp for denominators in 2⁻¹²⁶…2¹²⁶.
const FAST_QUOTIENT: f64 = 5.0 * U;

/// Sine and cosine by `__sinf` and `__cosf` for angles in −π…π, √(2^(−2·21.41) + 2^(−2·21.19)) normwise; e^x, [`FAST_EXPONENTIAL`]; and
/// their products, u: 15.25u, of which a framework's eᶻ has 8u ([`super::Contract::FRAMEWORK`]). Nothing is documented for larger angles.
const FAST_TURN: f64 = 7.25 * U;

/// A logarithm by `__logf`: absolute from ½ to 2, 2^−21.41, elsewhere 3 ulp.
const FAST_LOGARITHM: [f64; 2] = [3.588_9e-7 + U, 7.0 * U];

/// What the coefficients of a faulty kernel may be off the fault's own formula, relative: room for one exponential
/// ([`EXPONENTIAL`]), the φ-functions made of it, and three products with Δ and B.
pub const COEFFICIENT: f64 = 8.0 * U;

/// The arithmetic that a kernel computes in: f32 (spec.md §3), or double when it is lifted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arithmetic {
    /// The unit roundoff u.
    pub unit: f64,
    /// What one rounding that underflows may be off.
    pub underflow: f64,
    /// log1p(exp(−t))/t for the t above which softplus is the identity.
    pub softplus_threshold: f64,
    /// Below this gate value exp(−z) may overflow.
    pub gate_underflow: f64,
    /// What is rounded to 16 bits on the way.
    pub stages: Stages,
}

impl Arithmetic {
    pub const SINGLE: Arithmetic = Arithmetic {
        unit: U,
        underflow: HALF_SUBNORMAL,
        softplus_threshold: SOFTPLUS_THRESHOLD,
        gate_underflow: GATE_UNDERFLOW,
        stages: Stages::NONE,
    };

    /// u = 2⁻⁵³; half a subnormal is no f64, a whole one bounds it; softplus is the identity above 40, where
    /// log1p(e⁻⁴⁰)/40 < 2⁻⁶².
    pub const DOUBLE: Arithmetic = Arithmetic {
        unit: f64::EPSILON / 2.0,
        underflow: 5e-324,
        softplus_threshold: 1.0 / (1u64 << 62) as f64,
        gate_underflow: -709.0,
        stages: Stages::NONE,
    };

    /// One rounded product ([`product`]).
    pub fn product(self, weights: Weights) -> f64 {
        product(weights) / U * self.unit
    }

    /// That of the scan itself: with the roundings of states.
    pub fn of_states(self) -> Arithmetic {
        let rounding = self.stages.rounding(Stage::State);
        let (unit, underflow) = (self.unit + rounding.unit, self.underflow + rounding.underflow);
        Arithmetic { unit, underflow, ..self }
    }

    /// softplus, relative ([`SOFTPLUS`]).
    pub fn softplus(self) -> f64 {
        (EXPONENTIAL + LOG_OF_ONE_PLUS) / U * self.unit + self.softplus_threshold
    }

    /// Error of softplus beside a library's by what is documented for e^x in it, which is damped by σ(x)/softplus(x) as [`SOFTPLUS`] has
    /// it, and for the logarithm of a naive one.
    pub fn fast_softplus(self, x: f64, softplus: f64) -> f64 {
        if !self.stages.is_fast(Fast::Softplus) {
            return 0.0;
        }
        let damped = if softplus > 0.0 { 1.0 / (1.0 + (-x).exp()) / softplus } else { 1.0 };
        let [near_one, elsewhere] = FAST_LOGARITHM;
        let logarithm = match self.stages.naive_softplus && softplus > 0.0 {
            true if softplus <= LN_2 => near_one / softplus,
            true => elsewhere,
            false => 0.0,
        };
        damped * self.fast_exponential(Fast::Softplus, x) + logarithm
    }

    /// e^x by CUDA's approximation in this place, beside a library's: relative.
    fn fast_exponential(self, place: Fast, x: f64) -> f64 {
        match self.stages.is_fast(place) {
            true => FAST_EXPONENTIAL - EXPONENTIAL + FAST_EXPONENT * x.abs(),
            false => 0.0,
        }
    }

    /// A quotient by CUDA's approximation in this place, beside one that is rounded: relative.
    pub fn fast_quotient(self, place: Fast) -> f64 {
        if self.stages.is_fast(place) { FAST_QUOTIENT - U } else { 0.0 }
    }

    /// eᶻ by CUDA's approximations, beside what a framework's may be off: relative. That has room for 2 ulp of a real one. Infinite for
    /// angles of which nothing is documented.
    pub fn fast_transition(self, z: Complex64, weights: Weights) -> f64 {
        let turned = match weights {
            _ if !self.stages.is_fast(Fast::Transition) => return 0.0,
            Weights::Real => 0.0,
            Weights::Complex if z.im.abs() <= PI => FAST_TURN,
            Weights::Complex => f64::INFINITY,
        };
        turned + FAST_EXPONENT * z.re.abs()
    }

    /// The sigmoid of x, relative ([`SIGMOID`]).
    pub fn sigmoid(self, x: f64) -> f64 {
        let fast = self.fast_exponential(Fast::Softplus, x) / (1.0 + x.exp());
        SIGMOID / U * self.unit + fast + self.fast_quotient(Fast::Softplus)
    }

    /// The gate's derivative, relative to its terms ([`GATE_SLOPE`]). An error ε of e^x moves σ by σ(−z)ε, and so the derivative by
    /// σ(−z)(1 + |z|σ/(1 + |z|σ(−z))) of its terms at most, which is below 1.
    pub fn gate_slope(self, z: f64) -> f64 {
        GATE_SLOPE / U * self.unit + self.fast_exponential(Fast::Gate, z) + self.fast_quotient(Fast::Gate)
    }

    /// The gate of z, relative ([`GATE`]).
    pub fn gate(self, z: f64) -> f64 {
        let fast = self.fast_exponential(Fast::Gate, z) / (1.0 + z.exp());
        GATE / U * self.unit + fast + self.fast_quotient(Fast::Gate)
    }
}

/// One rounded product: u, or √5·u normwise for a complex one (Brent, Percival and Zimmermann 2007,
/// theorem 1; with fused operations it is at most 2u).
#[inline]
pub fn product(weights: Weights) -> f64 {
    match weights {
        Weights::Real => U,
        Weights::Complex => 5f64.sqrt() * U,
    }
}

/// One rounded sum: componentwise rounding is also at most u normwise.
pub const SUM: f64 = U;

/// softplus(x) = log1p(exp(x)), relative, for the x that the kernel works with, by a compiler's library: the exponential's error is damped
/// by t/((1+t)·log1p(t)) ≤ 1 for t = eˣ, log1p has its own, and there is the threshold.
///
/// The kernels' own is max(x, 0) + t·q(t) with t = e^−|x|, which is good to 1.75u and damped as above, and a polynomial q for log1p(t)/t,
/// and has no threshold. With q's 1.5u, a product and a sum that comes to 4u for x < 0, and just above 0 to 4.6u. That it keeps to the
/// same 4.125u rests on its certificate (`softplus` of golden/h200/functions.json): at the worst of all f32, 0.027, it is off by 3.1u. It
/// consists of fused and single operations, whose bits are the same on any machine.
pub const SOFTPLUS: f64 = EXPONENTIAL + LOG_OF_ONE_PLUS + SOFTPLUS_THRESHOLD;

/// Returning x itself above 20 costs at most log1p(e⁻²⁰)/20 < 2⁻³³.
const SOFTPLUS_THRESHOLD: f64 = 1.0 / (1u64 << 33) as f64;

/// The sigmoid, relative: an exponential, a sum and a quotient, whose reciprocal may round apart.
pub const SIGMOID: f64 = EXPONENTIAL + 3.0 * U;

/// The gate's derivative σ(z)(1 + zσ(−z)), relative to its terms' sizes: the exponential and six roundings. The sigmoid in it errs by
/// all of its own only for z < 0, where zσ(−z) is damped by σ.
pub const GATE_SLOPE: f64 = EXPONENTIAL + 6.0 * U;

/// z·sigmoid(z) = z/(1 + exp(−z)) times a value, relative: the exponential, damped by e⁻ᶻ/(1+e⁻ᶻ) < 1; a sum, a
/// quotient and two products, u each (a reciprocal in place of the quotient costs one more).
pub const GATE: f64 = EXPONENTIAL + 5.0 * U;

/// Below this gate value exp(−z) may overflow in f32 and the gate become zero: the allowance there is the
/// whole of |z·eᶻ|.
pub const GATE_UNDERFLOW: f64 = -87.0;

/// Additions that a term may pass in a scan beside the one for each later step: its own, and one for each
/// level at which a scan by blocks joins earlier steps to it. log₂ of the length covers any balanced scan;
/// three more cover a serial part within a thread, a join of warps and a join of chunks. The kernels here step
/// through a sequence in order, and join nothing; a recorded one may.
#[inline]
pub fn scan_joins(seqlen: usize) -> f64 {
    f64::from(seqlen.next_power_of_two().trailing_zeros()) + 4.0
}
