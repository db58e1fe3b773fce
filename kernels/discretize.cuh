// (Ā, B̄) of one element, the method a compile-time parameter: spec.md §2, one `if constexpr` branch per row.
//
// Accuracy contract, for |z| <= 80 and the given f32 Δ, A, B taken as exact: what src/promise/contract.rs counts for each
// method, at most 3 · 2^-24 normwise for e^z and 8.625 for a B̄; results in the subnormal range within half a subnormal
// more. Beyond 80: e^z underflows to 0 or overflows to infinity, and nothing finite turns into a NaN that the exact value
// is not.
// How: z = ΔA as an exact pair. Common elements take plain floats from there on, complex ones with φ-functions or rk4 double (wide.cuh), a
// lane's neighbours side by side. Other real ones take pairs of floats, φ by phi.cuh. Monitors send the few on which either loses too much to
// the rare path in double (precise.cuh); bilinear's go there at once, those beside its pole, too. The weight type W is float, Complex<float>,
// double or Complex<double>; the double ones always take that path (precision lifting).
// Expected cost of a common element, flops: zoh 20 real / 55 complex, bilinear 15 / 40, rk4 30, the others 45; in double rk4 60, the others
// 70; in pairs rk4 takes 60, the others 110.
#pragma once

#include "fast.cuh"
#include "wide.cuh"

namespace HOLDFAST_NAMESPACE {

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

// How far apart e^z's share of a sum of φ's and the sum itself may be before double takes over: e^z is good to 0.15 · 2^-24, so 13,
// which φ₃ alone comes to, keeps it below 1.95 · 2^-24.
constexpr float kMostCancellation = 13.0f;

// B̄ = (φ combination) Δ B. Returns false where f32 would not do.
template <Method kMethod>
HOLDFAST_DEVICE bool b_bar_by_phi(float delta, Pair<float> z, RealExponential e, float b, float& out) {
  if (!phi_in_f32(z)) return false;
  const Phi p = phi(z, e);
  const Pair<float> sum = combined_phi<kMethod>(p.phi1, p.phi2, p.phi3, delta);
  // φ's are positive: their sum cancels with a backward step alone.
  if (delta < 0.0f) {
    const float error = combined_phi<kMethod>(p.errors.phi1, p.errors.phi2, p.errors.phi3, fabsf(delta));
    if (error > kMostCancellation * fabsf(sum.hi)) return false;
  }
  const Pair<float> per_b = sum * delta;
  out = (per_b * widened(b)).hi;
  return comfortable(per_b.hi) && comfortable(out) && fabsf(delta) > 1e-20f && fabsf(delta) < 1e6f;
}

// B̄ = Δ (24 + 12z + 4z² + z³)/24 B. Returns false where f32 would not do: near the root, or out of range.
HOLDFAST_DEVICE bool b_bar_of_rk4(float delta, Pair<float> z, float b, float& out) {
  const Pair<float> sum = rk4_polynomial(z, 1.0f);
  const float m = fabsf(z.hi);
  // 2^-16 of the terms' sum leaves a pair's 2^-44 a factor of 16 below the contract.
  if (!(m < 1e6f) || fabsf(sum.hi) * 65536.0f < rk4_polynomial(m, 1.0f)) return false;
  const Pair<float> step = two_prod(delta, 0x1.555556p-5f) + delta * -0x1.555556p-30f;
  const Pair<float> per_b = sum * step.hi + sum * step.lo;
  out = (per_b * widened(b)).hi;
  return comfortable(per_b.hi) && comfortable(out) && comfortable(delta);
}

// In pairs of floats. Returns false where these would not do; `out` is then worthless.
template <Method kMethod>
HOLDFAST_DEVICE bool discretize_in_pairs(float delta, float a, float b, Coefficients<float>& out) {
  const Pair<float> z = exact_product(delta, a);
  const RealExponential e = exponential(z);
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
  const auto precise = discretize_precisely<kMethod>(to_double(delta), to_complex_double(a), to_complex_double(b));
  return {FromDouble<W>::of(precise.a_bar), FromDouble<W>::of(precise.b_bar)};
}

// φ₂ and φ₃ for real |z| <= 1: minimax, good to 2^-26.
HOLDFAST_DEVICE float series_phi2(float z) {
  return horner(z, 0x1.73a8aap-19f, 0x1.a905dcp-16f, 0x1.a02adep-13f, 0x1.6c022ap-10f, 0x1.1110dep-7f, 0x1.55557p-5f, 0x1.555556p-3f, 0.5f);
}
HOLDFAST_DEVICE float series_phi3(float z) {
  return horner(z, 0x1.29ddfap-22f, 0x1.785ceep-19f, 0x1.a01ffap-16f, 0x1.a00af8p-13f, 0x1.6c16aap-10f, 0x1.11111ap-7f, 0x1.555556p-5f,
                0x1.555556p-3f);
}

// What common elements need of A alone: the factors of Δφ₁ = (e^z − 1)/A, Δ²φ₂ = (e^z − 1 − z)/A² and ½Δ³φ₃ = (e^z − 1 − z − z²/2)/(2A³),
// and A in octaves; of complex A 1/A for wide.cuh, and for the fast tier octaves and quarter turns.
template <class W>
struct Inverses {};
template <>
struct Inverses<float> {
  float first, second, half_third;
  bool common;
  Pair<float> octaves;
};
template <>
struct Inverses<Complex<float>> {
  Complex<double> first;
  float octaves, quarter_turns;
};

HOLDFAST_DEVICE Inverses<float> inverses(float a) {
  const double inverse = 1.0 / a;
  Pair<float> per_step = octaves(a);
  if (kFast) per_step = {octaves_rounded(a), 0.0f};
  return {static_cast<float>(inverse), static_cast<float>(inverse * inverse), static_cast<float>(0.5 * inverse * inverse * inverse),
          fabsf(a) > 1e-9f && fabsf(a) < 1e9f, per_step};
}
HOLDFAST_DEVICE Inverses<Complex<float>> inverses(Complex<float> a) {
  return {wide_inverse(a), octaves_rounded(a.re), quarter_turns_rounded(a.im)};
}
template <class W>
HOLDFAST_DEVICE Inverses<W> inverses(W) {
  return {};
}

// e^{ΔA} of a common element.
HOLDFAST_DEVICE float common_exponential(float delta, float, const Inverses<float>& of_a) {
  if (kFast) return fast_exponential(delta, of_a.octaves.hi);
  return common_exponential(delta, of_a.octaves);
}
HOLDFAST_DEVICE Complex<float> common_exponential(float delta, Complex<float> a, const Inverses<Complex<float>>& of_a) {
  if (kFast) return fast_exponential(delta, of_a.octaves, of_a.quarter_turns);
  return common_exponential(delta, a);
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
  } else if constexpr (!kReal && (kSumsPhi<kMethod> || (!kFast && kMethod == Method::kRk4))) {
    return discretize_widely<kMethod>(delta, a, b, of_a.first, out);
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
    } else {
      // The fast tier rounds z.
      const Pair<float> z = kFast ? Pair<float>{mul_rn(delta, a), 0.0f} : exact_product(delta, a);
      b_bar_by_phi_commonly<kMethod>(delta, z, out.a_bar, b, of_a, out.b_bar);
      const bool forwards = in_range && delta >= 0.0f;
      return common && (kKnown || (forwards && z.hi <= 1.0f && (of_a.common || z.hi >= -1.0f)));
    }
  }
}

