// Discretization, one step: (Ā, B̄ u).
#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

#include "../phi.cuh"

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val,
                                                       typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  auto step = formula(method, delta_val, z, delta_u_val);
  if (method == DISCRETIZATION_POLY || method == DISCRETIZATION_HIGHORDER) {
    const auto phi = phi_functions(z);
    const weight_t phi1 = modulus(z) < 1e-3f ? weight_t(1.0f) : phi.phi1;
    if (method == DISCRETIZATION_POLY)
      step.b_bar_u = (phi1 + 0.5f * delta_val * phi.phi2) * delta_u_val;
    else
      step.b_bar_u = (phi1 + delta_val * (phi.phi2 + 0.5f * delta_val * phi.phi3)) * delta_u_val;
  }
  return result(step);
}
