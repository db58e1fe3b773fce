// Discretization, one step: (Ā, B̄ u).
#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

#include "../phi.cuh"

__device__ inline float decay(float z, float) { return expf(z); }
__device__ inline complex_t decay(complex_t z, float delta) {
  float s, c;
  sincosf(delta * z.imag_, &s, &c);
  const float r = expf(z.real_);
  return complex_t(r * c, r * s);
}

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val,
                                                       typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  auto step = formula(method, delta_val, z, delta_u_val);
  if (method == DISCRETIZATION_ZOH) step.a_bar = decay(z, delta_val);
  return result(step);
}
