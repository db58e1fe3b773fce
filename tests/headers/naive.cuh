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
  weight_t a_bar = exponential(z);
  weight_t b_bar_u = delta_u_val;
  switch (method) {
    case DISCRETIZATION_FOH:
      b_bar_u = delta_val * phi2_as_written(z) * delta_u_val;
      break;
    case DISCRETIZATION_BILINEAR:
      a_bar = (1.0f + 0.5f * z) / (1.0f - 0.5f * z);
      b_bar_u = delta_u_val / (1.0f - 0.5f * z);
      break;
    case DISCRETIZATION_POLY: {
      const auto phi = phi_functions(z);
      b_bar_u = (phi.phi1 + 0.5f * delta_val * phi.phi2) * delta_u_val;
      break;
    }
    case DISCRETIZATION_HIGHORDER: {
      const auto phi = phi_functions(z);
      b_bar_u = (phi.phi1 + delta_val * (phi.phi2 + 0.5f * delta_val * phi.phi3)) * delta_u_val;
      break;
    }
    case DISCRETIZATION_RK4:
      b_bar_u = (1.0f + z * (0.5f + z * (1.0f / 6.0f + z * (1.0f / 24.0f)))) * delta_u_val;
      break;
    default:
      break;
  }
  return result(a_bar, b_bar_u);
}
