// Ā and h = B̄/B of one element with their derivatives by Δ and by A: spec.md §6, "Step", one `if constexpr` branch per row of §2.
//
// Formula: Ā = f(z), z = ΔA, has ∂Ā/∂Δ = A f′ and ∂Ā/∂A = Δ f′, so that the slope f′ is all that is needed: e^z itself, or
// r² with r = (1 − z/2)⁻¹ for bilinear. With ψ_k = φ_k′ = φ_k − k φ_{k+1}:
//
//              h                      ∂h/∂Δ                  ∂h/∂A
//   zoh        Δ                      1                      0
//   foh        Δ²φ₂                   Δφ₁                    Δ³ψ₂
//   bilinear   Δr                     r²                     ½Δ²r²
//   poly       Δφ₁ + ½Δ²φ₂            e^z + ½Δφ₁             Δ²ψ₁ + ½Δ³ψ₂
//   highorder  Δφ₁ + Δ²φ₂ + ½Δ³φ₃     e^z + Δφ₁ + ½Δ²φ₂      Δ²ψ₁ + Δ³ψ₂ + ½Δ⁴ψ₃
//   rk4        Δ(1 + z/2 + z²/6 + z³/24)   1 + z + z²/2 + z³/6   Δ²(1/2 + z/3 + z²/8)
//
// How: φ_k − k φ_{k+1} cancels far to the left, where both are about −1/z and ψ_k 1/z². Written out it does not:
// z²ψ₁ = (z − 1)e^z + 1, z³ψ₂ = (z − 2)e^z + (z + 2), z⁴ψ₃ = (z − 3)e^z + 1 + ½(z + 2)². On the real line every φ_k and
// ψ_k is positive, so that with Δ >= 0 no sum here cancels. Common real elements: polynomials of the last φ and ψ for
// −2 <= z <= 1 and φ_k = 1/k! + z φ_{k+1}, ψ_k = φ_{k+1} + z ψ_{k+1} from there; the closed forms to the left of it, over
// powers of A that are known before the sequence begins, where one of a packet's elements is there. rk4's cubic, which has a real root, by its factors; its quadratic,
// which has none, as a sum of squares.
// Everything else goes through double, where z is exact: real elements out of the ordinary (|z| > 86, z > 1 and Δ < 0 with
// φ-functions, a root, the ends of f32's range) and all complex ones with φ-functions. Complex rk4 takes its polynomials in
// double and e^z in floats.
// Accuracy, relative (normwise for complex weights) in units of 2^-24, each rounding counted once: see kernels/README.md.
// Where a complex derivative, a real one with Δ < 0 or one of rk4's cancels, double leaves 2^-44 of the terms besides.
// Expected cost of a common element, flops: zoh 16 real / 55 complex, bilinear 16 / 45, rk4 40, foh 40, poly 42, highorder 45,
// and 15 to 25 for the closed forms; complex rk4 100, in double; complex φ-functions some 300, in double.
#pragma once

#include "discretize.cuh"

