// The states of one channel, position by position, and what they add up to: src/judge/budget/state.rs and states.rs, in the
// same operations and the same order. src/judge/budget/mod.rs derives the recurrences.
#pragma once

#include "judge/step.cuh"

namespace holdfast_judge {

// One state after one position.
template <typename V>
struct State {
  V x;
  // M, E, D, V, the largest M̂ so far, and what is nonzero once a rounding was not taken as random.
  double magnitude, worst, linear, variance, largest, directed;

  JUDGE_DEVICE void start(V from, double unit, double underflow) {
    const double size = norm(from);
    // √2: both parts of a complex state may underflow.
    const double rounded = unless_zero(size * unit + 1.4142135623730951 * underflow, size);
    x = from;
    magnitude = size;
    worst = linear = rounded;
    variance = directed = 0.0;
    largest = larger(1.0, size);
  }

  // D, and V with what a tree's joins add.
  JUDGE_DEVICE void seen(double unit, double joins, double& seen_linear, double& seen_variance) const {
    const double joined = (magnitude + worst) * unit;
    const double random = 0.0 < directed ? 0.0 : (joined * joined) * joins;
    const double not_random = 0.0 < directed ? joined * joins : 0.0;
    seen_linear = linear + not_random;
    seen_variance = variance + random;
  }
};

// b of a step, and what a kernel's may be off.
template <typename V>
struct Input {
  V b_u;
  double size, coefficient, product;
};

template <typename V>
JUDGE_DEVICE Input<V> input_at(const JudgeAllowance& allowed, const Step<V>& step, V b, const double u[kInputs],
                               const int terms[kInputs]) {
  Input<V> input = {Of<V>::real(0.0), 0.0, 0.0, 0.0};
  const double vanished =
      allowed.applies_b_apart != 0.0 ? (norm(b) + 1.0) * (2.0 * allowed.input_underflow) : 2.0 * allowed.input_underflow;
  JUDGE_UNROLL
  for (int i = 0; i < kInputs; ++i) {
    if ((i > 0 && terms[i] == 0) || u[i] == 0.0) continue;
    const V b_u = step.b_bar[i] * u[i];
    const double size = norm(b_u), known = norm(input.b_u), u_size = size_of_real(u[i]);
    input.coefficient = input.coefficient + step.b_bar_error[i] * (u_size * (1.0 + allowed.input_error)) + vanished;
    input.coefficient = input.coefficient + 2.0 * allowed.du_underflow * u_size;
    const double reached = size + step.b_bar_error[i] * u_size;
    const double sum = unless_zero((known + reached) * allowed.state_unit, input.size);
    input.product = input.product + size * allowed.input_error + sum;
    input.b_u = input.b_u + b_u;
    input.size = input.size + reached;
  }
  return input;
}

// One step of one state, of which a tree joins so many later.
template <typename V>
JUDGE_DEVICE void advance(const JudgeAllowance& allowed, State<V>& state, const Step<V>& step, const Input<V>& input,
                          double z, double joins) {
  const double u = allowed.state_unit, growth = allowed.growth, further = allowed.further_sums;
  const double a_abs = norm(step.a_bar), b_abs = norm(input.b_u), x_abs = norm(state.x);
  const double a_computed = (a_abs + step.a_bar_error) * growth;
  const double a_excess = step.a_bar_error * growth + a_abs * (growth - 1.0);
  const double underflow = unless_zero(state.largest * (2.0 * allowed.state_underflow), state.magnitude + state.worst);
  const double worst = times(a_computed, state.worst) + times(a_excess, state.magnitude) +
                       (input.coefficient + input.product) * (1.0 + joins * u) + b_abs * (joins * u) + underflow;
  const double old = times(a_abs, state.magnitude);
  const double magnitude = old + b_abs;
  double product =
      unless_zero(times(a_computed, state.magnitude + state.worst) * allowed.state_product, z);
  double sum = unless_zero((magnitude + worst) * (u * (1.0 + further)), input.size);
  // Those that cannot be taken as random.
  const double directed_product = norm(step.a_bar - 1.0) < allowed.generic * u ? product : 0.0;
  const double directed_sum = b_abs < old * (allowed.generic * u) ? sum : 0.0;
  product = product - directed_product;
  sum = sum - directed_sum;
  state.linear = times(a_computed, state.linear) + times(step.a_bar_error, x_abs) + input.coefficient + underflow +
                 directed_product + directed_sum;
  state.variance = times(a_computed * a_computed, state.variance) + input.product * input.product + product * product +
                   sum * sum;
  state.directed = state.directed + directed_product + directed_sum;
  const V carried = 0.0 < x_abs ? step.a_bar * state.x : Of<V>::real(0.0);
  state.x = carried + input.b_u;
  state.largest = larger(state.largest, magnitude + worst);
  state.magnitude = magnitude;
  state.worst = worst;
}

// What the states come to at a position (`Position` of state.rs).
enum Sum { kY, kCarried, kMagnitude, kLinear, kTermSizes, kWeights, kVariance, kSums };

// What the lanes of a channel tell one another.
struct Exchange {
  double of_lane[kSums + 1][kLanes];
  double sum[kSums + 1];

