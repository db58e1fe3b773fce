// A is brought to base 2 first, as a caller of exp2f would have it. The phi-functions for small arguments by Paterson and
// Stockmeyer's grouping; two scalar bodies, for the real and the complex case, without operators.
#pragma once

#include "selective_scan_common.h"
#include "selective_scan.h"

namespace base_two {

struct C {
  float x, y;
};
__device__ inline C mk(float x, float y) { return C{x, y}; }
__device__ inline C add(C a, C b) { return mk(a.x + b.x, a.y + b.y); }
__device__ inline C mul(C a, C b) { return mk(fmaf(a.x, b.x, -(a.y * b.y)), fmaf(a.x, b.y, a.y * b.x)); }
__device__ inline C scale(C a, float s) { return mk(a.x * s, a.y * s); }
__device__ inline C div(C a, C b) {
  // by a power of two first, so that the norm stays in range
  int e;
  frexpf(fmaxf(fabsf(b.x), fabsf(b.y)), &e);
  const float bx = ldexpf(b.x, -e), by = ldexpf(b.y, -e);
  const float n = 1.0f / fmaf(bx, bx, by * by);
  const float px = fmaf(a.x, bx, a.y * by) * n, py = fmaf(a.y, bx, -(a.x * by)) * n;
  return mk(ldexpf(px, -e), ldexpf(py, -e));
}

// sum over k < 16 of z^k/(k+3)!, in four groups of four
__device__ inline float group(float z, float z2, float c0, float c1, float c2, float c3) {
  return fmaf(z2, fmaf(z, c3, c2), fmaf(z, c1, c0));
}
__device__ inline float phi3_near(float z) {
  const float z2 = z * z, z4 = z2 * z2;
  float r = group(z, z2, 7.6471637e-13f, 4.7794773e-14f, 2.8114573e-15f, 1.5619207e-16f);
  r = fmaf(r, z4, group(z, z2, 2.5052108e-8f, 2.0876757e-9f, 1.6059044e-10f, 1.1470746e-11f));
  r = fmaf(r, z4, group(z, z2, 1.9841270e-4f, 2.4801587e-5f, 2.7557319e-6f, 2.7557319e-7f));
  return fmaf(r, z4, group(z, z2, 0.16666667f, 0.041666668f, 8.3333333e-3f, 1.3888889e-3f));
}
__device__ inline C group(C z, C z2, float c0, float c1, float c2, float c3) {
  const C low = mk(fmaf(z.x, c1, c0), z.y * c1), high = mk(fmaf(z.x, c3, c2), z.y * c3);
  return add(low, mul(z2, high));
}
__device__ inline C phi3_near(C z) {
  const C z2 = mul(z, z), z4 = mul(z2, z2);
  C r = group(z, z2, 7.6471637e-13f, 4.7794773e-14f, 2.8114573e-15f, 1.5619207e-16f);
  r = add(mul(r, z4), group(z, z2, 2.5052108e-8f, 2.0876757e-9f, 1.6059044e-10f, 1.1470746e-11f));
  r = add(mul(r, z4), group(z, z2, 1.9841270e-4f, 2.4801587e-5f, 2.7557319e-6f, 2.7557319e-7f));
  return add(mul(r, z4), group(z, z2, 0.16666667f, 0.041666668f, 8.3333333e-3f, 1.3888889e-3f));
}

__device__ inline float2 real_step(float dt, float a, float w, int method) {
  const float a2 = a * float(M_LOG2E);
  const float e = exp2f(dt * a2);
  const float z = dt * a;
  if (method == 0) return make_float2(e, w);
  if (method == 2) return make_float2((2.0f + z) / (2.0f - z), (w + w) / (2.0f - z));
  if (method == 5) return make_float2(e, w * fmaf(z * 0.5f, fmaf(z / 3.0f, fmaf(z, 0.25f, 1.0f), 1.0f), 1.0f));
  float p1 = 1.0f, p2, p3, q = 1.0f;
  if (z != 0.0f) p1 = expm1f(z) / z;
  if (z > 80.0f) {
    // a quarter of the exponent at a time: B may be tiny
    q = exp2f(0.25f * (dt * a2));
    p1 = 1.0f / z;
    p2 = p1 / z;
    p3 = p2 / z;
  } else if (z > -2.0f && z < 2.0f) {
    p3 = phi3_near(z);
    p2 = fmaf(z, p3, 0.5f);
  } else {
    p2 = (p1 - 1.0f) / z;
    p3 = (p2 - 0.5f) / z;
  }
  w = w * q * q;
  float in = w * (dt * p2);
  if (method == 3) in = fmaf(w, p1, 0.5f * in);
  if (method == 4) in = fmaf(w, p1, in) + (w * (dt * p3)) * (0.5f * dt);
  return make_float2(e, in * q * q);
}

__device__ inline float4 complex_step(float dt, C a, C w, int method) {
  const C z = mk(dt * a.x, dt * a.y);
  float s, c;
  sincosf(z.y, &s, &c);
  const float m = exp2f(dt * (a.x * float(M_LOG2E)));
  const C e = mk(m * c, m * s);
  C out = e, in = w;
  if (method == 2) {
    const C below = mk(2.0f - z.x, -z.y);
    out = div(mk(2.0f + z.x, z.y), below);
    in = div(mk(w.x + w.x, w.y + w.y), below);
  } else if (method == 5) {
    C g = mk(fmaf(z.x, 0.25f, 1.0f), z.y * 0.25f);
    g = mul(mk(z.x / 3.0f, z.y / 3.0f), g);
    g.x += 1.0f;
    g = mul(mk(z.x * 0.5f, z.y * 0.5f), g);
    g.x += 1.0f;
    in = mul(g, w);
  } else if (method != 0) {
    C p1, p2, p3;
    float q = 1.0f;
    if (z.x > 80.0f) {
      q = exp2f(0.25f * (dt * (a.x * float(M_LOG2E))));
      p1 = div(mk(c, s), z);
      p2 = div(p1, z);
      p3 = div(p2, z);
    } else if (fmaf(z.x, z.x, z.y * z.y) < 4.0f) {
      p3 = phi3_near(z);
      p2 = mul(z, p3);
      p2.x += 0.5f;
      p1 = mul(z, p2);
      p1.x += 1.0f;
    } else {
      const float half = sinf(0.5f * z.y);
      p1 = div(mk(fmaf(expm1f(z.x), c, -2.0f * half * half), e.y), z);
      p2 = div(mk(p1.x - 1.0f, p1.y), z);
      p3 = div(mk(p2.x - 0.5f, p2.y), z);
    }
    w = scale(scale(w, q), q);
    in = mul(w, scale(p2, dt));
    if (method == 3) in = add(mul(w, p1), scale(in, 0.5f));
    if (method == 4) in = add(add(mul(w, p1), in), scale(mul(w, scale(p3, dt)), 0.5f * dt));
    in = scale(scale(in, q), q);
  }
  return make_float4(out.x, out.y, in.x, in.y);
}

}  // namespace base_two

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t,
                                       DiscretizationMethod method) {
  if constexpr (kIsComplex) {
    return base_two::complex_step(delta_val, base_two::mk(A_val.real(), A_val.imag()),
                                  base_two::mk(delta_u_val.real(), delta_u_val.imag()), int(method));
  } else {
    return base_two::real_step(delta_val, A_val, delta_u_val, int(method));
  }
}
