// The wrong variants behind the later entries of faults.cuh's list, each a change to one step of one recipe, so that
// any two can be planted together. Built into copies with faults only; a production build never sees this file.
//
// Formula: spec.md §2 and §3 with what the fault changes; src/judge/faults/ has the same in Rust, and must. Step and
// coefficients are computed in double from the inputs and rounded once; loads, scan, carries and launch are those of
// selective_scan.cuh. Cost: irrelevant.
#pragma once

#include "precise.cuh"
#include "scan.cuh"
#include "storage.cuh"

namespace HOLDFAST_NAMESPACE {

using Exact = Complex<double>;

// Whether any of the faults of this file is planted: those before are in the kernels themselves.
HOLDFAST_DEVICE bool planted_here() {
#if defined(HOLDFAST_FAULT)
  const int number = HOLDFAST_FAULT;
  return number / kFaultsPerNumber > 0 || number % kFaultsPerNumber > static_cast<int>(Fault::kBBar2e18);
#else
  return false;
#endif
}

// Which of `count` neighbours in the list is planted, or −1.
HOLDFAST_DEVICE int planted_among(Fault first, int count) {
  for (int i = 0; i < count; ++i) {
    if (planted(static_cast<Fault>(static_cast<int>(first) + i))) return i;
  }
  return -1;
}

// Whose formula: the methods of spec.md §2 by id, then the textbook forms.
enum Formula { kOfZoh, kOfFoh, kOfBilinear, kOfPoly, kOfHighOrder, kOfRk4, kOfZohExact, kOfFohTextbook, kOfRk4Classical,
               kOfBilinearAveraged, kOfExpTrapezoidal };

// B̄u = (first u + higher u' + neighbour u'') B: u' is u, or 1 by a fault; u'' that of `offset` further on.
struct Terms {
  Exact first, higher, neighbour;
  int offset;
};

HOLDFAST_DEVICE Exact operator-(Exact a, Exact b) { return {a.re - b.re, a.im - b.im}; }

HOLDFAST_DEVICE double power_of_step(int which, double delta) {
  return which == 0 ? 1.0 : which == 1 ? 2.0 * delta : which == 2 ? delta * delta : delta;
}

HOLDFAST_DEVICE Exact planted_a_bar(int formula, double delta, Exact a) {
  const Exact z = scaled(a, power_of_step(planted_among(Fault::kABarDeltaMissing, 3), delta));
  if (formula == kOfBilinearAveraged) formula = kOfBilinear;
  if (planted(Fault::kABarOfZoh)) formula = kOfZoh;
  if (planted(Fault::kABarOfBilinear)) formula = kOfBilinear;
  if (planted(Fault::kABarOfRk4Classical)) formula = kOfRk4Classical;
  const Exact above = {1.0 + 0.5 * z.re, 0.5 * z.im}, below = {1.0 - 0.5 * z.re, -0.5 * z.im};
  if (formula == kOfBilinear) {
    if (planted(Fault::kBilinearSwapped) || planted(Fault::kBilinearABarSwapped)) return quotient(below, above);
    return planted(Fault::kBilinearInverseOnlyBBar) ? above : quotient(above, below);
  }
  if (formula == kOfRk4Classical) {
    Exact sum = {1.0, 0.0};
    for (int k = 4; k > 0; --k) sum = shifted(scaled(sum * z, 1.0 / k), 1.0);
    return sum;
  }
  const double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;
  double re = 1.0, im = 1.0;
  if (planted(Fault::kLog2eTwice) || planted(Fault::kLog2eTwiceReal)) re = log2e;
  if (planted(Fault::kLog2eTwice) || planted(Fault::kLog2eTwiceImaginary)) im = log2e;
  if (planted(Fault::kBaseTwo) || planted(Fault::kBaseTwoReal)) re = ln2;
  if (planted(Fault::kBaseTwo) || planted(Fault::kBaseTwoImaginary)) im = ln2;
  return precise_exponential({z.re * re, z.im * im});
}

// Σ_{i < terms} zⁱ / (i + k)!
HOLDFAST_DEVICE Exact phi_of_terms(Exact z, int k, int terms) {
  double factorial = 1.0;
  for (int i = 2; i <= k; ++i) factorial *= i;
  Exact sum = {0.0, 0.0}, power = {1.0 / factorial, 0.0};
  for (int i = 0; i < terms; ++i) {
    sum = sum + power;
    power = scaled(power * z, 1.0 / (i + 1 + k));
  }
  return sum;
}

HOLDFAST_OUTLINE static Terms planted_terms(int formula, double delta, Exact a) {
  const Exact z = scaled(a, delta), none = {0.0, 0.0};
  const int others = static_cast<int>(Fault::kBBarOfZohExact) - static_cast<int>(Fault::kBBarOfZoh) + 1;
  const int other = planted_among(Fault::kBBarOfZoh, others);
  if (other >= 0) formula = other;
  const int series = planted_among(Fault::kBBarSeries2, 2);
  if (series >= 0) formula = kOfZohExact;
  PrecisePhi phi = precise_phi(z);
  const int cut = planted_among(Fault::kPhiTaylor1, 8);
  if (cut >= 0) phi = {phi_of_terms(z, 1, cut + 1), phi_of_terms(z, 2, cut + 1), phi_of_terms(z, 3, cut + 1)};
  double d2 = delta * delta, d3 = delta * d2;
  if (planted(Fault::kInverseDeltaExtra)) d2 = d3 = delta;
  if (planted(Fault::kInverseDeltaMissing)) d2 = delta * delta * delta, d3 = d2 * delta * delta;
  const Exact above = {1.0 + 0.5 * z.re, 0.5 * z.im}, below = {1.0 - 0.5 * z.re, -0.5 * z.im};
  Terms t = {none, none, none, -1};
  if (formula == kOfZoh) {
    t.first = {delta, 0.0};
  } else if (formula == kOfFoh) {
    t.first = scaled(phi.phi2, d2);
  } else if (formula == kOfBilinear) {
    const bool swapped = planted(Fault::kBilinearSwapped) || planted(Fault::kBilinearBBarSwapped);
    const Exact step = {delta, 0.0};
    t.first = planted(Fault::kBilinearInverseOnlyABar) ? step : quotient(step, swapped ? above : below);
  } else if (formula == kOfPoly) {
    const double share = planted(Fault::kPolyWithoutHalfFoh) ? 0.0
                         : planted(Fault::kPolyHalfMissing)  ? 1.0
                         : planted(Fault::kPolyHalfExtra)    ? 0.25
                                                             : 0.5;
    t.first = scaled(phi.phi1, delta);
    t.higher = scaled(phi.phi2, share * d2);
  } else if (formula == kOfHighOrder) {
    const double third = planted(Fault::kHighorderN1) ? 0.0 : planted(Fault::kHighorderWithoutFactorials) ? 1.0 : 0.5;
    t.first = scaled(phi.phi1, delta);
    if (!planted(Fault::kHighorderN0)) t.higher = scaled(phi.phi2, d2) + scaled(phi.phi3, third * d3);
  } else if (formula == kOfRk4 || formula == kOfRk4Classical) {
    const Exact higher = cut >= 0 ? shifted(phi.phi1, -1.0) : shifted(phi_of_terms(z, 1, 4), -1.0);
    t.first = {delta, 0.0};
    t.higher = scaled(higher, delta);
  } else if (formula == kOfZohExact) {
    t.first = scaled(series >= 0 ? phi_of_terms(z, 1, series + 2) : phi.phi1, delta);
  } else if (formula == kOfFohTextbook) {
    t = {scaled(phi.phi1 - phi.phi2, delta), none, scaled(phi.phi2, delta), 1};
  } else if (formula == kOfBilinearAveraged) {
    t.first = t.neighbour = quotient({0.5 * delta, 0.0}, below);
  } else {
    t.first = {0.5 * delta, 0.0};
    t.neighbour = scaled(precise_exponential(z), 0.5 * delta);
  }
  const int power = planted_among(Fault::kBBarDeltaMissing, 3);
  const double factor = power < 0 ? 1.0 : power == 1 ? 2.0 : power == 2 ? delta : delta == 0.0 ? 0.0 : 1.0 / delta;
  t.first = scaled(t.first, factor);
  t.higher = scaled(t.higher, factor);
  t.neighbour = scaled(t.neighbour, factor);
  return t;
}

HOLDFAST_DEVICE Exact planted_b(Exact b) {
  if (planted(Fault::kBTwice)) return b * b;
  if (planted(Fault::kBMissing)) return {1.0, 0.0};
  if (planted(Fault::kBConjugated)) return {b.re, -b.im};
  return b;
}

// Δ after bias and softplus: the clamps.
template <class T>
HOLDFAST_DEVICE double planted_clamp(double delta) {
  delta = power_of_step(planted_among(Fault::kStepDeltaMissing, 3), delta);
  if (planted(Fault::kDeltaAtMostTenth) && delta > 0.1) delta = 0.1;
  if (planted(Fault::kDeltaAtMost1) && delta > 1.0) delta = 1.0;
  if (planted(Fault::kDeltaAtLeast1e4) && delta < 1e-4) delta = 1e-4;
  if (planted(Fault::kDeltaAtLeast1e3) && delta < 1e-3) delta = 1e-3;
  return planted(Fault::kDeltaGuard1e8) && fabs(delta) < 1e-8 ? 0.0 : static_cast<T>(delta);
}

// The textbook forms take the place of whatever method ran them.
template <Method kMethod>
HOLDFAST_DEVICE int planted_formula() {
  const int textbook = planted_among(Fault::kRunsAsZohExact, 5);
  return textbook < 0 ? static_cast<int>(kMethod) : kOfZohExact + textbook;
}

// Ā and B̄ alone: what no u and no other state enters.
template <Method kMethod, class T, class W, class Coefficients>
HOLDFAST_DEVICE void plant_in_coefficients(T delta, W a, W b, Coefficients& out) {
  if (!planted_here()) return;
  const double step = planted_clamp<T>(to_double(delta));
  const Terms t = planted_terms(planted_formula<kMethod>(), step, to_complex_double(a));
  out.a_bar = FromDouble<W>::of(planted_a_bar(planted_formula<kMethod>(), step, to_complex_double(a)));
  out.b_bar = FromDouble<W>::of((t.first + t.higher + t.neighbour) * planted_b(to_complex_double(b)));
}

HOLDFAST_DEVICE float narrowed(float x) {
  float result = x;
  if (planted(Fault::kStateF16)) {
    Half half;
    rounded_store(x, half);
    result = widened_load(half);
  } else {
    Bfloat16 half;
    rounded_store(x, half);
    result = widened_load(half);
  }
  return result;
}
HOLDFAST_DEVICE double narrowed(double x) { return narrowed(static_cast<float>(x)); }
template <class T>
HOLDFAST_DEVICE Complex<T> narrowed(Complex<T> x) {
  return {narrowed(x.re), narrowed(x.im)};
}

// What a scan does at one position, with the faults in it. It reads the inputs itself, at any position.
template <class Scan>
struct PlantedScan {
  using W = typename Scan::W;
  using Input = typename Scan::InputType;
  static constexpr int kWidth = Scan::kWidth;
  const Scan& scan;
  bool active = planted_here();