namespace HOLDFAST_NAMESPACE {

template <bool kFirst, class A, class B>
struct Either {
  using type = A;
};
template <class A, class B>
struct Either<false, A, B> {
  using type = B;
};

// Whether h is Δ itself: a real number, with derivatives that are constants.
template <Method kMethod>
constexpr bool kHeld = kMethod == Method::kZoh;

template <Method kMethod, class W>
struct Derivatives {
  using H = typename Either<kHeld<kMethod>, typename ArithmeticOf<W>::type, W>::type;
  W a_bar, slope;
  H h, h_by_delta, h_by_a;
};

// What the closed forms need of A alone: of real ones 1/A, 1/A², …
template <class W>
struct Powers {};
template <>
struct alignas(16) Powers<float> {
  float first, second, third, fourth;
};
// Where these are far from the ends of the range.
HOLDFAST_DEVICE bool has_powers(float a) { return fabsf(a) > 1e-9f && fabsf(a) < 1e9f; }

HOLDFAST_DEVICE Powers<float> powers(float a) {
  const double inverse = 1.0 / a, square = inverse * inverse;
  return {static_cast<float>(inverse), static_cast<float>(square), static_cast<float>(square * inverse),
          static_cast<float>(square * square)};
}
HOLDFAST_DEVICE Powers<double> powers(double) { return {}; }
template <class T>
HOLDFAST_DEVICE Powers<Complex<T>> powers(Complex<T>) {
  return {};
}

// φ₂, ψ₂, φ₃ and ψ₃ for −2 <= z <= 1: minimax with the first terms as they are, good to 1.5, 2.7, 1.6 and 2 · 2^-24 with
// their roundings.
HOLDFAST_DEVICE float wide_series_phi2(float z) {
  float p = 0x1.95f748p-23f;
  p = fused(p, z, 0x1.696ccp-19f);
  p = fused(p, z, 0x1.a27956p-16f);
  p = fused(p, z, 0x1.a07bf6p-13f);
  p = fused(p, z, 0x1.6c127ep-10f);
  p = fused(p, z, 0x1.111016p-7f);
  p = fused(p, z, 0x1.55555ap-5f);
  p = fused(p, z, 0x1.555558p-3f);
  return fused(p, z, 0.5f);
}
HOLDFAST_DEVICE float series_psi2(float z) {
  float p = 0x1.3ab45p-23f;
  p = fused(p, z, 0x1.1b5124p-19f);
  p = fused(p, z, 0x1.447a08p-16f);
  p = fused(p, z, 0x1.3870bcp-13f);
  p = fused(p, z, 0x1.0414fp-10f);
  p = fused(p, z, 0x1.6c15aep-8f);
  p = fused(p, z, 0x1.999964p-6f);
  p = fused(p, z, 0x1.555556p-4f);
  return fused(p, z, 0x1.555556p-3f);
}
HOLDFAST_DEVICE float wide_series_phi3(float z) {
  float p = 0x1.958c18p-23f;
  p = fused(p, z, 0x1.68c902p-19f);
  p = fused(p, z, 0x1.a21ccp-16f);
  p = fused(p, z, 0x1.a06fc4p-13f);
  p = fused(p, z, 0x1.6c144ep-10f);
  p = fused(p, z, 0x1.111072p-7f);
  p = fused(p, z, 0x1.555558p-5f);
  return fused(p, z, 0x1.555556p-3f);
}
HOLDFAST_DEVICE float series_psi3(float z) {
  float p = 0x1.20f99cp-27f;
  p = fused(p, z, 0x1.7795bcp-23f);
  p = fused(p, z, 0x1.016a76p-19f);
  p = fused(p, z, 0x1.160f3ap-16f);
  p = fused(p, z, 0x1.0424bp-13f);
  p = fused(p, z, 0x1.a0181cp-11f);
  p = fused(p, z, 0x1.1110c2p-8f);
  p = fused(p, z, 0x1.111112p-6f);
  return fused(p, z, 0x1.555556p-5f);
}

// Of a real sum of φ-functions with Δ >= 0, by series: for −2 <= z <= 1. Further left of_the_far_left takes its place.
constexpr float kFarLeft = -2.0f;
template <Method kMethod>
HOLDFAST_DEVICE bool differentiate_phi_commonly(float delta, float z, Derivatives<kMethod, float>& out) {
  const float half = 0.5f * delta;
  if constexpr (kMethod == Method::kFoh) {
    const float phi2 = wide_series_phi2(z), psi2 = series_psi2(z);
    out.h = delta * delta * phi2;
    out.h_by_delta = delta * fused(z, phi2, 1.0f);
    out.h_by_a = delta * delta * delta * psi2;
  } else if constexpr (kMethod == Method::kPoly) {
    const float phi2 = wide_series_phi2(z), psi2 = series_psi2(z);
    const float phi1 = fused(z, phi2, 1.0f), psi1 = fused(z, psi2, phi2);
    out.h = delta * fused(half, phi2, phi1);
    out.h_by_delta = fused(half, phi1, out.a_bar);
    out.h_by_a = delta * delta * fused(half, psi2, psi1);
  } else {
    static_assert(kMethod == Method::kHighOrder, "a method without a branch of its own");
    const float phi3 = wide_series_phi3(z), psi3 = series_psi3(z);
    const float phi2 = fused(z, phi3, 0.5f), psi2 = fused(z, psi3, phi3);
    const float phi1 = fused(z, phi2, 1.0f), psi1 = fused(z, psi2, phi2);
    out.h = delta * fused(delta, fused(half, phi3, phi2), phi1);
    out.h_by_delta = fused(delta, fused(half, phi2, phi1), out.a_bar);
    out.h_by_a = delta * delta * fused(delta, fused(half, psi3, psi2), psi1);
  }
  // Bitwise: no branch.
  const float most = kMethod == Method::kHighOrder ? 1.0f : 1e6f;
  return (z <= 1.0f) & (delta >= 0.0f) & (delta <= most);
}

// The closed forms, where z is left of −2. Returns false where they would not do.
template <Method kMethod>
HOLDFAST_DEVICE bool of_the_far_left(float delta, float a, const Powers<float>& of_a, Derivatives<kMethod, float>& out) {
  const Pair<float> pair = exact_product(delta, a);
  const float z = pair.hi, e = out.a_bar;
  // e^z − 1 and e^z − 1 − z; z + 2 and z³ψ₂.
  const float first = add_rn(e, -1.0f);
  const float second = add_rn(add_rn(-1.0f, -z), add_rn(e, -pair.lo));
  const float beyond = add_rn(add_rn(z, 2.0f), pair.lo);
  const float third_slope = fused(add_rn(z, -2.0f), e, beyond);
  const float once = first * of_a.first;
  float h, by_delta, by_a;
  if constexpr (kMethod == Method::kFoh) {
    h = second * of_a.second;
    by_delta = once;
    by_a = third_slope * of_a.third;
  } else {
    const float second_slope = fused(add_rn(z, -1.0f), e, 1.0f);
    if constexpr (kMethod == Method::kPoly) {
      h = fused(0.5f * second, of_a.second, once);
      by_delta = fused(0.5f, once, e);
      by_a = fused(second_slope, of_a.second, 0.5f * third_slope * of_a.third);
    } else {
      static_assert(kMethod == Method::kHighOrder, "a method without a branch of its own");
      // e^z − 1 − z − z²/2 and z⁴ψ₃
      const float third = fused(-0.5f * z, z, fused(-z, pair.lo, second));
      const float fourth_slope = fused(add_rn(z, -3.0f), e, fused(0.5f * beyond, beyond, 1.0f));
      const float twice = second * of_a.second;
      h = fused(0.5f * third, of_a.third, add_rn(twice, once));
      by_delta = add_rn(fused(0.5f, twice, once), e);
      by_a = fused(second_slope, of_a.second, fused(third_slope, of_a.third, 0.5f * fourth_slope * of_a.fourth));
    }
  }
  const bool far = z < kFarLeft;
  out.h = far ? h : out.h;
  out.h_by_delta = far ? by_delta : out.h_by_delta;
  out.h_by_a = far ? by_a : out.h_by_a;
  return !far | has_powers(a);
}

// rk4's polynomials: the quartic of B̄ as in discretize.cuh; its derivative, a cubic over 6, by its real root r,
// (z − r)(z² + (3 + r)z + (6 + 3r + r²))/6; and that of the quartic by A, ((z + 4/3)² + 20/9)/8.
HOLDFAST_DEVICE bool differentiate_rk4_commonly(float delta, Pair<float> z, Derivatives<Method::kRk4, float>& out) {
  const bool common = b_bar_of_rk4_commonly(delta, z, 1.0f, out.h);
  const float from_root = add_rn(add_rn(z.hi, 0x1.989826p+0f), add_rn(z.lo, 0x1.3e6c4cp-25f));
  const float rest = fused(z.lo, fused(0x1.555556p-2f, z.hi, 0x1.df3522p-3f),
                           fused(z.hi, fused(0x1.555556p-3f, z.hi, 0x1.df3522p-3f), 0x1.40c9ap-1f));
  // The last coefficient in two floats: the product is 1 at z = 0.
  out.h_by_delta = fused(from_root, rest, from_root * 0x1.1d28b2p-26f);
  const float vertex = add_rn(add_rn(z.hi, 0x1.555556p+0f), z.lo);
  // Δ² may be out of range where this is not.
  out.h_by_a = delta * (delta * fused(0.125f * vertex, vertex, 0x1.1c71c8p-2f));
  return common & (fabsf(from_root) > 0x1p-16f);
}

// 1/(1 − z/2) and its square beside Ā, as bilinear_commonly has them.
HOLDFAST_DEVICE bool differentiate_bilinear_commonly(float delta, float a,
                                                     Derivatives<Method::kBilinear, float>& out) {
  const float above = one_plus_half(delta, a), below = one_plus_half(-delta, a);
  const float inverse = common_reciprocal(below), size = fabsf(below);
  const float resolvent = common_quotient(1.0f, below, inverse);
  out.a_bar = common_quotient(above, below, inverse);
  out.h = common_quotient(delta, below, inverse);
  out.slope = resolvent * resolvent;
  // Bitwise: no branch. What comes of these is far from the ends of the range.
  const float step = fabsf(delta);
  return (size > 1e-6f) & (size < 1e6f) & (step < 1e28f) & ((step > 1e-28f) | (step == 0.0f));
}
HOLDFAST_DEVICE bool differentiate_bilinear_commonly(float delta, Complex<float> a,
                                                     Derivatives<Method::kBilinear, Complex<float>>& out) {
  const Complex<float> above = one_plus_half(delta, a), below = one_plus_half(-delta, a);
  const float square = sum_of_products(below.re, below.re, below.im, below.im);
  const float inverse = common_reciprocal(square);
  out.a_bar = {common_quotient(sum_of_products(above.re, below.re, above.im, below.im), square, inverse),
               common_quotient(difference_of_products(above.im, below.re, above.re, below.im), square, inverse)};
  const Complex<float> resolvent = {common_quotient(below.re, square, inverse),
                                    common_quotient(-below.im, square, inverse)};
  out.h = scaled(resolvent, delta);
  out.slope = resolvent * resolvent;
  const float step = fabsf(delta);
  return (square > 1e-12f) & (square < 1e12f) & (step < 1e28f) & ((step > 1e-28f) | (step == 0.0f));
}

// c₀ + c₁z + c₂z² + c₃z³
HOLDFAST_DEVICE Complex<double> cubic(Complex<double> z, double c0, double c1, double c2, double c3) {
  return shifted(shifted(shifted(scaled(z, c3), c2) * z, c1) * z, c0);
}

// Where nothing is out of the ordinary, without a branch; of_the_far_left is yet to come. Returns false elsewhere; `out` is then
// worthless.
template <Method kMethod, class W>
HOLDFAST_DEVICE bool differentiate_commonly(float delta, W a, Derivatives<kMethod, W>& out) {
  if constexpr (kMethod == Method::kBilinear) {
    const bool common = differentiate_bilinear_commonly(delta, a, out);
    out.h_by_delta = out.slope;
    // Δ² may be out of range where this is not.
    out.h_by_a = scaled(scaled(out.slope, delta), 0.5f * delta);
    return common;
  } else {
    out.a_bar = out.slope = common_exponential(delta, a);
    bool common = has_common_exponent(delta, a);
    if constexpr (kHeld<kMethod>) {
      out.h = delta;
      out.h_by_delta = 1.0f;
      out.h_by_a = 0.0f;
    } else if constexpr (sizeof(W) != sizeof(float)) {
      static_assert(kMethod == Method::kRk4, "a method without a branch of its own");
      const Complex<double> wide = scaled(to_complex_double(a), static_cast<double>(delta));
      const double step = delta;
      out.h = FromDouble<W>::of(scaled(cubic(wide, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24), step));
      out.h_by_delta = FromDouble<W>::of(cubic(wide, 1.0, 1.0, 1.0 / 2, 1.0 / 6));
      out.h_by_a = FromDouble<W>::of(scaled(cubic(wide, 1.0 / 2, 1.0 / 3, 1.0 / 8, 0.0), step * step));
    } else if constexpr (kMethod == Method::kRk4) {
      common = differentiate_rk4_commonly(delta, exact_product(delta, a), out) & common;
    } else {
      common = differentiate_phi_commonly(delta, mul_rn(delta, a), out) & common;
    }
    return common;
  }
}

// φ₁, φ₂, φ₃ and their derivatives, by the series of φ₄ (20 terms, remainder 2^-64) and φ_k = 1/k! + z φ_{k+1} near 0, else
// by φ_{k+1} = (φ_k − 1/k!)/z and ψ_{k+1} = (ψ_k − φ_{k+1})/z, in which far to the left nothing cancels.
struct PreciseSlopes {
  Complex<double> exponential, phi[3], psi[3];
};

HOLDFAST_OUTLINE static void precise_slopes(PreciseSlopes& out, Complex<double> z) {
  if (norm1(z) < 2.0) {
    Complex<double> p = {1.0, 0.0};
    HOLDFAST_NO_UNROLL
    for (int k = 24; k >= 5; --k) p = shifted(scaled(p * z, 1.0 / k), 1.0);
    const Complex<double> phi4 = scaled(p, 1.0 / 24.0);
    out.phi[2] = shifted(phi4 * z, 1.0 / 6.0);
    out.phi[1] = shifted(out.phi[2] * z, 0.5);
    out.phi[0] = shifted(out.phi[1] * z, 1.0);
    out.exponential = shifted(out.phi[0] * z, 1.0);
    out.psi[2] = out.phi[2] - scaled(phi4, 3.0);
    out.psi[1] = out.phi[1] - scaled(out.phi[2], 2.0);
    out.psi[0] = out.phi[0] - out.phi[1];
    return;
  }
  const Complex<double> inverse = quotient(Complex<double>{1.0, 0.0}, z);
  out.exponential = precise_exponential(z);
  out.phi[0] = shifted(out.exponential, -1.0) * inverse;
  out.phi[1] = shifted(out.phi[0], -1.0) * inverse;
  out.phi[2] = shifted(out.phi[1], -0.5) * inverse;
  out.psi[0] = (out.exponential - out.phi[0]) * inverse;
  out.psi[1] = (out.psi[0] - out.phi[1]) * inverse;
  out.psi[2] = (out.psi[1] - out.phi[2]) * inverse;
}

// As the table has it, in double.
template <Method kMethod>
HOLDFAST_OUTLINE static void differentiate_precisely(Derivatives<kMethod, Complex<double>>& out, double delta,
                                                     Complex<double> a) {
  // Exact for f32 inputs: 24 + 24 bits.
  const Complex<double> z = scaled(a, delta);
  if constexpr (kMethod == Method::kBilinear) {
    const Complex<double> above = {1.0 + 0.5 * z.re, 0.5 * z.im}, below = {1.0 - 0.5 * z.re, -0.5 * z.im};
    const Complex<double> resolvent = quotient(Complex<double>{1.0, 0.0}, below);
    out.a_bar = quotient(above, below);
    out.h = scaled(resolvent, delta);
    out.slope = out.h_by_delta = resolvent * resolvent;
    out.h_by_a = scaled(out.slope, 0.5 * delta * delta);
  } else if constexpr (kHeld<kMethod>) {
    out.a_bar = out.slope = precise_exponential(z);
    out.h = delta;
    out.h_by_delta = 1.0;
    out.h_by_a = 0.0;
  } else if constexpr (kMethod == Method::kRk4) {
    out.a_bar = out.slope = precise_exponential(z);
    out.h = scaled(cubic(z, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24), delta);
    out.h_by_delta = cubic(z, 1.0, 1.0, 1.0 / 2, 1.0 / 6);
    out.h_by_a = scaled(cubic(z, 1.0 / 2, 1.0 / 3, 1.0 / 8, 0.0), delta * delta);
  } else {
    PreciseSlopes s;
    precise_slopes(s, z);
    out.a_bar = out.slope = s.exponential;
    const double half = 0.5 * delta;
    if constexpr (kMethod == Method::kFoh) {
      out.h = scaled(s.phi[1], delta * delta);
      out.h_by_delta = scaled(s.phi[0], delta);
      out.h_by_a = scaled(s.psi[1], delta * delta * delta);
    } else if constexpr (kMethod == Method::kPoly) {
      out.h = scaled(s.phi[0] + scaled(s.phi[1], half), delta);
      out.h_by_delta = s.exponential + scaled(s.phi[0], half);
      out.h_by_a = scaled(s.psi[0] + scaled(s.psi[1], half), delta * delta);
    } else {
      static_assert(kMethod == Method::kHighOrder, "a method without a branch of its own");
      out.h = scaled(s.phi[0] + scaled(s.phi[1] + scaled(s.phi[2], half), delta), delta);
      out.h_by_delta = s.exponential + scaled(s.phi[0] + scaled(s.phi[1], half), delta);
      out.h_by_a = scaled(s.psi[0] + scaled(s.psi[1] + scaled(s.psi[2], half), delta), delta * delta);
    }
  }
}

// Whether common elements take powers of A.
template <Method kMethod, class W>
constexpr bool kTakesPowers = sizeof(W) == sizeof(float) && kMethod != Method::kZoh && kMethod != Method::kBilinear &&
                              kMethod != Method::kRk4;

// Whether a method has a common path.
template <Method kMethod, class W>
constexpr bool kHasCommonSlopes =
    sizeof(typename ArithmeticOf<W>::type) == sizeof(float) &&
    (sizeof(W) == sizeof(float) || kMethod == Method::kZoh || kMethod == Method::kBilinear || kMethod == Method::kRk4);

// From the double path back to a weight, or to the real number that h is where it is Δ.
template <class V>
HOLDFAST_DEVICE V narrowed(Complex<double> x) {
  return FromDouble<V>::of(x);
}
template <class V>
HOLDFAST_DEVICE V narrowed(double x) {
  return static_cast<V>(x);
}

// Of neighbours with one A, those that are not common. Never inlined: the others keep their registers.
template <Method kMethod, int kCount, class W, class T>
HOLDFAST_OUTLINE static void differentiate_rare(const T (&delta)[kCount], W a, const Powers<W>& of_a,
                                                Derivatives<kMethod, W> (&out)[kCount]) {
  using H = typename Derivatives<kMethod, W>::H;
  HOLDFAST_NO_UNROLL
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kHasCommonSlopes<kMethod, W>) {
      bool common = differentiate_commonly<kMethod>(delta[i], a, out[i]);
      if constexpr (kTakesPowers<kMethod, W>) common = of_the_far_left(delta[i], a, of_a, out[i]) && common;
      if (common) continue;
    }
    Derivatives<kMethod, Complex<double>> precise;
    differentiate_precisely<kMethod>(precise, to_double(delta[i]), to_complex_double(a));
    out[i] = {narrowed<W>(precise.a_bar), narrowed<W>(precise.slope), narrowed<H>(precise.h),
              narrowed<H>(precise.h_by_delta), narrowed<H>(precise.h_by_a)};
  }
}

