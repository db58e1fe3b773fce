// Discretization rules as a table of functions, indexed by the method's number.
#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace rules {

__device__ inline float length(float z) { return fabsf(z); }
__device__ inline float length(complex_t z) { return fmaxf(fabsf(z.real_), fabsf(z.imag_)); }
__device__ inline float exp_(float z) { return expf(z); }
__device__ inline complex_t exp_(complex_t z) { return cexpf(z); }
__device__ inline float quotient(float a, float b) { return a / b; }
__device__ inline complex_t quotient(complex_t a, complex_t b) {
  const float s = 1.0f / length(b);
  return ((a * s) / (b * s));
}

// phi_k(z) = sum z^j / (j + k)!
template <typename W>
__device__ W phi(int k, W z) {
  float f = 1.0f;
  for (int i = 2; i <= k; ++i) f *= float(i);
  if (length(z) <= 1.0f) {
    W s = W(1.0f);
    for (int j = 15; j > 0; --j) s = 1.0f + s * z / float(j + k);
    return s / f;
  }
  if (k == 0) return exp_(z);
  return quotient(phi(k - 1, z) - float(k) / f, z);
}

template <typename W>
struct Out {
  W abar, bbar_u;
};

template <typename W>
__device__ Out<W> zoh(float d, W A, W du) {
  return {exp_(d * A), du};
}
template <typename W>
__device__ Out<W> foh(float d, W A, W du) {
  return {exp_(d * A), d * phi(2, d * A) * du};
}
template <typename W>
__device__ Out<W> bilinear(float d, W A, W du) {
  const W h = d * A * 0.5f;
  return {quotient(1.0f + h, 1.0f - h), quotient(du, 1.0f - h)};
}
template <typename W>
__device__ Out<W> poly(float d, W A, W du) {
  const W z = d * A;
  return {exp_(z), (phi(1, z) + 0.5f * d * phi(2, z)) * du};
}
template <typename W>
__device__ Out<W> high_order(float d, W A, W du) {
  const W z = d * A;
  return {exp_(z), (phi(1, z) + d * (phi(2, z) + 0.5f * d * phi(3, z))) * du};
}
template <typename W>
__device__ Out<W> rk4(float d, W A, W du) {
  const W z = d * A;
  return {exp_(z), (1.0f + z / 2.0f * (1.0f + z / 3.0f * (1.0f + z / 4.0f))) * du};
}

template <typename W>
using Rule = Out<W> (*)(float, W, W);

}  // namespace rules

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  const rules::Rule<weight_t> table[] = {rules::zoh<weight_t>,        rules::foh<weight_t>,  rules::bilinear<weight_t>,
                                         rules::high_order<weight_t>, rules::poly<weight_t>, rules::rk4<weight_t>};
  const auto out = table[static_cast<int>(method)](delta_val, A_val, delta_u_val);
  if constexpr (kIsComplex)
    return make_float4(out.abar.real_, out.abar.imag_, out.bbar_u.real_, out.bbar_u.imag_);
  else
    return make_float2(out.abar, out.bbar_u);
}