  HOLDFAST_DEVICE explicit PlantedScan(const Scan& of) : scan(of) {}

  HOLDFAST_DEVICE bool ignored(long long l) const {
    const long long seqlen = scan.p.seqlen;
    const int tail = planted_among(Fault::kTail4Ignored, 3);
    return (planted(Fault::kLastElementIgnored) && l == seqlen - 1) || (tail >= 0 && l >= seqlen - seqlen % (4 << tail));
  }

  HOLDFAST_DEVICE double u(long long l) const {
    if (l < 0) return 0.0;
    if (l >= scan.p.seqlen) l = scan.p.seqlen - 1;
    return widened_load(static_cast<const Input*>(scan.p.u)[scan.row() + l]);
  }

  HOLDFAST_DEVICE double delta(long long l) const {
    using T = typename Scan::Arithmetic;
    const T bias = scan.p.delta_bias ? scan.p.delta_bias[scan.channel] : T(0);
    const bool after = planted(Fault::kBiasAfterSoftplus);
    T x = widened_load(static_cast<const Input*>(scan.p.delta)[scan.row() + l]);
    if (!after && !planted(Fault::kBiasMissing)) x += bias;
    const int threshold = planted_among(Fault::kSoftplusAbove1, 3);
    const T unplanted = sizeof(T) == sizeof(float) ? 20.0f : 40.0f;
    const T identity_above = threshold < 0 ? unplanted : threshold == 0 ? 1.0f : threshold == 1 ? 5.0f : 8.0f;
    if (scan.p.delta_softplus && !planted(Fault::kSoftplusMissing) && !(x > identity_above)) {
      x = static_cast<T>(log1p(exp(static_cast<double>(x))));
    }
    return planted_clamp<T>(after ? x + bias : x);
  }

