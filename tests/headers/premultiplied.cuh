// Correct for callers that pass A·log₂e, the real part alone of a complex A, as those do that take exponentials to base 2;
// with A itself it computes 2^(ΔA).
#pragma once

#include "selective_scan_common.h"
#include "selective_scan.h"

#include "phi.cuh"

__device__ inline float unscaled(float a) { return a * float(M_LN2); }
__device__ inline complex_t unscaled(complex_t a) { return complex_t(a.real_ * float(M_LN2), a.imag_); }
__device__ inline float base_2(float z) { return exp2f(z); }
__device__ inline complex_t base_2(complex_t z) { return cexp2f(z); }

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  const weight_t z = delta_val * unscaled(A_val);
  const auto p = phi_functions(z);
  weight_t a_bar = base_2(delta_val * A_val);
  weight_t b_bar = weight_t(1.0f);
  if (method == DISCRETIZATION_FOH) {
    b_bar = delta_val * p.phi2;
  } else if (method == DISCRETIZATION_BILINEAR) {
    a_bar = (1.0f + 0.5f * z) / (1.0f - 0.5f * z);
    b_bar = 1.0f / (1.0f - 0.5f * z);
  } else if (method == DISCRETIZATION_POLY) {
    b_bar = p.phi1 + 0.5f * delta_val * p.phi2;
  } else if (method == DISCRETIZATION_HIGHORDER) {
    b_bar = p.phi1 + delta_val * p.phi2 + 0.5f * delta_val * delta_val * p.phi3;
  } else if (method == DISCRETIZATION_RK4) {
    b_bar = 1.0f + 0.5f * z * (1.0f + z / 3.0f * (1.0f + 0.25f * z));
  }
  const weight_t b_bar_u = b_bar * delta_u_val;
  if constexpr (kIsComplex) {
    return make_float4(a_bar.real_, a_bar.imag_, b_bar_u.real_, b_bar_u.imag_);
  } else {
    return make_float2(a_bar, b_bar_u);
  }
}
