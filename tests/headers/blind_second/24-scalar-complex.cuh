#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

struct GainPair {
  float re, im;
};

// phi_k, k = 1..3, of x + iy (y = 0 for real weights)
__device__ static GainPair phi_xy(const int k, const float x, const float y) {
  GainPair p;
  const float kf = k == 1 ? 1.0f : (k == 2 ? 2.0f : 6.0f);
  if (x * x + y * y < 2.0f) {
    float tr = 1.0f / kf, ti = 0.0f;
    p.re = tr;
    p.im = 0.0f;
    for (int j = k + 1; j < k + 19; j++) {
      const float nr = (tr * x - ti * y) / j;
      ti = (tr * y + ti * x) / j;
      tr = nr;
      p.re += tr;
      p.im += ti;
    }
    return p;
  }
  GainPair n;
  if (k == 1) {
    const float e = expf(x);
    n.re = e * cosf(y) - 1.0f;
    n.im = e * sinf(y);
  } else {
    n = phi_xy(k - 1, x, y);
    n.re -= k == 2 ? 1.0f : 0.5f;
  }
  const float m = hypotf(x, y), c = x / m, s = y / m;
  p.re = (n.re * c + n.im * s) / m;
  p.im = (n.im * c - n.re * s) / m;
  return p;
}

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  const float d = delta_val;
  if constexpr (!kIsComplex) {
    const float x = d * A_val, u = delta_u_val;
    float2 r = make_float2(expf(x), u);
    if (method == static_cast<DiscretizationMethod>(1)) r.y = d * phi_xy(2, x, 0.0f).re * u;
    if (method == static_cast<DiscretizationMethod>(2)) r = make_float2((1.0f + x / 2) / (1.0f - x / 2), u / (1.0f - x / 2));
    if (method == static_cast<DiscretizationMethod>(3)) r.y = (phi_xy(1, x, 0.0f).re + d / 2 * phi_xy(2, x, 0.0f).re) * u;
    if (method == static_cast<DiscretizationMethod>(4))
      r.y = (phi_xy(1, x, 0.0f).re + d * (phi_xy(2, x, 0.0f).re + d / 2 * phi_xy(3, x, 0.0f).re)) * u;
    if (method == static_cast<DiscretizationMethod>(5)) r.y = u * (1.0f + x / 2 * (1.0f + x / 3 * (1.0f + x / 4)));
    return r;
  } else {
    const float x = d * A_val.real_, y = d * A_val.imag_, ur = delta_u_val.real_, ui = delta_u_val.imag_;
    const float e = expf(x);
    float4 r = make_float4(e * cosf(y), e * sinf(y), ur, ui);
    const int m = static_cast<int>(method);
    if (m == 1) {
      const GainPair p = phi_xy(2, x, y);
      const float gr = d * p.re, gi = d * p.im;
      r.z = gr * ur - gi * ui;
      r.w = gr * ui - gi * ur;
    } else if (m == 2) {
      // (1 + z/2) / (1 - z/2), 1 / (1 - z/2)
      const float dr = 1.0f - x / 2, di = -y / 2, q = hypotf(dr, di), c = dr / q, s = -di / q;
      const float ir = c / q, ii = s / q, nr = 1.0f + x / 2, ni = y / 2;
      r = make_float4(nr * ir - ni * ii, nr * ii + ni * ir, ir * ur - ii * ui, ir * ui + ii * ur);
    } else if (m == 3) {
      const GainPair p = phi_xy(1, x, y), q = phi_xy(2, x, y);
      const float gr = p.re + d / 2 * q.re, gi = p.im + d / 2 * q.im;
      r.z = gr * ur - gi * ui;
      r.w = gr * ui + gi * ur;
    } else if (m == 4) {
      const GainPair p = phi_xy(1, x, y), q = phi_xy(2, x, y), t = phi_xy(3, x, y);
      const float gr = p.re + d * (q.re + d / 2 * t.re), gi = p.im + d * (q.im + d / 2 * t.im);
      r.z = gr * ur - gi * ui;
      r.w = gr * ui + gi * ur;
    } else if (m == 5) {
      float gr = 1.0f + x / 4, gi = y / 4, t;
      t = 1.0f + (x * gr - y * gi) / 3;
      gi = (x * gi + y * gr) / 3;
      gr = t;
      t = 1.0f + (x * gr - y * gi) / 2;
      gi = (x * gi + y * gr) / 2;
      gr = t;
      r.z = gr * ur - gi * ui;
      r.w = gr * ui + gi * ur;
    }
    return r;
  }
}
