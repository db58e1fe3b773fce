// One formula for all methods but two: B_bar = sum of weight[method][k] Delta^k phi_k(z), from a table, and a result type of its
// own. To the left of zero phi comes from e^z times a series of positive terms.
#pragma once

#include "selective_scan_common.h"
#include "selective_scan.h"

namespace by_table {

struct RealStep {
  float x, y;
};
struct ComplexStep {
  float x, y, z, w;
};

__device__ inline float re(float z) { return z; }
__device__ inline float re(complex_t z) { return z.real(); }
__device__ inline float taxicab(float z) { return fabsf(z); }
__device__ inline float taxicab(complex_t z) { return fabsf(z.real()) + fabsf(z.imag()); }

// 1/z without a norm that overflows; z is not 0
__device__ inline float inverse(float z) { return 1.0f / z; }
__device__ inline complex_t inverse(complex_t z) {
  const float x = z.real(), y = z.imag();
  if (fabsf(x) < fabsf(y)) {
    const float t = x / y, d = y + x * t;
    return complex_t(t / d, -1.0f / d);
  }
  const float t = y / x, d = x + y * t;
  return complex_t(1.0f / d, -t / d);
}
__device__ inline float unit(float) { return 1.0f; }
__device__ inline complex_t unit(complex_t z) { return complex_t(cosf(z.imag()), sinf(z.imag())); }
__device__ inline float exponential(float z) { return expf(z); }
__device__ inline complex_t exponential(complex_t z) { return cexpf(z); }
__device__ inline float minus_one(float, float z) { return expm1f(z); }
__device__ inline complex_t minus_one(complex_t e, complex_t z) {
  const float s = sinf(0.5f * z.imag());
  return complex_t(expm1f(z.real()) * cosf(z.imag()) - 2.0f * (s * s), e.imag());
}

// phi_k(z) = e^z times the sum of (-z)^j / (j! (k-1)! (j+k)); to the right of zero the sum of z^j/(j+k)!
template <typename T>
__device__ T near_zero(int k, T z, T e) {
  T sum = T(0.0f);
  if (re(z) < 0.0f) {
    const T x = -z;
    for (int j = 17; j >= 0; --j) sum = sum * x / float(j + 1) + 1.0f / float(j + k);
    return k == 3 ? e * sum * 0.5f : e * sum;
  }
  sum = T(1.0f);
  for (int j = 17; j >= 1; --j) sum = z * sum / float(j + k) + 1.0f;
  return k == 3 ? sum / 6.0f : k == 2 ? sum * 0.5f : sum;
}

template <typename T>
__device__ void step(float dt, T a, int method, T input, T& a_bar, T& result) {
  const float weights[6][3] = {
      {0.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 0.0f}, {1.0f, 0.5f, 0.0f}, {1.0f, 1.0f, 0.5f}, {0.0f, 0.0f, 0.0f},
  };
  const T z = a * dt;
  a_bar = exponential(z);
  result = input;
  if (method == 2) {
    const T r = inverse(1.0f - z / 2.0f);
    a_bar = (1.0f + z / 2.0f) * r;
    result = input * r;
    return;
  }
  if (method == 5) {
    result = input * (1.0f + z * (12.0f + z * (4.0f + z)) / 24.0f);
    return;
  }
  if (method == 0) return;
  T phi[3];
  float quarter = 1.0f;  // e^z in four equal factors where it might overflow alone
  if (re(z) > 80.0f) {
    const T r = inverse(z);
    quarter = expf(re(z) / 4.0f);
    phi[0] = unit(z) * r;
    phi[1] = phi[0] * r;
    phi[2] = phi[1] * r;
  } else if (taxicab(z) < 2.0f) {
    for (int k = 1; k <= 3; ++k) phi[k - 1] = near_zero(k, z, a_bar);
  } else {
    const T r = inverse(z);
    phi[0] = minus_one(a_bar, z) * r;
    phi[1] = (phi[0] - 1.0f) * r;
    phi[2] = (phi[1] - 0.5f) * r;
  }
  const float* w = weights[method];
  input = input * quarter * quarter;
  result = T(0.0f);
  for (int k = 2; k >= 0; --k) {
    if (w[k] == 0.0f) continue;
    T term = input * (k > 0 ? phi[k] * dt : phi[k]);
    for (int j = 1; j < k; ++j) term = term * dt;
    result = result + term * w[k];
  }
  result = result * quarter * quarter;
}

}  // namespace by_table

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t /*already applied*/,
                                       DiscretizationMethod method) {
  weight_t a_bar, input;
  by_table::step<weight_t>(delta_val, A_val, static_cast<int>(method), delta_u_val, a_bar, input);
  if constexpr (kIsComplex) {
    return by_table::ComplexStep{a_bar.real(), a_bar.imag(), input.real(), input.imag()};
  } else {
    return by_table::RealStep{a_bar, input};
  }
}