  // Adds what the lanes have left, in their order, to what the leader has; all see it.
  JUDGE_DEVICE void add_up(int count) {
    JUDGE_MEET;
    JUDGE_EACH_LANE(lane) {
      if (lane < count) {
        double total = 0.0;
        JUDGE_UNROLL
        for (int other = 0; other < kLanes; ++other) total = total + of_lane[lane][other];
        sum[lane] = total;
      }
    }
    JUDGE_MEET;
  }
};

// One channel. kChunks is how many states a lane has, or 0 for as many as there are.
template <typename V, int kChunks>
struct Walk {
  static constexpr int kWidth = Of<V>::kWidth;
  static constexpr int kMost = kChunks == 0 ? 32 : kChunks;

  const JudgeParams& p;
  // Of this launch, and its batch index and channel.
  long long row, batch, channel;
  // Among those of this launch.
  long long group;
  Exchange& exchange;
  PerLane<State<V>[kMost]> states;
  // |C| (|x| + E) of each state at one position.
  PerLane<double[kMost]> sizes;
  PerLane<double> largest_z;

  JUDGE_DEVICE Walk(const JudgeParams& params, long long of_row, Exchange& of_channel)
      : p(params), row(of_row), batch((params.first_row + of_row) / params.dim),
        channel((params.first_row + of_row) % params.dim),
        group(batch * params.groups + channel / (params.dim / params.groups) - params.first_group),
        exchange(of_channel) {
    JUDGE_EACH_LANE(lane) largest_z.at(lane) = 0.0;
  }

  JUDGE_DEVICE int chunks() const {
    return kChunks == 0 ? static_cast<int>((p.dstate + kLanes - 1) / kLanes) : kChunks;
  }

  JUDGE_DEVICE const float* constant(const float* values, long long n) const {
    return values + (channel * p.dstate + n) * kWidth;
  }

  JUDGE_DEVICE const float* operand(const float* values, int variable, long long n, long long l) const {
    if (!variable) return constant(values, n);
    return values + ((group * p.dstate + n) * p.seqlen + l) * kWidth;
  }

  // Where the reversed scan's sums at a position are kept, and its lanes' sizes.
  JUDGE_DEVICE double* kept(long long l) const {
    const long long each = kSums + kLanes * chunks();
    return p.workspace + (row * p.seqlen + l) * each;
  }

  JUDGE_DEVICE double joins(long long before, bool backwards) const {
    const double most = p.allowance.joins;
    const double terms = static_cast<double>(before + (!backwards && p.initial != nullptr ? 1 : 0));
    return most < terms ? most : terms;
  }

  // Before the first position of a direction.
  JUDGE_DEVICE void start(bool backwards) {
    JUDGE_EACH_LANE(lane) {
      for (int chunk = 0; chunk < chunks(); ++chunk) {
        const long long n = chunk * kLanes + lane;
        V from = Of<V>::real(0.0);
        double unit = 0.0, underflow = 0.0;
        if (!backwards) {
          if (p.initial != nullptr && n < p.dstate) from = Of<V>::load(p.initial + (row * p.dstate + n) * kWidth);
          unit = p.allowance.narrow_state_unit;
          underflow = p.allowance.narrow_state_underflow;
        }
        states.at(lane)[chunk].start(from, unit, underflow);
      }
    }
  }

  JUDGE_DEVICE double u_at(long long l) const {
    if (l < 0) return 0.0;
    return static_cast<double>(p.u[row * p.seqlen + (l < p.seqlen ? l : p.seqlen - 1)]);
  }

