// φ₁, φ₂, φ₃ of spec.md §1 in pairs of floats, real and complex.
//
// Formula: near 0 the Taylor series of φ₃ (real: |z| <= 1, 10 terms, complex: |z| <= 1.5, 12 terms; the remainders
// are below 2^-28 of φ₃, half an ulp being 2^-25), then φ_k = 1/k! + z φ_{k+1}, which is the stable direction there.
// Elsewhere φ₁ = (e^z − 1)/z and φ_{k+1} = (φ_k − 1/k!)/z, in pairs, from an e^z that is good to 0.15 · 2^-24: where
// |z| > 1 the real numerators stay above e^z/13, so a real φ is good to an ulp. Complex numerators have zeros, and so
// have sums of φ's: `errors` lets the caller see how much has cancelled. Cost: 60 flops real, 250 complex.
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

template <class V>
struct Phi {
  V phi1, phi2, phi3;
  // In what e^z is off by, relative: 0.15 · 2^-24 real, 0.39 · 2^-24 complex.
  PhiErrors<float> errors;
};

// What the roundings of pairs come to, 2^-43 and less, in that unit.
constexpr float kPairRounding = 0x1p-16f;

// φ₃'s Taylor polynomial after its first term: (φ₃ − 1/6)/z.
HOLDFAST_DEVICE float phi3_tail(float z) {
  float p = 1.0f / 479001600.0f;
  p = fused(p, z, 1.0f / 39916800.0f);
  p = fused(p, z, 1.0f / 3628800.0f);
  p = fused(p, z, 1.0f / 362880.0f);
  p = fused(p, z, 1.0f / 40320.0f);
  p = fused(p, z, 1.0f / 5040.0f);
  p = fused(p, z, 1.0f / 720.0f);
  p = fused(p, z, 1.0f / 120.0f);
  return fused(p, z, 1.0f / 24.0f);
}

HOLDFAST_DEVICE Complex<float> phi3_tail(Complex<float> z) {
  // Real coefficients: Horner over z² would save flops, but not much, and cancels more.
  Complex<float> p = {fused(1.0f / 87178291200.0f, z.re, 1.0f / 6227020800.0f), z.im * (1.0f / 87178291200.0f)};
  p = shifted(p * z, 1.0f / 479001600.0f);
  p = shifted(p * z, 1.0f / 39916800.0f);
  p = shifted(p * z, 1.0f / 3628800.0f);
  p = shifted(p * z, 1.0f / 362880.0f);
  p = shifted(p * z, 1.0f / 40320.0f);
  p = shifted(p * z, 1.0f / 5040.0f);
  p = shifted(p * z, 1.0f / 720.0f);
  p = shifted(p * z, 1.0f / 120.0f);
  return shifted(p * z, 1.0f / 24.0f);
}

// What φ₃ is off by for phi3_tail, in that unit: of 10^7 tails none was off by more than 0.07 (real) or 0.1 (complex)
// times 2^-24.
HOLDFAST_DEVICE float tail_error(Pair<float> z) { return 0.5f * fabsf(z.hi); }
HOLDFAST_DEVICE float tail_error(Complex<Pair<float>> z) { return 0.26f * norm1(rounded(z)); }

// 1/6 + x as a pair: the rounding of the constant would show.
HOLDFAST_DEVICE Pair<float> plus_sixth(Pair<float> x) { return Pair<float>{0x1.555556p-3f, -0x1.555556p-28f} + x; }
HOLDFAST_DEVICE Complex<Pair<float>> plus_sixth(Complex<Pair<float>> x) { return {plus_sixth(x.re), x.im}; }

HOLDFAST_DEVICE bool near_zero(Pair<float> z) { return fabsf(z.hi) <= 1.0f; }
HOLDFAST_DEVICE bool near_zero(Complex<Pair<float>> z) {
  return fused(z.re.hi, z.re.hi, z.im.hi * z.im.hi) <= 2.25f;
}

// Where the f32 path holds; NaN is outside.
HOLDFAST_DEVICE bool phi_in_f32(Pair<float> z) { return z.hi >= -1e6f && z.hi <= 80.5f; }
HOLDFAST_DEVICE bool phi_in_f32(Complex<Pair<float>> z) {
  return z.re.hi >= -1e6f && z.re.hi <= 80.5f && fabsf(z.im.hi) <= 1000.0f;
}

HOLDFAST_DEVICE Pair<float> plain(RealExponential e) {
  if (e.exponent < -57) return {0.0f, 0.0f};
  const float s = power_of_two(e.exponent);
  return {e.mantissa.hi * s, e.mantissa.lo * s};
}

HOLDFAST_DEVICE Complex<Pair<float>> plain(ComplexExponential e) {
  return {plain(RealExponential{e.mantissa.re, e.exponent}), plain(RealExponential{e.mantissa.im, e.exponent})};
}

// Divides by z, again and again: 1/z is formed once.
struct DivideByReal {
  Pair<float> z;
  float inverse;
  HOLDFAST_DEVICE explicit DivideByReal(Pair<float> by) : z(by), inverse(1.0f / by.hi) {}
  HOLDFAST_DEVICE Pair<float> operator()(Pair<float> a) const { return divide(a, z, inverse); }
  HOLDFAST_DEVICE float size() const { return fabsf(inverse); }
};

struct DivideByComplex {
  Complex<Pair<float>> inverse;
  HOLDFAST_DEVICE explicit DivideByComplex(Complex<Pair<float>> z) {
    const Pair<float> r = reciprocal(sum_of_products(z.re, z.re, z.im, z.im));
    inverse = {z.re * r, -(z.im * r)};
  }
  HOLDFAST_DEVICE Complex<Pair<float>> operator()(Complex<Pair<float>> a) const { return a * inverse; }
  HOLDFAST_DEVICE float size() const { return norm1(rounded(inverse)); }
};

HOLDFAST_DEVICE DivideByReal divider(Pair<float> z) { return DivideByReal(z); }
HOLDFAST_DEVICE DivideByComplex divider(Complex<Pair<float>> z) { return DivideByComplex(z); }

// phi_in_f32(z) must hold; `e` is exponential(z).
template <class V, class E>
HOLDFAST_DEVICE Phi<V> phi(V z, E e) {
  if (near_zero(z)) {
    const V phi3 = plus_sixth(z * widened(phi3_tail(rounded(z))));
    const V phi2 = shifted(z * phi3, 0.5f);
    return {shifted(z * phi2, 1.0f), phi2, phi3, errors_of_series(tail_error(z), norm1(rounded(z)), kPairRounding)};
  }
  const auto by_z = divider(z);
  const V exponential = plain(e);
  const V phi1 = by_z(shifted(exponential, -1.0f));
  const V phi2 = by_z(shifted(phi1, -1.0f));
  const float magnitude = norm1(rounded(exponential));
  return {phi1, phi2, by_z(shifted(phi2, -0.5f)), errors_of_closed_forms(magnitude, by_z.size(), kPairRounding)};
}

}  // namespace HOLDFAST_NAMESPACE
