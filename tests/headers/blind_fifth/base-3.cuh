#pragma once
#include "selective_scan.h"
#include "selective_scan_common.h"

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ float4 compute_discretization(float delta_val, complex_t A_val, complex_t delta_u_val, complex_t,
                                                         DiscretizationMethod method) {
  static_assert(kIsComplex, "complex build");
  const float x = delta_val * A_val.real_, y = delta_val * A_val.imag_;
  auto times = [](complex_t p, complex_t q) {
    return complex_t(p.real_ * q.real_ - p.imag_ * q.imag_, p.real_ * q.imag_ + p.imag_ * q.real_);
  };
  auto plus = [](complex_t p, float s, complex_t q) { return complex_t(p.real_ + s * q.real_, p.imag_ + s * q.imag_); };
  auto inverse = [](float re, float im) {
    const float m = fmaxf(fabsf(re), fabsf(im)), r = re / m, i = im / m;
    const float n = (r * r + i * i) * m;
    return complex_t(r / n, -i / n);
  };
  const complex_t z(x, y), one(1.f, 0.f);
  const float e = expf(x), c = cosf(y), s = sinf(y);
  complex_t decay(e * c, e * s), input = delta_u_val;
  const int m = static_cast<int>(method);

  if (m == 2) {
    const complex_t inv = inverse(1.f - 0.5f * x, -0.5f * y);
    decay = times(complex_t(1.f + 0.5f * x, 0.5f * y), inv);
    input = times(inv, delta_u_val);
  }
  if (m == 5) {
    complex_t b = plus(complex_t(1.f / 6.f, 0.f), 1.f / 24.f, z);
    b = plus(complex_t(0.5f, 0.f), 1.f, times(z, b));
    b = plus(one, 1.f, times(z, b));
    input = times(b, delta_u_val);
  }
  if (m == 1 || m == 3 || m == 4) {
    complex_t p1 = one, p2 = one, p3 = one;
    const bool huge = x > 40.f;
    const float h = huge ? expf(0.5f * x) : 1.f;
    if (fabsf(x) + fabsf(y) < 2.f) {
      for (int k = 20; k > 3; --k) p3 = plus(one, 1.f / k, times(z, p3));
      p3 = complex_t(p3.real_ / 6.f, p3.imag_ / 6.f);
      p2 = plus(complex_t(0.5f, 0.f), 1.f, times(z, p3));
      p1 = plus(one, 1.f, times(z, p2));
    } else {
      const complex_t inv = inverse(x, y);
      const float unit = huge ? 0.f : 1.f;
      p1 = times(huge ? complex_t(h * c, h * s) : plus(decay, -1.f, one), inv);
      p2 = times(plus(p1, -unit, one), inv);
      p3 = times(plus(p2, -0.5f * unit, one), inv);
    }
    complex_t b = p1;
    if (m == 1) b = complex_t(delta_val * p2.real_, delta_val * p2.imag_);
    if (m == 3) b = plus(p1, 0.5f * delta_val, p2);
    if (m == 4) b = plus(p1, delta_val, plus(p2, 0.5f * delta_val, p3));
    input = times(b, delta_u_val);
    input = complex_t(h * input.real_, h * input.imag_);
  }
  return make_float4(decay.real_, decay.imag_, input.real_, input.imag_);
}
