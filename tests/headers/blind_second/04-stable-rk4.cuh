#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

#define M_ZOH 0
#define M_FOH 1
#define M_BILINEAR 2
#define M_POLY 3
#define M_HIGH 4
#define M_RK4 5

// (xr + i xi) *= (yr + i yi)
#define CMUL(xr, xi, yr, yi)                  \
  do {                                        \
    const float t_ = (xr) * (yr) - (xi) * (yi); \
    xi = (xr) * (yi) + (xi) * (yr);           \
    xr = t_;                                  \
  } while (0)

namespace stable {

// phi_k of a complex number by its series, k = 1, 2, 3
__device__ inline void taylor(float zr, float zi, int k, float inv_k_factorial, float* pr, float* pi) {
  float sr = 1.f, si = 0.f;
  for (int n = 16; n >= 1; n--) {
    CMUL(sr, si, zr, zi);
    sr = sr / (n + k) + 1.f;
    si = si / (n + k);
  }
  *pr = sr * inv_k_factorial;
  *pi = si * inv_k_factorial;
}

// reciprocal without overflow
__device__ inline void recip(float zr, float zi, float* rr, float* ri) {
  if (fabsf(zr) > fabsf(zi)) {
    const float q = zi / zr, d = 1.f / (zr + zi * q);
    *rr = d;
    *ri = -q * d;
  } else {
    const float q = zr / zi, d = 1.f / (zi + zr * q);
    *rr = q * d;
    *ri = -d;
  }
}

// gain g with Bbar u = g * (delta u), and Abar
__device__ inline void gains(int method, float d, float Ar, float Ai, float* ar, float* ai, float* gr, float* gi) {
  float zr = d * Ar, zi = d * Ai;
  if (method == M_BILINEAR) {
    float nr = 1.f + 0.5f * zr, ni = 0.5f * zi;
    recip(1.f - 0.5f * zr, -ni, gr, gi);
    CMUL(nr, ni, *gr, *gi);
    *ar = nr;
    *ai = ni;
    return;
  }
  float s, c;
  sincosf(zi, &s, &c);
  const float e = expf(zr);
  *ar = e * c;
  *ai = e * s;
  *gr = 1.f;
  *gi = 0.f;
  if (method == M_ZOH) return;
  if (method == M_RK4) {
    // do not leave the stability region of the explicit scheme
    zr = fmaxf(zr, -1.f);
    float pr = 1.f / 24.f, pi = 0.f;
    CMUL(pr, pi, zr, zi);
    pr += 1.f / 6.f;
    CMUL(pr, pi, zr, zi);
    pr += 0.5f;
    CMUL(pr, pi, zr, zi);
    *gr = pr + 1.f;
    *gi = pi;
    return;
  }
  float p1r, p1i, p2r, p2i, p3r, p3i;
  if (fabsf(zr) + fabsf(zi) < 1.25f) {
    taylor(zr, zi, 1, 1.f, &p1r, &p1i);
    taylor(zr, zi, 2, 0.5f, &p2r, &p2i);
    taylor(zr, zi, 3, 1.f / 6.f, &p3r, &p3i);
  } else {
    float rr, ri;
    recip(zr, zi, &rr, &ri);
    p1r = *ar - 1.f;
    p1i = *ai;
    CMUL(p1r, p1i, rr, ri);
    p2r = p1r - 1.f;
    p2i = p1i;
    CMUL(p2r, p2i, rr, ri);
    p3r = p2r - 0.5f;
    p3i = p2i;
    CMUL(p3r, p3i, rr, ri);
  }
  switch (method) {
    case M_FOH:
      *gr = d * p2r;
      *gi = d * p2i;
      break;
    case M_POLY:
      *gr = p1r + 0.5f * d * p2r;
      *gi = p1i + 0.5f * d * p2i;
      break;
    case M_HIGH:
      *gr = p1r + d * (p2r + 0.5f * d * p3r);
      *gi = p1i + d * (p2i + 0.5f * d * p3i);
      break;
  }
}

}  // namespace stable

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  float ar, ai, gr, gi;
  if constexpr (kIsComplex) {
    stable::gains((int)method, delta_val, A_val.real_, A_val.imag_, &ar, &ai, &gr, &gi);
    CMUL(gr, gi, delta_u_val.real_, delta_u_val.imag_);
    return make_float4(ar, ai, gr, gi);
  } else {
    stable::gains((int)method, delta_val, A_val, 0.f, &ar, &ai, &gr, &gi);
    return make_float2(ar, gr * delta_u_val);
  }
}
