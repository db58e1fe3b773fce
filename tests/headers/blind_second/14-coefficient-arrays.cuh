/* Coefficients of x_l = Abar x_{l-1} + Bbar u_l.
 *
 * Near zero everything comes from one polynomial, that of phi_3, and the identities
 *   phi_2 = 1/2 + z phi_3,   phi_1 = 1 + z phi_2,   e^z = 1 + z phi_1.
 */
#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace disc14 {

template <typename W> struct Num;

template <> struct Num<float> {
  static __device__ float abs1(float z) { return fabsf(z); }
  static __device__ float e(float z) { return expf(z); }
  static __device__ float em1(float z) { return expm1f(z); }
  static __device__ float div(float a, float b) { return a / b; }
  static __device__ float2 pack(float a, float b) { return make_float2(a, b); }
};

template <> struct Num<complex_t> {
  static __device__ float abs1(complex_t z) { return hypotf(z.real_, z.imag_); }
  static __device__ complex_t e(complex_t z) { return cexpf(z); }
  static __device__ complex_t em1(complex_t z) {
    float s, c;
    sincosf(z.imag_, &s, &c);
    const float h = sinf(z.imag_ / 2);
    return complex_t(expm1f(z.real_) * c - 2 * h * h, expf(z.real_) * s);
  }
  static __device__ complex_t div(complex_t a, complex_t b) {
    int k = 0;
    (void)frexpf(fmaxf(fabsf(b.real_), fabsf(b.imag_)), &k);
    const complex_t m(ldexpf(b.real_, -k), ldexpf(b.imag_, -k));
    const complex_t q = a / m;
    return complex_t(ldexpf(q.real_, -k), ldexpf(q.imag_, -k));
  }
  static __device__ float4 pack(complex_t a, complex_t b) { return make_float4(a.real_, a.imag_, b.real_, b.imag_); }
};

// 1/(j+3)!, j = 0 ... 12
__device__ inline float inverse_factorial_from_3(int j) {
  const float table[13] = {float(1.0 / 6),         float(1.0 / 24),         float(1.0 / 120),       float(1.0 / 720),
                           float(1.0 / 5040),      float(1.0 / 40320),      float(1.0 / 362880),    float(1.0 / 3628800),
                           float(1.0 / 39916800.), float(1.0 / 479001600.), float(1.0 / 6227020800.), float(1.0 / 87178291200.),
                           float(1.0 / 1307674368000.)};
  return table[j];
}

template <typename W>
struct Functions {
  W e, f1, f2, f3;
  __device__ explicit Functions(W z) {
    using N = Num<W>;
    if (N::abs1(z) < 1.0f) {
      W acc = W(inverse_factorial_from_3(12));
      for (int j = 11; j >= 0; j--) acc = acc * z + inverse_factorial_from_3(j);
      f3 = acc;
      f2 = z * f3 + 0.5f;
      f1 = z * f2 + 1.0f;
      e = N::abs1(z) < 0.25f ? z * f1 + 1.0f : N::e(z);
    } else {
      e = N::e(z);
      f1 = N::div(N::em1(z), z);
      f2 = N::div(f1 - 1.0f, z);
      f3 = N::div(f2 - 0.5f, z);
    }
  }
};

}  // namespace disc14

template <typename weight_t, bool kIsComplex, typename input_t>
__device__ auto compute_discretization(float delta_val, weight_t A_val, input_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  using N = disc14::Num<weight_t>;
  const int id = (int)method;
  const weight_t z = delta_val * A_val;
  const weight_t u = weight_t(delta_u_val);
  if (id == 2) {
    const weight_t r = N::div(weight_t(2.0f), 2.0f - z);  // (1 - z/2)^-1
    return N::pack(N::div(2.0f + z, 2.0f - z), r * u);
  }
  const disc14::Functions<weight_t> f(z);
  const float d = delta_val;
  // Bbar u = (w0 + w1 f1 + w2 f2 + w3 f3) delta u
  const float w[6][4] = {{1, 0, 0, 0}, {0, 0, d, 0}, {1, 0, 0, 0}, {0, 1, d / 2, 0}, {0, 1, d, 0}, {1, 0, 0, 0}};
  if (id == 0) return N::pack(f.e, u);
  if (id == 5) {
    const float c[4] = {float(1.0 / 24), float(1.0 / 6), 0.5f, 1.0f};
    weight_t p = weight_t(c[0]);
    for (int i = 1; i < 4; i++) p = p * z + c[i];
    return N::pack(f.e, p * u);
  }
  weight_t g = f.f1 * w[id][1] + f.f2 * w[id][2];
  if (id == 4) g += (f.f3 * d) * (d / 2);
  return N::pack(f.e, g * u);
}
