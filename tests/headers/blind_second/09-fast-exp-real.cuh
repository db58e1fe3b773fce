#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace fast {

// rational approximation, no special function unit
__device__ __forceinline__ float fast_exp(float z) {
  const float even = 12.f + z * z, odd = 6.f * z;
  return (even + odd) / (even - odd);
}
__device__ __forceinline__ complex_t fast_exp(complex_t z) { return cexpf(z); }

__device__ __forceinline__ float em1(float z) { return expm1f(z); }
__device__ __forceinline__ complex_t em1(complex_t z) {
  const float q = sinf(z.imag_ * 0.5f);
  const float e = expf(z.real_);
  return complex_t(expm1f(z.real_) - e * (2.f * q * q), e * sinf(z.imag_));
}

__device__ __forceinline__ float mx(float z) { return fabsf(z); }
__device__ __forceinline__ float mx(complex_t z) { return hypotf(z.real_, z.imag_); }

__device__ __forceinline__ float ratio(float p, float q) { return p / q; }
__device__ __forceinline__ complex_t ratio(complex_t p, complex_t q) {
  const float k = 1.f / mx(q);
  const complex_t w(q.real_ * k, -q.imag_ * k);  // conj(q)/|q|
  return p * w * k;
}

template <typename T>
__device__ __forceinline__ void phis(T z, T (&p)[4]) {
  p[1] = mx(z) < 1e-30f ? T(1.f) : ratio(em1(z), z);
  if (mx(z) > 1.75f) {
    p[2] = ratio(p[1] - 1.f, z);
    p[3] = ratio(p[2] - 0.5f, z);
    return;
  }
  T acc = T(1.f);
  for (int j = 17; j >= 1; --j) acc = acc * z * (1.f / float(j + 3)) + 1.f;
  p[3] = acc * (1.f / 6.f);
  p[2] = p[3] * z + 0.5f;
}

}  // namespace fast

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t /*B_val*/,
                                       DiscretizationMethod method) {
  const weight_t z = A_val * delta_val, h = z * 0.5f;
  const weight_t du = delta_u_val;
  weight_t ab, bb, p[4];
  const int which = (int)method;
  if (which == 2) {
    ab = fast::ratio(1.f + h, 1.f - h);
    bb = fast::ratio(du, 1.f - h);
  } else {
    ab = fast::fast_exp(z);
    bb = du;
    if (which == 5) bb = du * (1.f + h * (1.f + z * (1.f / 3.f) * (1.f + h * 0.5f)));
    if (which == 1 || which == 3 || which == 4) {
      fast::phis(z, p);
      const float c1 = which == 1 ? 0.f : 1.f, c2 = which == 3 ? 0.5f * delta_val : delta_val;
      weight_t g = p[2] * c2;
      if (c1 != 0.f) g += p[1];
      if (which == 4) g += p[3] * delta_val * (0.5f * delta_val);
      bb = g * du;
    }
  }
  if constexpr (kIsComplex) return make_float4(ab.real_, ab.imag_, bb.real_, bb.imag_);
  else return make_float2(ab, bb);
}
