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
// powers of A that are known before the sequence begins, where one of a packet's elements is there. rk4's cubic, which has a real
// root, by its factors; its quadratic, which has none, as a sum of squares. Common complex elements with φ-functions take double as the
// forward scan does (wide.cuh), complex rk4 its polynomials in double and e^z in floats.
// Everything else goes through the rare path in double, where z is exact: what is out of the ordinary (|z| > 86, z > 1 and Δ < 0 with
// φ-functions, a root, the ends of f32's range).
// Accuracy, relative (normwise for complex weights) in units of 2^-24, each rounding counted once: see kernels/README.md.
// Where a complex derivative, a real one with Δ < 0 or one of rk4's cancels, double leaves 2^-44 of the terms besides.
// Expected cost of a common element, flops: zoh 16 real / 55 complex, bilinear 16 / 45, rk4 40, foh 40, poly 42, highorder 45,
// and 15 to 25 for the closed forms; complex rk4 100, in double; complex φ-functions 80 to 100, in double.
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

// What the closed forms need of A alone: of real ones 1/A, 1/A², …, of complex ones 1/A.
template <class W>
struct Powers {};
template <>
struct alignas(16) Powers<Complex<float>> {
  Complex<double> first;
};
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
HOLDFAST_DEVICE Powers<Complex<float>> powers(Complex<float> a) { return {wide_inverse(a)}; }
HOLDFAST_DEVICE Powers<Complex<double>> powers(Complex<double>) { return {}; }

// From double back to a weight, or to the real number that h is where it is Δ.
template <class V>
HOLDFAST_DEVICE V narrowed(Complex<double> x) {
  return FromDouble<V>::of(x);
}
template <class V>
HOLDFAST_DEVICE V narrowed(double x) {
  return static_cast<V>(x);
}
template <class W, Method kMethod>
HOLDFAST_DEVICE Derivatives<kMethod, W> narrowed_from(const Derivatives<kMethod, Complex<double>>& wide) {
  using H = typename Derivatives<kMethod, W>::H;
  return {narrowed<W>(wide.a_bar), narrowed<W>(wide.slope), narrowed<H>(wide.h), narrowed<H>(wide.h_by_delta), narrowed<H>(wide.h_by_a)};
}

// φ₂, ψ₂, φ₃ and ψ₃ for −2 <= z <= 1: minimax with the first terms as they are, good to 1.5, 2.7, 1.6 and 2 · 2^-24 with
// their roundings.
HOLDFAST_DEVICE float wide_series_phi2(float z) {
  return horner(z, 0x1.95f748p-23f, 0x1.696ccp-19f, 0x1.a27956p-16f, 0x1.a07bf6p-13f, 0x1.6c127ep-10f, 0x1.111016p-7f, 0x1.55555ap-5f,
                0x1.555558p-3f, 0.5f);
}
HOLDFAST_DEVICE float series_psi2(float z) {
  return horner(z, 0x1.3ab45p-23f, 0x1.1b5124p-19f, 0x1.447a08p-16f, 0x1.3870bcp-13f, 0x1.0414fp-10f, 0x1.6c15aep-8f, 0x1.999964p-6f,
                0x1.555556p-4f, 0x1.555556p-3f);
}
HOLDFAST_DEVICE float wide_series_phi3(float z) {
  return horner(z, 0x1.958c18p-23f, 0x1.68c902p-19f, 0x1.a21ccp-16f, 0x1.a06fc4p-13f, 0x1.6c144ep-10f, 0x1.111072p-7f, 0x1.555558p-5f,
                0x1.555556p-3f);
}
HOLDFAST_DEVICE float series_psi3(float z) {
  return horner(z, 0x1.20f99cp-27f, 0x1.7795bcp-23f, 0x1.016a76p-19f, 0x1.160f3ap-16f, 0x1.0424bp-13f, 0x1.a0181cp-11f, 0x1.1110c2p-8f,
                0x1.111112p-6f, 0x1.555556p-5f);
}

