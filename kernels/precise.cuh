// The coefficients in double: for the rare elements that f32 pairs cannot do, and for precision lifting, in which
// the whole kernel runs in double.
//
// Formula: spec.md §2, every row. φ₁…φ₃ for |z| < 1.5 from the Taylor series of φ₃ (20 terms, remainder 2^-64) and
// φ_k = 1/k! + z φ_{k+1}; elsewhere from e^z − 1 = expm1(x) cos y − 2 sin²(y/2) + i e^x sin y and
// φ_{k+1} = (φ_k − 1/k!)/z. rk4's polynomial, which has roots, in pairs of doubles.
// Rare elements: those near a zero of φ₂, φ₃ or of a method's sum of them (complex, Re z > 0), near a multiple of
// 2πi, near a root of rk4's polynomial, and those whose intermediate products would leave the range of f32.
// Deviation: spec.md §3 has the arithmetic in f32; this path is the one exception. It is never inlined.
// e^x is capped at e^400, which is far beyond f32 and keeps infinity − infinity out. Cost: some hundred f64 flops.
#pragma once

#include "complex.cuh"

namespace HOLDFAST_NAMESPACE {

struct PreciseCoefficients {
  Complex<double> a_bar, b_bar;
};

HOLDFAST_DEVICE Complex<double> negated(Complex<double> a) { return {-a.re, -a.im}; }

// φ₁ + stages, as each method combines them: B̄ / (ΔB).
template <Method kMethod, class V, class T>
HOLDFAST_DEVICE V combined_phi(V phi1, V phi2, V phi3, T delta) {
  if constexpr (kMethod == Method::kFoh) {
    return scaled(phi2, delta);
  } else if constexpr (kMethod == Method::kPoly) {
    return phi1 + scaled(phi2, T(0.5) * delta);
  } else {
    static_assert(kMethod == Method::kHighOrder, "a method without a branch of its own");
    return phi1 + scaled(phi2 + scaled(phi3, T(0.5) * delta), delta);
  }
}

// 24 + 12z + 4z² + z³: rk4's 24 B̄ / (ΔB), with integer coefficients.
template <class V, class T>
HOLDFAST_DEVICE V rk4_polynomial(V z, T) {
  return shifted(shifted(shifted(z, T(4)) * z, T(12)) * z, T(24));
}

HOLDFAST_OUTLINE static Complex<double> precise_exponential(Complex<double> z) {
  const double e = exp(z.re > 400.0 ? 400.0 : z.re);
  return {e * cos(z.im), e * sin(z.im)};
}

HOLDFAST_OUTLINE static Complex<double> precise_exponential_minus_one(Complex<double> z) {
  const double x = z.re > 400.0 ? 400.0 : z.re;
  const double half_sine = sin(0.5 * z.im);
  return {expm1(x) * cos(z.im) - 2.0 * half_sine * half_sine, exp(x) * sin(z.im)};
}

struct PrecisePhi {
  Complex<double> phi1, phi2, phi3;
};

HOLDFAST_OUTLINE static PrecisePhi precise_phi(Complex<double> z) {
  if (norm1(z) < 1.5) {
    // Horner: φ₃ = 1/6 (1 + z/4 (1 + z/5 (1 + …)))
    Complex<double> p = {1.0, 0.0};
    HOLDFAST_NO_UNROLL
    for (int k = 23; k >= 4; --k) p = shifted(scaled(p * z, 1.0 / k), 1.0);
    const Complex<double> phi3 = {p.re / 6.0, p.im / 6.0};
    const Complex<double> phi2 = shifted(phi3 * z, 0.5);
    return {shifted(phi2 * z, 1.0), phi2, phi3};
  }
  const Complex<double> phi1 = quotient(precise_exponential_minus_one(z), z);
  const Complex<double> phi2 = quotient(shifted(phi1, -1.0), z);
  return {phi1, phi2, quotient(shifted(phi2, -0.5), z)};
}

template <Method kMethod>
HOLDFAST_OUTLINE static PreciseCoefficients discretize_precisely(double delta, Complex<double> a, Complex<double> b) {
  // Exact for f32 inputs: 24 + 24 bits.
  const Complex<double> z = scaled(a, delta);
  const Complex<double> step = scaled(b, delta);
  if constexpr (kMethod == Method::kBilinear) {
    const Complex<double> above = {1.0 + 0.5 * z.re, 0.5 * z.im};
    const Complex<double> below = {1.0 - 0.5 * z.re, -0.5 * z.im};
    return {quotient(above, below), quotient(step, below)};
  } else {
    const Complex<double> a_bar = precise_exponential(z);
    if constexpr (kMethod == Method::kZoh) {
      return {a_bar, step};
    } else if constexpr (kMethod == Method::kRk4) {
      const Complex<Pair<double>> wide = {two_prod(delta, a.re), two_prod(delta, a.im)};
      const Complex<double> p = rounded(rk4_polynomial(wide, 1.0));
      return {a_bar, {(p * step).re / 24.0, (p * step).im / 24.0}};
    } else {
      const PrecisePhi phi = precise_phi(z);
      // A zero step or weight is exact, whatever φ: no 0 · infinity.
      if (delta == 0.0 || norm1(b) == 0.0) return {a_bar, {0.0, 0.0}};
      return {a_bar, combined_phi<kMethod>(phi.phi1, phi.phi2, phi.phi3, delta) * step};
    }
  }
}

}  // namespace HOLDFAST_NAMESPACE
