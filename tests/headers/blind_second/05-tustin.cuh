// Tustin with the classical 2/T; the exponential rules through expm1.
#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace tustin {
namespace detail {

__device__ inline float div(float a, float b) { return a / b; }
__device__ inline complex_t div(complex_t a, complex_t b) {
  if (fabsf(b.real_) < fabsf(b.imag_)) {  // multiply both by -i
    a = complex_t(a.imag_, -a.real_);
    b = complex_t(b.imag_, -b.real_);
  }
  const float r = b.imag_ / b.real_, den = b.real_ + r * b.imag_;
  return complex_t((a.real_ + a.imag_ * r) / den, (a.imag_ - a.real_ * r) / den);
}

__device__ inline float expm1(float z) { return ::expm1f(z); }
__device__ inline complex_t expm1(complex_t z) {
  const float h = sinf(0.5f * z.imag_), c = cosf(0.5f * z.imag_);
  const float e = expf(z.real_);
  return complex_t(expm1f(z.real_) - 2.f * e * h * h, 2.f * e * h * c);
}

__device__ inline float one_norm(float z) { return fabsf(z); }
__device__ inline float one_norm(complex_t z) { return fabsf(z.real_) + fabsf(z.imag_); }

template <typename W>
__device__ W phi1(W z) {
  return one_norm(z) < 1e-7f ? 1.f + 0.5f * z : div(expm1(z), z);
}
template <typename W>
__device__ W phi2(W z) {
  if (one_norm(z) > 2.f) return div(phi1(z) - 1.f, z);
  W y = W(0.5f), sum = W(0.5f);
  for (int k = 3; k < 22; ++k) {
    y = y * z * (1.f / float(k));
    sum = sum + y;
  }
  return sum;
}
template <typename W>
__device__ W phi3(W z) {
  if (one_norm(z) > 2.f) return div(phi2(z) - 0.5f, z);
  W y = W(float(1.0 / 6.0)), sum = y;
  for (int k = 4; k < 22; ++k) {
    y = y * z * (1.f / float(k));
    sum = sum + y;
  }
  return sum;
}

template <bool c, typename W>
__device__ auto out(W a, W b) {
  if constexpr (c) return make_float4(a.real_, a.imag_, b.real_, b.imag_);
  else return make_float2(a, b);
}

}  // namespace detail
}  // namespace tustin

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  using namespace tustin::detail;
  const int m = static_cast<int>(method);
  const weight_t du(delta_u_val);
  const weight_t z = delta_val * A_val;

  if (m == 0) {  // fast path
    if constexpr (kIsComplex) {
      const float r = expf(z.real_);
      return make_float4(r * cosf(z.imag_), -r * sinf(z.imag_), du.real_, du.imag_);
    } else {
      return make_float2(expf(z), du);
    }
  }
  if (m == 2) {
    if (delta_val == 0.f) return out<kIsComplex>(weight_t(1.f), weight_t(0.f));
    const float k = 2.f / delta_val;
    const weight_t u = du / delta_val;
    // (2/T - A)^-1 (2/T + A), (2/T - A)^-1 B
    return out<kIsComplex>(div(k + A_val, k - A_val), div(u, k - A_val));
  }
  weight_t abar;
  if constexpr (kIsComplex) abar = cexpf(z);
  else abar = expf(z);
  if (m == 1) return out<kIsComplex>(abar, weight_t(delta_val * phi2(z) * du));
  if (m == 3) return out<kIsComplex>(abar, weight_t((phi1(z) + 0.5f * delta_val * phi2(z)) * du));
  if (m == 4) return out<kIsComplex>(abar, weight_t((phi1(z) + delta_val * (phi2(z) + 0.5f * delta_val * phi3(z))) * du));
  return out<kIsComplex>(abar, weight_t((1.f + z * (12.f + z * (4.f + z)) / 24.f) * du));
}
