//! Mutants of the derivatives that a backward pass takes,
//! by somebody who had seen neither the other mutants nor the faults that can be planted.

use holdfast::method::Method::{Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};

use super::Kind::{Case, Invariant, Lifted, Sweep};
use super::{Mutant, Variant, caught, mutant};

const VARIANT: Variant = Variant::Backward;

pub const MUTANTS: &[Mutant] = &[
    mutant(
        "derivatives.cuh",
        (
            "back-fourth-power-is-the-third",
            "the fourth power of 1/A is the third",
            "static_cast<float>(square * square)};",
            "static_cast<float>(square * inverse)};",
        ),
        &[HighOrder],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-phi2-coefficient",
            "the series of φ₂ with its linear coefficient off by 80 units",
            "  p = fused(p, z, 0x1.555558p-3f);",
            "  p = fused(p, z, 0x1.5555a8p-3f);",
        ),
        &[Foh, Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-phi3-coefficient",
            "the series of φ₃ with its linear coefficient off by 2^-16 of itself",
            "  p = fused(p, z, 0x1.555558p-5f);",
            "  p = fused(p, z, 0x1.555658p-5f);",
        ),
        &[HighOrder],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-far-left-from-minus-two-and-a-half",
            "the closed forms begin at −2.5, where the series have left their range",
            "constexpr float kFarLeft = -2.0f;",
            "constexpr float kFarLeft = -2.5f;",
        ),
        &[Foh, HighOrder],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-far-left-from-minus-a-quarter",
            "the closed forms begin at −¼, where they cancel",
            "constexpr float kFarLeft = -2.0f;",
            "constexpr float kFarLeft = -0.25f;",
        ),
        &[Foh, Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-poly-a-slope-without-half",
            "poly's ∂h/∂A has Δ³ψ₂ where half of it belongs",
            "    out.h_by_a = delta * delta * fused(half, psi2, psi1);",
            "    out.h_by_a = delta * delta * fused(delta, psi2, psi1);",
        ),
        &[Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-highorder-step-slope-without-half",
            "highorder's ∂h/∂Δ has Δ²φ₂ where half of it belongs",
            "    out.h_by_delta = fused(delta, fused(half, phi2, phi1), out.a_bar);",
            "    out.h_by_delta = fused(delta, fused(delta, phi2, phi1), out.a_bar);",
        ),
        &[HighOrder],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-series-up-to-two",
            "the series are taken for z up to 2",
            "  return (z <= 1.0f) & (delta >= 0.0f) & (delta <= most);",
            "  return (z <= 2.0f) & (delta >= 0.0f) & (delta <= most);",
        ),
        &[Foh, HighOrder],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-far-third-slope",
            "the closed form of ψ₂ with z − 1 where z − 2 belongs",
            "  const float third_slope = fused(add_rn(z, -2.0f), e, beyond);",
            "  const float third_slope = fused(add_rn(z, -1.0f), e, beyond);",
        ),
        &[Foh, Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-poly-far-step-slope-without-exponential",
            "poly's ∂h/∂Δ far to the left without e^z",
            "      by_delta = fused(0.5f, once, e);",
            "      by_delta = 0.5f * once;",
        ),
        &[Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-far-fourth-slope-without-one",
            "the closed form of ψ₃ without its 1",
            "fused(0.5f * beyond, beyond, 1.0f));",
            "0.5f * beyond * beyond);",
        ),
        &[HighOrder],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-highorder-far-step-slope-swapped",
            "highorder's ∂h/∂Δ far to the left halves Δφ₁ in place of Δ²φ₂",
            "      by_delta = add_rn(fused(0.5f, twice, once), e);",
            "      by_delta = add_rn(fused(0.5f, once, twice), e);",
        ),
        &[HighOrder],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-rk4-cubic-constant",
            "the last coefficient of rk4's ∂h/∂Δ off by 77 units",
            "0x1.40c9ap-1f));",
            "0x1.40cap-1f));",
        ),
        &[Rk4],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-rk4-quadratic-constant",
            "the constant of rk4's ∂h/∂A off by 2^-16 of itself",
            "vertex, 0x1.1c71c8p-2f));",
            "vertex, 0x1.1c72c8p-2f));",
        ),
        &[Rk4],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-bilinear-resolvent-conjugated",
            "complex 1/(1 − z/2) with the sign of its imaginary part turned",
            "                                    common_quotient(-below.im, square, inverse)};",
            "                                    common_quotient(below.im, square, inverse)};",
        ),
        &[Bilinear],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-bilinear-a-slope-with-one-resolvent",
            "bilinear's ∂h/∂A as ½Δ²r",
            "    out.h_by_a = scaled(scaled(out.slope, delta), 0.5f * delta);",
            "    out.h_by_a = scaled(out.h, 0.5f * delta);",
        ),
        &[Bilinear],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-every-exponent-is-common",
            "no exponent is out of the ordinary",
            "    bool common = has_common_exponent(delta, a);",
            "    bool common = true;",
        ),
        &[Zoh, Foh],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-cubic-of-complex-rk4",
            "complex rk4's ∂h/∂Δ with z³/24 where z³/6 belongs",
            "cubic(wide, 1.0, 1.0, 1.0 / 2, 1.0 / 6)",
            "cubic(wide, 1.0, 1.0, 1.0 / 2, 1.0 / 24)",
        ),
        &[Rk4],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-precise-series-up-to-eight",
            "the double path's series of φ₄ is taken up to |z| = 8",
            "  if (norm1(z) < 2.0) {",
            "  if (norm1(z) < 8.0) {",
        ),
        &[Foh, HighOrder],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-precise-closed-forms-near-zero",
            "the double path's closed forms are taken down to |z| = 0.0001",
            "  if (norm1(z) < 2.0) {",
            "  if (norm1(z) < 1e-4) {",
        ),
        &[Foh, HighOrder],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-precise-series-short",
            "the double path's series of φ₄ with seven terms",
            "    for (int k = 24; k >= 5; --k)",
            "    for (int k = 11; k >= 5; --k)",
        ),
        &[Foh, HighOrder],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-precise-psi3-by-two",
            "the double path's ψ₃ near 0 as φ₃ − 2φ₄",
            "scaled(phi4, 3.0)",
            "scaled(phi4, 2.0)",
        ),
        &[HighOrder],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-precise-step-in-float",
            "the double path takes the step as a float",
            "  const Complex<double> z = scaled(a, delta);",
            "  const Complex<double> z = scaled(a, static_cast<double>(static_cast<float>(delta)));",
        ),
        &[Zoh, Foh],
        caught(&[Lifted]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-precise-bilinear-a-slope",
            "the double path's ∂h/∂A of bilinear as ½Δr²",
            "    out.h_by_a = scaled(out.slope, 0.5 * delta * delta);",
            "    out.h_by_a = scaled(out.slope, 0.5 * delta);",
        ),
        &[Bilinear],
        caught(&[Lifted]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-precise-rk4-a-slope",
            "the double path's ∂h/∂A of rk4 with z/4 where z/3 belongs",
            "cubic(z, 1.0 / 2, 1.0 / 3, 1.0 / 8, 0.0)",
            "cubic(z, 1.0 / 2, 1.0 / 4, 1.0 / 8, 0.0)",
        ),
        &[Rk4],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-precise-highorder-step-slope-without-half",
            "the double path's ∂h/∂Δ of highorder has Δ²φ₂ where half of it belongs",
            "      out.h_by_delta = s.exponential + scaled(s.phi[0] + scaled(s.phi[1], half), delta);",
            "      out.h_by_delta = s.exponential + scaled(s.phi[0] + scaled(s.phi[1], delta), delta);",
        ),
        &[HighOrder],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-rare-neighbours-without-closed-forms",
            "next to a rare element the common ones far to the left keep their series",
            "      if constexpr (kTakesPowers<kMethod, W>) common = of_the_far_left(delta[i], a, of_a, out[i]) && common;\n",
            "      (void)of_a;\n",
        ),
        &[Foh, HighOrder],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-last-neighbour-is-asked-alone",
            "only the last of a packet's elements is asked whether it is common",
            "    for (int i = 0; i < kCount; ++i) common = differentiate_commonly<kMethod>(delta[i], a, out[i]) & common;",
            "    for (int i = 0; i < kCount; ++i) common = differentiate_commonly<kMethod>(delta[i], a, out[i]);",
        ),
        &[Foh, Bilinear],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-last-neighbour-says-far",
            "only the last of a packet's elements says that one is far to the left",
            "far = far | (delta[i] * a < kFarLeft);",
            "far = delta[i] * a < kFarLeft;",
        ),
        &[Foh, Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-psi2-coefficient",
            "the series of ψ₂ with its coefficient of z⁴ off by 2^-15 of itself",
            "  p = fused(p, z, 0x1.0414fp-10f);",
            "  p = fused(p, z, 0x1.0416fp-10f);",
        ),
        &[Foh, Poly],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-psi3-coefficient",
            "the series of ψ₃ with its first coefficient off by 2^-16 of itself",
            "  return fused(p, z, 0x1.555556p-5f);",
            "  return fused(p, z, 0x1.55545p-5f);",
        ),
        &[HighOrder],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-series-for-negative-steps",
            "the series are taken for a negative step, whose sums cancel",
            "  return (z <= 1.0f) & (delta >= 0.0f) & (delta <= most);",
            "  return (z <= 1.0f) & (fabsf(delta) <= most);",
        ),
        &[Poly],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-rk4-root-in-one-float",
            "the real root of rk4's ∂h/∂Δ as one float",
            "add_rn(z.lo, 0x1.3e6c4cp-25f));",
            "z.lo);",
        ),
        &[Rk4],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-complex-rk4-of-rounded-z",
            "complex rk4 takes its polynomials of a z that is rounded",
            "      const Complex<double> wide = scaled(to_complex_double(a), static_cast<double>(delta));",
            "      const Complex<double> wide = to_complex_double(scaled(a, delta));",
        ),
        &[Rk4],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cu",
        (
            "back-store-h-twice",
            "a real h stands beside complex weights in both parts",
            "  if (kWidth == 2) to[1] = T(0);",
            "  if (kWidth == 2) to[1] = x;",
        ),
        &[Zoh],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cu",
        (
            "back-slope-is-a-bar",
            "Ā is returned as its own slope",
            "  store_parts(all[0].slope, static_cast<T*>(params.slope) + i * kWidth);",
            "  store_parts(all[0].a_bar, static_cast<T*>(params.slope) + i * kWidth);",
        ),
        &[Bilinear],
        caught(&[Sweep]),
    )
    .of(VARIANT),
    mutant(
        "derivatives.cuh",
        (
            "back-rk4-cubic-without-low-coefficient",
            "rk4's ∂h/∂Δ without the low part of its last coefficient",
            "  out.h_by_delta = fused(from_root, rest, from_root * 0x1.1d28b2p-26f);",
            "  out.h_by_delta = from_root * rest;",
        ),
        &[Rk4],
        caught(&[Sweep]),
    )
    .of(VARIANT),
];
