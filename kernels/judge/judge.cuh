// Verdicts on every element of a channel: src/judge/budget/readout.rs, and of src/judge/quick.rs what is decided before any
// repeat is counted. In the same operations and the same order, so that the theorem there is one on this code, too, and every
// number equals the one of that code.
#pragma once

#include "judge/walk.cuh"

namespace holdfast_judge {

// floor(log2 |x|), and below every format's exponents for zero and subnormals.
JUDGE_DEVICE int exponent_of(double x) { return static_cast<int>((bits_of(x) >> 52) & 0x7ff) - 1023; }

JUDGE_DEVICE double ulp(const JudgeFormat& format, double value) {
  const int exponent = exponent_of(value) > format.min_exponent ? exponent_of(value) : format.min_exponent;
  return from_bits(static_cast<Bits>(exponent - (format.precision - 1) + 1023) << 52);
}

JUDGE_DEVICE bool is_nan(double x) { return x != x; }
JUDGE_DEVICE bool is_infinite(double x) { return size_of_real(x) == infinity(); }
JUDGE_DEVICE bool is_negative(double x) { return (bits_of(x) >> 63) != 0; }

// The smaller one, where the first may be a NaN made of infinities.
JUDGE_DEVICE double or_less(double judged, double worst) { return judged < worst ? judged : worst; }
// What comes of infinities bounds nothing.
JUDGE_DEVICE double bound_of(double x) { return is_nan(x) ? infinity() : x; }
JUDGE_DEVICE double quotient(double error, double bound) { return error == 0.0 ? 0.0 : error / bound; }

struct Element {
  double got, want, bound, store;
};

struct Distance {
  double error, ratio, share, ulp;
};

JUDGE_DEVICE Distance distance_of(const Element& element, const JudgeFormat& format) {
  const double got = element.got, want = element.want, bound = element.bound, store = element.store;
  const Distance none = {0.0, 0.0, 0.0, 0.0}, broken = {infinity(), infinity(), infinity(), infinity()};
  if (is_nan(got) || is_nan(want) || is_nan(bound)) return broken;
  if (is_infinite(got) || size_of_real(want) >= format.overflow) {
    bool fits;
    if (is_infinite(got)) {
      fits = size_of_real(want) + bound >= format.overflow && is_negative(got) == is_negative(want);
    } else {
      fits = size_of_real(want) - bound < format.overflow && size_of_real(got - want) <= bound;
    }
    return fits ? none : broken;
  }
  const double error = size_of_real(got - want);
  const double ratio = quotient(error, bound);
  const double share = error <= store ? 0.0 : error > bound ? ratio : (error - store) / (bound - store);
  return {error, ratio, share, got == want ? 0.0 : error / ulp(format, want)};
}

enum Decision { kPass, kFail, kOpen, kUnbounded };

JUDGE_DEVICE Decision decide(const JudgeAllowance& allowed, const Element& element, double worst_case,
                             const JudgeFormat& format) {
  const double got = element.got, want = element.want, bound = element.bound;
  const double radius = allowed.radius * worst_case;
  if (is_nan(got)) return kFail;
  if (bound == infinity()) return kUnbounded;
  const bool in_range = size_of_real(want) + bound + radius < format.overflow;
  if (!in_range || radius > allowed.most * bound) return kOpen;
  // The exact value is not, nor may it be within its bound.
  if (is_infinite(got)) return kFail;
  const double error = size_of_real(got - want);
  if (error + radius <= bound) return kPass;
  return error - radius > bound ? kFail : kOpen;
}

JUDGE_DEVICE void add(const JudgeAllowance& allowed, JudgeTally& tally, Bits at, const Element& element, double worst_case,
                      const JudgeFormat& format) {
  const Bits known = tally.passed + tally.failed + tally.open;
  switch (decide(allowed, element, worst_case, format)) {
    case kPass:
      tally.passed += 1;
      break;
    case kFail:
      tally.failed += 1;
      break;
    case kOpen:
      tally.open += 1;
      break;
    case kUnbounded:
      tally.unbounded += 1;
      return;
  }
  const Distance distance = distance_of(element, format);
  if (known == 0 || distance.share > tally.share) {
    tally.share = distance.share;
    tally.worst_at = at;
    tally.got = element.got;
    tally.want = element.want;
    tally.bound = element.bound;
    tally.store = element.store;
  }
  const Distance worst = distance_of({element.got, element.want, worst_case, element.store}, format);
  tally.worst_case_ratio = worst.ratio > tally.worst_case_ratio ? worst.ratio : tally.worst_case_ratio;
  tally.max_ulp = distance.ulp > tally.max_ulp ? distance.ulp : tally.max_ulp;
  tally.squared_error = tally.squared_error + distance.error * distance.error;
  if (!is_nan(element.want) && !is_infinite(element.want)) {
    tally.squared_want = tally.squared_want + element.want * element.want;
  }
}

// Skip and gate, and the rounding on store: y, known to `bound`, becomes a value, and its bound with the store's part.
JUDGE_DEVICE void finished(const JudgeParams& p, long long row, long long channel, long long l, double y, double bound,
                           double& value, double& whole, double& store) {
  const JudgeAllowance& allowed = p.allowance;
  const long long at = row * p.seqlen + l;
  value = y;
  if (p.skip != nullptr) {
    const double skipped = static_cast<double>(p.skip[channel]) * static_cast<double>(p.u[at]);
    const double unit = allowed.unit + allowed.y_unit;
    bound = bound + (unit * size_of_real(skipped) * (1.0 + unit) + 2.0 * allowed.y_underflow);
    value = value + skipped;
    bound = bound + unit * (size_of_real(value) + bound);
  }
  if (p.gate != nullptr) {
    const double z = static_cast<double>(p.gate[at]), silu = p.silu[at];
    const double factor = size_of_real(silu);
    const double vanished = z < allowed.gate_vanishes_below ? factor : 0.0;
    const double subnormal =
        z == 0.0 ? 0.0 : 2.0 * allowed.underflow + allowed.gate_underflow * (1.0 + size_of_real(z));
    bound = factor * bound + ((allowed.gate + 3.0 * allowed.gate_unit) * factor + vanished + subnormal) *
                                 (size_of_real(value) + bound);
    value = value * silu;
  }
  bound = bound + (allowed.underflow + allowed.gate_underflow);
  store = p.narrow_storage ? 0.5 * ulp(p.format[0], size_of_real(value) + bound) : 0.0;
  whole = bound + store;
}

// The output at a position, by what the states come to there.
JUDGE_DEVICE void judge_output(const JudgeParams& p, long long row, long long channel, long long l, const double* sum,
                               int width, JudgeTally& tally) {
  const JudgeAllowance& allowed = p.allowance;
  const double u = allowed.unit, mu = allowed.readout_product, size = sum[kMagnitude];
  double vanished = allowed.vanished + allowed.y_underflow * (2.0 + sum[kWeights]);
  if (p.reads_with_b) vanished = vanished + 2.0 * allowed.underflow * sum[kWeights];
  const double narrowed = 2.0 * allowed.y_unit * (1.0 + allowed.y_unit) * size;
  const double worst = sum[kCarried] + (mu * (1.0 + u) + allowed.additions * u) * size + vanished + narrowed;
  const double random = sum[kVariance] + allowed.additions * u * u * size * size;
  const double stagnating = sum[kSums] * static_cast<double>(width);
  const double linear = sum[kLinear] + stagnating * u * size + vanished + narrowed;
  const double judged = or_less(linear + allowed.lambda * root(allowed.repeats * random), worst);
  Element element;
  element.got = static_cast<double>(p.out[row * p.seqlen + l]);
  double worst_case, of_store;
  finished(p, row, channel, l, allowed.scale * sum[kY], allowed.scale * judged, element.want, element.bound, element.store);
  double same;
  finished(p, row, channel, l, allowed.scale * sum[kY], allowed.scale * worst, same, worst_case, of_store);
  element.bound = bound_of(element.bound);
  add(allowed, tally, static_cast<Bits>(l), element, bound_of(worst_case), p.format[0]);
}

// Everything of one channel. `row` may be past the last one of the launch, whose results are then written by nobody: a warp's
// channels stay in step.
template <typename V, int kChunks>
JUDGE_DEVICE void judge_channel(const JudgeParams& p, long long row, Exchange& exchange) {
  const bool is_there = row < p.rows;
  Walk<V, kChunks> walk(p, is_there ? row : p.rows - 1, exchange);
  JudgeResult result = {};
  if (p.formula.bidirectional) {
    walk.start(true);
    for (long long l = p.seqlen - 1; l >= 0; --l) {
      walk.advance_to(l, true);
      walk.keep(l, is_there);
    }
  }
  walk.start(false);
  for (long long l = 0; l < p.seqlen; ++l) {
    walk.advance_to(l, false);
    walk.finish(l);
    JUDGE_LEADER {
      if (p.out != nullptr) {
        judge_output(p, walk.row, walk.channel, l, exchange.sum, Of<V>::kWidth, result.tally[0]);
      }
    }
    JUDGE_MEET;
  }
  if (p.last_state != nullptr) {
    const JudgeAllowance& allowed = p.allowance;
    const double joins = walk.joins(p.seqlen - 1, false);
    for (int chunk = 0; chunk < walk.chunks(); ++chunk) {
      JUDGE_EACH_LANE(lane) {
        const State<V>& state = walk.states.at(lane)[chunk];
        double linear, variance;
        state.seen(allowed.state_unit, joins, linear, variance);
        const double judged = or_less(linear + allowed.lambda * root(allowed.repeats * variance), state.worst);
        exchange.of_lane[0][lane] = Of<V>::part(state.x, 0);
        exchange.of_lane[1][lane] = Of<V>::part(state.x, 1);
        exchange.of_lane[2][lane] = bound_of(judged + allowed.underflow);
        exchange.of_lane[3][lane] = bound_of(state.worst + allowed.underflow);
      }
      JUDGE_MEET;
      JUDGE_LEADER {
        for (int lane = 0; lane < kLanes && chunk * kLanes + lane < p.dstate; ++lane) {
          for (int part = 0; part < Of<V>::kWidth; ++part) {
            const long long at = (chunk * kLanes + lane) * Of<V>::kWidth + part;
            const Element element = {static_cast<double>(p.last_state[walk.row * p.dstate * Of<V>::kWidth + at]),
                                     exchange.of_lane[part][lane], exchange.of_lane[2][lane], 0.0};
            add(allowed, result.tally[1], static_cast<Bits>(at), element, exchange.of_lane[3][lane], p.format[1]);
          }
        }
      }
      JUDGE_MEET;
    }
  }
  JUDGE_EACH_LANE(lane) exchange.of_lane[0][lane] = walk.largest_z.at(lane);
  JUDGE_MEET;
  JUDGE_LEADER {
    for (int lane = 0; lane < kLanes; ++lane) result.largest_z = larger(exchange.of_lane[0][lane], result.largest_z);
    if (is_there) p.results[row] = result;
  }
}

}  // namespace holdfast_judge
