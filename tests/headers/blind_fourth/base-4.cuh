#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val, complex_t delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  static_assert(kIsComplex, "S4D weights only");
  const int id = static_cast<int>(method);
  const float a = delta_val * A_val.real_, b = delta_val * A_val.imag_;  // z = a + ib
  float du_r = delta_u_val.real_, du_i = delta_u_val.imag_;
  const float ea = expf(a), cb = cosf(b), sb = sinf(b);
  float Ar = ea * cb, Ai = ea * sb;
  float gr = 1.f, gi = 0.f;  // B-bar u = (gr + i gi) du

  if (id == 2) {
    const float dr = 1.f - 0.5f * a, di = -0.5f * b;
    const float s = fmaxf(fabsf(dr), fabsf(di));
    const float xr = dr / s, xi = di / s;
    const float n = (xr * xr + xi * xi) * s;
    gr = xr / n;
    gi = -xi / n;
    const float nr = 1.f + 0.5f * a, ni = 0.5f * b;
    Ar = nr * gr - ni * gi;
    Ai = nr * gi + ni * gr;
  } else if (id == 5) {
    gr = 1.f / 24.f;
    const float c[3] = {1.f / 6.f, 1.f / 2.f, 1.f};
    for (int k = 0; k < 3; ++k) {
      const float t = gr * a - gi * b + c[k];
      gi = gr * b + gi * a;
      gr = t;
    }
  } else if (id != 0) {
    float p1r, p1i, p2r, p2i, p3r, p3i, up = 1.f;
    if (a * a + b * b < 4.f) {
      float sr = 0.f, si = 0.f;
      for (int k = 16; k >= 3; --k) {  // z/(k+1) nesting: 1/6 (1 + z/4 (1 + z/5 (...)))
        const float w = 1.f / (k + 1);
        const float t = 1.f + w * (sr * a - si * b);
        si = w * (sr * b + si * a);
        sr = t;
      }
      p3r = sr / 6.f;
      p3i = si / 6.f;
      p2r = 0.5f + (a * p3r - b * p3i);
      p2i = a * p3i + b * p3r;
      p1r = 1.f + (a * p2r - b * p2i);
      p1i = a * p2i + b * p2r;
    } else {
      const float s = fmaxf(fabsf(a), fabsf(b));
      const float xr = a / s, xi = b / s;
      const float n = (xr * xr + xi * xi) * s;
      const float ir = xr / n, ii = -xi / n;  // 1/z
      const float k = a > 40.f ? 0.f : 1.f;  // beside e^40 the rest vanishes
      up = a > 40.f ? expf(0.5f * a) : 1.f;
      const float er = a > 40.f ? up * cb : Ar, ei = a > 40.f ? up * sb : Ai;
      p1r = (er - k) * ir - ei * ii;
      p1i = (er - k) * ii + ei * ir;
      p2r = (p1r - k) * ir - p1i * ii;
      p2i = (p1r - k) * ii + p1i * ir;
      p3r = (p2r - 0.5f * k) * ir - p2i * ii;
      p3i = (p2r - 0.5f * k) * ii + p2i * ir;
    }
    const float d = delta_val;
    if (id == 1) {
      gr = d * p2r;
      gi = d * p2i;
    } else if (id == 3) {
      gr = p1r + 0.5f * d * p2r;
      gi = p1i + 0.5f * d * p2i;
    } else {
      gr = p1r + d * (p2r + 0.5f * d * p3r);
      gi = p1i + d * (p2i + 0.5f * d * p3i);
    }
    du_r *= up;
    du_i *= up;
  }
  return make_float4(Ar, Ai, gr * du_r - gi * du_i, gr * du_i + gi * du_r);
}
