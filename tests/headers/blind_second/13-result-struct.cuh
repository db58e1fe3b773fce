#pragma once

#include "selective_scan_common.h"
#include "selective_scan.h"

namespace vim {

template <typename W>
struct Coefficients {
  W transition{};
  W forcing{};
};

// --- real / complex primitives ------------------------------------------------------------------------------------

__device__ __forceinline__ float cabs1(const float v) { return fabsf(v); }
__device__ __forceinline__ float cabs1(const complex_t v) { return hypotf(v.real_, v.imag_); }

__device__ __forceinline__ float cinv(const float v) { return 1.0f / v; }
__device__ __forceinline__ complex_t cinv(const complex_t v) {
  const float l = 1.0f / cabs1(v);
  const float x = v.real_ * l, y = v.imag_ * l;
  return complex_t(x * l, -y * l);
}

__device__ __forceinline__ float cexp_(const float v) { return expf(v); }
__device__ __forceinline__ complex_t cexp_(const complex_t v) {
  const float modulus = expf(v.real_);
  return complex_t(modulus * cosf(v.imag_), modulus * sinf(v.imag_));
}

// --- phi functions ------------------------------------------------------------------------------------------------

constexpr float kSmall = 1.5f;

template <typename W>
__device__ W taylor_tail(const W z, const int first) {
  // 1/first! + z/(first+1)! + ...
  float leading = 1.0f;
  for (int i = 2; i <= first; ++i) leading /= float(i);
  W s = W(1.0f);
  for (int i = 17; i >= 1; --i) s = W(1.0f) + s * (z * (1.0f / float(first + i)));
  return s * leading;
}

template <typename W>
__device__ W phi_one(const W z) {
  return cabs1(z) < kSmall ? taylor_tail(z, 1) : (cexp_(z) - 1.0f) * cinv(z);
}
template <typename W>
__device__ W phi_two(const W z) {
  return cabs1(z) < kSmall ? taylor_tail(z, 2) : (phi_one(z) - 1.0f) * cinv(z);
}
template <typename W>
__device__ W phi_three(const W z) {
  return cabs1(z) < kSmall ? taylor_tail(z, 3) : (phi_two(z) - 0.5f) * cinv(z);
}

// --- methods ------------------------------------------------------------------------------------------------------

template <typename W>
__device__ Coefficients<W> coefficients(const int method, const float dt, const W A, const W dtu, const W B) {
  const W z = dt * A;
  Coefficients<W> c;
  c.transition = method == 2 ? (1.0f + 0.5f * z) * cinv(1.0f - 0.5f * z) : cexp_(z);
  switch (method) {
    case 0: c.forcing = dtu; break;
    case 1: c.forcing = dt * phi_two(z) * dtu; break;
    case 2: c.forcing = cinv(1.0f - 0.5f * z) * B * dtu; break;
    case 3: c.forcing = (phi_one(z) + 0.5f * dt * phi_two(z)) * dtu; break;
    case 4: c.forcing = (phi_one(z) + dt * (phi_two(z) + 0.5f * dt * phi_three(z))) * dtu; break;
    case 5: c.forcing = (1.0f + 0.5f * z * (1.0f + z * (1.0f + 0.25f * z) / 3.0f)) * dtu; break;
    default: break;
  }
  return c;
}

}  // namespace vim

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  const auto c = vim::coefficients<weight_t>(static_cast<int>(method), delta_val, A_val, weight_t(delta_u_val), B_val);
  if constexpr (kIsComplex)
    return make_float4(c.transition.real_, c.transition.imag_, c.forcing.real_, c.forcing.imag_);
  else
    return make_float2(c.transition, c.forcing);
}
