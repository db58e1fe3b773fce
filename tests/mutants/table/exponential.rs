//! Mutants of e^z, of sums of two floats and of complex arithmetic.

use holdfast::method::Method::{Bilinear, Foh, HighOrder, Rk4, Zoh};

use super::Kind::{Case, Invariant, Lifted, Sweep};
use super::{EXPONENTIAL, Mutant, caught, caught_in, mutant};

const EXP: &str = "exponential.cuh";
const PAIR: &str = "pair.cuh";
const COMPLEX: &str = "complex.cuh";

pub const MUTANTS: &[Mutant] = &[
    mutant(
        EXP,
        (
            "clamp-at-60",
            "eˣ stops growing at x = 60",
            "if (z.hi > 170.0f) return {170.0f, 0.0f};",
            "if (z.hi > 60.0f) return {60.0f, 0.0f};",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "clamp-above-off",
            "no limit above: 2ⁿ leaves the exponent's bits",
            "if (z.hi > 170.0f) return {170.0f, 0.0f};",
            "",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "clamp-at-minus-80",
            "eˣ stops falling at x = −80",
            "if (z.hi < -170.0f) return {-170.0f, 0.0f};",
            "if (z.hi < -80.0f) return {-80.0f, 0.0f};",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "clamp-below-off",
            "no limit below: 2ⁿ leaves the exponent's bits",
            "if (z.hi < -170.0f) return {-170.0f, 0.0f};",
            "",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "exponent-in-one-step",
            "2ⁿ in one factor, which subnormal results have no room for",
            "return x * power_of_two(half) * power_of_two(n - half);",
            "return x * power_of_two(n + half - half);",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "ln2-low-lost",
            "ln 2 to 24 bits only",
            "two_sum(fused(-n, 0x1.62ep-1f, z.hi), fused(-n, 0x1.0bfbe8p-15f, z.lo)",
            "two_sum(fused(-n, 0x1.62ep-1f, z.hi), z.lo",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "ln2-low-off",
            "the low part of ln 2 off by a thousandth",
            "two_sum(fused(-n, 0x1.62ep-1f, z.hi), fused(-n, 0x1.0bfbe8p-15f, z.lo)",
            "two_sum(fused(-n, 0x1.62ep-1f, z.hi), fused(-n, 0x1.0c0bfp-15f, z.lo)",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "z-low-lost",
            "Re z rounded to one float",
            "two_sum(fused(-n, 0x1.62ep-1f, z.hi), fused(-n, 0x1.0bfbe8p-15f, z.lo)",
            "two_sum(fused(-n, 0x1.62ep-1f, z.hi), fused(-n, 0x1.0bfbe8p-15f, 0.0f)",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "exp-series-short",
            "eˣ without its terms from r⁷ on",
            "p = fused(p, r.hi, 1.0f / 5040.0f);",
            "p = 0.0f;",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "exp-coefficient-24",
            "a coefficient of eˣ off by 0.4%",
            "p = fused(p, r.hi, 1.0f / 24.0f);",
            "p = fused(p, r.hi, 1.0f / 24.1f);",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "exp-coefficient-6",
            "a coefficient of eˣ off by 2·10⁻⁵",
            "p = fused(p, r.hi, 1.0f / 6.0f);",
            "p = fused(p, r.hi, 0.166670f);",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "nan-becomes-one",
            "e^NaN is 1",
            "if (!(z.hi == z.hi)) return {z, 0};",
            "if (!(z.hi == z.hi)) return {{1.0f, 0.0f}, 0};",
        ),
        EXPONENTIAL,
        caught(&[Invariant]),
    ),
    mutant(
        EXP,
        ("pi-third-lost", "π/2 to 26 bits only", "fused(-q, 0x1.110b46p-26f, y.lo)", "y.lo"),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "angle-low-lost",
            "Im z rounded to one float",
            "fused(-q, 0x1.110b46p-26f, y.lo)",
            "fused(-q, 0x1.110b46p-26f, 0.0f)",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "sine-coefficient-6",
            "a coefficient of sin off by 2·10⁻⁵",
            "s = fused(s, square.hi, -1.0f / 6.0f);",
            "s = fused(s, square.hi, -0.166670f);",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "sine-series-short",
            "sin without r⁹",
            "const Pair<float> square = two_prod(r.hi, r.hi);\n  float s = 1.0f / 362880.0f;",
            "const Pair<float> square = two_prod(r.hi, r.hi);\n  float s = 0.0f;",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "cosine-series-short",
            "cos without its terms from r⁸ on",
            "c = fused(c, square.hi, 1.0f / 40320.0f);",
            "c = 0.0f;",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "quadrant-two-positive",
            "cos keeps its sign in the second quadrant",
            "(quadrant == 1 || quadrant == 2) ? -cos_y : cos_y",
            "(quadrant == 1) ? -cos_y : cos_y",
        ),
        EXPONENTIAL,
        caught(&[Sweep, Case]),
    ),
    mutant(
        EXP,
        (
            "quadrant-of-three",
            "the quadrant without its highest bit",
            "const int quadrant = static_cast<int>(q) & 3;",
            "const int quadrant = static_cast<int>(q) & 1;",
        ),
        EXPONENTIAL,
        caught(&[Sweep, Case]),
    ),
    mutant(
        EXP,
        (
            "sine-and-cosine-swapped",
            "e^iy = sin y + i cos y",
            "return {{e.mantissa * t.cosine, e.mantissa * t.sine}, e.exponent};",
            "return {{e.mantissa * t.sine, e.mantissa * t.cosine}, e.exponent};",
        ),
        EXPONENTIAL,
        caught(&[Sweep, Case, Invariant]),
    ),
    mutant(
        EXP,
        (
            "angle-limit-1e6",
            "angles up to 10⁶ in pairs of floats",
            "exponential_in_f32(Complex<Pair<float>> z) { return fabsf(z.im.hi) <= 1000.0f",
            "exponential_in_f32(Complex<Pair<float>> z) { return fabsf(z.im.hi) <= 1000000.0f",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        ("angle-limit-off", "no limit of the angle", "return fabsf(z.im.hi) <= 1000.0f;", "return true;"),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
    mutant(
        PAIR,
        (
            "two-sum-half",
            "the error of a sum without the second operand's",
            "add_rn(add_rn(a, -add_rn(s, -bb)), add_rn(b, -bb))};",
            "add_rn(a, -add_rn(s, -bb))};",
        ),
        &[Foh, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        PAIR,
        (
            "quick-two-sum-off",
            "the error of a sum dropped",
            "return {s, add_rn(b, -add_rn(s, -a))};",
            "return {s, T(0)};",
        ),
        &[Zoh, Foh, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        PAIR,
        (
            "two-prod-off",
            "the error of a product dropped: z rounded to one float",
            "return {p, fused(a, b, -p)};",
            "return {p, T(0)};",
        ),
        &[Zoh, Foh, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        PAIR,
        (
            "product-cross-terms-lost",
            "a product of pairs without the low parts",
            "add_rn(p.lo, fused(a.hi, b.lo, mul_rn(a.lo, b.hi)))",
            "p.lo",
        ),
        &[Zoh, Foh, HighOrder],
        caught(&[Sweep]),
    ),
    mutant(
        PAIR,
        (
            "product-one-cross-term",
            "a product of pairs without one low part",
            "fused(a.hi, b.lo, mul_rn(a.lo, b.hi))",
            "mul_rn(a.lo, b.hi)",
        ),
        &[Zoh, Foh, HighOrder],
        caught(&[Sweep]),
    ),
    mutant(
        PAIR,
        (
            "quotient-not-corrected",
            "a quotient of pairs without its second step",
            "return quick_two_sum(q, mul_rn(rest, inv));",
            "return Pair<T>{q, rest * T(0)};",
        ),
        &[Foh, HighOrder],
        caught(&[Sweep]),
    ),
    mutant(
        PAIR,
        (
            "quotient-low-lost",
            "a quotient of pairs without the low parts",
            "fused(-q, den.lo, num.lo)",
            "T(0)",
        ),
        &[Foh, HighOrder],
        caught(&[Sweep]),
    ),
    mutant(
        PAIR,
        (
            "pair-sum-low-lost",
            "a sum of pairs without the second low part",
            "add_rn(s.lo, add_rn(a.lo, b.lo))",
            "add_rn(s.lo, a.lo)",
        ),
        &[Foh, HighOrder, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        PAIR,
        (
            "pair-plus-float-low-lost",
            "a pair plus a float without the pair's low part",
            "return quick_two_sum(s.hi, add_rn(s.lo, a.lo));",
            "return quick_two_sum(s.hi, s.lo);",
        ),
        &[Foh, HighOrder, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        PAIR,
        (
            "pair-times-float-low-lost",
            "a pair times a float without the pair's low part",
            "return quick_two_sum(p.hi, fused(a.lo, b, p.lo));",
            "return quick_two_sum(p.hi, p.lo);",
        ),
        &[Foh, HighOrder, Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        COMPLEX,
        (
            "complex-product-sign",
            "i² = 1",
            "return {difference_of_products(a.re, b.re, a.im, b.im), sum",
            "return {sum_of_products(a.re, b.re, a.im, b.im), sum",
        ),
        &[Zoh, Foh],
        caught(&[Sweep, Case, Invariant, Lifted]),
    ),
    mutant(
        COMPLEX,
        (
            "complex-quotient-sign",
            "a quotient's imaginary part with the other sign",
            "difference_of_products(n.im, d.re, n.re, d.im) / square",
            "difference_of_products(n.re, d.im, n.im, d.re) / square",
        ),
        &[Bilinear],
        caught(&[Sweep, Case, Lifted]),
    ),
    mutant(
        COMPLEX,
        (
            "complex-quotient-by-sum",
            "a quotient by |re|² − |im|²",
            "const T square = sum_of_products(d.re, d.re, d.im, d.im);",
            "const T square = difference_of_products(d.re, d.re, d.im, d.im);",
        ),
        &[Bilinear],
        caught(&[Sweep, Lifted]),
    ),
    mutant(
        COMPLEX,
        (
            "double-path-conjugated",
            "what comes of the double path is conjugated",
            "return {static_cast<T>(a.re), static_cast<T>(a.im)};",
            "return {static_cast<T>(a.re), static_cast<T>(-a.im)};",
        ),
        &[Zoh, Foh, Rk4],
        caught(&[Sweep, Lifted]),
    ),
    mutant(
        COMPLEX,
        (
            "shift-of-both-parts",
            "a real number added to both parts",
            "return {shifted(a.re, s), a.im};",
            "return {shifted(a.re, s), shifted(a.im, s)};",
        ),
        &[Foh, Rk4],
        caught_in(&[Sweep, Case, Lifted], &["short"]),
    ),
    mutant(
        EXP,
        (
            "common-limit-120",
            "common eˣ up to |x| = 120: 2ⁿ leaves the exponent's bits",
            "kCommonExponent = 86.0f",
            "kCommonExponent = 120.0f",
        ),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "common-octaves-low-lost",
            "A log₂e of common elements rounded to one float",
            "fused(delta, per_step.lo, fused(delta, per_step.hi, -n))",
            "fused(delta, per_step.hi, -n)",
        ),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "common-log2e-low-lost",
            "log₂e to 24 bits for common elements",
            "fused(a, 0x1.4ae0cp-26f, product.lo)",
            "product.lo",
        ),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "common-series-short",
            "common eˣ without its term f⁶",
            "float p = 0x1.416b5ep-13f;",
            "float p = 0.0f;",
        ),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        ("common-coefficient-4", "a coefficient of common eˣ off by 1%", "0x1.3b2dep-7f", "0x1.3e5dep-7f"),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "common-least-weight-off",
            "common elements with any small A, where the low part of A log₂e underflows",
            "(fabsf(a) >= 1e-30f) & ",
            "",
        ),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "common-largest-weight-off",
            "common elements with any large A, where A log₂e overflows",
            " & (fabsf(a) <= 1e38f)",
            "",
        ),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "common-angle-low-lost",
            "Im z of common elements rounded to one float",
            "fused(-q, 0x1.110b46p-26f, angle.lo));",
            "fused(-q, 0x1.110b46p-26f, 0.0f));",
        ),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "common-cosine-series-short",
            "cos of common elements without r⁴",
            "fused(fused(c, square, -0.5f), square, 1.0f)",
            "fused(-0.5f, square, 1.0f)",
        ),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "common-quadrant",
            "cos of common elements keeps its sign in the second quadrant",
            "((quadrant + 1) & 2)",
            "(quadrant & 2)",
        ),
        &[Zoh],
        caught(&[Sweep, Case]),
    ),
    mutant(
        EXP,
        (
            "common-angle-limit-1e6",
            "common angles up to 10⁶",
            "constexpr float kCommonAngle = 1000.0f;",
            "constexpr float kCommonAngle = 1e6f;",
        ),
        &[Zoh],
        caught(&[Sweep]),
    ),
    mutant(
        EXP,
        (
            "exp-rounded-early",
            "1 + r rounded before its tail is added",
            "return {quick_two_sum(s.hi, s.lo + tail), static_cast<int>(n)};",
            "return {quick_two_sum(s.hi, tail), static_cast<int>(n)};",
        ),
        EXPONENTIAL,
        caught(&[Sweep]),
    ),
];