  HOLDFAST_DEVICE Exact operand(bool variable, bool transposed, const void* from, int n, long long l) const {
    const auto& p = scan.p;
    if (!variable) {
      const long long index = transposed ? static_cast<long long>(n) * p.dim + scan.channel
                                         : static_cast<long long>(scan.channel) * p.dstate + n;
      return to_complex_double(Scan::Weight::load(static_cast<const float*>(from) + index * kWidth));
    }
    long long group_row = scan.group_row;
    if (planted(Fault::kGroupModulo)) {
      group_row = (static_cast<long long>(blockIdx.x) / p.dim * p.groups + scan.channel % p.groups) * p.dstate;
    }
    const long long within = transposed ? l * p.dstate + n : n * p.seqlen + l;
    const Input* group = static_cast<const Input*>(from) + group_row * p.seqlen * kWidth;
    return to_complex_double(Scan::Weight::load(group + within * kWidth));
  }

  HOLDFAST_DEVICE Exact b(int n, long long l) const {
    return planted_b(operand(Scan::kHasVariableB, planted(Fault::kBTransposed), scan.p.b, n, l));
  }

  HOLDFAST_DEVICE Exact a(int n) const {
    return to_complex_double(Scan::Weight::load(scan.p.a + (static_cast<long long>(scan.channel) * scan.p.dstate + n) * kWidth));
  }

