// (Ā, B̄) of one element, the method a compile-time parameter: spec.md §2, one `if constexpr` branch per row.
//
// Accuracy contract, for |z| <= 80 and the given f32 Δ, A, B taken as exact: what src/promise/contract.rs counts for each
// method, at most 3 · 2^-24 normwise for e^z and 8.625 for a B̄; results in the subnormal range within half a subnormal
// more. Beyond 80: e^z underflows to 0 or overflows to infinity, and nothing finite turns into a NaN that the exact value
// is not.
// How: z = ΔA as an exact pair. Common elements take plain floats from there on, a lane's neighbours side by side; complex
// ones with zoh and bilinear alone. The others take pairs of floats, φ by phi.cuh, and a monitor sends the few on which
// these lose too much to double (precise.cuh); bilinear's go there at once, those beside its pole, too. The weight type W is float, Complex<float>, double or Complex<double>; the
// double ones always take the double path (precision lifting).
// Expected cost of a common element, flops: zoh 20 real / 55 complex, bilinear 15 / 40, rk4 30, the others 45; in pairs rk4
// takes 60 / 140, the others 110 / 400.
#pragma once

#include "fast.cuh"
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

// 1 + ΔA/2, each part rounded once.
HOLDFAST_DEVICE float one_plus_half(float delta, float a) { return fused(0.5f * delta, a, 1.0f); }
HOLDFAST_DEVICE Complex<float> one_plus_half(float delta, Complex<float> a) {
  return {fused(0.5f * delta, a.re, 1.0f), 0.5f * delta * a.im};
}

// n/d where d is far from the ends of the range, for which a GPU's own division has a branch.
#if defined(__CUDACC__)
HOLDFAST_DEVICE float common_reciprocal(float d) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(d));
  return fused(y, fused(-d, y, 1.0f), y);
}
HOLDFAST_DEVICE float common_quotient(float n, float d, float reciprocal) {
  const float q = mul_rn(n, reciprocal);
  return fused(fused(-d, q, n), reciprocal, q);
}
#else
HOLDFAST_DEVICE float common_reciprocal(float) { return 0.0f; }
HOLDFAST_DEVICE float common_quotient(float n, float d, float) { return n / d; }
#endif

// Whether the parts of a product with B that came to this B̄ have not overflowed or lost digits on the way.
template <class W>
HOLDFAST_DEVICE bool stays_in_range(float delta, W b, W b_bar) {
  return comfortable(b_bar) || delta == 0.0f || norm1(b) == 0.0f;
}

