//! Changes that keep every promise: no verdict may fail.

use holdfast::method::Method::{Foh, HighOrder, Poly, Rk4, Zoh};

use super::{ALL, EXPONENTIAL, Fate, Mutant, PHI, SCANS, mutant};

const EXP: &str = "exponential.cuh";
const PHI_FILE: &str = "phi.cuh";
const DISCRETIZE: &str = "discretize.cuh";
const PRECISE: &str = "precise.cuh";
const SCAN: &str = "selective_scan.cuh";
const STEP: &str = "step.cuh";
const LAUNCH: &str = "launch.cuh";
const STORAGE: &str = "storage.cuh";

pub const MUTANTS: &[Mutant] = &[
    mutant(
        STEP,
        (
            "scan-not-fused",
            "products and sums of the real scan rounded apart",
            "HOLDFAST_DEVICE float multiply_add(float a, float x, float b) { return fused(a, x, b); }",
            "HOLDFAST_DEVICE float multiply_add(float a, float x, float b) { return a * x + b; }",
        ),
        SCANS,
        Fate::Harmless("the bounds count a rounding for the product and one for the sum"),
    ),
    mutant(
        STEP,
        (
            "complex-scan-not-fused",
            "products and sums of the complex scan rounded apart",
            "return {fused(-a.im, x.im, fused(a.re, x.re, b.re)), fused(a.im, x.re, fused(a.re, x.im, b.im))};",
            "return {(a.re * x.re - a.im * x.im) + b.re, (a.im * x.re + a.re * x.im) + b.im};",
        ),
        SCANS,
        Fate::Harmless("the bounds count √5·u for the product and one rounding for the sum"),
    ),
    mutant(
        EXP,
        (
            "exp-by-estrin",
            "the series of eˣ by Estrin's scheme",
            "  float p = 1.0f / 40320.0f;
  p = fused(p, r.hi, 1.0f / 5040.0f);
  p = fused(p, r.hi, 1.0f / 720.0f);
  p = fused(p, r.hi, 1.0f / 120.0f);
  p = fused(p, r.hi, 1.0f / 24.0f);
  p = fused(p, r.hi, 1.0f / 6.0f);
  p = fused(p, r.hi, 0.5f);
",
            "  const float r2 = r.hi * r.hi, r4 = r2 * r2;
  const float low = fused(fused(r.hi, 1.0f / 120.0f, 1.0f / 24.0f), r2, fused(r.hi, 1.0f / 6.0f, 0.5f));
  const float high = fused(r2, 1.0f / 40320.0f, fused(r.hi, 1.0f / 5040.0f, 1.0f / 720.0f));
  const float p = fused(high, r4, low);
",
        ),
        EXPONENTIAL,
        Fate::Harmless("p is multiplied by r² ≤ 0.12: its roundings are 0.06u of the sum each"),
    ),
    mutant(
        EXP,
        (
            "exp-extra-term",
            "one more term of eˣ",
            "float p = 1.0f / 40320.0f;",
            "float p = fused(1.0f / 362880.0f, r.hi, 1.0f / 40320.0f);",
        ),
        EXPONENTIAL,
        Fate::Harmless("nearer to eˣ"),
    ),
    mutant(
        EXP,
        (
            "log2e-rough",
            "n from 1/ln 2 with three digits",
            "rintf(z.hi * 0x1.715476p+0f)",
            "rintf(z.hi * 1.442f)",
        ),
        EXPONENTIAL,
        Fate::Harmless("any n near z/ln 2 does: |r| grows by 0.03 at |z| = 100, and r⁹/9! stays below 2⁻²⁷"),
    ),
    mutant(
        EXP,
        (
            "angle-limit-100",
            "angles beyond 100 in double",
            "exponential_in_f32(Complex<Pair<float>> z) { return fabsf(z.im.hi) <= 1000.0f",
            "exponential_in_f32(Complex<Pair<float>> z) { return fabsf(z.im.hi) <= 100.0f",
        ),
        EXPONENTIAL,
        Fate::Harmless("the double path holds everywhere"),
    ),
    mutant(
        PHI_FILE,
        (
            "near-zero-complex-0.1",
            "complex closed forms from |z| = 0.1 on",
            "z.im.hi * z.im.hi) <= 2.25f;",
            "z.im.hi * z.im.hi) <= 0.01f;",
        ),
        PHI,
        Fate::Harmless("the monitor sends what cancels to the double path, as everywhere"),
    ),
    mutant(
        PHI_FILE,
        (
            "phi-extra-term",
            "one more term of real φ₃",
            "float p = 1.0f / 479001600.0f;",
            "float p = fused(1.0f / 6227020800.0f, z, 1.0f / 479001600.0f);",
        ),
        PHI,
        Fate::Harmless("nearer to φ₃"),
    ),
    mutant(
        PHI_FILE,
        (
            "phi-limit-60",
            "φ beyond 60 in double",
            "return z.hi >= -1e6f && z.hi <= 80.5f;",
            "return z.hi >= -1e6f && z.hi <= 60.0f;",
        ),
        PHI,
        Fate::Harmless("the double path holds everywhere"),
    ),
    mutant(
        PHI_FILE,
        (
            "exponential-dropped-at-2e-80",
            "e^z counts as 0 below 2⁻⁸⁰",
            "if (e.exponent < -57)",
            "if (e.exponent < -80)",
        ),
        PHI,
        Fate::Harmless("nearer to e^z"),
    ),
    mutant(
        DISCRETIZE,
        (
            "comfortable-above-off",
            "no upper limit of products of pairs",
            "return m > 1e-28f && m < 1e28f;",
            "return m > 1e-28f;",
        ),
        &[Foh, Rk4],
        Fate::Harmless("what overflows becomes a NaN by its own error term, and a NaN is below every limit"),
    ),
    mutant(
        DISCRETIZE,
        (
            "monitor-real-7",
            "half the cancellation in f32, of real weights",
            "constexpr float kMostRealCancellation = 13.0f;",
            "constexpr float kMostRealCancellation = 7.0f;",
        ),
        &[Poly, HighOrder],
        Fate::Harmless("the double path holds everywhere"),
    ),
    mutant(
        PRECISE,
        (
            "pairs-early",
            "pairs of doubles where ten bits are lost",
            "return error * 0x1p-20 > norm1(sum)",
            "return error * 0x1p-10 > norm1(sum)",
        ),
        PHI,
        Fate::Harmless("pairs of doubles hold wherever double does"),
    ),
    mutant(
        DISCRETIZE,
        (
            "monitor-2",
            "half the cancellation in f32",
            "constexpr float kMostCancellation = 4.0f;",
            "constexpr float kMostCancellation = 2.0f;",
        ),
        PHI,
        Fate::Harmless("the double path holds everywhere"),
    ),
    mutant(
        DISCRETIZE,
        (
            "comfortable-1e20",
            "narrower limits of products of pairs",
            "return m > 1e-28f && m < 1e28f;",
            "return m > 1e-20f && m < 1e20f;",
        ),
        &[Foh, Rk4],
        Fate::Harmless("the double path holds everywhere"),
    ),
    mutant(
        SCAN,
        (
            "softplus-25",
            "softplus is the identity from 25 on",
            "return largest_of(x, 0.0f) + t * log_of_one_plus_over(t);",
            "return x > 25.0f ? x : largest_of(x, 0.0f) + t * log_of_one_plus_over(t);",
        ),
        SCANS,
        Fate::Harmless("nearer to softplus"),
    ),
    mutant(
        SCAN,
        (
            "gate-by-reciprocal",
            "the gate as z times a reciprocal",
            "float gate(float z) { return z / (1.0f + expf(-z)); }",
            "float gate(float z) { return z * (1.0f / (1.0f + expf(-z))); }",
        ),
        SCANS,
        Fate::Harmless("the bound counts a reciprocal in place of the quotient"),
    ),
    mutant(
        STORAGE,
        (
            "f16-overflow-by-carry",
            "65520 to 65536 are left to the general formula",
            "m >= 0x477ff000u",
            "m >= 0x47800000u",
        ),
        SCANS,
        Fate::Harmless("equivalent: it rounds them up into the pattern of infinity"),
    ),
    mutant(
        PRECISE,
        (
            "zero-step-unguarded",
            "no special case of a zero step or B in double",
            "if (delta == 0.0 || norm1(b) == 0.0) return out;",
            "",
        ),
        ALL,
        Fate::Harmless("equivalent: e^z is capped, so that every φ is finite, and 0 times it is 0"),
    ),
    mutant(
        DISCRETIZE,
        (
            "zoh-step-and-b-commuted",
            "BΔ for ΔB",
            "out.b_bar = scaled(b, delta);\n      return common;",
            "out.b_bar = scaled(b, delta * 1.0f);\n      return common;",
        ),
        &[Zoh],
        Fate::Harmless("equivalent: a factor of 1"),
    ),
    mutant(
        LAUNCH,
        (
            "half-the-items",
            "four positions a packet, complex two",
            "(lanes == kLanes ? 8 : 4) / width",
            "4 / width",
        ),
        SCANS,
        Fate::Harmless("the same recurrence in shorter tiles"),
    ),
    mutant(
        SCAN,
        (
            "packets-by-steps",
            "no packet is known to be common",
            "bool there = left >= (packet + 1) * kItems;",
            "bool there = false;",
        ),
        SCANS,
        Fate::Harmless("what is not known of all elements is asked of each"),
    ),
    mutant(
        DISCRETIZE,
        (
            "ranges-with-zeros",
            "a step size of 0 is the least of a packet",
            "delta[i] == T(0) ? T(3e38f) : delta[i]",
            "delta[i]",
        ),
        ALL,
        Fate::Harmless("what is not known of all elements is asked of each"),
    ),
    mutant(
        SCAN,
        (
            "steps-past-the-end",
            "the positions past the end are stepped through",
            "advance(kAllThere ? kItems : at.valid);",
            "advance(kItems);",
        ),
        SCANS,
        Fate::Harmless("Δ is 0 there: a step of 0 changes no finite state"),
    ),
    mutant(
        SCAN,
        (
            "delta-past-the-end",
            "Δ past the end is what padding, bias and softplus make",
            "if (own.at.valid < kItems) {",
            "if (false) {",
        ),
        SCANS,
        Fate::Harmless("these positions are left out"),
    ),
    mutant(
        EXP,
        (
            "common-angle-limit-100",
            "common angles up to 100",
            "constexpr float kCommonAngle = 1000.0f;",
            "constexpr float kCommonAngle = 100.0f;",
        ),
        &[Zoh],
        Fate::Harmless("pairs of floats hold wherever plain floats do"),
    ),
    mutant(
        EXP,
        ("common-limit-20", "common eˣ up to |x| = 20", "kCommonExponent = 86.0f", "kCommonExponent = 20.0f"),
        EXPONENTIAL,
        Fate::Harmless("pairs of floats hold wherever plain floats do"),
    ),
    mutant(
        DISCRETIZE,
        (
            "common-closed-from-0.9",
            "the closed forms of common sums from |z| = 0.9 on",
            "const bool near = fabsf(z.hi) <= 1.0f;",
            "const bool near = fabsf(z.hi) <= 0.9f;",
        ),
        PHI,
        Fate::Harmless("what cancels grows by a fifth"),
    ),
];
