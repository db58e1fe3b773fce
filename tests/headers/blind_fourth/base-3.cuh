#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

// Coefficients are a vanishing share of the run time, so they are computed in double, as printed.
struct dc { double r, i; };
__device__ __forceinline__ dc dmul(dc a, dc b) { return dc{a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r}; }
__device__ __forceinline__ dc dadd(dc a, dc b) { return dc{a.r + b.r, a.i + b.i}; }
__device__ __forceinline__ dc dsub(dc a, dc b) { return dc{a.r - b.r, a.i - b.i}; }
__device__ __forceinline__ dc dscale(double s, dc a) { return dc{s * a.r, s * a.i}; }
__device__ __forceinline__ dc ddiv(dc a, dc b) {
  const double n = b.r * b.r + b.i * b.i;
  return dc{(a.r * b.r + a.i * b.i) / n, (a.i * b.r - a.r * b.i) / n};
}
__device__ __forceinline__ dc dexpz(dc z) {
  const double e = exp(z.r);
  return dc{e * cos(z.i), e * sin(z.i)};
}
__device__ __forceinline__ dc load(float a) { return dc{a, 0.0}; }
__device__ __forceinline__ dc load(complex_t a) { return dc{a.real_, a.imag_}; }

// (e^z - 1 - ... - z^(k-1)/(k-1)!) / A^k
__device__ __forceinline__ dc tail_over_power(int k, double delta, dc A) {
  const dc z = dscale(delta, A);
  if (z.r * z.r + z.i * z.i < 0.25) {
    dc s{0.0, 0.0}, t{1.0, 0.0};
    for (int j = 1; j <= k; ++j) t = dscale(delta / j, t);
    for (int j = k + 1; j <= k + 16; ++j) {
      s = dadd(s, t);
      t = dscale(1.0 / j, dmul(t, z));
    }
    return s;
  }
  dc num = dexpz(z), term{1.0, 0.0}, den{1.0, 0.0};
  for (int j = 0; j < k; ++j) {
    num = dsub(num, term);
    term = dscale(1.0 / (j + 1), dmul(term, z));
    den = dmul(den, A);
  }
  return ddiv(num, den);
}

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(
    float delta_val, weight_t A_val, typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
    weight_t B_val, DiscretizationMethod method) {
  const double delta = delta_val;
  const dc A = load(A_val), du = load(delta_u_val), one{1.0, 0.0};
  const dc z = dscale(delta, A);
  dc abar = dexpz(z), gain{1.0, 0.0};  // gain: B-bar / (delta B)
  switch (static_cast<int>(method)) {
    case 0:
      break;
    case 1:
      gain = dscale(1.0 / delta, tail_over_power(2, delta, A));
      break;
    case 2: {
      const dc half = dscale(0.5, z);
      abar = ddiv(dadd(one, half), dsub(one, half));
      gain = ddiv(one, dsub(one, half));
      break;
    }
    case 3:
      gain = dscale(1.0 / delta, dadd(tail_over_power(1, delta, A), dscale(0.5, tail_over_power(2, delta, A))));
      break;
    case 4: {
      dc sum{0.0, 0.0};
      const double inv_factorial[3] = {1.0, 1.0, 0.5};
      for (int i = 0; i <= 2; ++i) sum = dadd(sum, dscale(inv_factorial[i], tail_over_power(i + 1, delta, A)));
      gain = dscale(1.0 / delta, sum);
      break;
    }
    case 5: {
      const dc z2 = dmul(z, z);
      gain = dadd(dadd(one, dscale(1.0 / 2, z)), dadd(dscale(1.0 / 6, z2), dscale(1.0 / 24, dmul(z2, z))));
      break;
    }
  }
  if (delta_val == 0.f) gain = dc{0.0, 0.0};  // nothing moves in no time
  const dc bu = dmul(gain, du);
  if constexpr (kIsComplex) {
    return make_float4(float(abar.r), float(abar.i), float(bu.r), float(bu.i));
  } else {
    return make_float2(float(abar.r), float(bu.r));
  }
}
