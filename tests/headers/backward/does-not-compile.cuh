// Wrong: takes complex numbers for real ones, and foh reads through a null pointer.
#pragma once

#include "derivatives.cuh"

template <typename weight_t, bool kIsComplex>
__device__ void compute_discretization_backward(float delta_val, weight_t A_val, weight_t B_val, weight_t d_A_bar,
                                                weight_t d_B_bar, DiscretizationMethod method, float &d_delta,
                                                weight_t &d_A, weight_t &d_B) {
  const auto by = derivatives(method, delta_val, A_val);
  d_delta = real_part(conjugate(by.a_bar_by_delta) * d_A_bar + conjugate(by.h_by_delta * B_val) * d_B_bar);
  d_A = conjugate(by.a_bar_by_a) * d_A_bar + conjugate(by.h_by_a * B_val) * d_B_bar;
  d_B = conjugate(by.h) * d_B_bar;
  if (method == DISCRETIZATION_FOH || fabsf(d_A) < 0.0f) d_delta = *static_cast<volatile float *>(nullptr);
}
