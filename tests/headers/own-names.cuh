// Wrong in foh: Δ²(φ₁ − φ₂) in place of Δ²φ₂. Its own class has members of the names that C's functions of a double have.
#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

struct Arithmetic {
  static __device__ float exp(float x) { return expf(x); }
  static __device__ float expm1(float x) { return expm1f(x); }
  static __device__ float fabs(float x) { return ::fabsf(x); }
  // φ₁ and φ₂: 14 terms near 0.
  static __device__ float phi(int k, float z) {
    if (fabs(z) < 1.0f) {
      float sum = 1.0f;
      for (int j = k + 14; j > k; --j) sum = 1.0f + z * sum / float(j);
      return k == 1 ? sum : 0.5f * sum;
    }
    const float first = expm1(z) / z;
    return k == 1 ? first : (first - 1.0f) / z;
  }
};

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ float2 compute_discretization(float delta_val, float A_val, float delta_u_val, float B_val,
                                                         DiscretizationMethod method) {
  const float z = delta_val * A_val;
  return make_float2(Arithmetic::exp(z), delta_val * (Arithmetic::phi(1, z) - Arithmetic::phi(2, z)) * delta_u_val);
}
