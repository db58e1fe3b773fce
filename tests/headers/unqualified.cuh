// Correct: accurate.cuh with its functions named as CUDA has them for every type, without a suffix and without std::,
// behind parts of the C++ library.
#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

#include <complex>
#include <functional>
#include <iostream>
#include <vector>
#include <math_constants.h>

__device__ inline float exponential(float z) { return exp(z); }

__device__ inline complex_t exponential(complex_t z) {
  float s, c;
  sincosf(z.imag_, &s, &c);
  const float modulus = exp(z.real_);
  return complex_t(modulus * c, modulus * s);
}

// e^z − 1
__device__ inline float exponential_minus_1(float z) { return expm1(z); }

__device__ inline complex_t exponential_minus_1(complex_t z) {
  float s, c, s_half, c_half;
  sincosf(z.imag_, &s, &c);
  sincosf(0.5f * z.imag_, &s_half, &c_half);
  return complex_t(expm1(z.real_) * c - 2.0f * s_half * s_half, exp(z.real_) * s);
}

__device__ inline float modulus(float z) { return abs(z); }
__device__ inline float modulus(complex_t z) { return max(abs(z.real_), abs(z.imag_)); }

template <typename weight_t>
struct Phi {
  weight_t phi1, phi2, phi3;
};

// φ₁, φ₂, φ₃: from the series of φ₃ upwards where the closed forms cancel.
template <typename weight_t>
__device__ Phi<weight_t> phi_functions(weight_t z) {
  if (min(modulus(z), 2.0f) < 1.5f) {
    weight_t sum = weight_t(1.0f);
    for (int k = 17; k >= 4; --k) sum = 1.0f + sum * z / static_cast<float>(k);
    const weight_t phi3 = sum / 6.0f;
    const weight_t phi2 = 0.5f + z * phi3;
    return {1.0f + z * phi2, phi2, phi3};
  }
  const weight_t phi1 = exponential_minus_1(z) / z;
  const weight_t phi2 = (phi1 - 1.0f) / z;
  return {phi1, phi2, (phi2 - 0.5f) / z};
}

#include "formulas.cuh"

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float delta_val, weight_t A_val,
                                                       typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
                                                       weight_t B_val, DiscretizationMethod method) {
  const weight_t z = delta_val * A_val;
  auto step = formula(method, delta_val, z, delta_u_val);
  return result(step);
}
