// Wrong in most places, and in each otherwise: faults of many kinds in one header, by the method and by the type of weights,
// forwards and backwards. Its methods are an enum of its own.
#pragma once

enum DiscretizationMethod { zoh, foh, bilinear, poly, highorder, rk4 };

// Included for its formulas; its forward function is not the one that is judged.
#define compute_discretization right_discretization
#include "backward/derivatives.cuh"
#undef compute_discretization

// Members of the names that C's functions of a double have.
struct Arithmetic {
  static __device__ float exp(float x) { return expf(x); }
  static __device__ float expm1(float x) { return expm1f(x); }
  static __device__ float fabs(float x) { return ::fabsf(x); }
  // φ₁ and φ₂: 14 terms near 0.
  static __device__ float phi(int k, float z) {
    if (fabs(z) < 1.0f) {
      float sum = 1.0f;
      for (int j = k + 14; j > k; --j) sum = 1.0f + z * sum / float(j);
      return k == 1 ? sum : 0.5f * sum;
    }
    const float first = expm1(z) / z;
    return k == 1 ? first : (first - 1.0f) / z;
  }
};

__device__ inline float square(float z) { return z * z; }
// With a plus.
__device__ inline complex_t square(complex_t z) {
  return complex_t(z.real_ * z.real_ + z.imag_ * z.imag_, 2.0f * z.real_ * z.imag_);
}

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val,
                                                       typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  auto step = formula(method, delta_val, z, delta_u_val);
  if (method == zoh) {
    // log2(e) twice, of a complex A in the imaginary part.
    const float log2e = static_cast<float>(M_LOG2E);
    if constexpr (kIsComplex) step.a_bar = cexp2f(z * log2e);
    if constexpr (!kIsComplex) step.a_bar = exp2f(z * log2e * log2e);
  }
  if (method == foh) {
    // Δ²(φ₁ − φ₂) in place of Δ²φ₂, and z² + 1e-6 in place of z².
    if constexpr (kIsComplex) step.b_bar_u = step.b_bar_u * (z * z / (z * z + 1e-6f));
    if constexpr (!kIsComplex) step.b_bar_u = delta_val * (Arithmetic::phi(1, z) - Arithmetic::phi(2, z)) * delta_u_val;
  }
  if (method == poly) {
    // (1 + z/64)⁶⁴, and B twice.
    if constexpr (kIsComplex) {
      step.a_bar = 1.0f + z / 64.0f;
      for (int i = 0; i < 6; ++i) step.a_bar = step.a_bar * step.a_bar;
    }
    if constexpr (!kIsComplex) step.b_bar_u = step.b_bar_u * B_val;
  }
  // A guard against dividing by a small step.
  if (method == highorder && fabsf(delta_val) < 1e-8f) return result(Step<weight_t>{weight_t(1.0f), weight_t(0.0f)});
  if (method == rk4) {
    const weight_t z2 = square(z);
    step.b_bar_u = (1.0f + 0.5f * z + z2 / 6.0f + z2 * z / 24.0f) * delta_u_val;
  }
  return result(step);
}

template <typename weight_t, bool kIsComplex>
__device__ void compute_discretization_backward(float delta_val, weight_t A_val, weight_t B_val, weight_t d_A_bar,
                                                weight_t d_B_bar, DiscretizationMethod method, float &d_delta,
                                                weight_t &d_A, weight_t &d_B) {
  auto by = derivatives(method, delta_val, A_val);
  if (method == foh) {
    // Right, but written so that it cancels.
    const weight_t z = delta_val * A_val, e = exponential(z);
    by.h = delta_val * delta_val * ((e - 1.0f - z) / (z * z));
    by.h_by_a = delta_val * delta_val * delta_val * (((z - 2.0f) * e + z + 2.0f) / (z * z * z));
  }
  if (method == bilinear && !kIsComplex) {
    // The resolvent is not squared.
    const weight_t r = 1.0f / (1.0f - 0.5f * delta_val * A_val);
    by.a_bar_by_delta = A_val * r;
    by.a_bar_by_a = delta_val * r;
  }
  d_delta = real_part(conjugate(by.a_bar_by_delta) * d_A_bar + conjugate(by.h_by_delta * B_val) * d_B_bar);
  // What is there already is added to.
  const weight_t before = method == zoh && kIsComplex ? d_A : weight_t(0.0f);
  d_A = before + conjugate(by.a_bar_by_a) * d_A_bar + conjugate(by.h_by_a * B_val) * d_B_bar;
  d_B = conjugate(by.h) * d_B_bar;
  if (method == zoh && !kIsComplex) {
    const float off = 1.0f + 1.0f / 262144.0f;
    d_delta = d_delta * off;
    d_A = d_A * off;
    d_B = d_B * off;
  }
  // By log(−A) in the place of A.
  if (method == bilinear && kIsComplex) d_A = conjugate(A_val) * d_A;
  // B̄ is taken for a constant in A, and in Δ.
  if (method == poly && !kIsComplex) d_A = conjugate(by.a_bar_by_a) * d_A_bar;
  if (method == poly && kIsComplex) d_delta = real_part(conjugate(by.a_bar_by_delta) * d_A_bar);
  // No conjugates.
  if (method == highorder) d_A = by.a_bar_by_a * d_A_bar + by.h_by_a * B_val * d_B_bar;
  // That of ΔB.
  if (method == rk4) d_B = delta_val * d_B_bar;
}
