// Discretization of a diagonal SSM: (A_bar, B_bar u) of one step.
#pragma once

#include "selective_scan_common.h"
#include "selective_scan.h"

namespace ssm_coef {

// ---- small vocabulary over float and complex_t ------------------------------------------------------------------
__device__ inline float size_of(float z) { return fabsf(z); }
__device__ inline float size_of(complex_t z) { return fabsf(z.real_) + fabsf(z.imag_); }
__device__ inline float real_of(float z) { return z; }
__device__ inline float real_of(complex_t z) { return z.real_; }

__device__ inline float quot(float a, float b) { return a / b; }
// Smith's division: no overflow of |b|^2.
__device__ inline complex_t quot(complex_t a, complex_t b) {
  if (fabsf(b.real_) >= fabsf(b.imag_)) {
    const float r = b.imag_ / b.real_;
    const float d = b.real_ + b.imag_ * r;
    return complex_t((a.real_ + a.imag_ * r) / d, (a.imag_ - a.real_ * r) / d);
  }
  const float r = b.real_ / b.imag_;
  const float d = b.real_ * r + b.imag_;
  return complex_t((a.real_ * r + a.imag_) / d, (a.imag_ * r - a.real_) / d);
}

__device__ inline float exp_of(float z) { return expf(z); }
__device__ inline complex_t exp_of(complex_t z) {
  float s, c;
  sincosf(z.imag_, &s, &c);
  if (z.real_ > 88.0f) {
    const float h = expf(0.5f * z.real_);
    return complex_t((h * c) * h, (h * s) * h);
  }
  const float m = expf(z.real_);
  return complex_t(m * c, m * s);
}

__device__ inline float expm1_of(float z) { return expm1f(z); }
__device__ inline complex_t expm1_of(complex_t z) {
  float s, c, sh, ch;
  sincosf(z.imag_, &s, &c);
  sincosf(0.5f * z.imag_, &sh, &ch);
  return complex_t(expm1f(z.real_) * c - 2.0f * sh * sh, expf(z.real_) * s);
}

__device__ inline float turn_of(float) { return 1.0f; }
__device__ inline complex_t turn_of(complex_t z) {
  float s, c;
  sincosf(z.imag_, &s, &c);
  return complex_t(c, s);
}

// phi_1, phi_2, phi_3 of z, each to be multiplied by root^4.
template <typename T>
struct Phi {
  T p1, p2, p3;
  float root;
  bool big;
};

template <typename T>
__device__ inline Phi<T> phi_of(T z) {
  Phi<T> f;
  f.big = real_of(z) > 80.0f;
  f.root = 1.0f;
  if (f.big) {
    // e^z may overflow where its product with B does not
    f.root = expf(0.25f * real_of(z));
    f.p1 = quot(turn_of(z), z);
    f.p2 = quot(f.p1, z);
    f.p3 = quot(f.p2, z);
    return f;
  }
  f.p1 = size_of(z) < 1e-9f ? T(1.0f) : quot(expm1_of(z), z);
  if (size_of(z) <= 2.0f) {
    T p = z * 4.7794773e-14f + 7.6471637e-13f;
    p = p * z + 1.1470746e-11f;
    p = p * z + 1.6059044e-10f;
    p = p * z + 2.0876757e-9f;
    p = p * z + 2.5052108e-8f;
    p = p * z + 2.7557319e-7f;
    p = p * z + 2.7557319e-6f;
    p = p * z + 2.4801587e-5f;
    p = p * z + 1.9841270e-4f;
    p = p * z + 1.3888889e-3f;
    p = p * z + 8.3333333e-3f;
    p = p * z + 4.1666667e-2f;
    p = p * z + 1.6666667e-1f;
    f.p3 = p;
    f.p2 = z * p + 0.5f;
  } else {
    f.p2 = quot(f.p1 - 1.0f, z);
    f.p3 = quot(f.p2 - 0.5f, z);
  }
  return f;
}

// w * coef, with the exponential that phi_of held back.
template <typename T>
__device__ inline T applied(T coef, const Phi<T>& f, T w) {
  if (!f.big) return w * coef;
  return ((((w * f.root) * f.root) * coef) * f.root) * f.root;
}

}  // namespace ssm_coef

template <typename weight_t, bool kIsComplex>
__device__ inline auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                              DiscretizationMethod method) {
  using namespace ssm_coef;
  const weight_t z = A_val * delta_val;
  weight_t a_bar = weight_t(1.0f);
  weight_t b_u = delta_u_val;
  switch (static_cast<int>(method)) {
    case 0: {  // zoh
      a_bar = exp_of(z);
      b_u = delta_u_val;
      break;
    }
    case 1: {  // foh
      const auto f = phi_of(z);
      a_bar = exp_of(z);
      b_u = applied(f.p2 * delta_val, f, delta_u_val);
      break;
    }
    case 2: {  // bilinear
      const weight_t den = 1.0f - z * 0.5f;
      a_bar = quot(1.0f + z * 0.5f, den);
      b_u = quot(delta_u_val, den);
      break;
    }
    case 3: {  // poly
      const auto f = phi_of(z);
      a_bar = exp_of(z);
      b_u = applied(f.p1 + f.p2 * (0.5f * delta_val), f, delta_u_val);
      break;
    }
    case 4: {  // highorder
      const auto f = phi_of(z);
      a_bar = exp_of(z);
      b_u = applied(f.p1, f, delta_u_val) + applied(f.p2 * delta_val, f, delta_u_val) +
            applied(f.p3 * delta_val, f, delta_u_val) * (0.5f * delta_val);
      break;
    }
    default: {  // rk4
      a_bar = exp_of(z);
      if (size_of(z) > 1e9f) {
        b_u = ((delta_u_val * (z * (1.0f / 24.0f))) * z) * z;
      } else {
        b_u = delta_u_val * (((z * (1.0f / 24.0f) + 1.0f / 6.0f) * z + 0.5f) * z + 1.0f);
      }
      break;
    }
  }
  if constexpr (kIsComplex) {
    return make_float4(a_bar.real_, a_bar.imag_, b_u.real_, b_u.imag_);
  } else {
    return make_float2(a_bar, b_u);
  }
}
