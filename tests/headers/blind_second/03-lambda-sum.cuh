#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"
#include <type_traits>

// zoh, foh, bilinear, poly, highorder, rk4 (0 .. 5)
template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  auto mag = [](weight_t v) -> float {
    if constexpr (kIsComplex) return fabsf(v.real_) + fabsf(v.imag_);
    else return fabsf(v);
  };
  auto Exp = [](weight_t v) -> weight_t {
    if constexpr (kIsComplex) return cexpf(v);
    else return expf(v);
  };
  auto exp_minus_1 = [](weight_t v) -> weight_t {
    if constexpr (kIsComplex) {
      float s = sinf(v.imag_), h = sinf(0.5f * v.imag_);
      float m = expm1f(v.real_);
      return weight_t(m - 2.f * h * h * (m + 1.f), s * expf(v.real_));
    } else {
      return expm1f(v);
    }
  };
  auto div = [](weight_t a, weight_t b) -> weight_t {
    if constexpr (kIsComplex) {
      float m = fmaxf(fabsf(b.real_), fabsf(b.imag_));
      if (m > 1e15f || m < 1e-15f) return (a / m) / (b / m);
    }
    return a / b;
  };
  auto result = [](weight_t a, weight_t b) {
    if constexpr (kIsComplex) return make_float4(a.real_, a.imag_, b.real_, b.imag_);
    else return make_float2(a, b);
  };

  const weight_t z = A_val * delta_val;
  const weight_t du = delta_u_val;
  // (e^z - 1 - z) / z^2
  auto phi2 = [&]() -> weight_t {
    if (mag(z) > 1.5f) return div(div(exp_minus_1(z), z) - 1.f, z);
    weight_t acc(0.f);
    for (int n = 18; n >= 3; n--) acc = (acc + 1.f) * z / float(n);
    return (acc + 1.f) * 0.5f;
  };
  auto phi1 = [&]() -> weight_t { return mag(z) == 0.f ? weight_t(1.f) : div(exp_minus_1(z), z); };

  switch (static_cast<int>(method)) {
    case 1: return result(Exp(z), phi2() * delta_val * du);
    case 2: return result(div(2.f + z, 2.f - z), div(2.f * du, 2.f - z));
    case 3: return result(Exp(z), (phi1() + phi2() * (0.5f * delta_val)) * du);
    case 4: {
      // sum_i A^-(i+1) [e^z - sum_k z^k / k!] / i!
      const weight_t e = Exp(z);
      weight_t sum(0.f), partial(0.f), term(1.f), scale(1.f);
      float i_factorial = 1.f;
      for (int i = 0; i <= 2; ++i) {
        // A^-(i+1) u = delta^(i+1) z^-(i+1) u, and u arrives times delta
        scale = i == 0 ? div(weight_t(1.f), z) : div(scale * delta_val, z);
        if (i > 0) i_factorial *= float(i);
        sum += scale * (e - partial) / i_factorial;
        partial += term;
        term = term * z / float(i + 1);
      }
      return result(e, sum * du);
    }
    case 5: return result(Exp(z), (1.f + z * (0.5f + z * (1.f / 6.f + z * (1.f / 24.f)))) * du);
    default: return result(Exp(z), du);
  }
}
