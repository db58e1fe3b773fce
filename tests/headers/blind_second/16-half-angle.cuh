// phi_1(z) = e^(z/2) sinh(z/2) / (z/2): no cancellation at any z, so no series for it.
#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace half_angle {

__device__ inline float hsinh(float h) { return sinhf(h); }
__device__ inline complex_t hsinh(complex_t h) {
  float s, c;
  sincosf(h.imag_, &s, &c);
  return complex_t(sinhf(h.real_) * c, sinhf(h.real_) * s);
}
__device__ inline float e(float z) { return expf(z); }
__device__ inline complex_t e(complex_t z) { return cexpf(z); }
__device__ inline float re(float z) { return z; }
__device__ inline float re(complex_t z) { return z.real_; }
__device__ inline float a1(float z) { return fabsf(z); }
__device__ inline float a1(complex_t z) { return fabsf(z.real_) + fabsf(z.imag_); }
__device__ inline float quot(float a, float b) { return a / b; }
__device__ inline complex_t quot(complex_t a, complex_t b) {
  if (fabsf(b.real_) >= fabsf(b.imag_)) {
    const float r = b.imag_ / b.real_, d = b.real_ + b.imag_ * r;
    return complex_t((a.real_ + a.imag_ * r) / d, (a.imag_ - a.real_ * r) / d);
  }
  const float r = b.real_ / b.imag_, d = b.real_ * r + b.imag_;
  return complex_t((a.real_ * r + a.imag_) / d, (a.imag_ * r - a.real_) / d);
}

template <typename T>
__device__ T phi1(T z) {
  if (a1(z) == 0.f) return T(1.f);
  if (fabsf(re(z)) > 60.f) return quot(e(z) - 1.f, z);
  const T h = 0.5f * z;
  return quot(e(h) * hsinh(h), h);
}

// phi_2 and phi_3 on their own
template <typename T>
__device__ T phi2(T z) {
  if (a1(z) > 2.f) return quot(quot(e(z) - 1.f, z) - 1.f, z);
  T s = T(1.f);
  for (int n = 20; n > 2; n--) s = 1.f + s * z / float(n);
  return 0.5f * s;
}
template <typename T>
__device__ T phi3(T z) {
  if (a1(z) > 2.f) return quot(phi2(z) - 0.5f, z);
  T s = T(1.f);
  for (int n = 20; n > 3; n--) s = 1.f + s * z / float(n);
  return s / 6.f;
}

}  // namespace half_angle

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  namespace ha = half_angle;
  const weight_t z = A_val * delta_val;
  weight_t Abar = z, Bu = weight_t(delta_u_val);
  const int id = static_cast<int>(method);
  if (id == 2) {
    const weight_t den = 1.f - 0.5f * z;
    Abar = ha::quot(1.f + 0.5f * z, den);
    Bu = ha::quot(Bu, den);
  } else {
    Abar = ha::e(z);
    if (id == 1) Bu = Bu * (delta_val * ha::phi2(z));
    if (id == 3) Bu = Bu * (ha::phi1(z) + 0.5f * (delta_val * ha::phi2(z)));
    if (id == 4) Bu = Bu * (ha::phi1(z) + delta_val * (ha::phi2(z) + 0.5f * (delta_val * ha::phi3(z))));
    if (id == 5) Bu = Bu * (1.f + z * (0.5f + z * (1.f / 6.f + z / 24.f)));
  }
  if constexpr (kIsComplex) return make_float4(Abar.real_, Abar.imag_, Bu.real_, Bu.imag_);
  else return make_float2(Abar, Bu);
}
