// (Ā, B̄) of one element, the method a compile-time parameter: spec.md §2, one `if constexpr` branch per row.
//
// Accuracy contract, for |z| <= 80 and the given f32 Δ, A, B taken as exact: what src/promise/contract.rs counts for each
// method, at most 1.5 · 2^-24 normwise for e^z, 3.25 for a B̄ by φ-functions, 7.125 for complex bilinear; results in the
// subnormal range within half a subnormal more. Beyond 80: e^z underflows to 0 or overflows to infinity, and nothing
// finite turns into a NaN that the exact value is not.
// How: z = ΔA as an exact pair, φ by phi.cuh, and a monitor that sends the few elements on which pairs of floats
// lose too much (see precise.cuh) to double. The weight type W is float, Complex<float>, double or Complex<double>;
// the double ones always take the double path (precision lifting).
// Expected cost, flops per element: zoh 30 real / 80 complex, bilinear 10 / 30, rk4 60 / 140, the others 110 / 400.
#pragma once

#include "phi.cuh"
#include "precise.cuh"

namespace HOLDFAST_NAMESPACE {

template <class W>
struct Coefficients {
  W a_bar, b_bar;
};

// Real arithmetic type behind a weight type.
template <class W>
struct ArithmeticOf {
  using type = W;
};
template <class T>
struct ArithmeticOf<Complex<T>> {
  using type = T;
};

// Far enough from overflow, and from underflow of a pair's low part. False for 0 and NaN.
template <class W>
HOLDFAST_DEVICE bool comfortable(W x) {
  const auto m = norm1(x);
  return m > 1e-28f && m < 1e28f;
}

HOLDFAST_DEVICE bool bilinear_in_f32(float, float) { return true; }
// quotient() squares the divisor.
HOLDFAST_DEVICE bool bilinear_in_f32(Complex<float> n, Complex<float> d) {
  return norm1(d) > 1e-12f && norm1(d) < 1e12f && norm1(n) < 1e12f;
}
HOLDFAST_DEVICE float quotient(float n, float d) { return n / d; }

// 1 + ΔA/2, each part rounded once.
HOLDFAST_DEVICE float one_plus_half(float delta, float a) { return fused(0.5f * delta, a, 1.0f); }
HOLDFAST_DEVICE Complex<float> one_plus_half(float delta, Complex<float> a) {
  return {fused(0.5f * delta, a.re, 1.0f), 0.5f * delta * a.im};
}

// (above)(below)⁻¹ and ΔB (below)⁻¹. Returns false where f32 would not do.
template <class W>
HOLDFAST_DEVICE bool bilinear(float delta, W a, W b, Coefficients<W>& out) {
  const W above = one_plus_half(delta, a);
  const W below = one_plus_half(-delta, a);
  const W step = scaled(b, delta);
  out = {quotient(above, below), quotient(step, below)};
  return comfortable(step) && comfortable(out.b_bar) && bilinear_in_f32(above, below);
}

// How far apart e^z's share of a sum of φ's and the sum itself may be before double takes over. Complex e^z is good to
// 0.39 · 2^-24 normwise, so 4 keeps its contribution below 2.21 · 2^-24 (√2 for sums of parts in place of moduli). Real
// e^z is good to 0.15 · 2^-24, so 13, which φ₃ alone comes to, keeps it below 1.95 · 2^-24.
constexpr float kMostCancellation = 4.0f;
constexpr float kMostRealCancellation = 13.0f;

// B̄ = (φ combination) Δ B. Returns false where f32 would not do.
template <Method kMethod, class W, class V, class E>
HOLDFAST_DEVICE bool b_bar_by_phi(float delta, V z, E e, W b, W& out) {
  if (!phi_in_f32(z)) return false;
  const Phi<V> p = phi(z, e);
  const V sum = combined_phi<kMethod>(p.phi1, p.phi2, p.phi3, delta);
  constexpr bool kComplex = sizeof(W) == 2 * sizeof(float);
  // Real φ's are positive: their sum cancels with a backward step alone.
  if (kComplex || delta < 0.0f) {
    constexpr float most = kComplex ? kMostCancellation : kMostRealCancellation;
    const float error = combined_phi<kMethod>(p.errors.phi1, p.errors.phi2, p.errors.phi3, fabsf(delta));
    if (error > most * norm1(rounded(sum))) return false;
  }
  const V per_b = scaled(sum, delta);
  const V product = per_b * widened(b);
  out = rounded(product);
  return comfortable(rounded(per_b)) && comfortable(out) && fabsf(delta) > 1e-20f && fabsf(delta) < 1e6f;
}

// B̄ = Δ (24 + 12z + 4z² + z³)/24 B. Returns false where f32 would not do: near a root, or out of range.
template <class W, class V>
HOLDFAST_DEVICE bool b_bar_of_rk4(float delta, V z, W b, W& out) {
  const V sum = rk4_polynomial(z, 1.0f);
  const float m = norm1(rounded(z));
  // 2^-16 of the terms' sum leaves a pair's 2^-44 a factor of 16 below the contract.
  if (!(m < 1e6f) || norm1(rounded(sum)) * 65536.0f < rk4_polynomial(m, 1.0f)) return false;
  const Pair<float> step = two_prod(delta, 0x1.555556p-5f) + delta * -0x1.555556p-30f;
  const V per_b = scaled(sum, step.hi) + scaled(sum, step.lo);
  const V product = per_b * widened(b);
  out = rounded(product);
  return comfortable(rounded(per_b)) && comfortable(out) && comfortable(delta);
}

// In f32. Returns false where f32 would not do; `out` is then worthless.
template <Method kMethod, class W>
HOLDFAST_DEVICE bool discretize_in_f32(float delta, W a, W b, Coefficients<W>& out) {
  if constexpr (kMethod == Method::kBilinear) {
    return bilinear(delta, a, b, out);
  } else {
    const auto z = exact_product(delta, a);
    if (!exponential_in_f32(z)) return false;
    const auto e = exponential(z);
    out.a_bar = value(e);
    if constexpr (kMethod == Method::kZoh) {
      // spec.md §2, row 0: the simplified input term.
      out.b_bar = scaled(b, delta);
      return true;
    } else if constexpr (kMethod == Method::kRk4) {
      return b_bar_of_rk4(delta, z, b, out.b_bar);
    } else {
      return b_bar_by_phi<kMethod>(delta, z, e, b, out.b_bar);
    }
  }
}

// Through the double path, with the given types at its door: they take half the registers.
template <Method kMethod, class W>
HOLDFAST_OUTLINE static Coefficients<W> discretize_in_double(typename ArithmeticOf<W>::type delta, W a, W b) {
  const PreciseCoefficients precise =
      discretize_precisely<kMethod>(to_double(delta), to_complex_double(a), to_complex_double(b));
  return {FromDouble<W>::of(precise.a_bar), FromDouble<W>::of(precise.b_bar)};
}

template <Method kMethod, class W>
HOLDFAST_ONCE static Coefficients<W> discretize(typename ArithmeticOf<W>::type delta, W a, W b) {
  Coefficients<W> out;
  bool done = false;
  if constexpr (sizeof(typename ArithmeticOf<W>::type) == sizeof(float)) {
    done = discretize_in_f32<kMethod>(delta, a, b, out);
  }
  if (!done) out = discretize_in_double<kMethod>(delta, a, b);
  return out;
}

}  // namespace HOLDFAST_NAMESPACE
