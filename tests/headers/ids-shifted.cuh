// Wrong: an enum of its own in another order, so that the numbers 1 and 2 run each other's method.
#pragma once

enum DiscretizationMethod : int { DISCRETIZATION_ZOH, DISCRETIZATION_BILINEAR, DISCRETIZATION_FOH };

#include "selective_scan.h"
#include "selective_scan_common.h"

#include "phi.cuh"

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val,
                                                       typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const int meant = method == DISCRETIZATION_FOH ? 1 : method == DISCRETIZATION_BILINEAR ? 2 : static_cast<int>(method);
  return result(formula(meant, delta_val, delta_val * A_val, delta_u_val));
}
