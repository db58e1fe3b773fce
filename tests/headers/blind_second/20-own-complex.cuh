#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// A small complex type of our own
struct cx {
  float r, i;
};
__device__ inline cx operator+(cx a, cx b) { return cx{a.r + b.r, a.i + b.i}; }
__device__ inline cx operator-(cx a, cx b) { return cx{a.r - b.r, a.i - b.i}; }
__device__ inline cx operator*(cx a, cx b) { return cx{a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r}; }
__device__ inline cx operator*(float s, cx a) { return cx{s * a.r, s * a.i}; }
__device__ inline cx one() { return cx{1.f, 0.f}; }
__device__ inline cx ediv(cx a, cx b) {
  if (fabsf(b.r) < fabsf(b.i)) {
    const float t = b.r / b.i, n = b.r * t + b.i;
    return cx{(a.r * t + a.i) / n, (a.i * t - a.r) / n};
  }
  const float t = b.i / b.r, n = b.r + b.i * t;
  return cx{(a.r + a.i * t) / n, (a.i - a.r * t) / n};
}
// 1 / a
__device__ inline cx rcp(cx a) {
  const float n = hypotf(a.r, a.i);
  return cx{a.r / n / n, a.i / n / n};
}
__device__ inline cx eexp(cx a) {
  const float m = expf(a.r);
  return cx{m * cosf(a.i), m * sinf(a.i)};
}

struct PhiTable {
  cx f[4];
};
__device__ inline PhiTable phi_table(cx z) {
  PhiTable t;
  t.f[0] = eexp(z);
  const float inv_factorial[4] = {1.f, 1.f, 0.5f, 1.f / 6.f};
  if (fabsf(z.r) + fabsf(z.i) < 1.5f) {
    for (int k = 1; k < 4; ++k) {
      cx s = one();
      for (int j = 17; j > 0; --j) s = one() + (1.f / (j + k)) * (z * s);
      t.f[k] = inv_factorial[k] * s;
    }
  } else {
    for (int k = 1; k < 4; ++k) t.f[k] = ediv(t.f[k - 1] - inv_factorial[k - 1] * one(), z);
  }
  return t;
}

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  const int m = (int)method;
  const float d = delta_val;
  if constexpr (kIsComplex) {
    const cx z = d * cx{A_val.real_, A_val.imag_}, u = cx{delta_u_val.real_, delta_u_val.imag_};
    cx a = one(), g = one();
    if (m == 2) {
      const cx inverse = rcp(one() - 0.5f * z);
      a = inverse * (one() + 0.5f * z);
      g = inverse;
    } else {
      const PhiTable t = phi_table(z);
      a = t.f[0];
      if (m == 1) g = d * t.f[2];
      if (m == 3) g = t.f[1] + 0.5f * t.f[2];
      if (m == 4) g = t.f[1] + d * (t.f[2] + (0.5f * d) * t.f[3]);
      if (m == 5) g = one() + z * (0.5f * one() + z * ((1.f / 6.f) * one() + (1.f / 24.f) * z));
    }
    const cx b = g * u;
    return make_float4(a.r, a.i, b.r, b.i);
  } else {
    const float z = d * A_val;
    if (m == 2) return make_float2((1.f + 0.5f * z) / (1.f - 0.5f * z), delta_u_val / (1.f - 0.5f * z));
    const PhiTable t = phi_table(cx{z, 0.f});
    float g = 1.f;
    if (m == 1) g = d * t.f[2].r;
    if (m == 3) g = t.f[1].r + 0.5f * t.f[2].r;
    if (m == 4) g = t.f[1].r + d * (t.f[2].r + 0.5f * d * t.f[3].r);
    if (m == 5) g = 1.f + z * (0.5f + z * ((1.f / 6.f) + z * (1.f / 24.f)));
    return make_float2(t.f[0].r, g * delta_u_val);
  }
}
