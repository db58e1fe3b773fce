// A_val arrives multiplied by log2(e) (of a complex A the real part), for every method: the kernel does that once per row.
#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

__device__ __forceinline__ float natural(float a2) { return a2 * float(M_LN2); }
__device__ __forceinline__ complex_t natural(complex_t a2) { return complex_t(a2.real_ * float(M_LN2), a2.imag_); }
__device__ __forceinline__ float exp2_of(float z2) { return exp2f(z2); }
__device__ __forceinline__ complex_t exp2_of(complex_t z2) { return cexp2f(z2); }
__device__ __forceinline__ float size_of(float z) { return fabsf(z); }
__device__ __forceinline__ float size_of(complex_t z) { return fabsf(z.real_) + fabsf(z.imag_); }
__device__ __forceinline__ float div_by(float a, float b) { return a / b; }
__device__ __forceinline__ complex_t div_by(complex_t a, complex_t b) {
  const float s = size_of(b);
  return (a / s) / (b / s);
}

template <typename weight_t>
__device__ inline void phi_natural(weight_t z, weight_t e, weight_t& p1, weight_t& p2, weight_t& p3) {
  if (size_of(z) < 1.5f) {
    p1 = p2 = p3 = weight_t(1.f);
    for (float n = 16.f; n > 0.5f; n -= 1.f) {
      p1 = 1.f + z * p1 / (n + 1.f);
      p2 = 1.f + z * p2 / (n + 2.f);
      p3 = 1.f + z * p3 / (n + 3.f);
    }
    p2 = p2 * 0.5f;
    p3 = p3 / 6.f;
  } else {
    p1 = div_by(e - 1.f, z);
    p2 = div_by(p1 - 1.f, z);
    p3 = div_by(p2 - 0.5f, z);
  }
}

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  const weight_t z2 = delta_val * A_val;
  const weight_t du = delta_u_val;
  weight_t a_bar = exp2_of(z2), b_bar = du;
  switch (static_cast<int>(method)) {
    case 1: {
      weight_t p1, p2, p3;
      phi_natural(natural(z2), a_bar, p1, p2, p3);
      b_bar = delta_val * p2 * du;
      break;
    }
    case 2: {
      const weight_t z = natural(z2);
      a_bar = div_by(1.f + 0.5f * z, 1.f - 0.5f * z);
      b_bar = div_by(du, 1.f - 0.5f * z);
      break;
    }
    case 3: {
      weight_t p1, p2, p3;
      phi_natural(natural(z2), a_bar, p1, p2, p3);
      b_bar = (p1 + 0.5f * delta_val * p2) * du;
      break;
    }
    case 4: {
      weight_t p1, p2, p3;
      phi_natural(natural(z2), a_bar, p1, p2, p3);
      b_bar = (p1 + delta_val * (p2 + 0.5f * delta_val * p3)) * du;
      break;
    }
    case 5: {
      const weight_t z = z2;
      b_bar = (1.f + 0.5f * z * (1.f + z * (1.f / 3.f) * (1.f + 0.25f * z))) * du;
      break;
    }
    default:
      break;
  }
  if constexpr (kIsComplex) return make_float4(a_bar.real_, a_bar.imag_, b_bar.real_, b_bar.imag_);
  else return make_float2(a_bar, b_bar);
}
