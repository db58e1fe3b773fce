// Right formulas, but foh's φ-functions are subtracted as they are written: at small steps f32 has nothing left of them.
#pragma once

#include "derivatives.cuh"

template <typename weight_t, bool kIsComplex>
__device__ void compute_discretization_backward(float delta_val, weight_t A_val, weight_t B_val, weight_t d_A_bar,
                                                weight_t d_B_bar, DiscretizationMethod method, float &d_delta,
                                                weight_t &d_A, weight_t &d_B) {
  auto by = derivatives(method, delta_val, A_val);
  if (method == DISCRETIZATION_FOH) {
    const weight_t z = delta_val * A_val, e = exponential(z);
    by.h = delta_val * delta_val * ((e - 1.0f - z) / (z * z));
    by.h_by_a = delta_val * delta_val * delta_val * (((z - 2.0f) * e + z + 2.0f) / (z * z * z));
  }
  d_delta = real_part(conjugate(by.a_bar_by_delta) * d_A_bar + conjugate(by.h_by_delta * B_val) * d_B_bar);
  d_A = conjugate(by.a_bar_by_a) * d_A_bar + conjugate(by.h_by_a * B_val) * d_B_bar;
  d_B = conjugate(by.h) * d_B_bar;
}