// (above)(below)⁻¹ and ΔB (below)⁻¹, without a branch. Returns false where f32 would not do.
HOLDFAST_DEVICE bool bilinear_commonly(float delta, float a, float b, Coefficients<float>& out) {
  const float above = one_plus_half(delta, a), below = one_plus_half(-delta, a);
  if constexpr (kFast) {
    const float inverse = hardware_reciprocal(below), size = fabsf(below), per_b = delta * inverse;
    out = {above * inverse, per_b * b};
    return size > 1e-12f && size < 1e12f && ((comfortable(delta) && comfortable(per_b)) || delta == 0.0f);
  }
  const float inverse = common_reciprocal(below), size = fabsf(below), per_b = common_quotient(delta, below, inverse);
  out = {common_quotient(above, below, inverse), per_b * b};
  return size > 1e-12f && size < 1e12f && ((comfortable(delta) && comfortable(per_b)) || delta == 0.0f);
}
HOLDFAST_DEVICE bool bilinear_commonly(float delta, Complex<float> a, Complex<float> b,
                                       Coefficients<Complex<float>>& out) {
  const Complex<float> above = one_plus_half(delta, a), below = one_plus_half(-delta, a), step = scaled(b, delta);
  const float square = sum_of_products(below.re, below.re, below.im, below.im);
  const float inverse = kFast ? hardware_reciprocal(square) : common_reciprocal(square);
  const auto over = [&](Complex<float> n) {
    if constexpr (kFast) {
      return Complex<float>{sum_of_products(n.re, below.re, n.im, below.im) * inverse,
                            difference_of_products(n.im, below.re, n.re, below.im) * inverse};
    }
    return Complex<float>{common_quotient(sum_of_products(n.re, below.re, n.im, below.im), square, inverse),
                          common_quotient(difference_of_products(n.im, below.re, n.re, below.im), square, inverse)};
  };
  out = {over(above), over(step)};
  // |1 − z/2| above 1e-8: the numerator of a small ΔB stays out of the subnormal numbers.
  return square > 1e-16f && square < 1e24f && norm1(above) < 1e12f && (comfortable(delta) || delta == 0.0f) &&
         ((comfortable(step) && comfortable(out.b_bar)) || delta == 0.0f || norm1(b) == 0.0f);
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

// In pairs of floats. Returns false where these would not do; `out` is then worthless.
template <Method kMethod, class W>
HOLDFAST_DEVICE bool discretize_in_pairs(float delta, W a, W b, Coefficients<W>& out) {
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

// Through the double path, with the given types at its door: they take half the registers.
template <Method kMethod, class W>
HOLDFAST_OUTLINE static Coefficients<W> discretize_in_double(typename ArithmeticOf<W>::type delta, W a, W b) {
  const PreciseCoefficients precise =
      discretize_precisely<kMethod>(to_double(delta), to_complex_double(a), to_complex_double(b));
  return {FromDouble<W>::of(precise.a_bar), FromDouble<W>::of(precise.b_bar)};
}

// φ₂ and φ₃ for real |z| <= 1: minimax, good to 2^-26.
HOLDFAST_DEVICE float series_phi2(float z) {
  float p = 0x1.73a8aap-19f;
  p = fused(p, z, 0x1.a905dcp-16f);
  p = fused(p, z, 0x1.a02adep-13f);
  p = fused(p, z, 0x1.6c022ap-10f);
  p = fused(p, z, 0x1.1110dep-7f);
  p = fused(p, z, 0x1.55557p-5f);
  p = fused(p, z, 0x1.555556p-3f);
  return fused(p, z, 0.5f);
}
HOLDFAST_DEVICE float series_phi3(float z) {
  float p = 0x1.29ddfap-22f;
  p = fused(p, z, 0x1.785ceep-19f);
  p = fused(p, z, 0x1.a01ffap-16f);
  p = fused(p, z, 0x1.a00af8p-13f);
  p = fused(p, z, 0x1.6c16aap-10f);
  p = fused(p, z, 0x1.11111ap-7f);
  p = fused(p, z, 0x1.555556p-5f);
  return fused(p, z, 0x1.555556p-3f);
}

// What common elements need of A alone: the factors of Δφ₁ = (e^z − 1)/A, Δ²φ₂ = (e^z − 1 − z)/A² and
// ½Δ³φ₃ = (e^z − 1 − z − z²/2)/(2A³), and A in octaves; of complex A, which has quarter turns beside them, in the fast tier only.
template <class W, bool kOfFast = kFast>
struct Inverses {};
template <>
struct Inverses<float, false> {
  float first, second, half_third;
  bool common;
  Pair<float> octaves;
};
template <>
struct Inverses<float, true> {
  float first, second, half_third;
  bool common;
  float octaves;
};
template <>
struct Inverses<Complex<float>, true> {
  Complex<float> first, second, half_third;
  bool common;
  float octaves, quarter_turns;
};

template <class W>
HOLDFAST_DEVICE Inverses<W> inverses(W a) {
  Inverses<W> of_a = {};
  if constexpr (sizeof(W) == sizeof(float)) {
    const double inverse = 1.0 / a;
    of_a.first = static_cast<float>(inverse);
    of_a.second = static_cast<float>(inverse * inverse);
    of_a.half_third = static_cast<float>(0.5 * inverse * inverse * inverse);
    of_a.common = fabsf(a) > 1e-9f && fabsf(a) < 1e9f;
    if constexpr (kFast) {
      of_a.octaves = octaves_rounded(a);
    } else {
      of_a.octaves = octaves(a);
    }
  } else if constexpr (kFast && sizeof(typename ArithmeticOf<W>::type) == sizeof(float)) {
    const Complex<double> inverse = quotient(Complex<double>{1.0, 0.0}, to_complex_double(a)), second = inverse * inverse;
    of_a.first = FromDouble<W>::of(inverse);
    of_a.second = FromDouble<W>::of(second);
    of_a.half_third = FromDouble<W>::of(scaled(second * inverse, 0.5));
    of_a.common = norm1(a) > 1e-9f && norm1(a) < 1e9f;
    of_a.octaves = octaves_rounded(a.re);
    of_a.quarter_turns = quarter_turns_rounded(a.im);
  }
  return of_a;
}

// e^{ΔA} of a common element.
template <class W>
HOLDFAST_DEVICE W common_exponential(float delta, W a, const Inverses<W>& of_a) {
  if constexpr (!kFast && sizeof(W) == sizeof(float)) {
    return common_exponential(delta, of_a.octaves);
  } else if constexpr (!kFast) {
    return common_exponential(delta, a);
  } else if constexpr (sizeof(W) == sizeof(float)) {
    return fast_exponential(delta, of_a.octaves);
  } else {
    return fast_exponential(delta, of_a.octaves, of_a.quarter_turns);
  }
}

// Of a real B̄ by φ-functions with Δ >= 0 and z <= 1, where no term is negative: the closed forms from z < −1 on, else the
// series. Both are computed, for lanes differ.
template <Method kMethod>
HOLDFAST_DEVICE void b_bar_by_phi_commonly(float delta, Pair<float> z, float e, float b, const Inverses<float>& of_a,
                                           float& out) {
  const bool near = fabsf(z.hi) <= 1.0f;
  // e^z − 1 and e^z − 1 − z
  const float first = add_rn(e, -1.0f);
  const float second = add_rn(add_rn(-1.0f, -z.hi), add_rn(e, -z.lo));
  float by_series, closed;
  if constexpr (kMethod == Method::kFoh) {
    by_series = delta * delta * series_phi2(z.hi);
    closed = second * of_a.second;
  } else if constexpr (kMethod == Method::kPoly) {
    const float phi2 = series_phi2(z.hi);
    by_series = delta * fused(0.5f * delta, phi2, fused(z.hi, phi2, 1.0f));
    closed = fused(0.5f * second, of_a.second, first * of_a.first);
  } else {
    const float phi3 = series_phi3(z.hi), phi2 = fused(z.hi, phi3, 0.5f);
    by_series = delta * fused(delta, fused(0.5f * delta, phi3, phi2), fused(z.hi, phi2, 1.0f));
    const float third = fused(-0.5f * z.hi, z.hi, fused(-z.hi, z.lo, second));
    closed = fused(third, of_a.half_third, fused(second, of_a.second, first * of_a.first));
  }
  out = (near ? by_series : closed) * b;
}

// Complex ones in the fast tier, as published: the closed forms from |z| = 1 on, else the series. Returns false where 1/A is out of
// range.
template <Method kMethod, class OfA>
HOLDFAST_DEVICE bool b_bar_by_phi_fast(float delta, Complex<float> z, Complex<float> e, Complex<float> b, const OfA& of_a,
                                       Complex<float>& out) {
  // A little beyond 1, where the series holds as well: |z|² is rounded, and the closed forms' count begins at 1.
  const bool near = sum_of_products(z.re, z.re, z.im, z.im) <= 1.00001f;
  const Complex<float> phi3 = fast_series_phi3(z), phi2 = shifted(z * phi3, 0.5f), phi1 = shifted(z * phi2, 1.0f);
  const Complex<float> first = shifted(e, -1.0f), second = first - z;
  const auto by = [](Complex<float> x, float s) { return scaled(x, s); };
  Complex<float> by_series, closed;
  if constexpr (kMethod == Method::kFoh) {
    by_series = by(phi2, delta * delta);
    closed = second * of_a.second;
  } else if constexpr (kMethod == Method::kPoly) {
    by_series = by(phi1 + by(phi2, 0.5f * delta), delta);
    closed = first * of_a.first + by(second * of_a.second, 0.5f);
  } else {
    static_assert(kMethod == Method::kHighOrder, "a sum of φ-functions without a form here");
    by_series = by(phi1 + by(phi2 + by(phi3, 0.5f * delta), delta), delta);
    closed = first * of_a.first + second * of_a.second + (second - by(z * z, 0.5f)) * of_a.half_third;
  }
  out = (near ? by_series : closed) * b;
  return near || of_a.common;
}

// rk4's polynomial over 24, by its real root: (z − r)(z² + (4 + r)z − 24/r)/24.
HOLDFAST_DEVICE bool b_bar_of_rk4_commonly(float delta, Pair<float> z, float b, float& out) {
  const float from_root = add_rn(add_rn(z.hi, 0x1.64848p+1f), add_rn(z.lo, -0x1.0da8fap-26f));
  const float rest = fused(z.lo, fused(0x1.555556p-4f, z.hi, 0x1.9e9eacp-5f),
                           fused(z.hi, fused(0x1.555556p-5f, z.hi, 0x1.9e9eacp-5f), 0x1.6fa53p-2f));
  out = delta * (from_root * rest) * b;
  // The root is known to 2^-50, which shows nearer to it than this.
  return fabsf(from_root) > 0x1p-16f;
}

// Limits on Δ of common elements that are not 0: products with it stay in range, and highorder's count holds.
template <Method kMethod>
constexpr float kLeastStep = kMethod == Method::kRk4 || kMethod == Method::kBilinear ? 1e-20f : 1e-12f;
template <Method kMethod>
constexpr float kLargestStep = kMethod == Method::kHighOrder ? 1.0f : 1e6f;

// Where nothing is out of the ordinary, in few operations and without a branch. Returns false elsewhere; `out` is then
// worthless. `kKnown`: all_are_common() holds, and nothing is left to ask but what it does not know.
template <Method kMethod, bool kKnown, class W>
HOLDFAST_DEVICE bool discretize_commonly(float delta, W a, W b, const Inverses<W>& of_a, Coefficients<W>& out) {
  [[maybe_unused]] constexpr bool kReal = sizeof(W) == sizeof(float);
  if constexpr (kMethod == Method::kBilinear) {
    return bilinear_commonly(delta, a, b, out) || kKnown;
  } else {
    const bool common = kKnown || has_common_exponent(delta, a);
    out.a_bar = common_exponential(delta, a, of_a);
    const bool in_range = (fabsf(delta) > kLeastStep<kMethod> && fabsf(delta) <= kLargestStep<kMethod>) || delta == 0.0f;
    if constexpr (kMethod == Method::kZoh) {
      out.b_bar = scaled(b, delta);
      return common;
    } else if constexpr (kFast && kMethod == Method::kRk4) {
      out.b_bar = scaled(fast_rk4_polynomial(scaled(a, delta)), delta) * b;
      return common && (kKnown || in_range) && (kReal || stays_in_range(delta, b, out.b_bar));
    } else if constexpr (kMethod == Method::kRk4) {
      return b_bar_of_rk4_commonly(delta, exact_product(delta, a), b, out.b_bar) && common && (kKnown || in_range);
    } else if constexpr (kReal) {
      // The fast tier rounds z.
      const Pair<float> z = kFast ? Pair<float>{mul_rn(delta, a), 0.0f} : exact_product(delta, a);
      b_bar_by_phi_commonly<kMethod>(delta, z, out.a_bar, b, of_a, out.b_bar);
      const bool forwards = in_range && delta >= 0.0f;
      return common && (kKnown || (forwards && z.hi <= 1.0f && (of_a.common || z.hi >= -1.0f)));
    } else {
      // By the better exponential, of which a φ-function is made.
      out.a_bar = common_exponential(delta, a);
      return b_bar_by_phi_fast<kMethod>(delta, scaled(a, delta), out.a_bar, b, of_a, out.b_bar) && common && in_range &&
             stays_in_range(delta, b, out.b_bar);
    }
  }
}

// Whether a method has a common path. In the accurate tier complex sums of φ's and rk4 are pairs of floats, whatever the element.
template <Method kMethod, class W>
constexpr bool kHasCommonPath =
    sizeof(typename ArithmeticOf<W>::type) == sizeof(float) &&
    (kFast || sizeof(W) == sizeof(float) || kMethod == Method::kZoh || kMethod == Method::kBilinear);

// Whether Δu, which serves all states of zoh, is as good as (ΔB)u: neither overflows nor loses digits on the way to BΔu.
template <class T>
HOLDFAST_DEVICE bool is_plain_input(T delta, T u) {
  const T size = magnitude(delta * u);
  return ((size >= T(1e-30f)) & (size <= T(1e30f))) | (delta == T(0)) | (u == T(0));
}

// What a few neighbours share: the least of the step sizes that are not 0, 3e38 if all are, and the largest of all; of zoh the
// largest modulus alone. NaN where one is, where u is none or infinite (times the B̄ = 0 of a state that does not exist it would be a
// NaN), and with zoh where Δu is not plain.
template <class T>
struct StepRange {
  T least, largest;
};

template <Method kMethod, int kCount, class T>
HOLDFAST_DEVICE StepRange<T> range_of(const T (&delta)[kCount], const T (&u)[kCount]) {
  StepRange<T> range = {T(3e38f), T(0)};
  bool plain = true;
  HOLDFAST_UNROLL
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kMethod == Method::kZoh) {
      range.largest = largest_of(range.largest, magnitude(delta[i]));
      plain = plain & is_plain_input(delta[i], u[i]) & (magnitude(u[i]) <= T(3e38f));
    } else {
      range.least = least_of(range.least, delta[i] == T(0) ? T(3e38f) : delta[i]);
      range.largest = largest_of(range.largest, delta[i]);
      range.largest = fused(u[i], T(0), range.largest);
    }
  }
  if (!plain) range.largest = static_cast<T>(__uint_as_float(0x7fc00000u));
  return range;
}