// Of neighbours with one A: side by side; the closed forms if one of them is far to the left; and once more one after the other
// where one of them is not common.
template <Method kMethod, int kCount, class W, class T>
HOLDFAST_ONCE static void differentiate(const T (&delta)[kCount], W a, const Powers<W>& of_a,
                                        Derivatives<kMethod, W> (&out)[kCount]) {
  if constexpr (kHasCommonSlopes<kMethod, W>) {
    bool common = true;
    HOLDFAST_UNROLL
    for (int i = 0; i < kCount; ++i) common = differentiate_commonly<kMethod>(delta[i], a, out[i]) & common;
    if constexpr (kTakesPowers<kMethod, W>) {
      bool far = false;
      HOLDFAST_UNROLL
      for (int i = 0; i < kCount; ++i) far = far | (delta[i] * a < kFarLeft);
      if (far) {
        HOLDFAST_UNROLL
        for (int i = 0; i < kCount; ++i) common = of_the_far_left(delta[i], a, of_a, out[i]) & common;
      }
    }
    if (common) return;
  }
  // Copies: what a function is given by reference leaves the registers.
  T deltas[kCount];
  const Powers<W> powers_of_a = of_a;
  Derivatives<kMethod, W> outs[kCount];
  HOLDFAST_UNROLL
  for (int i = 0; i < kCount; ++i) deltas[i] = delta[i];
  differentiate_rare<kMethod>(deltas, a, powers_of_a, outs);
  HOLDFAST_UNROLL
  for (int i = 0; i < kCount; ++i) out[i] = outs[i];
}

}  // namespace HOLDFAST_NAMESPACE
