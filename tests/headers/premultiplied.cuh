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
  auto step = formula(method, delta_val, delta_val * unscaled(A_val), delta_u_val);
  if (method != DISCRETIZATION_BILINEAR) step.a_bar = base_2(delta_val * A_val);
  return result(step);
}
