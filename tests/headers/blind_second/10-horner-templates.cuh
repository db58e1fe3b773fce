#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

template <typename T>
__device__ inline float taxi(T v) {
  if constexpr (sizeof(T) == 2 * sizeof(float)) return fabsf(v.real_) + fabsf(v.imag_);
  else return fabsf(v);
}
template <typename T>
__device__ inline T safe_div(T p, T q) {
  if constexpr (sizeof(T) == 2 * sizeof(float)) {
    const float t = taxi(q);
    const T n = q / t;
    return p / n / t;
  } else {
    return p / q;
  }
}
// c_0 + z c_1 + z^2 c_2 ...
template <typename T>
__device__ inline T horner(T) { return T(0.f); }
template <typename T, typename... Rest>
__device__ inline T horner(T z, float c, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) return T(c);
  else return z * horner(z, rest...) + c;
}
template <typename T>
__device__ inline T exp_of(T z) {
  if constexpr (sizeof(T) == 2 * sizeof(float)) return cexpf(z);
  else return expf(z);
}

template <typename T>
__device__ inline T phi_1(T z) {
  if (taxi(z) < 1.f)
    return horner(z, 1.f, float(1. / 2), float(1. / 6), float(1. / 24), float(1. / 120), float(1. / 720), float(1. / 5040),
                  float(1. / 40320), float(1. / 362880), float(1. / 3628800), float(1. / 39916800), float(1. / 479001600));
  return safe_div(exp_of(z) - 1.f, z);
}
template <typename T>
__device__ inline T phi_2(T z) {
  if (taxi(z) < 1.f) return horner(z, 0.5f, float(1. / 6));
  return safe_div(phi_1(z) - 1.f, z);
}
template <typename T>
__device__ inline T phi_3(T z) {
  if (taxi(z) < 1.f)
    return horner(z, float(1. / 6), float(1. / 24), float(1. / 120), float(1. / 720), float(1. / 5040), float(1. / 40320),
                  float(1. / 362880), float(1. / 3628800), float(1. / 39916800), float(1. / 479001600));
  return safe_div(phi_2(z) - 0.5f, z);
}

template <int kMethod, typename T>
__device__ inline T input_gain(T z, float d) {
  if constexpr (kMethod == 0) return T(1.f);
  if constexpr (kMethod == 1) return phi_2(z) * d;
  if constexpr (kMethod == 2) return safe_div(T(1.f), 1.f - 0.5f * z);
  if constexpr (kMethod == 3) return phi_1(z) + phi_2(z) * (0.5f * d);
  if constexpr (kMethod == 4) return phi_1(z) + (phi_2(z) + phi_3(z) * (0.5f * d)) * d;
  if constexpr (kMethod == 5) return horner(z, 1.f, 0.5f, float(1. / 6), float(1. / 24));
}

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  weight_t g(1.f);
  switch ((int)method) {
    case 0: g = input_gain<0>(z, delta_val); break;
    case 1: g = input_gain<1>(z, delta_val); break;
    case 2: g = input_gain<2>(z, delta_val); break;
    case 3: g = input_gain<3>(z, delta_val); break;
    case 4: g = input_gain<4>(z, delta_val); break;
    case 5: g = input_gain<5>(z, delta_val); break;
  }
  const weight_t a = (int)method == 2 ? safe_div(1.f + 0.5f * z, 1.f - 0.5f * z) : exp_of(z);
  const weight_t b = g * delta_u_val;
  if constexpr (kIsComplex) return make_float4(a.real_, a.imag_, b.real_, b.imag_);
  else return make_float2(a, b);
}
