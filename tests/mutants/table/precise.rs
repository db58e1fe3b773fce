//! Mutants of the double path, and of its pairs of doubles.

use holdfast::method::Method::{Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};

use super::Kind::{Case, Lifted, Sweep};
use super::{Mutant, PHI, caught, mutant};

const PRECISE: &str = "precise.cuh";

pub const MUTANTS: &[Mutant] = &[
    mutant(
        PRECISE,
        (
            "poly-quarter",
            "poly with ¼Δ²φ₂",
            "return phi1 + scaled(phi2, T(0.5) * delta);",
            "return phi1 + scaled(phi2, T(0.25) * delta);",
        ),
        &[Poly],
        caught(&[Sweep, Case, Lifted]),
    ),
    mutant(
        PRECISE,
        (
            "highorder-last-doubled",
            "highorder with Δ³φ₃",
            "scaled(phi2 + scaled(phi3, T(0.5) * delta), delta)",
            "scaled(phi2 + scaled(phi3, delta), delta)",
        ),
        &[HighOrder],
        caught(&[Sweep, Case, Lifted]),
    ),
    mutant(
        PRECISE,
        ("foh-negated", "foh with −Δ²φ₂", "return scaled(phi2, delta);", "return scaled(phi2, -delta);"),
        &[Foh],
        caught(&[Sweep, Case, Lifted]),
    ),
    mutant(
        PRECISE,
        (
            "rk4-coefficient-13",
            "rk4 with 13z/24",
            "T(4)) * z, T(12)) * z, T(24))",
            "T(4)) * z, T(13)) * z, T(24))",
        ),
        &[Rk4],
        caught(&[Sweep, Case, Lifted]),
    ),
    // A product of two floats comes to 2⁻⁴⁸ of a root, where 2⁻⁵³ of the terms is most of the sum.
    mutant(
        PRECISE,
        (
            "rk4-in-plain-double",
            "rk4's polynomial in double without pairs",
            "const Complex<double> p = rounded(rk4_polynomial(wide, 1.0));",
            "const Complex<double> p = rk4_polynomial(Complex<double>{wide.re.hi, wide.im.hi}, 1.0);",
        ),
        &[Rk4],
        caught(&[Sweep]),
    ),
    mutant(
        PRECISE,
        (
            "precise-series-to-15",
            "the double path's series up to |z| = 15",
            "if (norm1(z) < 1.5) {",
            "if (norm1(z) < 15.0) {",
        ),
        &[Foh, HighOrder],
        caught(&[Lifted]),
    ),
    mutant(
        PRECISE,
        (
            "precise-series-never",
            "the double path's closed forms everywhere",
            "if (norm1(z) < 1.5) {",
            "if (norm1(z) == 0.0) {",
        ),
        &[Foh, HighOrder],
        caught(&[Lifted]),
    ),
    mutant(
        PRECISE,
        ("precise-series-short", "the double path's series of 10 terms", "int k = 23;", "int k = 13;"),
        &[Foh, HighOrder],
        caught(&[Lifted]),
    ),
    mutant(
        PRECISE,
        (
            "pairs-never",
            "a sum of φ-functions in double whatever cancels",
            "return error * 0x1p-20 > norm1(sum) && magnitude(z.im) < 0x1p20;",
            "return false;",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PRECISE,
        (
            "pairs-late",
            "pairs of doubles where 40 bits of 53 are lost",
            "return error * 0x1p-20 > norm1(sum)",
            "return error * 0x1p-40 > norm1(sum)",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PRECISE,
        (
            "pairs-with-a-rounded-exponential",
            "e^z rounded to double beside pairs",
            "  exponential_in_pairs(sum, z);",
            "  sum = widened(precise_exponential(rounded(z)));",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PRECISE,
        (
            "pairs-exponential-dropped-at-minus-20",
            "pairs of doubles without e^z for Re z < −20",
            "if (z.re.hi < -700.0) return",
            "if (z.re.hi < -20.0) return",
        ),
        &[Poly, HighOrder],
        caught(&[Sweep]),
    ),
    mutant(
        PRECISE,
        ("pairs-ln2-middle-lost", "ln 2 to 53 bits beside pairs", "0x1.abc9e3b39803fp-56", "0.0"),
        &[Poly],
        caught(&[Sweep]),
    ),
    mutant(
        PRECISE,
        ("pairs-pi-middle-lost", "π/2 to 53 bits beside pairs", "0x1.1a62633145c07p-54", "0.0"),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PRECISE,
        (
            "pairs-series-short",
            "φ₃ in pairs of doubles by 14 terms",
            "for (int k = 33; k >= 4; --k)",
            "for (int k = 16; k >= 4; --k)",
        ),
        &[Poly],
        caught(&[Sweep]),
    ),
    mutant(
        PRECISE,
        (
            "pairs-quadrant-lost",
            "e^z in pairs of doubles with the sign of another half-turn",
            "  if (quadrant & 2) e = {-e.re, -e.im};\n",
            "",
        ),
        PHI,
        caught(&[Sweep]),
    ),
    mutant(
        PRECISE,
        (
            "pairs-constant-rounded",
            "poly's 1 + Δ/4 as an f32 beside pairs",
            "1.0 + 0.25 * in.delta);",
            "1.0 + 0.25 * static_cast<float>(in.delta * 1.0000001));",
        ),
        &[Poly],
        caught(&[Sweep]),
    ),
    mutant(
        PRECISE,
        (
            "pairs-factor-real",
            "highorder with h² for h² + 1 in pairs of doubles",
            "square_plus_one(factor);",
            "multiply(factor, Wide(factor));",
        ),
        &[HighOrder],
        caught(&[Sweep]),
    ),
    mutant(
        PRECISE,
        (
            "precise-half-sine-once",
            "cos y − 1 = −sin²(y/2)",
            "- 2.0 * half_sine * half_sine",
            "- half_sine * half_sine",
        ),
        &[Foh, Poly],
        caught(&[Sweep, Lifted]),
    ),
    mutant(
        PRECISE,
        (
            "precise-expm1-naive",
            "e^x − 1 by subtraction",
            "return {expm1(x) * cos(z.im)",
            "return {(exp(x) - 1.0f) * cos(static_cast<float>(z.im))",
        ),
        &[Foh, Poly],
        caught(&[Lifted]),
    ),
    mutant(
        PRECISE,
        (
            "precise-cap-80",
            "the double path stops growing at 80",
            "const double x = z.re > 400.0 ? 400.0 : z.re;",
            "const double x = z.re > 80.0 ? 80.0 : z.re;",
        ),
        &[Foh, Poly],
        caught(&[Sweep, Lifted]),
    ),
    mutant(
        PRECISE,
        (
            "precise-conjugated",
            "the double path's e^z conjugated",
            "return {e * cos(z.im), e * sin(z.im)};",
            "return {e * cos(z.im), -e * sin(z.im)};",
        ),
        &[Zoh, Rk4],
        caught(&[Sweep, Lifted]),
    ),
    mutant(
        PRECISE,
        (
            "precise-z-rounded",
            "z rounded to f32 in the double path",
            "const Complex<double> z = scaled(a, delta);",
            "const Complex<double> z = {static_cast<float>(a.re * delta), static_cast<float>(a.im * delta)};",
        ),
        &[Zoh, Foh],
        caught(&[Sweep, Lifted]),
    ),
    mutant(
        PRECISE,
        (
            "precise-bilinear-sign",
            "the double path's 1 − z/2 with the other imaginary part",
            "const Complex<double> below = {1.0 - 0.5 * z.re, -0.5 * z.im};",
            "const Complex<double> below = {1.0 - 0.5 * z.re, 0.5 * z.im};",
        ),
        &[Bilinear],
        caught(&[Sweep, Lifted]),
    ),
];
