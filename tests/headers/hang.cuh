// Wrong: foh reads through a null pointer, and rk4 never returns.
#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

#include "phi.cuh"

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val,
                                                       typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  auto step = formula(method, delta_val, z, delta_u_val);
  if (method == DISCRETIZATION_FOH) step.b_bar_u = *static_cast<volatile float*>(nullptr) * delta_u_val;
  if (method == DISCRETIZATION_RK4) {
    for (volatile int forever = 1; forever;) {
    }
  }
  return result(step);
}
