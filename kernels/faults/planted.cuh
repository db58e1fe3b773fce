// The hooks of hooks.cuh in copies with faults, and the wrong variants behind them: each a change to one step of one
// recipe, so that any two can be planted together.
//
// Formula: spec.md §2, by the terms of faults/forms.cuh, and §3 with what the fault changes; src/judge/faults/ has the
// same in Rust, and must. Step and coefficients are computed in double from the inputs and rounded once; loads, scan,
// carries and launch are those of selective_scan.cuh. Cost: irrelevant.
#pragma once

#include "discretize.cuh"
#include "faults/list.cuh"
#include "step.cuh"
#include "storage.cuh"

namespace HOLDFAST_NAMESPACE {

using Exact = Complex<double>;

HOLDFAST_DEVICE bool same(Exact a, Exact b) { return a.re == b.re && a.im == b.im; }

// Whether any fault is planted that changes a step, the readout or the output.
HOLDFAST_DEVICE bool planted_in_steps() {
  const int faults = HOLDFAST_FAULT, last = static_cast<int>(fault_after(Fault::kRunsAsZoh, kMethods - 1));
  return faults % kFaultsPerNumber > last || faults / kFaultsPerNumber > last;
}

// Which of `count` neighbours in the list is planted, or −1.
HOLDFAST_DEVICE int among(int faults, Fault first, int count) {
  for (int i = 0; i < count; ++i) {
    if (holds(faults, fault_after(first, i))) return i;
  }
  return -1;
}

// How far Ā and B̄ are off, relative: a fault, or what measures how small an error is caught (two doubles, chosen at run
// time).
HOLDFAST_DEVICE Coefficients<double> perturbation() {
  const int faults = HOLDFAST_FAULT;
  Coefficients<double> off = {holds(faults, Fault::kABar2e18) ? 0x1p-18 : 0.0,
                              holds(faults, Fault::kBBar2e18) ? 0x1p-18 : 0.0};
#if defined(HOLDFAST_PERTURBATION)
  const double* chosen = HOLDFAST_PERTURBATION;
  off = {off.a_bar + chosen[0], off.b_bar + chosen[1]};
#endif
  return off;
}

// What a term of Ā or of B̄ is a function of: φₖ, zᵏ, (1 − z/k)⁻¹, or all of (1 − z/k)⁻¹(1 + (1 − 1/k)z).
enum Function { kPhi, kPower, kResolvent, kQuotient };

// B̄u = (first u + higher u' + neighbour u'') B: u' is u, or 1 by a fault; u'' that of `offset` further on.
struct Terms {
  Exact first, higher, neighbour;
  int offset;
};

HOLDFAST_DEVICE Exact power_of(Exact z, int k) {
  Exact power = {1.0, 0.0};
  for (; k > 0; --k) power = power * z;
  return power;
}

HOLDFAST_DEVICE Exact plus_one(Exact z) { return {1.0 + z.re, z.im}; }

HOLDFAST_DEVICE double power_of_step(int which, double delta) {
  return which == 0 ? 1.0 : which == 1 ? 2.0 * delta : which == 2 ? delta * delta : delta;
}

HOLDFAST_DEVICE Exact planted_a_bar(int faults, int formula, double delta, Exact a) {
  const Exact z = scaled(a, power_of_step(among(faults, Fault::kABarDeltaMissing, 3), delta));
  if (holds(faults, Fault::kABarOfZoh)) formula = kOfZoh;
  if (holds(faults, Fault::kABarOfBilinear)) formula = kOfBilinear;
  if (holds(faults, Fault::kABarOfRk4Classical)) formula = kOfRk4Classical;
  bool rational = false;
  Exact sum = {0.0, 0.0};
  const auto add = [&](Function of, int k, double factor) {
    rational = true;
    const bool swapped = holds(faults, Fault::kBilinearSwapped) || holds(faults, Fault::kBilinearABarSwapped);
    if (of == kPower) {
      sum = sum + scaled(power_of(z, k), factor);
      return;
    }
    const Exact above = plus_one(scaled(z, 1.0 - 1.0 / k)), below = plus_one(scaled(z, -1.0 / k));
    if (holds(faults, Fault::kBilinearInverseOnlyBBar)) {
      sum = above;
    } else {
      sum = swapped ? quotient(below, above) : quotient(above, below);
    }
  };
#define HOLDFAST_A_BAR(form, of, k, factor) \
  if (formula == form) add(of, k, factor);
  HOLDFAST_A_BARS(HOLDFAST_A_BAR)
#undef HOLDFAST_A_BAR
  if (rational) return sum;
  const double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;
  double re = 1.0, im = 1.0;
  if (holds(faults, Fault::kLog2eTwice) || holds(faults, Fault::kLog2eTwiceReal)) re = log2e;
  if (holds(faults, Fault::kLog2eTwice) || holds(faults, Fault::kLog2eTwiceImaginary)) im = log2e;
  if (holds(faults, Fault::kBaseTwo) || holds(faults, Fault::kBaseTwoReal)) re = ln2;
  if (holds(faults, Fault::kBaseTwo) || holds(faults, Fault::kBaseTwoImaginary)) im = ln2;
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

HOLDFAST_OUTLINE static Terms planted_terms(int faults, int formula, double delta, Exact a) {
  const Exact z = scaled(a, delta), none = {0.0, 0.0};
  // Of the methods, and then of the first textbook form.
  const int other = among(faults, Fault::kBBarOfZoh, kOfZohExact + 1);
  if (other >= 0) formula = other;
  const int series = among(faults, Fault::kBBarSeries2, 2), taylor = among(faults, Fault::kPhiTaylor1, 8);
  if (series >= 0) formula = kOfZohExact;
  const int cut = series >= 0 ? series + 2 : taylor + 1;
  PrecisePhi phi = precise_phi(z);
  if (cut > 0) phi = {phi_of_terms(z, 1, cut), phi_of_terms(z, 2, cut), phi_of_terms(z, 3, cut)};
  const bool swapped = holds(faults, Fault::kBilinearSwapped) || holds(faults, Fault::kBilinearBBarSwapped);
  Terms t = {none, none, none, -1};
  const auto add = [&](int offset, bool higher, double factor, int deltas, Function of, int k) {
    if (formula == kOfPoly && of == kPhi && k == 2) {
      if (holds(faults, Fault::kPolyWithoutHalfFoh)) factor = 0.0;
      if (holds(faults, Fault::kPolyHalfMissing)) factor = 1.0;
      if (holds(faults, Fault::kPolyHalfExtra)) factor = 0.25;
    }
    if (formula == kOfHighOrder) {
      if (holds(faults, Fault::kHighorderN0) && k > 1) return;
      if (holds(faults, Fault::kHighorderN1) && k > 2) return;
      if (holds(faults, Fault::kHighorderWithoutFactorials)) factor = 1.0;
    }
    if (of == kPower && cut > 0 && k >= cut) return;
    if (of == kPhi && k > 1 && k == deltas) {
      if (holds(faults, Fault::kInverseDeltaExtra)) deltas = 1;
      if (holds(faults, Fault::kInverseDeltaMissing)) deltas = 2 * k - 1;
    }
    const double scale = factor * power_of({delta, 0.0}, deltas).re;
    Exact value = {scale, 0.0};
    if (of == kPower) {
      value = scaled(power_of(z, k), scale);
    } else if (of == kPhi) {
      value = scaled(k == 0 ? precise_exponential(z) : k == 1 ? phi.phi1 : k == 2 ? phi.phi2 : phi.phi3, scale);
    } else if (!holds(faults, Fault::kBilinearInverseOnlyABar)) {
      value = quotient(value, plus_one(scaled(z, swapped ? 1.0 / k : -1.0 / k)));
    }
    Exact& sum = offset != 0 ? t.neighbour : higher ? t.higher : t.first;
    if (offset != 0) t.offset = offset;
    sum = sum + value;
  };
#define HOLDFAST_TERM(form, offset, higher, factor, deltas, of, k) \
  if (formula == form) add(offset, higher, factor, deltas, of, k);
  HOLDFAST_TERMS(HOLDFAST_TERM)
#undef HOLDFAST_TERM
  const int power = among(faults, Fault::kBBarDeltaMissing, 3);
  const double factor = power < 0 ? 1.0 : power == 1 ? 2.0 : power == 2 ? delta : delta == 0.0 ? 0.0 : 1.0 / delta;
  t.first = scaled(t.first, factor);
  t.higher = scaled(t.higher, factor);
  t.neighbour = scaled(t.neighbour, factor);
  return t;
}

HOLDFAST_DEVICE Exact planted_b(int faults, Exact b) {
  if (holds(faults, Fault::kBTwice)) return b * b;
  if (holds(faults, Fault::kBMissing)) return {1.0, 0.0};
  if (holds(faults, Fault::kBConjugated)) return {b.re, -b.im};
  return b;
}

// Δ after bias and softplus: the clamps.
template <class T>
HOLDFAST_DEVICE double planted_clamp(int faults, double delta) {
  delta = power_of_step(among(faults, Fault::kStepDeltaMissing, 3), delta);
  if (holds(faults, Fault::kDeltaAtMostTenth) && delta > 0.1) delta = 0.1;
  if (holds(faults, Fault::kDeltaAtMost1) && delta > 1.0) delta = 1.0;
  if (holds(faults, Fault::kDeltaAtLeast1e4) && delta < 1e-4) delta = 1e-4;
  if (holds(faults, Fault::kDeltaAtLeast1e3) && delta < 1e-3) delta = 1e-3;
  return holds(faults, Fault::kDeltaGuard1e8) && fabs(delta) < 1e-8 ? 0.0 : static_cast<T>(delta);
}

// The textbook forms take the place of whatever method ran them.
template <Method kMethod>
HOLDFAST_DEVICE int planted_formula(int faults) {
  const int textbook = among(faults, Fault::kRunsAsZohExact, kForms - kOfZohExact);
  return textbook < 0 ? static_cast<int>(kMethod) : kOfZohExact + textbook;
}

HOLDFAST_DEVICE float narrowed(float x) {
  float result = x;
  if (holds(HOLDFAST_FAULT, Fault::kStateF16)) {
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

template <Method kMethod, class Input, bool kComplex, class Layout, class T, int kLanes, Pass kPass>
struct SelectiveScan;
template <class Scan>
struct ParametersOf;
template <Method kItsMethod, class Stored, bool kItsComplex, class ItsLayout, class Arithmetic, int kItsLanes, Pass kItsPass>
struct ParametersOf<SelectiveScan<kItsMethod, Stored, kItsComplex, ItsLayout, Arithmetic, kItsLanes, kItsPass>> {
  using Input = Stored;
  using Layout = ItsLayout;
  using T = Arithmetic;
  static constexpr Method kMethod = kItsMethod;
  static constexpr bool kComplex = kItsComplex;
};

// What a scan does at one position, with the faults in it. It reads the inputs itself, at any position.
template <class Scan>
struct PlantedScan {
  using Parameters = ParametersOf<Scan>;
  using W = typename Scan::W;
  using Input = typename Parameters::Input;
  using Layout = typename Parameters::Layout;
  using T = typename Parameters::T;
  static constexpr int kWidth = Scan::kWidth;
  const Scan& scan;
  const int channel;
  const int faults;  // 0 for what the specification says
  // Whether u is scanned in place of B u.
  const bool without_b;

  HOLDFAST_DEVICE PlantedScan(const Scan& of, int its_channel, int number, bool without = false)
      : scan(of), channel(its_channel), faults(number), without_b(without) {}

  // Index of (batch, channel, l) in u, delta.
  HOLDFAST_DEVICE long long item(long long l) const {
    return (scan.tile.place.batch * scan.p.dim + channel) * scan.p.seqlen + l;
  }

  // A fault of the two directions touches no other scan.
  HOLDFAST_DEVICE bool of_poly(Fault fault) const { return Scan::kBidirectional && holds(faults, fault); }

  HOLDFAST_DEVICE bool ignored(long long l) const {
    const long long seqlen = scan.p.seqlen;
    const int tail = among(faults, Fault::kTail4Ignored, 3);
    return (holds(faults, Fault::kLastElementIgnored) && l == seqlen - 1) || (tail >= 0 && l >= seqlen - seqlen % (4 << tail));
  }

  HOLDFAST_DEVICE double u(long long l) const {
    if (l < 0) return 0.0;
    if (l >= scan.p.seqlen) l = scan.p.seqlen - 1;
    return widened_load(static_cast<const Input*>(scan.p.u)[item(l)]);
  }

  HOLDFAST_DEVICE double delta(long long l) const {
    const T bias = scan.p.delta_bias ? scan.p.delta_bias[channel] : T(0);
    const bool after = holds(faults, Fault::kBiasAfterSoftplus);
    T x = widened_load(static_cast<const Input*>(scan.p.delta)[item(l)]);
    if (!after && !holds(faults, Fault::kBiasMissing)) x += bias;
    const int threshold = among(faults, Fault::kSoftplusAbove1, 3);
    const T unplanted = sizeof(T) == sizeof(float) ? 20.0f : 40.0f;
    const T identity_above = threshold < 0 ? unplanted : threshold == 0 ? 1.0f : threshold == 1 ? 5.0f : 8.0f;
    if (scan.p.delta_softplus && !holds(faults, Fault::kSoftplusMissing) && !(x > identity_above)) {
      x = static_cast<T>(log1p(exp(static_cast<double>(x))));
    }
    return planted_clamp<T>(faults, after ? x + bias : x);
  }

  HOLDFAST_DEVICE Exact operand(bool variable, bool transposed, const void* from, int n, long long l) const {
    const auto& p = scan.p;
    if (!variable) {
      const long long index = transposed ? static_cast<long long>(n) * p.dim + channel
                                         : static_cast<long long>(channel) * p.dstate + n;
      return to_complex_double(Scan::Weight::load(static_cast<const float*>(from) + index * kWidth));
    }
    long long group_row = scan.tile.place.group_row;
    if (holds(faults, Fault::kGroupModulo)) {
      group_row = (scan.tile.place.batch * p.groups + channel % p.groups) * p.dstate;
    }
    const long long within = transposed ? l * p.dstate + n : n * p.seqlen + l;
    const Input* group = static_cast<const Input*>(from) + group_row * p.seqlen * kWidth;
    return to_complex_double(Scan::Weight::load(group + within * kWidth));
  }

  HOLDFAST_DEVICE Exact b(int n, long long l) const {
    if (without_b) return {1.0, 0.0};
    return planted_b(faults, operand(Layout::variable_b(), holds(faults, Fault::kBTransposed), scan.p.b, n, l));
  }

  HOLDFAST_DEVICE Exact a(int n) const {
    return to_complex_double(Scan::Weight::load(scan.p.a + (static_cast<long long>(channel) * scan.p.dstate + n) * kWidth));
  }

  HOLDFAST_DEVICE W c(bool reverse, int n, long long l) const {
    Exact c = operand(Layout::variable_c(), holds(faults, Fault::kCTransposed), scan.p.c, n, l);
    if (holds(faults, Fault::kImaginaryPart)) c = {c.im, -c.re};
    if (of_poly(reverse ? Fault::kPolyCausal : Fault::kPolyBackwardOnly) || ignored(l)) c = {0.0, 0.0};
    return FromDouble<W>::of(c);
  }

  HOLDFAST_OUTLINE Step<Exact> step(bool reverse, int n, long long l) const {
    const Step<Exact> nothing = {{1.0, 0.0}, {0.0, 0.0}};
    // C of position l meets the state of l + 1.
    if (reverse && holds(faults, Fault::kPolyReversedOffByOne) && ++l == scan.p.seqlen) return nothing;
    if (ignored(l)) return nothing;
    const int formula = planted_formula<Parameters::kMethod>(faults);
    const double size = delta(l);
    const Exact a_n = a(n), b_n = b(n, l);
    const bool shifted_a_bar = reverse && holds(faults, Fault::kPolyReversedABarOffByOne) && l + 1 < scan.p.seqlen;
    Exact a_bar = planted_a_bar(faults, formula, shifted_a_bar ? delta(l + 1) : size, a_n);
    const int lost = among(faults, Fault::kChunk128Lost, 5), doubled = among(faults, Fault::kChunk128Doubled, 5);
    const long long edge = reverse ? l + 1 : l;
    if (edge > 0 && edge < scan.p.seqlen) {
      if (lost >= 0 && edge % (128 << lost) == 0) a_bar = {0.0, 0.0};
      if (doubled >= 0 && edge % (128 << doubled) == 0) a_bar = scaled(a_bar, 2.0);
    }
    const Terms t = planted_terms(faults, formula, size, a_n);
    const double now = u(l);
    Exact b_u = scaled(t.first, now) + scaled(t.higher, holds(faults, Fault::kUMissing) ? 1.0 : now) +
                scaled(t.neighbour, u(l + t.offset));
    b_u = b_u * b_n;
    if (holds(faults, Fault::kRk4OuterProducts) && formula == static_cast<int>(Method::kRk4)) {
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
    return {a_bar, b_u};
  }

  HOLDFAST_DEVICE W a_bar_of(Step<Exact> s) const { return FromDouble<W>::of(scaled(s.a, 1.0 + perturbation().a_bar)); }
  HOLDFAST_DEVICE W b_u_of(Step<Exact> s) const { return FromDouble<W>::of(scaled(s.b, 1.0 + perturbation().b_bar)); }

  HOLDFAST_DEVICE bool narrow() const { return holds(faults, Fault::kStateF16) || holds(faults, Fault::kStateBf16); }

  // The state after position l, given the one before.
  HOLDFAST_DEVICE W state_after(W x, bool reverse, int n, long long l) const {
    const Step<Exact> s = step(reverse, n, l);
    x = multiply_add(a_bar_of(s), x, b_u_of(s));
    return narrow() ? narrowed(x) : x;
  }

  // The state after the first `count` positions, one after the other.
  HOLDFAST_DEVICE W state(bool reverse, int n, long long count) const {
    W x = real_as<W>(T(0));
    for (long long k = 0; k < count; ++k) x = state_after(x, reverse, n, reverse ? scan.p.seqlen - 1 - k : k);
    return x;
  }

  // The output from y, of which y_reversed is the reversed scan's part; `z` is read where there is a gate.
  HOLDFAST_DEVICE double output(long long l, double y, double y_reversed, T z) const {
    if (ignored(l)) return 0.0;
    const bool has_gate = Layout::has_gate();
    const double gate_input = has_gate ? z : T(1);
    const bool one_way = of_poly(Fault::kPolyCausal) || of_poly(Fault::kPolyBackwardOnly);
    const double factor = (of_poly(Fault::kPolySummed) ? 2.0 : 1.0) * (one_way ? 2.0 : 1.0) *
                          (holds(faults, Fault::kRealPartOnce) ? 0.5 : 1.0);
    double skip = scan.p.d ? scan.p.d[channel] * u(l) : 0.0;
    if (holds(faults, Fault::kSkipMissing)) skip = 0.0;
    if (holds(faults, Fault::kSkipDoubled)) skip *= 2.0;
    if (of_poly(Fault::kSkipBeforeAverage)) skip *= 0.5;
    const double sigmoid = 1.0 / (1.0 + exp(-gate_input));
    double gate = has_gate ? gate_input * sigmoid : 1.0;
    if (has_gate && holds(faults, Fault::kGateMissing)) gate = 1.0;
    if (has_gate && holds(faults, Fault::kGateDoubled)) gate *= gate;
    if (has_gate && holds(faults, Fault::kGateSigmoidOnly)) gate = sigmoid;
    y *= factor;
    if (holds(faults, Fault::kGateBeforeSkip)) return y * gate + skip;
    if (holds(faults, Fault::kGateBeforeAverage)) return (y - factor * y_reversed + skip) * gate + factor * y_reversed;
    return (y + skip) * gate;
  }
};

// The number of the storage type next to x towards zero. Wider types round as ever.
HOLDFAST_DEVICE void cut_off(float&, float) {}
HOLDFAST_DEVICE void cut_off(double&, double) {}
template <class T, class Stored>
HOLDFAST_DEVICE void cut_off(T& x, Stored near) {
  rounded_store(x, near);
  if (fabs(static_cast<double>(widened_load(near))) > fabs(static_cast<double>(x))) --near.bits;
  x = widened_load(near);
}

HOLDFAST_DEVICE float part_of(float x, int) { return x; }
HOLDFAST_DEVICE double part_of(double x, int) { return x; }
template <class T>
HOLDFAST_DEVICE T part_of(Complex<T> x, int which) {
  return which == 0 ? x.re : x.im;
}

// Ā and B̄ alone: what no u and no other state enters.
template <Method kMethod, class T, class W>
HOLDFAST_DEVICE Coefficients<Exact> planted_coefficients(int faults, T delta, W a, W b) {
  const int formula = planted_formula<kMethod>(faults);
  const double step = planted_clamp<T>(faults, to_double(delta));
  const Terms t = planted_terms(faults, formula, step, to_complex_double(a));
  return {planted_a_bar(faults, formula, step, to_complex_double(a)),
          (t.first + t.higher + t.neighbour) * planted_b(faults, to_complex_double(b))};
}

// What a fault leaves as it is, computed with it and without, stays the kernel's own.
struct Hooks {
  static constexpr bool kChangeCoefficients = true;
  template <Method kMethod, class T, class W>
  static HOLDFAST_ONCE void coefficients(T delta, W a, W b, Coefficients<W>& out) {
    if (planted_in_steps()) {
      const auto wrong = planted_coefficients<kMethod>(HOLDFAST_FAULT, delta, a, b);
      const auto right = planted_coefficients<kMethod>(0, delta, a, b);
      if (!same(wrong.a_bar, right.a_bar)) out.a_bar = FromDouble<W>::of(wrong.a_bar);
      if (!same(wrong.b_bar, right.b_bar)) out.b_bar = FromDouble<W>::of(wrong.b_bar);
    }
    const auto off = perturbation();
    out = {scaled(out.a_bar, T(1.0 + off.a_bar)), scaled(out.b_bar, T(1.0 + off.b_bar))};
  }

  template <bool kReverse, class Scan, class Positions, class W, int kItems>
  static HOLDFAST_DEVICE void step(const Scan& scan, int n, const Positions& at, int i, Step<W> (&steps)[kItems]) {
    if (!planted_in_steps()) return;
    const PlantedScan<Scan> planted(scan, scan.channel(), HOLDFAST_FAULT), specified(scan, scan.channel(), 0);
    const long long l = at.first + i;
    if (planted.narrow()) {
      // Rounded at every position, a state depends on all earlier roundings: the step is the constant that it is.
      const bool first = kReverse ? i + 1 == at.valid : i == 0;
      const long long before = kReverse ? scan.p.seqlen - 1 - l : l;
      const W x = first ? planted.state(kReverse, n, before) : steps[kReverse ? i + 1 : i - 1].b;
      steps[i] = {real_as<W>(typename ArithmeticOf<W>::type(0)), planted.state_after(x, kReverse, n, l)};
      return;
    }
    const Step<Exact> wrong = planted.step(kReverse, n, l), right = specified.step(kReverse, n, l);
    if (!same(wrong.a, right.a)) steps[i].a = planted.a_bar_of(wrong);
    if (!same(wrong.b, right.b)) steps[i].b = planted.b_u_of(wrong);
  }

  template <bool kReverse, class Scan, class Positions, class W, int kItems>
  static HOLDFAST_DEVICE void readout(const Scan& scan, int n, const Positions& at, W (&c)[kItems]) {
    if (!planted_in_steps()) return;
    const PlantedScan<Scan> planted(scan, scan.channel(), HOLDFAST_FAULT);
    for (int i = 0; i < at.valid; ++i) c[i] = planted.c(kReverse, n, at.first + i);
  }

  template <class Scan, class Share, class T, int kItems>
  static HOLDFAST_DEVICE void output(const Scan& scan, const Share& own, int i, T y, const T (&z)[kItems], T& result) {
    if (!planted_in_steps() || i >= own.at.valid) return;
    const T factor = T(ParametersOf<Scan>::kComplex ? 2 : 1) * T(0.5);
    const T reversed = Scan::kBidirectional ? scan.workspace(own)[i] * factor : T(0);
    const int channel = scan.tile.place.first_channel + own.slot;
    const double wrong = PlantedScan<Scan>(scan, channel, HOLDFAST_FAULT).output(own.at.first + i, y, reversed, z[i]);
    const double right = PlantedScan<Scan>(scan, channel, 0).output(own.at.first + i, y, reversed, z[i]);
    if (wrong != right) result = static_cast<T>(wrong);
    if (holds(HOLDFAST_FAULT, Fault::kStoreTruncated)) cut_off(result, typename ParametersOf<Scan>::Input{});
  }

  template <class Scan, class T>
  static HOLDFAST_DEVICE void last_state(const Scan& scan, long long i, T& value) {
    const bool early = holds(HOLDFAST_FAULT, Fault::kLastStateOneChunkEarly);
    const bool without_b = holds(HOLDFAST_FAULT, Fault::kStateWithoutB) && !ParametersOf<Scan>::Layout::variable_b();
    if (early || without_b) {
      const PlantedScan<Scan> planted(scan, scan.channel(), HOLDFAST_FAULT, without_b);
      const long long count = early ? (scan.p.seqlen - 1) / 2048 * 2048 : scan.p.seqlen;
      const auto x = planted.state(false, static_cast<int>(i / Scan::kWidth), count);
      value = part_of(x, static_cast<int>(i % Scan::kWidth));
    }
    if (holds(HOLDFAST_FAULT, Fault::kLastStateDoubled)) value *= T(2);
  }
};

}  // namespace HOLDFAST_NAMESPACE