  HOLDFAST_DEVICE W c(bool reverse, int n, long long l) const {
    Exact c = operand(Scan::kHasVariableC, planted(Fault::kCTransposed), scan.p.c, n, l);
    if (planted(Fault::kImaginaryPart)) c = {c.im, -c.re};
    if (planted(reverse ? Fault::kPolyCausal : Fault::kPolyBackwardOnly) || ignored(l)) c = {0.0, 0.0};
    return FromDouble<W>::of(c);
  }

  HOLDFAST_OUTLINE Step<W> step(bool reverse, int n, long long l) const {
    if (ignored(l)) return {FromDouble<W>::of({1.0, 0.0}), FromDouble<W>::of({0.0, 0.0})};
    const int formula = planted_formula<Scan::kItsMethod>();
    const double size = delta(l);
    const Exact a_n = a(n), b_n = b(n, l);
    const bool shifted_a_bar = reverse && planted(Fault::kPolyReversedABarOffByOne) && l + 1 < scan.p.seqlen;
    Exact a_bar = planted_a_bar(formula, shifted_a_bar ? delta(l + 1) : size, a_n);
    const int lost = planted_among(Fault::kChunk128Lost, 5), doubled = planted_among(Fault::kChunk128Doubled, 5);
    const long long edge = reverse ? l + 1 : l;
    if (edge > 0 && edge < scan.p.seqlen) {
      if (lost >= 0 && edge % (128 << lost) == 0) a_bar = {0.0, 0.0};
      if (doubled >= 0 && edge % (128 << doubled) == 0) a_bar = scaled(a_bar, 2.0);
    }
    const Terms t = planted_terms(formula, size, a_n);
    const double now = u(l);
    Exact b_u = scaled(t.first, now) + scaled(t.higher, planted(Fault::kUMissing) ? 1.0 : now) +
                scaled(t.neighbour, u(l + t.offset));
    b_u = b_u * b_n;
    if (planted(Fault::kRk4OuterProducts)) {
      // A² B becomes a (aᵀ B), A³ B becomes a (aᵀ A B): a sum over all states.
      Exact ab = {0.0, 0.0}, aab = {0.0, 0.0};
      for (int m = 0; m < scan.p.dstate; ++m) {
        const Exact product = a(m) * b(m, l);
        ab = ab + product;
        aab = aab + a(m) * product;
      }
      const double d2 = 0.5 * size * size, d3 = d2 * size / 3.0, d4 = d3 * size / 4.0;
      const Exact mixed = scaled(a_n * ab, d3) + scaled(a_n * aab, d4);
      b_u = scaled(scaled(b_n, size) + scaled(a_n * b_n, d2) + mixed, now);
    }
    return {FromDouble<W>::of(a_bar), FromDouble<W>::of(b_u)};
  }

