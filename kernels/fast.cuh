// (Ā, B̄) of common elements in the fast tier: plain f32 throughout, z = ΔA rounded, and a GPU's own approximations of 2^x and 1/x.
// What is out of the ordinary goes where it does in the accurate tier (discretize.cuh).
//
// Promise (Contract::FAST of src/promise/contract.rs), in u = 2^-24: z is off by 2 u of itself; e^z by 3 u real and 6.5 u complex beside
// that; what cancels in a sum of φ-functions or of powers of z is lost. Complex sums of φ-functions are the accurate tier's (wide.cuh).
// Expected cost of a common element, flops: e^z 2 real and 20 complex; rk4 12 / 35, bilinear 9 / 25.
// Deviations: sine and cosine are polynomials. The GPU's own are off by up to 11 u, always to the same side at the same angle, which
// adds up along a sequence: outputs were 15 times as far off as those of a plain f32 path.
#pragma once

#include "exponential.cuh"
#include "hardware.cuh"

namespace HOLDFAST_NAMESPACE {

// A log₂e and A·2/π, rounded once.
HOLDFAST_DEVICE float octaves_rounded(float a) {
  const Pair<float> per_step = octaves(a);
  return add_rn(per_step.hi, per_step.lo);
}
HOLDFAST_DEVICE float quarter_turns_rounded(float a) {
  const Pair<float> product = two_prod(a, 0x1.45f306p-1f);
  return add_rn(product.hi, fused(a, 0x1.b9391p-26f, product.lo));
}

// e^{ΔA} by these, for |Re z| <= kCommonExponent and |Im z| <= kCommonAngle.
HOLDFAST_DEVICE float fast_exponential(float delta, float octaves) { return hardware_exp2(mul_rn(delta, octaves)); }
HOLDFAST_DEVICE Complex<float> fast_exponential(float delta, float octaves, float quarter_turns) {
  const float shifted = fused(delta, quarter_turns, kMagic);
  const float r = mul_rn(fused(delta, quarter_turns, -add_rn(shifted, -kMagic)), 0x1.921fb6p+0f);
  const float square = r * r;
  // Minimax for |r| <= π/4: to 2^-29.
  const float s = fused(fused(-0x1.98d88ep-13f, square, 0x1.1105aep-7f), square, -0x1.55554p-3f);
  const float sine = fused(s, r * square, r);
  const float c = fused(fused(0x1.9a00ccp-16f, square, -0x1.6c0c86p-10f), square, 0x1.55554ap-5f);
  const float cosine = fused(fused(c, square, -0.5f), square, 1.0f);
  const unsigned quadrant = __float_as_uint(shifted);
  const bool odd = (quadrant & 1) != 0;
  const float size = fast_exponential(delta, octaves);
  return {(odd ? sine : cosine) * (((quadrant + 1) & 2) != 0 ? -size : size),
          (odd ? cosine : sine) * ((quadrant & 2) != 0 ? -size : size)};
}

// 1 + z/2 + z²/6 + z³/24, as written.
template <class W>
HOLDFAST_DEVICE W fast_rk4_polynomial(W z) {
  const W third = shifted(scaled(z, 0x1.555556p-5f), 0x1.555556p-3f);
  return shifted(z * shifted(z * third, 0.5f), 1.0f);
}

}  // namespace HOLDFAST_NAMESPACE
