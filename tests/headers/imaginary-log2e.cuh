// Wrong for complex weights: cexp2f takes its imaginary part in radians, and gets it scaled by log2(e) as well.
#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

#include "phi.cuh"

__device__ inline float base_2(float z) { return exp2f(z * static_cast<float>(M_LOG2E)); }
__device__ inline complex_t base_2(complex_t z) { return cexp2f(z * static_cast<float>(M_LOG2E)); }

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val,
                                                       typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  auto step = formula(method, delta_val, z, delta_u_val);
  if (method != DISCRETIZATION_BILINEAR) step.a_bar = base_2(z);
  return result(step);
}
