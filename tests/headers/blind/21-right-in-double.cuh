// Coefficients in double, rounded once: slow on consumer cards, but nobody has to think about cancellation.
#pragma once

#include "selective_scan_common.h"
#include "selective_scan.h"

namespace wide {

struct Z {
  double re, im;
};
__device__ inline Z operator+(Z a, Z b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline Z operator-(Z a, Z b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline Z operator*(Z a, Z b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ inline Z operator*(double a, Z b) { return {a * b.re, a * b.im}; }
__device__ inline Z operator/(Z a, Z b) {
  const double norm = b.re * b.re + b.im * b.im;
  return {(a.re * b.re + a.im * b.im) / norm, (a.im * b.re - a.re * b.im) / norm};
}
__device__ inline Z real(double x) { return {x, 0.0}; }
__device__ inline Z cexp(Z z) {
  const double m = exp(z.re);
  if (z.im == 0.0) return {m, 0.0};
  return {m * cos(z.im), m * sin(z.im)};
}

// phi_k(z), k = 0..3, through phi_3: a long series inside the unit disk, the recurrence from e^z outside.
__device__ inline void phis(Z z, Z* p) {
  p[0] = cexp(z);
  if (z.re * z.re + z.im * z.im < 1.0) {
    Z s = real(1.0);
    for (int k = 21; k >= 4; --k) s = real(1.0) + (1.0 / k) * (z * s);
    p[3] = (1.0 / 6.0) * s;
    p[2] = real(0.5) + z * p[3];
    p[1] = real(1.0) + z * p[2];
  } else {
    p[1] = (p[0] - real(1.0)) / z;
    p[2] = (p[1] - real(1.0)) / z;
    p[3] = (p[2] - real(0.5)) / z;
  }
}

__device__ inline void step(double dt, Z a, Z w, int method, Z* a_bar, Z* input) {
  const Z z = dt * a;
  Z p[4];
  phis(z, p);
  *a_bar = p[0];
  Z g = real(1.0);
  if (method == 1) {
    g = dt * p[2];
  } else if (method == 2) {
    const Z below = real(1.0) - 0.5 * z;
    g = real(1.0) / below;
    *a_bar = (real(1.0) + 0.5 * z) / below;
  } else if (method == 3) {
    g = p[1] + (dt / 2.0) * p[2];
  } else if (method == 4) {
    g = p[1] + dt * p[2] + (dt * dt / 2.0) * p[3];
  } else if (method == 5) {
    g = real(1.0) + (1.0 / 2.0) * z + (1.0 / 6.0) * (z * z) + (1.0 / 24.0) * (z * z * z);
  }
  *input = g * w;
}

__device__ inline Z widen(float x) { return {x, 0.0}; }
__device__ inline Z widen(complex_t x) { return {x.real_, x.imag_}; }

}  // namespace wide

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t /*B_val*/,
                                       DiscretizationMethod method) {
  wide::Z a_bar, input;
  wide::step(delta_val, wide::widen(A_val), wide::widen(delta_u_val), static_cast<int>(method), &a_bar, &input);
  if constexpr (kIsComplex) {
    return make_float4(float(a_bar.re), float(a_bar.im), float(input.re), float(input.im));
  } else {
    return make_float2(float(a_bar.re), float(input.re));
  }
}
