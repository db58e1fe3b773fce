#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// ---------------------------------------------------------------------------------------------------- real weights
__device__ inline float real_phi(int k, float z) {
  // phi_k = (phi_{k-1} - 1/(k-1)!)/z, but only where nothing cancels
  if (k == 1) return z == 0.f ? 1.f : expm1f(z) / z;
  if (fabsf(z) >= 2.f) return (real_phi(k - 1, z) - (k == 2 ? 1.f : 0.5f)) / z;
  float sum = 0.f;
  for (int n = 20; n > k; --n) sum = (sum + 1.f) * z / float(n);
  return (sum + 1.f) / (k == 2 ? 2.f : 6.f);
}

__device__ inline float2 discretize_real(float dt, float A_val, float dtu, int method) {
  const float A = -fabsf(A_val);  // states decay
  const float z = dt * A;
  const float zlost = fmaf(dt, A, -z);
  if (method == 2) return make_float2((1.f + z / 2.f) / (1.f - z / 2.f), dtu / (1.f - z / 2.f));
  const float E = expf(z) * (1.f + zlost);
  switch (method) {
    case 1: return make_float2(E, dtu * (dt * real_phi(2, z)));
    case 3: return make_float2(E, dtu * (real_phi(1, z) + dt / 2.f * real_phi(2, z)));
    case 4: return make_float2(E, dtu * (real_phi(1, z) + dt * (real_phi(2, z) + dt / 2.f * real_phi(3, z))));
    case 5: return make_float2(E, dtu * (1.f + z * (1.f / 2.f + z * (1.f / 6.f + z * (1.f / 24.f)))));
  }
  return make_float2(E, dtu);
}

// ------------------------------------------------------------------------------------------------- complex weights
__device__ inline complex_t complex_over(complex_t p, complex_t q) {
  const float m = fmaxf(fabsf(q.real_), fabsf(q.imag_));
  const complex_t n(q.real_ / m, q.imag_ / m);
  const complex_t w = p / n;
  return complex_t(w.real_ / m, w.imag_ / m);
}

__device__ inline complex_t complex_phi(int k, complex_t z) {
  const float f[4] = {1.f, 1.f, 2.f, 6.f};
  if (fmaxf(fabsf(z.real_), fabsf(z.imag_)) >= 1.25f) {
    const complex_t before = k == 1 ? cexpf(z) : complex_phi(k - 1, z);
    return complex_over(before - 1.f / f[k - 1], z);
  }
  complex_t sum(0.f);
  for (int n = 20; n > k; --n) sum = (sum + 1.f) * z / float(n);
  return (sum + 1.f) / f[k];
}

__device__ inline float4 discretize_complex(float dt, complex_t A, complex_t dtu, int method) {
  const complex_t z = dt * A;
  complex_t E = cexpf(z), g(1.f);
  if (method == 2) {
    g = complex_over(complex_t(2.f), 2.f - z);
    E = complex_over(2.f + z, 2.f - z);
  }
  if (method == 1) g = dt * complex_phi(2, z);
  if (method == 3) g = complex_phi(1, z) + dt / 2.f * complex_phi(2, z);
  if (method == 4) g = complex_phi(1, z) + dt * (complex_phi(2, z) + dt / 2.f * complex_phi(3, z));
  if (method == 5) g = 1.f + z * (1.f / 2.f + z * (1.f / 6.f + z * (1.f / 24.f)));
  g *= dtu;
  return make_float4(E.real_, E.imag_, g.real_, g.imag_);
}

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  if constexpr (kIsComplex) return discretize_complex(delta_val, A_val, delta_u_val, static_cast<int>(method));
  else return discretize_real(delta_val, A_val, delta_u_val, static_cast<int>(method));
}
