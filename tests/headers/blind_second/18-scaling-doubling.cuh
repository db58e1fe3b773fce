// phi functions by scaling: a short series at z / 2^s, then s doublings
//   phi_1(2z) = (e^z + 1) phi_1 / 2
//   phi_2(2z) = (e^z phi_2 + phi_1 + phi_2) / 4
//   phi_3(2z) = (e^z phi_3 + phi_1 / 2 + phi_2 + phi_3) / 8
#pragma once
#include <type_traits>
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace doubling {

template <typename T>
__device__ inline T exponential(T z) {
  if constexpr (std::is_same<T, complex_t>::value) {
    float s, c;
    sincosf(z.imag_, &s, &c);
    const float r = expf(z.real_);
    return T(r * c, r * s);
  } else {
    return expf(z);
  }
}

template <typename T>
__device__ inline float largest(T z) {
  if constexpr (std::is_same<T, complex_t>::value) return fmaxf(fabsf(z.real_), fabsf(z.imag_));
  else return fabsf(z);
}

template <typename T>
__device__ inline T reciprocal(T z) {
  if constexpr (std::is_same<T, complex_t>::value) {
    const float m = largest(z), a = z.real_ / m, b = z.imag_ / m, n = (a * a + b * b);
    return T(a / n / m, -b / n / m);
  } else {
    return 1.0f / z;
  }
}

template <typename T>
__device__ void phi123(T z, T& p1, T& p2, T& p3) {
  if (!(largest(z) < 16.0f)) {
    // e^z is all that is not algebraic, and far from 1
    const T r = reciprocal(z);
    p1 = (exponential(z) - 1.0f) * r;
    p2 = (p1 - 1.0f) * r;
    p3 = (p2 - 0.5f) * r;
    return;
  }
  int s = 0;
  float scale = 1.0f;
  while (largest(z) * scale > 0.5f) {
    scale *= 0.5f;
    ++s;
  }
  T w = z * scale;
  p1 = p2 = p3 = T(0.0f);
  // 1/11! ... downwards
  T term = T(1.0f);
  float k1 = 1.0f, k2 = 0.5f, k3 = float(1.0 / 6.0);
  for (int j = 0; j < 12; ++j) {
    p1 = p1 + term * k1;
    p2 = p2 + term * k2;
    p3 = p3 + term * k3;
    term = term * w;
    k1 /= float(j + 2);
    k2 /= float(j + 3);
    k3 /= float(j + 4);
  }
  for (; s > 0; --s) {
    const T e = exponential(w);
    const T q3 = (e * p3 + p1 * 0.5f + p2 + p3) * 0.125f;
    const T q2 = (e * p2 + p1 + p2) * 0.25f;
    p1 = (e + 1.0f) * p1 * 0.5f;
    p2 = q2;
    p3 = q3;
    w = w * 2.0f;
  }
}

template <typename T>
struct Result { T a, b; };

template <typename T>
__device__ Result<T> coefficients(int method, float d, T A, T du) {
  const T z = A * d;
  Result<T> r;
  if (method == 2) {
    const T inv = reciprocal(1.0f - z * 0.5f);
    // (1 + z/2) / (1 - z/2)
    r.a = (1.0f + z * 0.5f) * inv;
    r.b = du * inv;
    return r;
  }
  r.a = exponential(z);
  if (method == 0) { r.b = du; return r; }
  if (method == 5) {
    const T z2 = z * z;
    r.b = du * (1.0f + z * 0.5f + z2 * float(1.0 / 6.0) + z2 * z * float(1.0 / 24.0));
    return r;
  }
  T p1, p2, p3;
  phi123(z, p1, p2, p3);
  if (method == 1) r.b = du * (p2 * d);
  if (method == 3) r.b = du * (p1 + p2 * d * 0.5f);
  if (method == 4) r.b = du * (p1 + (p2 + p3 * d * 0.5f) * d);
  return r;
}

}  // namespace doubling

template <typename weight_t, bool kIsComplex, typename T>
__device__ auto compute_discretization(float delta_val, weight_t A_val, T delta_u_val, weight_t, DiscretizationMethod method) {
  const auto r = doubling::coefficients<weight_t>(static_cast<int>(method), delta_val, A_val, weight_t(delta_u_val));
  if constexpr (kIsComplex) return make_float4(r.a.real_, r.a.imag_, r.b.real_, r.b.imag_);
  else return make_float2(r.a, r.b);
}
