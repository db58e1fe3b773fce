// phi_1(z) = e^(z/2) sinh(z/2)/(z/2), which needs no expm1; the higher ones by divided differences, or near zero by even and
// odd parts of their series. Lambdas in one function, no helpers for the caller to collide with.
#pragma once

#include "selective_scan_common.h"
#include "selective_scan.h"

template <typename weight_t, bool kIsComplex, typename DU>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                                       DiscretizationMethod method) {
  const int kind = static_cast<int>(method);
  const bool is_trapezoid = kind == 2, is_taylor = kind == 5, is_simple = kind == 0;
  const weight_t z = delta_val * A_val;
  const weight_t w = delta_u_val;

  const auto ratio = [](weight_t n, weight_t d) {
    if constexpr (kIsComplex) {
      const float big = fmaxf(fabsf(d.real_), fabsf(d.imag_));
      const float c = d.real_ / big, s = d.imag_ / big;
      const float norm = c * c + s * s;
      return complex_t((n.real_ * c + n.imag_ * s) / norm / big, (n.imag_ * c - n.real_ * s) / norm / big);
    } else {
      return n / d;
    }
  };
  const auto power_of_e = [](weight_t t) {
    if constexpr (kIsComplex) {
      return cexpf(t);
    } else {
      return expf(t);
    }
  };

  weight_t a_bar, gain, b_bar_u;
  if (is_trapezoid) {
    const weight_t twice = 2.0f - z;
    a_bar = ratio(2.0f + z, twice);
    gain = ratio(weight_t(2.0f), twice);
  } else {
    a_bar = power_of_e(z);
    if (is_simple) {
      gain = weight_t(1.0f);
    } else if (is_taylor) {
      const weight_t q = z * 0.25f;
      gain = 1.0f + (z + z) * ((q + 1.0f) * z * (1.0f / 12.0f) + 0.25f);
    } else {
      // sinh(z/2)/(z/2) is even and starts with 1; far left or right e^(z/2) would leave f32's range
      weight_t one, two, three;
      bool near, far;
      float quarter = 1.0f;
      if constexpr (kIsComplex) {
        near = z.real_ * z.real_ + z.imag_ * z.imag_ < 4.0f;
        far = z.real_ > 80.0f;
        if (far) {
          quarter = expf(z.real_ * 0.25f);
          one = ratio(complex_t(cosf(z.imag_), sinf(z.imag_)), z);
        } else if (fabsf(z.real_) > 60.0f) {
          one = ratio(a_bar - 1.0f, z);
        } else if (fabsf(z.real_) + fabsf(z.imag_) < 1e-9f) {
          one = complex_t(1.0f);
        } else {
          const weight_t h = z * 0.5f;
          float s, c;
          sincosf(h.imag_, &s, &c);
          one = ratio(complex_t(sinhf(h.real_) * c, coshf(h.real_) * s), h) * cexpf(h);
        }
      } else {
        near = fabsf(z) < 2.0f;
        far = z > 80.0f;
        if (far) {
          quarter = expf(z * 0.25f);
          one = 1.0f / z;
        } else if (fabsf(z) > 60.0f) {
          one = (a_bar - 1.0f) / z;
        } else {
          const float h = z * 0.5f;
          one = h == 0.0f ? 1.0f : sinhf(h) / h * expf(h);
        }
      }
      if (near) {
        const weight_t q = z * z;
        // 1/3!, 1/5!, ... and 1/4!, 1/6!, ...
        weight_t even = q * 2.8114573e-15f + 7.6471637e-13f;
        even = even * q + 1.6059044e-10f;
        even = even * q + 2.5052108e-8f;
        even = even * q + 2.7557319e-6f;
        even = even * q + 1.9841270e-4f;
        even = even * q + 8.3333333e-3f;
        even = even * q + 1.6666667e-1f;
        weight_t odd = q * 1.5619207e-16f + 4.7794773e-14f;
        odd = odd * q + 1.1470746e-11f;
        odd = odd * q + 2.0876757e-9f;
        odd = odd * q + 2.7557319e-7f;
        odd = odd * q + 2.4801587e-5f;
        odd = odd * q + 1.3888889e-3f;
        odd = odd * q + 4.1666667e-2f;
        three = even + z * odd;
        two = 0.5f + z * three;
      } else {
        two = ratio(far ? one : one - 1.0f, z);
        three = ratio(far ? two : two - 0.5f, z);
      }
      const weight_t v = w * quarter * quarter;
      b_bar_u = v * (two * delta_val);
      if (kind == 3) b_bar_u = v * one + b_bar_u * 0.5f;
      if (kind == 4) b_bar_u = (v * one + b_bar_u) + (v * (three * delta_val)) * (0.5f * delta_val);
      b_bar_u = b_bar_u * quarter * quarter;
    }
  }
  if (is_trapezoid || is_simple || is_taylor) b_bar_u = gain * w;
  if constexpr (kIsComplex) {
    return make_float4(a_bar.real_, a_bar.imag_, b_bar_u.real_, b_bar_u.imag_);
  } else {
    return make_float2(a_bar, b_bar_u);
  }
}