// Whether A and the range of Δ may say of elements that they are common, which is cheaper than to ask each: of real ones, and of
// complex ones with zoh.
template <Method kMethod, class W>
constexpr bool kKnownByRange = kHasCommonPath<kMethod, W> && (kMethod == Method::kZoh || sizeof(W) == sizeof(float));

// What is asked of a few states' A together: the largest modulus of real and of imaginary parts, a NaN where one is; and whether all
// are plain: have octaves, and but for zoh do not grow, nor decay so fast that their inverses leave the range.
template <Method kMethod, class W>
struct RateRange {
  float steepest = 0.0f, fastest = 0.0f;
  bool plain = true;
  HOLDFAST_DEVICE void add(float a) {
    steepest = largest_of(steepest, fabsf(a));
    plain = plain && has_octaves(a) && (kMethod == Method::kZoh || (a <= 0.0f && a > -1e9f));
  }
  HOLDFAST_DEVICE void add(Complex<float> a) {
    add(a.re);
    plain = plain && has_quarter_turns(a.im);
    fastest = largest_of(fastest, fabsf(a.im));
  }
};

// Whether that is known of all elements with such Δ and A, but for rk4's root. A limit on |z| that holds at two step sizes holds
// between them, and so with A. Steps backwards and states that grow may be common all the same, but with zoh alone are they known to be.
template <Method kMethod, class W>
HOLDFAST_DEVICE bool all_are_common(StepRange<float> steps, const RateRange<kMethod, W>& rates) {
  const auto within = [](float step, float rate, float limit) { return fabsf(mul_rn(step, rate)) <= limit; };
  // 1 − z/2 of bilinear between 1 and 1e6, and B̄/B between 1e-26 and 1e6.
  constexpr float most = kMethod == Method::kBilinear ? 1e6f : kCommonExponent;
  const bool known = rates.plain && within(steps.largest, rates.steepest, most);
  if constexpr (kMethod == Method::kZoh) {
    return known && (sizeof(W) == sizeof(float) || within(steps.largest, rates.fastest, kCommonAngle));
  } else {
    return known && steps.least > kLeastStep<kMethod> && steps.largest <= kLargestStep<kMethod>;
  }
}

