// What most fixtures share: the exponential, the φ-functions without cancellation, and with these every formula.
#pragma once

#include "selective_scan_common.h"

__device__ inline float exponential(float z) { return expf(z); }

__device__ inline complex_t exponential(complex_t z) {
  float s, c;
  sincosf(z.imag_, &s, &c);
  const float modulus = expf(z.real_);
  return complex_t(modulus * c, modulus * s);
}

// e^z − 1
__device__ inline float exponential_minus_1(float z) { return expm1f(z); }

__device__ inline complex_t exponential_minus_1(complex_t z) {
  float s, c, s_half, c_half;
  sincosf(z.imag_, &s, &c);
  sincosf(0.5f * z.imag_, &s_half, &c_half);
  return complex_t(expm1f(z.real_) * c - 2.0f * s_half * s_half, expf(z.real_) * s);
}

__device__ inline float modulus(float z) { return fabsf(z); }
__device__ inline float modulus(complex_t z) { return hypotf(z.real_, z.imag_); }

template <typename weight_t>
struct Phi {
  weight_t phi1, phi2, phi3;
};

// φ₁, φ₂, φ₃: from the series of φ₃ upwards where the closed forms cancel.
template <typename weight_t>
__device__ Phi<weight_t> phi_functions(weight_t z) {
  if (modulus(z) < 1.5f) {
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
