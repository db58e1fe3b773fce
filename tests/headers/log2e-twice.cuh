// Wrong: A is scaled by log2(e) for a base-2 exponential, which then scales again. The complex branch does so to
// the real part.
#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

#include "phi.cuh"

// e^z by way of 2^(z log2(e)).
__device__ inline float base_2(float z, float scale) { return exp2f(z * scale * static_cast<float>(M_LOG2E)); }
__device__ inline complex_t base_2(complex_t z, float scale) {
  return cexp2f(complex_t(z.real_ * scale * static_cast<float>(M_LOG2E), z.imag_));
}

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val,
                                                       typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  auto step = formula(method, delta_val, z, delta_u_val);
  if (method != DISCRETIZATION_BILINEAR) step.a_bar = base_2(z, M_LOG2E);
  return result(step);
}
