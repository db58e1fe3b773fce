#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// double inside, so that the closed forms need no series except close to zero
struct dcomplex_ {
  double re, im;
};
__device__ inline dcomplex_ dmul(dcomplex_ a, dcomplex_ b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ inline dcomplex_ ddiv(dcomplex_ a, dcomplex_ b) {
  const double n = b.re * b.re + b.im * b.im;
  return {(a.re * b.re + a.im * b.im) / n, (a.im * b.re - a.re * b.im) / n};
}

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  const double d = delta_val;
  dcomplex_ A, du;
  if constexpr (kIsComplex) {
    A = {A_val.real_, A_val.imag_};
    du = {delta_u_val.real_, delta_u_val.imag_};
  } else {
    A = {A_val, 0.0};
    du = {delta_u_val, 0.0};
  }
  const dcomplex_ z = {d * A.re, d * A.im};
  const double absz = sqrt(z.re * z.re + z.im * z.im), absA = sqrt(A.re * A.re + A.im * A.im);
  const double r = exp(z.re);
  dcomplex_ a = {r * cos(z.im), r * sin(z.im)}, g = {1.0, 0.0};
  switch (static_cast<int>(method)) {
    case 0:
      break;
    case 1: {
      if (absz < 1e-3) {
        const dcomplex_ z2 = dmul(z, z);
        g = {d * (0.5 + z.re / 6 + z2.re / 24), d * (z.im / 6 + z2.im / 24)};
      } else {
        g = ddiv({a.re - 1 - z.re, a.im - z.im}, z);
        g = ddiv({g.re * d, g.im * d}, z);
      }
      break;
    }
    case 2: {
      const dcomplex_ den = {1 - z.re / 2, -z.im / 2};
      a = ddiv({1 + z.re / 2, z.im / 2}, den);
      g = ddiv({1, 0}, den);
      break;
    }
    case 3: {
      if (absA < 1.0) {
        // A -> 0: A^-1 (e^z - 1) -> delta, A^-2 (e^z - 1 - z) -> delta^2 / 2
        g = {1.0 + 0.25 * d, 0.0};
      } else if (absz < 1e-3) {
        const dcomplex_ z2 = dmul(z, z);
        g = {1 + z.re / 2 + z2.re / 6 + 0.5 * d * (0.5 + z.re / 6 + z2.re / 24),
             z.im / 2 + z2.im / 6 + 0.5 * d * (z.im / 6 + z2.im / 24)};
      } else {
        const dcomplex_ p1 = ddiv({a.re - 1, a.im}, z);
        const dcomplex_ p2 = ddiv({p1.re - 1, p1.im}, z);
        g = {p1.re + 0.5 * d * p2.re, p1.im + 0.5 * d * p2.im};
      }
      break;
    }
    case 4: {
      if (absz < 2e-3) {
        const dcomplex_ z2 = dmul(z, z);
        g = {1 + z.re / 2 + z2.re / 6 + d * (0.5 + z.re / 6 + z2.re / 24) + 0.5 * d * d * (1.0 / 6 + z.re / 24 + z2.re / 120),
             z.im / 2 + z2.im / 6 + d * (z.im / 6 + z2.im / 24) + 0.5 * d * d * (z.im / 24 + z2.im / 120)};
      } else {
        const dcomplex_ p1 = ddiv({a.re - 1, a.im}, z);
        const dcomplex_ p2 = ddiv({p1.re - 1, p1.im}, z);
        const dcomplex_ p3 = ddiv({p2.re - 0.5, p2.im}, z);
        g = {p1.re + d * (p2.re + 0.5 * d * p3.re), p1.im + d * (p2.im + 0.5 * d * p3.im)};
      }
      break;
    }
    case 5: {
      const dcomplex_ z2 = dmul(z, z), z3 = dmul(z2, z);
      g = {1 + z.re / 2 + z2.re / 6 + z3.re / 24, z.im / 2 + z2.im / 6 + z3.im / 24};
      break;
    }
  }
  const dcomplex_ b = dmul(g, du);
  if constexpr (kIsComplex) return make_float4(float(a.re), float(a.im), float(b.re), float(b.im));
  else return make_float2(float(a.re), float(b.re));
}