// Of a real sum of φ-functions with Δ >= 0, by series: for −2 <= z <= 1. Further left of_the_far_left takes its place.
constexpr float kFarLeft = -2.0f;
template <Method kMethod>
HOLDFAST_DEVICE void differentiate_phi_commonly(float delta, float z, Derivatives<kMethod, float>& out) {
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

// φ₁, φ₂, φ₃ and their derivatives, beside e^z.
struct PreciseSlopes {
  Complex<double> exponential, phi[3], psi[3];
};

// From φ₄.
HOLDFAST_DEVICE PreciseSlopes lower_slopes(Complex<double> z, Complex<double> phi4) {
  const PrecisePhi phi = lower_phi(z, phi4);
  return {multiply_add(z, phi.phi1, Complex<double>{1.0, 0.0}),
          {phi.phi1, phi.phi2, phi.phi3},
          {phi.phi1 - phi.phi2, phi.phi2 - scaled(phi.phi3, 2.0), phi.phi3 - scaled(phi4, 3.0)}};
}

// In double, as the table has it.
template <Method kMethod>
HOLDFAST_DEVICE void sum_slopes(Derivatives<kMethod, Complex<double>>& out, double delta, const PreciseSlopes& s) {
  const double half = 0.5 * delta;
  out.a_bar = out.slope = s.exponential;
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

// The closed form's derivatives (wide.cuh), from 1/A: A k₁ and what A k₁ − k₂ is; those of k₁, k₂ and k₃ by A.
struct ClosedSlopes {
  Complex<double> by_delta;
  double constant;
  Complex<double> first, second, third;
};
template <Method kMethod>
HOLDFAST_DEVICE ClosedSlopes closed_slopes(Complex<double> inverse) {
  const Complex<double> square = inverse * inverse, cube = inverse * square;
  if constexpr (kMethod == Method::kFoh) {
    return {inverse, 0.0, scaled(cube, -2.0), scaled(square, -1.0), {0.0, 0.0}};
  } else if constexpr (kMethod == Method::kPoly) {
    return {shifted(scaled(inverse, 0.5), 1.0), 1.0, scaled(square + cube, -1.0), scaled(square, -0.5), {0.0, 0.0}};
  } else {
    static_assert(kMethod == Method::kHighOrder, "a method without a branch of its own");
    return {shifted(inverse + scaled(square, 0.5), 1.0), 1.0, scaled(square + scaled(cube, 2.0) + scaled(square * square, 1.5), -1.0),
            scaled(square + cube, -1.0), scaled(square, -0.25)};
  }
}

// Complex sums of φ-functions.
template <Method kMethod>
HOLDFAST_DEVICE bool differentiate_widely(float delta, Complex<float> a, const Powers<Complex<float>>& of_a,
                                          Derivatives<kMethod, Complex<float>>& out) {
  const double step = delta;
  const WideExponential e = wide_exponential(scaled(to_complex_double(a), step));
  const ClosedForm k = closed_form<kMethod>(of_a.first);
  const ClosedSlopes slopes = closed_slopes<kMethod>(of_a.first);
  const Complex<double> by_a = scaled(k.first, step) + slopes.first;
  Complex<double> rest = {slopes.constant, 0.0}, rest_by_a = k.first - slopes.second;
  if (kMethod == Method::kHighOrder) {
    rest = rest - scaled(k.third, 2.0 * step);
    rest_by_a = rest_by_a - scaled(slopes.third, step);
  }
  out = narrowed_from<Complex<float>>(Derivatives<kMethod, Complex<double>>{
      e.value, e.value, wide_sum<kMethod>(step, e, k), multiply_add(e.minus_one, slopes.by_delta, rest),
      multiply_add(e.minus_one, by_a, scaled(rest_by_a, step))});
  const float size = static_cast<float>(norm1(k.first)), by_delta = static_cast<float>(norm1(slopes.by_delta));
  return keeps_digits(e, norm1(out.h), size, out.a_bar) & keeps_digits(e, norm1(out.h_by_delta), by_delta, out.a_bar) &
         keeps_digits(e, norm1(out.h_by_a), fused(delta, size, static_cast<float>(norm1(slopes.first))), out.a_bar);
}

// Near 0, where these lose more than 2^-28: of ∂h/∂A foh's and poly's lose |z|², highorder's |z|³.
template <Method kMethod>
constexpr float kNearSlopes = kMethod == Method::kHighOrder ? 0x1p-10f : 0x1p-20f;
template <Method kMethod>
HOLDFAST_DEVICE void differentiate_near(float delta, Complex<float> a, Derivatives<kMethod, Complex<float>>& out) {
  const double step = delta;
  const Complex<double> z = scaled(to_complex_double(a), step);
  Derivatives<kMethod, Complex<double>> wide;
  sum_slopes<kMethod>(wide, step, lower_slopes(z, near_phi4(z)));
  if (is_near(delta, a, kNearSlopes<kMethod>)) out = narrowed_from<Complex<float>>(wide);
}

// The least and the largest of neighbours' steps; a NaN where one is.
template <int kCount, class T>
HOLDFAST_DEVICE StepRange<T> steps_of(const T (&delta)[kCount]) {
  StepRange<T> range = {delta[0], delta[0]};
  HOLDFAST_UNROLL
  for (int i = 1; i < kCount; ++i) range = {least_of(range.least, delta[i]), largest_of(range.largest, delta[i])};
  return range;
}

// Whether what is asked of each Δ with this A holds of all in a range: where it holds at both ends, it does between them. Bitwise: no branch.
template <Method kMethod, class W>
HOLDFAST_DEVICE bool steps_are_common(StepRange<float> steps, W a) {
  [[maybe_unused]] constexpr float most = kMethod == Method::kHighOrder ? 1.0f : 1e6f;
  const auto holds = [&](float delta) -> bool {
    if constexpr (kMethod == Method::kBilinear) return true;
    else if constexpr (!kSumsPhi<kMethod>) return has_common_exponent(delta, a);
    else if constexpr (!kIsReal<W>) return (delta >= 0.0f) & is_in_reach(delta, a);
    else return (delta >= 0.0f) & (delta <= most) & has_common_exponent(delta, a) & (mul_rn(delta, a) <= 1.0f);
  };
  return holds(steps.least) & holds(steps.largest);
}

// Where that holds and nothing else is out of the ordinary, without a branch; what is near 0 or far to the left of it is yet to come. Returns
// false elsewhere; `out` is then worthless.
template <Method kMethod, class W>
HOLDFAST_DEVICE bool differentiate_commonly(float delta, W a, const Powers<W>& of_a, Derivatives<kMethod, W>& out) {
  if constexpr (!kIsReal<W> && kSumsPhi<kMethod>) {
    return differentiate_widely(delta, a, of_a, out);
  } else if constexpr (kMethod == Method::kBilinear) {
    const bool common = differentiate_bilinear_commonly(delta, a, out);
    out.h_by_delta = out.slope;
    // Δ² may be out of range where this is not.
    out.h_by_a = scaled(scaled(out.slope, delta), 0.5f * delta);
    return common;
  } else {
    out.a_bar = out.slope = common_exponential(delta, a);
    bool common = true;
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
      common = differentiate_rk4_commonly(delta, exact_product(delta, a), out);
    } else {
      differentiate_phi_commonly(delta, mul_rn(delta, a), out);
    }
    return common;
  }
}

// φ₁, φ₂, φ₃ and their derivatives, by the series of φ₄ (20 terms, remainder 2^-64) and φ_k = 1/k! + z φ_{k+1} near 0, else
// by φ_{k+1} = (φ_k − 1/k!)/z and ψ_{k+1} = (ψ_k − φ_{k+1})/z, in which far to the left nothing cancels.
HOLDFAST_OUTLINE static void precise_slopes(PreciseSlopes& out, Complex<double> z) {
  if (norm1(z) < 2.0) {
    Complex<double> p = {1.0, 0.0};
    HOLDFAST_NO_UNROLL
    for (int k = 24; k >= 5; --k) p = shifted(scaled(p * z, 1.0 / k), 1.0);
    out = lower_slopes(z, scaled(p, 1.0 / 24.0));
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
    sum_slopes<kMethod>(out, delta, s);
  }
}

// Of neighbours with one A, where all are common: side by side, and once more those that are near 0 or, if real, far to the left of it, if
// there is one. Returns false elsewhere; `out` is then worthless.
template <Method kMethod, int kCount, class W, class T>
HOLDFAST_DEVICE bool differentiate_all_commonly(const T (&delta)[kCount], StepRange<T> steps, W a, const Powers<W>& of_a,
                                                Derivatives<kMethod, W> (&out)[kCount]) {
  bool common = steps_are_common<kMethod>(steps, a);
  HOLDFAST_UNROLL
  for (int i = 0; i < kCount; ++i) common = differentiate_commonly<kMethod>(delta[i], a, of_a, out[i]) & common;
  if constexpr (kSumsPhi<kMethod>) {
    if constexpr (kIsReal<W>) {
      if (steps.largest * a < kFarLeft) {
        HOLDFAST_UNROLL
        for (int i = 0; i < kCount; ++i) common = of_the_far_left(delta[i], a, of_a, out[i]) & common;
      }
    } else if (is_near(steps.least, a, kNearSlopes<kMethod>)) {
      HOLDFAST_UNROLL
      for (int i = 0; i < kCount; ++i) differentiate_near(delta[i], a, out[i]);
    }
  }
  return common;
}

// Of neighbours with one A, those that are not common. Never inlined: the others keep their registers.
template <Method kMethod, int kCount, class W, class T>
HOLDFAST_OUTLINE static void differentiate_rare(const T (&delta)[kCount], W a, const Powers<W>& of_a,
                                                Derivatives<kMethod, W> (&out)[kCount]) {
  HOLDFAST_NO_UNROLL
  for (int i = 0; i < kCount; ++i) {
    const T step[1] = {delta[i]};
    Derivatives<kMethod, W> one[1];
    bool common = false;
    if constexpr (kHasCommonPath<W>) common = differentiate_all_commonly<kMethod>(step, steps_of(step), a, of_a, one);
    if (!common) {
      Derivatives<kMethod, Complex<double>> precise;
      differentiate_precisely<kMethod>(precise, to_double(step[0]), to_complex_double(a));
      one[0] = narrowed_from<W>(precise);
    }
    out[i] = one[0];
  }
}

// Of neighbours with one A, and with steps in this range: once more one after the other where one of them is not common.
template <Method kMethod, int kCount, class W, class T>
HOLDFAST_ONCE static void differentiate(const T (&delta)[kCount], StepRange<T> steps, W a, const Powers<W>& of_a,
                                        Derivatives<kMethod, W> (&out)[kCount]) {
  if constexpr (kHasCommonPath<W>) {
    if (differentiate_all_commonly<kMethod>(delta, steps, a, of_a, out)) return;
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