  // One position: `sum` of the exchange is then what all states come to there, in this direction.
  JUDGE_DEVICE void advance_to(long long l, bool backwards) {
    const JudgeAllowance& allowed = p.allowance;
    const long long before = backwards ? p.seqlen - 1 - l : l;
    const double joined = joins(before, backwards), joined_earlier = joins(before > 0 ? before - 1 : 0, backwards);
    const double delta = p.delta[row * p.seqlen + l], delta_error = p.delta_error[row * p.seqlen + l];
    const double u[kInputs] = {u_at(l), p.formula.terms[1] > 0 ? u_at(l - 1) : 0.0,
                               p.formula.terms[2] > 0 ? u_at(l + 1) : 0.0};
    const double mu = allowed.readout_product;
    JUDGE_EACH_LANE(lane) {
      double sums[kSums] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
      JUDGE_NO_UNROLL
      for (int chunk = 0; chunk < chunks(); ++chunk) {
        const long long n = chunk * kLanes + lane;
        // Past the last state there are zeros.
        const V zero = Of<V>::real(0.0);
        V a = zero, b = zero, c = zero;
        if (n < p.dstate) {
          a = Of<V>::load(constant(p.a, n));
          b = Of<V>::load(operand(p.b, p.variable_b, n, l));
          c = Of<V>::load(operand(p.c, p.variable_c, n, l));
        }
        double apart = 0.0;
        if (p.reads_with_b) {
          apart = norm(c);
          c = c * b;
          b = Of<V>::real(1.0);
        }
        Step<V> step;
        step_at(p.formula, allowed, delta, delta_error, a, b, step);
        const Input<V> input = input_at(allowed, step, b, u, p.formula.terms);
        const V z = a * delta;
        const double size = norm(z);
        const bool at_pole =
            p.formula.has_pole && norm(z - 1.0 / p.formula.alpha) < 2.2250738585072014e-308;
        largest_z.at(lane) = larger(largest_z.at(lane), at_pole ? infinity() : size);
        State<V>& state = states.at(lane)[chunk];
        const State<V> previous = state;
        advance(allowed, state, step, input, size, joined);
        const State<V>& read = p.reads_before ? previous : state;
        double linear, variance;
        read.seen(allowed.state_unit, p.reads_before ? joined_earlier : joined, linear, variance);
        const double weight = norm(c), x_size = norm(read.x) + read.worst;
        const double weighted = times(weight, x_size);
        sums[kY] = sums[kY] + real_part(c * read.x);
        sums[kCarried] = sums[kCarried] + times(weight, read.worst);
        sums[kMagnitude] = sums[kMagnitude] + weighted;
        sums[kLinear] = sums[kLinear] + times(weight, linear);
        sums[kTermSizes] = sums[kTermSizes] + times(weight, read.magnitude);
        sums[kWeights] = sums[kWeights] + weight + apart + unless_zero(x_size, apart);
        variance = variance + x_size * x_size * (mu * mu);
        sums[kVariance] = sums[kVariance] + times(weight * weight, variance);
        sizes.at(lane)[chunk] = weighted;
      }
      JUDGE_UNROLL
      for (int i = 0; i < kSums; ++i) exchange.of_lane[i][lane] = sums[i];
    }
    exchange.add_up(kSums);
  }

  // Keeps what the reversed scan comes to at a position: each lane what it reads again. `is_there` where the row is.
  JUDGE_DEVICE void keep(long long l, bool is_there) {
    double* const at = kept(l);
    JUDGE_EACH_LANE(lane) {
      if (is_there && lane < kSums) at[lane] = exchange.sum[lane];
      for (int chunk = 0; is_there && chunk < chunks(); ++chunk) {
        at[kSums + chunk * kLanes + lane] = sizes.at(lane)[chunk];
      }
    }
  }

  // Adds the sums of the reversed scan to those of the other one, and counts the states that are small beside all together.
  JUDGE_DEVICE void finish(long long l) {
    const bool both = p.formula.bidirectional != 0;
    const double* const at = both ? kept(l) : nullptr;
    JUDGE_EACH_LANE(lane) {
      // What starts from 0 and has one direction added, and then the other.
      if (lane < kSums) exchange.sum[lane] = both ? (0.0 + at[lane]) + exchange.sum[lane] : 0.0 + exchange.sum[lane];
    }
    JUDGE_MEET;
    const double small = p.allowance.generic * p.allowance.unit * exchange.sum[kMagnitude];
    JUDGE_EACH_LANE(lane) {
      double count = 0.0;
      for (int chunk = 0; chunk < chunks(); ++chunk) {
        const double size = sizes.at(lane)[chunk];
        if (size < small && size != 0.0) count = count + 1.0;
        if (both) {
          const double other = at[kSums + chunk * kLanes + lane];
          if (other < small && other != 0.0) count = count + 1.0;
        }
      }
      exchange.of_lane[kSums][lane] = count;
    }
    JUDGE_MEET;
    JUDGE_LEADER {
      double total = 0.0;
      JUDGE_UNROLL
      for (int lane = 0; lane < kLanes; ++lane) total = total + exchange.of_lane[kSums][lane];
      exchange.sum[kSums] = total;
    }
  }
};

}  // namespace holdfast_judge
