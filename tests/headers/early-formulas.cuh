// Wrong in four methods at once, by the formulas that the first kernels were documented with: foh is exact zoh, bilinear
// has the inverse of the wrong factor, poly and highorder are exact zoh's series cut after three terms and after two.
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
  if (method == DISCRETIZATION_FOH) step.b_bar_u = phi_functions(z).phi1 * delta_u_val;
  if (method == DISCRETIZATION_BILINEAR) {
    step.a_bar = (1.0f - 0.5f * z) / (1.0f + 0.5f * z);
    step.b_bar_u = delta_u_val / (1.0f + 0.5f * z);
  }
  if (method == DISCRETIZATION_POLY) step.b_bar_u = (1.0f + z * (0.5f + z * (1.0f / 6.0f))) * delta_u_val;
  if (method == DISCRETIZATION_HIGHORDER) step.b_bar_u = (1.0f + 0.5f * z) * delta_u_val;
  return result(step);
}
