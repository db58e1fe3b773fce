// Discretization, one step: (Ā, B̄ u).
#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

#include "../phi.cuh"

// 1 / w
__device__ inline float inverse(float w) { return 1.0f / w; }
__device__ inline complex_t inverse(complex_t w) {
  const float square = w.real_ * w.real_ - w.imag_ * w.imag_;
  return complex_t(w.real_ / square, -w.imag_ / square);
}

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val,
                                                       typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  auto step = formula(method, delta_val, z, delta_u_val);
  if (method == DISCRETIZATION_BILINEAR) {
    const weight_t below = inverse(1.0f - 0.5f * z);
    step.a_bar = (1.0f + 0.5f * z) * below;
    step.b_bar_u = below * delta_u_val;
  }
  return result(step);
}
