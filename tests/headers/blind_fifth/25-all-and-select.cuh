#pragma once
#include "selective_scan.h"
#include "selective_scan_common.h"

// Every method is computed, the asked one selected: no divergence. Guards for z = 0 and for what is not finite.
#define DISC_FN __device__ __forceinline__
struct cf { float r, i; };
DISC_FN cf cmul(cf a, cf b) { return cf{a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r}; }
DISC_FN cf cadd(cf a, cf b) { return cf{a.r + b.r, a.i + b.i}; }
DISC_FN cf cscl(float s, cf a) { return cf{s * a.r, s * a.i}; }
DISC_FN cf crcp(cf a) {
  const float k = fmaxf(fabsf(a.r), fabsf(a.i));
  const cf t{a.r / k, a.i / k};
  const float n = (t.r * t.r + t.i * t.i) * k;
  return cf{t.r / n, -t.i / n};
}
DISC_FN cf cexp_(cf a) { const float m = expf(a.r); return a.i == 0.f ? cf{m, 0.f} : cf{m * cosf(a.i), m * sinf(a.i)}; }
DISC_FN cf pick(bool yes, cf a, cf b) { return yes ? a : b; }
DISC_FN cf get(float v) { return cf{v, 0.f}; }
DISC_FN cf get(complex_t v) { return cf{v.real_, v.imag_}; }

template <typename weight_t, bool kIsComplex>
DISC_FN auto compute_discretization(float delta_val, weight_t A_val,
                                    typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                    weight_t B_val, DiscretizationMethod method) {
  const cf one{1.f, 0.f}, half{0.5f, 0.f}, A = get(A_val), du = get(delta_u_val), z = cscl(delta_val, A);
  const cf ez = cexp_(z);
  // series
  const bool near0 = fabsf(z.r) + fabsf(z.i) < 2.f;
  const cf zs = pick(near0, z, cf{0.f, 0.f});
  cf q{0.f, 0.f};
  for (int k = 19; k >= 4; --k) q = cscl(1.f / k, cmul(zs, cadd(one, q)));
  const cf s3 = cscl(1.f / 6.f, cadd(one, q)), s2 = cadd(half, cmul(zs, s3)), s1 = cadd(one, cmul(zs, s2));
  // quotients
  const bool big = z.r > 40.f;
  const cf safe = pick(near0, one, z), ri = crcp(safe), top = cexp_(cscl(0.5f, safe));
  const cf q1 = cmul(pick(big, top, cadd(ez, cscl(-1.f, one))), ri);
  const cf q2 = cmul(pick(big, q1, cadd(q1, cscl(-1.f, one))), ri);
  const cf q3 = cmul(pick(big, q2, cadd(q2, cscl(-1.f, half))), ri);
  const cf p1 = pick(near0, s1, q1), p2 = pick(near0, s2, q2), p3 = pick(near0, s3, q3);
  const cf lift = pick(big && !near0, top, one);
  // the six gains
  const cf inv = crcp(cadd(one, cscl(-0.5f, z)));
  const cf g_foh = cscl(delta_val, p2);
  const cf g_poly = cadd(p1, cscl(0.5f * delta_val, p2));
  const cf g_high = cadd(p1, cscl(delta_val, cadd(p2, cscl(0.5f * delta_val, p3))));
  const cf g_rk = cadd(one, cmul(z, cadd(half, cmul(z, cadd(cf{1.f / 6.f, 0.f}, cscl(1.f / 24.f, z))))));
  const int m = static_cast<int>(method);
  cf a = ez, g = one;
  g = pick(m == 1, g_foh, g);
  g = pick(m == 3, g_poly, g);
  g = pick(m == 4, g_high, g);
  g = pick(m == 5, g_rk, g);
  g = pick(m == 2, inv, g);
  a = pick(m == 2, cmul(cadd(one, cscl(0.5f, z)), inv), a);
  cf bu = cmul(g, du);
  if (m == 1 || m == 3 || m == 4) bu = cmul(bu, lift);
  if (z.r == 0.f && z.i == 0.f) {  // phi_k(0) = 1/k!
    a = one;
    if (m != 1 && m != 3 && m != 4) bu = du;
  }
  if constexpr (kIsComplex) return make_float4(a.r, a.i, bu.r, bu.i);
  else return make_float2(a.r, bu.r);
}
