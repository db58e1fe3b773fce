#pragma once
#include <type_traits>
#include "selective_scan_common.h"
#include "selective_scan.h"

// All exponentials in base two: ex2 is one instruction.
template <typename T>
struct Ops;

template <>
struct Ops<float> {
  using packed = float2;
  __device__ static float exponential(float z) { return exp2f(z * float(M_LOG2E)); }
  __device__ static float em1(float z) { return expm1f(z); }
  __device__ static bool near_zero(float z) { return fabsf(z) < 1.f; }
  __device__ static float div(float a, float b) { return a / b; }
  __device__ static packed pack(float a, float b) { return make_float2(a, b); }
};

template <>
struct Ops<complex_t> {
  using packed = float4;
  __device__ static complex_t exponential(complex_t z) { return cexp2f(z * float(M_LOG2E)); }
  __device__ static complex_t em1(complex_t z) {
    float sn, cs;
    sincosf(z.imag_, &sn, &cs);
    const float e1 = expm1f(z.real_), half = sinf(0.5f * z.imag_);
    return complex_t(e1 * cs - 2.f * half * half, (e1 + 1.f) * sn);
  }
  __device__ static bool near_zero(complex_t z) { return fmaxf(fabsf(z.real_), fabsf(z.imag_)) < 1.f; }
  __device__ static complex_t div(complex_t a, complex_t b) {
    const float m = fmaxf(fabsf(b.real_), fabsf(b.imag_));
    return (a / m) / (b / m);
  }
  __device__ static packed pack(complex_t a, complex_t b) { return make_float4(a.real_, a.imag_, b.real_, b.imag_); }
};

template <typename T, int K>
struct PhiK {
  __device__ static T at_zero() { return PhiK<T, K - 1>::at_zero() / float(K); }
  __device__ static T eval(T z) {
    if (!Ops<T>::near_zero(z)) return Ops<T>::div(PhiK<T, K - 1>::eval(z) - PhiK<T, K - 1>::at_zero(), z);
    T sum(1.f);
    for (int j = 14; j; --j) sum = sum * z / float(j + K) + 1.f;
    return sum * at_zero();
  }
};
template <typename T>
struct PhiK<T, 1> {
  __device__ static T at_zero() { return T(1.f); }
  __device__ static T eval(T z) {
    if (z == T(0.f)) return T(1.f);
    return Ops<T>::div(Ops<T>::em1(z), z);
  }
};

template <typename weight_t, bool kIsComplex, typename DU>
__device__ typename Ops<weight_t>::packed compute_discretization(float delta_val, weight_t A_val, DU delta_u_val,
                                                                 weight_t B_val, DiscretizationMethod method) {
  using O = Ops<weight_t>;
  weight_t z = delta_val * A_val, u = delta_u_val, gain(1.f);
  const int m = static_cast<int>(method);
  if (m == 2) {
    const weight_t below = weight_t(1.f) - 0.5f * z;
    return O::pack(O::div(1.f + 0.5f * z, below), O::div(u, below));
  }
  if (m == 1) gain = delta_val * PhiK<weight_t, 2>::eval(z);
  else if (m == 3) gain = PhiK<weight_t, 1>::eval(z) + (0.5f * delta_val) * PhiK<weight_t, 2>::eval(z);
  else if (m == 4)
    gain = PhiK<weight_t, 1>::eval(z) +
           delta_val * (PhiK<weight_t, 2>::eval(z) + (0.5f * delta_val) * PhiK<weight_t, 3>::eval(z));
  else if (m == 5) gain = 1.f + z * (0.5f + z * ((4.f + z) * (1.f / 24.f)));
  return O::pack(O::exponential(z), gain * u);
}