  HOLDFAST_DEVICE bool narrow() const { return planted(Fault::kStateF16) || planted(Fault::kStateBf16); }

  // A state rounded at every position depends on all earlier roundings: recomputed from the start, in order.
  HOLDFAST_DEVICE W state_before(W x, bool reverse, int n, long long first, int valid) const {
    if (!narrow()) return x;
    const long long seqlen = scan.p.seqlen;
    x = FromDouble<W>::of({0.0, 0.0});
    const long long count = reverse ? seqlen - (first + valid) : first < seqlen ? first : seqlen;
    for (long long k = 0; k < count; ++k) {
      const Step<W> s = step(reverse, n, reverse ? seqlen - 1 - k : k);
      x = narrowed(multiply_add(s.a, x, s.b));
    }
    return x;
  }

  // What C reads, and the state that goes on.
  HOLDFAST_DEVICE W read_state(bool reverse, W before, W& x) const {
    if (narrow()) x = narrowed(x);
    return reverse && planted(Fault::kPolyReversedOffByOne) ? before : x;
  }

  // The output from y, of which y_reversed is the reversed scan's part; `gate_input` is 1 without a gate.
  HOLDFAST_DEVICE double output(long long l, double y, double y_reversed, bool has_gate, double gate_input) const {
    if (ignored(l)) return 0.0;
    const double factor = (planted(Fault::kPolySummed) ? 2.0 : 1.0) * (planted(Fault::kPolyBackwardOnly) ? 2.0 : 1.0) *
                          (planted(Fault::kRealPartOnce) ? 0.5 : 1.0);
    double skip = scan.p.d ? scan.p.d[scan.channel] * u(l) : 0.0;
    if (planted(Fault::kSkipMissing)) skip = 0.0;
    if (planted(Fault::kSkipDoubled)) skip *= 2.0;
    if (planted(Fault::kSkipBeforeAverage)) skip *= 0.5;
    const double sigmoid = 1.0 / (1.0 + exp(-gate_input));
    double gate = has_gate ? gate_input * sigmoid : 1.0;
    if (has_gate && planted(Fault::kGateMissing)) gate = 1.0;
    if (has_gate && planted(Fault::kGateDoubled)) gate *= gate;
    if (has_gate && planted(Fault::kGateSigmoidOnly)) gate = sigmoid;
    y *= factor;
    if (planted(Fault::kGateBeforeSkip)) return y * gate + skip;
    if (planted(Fault::kGateBeforeAverage)) return (y - factor * y_reversed + skip) * gate + factor * y_reversed;
    return (y + skip) * gate;
  }
};

}  // namespace HOLDFAST_NAMESPACE
