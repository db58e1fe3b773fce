#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// Polynomials with real coefficients, highest first, by fused multiply-adds.
__device__ inline float poly_eval(const float* c, int n, float z) {
  float p = c[0];
  for (int i = 1; i < n; ++i) p = fmaf(p, z, c[i]);
  return p;
}
__device__ inline complex_t poly_eval(const float* c, int n, complex_t z) {
  float pr = c[0], pi = 0.f;
  for (int i = 1; i < n; ++i) {
    const float r = fmaf(pr, z.real_, fmaf(-pi, z.imag_, c[i]));
    pi = fmaf(pr, z.imag_, pi * z.real_);
    pr = r;
  }
  return complex_t(pr, pi);
}

__device__ inline float fexp(float z) { return expf(z); }
__device__ inline complex_t fexp(complex_t z) { return cexpf(z); }
__device__ inline float fsize(float z) { return fabsf(z); }
__device__ inline float fsize(complex_t z) { return fmaxf(fabsf(z.real_), fabsf(z.imag_)); }
__device__ inline float fdivide_(float a, float b) { return a / b; }
__device__ inline complex_t fdivide_(complex_t a, complex_t b) {
  const float m = fsize(b), x = b.real_ / m, y = b.imag_ / m;
  const float n = fmaf(x, x, y * y);
  return complex_t(fmaf(a.real_, x, a.imag_ * y) / n / m, fmaf(a.imag_, x, -a.real_ * y) / n / m);
}

// 1/18! ... 1/0!; phi_k has those from 1/k! on
__device__ inline void fill(float* c) {
  double f = 1.0;
  for (int i = 18; i >= 0; --i) {
    c[i] = float(1.0 / f);
    f *= double(19 - i);
  }
}

template <typename T>
__device__ T phi_fn(int k, T z) {
  float c[19];
  fill(c);
  if (fsize(z) < 1.25f) return poly_eval(c, 19 - k, z);
  T p = fexp(z);
  for (int j = 0; j < k; ++j) p = fdivide_(p - c[18 - j], z);
  return p;
}

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  const float d = delta_val;
  const float stages[5] = {float(1.0 / 24.0), float(1.0 / 6.0), 0.5f, 1.0f, 1.0f};
  weight_t a, g;
  switch (static_cast<int>(method)) {
    case 1: a = fexp(z); g = d * phi_fn(2, z); break;
    case 2: a = fdivide_(2.f + z, 2.f - z); g = fdivide_(weight_t(2.f), 2.f - z); break;
    case 3: a = fexp(z); g = phi_fn(1, z) + 0.5f * d * phi_fn(2, z); break;
    case 4: a = fexp(z); g = phi_fn(1, z) + d * (phi_fn(2, z) + 0.5f * d * phi_fn(3, z)); break;
    case 5: a = poly_eval(stages, 5, z); g = poly_eval(stages, 4, z); break;
    default: a = fexp(z); g = weight_t(1.f); break;
  }
  const weight_t b = g * delta_u_val;
  if constexpr (kIsComplex) return make_float4(a.real_, a.imag_, b.real_, b.imag_);
  else return make_float2(a, b);
}
