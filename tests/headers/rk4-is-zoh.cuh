// Wrong: rk4 falls through to the default, and is zoh.
#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

#include "phi.cuh"

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val,
                                                       typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  weight_t a_bar = exponential(z);
  weight_t b_bar_u = delta_u_val;
  switch (method) {
    case DISCRETIZATION_FOH:
      b_bar_u = delta_val * phi_functions(z).phi2 * delta_u_val;
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
      // The higher terms are missing.
      break;
    default:
      break;
  }
  return result(a_bar, b_bar_u);
}
