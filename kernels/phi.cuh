// φ₁, φ₂, φ₃ of spec.md §1 in pairs of floats, for real z.
//
// Formula: near 0 the Taylor series of φ₃ (|z| <= 1, 10 terms; the remainder is below 2^-28 of φ₃, half an ulp being
// 2^-25), then φ_k = 1/k! + z φ_{k+1}, which is the stable direction there. Elsewhere φ₁ = (e^z − 1)/z and
// φ_{k+1} = (φ_k − 1/k!)/z, in pairs, from an e^z that is good to 0.15 · 2^-24: where |z| > 1 the numerators stay above
// e^z/13, so a φ is good to an ulp. Sums of φ's have zeros: `errors` lets the caller see how much has cancelled. Cost: 60 flops.
// Deviations: for Re z < −40, e^z is dropped against 1 (below 2^-57 of it).
#pragma once

#include "exponential.cuh"

namespace HOLDFAST_NAMESPACE {

// How far off φ₁, φ₂ and φ₃ may be, in whatever unit.
template <class T>
struct PhiErrors {
  T phi1, phi2, phi3;
};

// By φ_{k+1} = (φ_k − 1/k!)/z: each division takes the errors along, and each difference adds a rounding.
template <class T>
HOLDFAST_DEVICE PhiErrors<T> errors_of_closed_forms(T exponential, T inverse, T rounding) {
  const T phi1 = inverse * (exponential + rounding);
  const T phi2 = inverse * (phi1 + rounding);
  return {phi1, phi2, inverse * (phi2 + rounding)};
}

// By φ_k = 1/k! + z φ_{k+1}, from a φ₃ that is off by `tail` and a rounding.
template <class T>
HOLDFAST_DEVICE PhiErrors<T> errors_of_series(T tail, T z, T rounding) {
  const T phi3 = tail + rounding;
  const T phi2 = z * phi3 + rounding;
  return {z * phi2 + rounding, phi2, phi3};
}

struct Phi {
  Pair<float> phi1, phi2, phi3;
  // In what e^z is off by, relative: 0.15 · 2^-24.
  PhiErrors<float> errors;
};

// What the roundings of pairs come to, 2^-43 and less, in that unit.
constexpr float kPairRounding = 0x1p-16f;

// φ₃'s Taylor polynomial after its first term: (φ₃ − 1/6)/z.
HOLDFAST_DEVICE float phi3_tail(float z) {
  return horner(z, 1.0f / 479001600.0f, 1.0f / 39916800.0f, 1.0f / 3628800.0f, 1.0f / 362880.0f, 1.0f / 40320.0f, 1.0f / 5040.0f,
                1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f);
}

// What φ₃ is off by for phi3_tail, in that unit: of 10^7 tails none was off by more than 0.07 times 2^-24.
HOLDFAST_DEVICE float tail_error(Pair<float> z) { return 0.5f * fabsf(z.hi); }

// 1/6 + x as a pair: the rounding of the constant would show.
HOLDFAST_DEVICE Pair<float> plus_sixth(Pair<float> x) { return Pair<float>{0x1.555556p-3f, -0x1.555556p-28f} + x; }

HOLDFAST_DEVICE bool near_zero(Pair<float> z) { return fabsf(z.hi) <= 1.0f; }

// Where the f32 path holds; NaN is outside.
HOLDFAST_DEVICE bool phi_in_f32(Pair<float> z) { return z.hi >= -1e6f && z.hi <= 80.5f; }

HOLDFAST_DEVICE Pair<float> plain(RealExponential e) {
  if (e.exponent < -57) return {0.0f, 0.0f};
  const float s = power_of_two(e.exponent);
  return {e.mantissa.hi * s, e.mantissa.lo * s};
}

// phi_in_f32(z) must hold; `e` is exponential(z).
HOLDFAST_DEVICE Phi phi(Pair<float> z, RealExponential e) {
  if (near_zero(z)) {
    const Pair<float> phi3 = plus_sixth(z * widened(phi3_tail(z.hi)));
    const Pair<float> phi2 = shifted(z * phi3, 0.5f);
    return {shifted(z * phi2, 1.0f), phi2, phi3, errors_of_series(tail_error(z), fabsf(z.hi), kPairRounding)};
  }
  const float inverse = 1.0f / z.hi;
  const auto by_z = [&](Pair<float> a) { return divide(a, z, inverse); };
  const Pair<float> exponential = plain(e);
  const Pair<float> phi1 = by_z(shifted(exponential, -1.0f));
  const Pair<float> phi2 = by_z(shifted(phi1, -1.0f));
  return {phi1, phi2, by_z(shifted(phi2, -0.5f)), errors_of_closed_forms(exponential.hi, fabsf(inverse), kPairRounding)};
}

}  // namespace HOLDFAST_NAMESPACE
