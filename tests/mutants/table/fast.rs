//! Mutants of the forward pass in the fast tier,
//! by somebody who had seen neither the other mutants nor the faults that can be planted.

use holdfast::method::Method::{Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};

use super::Kind::{Case, Invariant, Sweep};
use super::{Mutant, Variant, caught, mutant};

const VARIANT: Variant = Variant::Fast;

pub const MUTANTS: &[Mutant] = &[
    mutant(
        "fast.cuh",
        (
            "fast-octaves-constant-one-ulp-up",
            "A log₂e as one product with log₂e an ulp too large",
            "  const Pair<float> per_step = octaves(a);\n  return add_rn(per_step.hi, per_step.lo);",
            "  return mul_rn(a, 0x1.715478p+0f);",
        ),
        &[Zoh, Foh],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-exponential-clamped-at-64-octaves",
            "2^x of x no less than −64",
            "HOLDFAST_DEVICE float fast_exponential(float delta, float octaves) { return hardware_exp2(mul_rn(delta, octaves)); }",
            "HOLDFAST_DEVICE float fast_exponential(float delta, float octaves) { return hardware_exp2(largest_of(mul_rn(delta, octaves), -64.0f)); }",
        ),
        &[Zoh, Rk4],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "hardware.cuh",
        (
            "fast-exp2-by-exp",
            "2^x as e^(x ln 2), by a truncated ln 2",
            "HOLDFAST_HARDWARE(exp2, \"ex2.approx.ftz\", exp2f(x))",
            "HOLDFAST_HARDWARE(exp2, \"ex2.approx.ftz\", expf(mul_rn(x, 0x1.62e42ep-1f)))",
        ),
        &[Zoh, Rk4],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "hardware.cuh",
        (
            "fast-reciprocal-a-little-small",
            "1/x too small by 2^-22",
            "HOLDFAST_HARDWARE(reciprocal, \"rcp.approx.ftz\", 1.0f / x)",
            "HOLDFAST_HARDWARE(reciprocal, \"rcp.approx.ftz\", 0x1.fffff8p-1f / x)",
        ),
        &[Bilinear],
        caught(&[Sweep, Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-quarter-turns-constant-one-ulp-down",
            "A·2/π as one product with 2/π an ulp too small",
            "  const Pair<float> product = two_prod(a, 0x1.45f306p-1f);\n  return add_rn(product.hi, fused(a, 0x1.b9391p-26f, product.lo));",
            "  return mul_rn(a, 0x1.45f304p-1f);",
        ),
        &[Zoh, Rk4],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-half-pi-to-twenty-bits",
            "π/2 with 20 bits where the reduced angle is made of turns",
            "-add_rn(shifted, -kMagic)), 0x1.921fb6p+0f);",
            "-add_rn(shifted, -kMagic)), 0x1.921fap+0f);",
        ),
        &[Zoh, Rk4],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-sine-of-fifth-degree",
            "sine without its last term, the others refitted",
            "  const float s = fused(fused(-0x1.98d88ep-13f, square, 0x1.1105aep-7f), square, -0x1.55554p-3f);",
            "  const float s = fused(0x1.0c95a4p-7f, square, -0x1.554beap-3f);",
        ),
        &[Zoh, Rk4],
        caught(&[Sweep, Case]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-cosine-without-last-term",
            "cosine without its term of the eighth power",
            "  const float c = fused(fused(0x1.9a00ccp-16f, square, -0x1.6c0c86p-10f), square, 0x1.55554ap-5f);",
            "  const float c = fused(-0x1.6c0c86p-10f, square, 0x1.55554ap-5f);",
        ),
        &[Zoh, Rk4],
        caught(&[Sweep, Case]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-cosine-sign-in-third-quadrant",
            "the real part's sign flipped in the second quadrant alone, not in the third",
            "  return {(odd ? sine : cosine) * (((quadrant + 1) & 2) != 0 ? -size : size),\n          (odd ? cosine : sine)",
            "  return {(odd ? sine : cosine) * ((quadrant & 3) == 1 ? -size : size),\n          (odd ? cosine : sine)",
        ),
        &[Zoh, Rk4],
        caught(&[Sweep, Case]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-quadrant-of-the-modulus",
            "the quadrant of the number of turns' modulus",
            "  const unsigned quadrant = __float_as_uint(shifted);\n  const bool odd = (quadrant & 1) != 0;\n  const float size = fast_exponential",
            "  const unsigned quadrant = static_cast<unsigned>(fabsf(add_rn(shifted, -kMagic)));\n  const bool odd = (quadrant & 1) != 0;\n  const float size = fast_exponential",
        ),
        &[Zoh, Rk4],
        caught(&[Sweep, Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-magic-number-for-positive-turns",
            "a magic number that rounds only turns >= 0 to whole ones",
            "  const float shifted = fused(delta, quarter_turns, kMagic);\n  const float r = mul_rn(fused(delta, quarter_turns, -add_rn(shifted, -kMagic)), 0x1.921fb6p+0f);",
            "  const float shifted = fused(delta, quarter_turns, 0x1p+23f);\n  const float r = mul_rn(fused(delta, quarter_turns, -add_rn(shifted, -0x1p+23f)), 0x1.921fb6p+0f);",
        ),
        &[Zoh, Rk4],
        caught(&[Sweep, Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-turns-of-the-modulus",
            "quarter turns of |Im A|",
            "quarter_turns_rounded(a.im);",
            "quarter_turns_rounded(fabsf(a.im));",
        ),
        &[Zoh, Rk4],
        caught(&[Sweep, Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-rk4-sixth-of-five-digits",
            "1/6 with five decimal digits in rk4's polynomial",
            "  const W third = shifted(scaled(z, 0x1.555556p-5f), 0x1.555556p-3f);",
            "  const W third = shifted(scaled(z, 0x1.555556p-5f), 0.166667f);",
        ),
        &[Rk4],
        caught(&[Sweep, Case]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-rk4-cube-left-out-below-a-16th",
            "rk4's cubic term left out for |z| below 1/16",
            "  const W third = shifted(scaled(z, 0x1.555556p-5f), 0x1.555556p-3f);",
            "  const W third = shifted(scaled(z, norm1(z) < 0x1p-4f ? 0.0f : 0x1.555556p-5f), 0x1.555556p-3f);",
        ),
        &[Rk4],
        caught(&[Sweep, Case]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-phi3-series-without-three-terms",
            "φ₃'s series from its sixth term on, as for |z| below a half",
            "  Complex<float> p = shifted(scaled(z, 1.0f / 39916800.0f), 1.0f / 3628800.0f);\n  p = shifted(z * p, 1.0f / 362880.0f);\n  p = shifted(z * p, 1.0f / 40320.0f);\n  p = shifted(z * p, 1.0f / 5040.0f);",
            "  Complex<float> p = shifted(scaled(z, 1.0f / 40320.0f), 1.0f / 5040.0f);",
        ),
        &[Foh, HighOrder],
        caught(&[Sweep, Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "fast.cuh",
        (
            "fast-phi3-digits-exchanged",
            "1/5400 for 1/5040 in φ₃'s series",
            "  p = shifted(z * p, 1.0f / 5040.0f);",
            "  p = shifted(z * p, 1.0f / 5400.0f);",
        ),
        &[Poly, Foh],
        caught(&[Sweep, Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-complex-series-to-two",
            "complex φ's by the series up to |z| = 2",
            "  const bool near = sum_of_products(z.re, z.re, z.im, z.im) <= 1.00001f;",
            "  const bool near = sum_of_products(z.re, z.re, z.im, z.im) <= 4.0f;",
        ),
        &[Foh, HighOrder],
        caught(&[Sweep, Case]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-complex-closed-from-a-quarter-on",
            "complex φ's by the closed forms from |z| = 1/4 on",
            "  const bool near = sum_of_products(z.re, z.re, z.im, z.im) <= 1.00001f;",
            "  const bool near = sum_of_products(z.re, z.re, z.im, z.im) <= 0.0625f;",
        ),
        &[Foh, HighOrder],
        caught(&[Sweep, Case]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-highorder-square-without-its-two",
            "the imaginary part of z² without its factor 2, in highorder's closed form",
            "(second - by(z * z, 0.5f)) * of_a.half_third;",
            "(second - by(Complex<float>{difference_of_products(z.re, z.re, z.im, z.im), z.re * z.im}, 0.5f)) * of_a.half_third;",
        ),
        &[HighOrder],
        caught(&[Sweep, Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-third-inverse-whole",
            "1/A³ for 1/(2A³), of complex A",
            "    of_a.half_third = FromDouble<W>::of(scaled(second * inverse, 0.5));",
            "    of_a.half_third = FromDouble<W>::of(second * inverse);",
        ),
        &[HighOrder],
        caught(&[Sweep, Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-poly-half-of-phi2-without-step",
            "½φ₂ for ½Δφ₂ in poly's complex series",
            "    by_series = by(phi1 + by(phi2, 0.5f * delta), delta);",
            "    by_series = by(phi1 + by(phi2, 0.5f), delta);",
        ),
        &[Poly],
        caught(&[Sweep, Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-real-closed-from-a-quarter-on",
            "real φ's by the closed forms from |z| = 1/4 on, in the fast tier",
            "  const bool near = fabsf(z.hi) <= 1.0f;",
            "  const bool near = fabsf(z.hi) <= (kFast ? 0.25f : 1.0f);",
        ),
        &[Foh, HighOrder],
        caught(&[Sweep, Case]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-z-from-octaves-by-a-short-ln-2",
            "real z as octaves times ln 2 in five digits",
            "Pair<float>{mul_rn(delta, a), 0.0f}",
            "Pair<float>{mul_rn(mul_rn(delta, of_a.octaves), 0.69315f), 0.0f}",
        ),
        &[Foh, HighOrder],
        caught(&[Sweep, Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-least-step-nothing",
            "no lower limit on a common step but for rk4 and bilinear",
            "? 1e-20f : 1e-12f;",
            "? 1e-20f : 0.0f;",
        ),
        &[Foh],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-rare-elements-taken-for-known",
            "elements are asked one by one as if all were known to be common, in the fast tier",
            "      done = discretize_commonly<kMethod, false>(delta[i], a, b[i], of_a, out[i]);",
            "      done = discretize_commonly<kMethod, kFast>(delta[i], a, b[i], of_a, out[i]);",
        ),
        &[Foh, Bilinear],
        caught(&[Sweep, Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-bilinear-two-over-below-less-one",
            "Ā as 2/(1 − z/2) − 1",
            "    out = {above * inverse, per_b * b};",
            "    out = {fused(2.0f, inverse, -1.0f), per_b * b};",
        ),
        &[Bilinear],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-bilinear-input-from-a-bar",
            "1/(1 − z/2) in B̄ as (1 + Ā)/2",
            "per_b = delta * inverse;",
            "per_b = 0.5f * delta * fused(above, inverse, 1.0f);",
        ),
        &[Bilinear],
        caught(&[Sweep, Case]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-bilinear-square-without-small-imaginary-part",
            "|1 − z/2|² without a part that is 2^-8 of the other",
            "  const float inverse = kFast ? hardware_reciprocal(square) : common_reciprocal(square);",
            "  const bool flat = fabsf(below.im) < 0x1p-8f * fabsf(below.re);\n  const float inverse = kFast ? hardware_reciprocal(flat ? below.re * below.re : square) : common_reciprocal(square);",
        ),
        &[Bilinear],
        caught(&[Sweep, Case]),
    )
    .of(VARIANT),
    mutant(
        "discretize.cuh",
        (
            "fast-range-of-the-result-not-asked-for",
            "complex B̄ taken as common however large it is",
            "  return comfortable(b_bar) || delta == 0.0f || norm1(b) == 0.0f;",
            "  return norm1(b_bar) > 1e-28f || delta == 0.0f || norm1(b) == 0.0f;",
        ),
        &[Rk4, HighOrder],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "exponential.cuh",
        (
            "fast-common-exponent-to-ninety",
            "e^z common for |Re z| up to 90",
            "constexpr float kCommonExponent = 86.0f;",
            "constexpr float kCommonExponent = 90.0f;",
        ),
        &[Foh, HighOrder],
        caught(&[Sweep]),
    )
    .of(VARIANT),
];
