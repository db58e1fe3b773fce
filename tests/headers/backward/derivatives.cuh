// What the fixtures of this folder share: the forward function of accurate.cuh, and the derivatives of Ā and of h = B̄/B by Δ
// and by A in f32 (spec.md, section 6), by the methods' numbers.
#pragma once

#include "../accurate.cuh"

__device__ inline float conjugate(float x) { return x; }
__device__ inline complex_t conjugate(complex_t x) { return complex_t(x.real_, -x.imag_); }
__device__ inline float real_part(float x) { return x; }
__device__ inline float real_part(complex_t x) { return x.real_; }

template <typename weight_t>
struct Derivatives {
  weight_t a_bar_by_delta, a_bar_by_a, h, h_by_delta, h_by_a;
};

// φ₄, from the series where the closed form cancels.
template <typename weight_t>
__device__ weight_t phi4_function(weight_t z) {
  if (modulus(z) < 1.5f) {
    weight_t sum = weight_t(1.0f);
    for (int k = 18; k >= 5; --k) sum = 1.0f + sum * z / static_cast<float>(k);
    return sum / 24.0f;
  }
  return (phi_functions(z).phi3 - 1.0f / 6.0f) / z;
}

template <typename weight_t>
__device__ Derivatives<weight_t> derivatives(int method, float delta, weight_t a) {
  const weight_t z = delta * a;
  // Ā's slope, the derivative of the exponential itself.
  weight_t slope = exponential(z);
  weight_t h = weight_t(delta), h_by_delta = weight_t(1.0f), h_by_a = weight_t(0.0f);
  if (method == 2) {  // bilinear
    const weight_t r = 1.0f / (1.0f - 0.5f * z);
    slope = r * r;
    h = delta * r;
    h_by_delta = r * r;
    h_by_a = 0.5f * delta * delta * (r * r);
  } else if (method == 5) {  // rk4
    h = delta * (1.0f + z * (0.5f + z * (1.0f / 6.0f + z * (1.0f / 24.0f))));
    h_by_delta = 1.0f + z * (1.0f + z * (0.5f + z * (1.0f / 6.0f)));
    h_by_a = delta * delta * (0.5f + z * (1.0f / 3.0f + z * 0.125f));
  } else if (method != 0) {
    // φ' = φ_k − k φ_(k+1)
    const auto phi = phi_functions(z);
    const weight_t slope1 = phi.phi1 - phi.phi2, slope2 = phi.phi2 - 2.0f * phi.phi3;
    const weight_t slope3 = phi.phi3 - 3.0f * phi4_function(z);
    if (method == 1) {  // foh
      h = delta * delta * phi.phi2;
      h_by_delta = delta * phi.phi1;
      h_by_a = delta * delta * delta * slope2;
    } else if (method == 3) {  // poly
      h = delta * (phi.phi1 + 0.5f * delta * phi.phi2);
      h_by_delta = slope + 0.5f * delta * phi.phi1;
      h_by_a = delta * delta * (slope1 + 0.5f * delta * slope2);
    } else {  // highorder
      h = delta * (phi.phi1 + delta * (phi.phi2 + 0.5f * delta * phi.phi3));
      h_by_delta = slope + delta * (phi.phi1 + 0.5f * delta * phi.phi2);
      h_by_a = delta * delta * (slope1 + delta * (slope2 + 0.5f * delta * slope3));
    }
  }
  return {a * slope, delta * slope, h, h_by_delta, h_by_a};
}
