// Softplus of Δ and the gate z·sigmoid(z), with the slopes that gradients take.
//
// Errors: src/promise/. Cost: one exponential each, and softplus a polynomial of ten terms.
#pragma once

#include "discretize.cuh"

namespace HOLDFAST_NAMESPACE {

// log(1 + t)/t for 0 <= t <= 1: minimax, good to 2^-26.
HOLDFAST_DEVICE float log_of_one_plus_over(float t) {
  return horner(t, -0x1.af49cep-9f, 0x1.4917cep-6f, -0x1.d6b08cp-5f, 0x1.b4ae08p-4f, -0x1.3a435ep-3f, 0x1.934b54p-3f, -0x1.ff23e6p-3f,
                0x1.554ddp-2f, -0x1.ffffd2p-2f, 1.0f);
}

// max(x, 0) + log(1 + e^−|x|). The exponential vanishes at −105; it comes 2^64 times too large, which its exponent's bits hold, so that
// one product rounds it where it is subnormal. A NaN is the larger one.
HOLDFAST_DEVICE float softplus(float x) {
  const CommonExponential e = common_exponential_parts(-least_of(fabsf(x), 105.0f), octaves(1.0f), kMagic + 64.0f);
  const float t = value(e) * 0x1p-64f;
  return largest_of(x, 0.0f) + t * log_of_one_plus_over(t);
}
HOLDFAST_DEVICE double softplus(double x) { return x > 40.0 ? x : log1p(exp(x)); }
HOLDFAST_DEVICE float gate(float z) { return z / (1.0f + expf(-z)); }
HOLDFAST_DEVICE double gate(double z) { return z / (1.0 + exp(-z)); }

// The sigmoid, softplus' derivative: e^−|x| does not overflow.
HOLDFAST_DEVICE float sigmoid(float x) {
  const float e = expf(-fabsf(x)), below = 1.0f + e;
  return common_quotient(x > 0.0f ? 1.0f : e, below, common_reciprocal(below));
}
HOLDFAST_DEVICE double sigmoid(double x) {
  const double e = exp(-fabs(x));
  return (x > 0.0 ? 1.0 : e) / (1.0 + e);
}
// The gate's, σ(z)(1 + z σ(−z)).
template <class T>
HOLDFAST_DEVICE T gate_slope(T z) {
  const T s = sigmoid(z);
  return s * fused(z, T(1) - s, T(1));
}

}  // namespace HOLDFAST_NAMESPACE
