// SSM discretization coefficients, everything written out in components.
#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// phi_2 and phi_3 near the origin; phi_1 is always (e^z - 1) / z.
__device__ inline void phi23_series(float x, float y, float& p2r, float& p2i, float& p3r, float& p3i) {
  float ar = 0.f, ai = 0.f, br = 0.f, bi = 0.f;
  for (int n = 17; n >= 0; --n) {
    // a <- 1 + z a / (n + 3);  b <- 1 + z b / (n + 4)
    const float tr = (x * ar - y * ai) / float(n + 3), ti = (x * ai + y * ar) / float(n + 3);
    ar = 1.f + tr;
    ai = ti;
    const float sr = (x * br - y * bi) / float(n + 4), si = (x * bi + y * br) / float(n + 4);
    br = 1.f + sr;
    bi = si;
  }
  p2r = 0.5f * ar;
  p2i = 0.5f * ai;
  p3r = br / 6.f;
  p3i = bi / 6.f;
}

// (ar + i ai) / (br + i bi), no overflow in between
__device__ inline void div_smith(float ar, float ai, float br, float bi, float& qr, float& qi) {
  if (fabsf(br) >= fabsf(bi)) {
    const float t = bi / br, d = br + bi * t;
    qr = (ar + ai * t) / d;
    qi = (ai - ar * t) / d;
  } else {
    const float t = br / bi, d = br * t + bi;
    qr = (ar * t + ai) / d;
    qi = (ai * t - ar) / d;
  }
}

template <typename weight_t, bool kIsComplex, typename du_t>
__device__ auto compute_discretization(float delta_val, weight_t A_val, du_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  (void)B_val;  // applied by the caller
  const int m = static_cast<int>(method);
  if constexpr (!kIsComplex) {
    const float z = delta_val * A_val;
    const float lo = fmaf(delta_val, A_val, -z);  // what the product lost
    float abar, g;
    if (m == 2) {
      const float h = 0.5f * delta_val;
      const float den = fmaf(-h, A_val, 1.f);
      abar = fmaf(h, A_val, 1.f) / den;
      return make_float2(abar, delta_u_val / den);
    }
    abar = expf(z);
    if (abar < 1e30f) abar = abar + abar * lo;
    if (m == 0) return make_float2(abar, delta_u_val);
    if (m == 5) {
      g = 1.f + z * (0.5f + z * (float(1.0 / 6.0) + z * float(1.0 / 24.0)));
      return make_float2(abar, delta_u_val * g);
    }
    float p1 = 1.f, p2, p3, dummy, dummy2;
    if (z != 0.f) p1 = expm1f(z) / z;
    if (fabsf(z) < 2.f) {
      phi23_series(z, 0.f, p2, dummy, p3, dummy2);
    } else {
      p2 = (p1 - 1.f) / z;
      p3 = (p2 - 0.5f) / z;
    }
    if (m == 1) g = delta_val * p2;
    else if (m == 3) g = p1 + 0.5f * delta_val * p2;
    else g = p1 + delta_val * (p2 + 0.5f * delta_val * p3);
    return make_float2(abar, delta_u_val * g);
  } else {
    const complex_t du = delta_u_val;
    const float x = delta_val * A_val.real_, y = delta_val * A_val.imag_;
    const float xl = fmaf(delta_val, A_val.real_, -x), yl = fmaf(delta_val, A_val.imag_, -y);
    float gr, gi, er, ei;
    if (m == 2) {
      const float h = 0.5f * delta_val;
      const float dr = fmaf(-h, A_val.real_, 1.f), di = -0.5f * y;
      div_smith(fmaf(h, A_val.real_, 1.f), 0.5f * y, dr, di, er, ei);
      div_smith(1.f, 0.f, dr, di, gr, gi);
    } else {
      float s, c;
      sincosf(y, &s, &c);
      const float r = expf(x);
      er = r * c;
      ei = r * s;
      if (r < 1e30f && fabsf(y) < 1e6f) {
        const float tr = er * xl - ei * yl, ti = er * yl + ei * xl;
        er += tr;
        ei += ti;
      }
      if (m == 0) {
        gr = 1.f;
        gi = 0.f;
      } else if (m == 5) {
        float hr = 1.f + 0.25f * x, hi = 0.25f * y, t;
        t = (x * hr - y * hi) / 3.f;
        hi = (x * hi + y * hr) / 3.f;
        hr = 1.f + t;
        gr = 1.f + 0.5f * (x * hr - y * hi);
        gi = 0.5f * (x * hi + y * hr);
      } else {
        float p1r = 1.f, p1i = 0.f, p2r, p2i, p3r, p3i;
        if (x != 0.f || y != 0.f) {
          const float em = expm1f(x), sh = sinf(0.5f * y);
          div_smith(em * c - 2.f * sh * sh, r * s, x, y, p1r, p1i);
        }
        if (fmaxf(fabsf(x), fabsf(y)) < 1.5f) {
          phi23_series(x, y, p2r, p2i, p3r, p3i);
        } else {
          div_smith(p1r - 1.f, p1i, x, y, p2r, p2i);
          div_smith(p2r - 0.5f, p2i, x, y, p3r, p3i);
        }
        const float d = delta_val;
        if (m == 1) {
          gr = d * p2r;
          gi = d * p2i;
        } else if (m == 3) {
          gr = p1r + 0.5f * d * p2r;
          gi = p1i + 0.5f * d * p2i;
        } else {
          gr = p1r + d * (p2r + 0.5f * d * p3r);
          gi = p1i + d * (p2i + 0.5f * d * p3i);
        }
      }
    }
    return make_float4(er, ei, du.real_ * gr - du.imag_ * gi, du.real_ * gi + du.imag_ * gr);
  }
}
