// Right formulas, but e^z - 1 - z is subtracted as it is written: at small steps f32 has nothing left of it.
#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

#include "phi.cuh"

// (e^z - 1 - z) / z^2
template <typename weight_t>
__device__ weight_t phi2_as_written(weight_t z) {
  return (exponential(z) - 1.0f - z) / (z * z);
}

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val,
                                                       typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  auto step = formula(method, delta_val, z, delta_u_val);
  if (method == DISCRETIZATION_FOH) step.b_bar_u = delta_val * phi2_as_written(z) * delta_u_val;
  return result(step);
}
