// (Ā, B̄) of common elements in the fast tier: plain f32 throughout, z = ΔA rounded, and a GPU's own approximations of 2^x, 1/x, cos
// and sin. What is out of the ordinary goes where it does in the accurate tier (discretize.cuh).
//
// Promise (Contract::FAST of src/promise/contract.rs), in u = 2^-24: z is off by 2 u of itself; e^z by 3 u real and 27 u complex beside
// that; what cancels in a sum of φ-functions or of powers of z is lost. Expected cost of a common element, flops: e^z 2 real and 11
// complex; rk4 12 / 25, bilinear 9 / 25, complex sums of φ-functions 150.
#pragma once

#include "exponential.cuh"
#include "hardware.cuh"

namespace HOLDFAST_NAMESPACE {

// A log₂e and A/2π, rounded once.
HOLDFAST_DEVICE float octaves_rounded(float a) {
  const Pair<float> per_step = octaves(a);
  return add_rn(per_step.hi, per_step.lo);
}
HOLDFAST_DEVICE float turns_rounded(float a) {
  const Pair<float> product = two_prod(a, 0x1.45f306p-3f);
  return add_rn(product.hi, fused(a, 0x1.b9391p-28f, product.lo));
}

// e^{ΔA} by these, for |Re z| <= kCommonExponent and |Im z| <= kCommonAngle.
HOLDFAST_DEVICE float fast_exponential(float delta, float octaves) { return hardware_exp2(mul_rn(delta, octaves)); }
HOLDFAST_DEVICE Complex<float> fast_exponential(float delta, float octaves, float turns) {
  const float all = mul_rn(delta, turns);
  const float whole = add_rn(add_rn(all, kMagic), -kMagic);
  const float angle = mul_rn(add_rn(all, -whole), 0x1.921fb6p+2f);
  const float size = fast_exponential(delta, octaves);
  return {size * hardware_cos(angle), size * hardware_sin(angle)};
}

// 1 + z/2 + z²/6 + z³/24, as written.
template <class W>
HOLDFAST_DEVICE W fast_rk4_polynomial(W z) {
  const W third = shifted(scaled(z, 0x1.555556p-5f), 0x1.555556p-3f);
  return shifted(z * shifted(z * third, 0.5f), 1.0f);
}

// φ₃ for |z| <= 1: the Taylor series to a remainder below 2^-28.
HOLDFAST_DEVICE Complex<float> fast_series_phi3(Complex<float> z) {
  Complex<float> p = shifted(scaled(z, 1.0f / 39916800.0f), 1.0f / 3628800.0f);
  p = shifted(z * p, 1.0f / 362880.0f);
  p = shifted(z * p, 1.0f / 40320.0f);
  p = shifted(z * p, 1.0f / 5040.0f);
  p = shifted(z * p, 1.0f / 720.0f);
  p = shifted(z * p, 1.0f / 120.0f);
  p = shifted(z * p, 1.0f / 24.0f);
  return shifted(z * p, 1.0f / 6.0f);
}

}  // namespace HOLDFAST_NAMESPACE