// Whether there is a common path: there is none where all is in double. Of weights that have it, whether they are real.
template <class W>
constexpr bool kHasCommonPath = sizeof(typename ArithmeticOf<W>::type) == sizeof(float);
template <class W>
constexpr bool kIsReal = sizeof(W) == sizeof(float);

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
constexpr bool kKnownByRange = kHasCommonPath<W> && (kMethod == Method::kZoh || sizeof(W) == sizeof(float));

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

// Of neighbours with one A, where all are common. Returns false elsewhere; `out` is then worthless.
template <Method kMethod, bool kKnown, int kCount, class W, class T>
HOLDFAST_DEVICE bool discretize_all_commonly(const T (&delta)[kCount], W a, const Inverses<W>& of_a, const W (&b)[kCount],
                                             Coefficients<W> (&out)[kCount]) {
  bool common = true;
  HOLDFAST_UNROLL
  for (int i = 0; i < kCount; ++i) common = discretize_commonly<kMethod, kKnown>(delta[i], a, b[i], of_a, out[i]) && common;
  if constexpr (kSumsPhi<kMethod> && !kIsReal<W>) {
    bool near = false;
    HOLDFAST_UNROLL
    for (int i = 0; i < kCount; ++i) near = near | is_near(delta[i], a, kNear<kMethod>);
    if (near) {
      HOLDFAST_UNROLL
      for (int i = 0; i < kCount; ++i) discretize_near<kMethod>(delta[i], a, b[i], out[i]);
    }
  }
  return common;
}

// Of neighbours with one A, where not all are common. Never inlined: the others keep their registers.
template <Method kMethod, int kCount, class W, class T>
HOLDFAST_OUTLINE static void discretize_each(const T (&delta)[kCount], W a, Inverses<W> of_a, const W (&b)[kCount],
                                             Coefficients<W> (&out)[kCount]) {
  HOLDFAST_NO_UNROLL
  for (int i = 0; i < kCount; ++i) {
    const T step[1] = {delta[i]};
    const W input[1] = {b[i]};
    Coefficients<W> one[1];
    bool done = false;
    if constexpr (kHasCommonPath<W>) done = discretize_all_commonly<kMethod, false>(step, a, of_a, input, one);
    // Bilinear has no other form: beside its pole and at the ends of f32's range it would do no better.
    if constexpr (kHasCommonPath<W> && kMethod != Method::kBilinear) {
      if constexpr (kIsReal<W>) {
        done = done || discretize_in_pairs<kMethod>(step[0], a, input[0], one[0]);
      } else if constexpr (!kSumsPhi<kMethod>) {
        done = done || discretize_widely<kMethod>(step[0], a, input[0], of_a.first, one[0]);
      }
    }
    out[i] = done ? one[0] : discretize_in_double<kMethod>(step[0], a, input[0]);
  }
}

// Of neighbours with one A: side by side where all are common. `kKnown`: all_are_common() holds.
template <Method kMethod, bool kKnown, int kCount, class W, class T>
HOLDFAST_ONCE static void discretize(const T (&delta)[kCount], W a, const Inverses<W>& of_a, const W (&b)[kCount],
                                     Coefficients<W> (&out)[kCount]) {
  if constexpr (kHasCommonPath<W>) {
    if (discretize_all_commonly<kMethod, kKnown>(delta, a, of_a, b, out)) return;
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
