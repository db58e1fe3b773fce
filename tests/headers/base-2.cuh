// Correct, and computed differently: exponentials to base 2, φ-functions by doubling (all of whose terms are positive for
// real z), an enum class of its own, and the harness's includes after everything else.
#pragma once

enum class DiscretizationMethod : int { zoh, foh, bilinear, poly, highorder, rk4 };

#include "selective_scan_common.h"
#include "selective_scan.h"

__device__ inline float exponential(float z) { return exp2f(z * static_cast<float>(M_LOG2E)); }
__device__ inline complex_t exponential(complex_t z) {
  return cexp2f(complex_t(z.real_ * static_cast<float>(M_LOG2E), z.imag_));
}

__device__ inline float modulus(float z) { return fabsf(z); }
__device__ inline float modulus(complex_t z) { return fmaxf(fabsf(z.real_), fabsf(z.imag_)); }

template <typename weight_t>
struct Phi {
  weight_t phi1, phi2, phi3;
};

// φ₁, φ₂, φ₃ at z, from those at z / 2^n: φₖ(2z) = (e^z φₖ(z) + Σ_{j ≤ k} φⱼ(z) / (k − j)!) / 2ᵏ.
template <typename weight_t>
__device__ Phi<weight_t> phi_functions(weight_t z) {
  int halvings = 0;
  for (float size = modulus(z); size > 0.5f && halvings < 24; size *= 0.5f) ++halvings;
  float scale = 1.0f;
  for (int i = 0; i < halvings; ++i) scale *= 0.5f;
  weight_t h = z * scale;
  weight_t sum = weight_t(1.0f);
  for (int k = 12; k >= 4; --k) sum = 1.0f + sum * h / static_cast<float>(k);
  weight_t phi3 = sum / 6.0f;
  weight_t phi2 = 0.5f + h * phi3;
  weight_t phi1 = 1.0f + h * phi2;
  for (int i = 0; i < halvings; ++i) {
    const weight_t grown = exponential(h);
    phi3 = 0.125f * (grown * phi3 + phi3 + phi2 + 0.5f * phi1);
    phi2 = 0.25f * (grown * phi2 + phi2 + phi1);
    phi1 = 0.5f * (grown * phi1 + phi1);
    h = h + h;
  }
  return {phi1, phi2, phi3};
}

#include "formulas.cuh"

template <typename weight_t, bool kIsComplex, typename DU>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                                       DiscretizationMethod method) {
  // B̄u as a product, which rounds once more.
  auto step = formula(static_cast<int>(method), delta_val, delta_val * A_val, 1.0f);
  step.b_bar_u = step.b_bar_u * delta_u_val;
  return result(step);
}
