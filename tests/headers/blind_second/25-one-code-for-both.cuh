// One code path: real weights are complex ones whose imaginary part is zero.
#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

struct Disc25 {
  // (1/z): exponent taken out first
  static __device__ complex_t inv(complex_t z) {
    float m = fmaxf(fabsf(z.real_), fabsf(z.imag_));
    float a = z.real_ / m, b = z.imag_ / m;
    float n = (a * a + b * b) * m;
    return complex_t(a / n, -b / n);
  }
  // e^{z/2} sinh(z/2) / (z/2), with sinh(x + iy) = sinh x cos y + i cosh x sin y
  static __device__ complex_t phi1(complex_t z) {
    float hx = 0.5f * z.real_, hy = 0.5f * z.imag_;
    if (z.real_ == 0.f && z.imag_ == 0.f) return complex_t(1.f, 0.f);
    if (fabsf(hx) > 20.f) return (cexpf(z) - 1.f) * inv(z);
    float s, c;
    sincosf(hy, &s, &c);
    float r = expf(hx);
    complex_t half_exp(r * c, r * s);
    complex_t sh(sinhf(hx) * c, coshf(hx) * s);
    return half_exp * (sh * inv(complex_t(hx, hy)));
  }
  // (phi_k(z) - 1/k!)/z for large |z|, otherwise the series sum z^j / (j+k+1)!
  static __device__ complex_t next(complex_t z, complex_t below, float below_at_0, int k) {
    float at_0 = below_at_0 / float(k + 1);
    if (fabsf(z.real_) + fabsf(z.imag_) >= 2.f) return (below - below_at_0) * inv(z);
    complex_t t(at_0), sum(at_0);
    for (int j = 1; j <= 18; ++j) {
      t = t * z * (1.f / float(j + k + 1));
      sum += t;
    }
    return sum;
  }
};

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  complex_t A(0.f), du(0.f);
  if constexpr (kIsComplex) {
    A = A_val;
    du = delta_u_val;
  } else {
    A = complex_t(A_val, 0.f);
    du = complex_t(delta_u_val, 0.f);
  }
  const int m = int(method);
  complex_t a(1.f), b(0.f);
  if (delta_val == 0.f) {
    // nothing happens in no time
  } else {
    complex_t z(fmaxf(delta_val * A.real_, -1e4f), delta_val * A.imag_);  // e^-1e4 is 0 already
    if (m == 2 || m == 5) z = delta_val * A;
    complex_t p1, p2, p3;
    if (m == 1 || m == 3 || m == 4) {
      z = delta_val * A;
      p1 = Disc25::phi1(z);
      p2 = Disc25::next(z, p1, 1.f, 1);
      p3 = Disc25::next(z, p2, 0.5f, 2);
    }
    a = cexpf(z);
    if (m == 0) b = du;
    if (m == 1) b = p2 * delta_val * du;
    if (m == 2) {
      // (1 + z/2) / (1 - z/2) = 4 / (2 - z) - 1, the latter where z is large
      complex_t q = Disc25::inv(2.f - z);
      a = fabsf(z.real_) + fabsf(z.imag_) < 8.f ? (2.f + z) * q : 4.f * q - 1.f;
      b = 2.f * q * du;
    }
    if (m == 3) b = p1 * du + 0.5f * delta_val * p2 * du;
    if (m == 4) b = (p1 + delta_val * p2 + 0.5f * delta_val * (delta_val * p3)) * du;
    if (m == 5) b = (24.f + z * (12.f + z * (4.f + z))) * float(1.0 / 24.0) * du;
  }
  if constexpr (kIsComplex) {
    return make_float4(a.real_, a.imag_, b.real_, b.imag_);
  } else {
    return make_float2(a.real_, b.real_);
  }
}
