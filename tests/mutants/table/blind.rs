//! Mutants by somebody who had seen neither the others nor the faults that can be planted.
//!
//! Three changed barriers and tails of an earlier scan. Two more that were written with them show in no run on a CPU: offsets of 32 bits, which only tensors of 2³¹ elements
//! outgrow, and half of the shared memory that a launch asks for.

use holdfast::method::Method::{Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};

use super::Kind::{Case, Invariant, Lifted, Sweep};
use super::{ALL, Fate, Mutant, PHI, caught, mutant};

pub const MUTANTS: &[Mutant] = &[
    mutant(
        "exponential.cuh",
        (
            "sine-quadrant-remainder",
            "the quadrant of a negative angle as a negative remainder",
            "  const int quadrant = static_cast<int>(q) & 3;",
            "  const int quadrant = static_cast<int>(q) % 4;",
        ),
        &[Zoh, Foh, Poly, HighOrder, Rk4],
        caught(&[Sweep, Case]),
    ),
    mutant(
        "precise.cuh",
        (
            "precise-phi-short-series",
            "the double path's series of φ₃ without its last twelve terms",
            "    for (int k = 23; k >= 4; --k)",
            "    for (int k = 11; k >= 4; --k)",
        ),
        PHI,
        caught(&[Lifted]),
    ),
    mutant(
        "precise.cuh",
        (
            "precise-rk4-without-pairs",
            "rk4's double path without pairs",
            "      const Complex<Pair<double>> wide = {two_prod(delta, a.re), two_prod(delta, a.im)};\n      const Complex<double> p = rounded(rk4_polynomial(wide, 1.0));\n",
            "      const Complex<double> p = rk4_polynomial(z, 1.0);\n",
        ),
        &[Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        "pair.cuh",
        (
            "pair-plus-scalar-quick-sum",
            "a pair plus a float as if the pair were the larger",
            "  const Pair<T> s = two_sum(a.hi, b);",
            "  const Pair<T> s = quick_two_sum(a.hi, b);",
        ),
        &[Foh, Poly, HighOrder, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        "complex.cuh",
        (
            "scaled-pair-drops-rounding",
            "a pair times a float without the rounding of its high part",
            "HOLDFAST_DEVICE Pair<T> scaled(Pair<T> a, T s) {\n  return a * s;\n}",
            "HOLDFAST_DEVICE Pair<T> scaled(Pair<T> a, T s) {\n  return {mul_rn(a.hi, s), mul_rn(a.lo, s)};\n}",
        ),
        &[Foh, Poly, HighOrder, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        "phi.cuh",
        (
            "phi-real-series-too-far",
            "the real series up to |z| = 1.75",
            "HOLDFAST_DEVICE bool near_zero(Pair<float> z) { return fabsf(z.hi) <= 1.0f; }",
            "HOLDFAST_DEVICE bool near_zero(Pair<float> z) { return fabsf(z.hi) <= 1.75f; }",
        ),
        PHI,
        Fate::Harmless("rare elements have the room of common ones: 7.75u of a real B̄ by φ-functions"),
    ),
    mutant(
        "phi.cuh",
        (
            "phi-drops-exponential-early",
            "φ without eᶻ below 2⁻²⁰",
            "  if (e.exponent < -57) return {0.0f, 0.0f};",
            "  if (e.exponent < -20) return {0.0f, 0.0f};",
        ),
        &[Poly, HighOrder],
        caught(&[Sweep]),
    ),
    mutant(
        "discretize.cuh",
        (
            "monitor-signed-step",
            "what watches for cancellation takes Δ for positive",
            "combined_phi<kMethod>(p.errors.phi1, p.errors.phi2, p.errors.phi3, fabsf(delta));",
            "combined_phi<kMethod>(p.errors.phi1, p.errors.phi2, p.errors.phi3, delta);",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        "discretize.cuh",
        (
            "bilinear-tiny-complex-divisor",
            "complex bilinear in f32 however small 1 − z/2 is",
            "return square > 1e-16f && square < 1e24f",
            "return square < 1e24f",
        ),
        &[Bilinear],
        caught(&[Sweep]),
    ),
    mutant(
        "discretize.cuh",
        (
            "comfortable-admits-subnormals",
            "subnormal intermediates are taken for comfortable",
            "  return m > 1e-28f && m < 1e28f;",
            "  return m > 0.0f && m < 1e28f;",
        ),
        &[Foh, Bilinear, Poly, HighOrder, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        "storage.cuh",
        (
            "half-load-flushes-subnormals",
            "subnormal f16 inputs become 0",
            "  const unsigned magnitude_bits = x.bits & 0x7fffu;\n",
            "  const unsigned magnitude_bits = x.bits & 0x7fffu;\n  if (magnitude_bits < 0x400u) return __uint_as_float(sign);\n",
        ),
        ALL,
        caught(&[Case, Invariant]),
    ),
    mutant(
        "storage.cuh",
        (
            "bf16-infinity-becomes-nan",
            "an infinite output is stored as a NaN in bf16",
            "  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;",
            "  const bool is_nan = (bits & 0x7fffffffu) >= 0x7f800000u;",
        ),
        ALL,
        caught(&[Invariant]),
    ),
    mutant(
        "selective_scan.cuh",
        (
            "softplus-linear-above-10",
            "softplus is x from 10 on",
            "return largest_of(x, 0.0f) + t * log_of_one_plus_over(t);",
            "return x > 10.0f ? x : largest_of(x, 0.0f) + t * log_of_one_plus_over(t);",
        ),
        ALL,
        caught(&[Case]),
    ),
    mutant(
        "selective_scan.cuh",
        (
            "gate-by-tanh",
            "the gate by tanh, which cancels for negative z",
            "HOLDFAST_DEVICE float gate(float z) { return z / (1.0f + expf(-z)); }",
            "HOLDFAST_DEVICE float gate(float z) { const float half = 0.5f * z; return half * (1.0f + tanhf(half)); }",
        ),
        ALL,
        caught(&[Case]),
    ),
    mutant(
        "exponential.cuh",
        (
            "exp-clamp-keeps-low-part",
            "the low part of a clamped z is kept, which may be infinite",
            "  if (z.hi < -170.0f) return {-170.0f, 0.0f};",
            "  if (z.hi < -170.0f) return {-170.0f, z.lo};",
        ),
        &[Zoh],
        Fate::Harmless("ΔA overflows f32 there, and nothing is promised beyond 2¹⁶"),
    ),
];
