//! Mutants of the φ-functions, and of Ā and B̄ in floats.

use holdfast::method::Method::{Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};

use super::Kind::{Case, Invariant, Lifted, Sweep};
use super::{ALL, Mutant, PHI, caught, mutant};

const PHI_FILE: &str = "phi.cuh";
const DISCRETIZE: &str = "discretize.cuh";
const ELEMENTS: &str = "discretize.cu";

pub const MUTANTS: &[Mutant] = &[
    mutant(
        PHI_FILE,
        (
            "phi-limit-200",
            "real φ in pairs of floats up to z = 200",
            "return z.hi >= -1e6f && z.hi <= 80.5f;",
            "return z.hi >= -1e6f && z.hi <= 200.0f;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "phi-limit-200-complex",
            "complex φ in pairs of floats up to Re z = 200",
            "return z.re.hi >= -1e6f && z.re.hi <= 80.5f &&",
            "return z.re.hi >= -1e6f && z.re.hi <= 200.0f &&",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "near-zero-0.1",
            "real closed forms from |z| = 0.1 on",
            "return fabsf(z.hi) <= 1.0f;",
            "return fabsf(z.hi) <= 0.1f;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "near-zero-2.5",
            "the real series up to |z| = 2.5",
            "return fabsf(z.hi) <= 1.0f;",
            "return fabsf(z.hi) <= 2.5f;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "near-zero-complex-3.5",
            "the complex series up to |z| = 3.5",
            "z.im.hi * z.im.hi) <= 2.25f;",
            "z.im.hi * z.im.hi) <= 12.25f;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "near-zero-complex-by-parts",
            "the complex series wherever |Re z| ≤ 1.5",
            "return fused(z.re.hi, z.re.hi, z.im.hi * z.im.hi) <= 2.25f;",
            "return z.re.hi * z.re.hi <= 2.25f;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "phi-series-short",
            "real φ₃ without its terms from z⁷ on",
            "p = fused(p, z, 1.0f / 3628800.0f);",
            "p = 0.0f;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "phi-coefficient-120",
            "a coefficient of real φ₃ off by 0.1%",
            "p = fused(p, z, 1.0f / 120.0f);",
            "p = fused(p, z, 1.0f / 120.1f);",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "phi-coefficient-24-complex",
            "a coefficient of complex φ₃ off by 10⁻⁴",
            "return shifted(p * z, 1.0f / 24.0f);",
            "return shifted(p * z, 1.0f / 24.0024f);",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "phi-series-short-complex",
            "complex φ₃ without its terms from z⁷ on",
            "p = shifted(p * z, 1.0f / 3628800.0f);",
            "p = {1.0f / 3628800.0f, 0.0f};\n  p = scaled(p, 0.0f);",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "sixth-off",
            "1/6 with seven digits",
            "return Pair<float>{0x1.555556p-3f, -0x1.555556p-28f} + x;",
            "return Pair<float>{0.1666660f, 0.0f} + x;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "phi2-half-off",
            "φ₂ = 0.50001 + zφ₃ near 0",
            "const V phi2 = shifted(z * phi3, 0.5f);",
            "const V phi2 = shifted(z * phi3, 0.50001f);",
        ),
        PHI,
        caught(&[Sweep, Case]),
    ),
    mutant(
        PHI_FILE,
        (
            "phi2-not-shifted",
            "φ₂ = φ₁/z away from 0",
            "const V phi2 = by_z(shifted(phi1, -1.0f));",
            "const V phi2 = by_z(phi1);",
        ),
        PHI,
        caught(&[Sweep, Case]),
    ),
    mutant(
        PHI_FILE,
        (
            "phi3-shifted-by-1",
            "φ₃ = (φ₂ − 1)/z away from 0",
            "by_z(shifted(phi2, -0.5f))",
            "by_z(shifted(phi2, -1.0f))",
        ),
        &[HighOrder],
        caught(&[Sweep, Case]),
    ),
    mutant(
        PHI_FILE,
        (
            "exponential-dropped-at-2e-20",
            "e^z counts as 0 below 2⁻²⁰",
            "if (e.exponent < -57)",
            "if (e.exponent < -20)",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "exponential-never-dropped",
            "2ⁿ below its range",
            "if (e.exponent < -57)",
            "if (e.exponent < -250)",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "reciprocal-conjugate-lost",
            "1/z with the sign of z's imaginary part",
            "inverse = {z.re * r, -(z.im * r)};",
            "inverse = {z.re * r, z.im * r};",
        ),
        PHI,
        caught(&[Sweep, Case]),
    ),
    mutant(
        PHI_FILE,
        (
            "monitor-without-inverse",
            "the monitor of cancellation takes |1/z| for 0",
            "HOLDFAST_DEVICE float size() const { return norm1(rounded(inverse)); }",
            "HOLDFAST_DEVICE float size() const { return 0.0f; }",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "monitor-40",
            "ten times the cancellation in f32",
            "constexpr float kMostCancellation = 4.0f;",
            "constexpr float kMostCancellation = 40.0f;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "monitor-off",
            "any cancellation in f32",
            "if (error > most * norm1(rounded(sum))) return false;",
            "",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "comfortable-off",
            "no limits of products of pairs",
            "return m > 1e-28f && m < 1e28f;",
            "return m == m;",
        ),
        &[Foh, HighOrder, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "comfortable-below-off",
            "no lower limit of products of pairs",
            "return m > 1e-28f && m < 1e28f;",
            "return m < 1e28f;",
        ),
        &[Foh, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        ("angle-unguarded", "any angle in pairs of floats", "if (!exponential_in_f32(z)) return false;", ""),
        &[Zoh, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "bilinear-not-fused",
            "1 + z/2 from a rounded z/2",
            "return fused(0.5f * delta, a, 1.0f);",
            "return 0.5f * delta * a + 1.0f;",
        ),
        &[Bilinear],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "bilinear-complex-not-fused",
            "Re (1 + z/2) from a rounded z/2",
            "fused(0.5f * delta, a.re, 1.0f)",
            "0.5f * delta * a.re + 1.0f",
        ),
        &[Bilinear],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "zoh-b-off",
            "zoh's B̄ too large by 2⁻²²",
            "out.b_bar = scaled(b, delta);\n    return true;",
            "out.b_bar = scaled(b, delta * 1.0000002384f);\n    return true;",
        ),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "zoh-b-by-absolute-step",
            "zoh's B̄ = |Δ|B",
            "out.b_bar = scaled(b, delta);\n      return common;",
            "out.b_bar = scaled(b, fabsf(delta));\n      return common;",
        ),
        &[Zoh],
        caught(&[Case]),
    ),
    mutant(
        DISCRETIZE,
        (
            "rk4-monitor-off",
            "rk4's polynomial in f32 beside its roots",
            "if (!(m < 1e6f) || norm1(rounded(sum)) * 65536.0f < rk4_polynomial(m, 1.0f)) return false;",
            "if (!(m < 1e6f)) return false;",
        ),
        &[Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        ("rk4-twenty-fourth-rounded", "1/24 rounded to f32", "delta * -0x1.555556p-30f", "delta * 0.0f"),
        &[Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "rk4-step-rounded",
            "Δ/24 rounded to f32",
            "scaled(sum, step.hi) + scaled(sum, step.lo)",
            "scaled(sum, step.hi)",
        ),
        &[Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "monitor-real-130",
            "ten times the cancellation in f32, of real weights",
            "constexpr float kMostRealCancellation = 13.0f;",
            "constexpr float kMostRealCancellation = 130.0f;",
        ),
        &[Poly],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "monitor-forward-only",
            "backward steps of real weights in pairs of floats whatever cancels",
            "if (kComplex || delta < 0.0f) {",
            "if (kComplex) {",
        ),
        &[Poly, HighOrder],
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "monitor-without-rounding",
            "the monitor of cancellation takes pairs for exact",
            "constexpr float kPairRounding = 0x1p-16f;",
            "constexpr float kPairRounding = 0.0f;",
        ),
        &[Poly, HighOrder],
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "monitor-without-tail",
            "the monitor of cancellation takes the real series for exact",
            "return 0.5f * fabsf(z.hi);",
            "return 0.0f * z.hi;",
        ),
        &[Poly],
        caught(&[Sweep]),
    ),
    mutant(
        ELEMENTS,
        (
            "elements-past-the-end",
            "one element too many",
            "if (i >= params.n) return;",
            "if (i > params.n) return;",
        ),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        ELEMENTS,
        (
            "elements-imaginary-part-negated",
            "coefficients are stored conjugated",
            "to[1] = w.im;",
            "to[1] = -w.im;",
        ),
        &[Zoh],
        caught(&[Sweep, Lifted]),
    ),
    mutant(
        ELEMENTS,
        (
            "elements-b-of-a",
            "B is read where A is",
            "Weight::load(params.b + i * Weight::kWidth)",
            "Weight::load(params.a + i * Weight::kWidth)",
        ),
        &[Zoh],
        caught(&[Sweep, Lifted]),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-series-to-2",
            "the series of common sums up to |z| = 2",
            "const bool near = fabsf(z.hi) <= 1.0f;",
            "const bool near = fabsf(z.hi) <= 2.0f;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-series-to-0.25",
            "the closed forms of common sums from |z| = ¼ on",
            "const bool near = fabsf(z.hi) <= 1.0f;",
            "const bool near = fabsf(z.hi) <= 0.25f;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-phi2-short",
            "φ₂ of common elements without z⁷",
            "float p = 0x1.73a8aap-19f;",
            "float p = 0.0f;",
        ),
        &[Foh, Poly],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-phi3-short",
            "φ₃ of common elements without z⁶ and z⁷",
            "float p = 0x1.29ddfap-22f;\n  p = fused(p, z, 0x1.785ceep-19f);",
            "float p = 0.0f;",
        ),
        &[HighOrder],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-steps-backward",
            "sums with a negative Δ as common ones",
            "const bool forwards = in_range && delta >= 0.0f;",
            "const bool forwards = in_range;",
        ),
        &[Poly, HighOrder],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-third-without-half",
            "highorder's closed form without the ½ of φ₃",
            "static_cast<float>(0.5 * inverse * inverse * inverse)",
            "static_cast<float>(inverse * inverse * inverse)",
        ),
        &[HighOrder],
        caught(&[Sweep, Case]),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-rk4-near-root",
            "rk4's product as near to its root as may be",
            "return fabsf(from_root) > 0x1p-16f;",
            "return true;",
        ),
        &[Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-rk4-root-rounded",
            "rk4's root rounded to one float",
            "add_rn(z.lo, -0x1.0da8fap-26f)",
            "z.lo",
        ),
        &[Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "range-of-first-step",
            "a packet's range of Δ is its first one",
            "for (int i = 0; i < kCount; ++i) {\n    if constexpr (kMethod == Method::kZoh) {\n      range",
            "for (int i = 0; i < 1; ++i) {\n    if constexpr (kMethod == Method::kZoh) {\n      range",
        ),
        ALL,
        caught(&[Case]),
    ),
    mutant(
        DISCRETIZE,
        (
            "range-without-least",
            "a packet's least Δ is not asked for",
            "known && steps.least > kLeastStep<kMethod> && steps.largest",
            "known && steps.largest",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "range-without-exponent",
            "a packet's z may be of any size",
            "const bool known = rates.plain && within(steps.largest, rates.steepest, most);",
            "const bool known = rates.plain;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        DISCRETIZE,
        (
            "rare-elements-lost",
            "of a packet with rare elements all but the last",
            "for (int i = 0; i < kCount; ++i) {\n    bool done = false;",
            "for (int i = 0; i < kCount - 1; ++i) {\n    bool done = false;",
        ),
        &[Zoh, Foh],
        caught(&[Case]),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-bilinear-inverted",
            "common Ā = (1 − z/2)/(1 + z/2)",
            "common_quotient(above, below, inverse), per_b * b}",
            "common_quotient(below, above, inverse), per_b * b}",
        ),
        &[Bilinear],
        caught(&[Sweep, Case, Invariant]),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-bilinear-b-not-divided",
            "common B̄ = ΔB",
            "common_quotient(above, below, inverse), per_b * b}",
            "common_quotient(above, below, inverse), delta * b}",
        ),
        &[Bilinear],
        caught(&[Sweep, Case]),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-complex-bilinear-conjugate",
            "common complex bilinear divides by the conjugate",
            "difference_of_products(n.im, below.re, n.re, below.im), square, inverse)",
            "difference_of_products(n.im, below.re, n.re, -below.im), square, inverse)",
        ),
        &[Bilinear],
        caught(&[Sweep, Case]),
    ),
    mutant(
        PHI_FILE,
        (
            "exponential-low-lost",
            "e^z rounded before 1 is taken off",
            "return {e.mantissa.hi * s, e.mantissa.lo * s};",
            "return {e.mantissa.hi * s, 0.0f};",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PHI_FILE,
        (
            "sixth-rounded",
            "1/6 rounded to one float",
            "return Pair<float>{0x1.555556p-3f, -0x1.555556p-28f} + x;",
            "return Pair<float>{0x1.555556p-3f, 0.0f} + x;",
        ),
        &[Poly],
        caught(&[Sweep]),
    ),
];
