#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

// One Runge-Kutta step of x' = A x + B u with constant u, from x = 0: k1 = 1, and so on (in units of B u)
namespace rk {
template <bool kIsComplex> struct num;
template <> struct num<false> {
  float v;
  __device__ num(float a) : v(a) {}
  __device__ num step(float h, num z) const { return num(1.f + h * (z.v * v)); }   // 1 + h z k
  __device__ num plus(float w, num o) const { return num(v + w * o.v); }
  __device__ num times(num o) const { return num(v * o.v); }
  __device__ num decay() const { return num(expf(v)); }
  __device__ num scaled(float s) const { return num(s * v); }
};
template <> struct num<true> {
  float r, i;
  __device__ num(float a) : r(a), i(0.f) {}
  __device__ num(complex_t a) : r(a.real_), i(a.imag_) {}
  __device__ num(float a, float b) : r(a), i(b) {}
  __device__ num times(num o) const { return num(r * o.r - i * o.i, r * o.i + i * o.r); }
  __device__ num step(float h, num z) const { const num t = times(z); return num(1.f + h * t.r, h * t.i); }
  __device__ num plus(float w, num o) const { return num(r + w * o.r, i + w * o.i); }
  __device__ num decay() const { const float e = expf(r); return num(e * cosf(i), e * sinf(i)); }
  __device__ num scaled(float s) const { return num(s * r, s * i); }
};
__device__ __forceinline__ float2 out(num<false> a, num<false> b) { return make_float2(a.v, b.v); }
__device__ __forceinline__ float4 out(num<true> a, num<true> b) { return make_float4(a.r, a.i, b.r, b.i); }
}  // namespace rk

// rk4 only; the other methods live in their own files.
template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(
    float delta_val, weight_t A_val, typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
    weight_t B_val, DiscretizationMethod) {
  using num = rk::num<kIsComplex>;
  const num z = num(A_val).scaled(delta_val);
  const num k1(1.f);
  const num k2 = k1.step(0.5f, z);
  const num k3 = k2.step(0.5f, z);
  const num k4 = k3.step(0.5f, z);
  const num sum = k1.plus(2.f, k2).plus(2.f, k3).plus(1.f, k4).scaled(1.f / 6.f);
  return rk::out(z.decay(), sum.times(num(delta_u_val)));
}
