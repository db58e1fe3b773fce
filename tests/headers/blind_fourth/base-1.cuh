#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

namespace disc {

struct cpx { float re, im; };

__device__ __forceinline__ cpx operator+(cpx a, cpx b) { return cpx{a.re + b.re, a.im + b.im}; }
__device__ __forceinline__ cpx operator*(cpx a, cpx b) {
  return cpx{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ __forceinline__ cpx operator*(float s, cpx a) { return cpx{s * a.re, s * a.im}; }
__device__ __forceinline__ cpx operator+(float s, cpx a) { return cpx{s + a.re, a.im}; }
__device__ __forceinline__ cpx operator-(float s, cpx a) { return cpx{s - a.re, -a.im}; }
__device__ __forceinline__ cpx operator-(cpx a, float s) { return cpx{a.re - s, a.im}; }
// a / b, scaled so that |b|^2 stays in range
__device__ __forceinline__ cpx operator/(cpx a, cpx b) {
  const float s = 1.f / fmaxf(fabsf(b.re), fabsf(b.im));
  const float br = b.re * s, bi = b.im * s;
  const float n = s / (br * br + bi * bi);
  return cpx{(a.re * br + a.im * bi) * n, (a.im * br - a.re * bi) * n};
}

__device__ __forceinline__ float expz(float z) { return expf(z); }
__device__ __forceinline__ cpx expz(cpx z) {
  const float r = expf(z.re);
  return cpx{r * cosf(z.im), r * sinf(z.im)};
}
__device__ __forceinline__ float mag(float z) { return fabsf(z); }
__device__ __forceinline__ float mag(cpx z) { return fabsf(z.re) + fabsf(z.im); }
__device__ __forceinline__ float realpart(float z) { return z; }
__device__ __forceinline__ float realpart(cpx z) { return z.re; }

__device__ __forceinline__ float from(float a) { return a; }
__device__ __forceinline__ cpx from(complex_t a) { return cpx{a.real_, a.imag_}; }
__device__ __forceinline__ float2 pack(float a, float b) { return make_float2(a, b); }
__device__ __forceinline__ float4 pack(cpx a, cpx b) { return make_float4(a.re, a.im, b.re, b.im); }

// phi_k(z) / g; g is 1 unless e^z would leave f32
template <typename T>
struct Phi { T p0, p1, p2, p3, g; };

template <typename T>
__device__ __forceinline__ Phi<T> phis(T z) {
  Phi<T> f;
  f.g = 1.f + 0.f * z;
  if (mag(z) < 2.f) {
    // sum of z^k / (k+3)!
    T acc = 0.f * z;
    const float inv[14] = {1.f / 6.f, 1.f / 24.f, 1.f / 120.f, 1.f / 720.f, 1.f / 5040.f, 1.f / 40320.f,
                           1.f / 362880.f, 1.f / 3628800.f, 1.f / 39916800.f, 1.f / 479001600.f,
                           1.f / 6227020800.f, 1.f / 87178291200.f, 1.f / 1307674368000.f, 1.f / 20922789888000.f};
    for (int k = 13; k >= 0; --k) acc = inv[k] + z * acc;
    f.p3 = acc;
    f.p2 = 0.5f + z * f.p3;
    f.p1 = 1.f + z * f.p2;
    f.p0 = expz(z);
  } else if (realpart(z) > 40.f) {
    f.g = expz(0.5f * z);
    f.p0 = f.g;
    f.p1 = f.p0 / z;
    f.p2 = f.p1 / z;
    f.p3 = f.p2 / z;
  } else {
    f.p0 = expz(z);
    f.p1 = (f.p0 - 1.f) / z;
    f.p2 = (f.p1 - 1.f) / z;
    f.p3 = (f.p2 - 0.5f) / z;
  }
  return f;
}

}  // namespace disc

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(
    float delta_val, weight_t A_val, typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
    weight_t B_val, DiscretizationMethod method) {
  using namespace disc;
  const auto z = delta_val * from(A_val);
  const auto du = from(delta_u_val);
  const auto f = phis(z);
  auto abar = f.p0 * f.g;
  auto bu = du;
  const int m = static_cast<int>(method);
  if (m == 1) {
    bu = (delta_val * f.p2) * du * f.g;
  } else if (m == 2) {
    const auto den = 1.f - 0.5f * z;
    abar = (1.f + 0.5f * z) / den;
    bu = du / den;
  } else if (m == 3) {
    bu = (f.p1 + (0.5f * delta_val) * f.p2) * du * f.g;
  } else if (m == 4) {
    bu = (f.p1 + delta_val * (f.p2 + (0.5f * delta_val) * f.p3)) * du * f.g;
  } else if (m == 5) {
    bu = (1.f + z * ((1.f / 2.f) + z * ((1.f / 6.f) + (1.f / 24.f) * z))) * du;
  }
  return pack(abar, bu);
}
