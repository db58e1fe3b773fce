#pragma once
#include "selective_scan.h"
#include "selective_scan_common.h"

template <bool kIsComplex> struct Arith;

template <> struct Arith<false> {
  using num = float;
  static __device__ num lift(float x) { return x; }
  static __device__ num mul(num a, num b) { return a * b; }
  static __device__ num div(num a, num b) { return a / b; }
  static __device__ num mad(float s, num a, num b) { return s * a + b; }  // s a + b
  static __device__ num exp(num a) { return expf(a); }
  static __device__ num expm1(num a) { return expm1f(a); }
  static __device__ float re(num a) { return a; }
  static __device__ float size(num a) { return fabsf(a); }
  static __device__ float2 result(num a, num b) { return make_float2(a, b); }
};

template <> struct Arith<true> {
  using num = complex_t;
  static __device__ num lift(float x) { return complex_t(x, 0.f); }
  static __device__ num lift(complex_t x) { return x; }
  static __device__ num mul(num a, num b) {
    return complex_t(a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_);
  }
  static __device__ num div(num a, num b) {  // Smith
    if (fabsf(b.real_) >= fabsf(b.imag_)) {
      const float t = b.imag_ / b.real_, n = b.real_ + b.imag_ * t;
      return complex_t((a.real_ + a.imag_ * t) / n, (a.imag_ - a.real_ * t) / n);
    }
    const float t = b.real_ / b.imag_, n = b.real_ * t + b.imag_;
    return complex_t((a.real_ * t + a.imag_) / n, (a.imag_ * t - a.real_) / n);
  }
  static __device__ num mad(float s, num a, num b) { return complex_t(s * a.real_ + b.real_, s * a.imag_ + b.imag_); }
  static __device__ num exp(num a) {
    const float r = expf(a.real_);
    return complex_t(r * cosf(a.imag_), r * sinf(a.imag_));
  }
  static __device__ num expm1(num a) {  // e^a cos b - 1 = expm1(a) cos b - 2 sin^2(b/2)
    const float s = sinf(0.5f * a.imag_);
    return complex_t(expm1f(a.real_) * cosf(a.imag_) - 2.f * s * s, expf(a.real_) * sinf(a.imag_));
  }
  static __device__ float re(num a) { return a.real_; }
  static __device__ float size(num a) { return fmaxf(fabsf(a.real_), fabsf(a.imag_)); }
  static __device__ float4 result(num a, num b) { return make_float4(a.real_, a.imag_, b.real_, b.imag_); }
};

// phi_k(z) for k = 1, 2, 3; with Re z > 40 without a factor e^(z/2), which the caller applies
template <typename M>
__device__ __forceinline__ typename M::num phi(int k, typename M::num z) {
  using num = typename M::num;
  const float factorial = k == 3 ? 6.f : k == 2 ? 2.f : 1.f;
  if (M::size(z) < 1.5f) {
    const num one = M::lift(1.f);
    num s = one;
    for (int j = k + 17; j > k; --j) s = M::mad(1.f / float(j), M::mul(z, s), one);
    return M::div(s, M::lift(factorial));
  }
  if (M::re(z) > 40.f) {
    num p = M::exp(M::mad(0.5f, z, M::lift(0.f)));
    for (int j = 0; j < k; ++j) p = M::div(p, z);
    return p;
  }
  num p = M::div(M::expm1(z), z);
  if (k > 1) p = M::div(M::mad(1.f, p, M::lift(-1.f)), z);
  if (k > 2) p = M::div(M::mad(1.f, p, M::lift(-0.5f)), z);
  return p;
}

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(
    float delta_val, weight_t A_val, typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
    weight_t B_val, DiscretizationMethod method) {
  using M = Arith<kIsComplex>;
  using num = typename M::num;
  const num zero = M::lift(0.f), one = M::lift(1.f);
  const num z = M::mad(delta_val, M::lift(A_val), zero);
  const num du = M::lift(delta_u_val);
  num a_bar = M::exp(z);
  num gain = one;
  bool uses_phi = false;
  switch (int(method)) {
    case 1:  // A^-2 (e^z - I - z) B = delta^2 phi2 B
      gain = M::mad(delta_val, phi<M>(2, z), zero);
      uses_phi = true;
      break;
    case 2: {
      const num den = M::mad(-0.5f, z, one);
      a_bar = M::div(M::mad(0.5f, z, one), den);
      gain = M::div(one, den);
      break;
    }
    case 3:
      gain = M::mad(0.5f * delta_val, phi<M>(2, z), phi<M>(1, z));
      uses_phi = true;
      break;
    case 4:
      gain = M::mad(0.5f * delta_val, phi<M>(3, z), phi<M>(2, z));
      gain = M::mad(delta_val, gain, phi<M>(1, z));
      uses_phi = true;
      break;
    case 5:
      gain = M::mad(1.f / 24.f, z, M::lift(1.f / 6.f));
      gain = M::mad(1.f, M::mul(gain, z), M::lift(0.5f));
      gain = M::mad(1.f, M::mul(gain, z), one);
      break;
    default:
      break;
  }
  num b_u = M::mul(gain, du);
  if (uses_phi && M::re(z) > 40.f) b_u = M::mul(b_u, M::exp(M::mad(0.5f, z, zero)));
  return M::result(a_bar, b_u);
}
