#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// Every rule hands (Abar, Bbar u) to a continuation; real and complex share the generic lambdas.
namespace cps {

__device__ inline float up(float z) { return expf(z); }
__device__ inline complex_t up(complex_t z) { return cexpf(z); }
__device__ inline float width(float z) { return fabsf(z); }
__device__ inline float width(complex_t z) { return fabsf(z.real_) > fabsf(z.imag_) ? fabsf(z.real_) : fabsf(z.imag_); }
__device__ inline float over(float a, float b) { return a / b; }
__device__ inline complex_t over(complex_t a, complex_t b) {
  const float w = width(b);
  const float br = b.real_ / w, bi = b.imag_ / w, n = br * br + bi * bi;
  return complex_t((a.real_ * br + a.imag_ * bi) / n / w, (a.imag_ * br - a.real_ * bi) / n / w);
}

// with phi_1, phi_2, phi_3
template <typename W, typename K>
__device__ inline auto with_phi(W z, K&& k) {
  if (width(z) < 1.25f) {
    W p3 = W(0.f);
    for (int i = 19; i >= 4; --i) p3 = (p3 + 1.f) * z * (1.f / float(i));
    p3 = (p3 + 1.f) * float(1.0 / 6.0);
    const W p2 = p3 * z + 0.5f;
    W p1 = W(0.f);
    for (int i = 17; i >= 2; --i) p1 = (p1 + 1.f) * z * (1.f / float(i));
    return k(p1 + 1.f, p2, p3);
  }
  const W p1 = over(up(z) - 1.f, z), p2 = over(p1 - 1.f, z);
  return k(p1, p2, over(p2 - 0.5f, z));
}

template <typename W, typename K>
__device__ inline auto rule(int id, float dt, W A, W dtu, K&& done) {
  const W z = A * dt;
  if (id == 1) return with_phi(z, [&](W, W p2, W) { return done(up(z), z * p2 * dtu); });
  if (id == 2) return done(over(1.f + 0.5f * z, 1.f - 0.5f * z), over(dtu, 1.f - 0.5f * z));
  if (id == 3) return with_phi(z, [&](W p1, W p2, W) { return done(up(z), (p1 + p2 * (dt / 2.f)) * dtu); });
  if (id == 4)
    return with_phi(z, [&](W p1, W p2, W p3) { return done(up(z), (p1 + (p2 + p3 * (dt / 2.f)) * dt) * dtu); });
  if (id == 5) {
    // four stages, each over the one before
    const W s = 1.f + z / 2.f * (1.f + z / 3.f * (1.f + z / 3.f));
    return done(up(z), s * dtu);
  }
  return done(up(z), dtu);
}

}  // namespace cps

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  return cps::rule(static_cast<int>(method), delta_val, A_val, delta_u_val, [](weight_t a, weight_t b) {
    if constexpr (kIsComplex) return make_float4(a.real_, a.imag_, b.real_, b.imag_);
    else return make_float2(a, b);
  });
}
