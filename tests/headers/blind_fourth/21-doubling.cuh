#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

// Scaling and doubling: phi at z / 2^s from a short series, then
//   phi0(2z) = phi0^2, phi1(2z) = (phi0 + 1) phi1 / 2, phi2(2z) = (phi1^2 + 2 phi2) / 4, phi3(2z) = (phi1 phi2 + phi2 + 2 phi3) / 8.
// Beyond |z| of 8 the quotients are safe. All in double: a thread has time for it.
struct w { double a, b; };
__device__ __forceinline__ w operator*(w p, w q) { return w{p.a * q.a - p.b * q.b, p.a * q.b + p.b * q.a}; }
__device__ __forceinline__ w operator+(w p, w q) { return w{p.a + q.a, p.b + q.b}; }
__device__ __forceinline__ w operator*(double s, w p) { return w{s * p.a, s * p.b}; }
__device__ __forceinline__ w inverse(w p) {
  const double n = p.a * p.a + p.b * p.b;
  return w{p.a / n, -p.b / n};
}
__device__ __forceinline__ w wide(float v) { return w{v, 0}; }
__device__ __forceinline__ w wide(complex_t v) { return w{v.real_, v.imag_}; }

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(
    float delta_val, weight_t A_val, typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
    weight_t B_val, DiscretizationMethod method) {
  const double d = delta_val;
  const w one{1, 0}, z = d * wide(A_val);
  w p[4];
  const double size = fabs(z.a) + fabs(z.b);
  const double e = exp(z.a);
  p[0] = w{e * cos(z.b), e * sin(z.b)};
  if (size > 8) {
    const w i = inverse(z);
    p[1] = (p[0] + w{-1, 0}) * i;
    p[2] = (p[1] + w{-1, 0}) * i;
    p[3] = (p[2] + w{-0.5, 0}) * i;
  } else {
    const w h = 0.0625 * z;  // at most 1/2
    p[3] = w{0, 0};
    for (int k = 12; k >= 4; --k) p[3] = (1.0 / k) * (h * (one + p[3]));
    p[3] = (1.0 / 6) * (one + p[3]);
    p[2] = w{0.5, 0} + h * p[3];
    p[1] = one + h * p[2];
    w q = one + h * p[1];
    for (int s = 0; s < 4; ++s) {
      const w p3 = 0.125 * (p[1] * p[2] + p[2] + 2.0 * p[3]);
      const w p2 = 0.25 * (p[1] * p[1] + 2.0 * p[2]);
      const w p1 = 0.5 * ((q + one) * p[1]);
      q = q * q;
      p[1] = p1, p[2] = p2, p[3] = p3;
    }
  }
  // B-bar / (delta B) = c0 + c1 phi1 + c2 phi2 + c3 phi3
  const double table[6][4] = {{1, 0, 0, 0}, {0, 0, d, 0}, {0, 0, 0, 0}, {0, 1, d / 2, 0}, {0, 1, d, d * d / 2}, {0, 0, 0, 0}};
  const int m = int(method);
  w gain = table[m][0] * one + table[m][1] * p[1] + table[m][2] * p[2] + table[m][3] * p[3];
  w decay = p[0];
  if (m == 2) {
    gain = inverse(one + -0.5 * z);
    decay = (one + 0.5 * z) * gain;
  }
  if (m == 5) gain = (1.0 / 24) * (w{24, 0} + z * (w{12, 0} + z * (w{4, 0} + z)));
  const w bu = gain * wide(delta_u_val);
  if constexpr (kIsComplex) return make_float4(decay.a, decay.b, bu.a, bu.b);
  else return make_float2(decay.a, bu.a);
}
