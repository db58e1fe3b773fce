// Wrong for complex weights: A_val is complex there, and this takes a float.
#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

#include "phi.cuh"

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, float A_val,
                                                       weight_t delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  auto step = formula(method, delta_val, z, delta_u_val);
  return result(step);
}
