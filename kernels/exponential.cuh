// e^z of an exact product z = ΔA (spec.md §2, Ā of all methods but bilinear).
//
// Formula: e^x = 2^n (1 + r + r²/2 + … + r⁸/8!), n = round(x / ln 2), |r| <= 0.347; the remainder is below 2^-28.
// z is carried as hi + lo, since rounding ΔA alone would cost |z|/2 ulp; 1 + r is kept unevaluated, so that before its
// one rounding e^x is good to 0.15 · 2^-24 (tests/kernel/exponential.rs tries every reduced argument), and e^z − 1 and its
// successors inherit that.
// Common elements take 2^{Δ (A log₂e)}, in half of the operations, and complex ones e^{x+iy} = e^x (cos y + i sin y), with y reduced by
// multiples of π/2 and Taylor polynomials on |r| <= π/4: see common_exponential.
// Deviations: other complex elements go to double (wide.cuh, precise.cuh). Cost: real about 25 flops; common ones 20, complex 50.
#pragma once

#include "complex.cuh"

namespace HOLDFAST_NAMESPACE {

// The exact product ΔA. (Inexact only where its low part underflows: there e^z rounds to 1.)
HOLDFAST_DEVICE Pair<float> exact_product(float delta, float a) { return two_prod(delta, a); }

// 2^n, -126 <= n <= 127
HOLDFAST_DEVICE float power_of_two(int n) { return __uint_as_float(static_cast<unsigned>(n + 127) << 23); }

// x 2^n for -252 <= n <= 254, rounded once unless the result is subnormal.
HOLDFAST_DEVICE float times_power_of_two(float x, int n) {
  const int half = n / 2;
  return x * power_of_two(half) * power_of_two(n - half);
}

// e^z = mantissa 2^exponent, the mantissa in [0.7, 1.42].
struct RealExponential {
  Pair<float> mantissa;
  int exponent;
};

// Beyond ±170 the result underflows to 0 or overflows to infinity all the same, and 2^n stays in range.
// Comparisons with a NaN are false: it passes through.
HOLDFAST_DEVICE Pair<float> clamped_exponent(Pair<float> z) {
  if (z.hi > 170.0f) return {170.0f, 0.0f};
  if (z.hi < -170.0f) return {-170.0f, 0.0f};
  return z;
}

HOLDFAST_DEVICE RealExponential exponential(Pair<float> z) {
  z = clamped_exponent(z);
  if (!(z.hi == z.hi)) return {z, 0};
  const float n = rintf(z.hi * 0x1.715476p+0f);
  // ln 2 = 0x1.62ep-1 (14 bits: the product with n is exact) + 0x1.0bfbe8p-15 + 2^-39.
  const Pair<float> r = two_sum(fused(-n, 0x1.62ep-1f, z.hi), fused(-n, 0x1.0bfbe8p-15f, z.lo));
  const float p = horner(r.hi, 1.0f / 40320.0f, 1.0f / 5040.0f, 1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f, 0.5f);
  // r²(1/2 + …) + r.lo e^r
  const float tail = fused(r.hi * r.hi, p, fused(r.hi, r.lo, r.lo));
  const Pair<float> s = quick_two_sum(1.0f, r.hi);
  return {quick_two_sum(s.hi, s.lo + tail), static_cast<int>(n)};
}

// e^z for |Re z| <= 86: without limits, and without pairs after the first steps, in half of the operations. Good to
// 1.7 · 2^-24 real and 3 · 2^-24 complex, normwise. The magic number leaves n in the low bits of a float.
constexpr float kCommonExponent = 86.0f;
constexpr float kMagic = 0x1.8p+23f;

// A log₂e, which makes e^{ΔA} a power of 2: one product fewer than by z, and one argument less to reduce.
HOLDFAST_DEVICE Pair<float> octaves(float a) {
  const Pair<float> product = two_prod(a, 0x1.715476p+0f);
  return {product.hi, fused(a, 0x1.4ae0cp-26f, product.lo)};
}

// e^{ΔA} = (1 + slope f) 2^n with |f| at most a little above 1/2, and n in the low bits of `shifted`.
struct CommonExponential {
  float slope, f, shifted;
};

HOLDFAST_DEVICE CommonExponential common_exponential_parts(float delta, Pair<float> per_step, float magic = kMagic) {
  const float shifted = fused(delta, per_step.hi, magic);
  const float n = add_rn(shifted, -magic);
  const float f = fused(delta, per_step.lo, fused(delta, per_step.hi, -n));
  // (2^f − 1)/f, minimax: 2^f is good to 2^-28.
  const float p = horner(f, 0x1.416b5ep-13f, 0x1.5f082ep-10f, 0x1.3b2dep-7f, 0x1.c6af7cp-5f, 0x1.ebfbdcp-3f);
  return {fused(p, f, 0x1.62e43p-1f), f, shifted};
}

// Into the bits of the exponent: the sum is between 0.7 and 1.42.
HOLDFAST_DEVICE float value(CommonExponential e) {
  return __uint_as_float(__float_as_uint(fused(e.slope, e.f, 1.0f)) + (__float_as_uint(e.shifted) << 23));
}
HOLDFAST_DEVICE float common_exponential(float delta, Pair<float> per_step) {
  return value(common_exponential_parts(delta, per_step));
}
HOLDFAST_DEVICE float common_exponential(float delta, float a) { return common_exponential(delta, octaves(a)); }

// Whether A log₂e is finite, and what underflows of it is too little to show in e^{ΔA}.
HOLDFAST_DEVICE bool has_octaves(float a) { return ((fabsf(a) >= 1e-30f) & (fabsf(a) <= 1e38f)) | (a == 0.0f); }
// The same of A·2/π, which the fast tier takes.
HOLDFAST_DEVICE bool has_quarter_turns(float a) { return !kFast || has_octaves(a); }
HOLDFAST_DEVICE bool has_common_exponent(float delta, float a) {
  return (fabsf(mul_rn(delta, a)) <= kCommonExponent) & has_octaves(a);
}

// The same for |Im z| <= 1000.
constexpr float kCommonAngle = 1000.0f;
HOLDFAST_DEVICE Complex<float> common_exponential(float delta, Complex<float> a) {
  const CommonExponential e = common_exponential_parts(delta, octaves(a.re));
  const Pair<float> angle = two_prod(delta, a.im);
  const float shifted = fused(angle.hi, 0x1.45f306p-1f, kMagic);
  const float q = add_rn(shifted, -kMagic);
  // π/2 in 13 + 13 + 24 bits: the first two products are exact for |q| < 2^11.
  const float rest = fused(-q, 0x1.f6ap-13f, fused(-q, 0x1.110b46p-26f, angle.lo));
  const float r = add_rn(fused(-q, 0x1.921p+0f, angle.hi), rest);
  const float square = r * r;
  const float s = horner(square, 1.0f / 362880.0f, -1.0f / 5040.0f, 1.0f / 120.0f, -1.0f / 6.0f);
  const float sine = fused(s, r * square, r);
  const float c = horner(square, -1.0f / 3628800.0f, 1.0f / 40320.0f, -1.0f / 720.0f, 1.0f / 24.0f);
  const float cosine = fused(fused(c, square, -0.5f), square, 1.0f);
  const unsigned quadrant = __float_as_uint(shifted);
  const bool odd = (quadrant & 1) != 0;
  const float along = odd ? sine : cosine, across = odd ? cosine : sine;
  const float growth = e.slope * e.f;
  const float size = __uint_as_float((__float_as_uint(e.shifted) << 23) + 0x3f800000u);
  return {fused(growth, along, along) * (((quadrant + 1) & 2) != 0 ? -size : size),
          fused(growth, across, across) * ((quadrant & 2) != 0 ? -size : size)};
}
HOLDFAST_DEVICE bool has_common_exponent(float delta, Complex<float> a) {
  return has_common_exponent(delta, a.re) & (fabsf(mul_rn(delta, a.im)) <= kCommonAngle) & has_quarter_turns(a.im);
}

HOLDFAST_DEVICE float value(RealExponential e) { return times_power_of_two(e.mantissa.hi, e.exponent); }

}  // namespace HOLDFAST_NAMESPACE