// Of neighbours with one A, where not all are common. Never inlined: the others keep their registers.
template <Method kMethod, int kCount, class W, class T>
HOLDFAST_OUTLINE static void discretize_each(const T (&delta)[kCount], W a, Inverses<W> of_a, const W (&b)[kCount],
                                             Coefficients<W> (&out)[kCount]) {
  HOLDFAST_NO_UNROLL
  for (int i = 0; i < kCount; ++i) {
    bool done = false;
    if constexpr (kHasCommonPath<kMethod, W>) {
      done = discretize_commonly<kMethod, false>(delta[i], a, b[i], of_a, out[i]);
    }
    // Bilinear has no form in pairs: beside its pole and at the ends of f32's range these would do no better.
    if constexpr (sizeof(T) == sizeof(float) && kMethod != Method::kBilinear) {
      done = done || discretize_in_pairs<kMethod>(delta[i], a, b[i], out[i]);
    }
    if (!done) out[i] = discretize_in_double<kMethod>(delta[i], a, b[i]);
  }
}

// Of neighbours with one A: side by side where all are common. `kKnown`: all_are_common() holds.
template <Method kMethod, bool kKnown, int kCount, class W, class T>
HOLDFAST_ONCE static void discretize(const T (&delta)[kCount], W a, const Inverses<W>& of_a, const W (&b)[kCount],
                                     Coefficients<W> (&out)[kCount]) {
  if constexpr (kHasCommonPath<kMethod, W>) {
    bool common = true;
    HOLDFAST_UNROLL
    for (int i = 0; i < kCount; ++i) {
      common = discretize_commonly<kMethod, kKnown>(delta[i], a, b[i], of_a, out[i]) && common;
    }
    if (common) return;
  }
  // Copies: what a function is given by reference leaves the registers.
  T deltas[kCount];
  W bs[kCount];
  Coefficients<W> outs[kCount];
  HOLDFAST_UNROLL
  for (int i = 0; i < kCount; ++i) {
    deltas[i] = delta[i];
    bs[i] = b[i];
  }
  discretize_each<kMethod>(deltas, a, of_a, bs, outs);
  HOLDFAST_UNROLL
  for (int i = 0; i < kCount; ++i) out[i] = outs[i];
}

// One element, by the way that a scan takes it.
template <Method kMethod, class W, class T>
HOLDFAST_DEVICE Coefficients<W> discretize_one(T step, W a, W input) {
  const T delta[1] = {step};
  const W b[1] = {input};
  const Inverses<W> of_a = inverses(a);
  Coefficients<W> out[1];
  if constexpr (kKnownByRange<kMethod, W>) {
    RateRange<kMethod, W> rates;
    rates.add(a);
    const T u[1] = {T(1)};
    if (all_are_common<kMethod>(range_of<kMethod>(delta, u), rates)) {
      discretize<kMethod, true>(delta, a, of_a, b, out);
      return out[0];
    }
  }
  discretize<kMethod, false>(delta, a, of_a, b, out);
  return out[0];
}

}  // namespace HOLDFAST_NAMESPACE
