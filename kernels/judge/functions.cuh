// What the functions of one float (src/scalar_function.rs) are, in f64 with a proven radius, and the judgement of a kernel's values
// at many arguments. Shares nothing with the kernels but the functions' numbers.
//
// Radius, with v = 2⁻⁵³ and numbers.cuh's eˣ within 4v (5v are allowed) and sine and cosine within 2v of 1; every operation rounds by v:
// - φ_k and their derivatives ψ_k = φ_k − k φ_{k+1}, for |x| < 2 by the series of φ₃ and ψ₃ (27 terms, the remainder below 2⁻⁶⁴ of the
//   sum), whose terms are of one sign for x > 0 and fall from the first on for x < 0, so that Horner's sums lose less than 8v, and
//   φ_k = 1/k! + x φ_{k+1}, ψ_k = φ_{k+1} + x ψ_{k+1}, which at x = −2 cancel most: ψ₁ = 0.15 of terms that come to 1.01, a factor of 7.
//   That is below 2⁶ v. Elsewhere φ_{k+1} = (φ_k − 1/k!)/x, x²ψ₁ = (x − 1)eˣ + 1, x³ψ₂ = (x − 2)eˣ + (x + 2) and
//   x⁴ψ₃ = (x − 3)eˣ + 1 + ½(x + 2)², the worst of which is the last at x = 2: terms of 16.4 for a sum of 1.6, each good to 6v. All
//   are positive on the real line, and so are the sums that the methods make of them: 2⁷ v = 2⁻⁴⁶ of the value bounds them all.
// - rk4's polynomials cancel: 8v of the sum of their terms' sizes, 12v of that of four terms.
// - bilinear: 1 ± x/2 by one rounding each, and a quotient: 4v, twice that where it is squared, and more.
// - softplus = max(x, 0) + log(1 + t), t = e^−|x|, and log(1 + t) = 2 artanh(t/(2 + t)): positive terms, 2⁵ v. So is log(1 + x) for x > 1,
//   where 1 + x rounds by v, which is below 2v of a logarithm beyond ln 2. The sigmoid 8v, the gate 10v. The gate's derivative is a
//   sum that cancels: 2⁵ v of its terms' sizes.
// - 2ˣ: the product with log 2 is off by less than ½ v. 1/x: one rounding.
// - sine and cosine beyond 2²⁰: the angle as a fraction of a turn, good to 2⁻⁶³, then as numbers.cuh: 4v of 1.
// Where eˣ is subnormal in f64 these are no longer relative; what is lost there is nothing beside a half of f32's least number.
#pragma once

#include "judge/numbers.cuh"
#include "judge/params.h"
#include "scalar_functions.h"

