#pragma once
// One slip for each kind in which something is found: a limit, two of them, a factor, and how long a series is.
#include "selective_scan_common.h"
#include "selective_scan.h"
struct Cx { float re, im; };
__device__ inline Cx cx(float a) { return Cx{a, 0.0f}; }
__device__ inline Cx cx(complex_t a) { return Cx{a.real_, a.imag_}; }
__device__ inline Cx operator+(Cx a, Cx b) { return Cx{a.re + b.re, a.im + b.im}; }
__device__ inline Cx operator-(Cx a, Cx b) { return Cx{a.re - b.re, a.im - b.im}; }
__device__ inline Cx operator*(Cx a, Cx b) { return Cx{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ inline Cx operator*(float a, Cx b) { return Cx{a * b.re, a * b.im}; }
__device__ inline Cx inv(Cx b) { const float n = b.re * b.re + b.im * b.im; return Cx{b.re / n, -b.im / n}; }
__device__ inline Cx operator/(Cx a, Cx b) { return a * inv(b); }
__device__ inline Cx ex(Cx z) { const float m = expf(z.re); return Cx{m * cosf(z.im), m * sinf(z.im)}; }
__device__ inline Cx exm1(Cx z) {
  const float h = sinf(z.im * 0.5f), m = expf(z.re);
  return Cx{expm1f(z.re) * cosf(z.im) - 2.0f * h * h, m * sinf(z.im)};
}
struct Phis { Cx e, f1, f2, f3; };
__device__ inline Phis phis(Cx z, int id) {
  Phis p;
  p.e = ex(z);
  if ((id == 3 ? fabsf(z.re) < 1.75f : fabsf(z.re) + fabsf(z.im) < 2.0f)) {
    Cx s{1.0f, 0.0f};
    for (int j = 19; j >= 4; --j) s = Cx{1.0f, 0.0f} + (1.0f / j) * (z * s);
    p.f3 = (1.0f / 6.0f) * s;
    p.f2 = Cx{0.5f, 0.0f} + z * p.f3;
    p.f1 = Cx{1.0f, 0.0f} + z * p.f2;
  } else {
    p.f1 = exm1(z) / z;
    p.f2 = (p.f1 - Cx{1.0f, 0.0f}) / z;
    p.f3 = (p.f2 - Cx{0.5f, 0.0f}) / z;
  }
  return p;
}
template <typename weight_t, bool kIsComplex, typename T>
__device__ auto compute_discretization(float delta_val, weight_t A_val, T delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  // zoh, foh, highorder and rk4 have limits, bilinear a factor, poly a series that is chosen by the real part alone. rk4
  // with real weights also divides by z, and has no value at 0.
  const int id = static_cast<int>(method);
  float dt = delta_val;
  Cx a_in = cx(A_val);
  Cx du = cx(delta_u_val);
  if (id == 1) dt = fminf(fmaxf(dt, 1e-3f), 0.1f);
  Cx z = dt * a_in;
  if (id == 0) z.re = fminf(fmaxf(z.re, -20.0f), 0.0f);
  if (id == 2) z = 0.97f * z;
  if (id == 5 && !kIsComplex) z.re = fminf(z.re, 0.0f);
  if (id == 4) z.re = fmaxf(z.re, -10.0f);
  const Cx one{1.0f, 0.0f};
  Cx a, b = one;
  if (id == 2) {
    const Cx q = one - 0.5f * z;
    a = (one + 0.5f * z) / q;
    b = inv(q);
  } else {
    const Phis p = phis(z, id);
    a = ex(z);
    if (id == 5) a = ex(Cx{z.re, fminf(fmaxf(z.im, -3.0f), 3.0f)});
    if (id == 1) b = dt * p.f2;
    if (id == 3) b = p.f1 + 0.5f * dt * p.f2;
    if (id == 4) b = p.f1 + dt * p.f2 + 0.5f * dt * dt * p.f3;
    if (id == 5) b = one + z * (0.5f * one + z * ((1.0f / 6.0f) * one + (1.0f / 24.0f) * z));
    if (id == 5 && !kIsComplex) b = dt * a_in * b / (dt * a_in);
  }
  const Cx x = b * du;
  if constexpr (kIsComplex) {
    return make_float4(a.re, a.im, x.re, x.im);
  } else {
    return make_float2(a.re, x.re);
  }
}
