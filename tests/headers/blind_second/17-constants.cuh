#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace constants {
constexpr float LOG2_E = 1.44f;
constexpr float HALF = 0.5f;
constexpr float SIXTH = float(1.0 / 6.0);
constexpr float TWENTYFOURTH = float(1.0 / 24.0);
constexpr float SERIES_BELOW = 1.0f;
constexpr int SERIES_TERMS = 14;
}  // namespace constants

template <bool kIsComplex>
struct Arithmetic;

template <>
struct Arithmetic<false> {
  typedef float value;
  static __device__ value exponential(value z) { return exp2f(z * constants::LOG2_E); }
  static __device__ value exponential_less_1(value z) { return expm1f(z); }
  static __device__ float modulus(value z) { return fabsf(z); }
  static __device__ value divide(value a, value b) { return __fdividef(a, b); }
};

template <>
struct Arithmetic<true> {
  typedef complex_t value;
  static __device__ value exponential(value z) { return cexpf(z); }
  static __device__ value exponential_less_1(value z) {
    float s, c;
    sincosf(0.5f * z.imag_, &s, &c);
    const float growth = expf(z.real_);
    return value(expm1f(z.real_) - 2.0f * growth * s * s, 2.0f * growth * s * c);
  }
  static __device__ float modulus(value z) { return hypotf(z.real_, z.imag_); }
  static __device__ value divide(value a, value b) {
    const float m = modulus(b);
    const value unit(b.real_ / m, -b.imag_ / m);
    const value product = a * unit;
    return value(product.real_ / m, product.imag_ / m);
  }
};

template <bool kIsComplex>
struct Phi123 {
  using Ar = Arithmetic<kIsComplex>;
  using V = typename Ar::value;
  V p1, p2, p3;

  __device__ Phi123(V z) {
    const bool small = Ar::modulus(z) < constants::SERIES_BELOW;
    p1 = Ar::modulus(z) > 1e-20f ? Ar::divide(Ar::exponential_less_1(z), z) : V(1.0f);
    p2 = small ? series(z, 2) * constants::HALF : Ar::divide(p1 - 1.0f, z);
    p3 = small ? series(z, 3) * constants::SIXTH : Ar::divide(p2 - constants::HALF, z);
  }
  static __device__ V series(V z, int k) {
    V s(1.0f);
    for (int n = constants::SERIES_TERMS; n > 0; --n) s = s * z / float(n + k) + 1.0f;
    return s;
  }
};

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  using Ar = Arithmetic<kIsComplex>;
  const int m = static_cast<int>(method);
  const weight_t z = delta_val * A_val;
  weight_t a = weight_t(1.0f), b = delta_u_val;

  if (m == 2) {
    a = Ar::divide(1.0f + constants::HALF * z, 1.0f - constants::HALF * z);
    b = Ar::divide(delta_u_val, 1.0f - constants::HALF * z);
  } else {
    a = Ar::exponential(z);
  }
  if (m == 1 || m == 3 || m == 4) {
    const Phi123<kIsComplex> phi(z);
    if (m == 1) b = (delta_val * phi.p2) * delta_u_val;
    if (m == 3) b = (phi.p1 + (constants::HALF * delta_val) * phi.p2) * delta_u_val;
    if (m == 4) b = (phi.p1 + delta_val * (phi.p2 + (constants::HALF * delta_val) * phi.p3)) * delta_u_val;
  }
  if (m == 5) b = (1.0f + z * (constants::HALF + z * (constants::SIXTH + z * constants::TWENTYFOURTH))) * delta_u_val;

  if constexpr (kIsComplex) {
    return make_float4(a.real_, a.imag_, b.real_, b.imag_);
  } else {
    return make_float2(a, b);
  }
}