namespace holdfast_judge {

using holdfast_functions::ScalarFunction;

// A value that is not known better than its radius; the size that a kernel's error is promised relative to, and what is allowed beside
// that. Where nothing is promised but the nearest number (no units), neither matters.
struct Known {
  double value, radius, scale, spare;
};

constexpr double kUnit = 1.0 / 9007199254740992.0;  // v

JUDGE_DEVICE Known known_of_terms(double value, double units, double sizes) {
  return {value, units * kUnit * sizes, size_of_real(value), 0.0};
}
JUDGE_DEVICE Known known(double value, double units) { return known_of_terms(value, units, size_of_real(value)); }

// φ₁ to φ₃ and ψ₁ to ψ₃.
struct Integrals {
  double exponential, phi1, phi2, phi3, psi1, psi2, psi3;
};

JUDGE_DEVICE Integrals integrals(double x) {
  Integrals at;
  at.exponential = exponential(x);
  const double e = at.exponential;
  if (size_of_real(x) < 2.0) {
    // Σ xᵏ/(k + 3)! and Σ (k + 1) xᵏ/(k + 4)!, by the ratios of their terms.
    double phi = 1.0, psi = 1.0;
    JUDGE_NO_UNROLL
    for (int k = 27; k >= 1; --k) {
      phi = 1.0 + phi * x / (k + 3);
      psi = 1.0 + psi * x * (k + 1) / (k * (k + 4.0));
    }
    at.phi3 = phi / 6.0;
    at.psi3 = psi / 24.0;
    at.phi2 = 0.5 + x * at.phi3;
    at.phi1 = 1.0 + x * at.phi2;
    at.psi2 = at.phi3 + x * at.psi3;
    at.psi1 = at.phi2 + x * at.psi2;
    return at;
  }
  at.phi1 = (e - 1.0) / x;
  at.phi2 = (at.phi1 - 1.0) / x;
  at.phi3 = (at.phi2 - 0.5) / x;
  at.psi1 = ((x - 1.0) * e + 1.0) / (x * x);
  at.psi2 = ((x - 2.0) * e + (x + 2.0)) / (x * x * x);
  at.psi3 = ((x - 3.0) * e + (1.0 + 0.5 * (x + 2.0) * (x + 2.0))) / ((x * x) * (x * x));
  return at;
}

// log(1 + t) = 2 artanh(t/(2 + t)), for 0 ≤ t ≤ 1.
JUDGE_DEVICE double log_of_one_plus(double t) {
  const double ratio = t / (2.0 + t), square = ratio * ratio;
  double sum = 1.0 / 41.0;
  JUDGE_NO_UNROLL
  for (int k = 39; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2.0 * ratio * sum;
}

JUDGE_DEVICE Known polynomial(double x, double c0, double c1, double c2, double c3) {
  const double size = size_of_real(x);
  return known_of_terms(((c3 * x + c2) * x + c1) * x + c0, 8.0, ((c3 * size + c2) * size + c1) * size + c0);
}

// 2/π in binary, 32 bits at a time.
JUDGE_CONSTANT unsigned kTwoOverPi[8] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                         0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};

// So many of its bits from that one on, counted from the binary point.
JUDGE_DEVICE Bits bits_of_two_over_pi(int first, int count) {
  Bits bits = 0;
  for (int i = first; i < first + count; ++i) bits = bits << 1 | (kTwoOverPi[i / 32] >> (31 - i % 32) & 1u);
  return bits;
}

// Any finite x.
JUDGE_DEVICE void sine_and_cosine_of_any(double x, double& sine, double& cosine) {
  if (size_of_real(x) < 1048576.0) return sine_and_cosine(x, sine, cosine);
  // x = ±m 2ᵉ with m of 24 bits and e ≤ 104. Of x·2/π the whole turns, multiples of 4, do not matter: neither do the bits of 2/π that
  // are 2^(2 − e) or more.
  const Bits bits = bits_of(x);
  const int e = static_cast<int>(bits >> 52 & 0x7ff) - 1023 - 23;
  const Bits m = (bits >> 29 & 0x7fffff) | 0x800000;
  const int first = e < 2 ? 0 : e - 2;
  // As a fraction of a turn in 96 bits: the products of m with three parts of 32 bits. Where e < 2, the bits before the point are 0.
  const int missing = first - (e - 2);
  const Bits high = bits_of_two_over_pi(first, 32 - missing), middle = bits_of_two_over_pi(first + 32 - missing, 32),
             low = bits_of_two_over_pi(first + 64 - missing, 32);
  const Bits lower = m * low, between = m * middle + (lower >> 32);
  const Bits turn = (m * high + (between >> 32)) << 32 | (between & 0xffffffffull);
  // The nearest quarter, and what is left of it, between −½ and ½.
  const Bits quarter = (turn + (1ull << 61)) >> 62;
  const double rest = static_cast<double>(static_cast<long long>(turn - (quarter << 62))) / 4611686018427387904.0;
  double s, c;
  sine_and_cosine(rest * 1.5707963267948966, s, c);
  const double size = (quarter & 1) == 1 ? c : s, across = (quarter & 1) == 1 ? s : c;
  sine = (quarter & 2) == 2 ? -size : size;
  cosine = ((quarter + 1) & 2) == 2 ? -across : across;
  if (x < 0.0) sine = -sine;
}

// The nearest multiple of 2ᵖ, ties to even: exactly, for x is an f32.
JUDGE_DEVICE double nearest_multiple(double x, int exponent_of_last, int least) {
  const int e = static_cast<int>(bits_of(x) >> 52 & 0x7ff) - 1023 - exponent_of_last;
  const double unit = from_bits(static_cast<Bits>((e < least ? least : e) + 1023) << 52);
  // With the sign of x where that is 0.
  const double nearest = ((x / unit + kRounder) - kRounder) * unit;
  return from_bits((bits_of(nearest) & ~(1ull << 63)) | (bits_of(x) & (1ull << 63)));
}

// 2¹²⁸ and 2¹⁶ are no numbers of bf16 and of f16 any more.
JUDGE_DEVICE double infinite_from(double x, double end) {
  return size_of_real(x) < end ? x : x > 0.0 ? infinity() : -infinity();
}

// −87: below it a gate may vanish.
constexpr double kGateUnderflow = -87.0;
// 2⁻¹⁵⁰
constexpr double kHalfSubnormal = 7.006492321624085e-46;

template <ScalarFunction kFunction>
JUDGE_DEVICE Known truth(double x) {
  using F = ScalarFunction;
  if constexpr (kFunction == F::kExp || kFunction == F::kExpInPairs || kFunction == F::kLibraryExp) {
    return known(exponential(x), 5.0);
  }
  if constexpr (kFunction == F::kHardwareExp2) {
    // 2ⁿ 2ᶠ with a whole n, |n| ≤ 128, and |f| ≤ ½: both exact.
    const double n = (x + kRounder) - kRounder;
    return known(exponential((x - n) * 0.6931471805599453) * from_bits(static_cast<Bits>(static_cast<int>(n) + 1023) << 52), 6.0);
  }
  if constexpr (kFunction == F::kHardwareReciprocal) return known(1.0 / x, 1.0);
  constexpr bool kIsCosine = kFunction == F::kCos || kFunction == F::kCosInPairs || kFunction == F::kHardwareCos;
  constexpr bool kIsSine = kFunction == F::kSin || kFunction == F::kSinInPairs || kFunction == F::kHardwareSin;
  if constexpr (kIsCosine || kIsSine) {
    double sine, cosine;
    sine_and_cosine_of_any(x, sine, cosine);
    return {kIsCosine ? cosine : sine, 4.0 * kUnit, 1.0, 0.0};
  }
  if constexpr (kFunction == F::kSoftplus) {
    return known((x > 0.0 ? x : 0.0) + log_of_one_plus(exponential(-size_of_real(x))), 32.0);
  }
  if constexpr (kFunction == F::kLibraryLog1p) {
    if (x <= 1.0) return known(log_of_one_plus(x), 32.0);
    // 1 + x = 2ᵏ(1 + t).
    const Bits bits = bits_of(1.0 + x);
    const double k = static_cast<double>(static_cast<int>(bits >> 52) - 1023);
    const double t = from_bits((bits & 0xfffffffffffffull) | 1023ull << 52) - 1.0;
    return known(k * 0.6931471805599453 + log_of_one_plus(t), 32.0);
  }
  if constexpr (kFunction == F::kSigmoid || kFunction == F::kGate || kFunction == F::kGateSlope) {
    // σ(x) and σ(−x), each without cancellation.
    const double t = exponential(-size_of_real(x)), more = 1.0 / (1.0 + t), less = t / (1.0 + t);
    const double rising = x > 0.0 ? more : less, falling = x > 0.0 ? less : more;
    if constexpr (kFunction == F::kSigmoid) return known(rising, 8.0);
    // e⁻ˣ may overflow in f32 (src/promise/allowance.rs): then the gate and its derivative are 0.
    if constexpr (kFunction == F::kGate) {
      Known gate = known(x * rising, 10.0);
      if (x < kGateUnderflow) gate.spare = gate.scale;
      return gate;
    }
    // A kernel may take σ(−x) as 1 − σ(x), which loses two roundings of xσ(x), where x > 0: a quarter of what the terms have, which is more than eight.
    const double terms = rising * (1.0 + size_of_real(x) * falling);
    Known slope = known_of_terms(rising * (1.0 + x * falling), 32.0, terms);
    slope.scale = terms + (x > 0.0 ? 0.25 * x * rising : 0.0);
    slope.spare = 2.0 * kHalfSubnormal * size_of_real(x) + (x < kGateUnderflow ? terms : 0.0);
    return slope;
  }
  // What is rounded once and for all has no allowance.
  if constexpr (kFunction == F::kBf16) return {infinite_from(nearest_multiple(x, 7, -133), 340282366920938463463374607431768211456.0), 0.0, 0.0, 0.0};
  if constexpr (kFunction == F::kF16) return {infinite_from(nearest_multiple(x, 10, -24), 65536.0), 0.0, 0.0, 0.0};
  if constexpr (kFunction == F::kBilinearABar) return known((1.0 + 0.5 * x) / (1.0 - 0.5 * x), 4.0);
  if constexpr (kFunction == F::kBilinearBBar || kFunction == F::kBilinearH) return known(1.0 / (1.0 - 0.5 * x), 4.0);
  if constexpr (kFunction == F::kBilinearSlope || kFunction == F::kBilinearHByA) {
    const double r = 1.0 / (1.0 - 0.5 * x);
    return known(kFunction == F::kBilinearSlope ? r * r : 0.5 * r * r, 8.0);
  }
  if constexpr (kFunction == F::kRk4BBar || kFunction == F::kRk4H) {
    const Known rest = polynomial(x, 0.5, 1.0 / 6.0, 1.0 / 24.0, 0.0);
    const double size = size_of_real(x);
    const double sizes = 1.0 + size * (0.5 + size * (1.0 / 6.0 + size * (1.0 / 24.0)));
    return known_of_terms(1.0 + x * rest.value, 12.0, sizes);
  }
  if constexpr (kFunction == F::kRk4HByDelta) return polynomial(x, 1.0, 1.0, 0.5, 1.0 / 6.0);
  if constexpr (kFunction == F::kRk4HByA) return polynomial(x, 0.5, 1.0 / 3.0, 1.0 / 8.0, 0.0);
  const Integrals at = integrals(x);
  if constexpr (kFunction == F::kPhi1 || kFunction == F::kFohHByDelta) return known(at.phi1, 128.0);
  if constexpr (kFunction == F::kPhi2 || kFunction == F::kFohBBar || kFunction == F::kFohH) return known(at.phi2, 128.0);
  if constexpr (kFunction == F::kPhi3) return known(at.phi3, 128.0);
  if constexpr (kFunction == F::kPolyBBar || kFunction == F::kPolyH) return known(at.phi1 + 0.5 * at.phi2, 128.0);
  if constexpr (kFunction == F::kHighorderBBar || kFunction == F::kHighorderH) {
    return known(at.phi1 + at.phi2 + 0.5 * at.phi3, 128.0);
  }
  if constexpr (kFunction == F::kPolyHByDelta) return known(at.exponential + 0.5 * at.phi1, 128.0);
  if constexpr (kFunction == F::kHighorderHByDelta) return known(at.exponential + at.phi1 + 0.5 * at.phi2, 128.0);
  if constexpr (kFunction == F::kFohHByA) return known(at.psi2, 128.0);
  if constexpr (kFunction == F::kPolyHByA) return known(at.psi1 + 0.5 * at.psi2, 128.0);
  if constexpr (kFunction == F::kHighorderHByA) return known(at.psi1 + at.psi2 + 0.5 * at.psi3, 128.0);
}

// Half of f32's spacing at the end of its range is what is still rounded to the last number: 2¹²⁸ − 2¹⁰³.
constexpr double kOverflow = 340282356779733661637539395458142568448.0;

// f32's spacing at x, or that of its least numbers.
JUDGE_DEVICE double spacing(double x) {
  const int e = static_cast<int>(bits_of(x) >> 52 & 0x7ff) - 1023;
  return from_bits(static_cast<Bits>((e < -126 ? -126 : e) - 23 + 1023) << 52);
}

// Whether bilinear's pole, x = 2, is at `to` or between the two.
template <ScalarFunction kFunction>
JUDGE_DEVICE bool meets_pole(float from, float to) {
  using F = ScalarFunction;
  constexpr bool kHasPole = kFunction == F::kBilinearABar || kFunction == F::kBilinearBBar || kFunction == F::kBilinearSlope ||
                            kFunction == F::kBilinearH || kFunction == F::kBilinearHByA;
  return kHasPole && from <= 2.0f && to >= 2.0f;
}

// What became of one value.
struct Judged {
  double share, ulp;
  bool fails, open, near_tie, misrounded;
};

JUDGE_DEVICE Judged judge_value(double got, Known want, const FunctionRules& rules) {
  const double size = size_of_real(want.value);
  // One rounding more than f64's own, of what is subtracted below; and two roundings that underflow in f32.
  const double radius = want.radius + size * kUnit;
  const bool is_exact = rules.units == 0.0;
  const double bound = is_exact ? 0.0 : rules.units / 16777216.0 * want.scale + want.spare + 2.0 * kHalfSubnormal;
  Judged judged = {0.0, 0.0, false, false, false, false};
  if (!(got == got)) return {infinity(), infinity(), true, false, false, true};
  if (is_exact) {
    judged.fails = judged.misrounded = bits_of(got) != bits_of(want.value);
    if (judged.fails) judged.share = judged.ulp = infinity();
    return judged;
  }
  // Beyond f64's own range every comparison below has an infinity in it: they are written so that nothing passes by that.
  if (size_of_real(got) == infinity()) {
    // Right where the exact value, or one within the bound of it, rounds to infinity.
    judged.fails = (got > 0.0) != (want.value > 0.0) || size + bound + radius < kOverflow;
    judged.open = !judged.fails && size + bound - radius < kOverflow;
    judged.misrounded = size + radius < kOverflow;
    judged.near_tie = !judged.misrounded && size - radius < kOverflow;
    if (judged.fails) judged.share = judged.ulp = infinity();
    return judged;
  }
  if (!(size - bound - radius < kOverflow)) return {infinity(), infinity(), true, false, false, true};
  const double error = size_of_real(got - want.value);
  judged.ulp = error / (rules.on_unit_circle != 0 ? 1.0 / 16777216.0 : spacing(want.value));
  judged.share = error / bound;
  // One part in 2⁴⁰ is more than what these few operations round.
  judged.fails = error - radius > bound * (1.0 + 1.0 / 1099511627776.0);
  const bool passes = error + radius <= bound * (1.0 - 1.0 / 1099511627776.0) && size - bound + radius < kOverflow;
  judged.open = !judged.fails && !passes;
  if (rules.on_unit_circle == 0) {
    const double low = static_cast<float>(want.value - radius), high = static_cast<float>(want.value + radius);
    judged.misrounded = got < low || got > high;
    judged.near_tie = low != high && !judged.misrounded;
  }
  return judged;
}

// Puts a value into a list.
JUDGE_DEVICE void list(FunctionValue* values, unsigned* listed, FunctionValue value) { values[fetch_add(listed, 1u)] = value; }

// Judges what a thread of a launch has to: every so many arguments from its own on.
template <ScalarFunction kFunction>
JUDGE_DEVICE void judge_share(const FunctionParams& params, unsigned thread, unsigned threads, FunctionFindings& found,
                              unsigned long long* histogram) {
  const FunctionRules& rules = params.rules;
  found = FunctionFindings{};
  JUDGE_NO_UNROLL
  for (unsigned i = thread; i < params.count; i += threads) {
    const unsigned bits = params.first + i * params.stride;
    const float x = float_from_bits(bits), got = params.values[i + 1], before = params.values[i];
    if (x != x) {
      found.nans += 1;
      if (got == got) found.lost_nans += 1;
      continue;
    }
    if (x < rules.from || x > rules.to || meets_pole<kFunction>(x, x)) {
      found.outside += 1;
      continue;
    }
    const Known want = truth<kFunction>(static_cast<double>(x));
    const Judged judged = judge_value(static_cast<double>(got), want, rules);
    found.judged += 1;
    if (judged.open) list(params.open, params.listed, {bits, got});
    if (judged.near_tie) list(params.near_ties, params.listed + 1, {bits, got});
    if (judged.fails && found.failing++ == 0) found.first_failing = bits;
    if (judged.misrounded) found.misrounded += 1;
    if (judged.share > found.worst_share || found.judged == 1) {
      found.worst_share = judged.share;
      found.worst_share_at = bits;
    }
    if (judged.ulp > found.worst_ulp || found.judged == 1) {
      found.worst_ulp = judged.ulp;
      found.worst_ulp_at = bits;
    }
    const double bin = judged.ulp * 4.0;
    fetch_add(&histogram[bin < kHistogram - 1 ? static_cast<int>(bin) : kHistogram - 1], 1ull);
    if (static_cast<double>(got) * want.value < 0.0 && size_of_real(want.value) > want.radius) {
      if (found.wrong_signs++ == 0) found.first_wrong_sign = bits;
    }
    const bool falls = (bits >> 31) == 0 ? got < before : got > before;
    if (rules.is_increasing != 0 && falls && !meets_pole<kFunction>(float_from_bits(bits - params.stride), x)) {
      if (found.falls++ == 0) found.first_fall = bits;
    }
  }
}

// The first of two counts' arguments, where there are any.
JUDGE_DEVICE unsigned first_of(unsigned long long count, unsigned at, unsigned long long other_count, unsigned other_at) {
  if (count == 0) return other_at;
  return other_count == 0 || at < other_at ? at : other_at;
}

JUDGE_DEVICE void take_worse(double& worst, unsigned& worst_at, double other, unsigned other_at) {
  if (!(other > worst || (other == worst && other_at < worst_at))) return;
  worst = other;
  worst_at = other_at;
}

// Adds what was found at other arguments of the same sign.
JUDGE_DEVICE void merge(FunctionFindings& found, const FunctionFindings& other) {
  if (found.judged == 0) {
    found.worst_share = other.worst_share;
    found.worst_share_at = other.worst_share_at;
    found.worst_ulp = other.worst_ulp;
    found.worst_ulp_at = other.worst_ulp_at;
  } else if (other.judged != 0) {
    take_worse(found.worst_share, found.worst_share_at, other.worst_share, other.worst_share_at);
    take_worse(found.worst_ulp, found.worst_ulp_at, other.worst_ulp, other.worst_ulp_at);
  }
  found.first_failing = first_of(found.failing, found.first_failing, other.failing, other.first_failing);
  found.first_fall = first_of(found.falls, found.first_fall, other.falls, other.first_fall);
  found.first_wrong_sign = first_of(found.wrong_signs, found.first_wrong_sign, other.wrong_signs, other.first_wrong_sign);
  found.judged += other.judged;
  found.outside += other.outside;
  found.failing += other.failing;
  found.misrounded += other.misrounded;
  found.falls += other.falls;
  found.wrong_signs += other.wrong_signs;
  found.nans += other.nans;
  found.lost_nans += other.lost_nans;
}

}  // namespace holdfast_judge
