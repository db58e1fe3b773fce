// Backward selective scan: the gradients of spec.md §6 by the adjoint recurrence, eight lanes for each channel.
//
// Formula: with e_l = ω ∂L/∂s_l the cotangent of a state is p_l = C_l e_l + Ā_{l+1} p_{l+1}; u_l, Δ_l, A, B_l and C_l collect
// from p_l, x_{l−1} and x_l. `poly` also has the reversed scan's states x^b and cotangents p^b: every gradient is a sum of
// terms of one direction each.
// How: blocks, tiles and lanes are the forward scan's. Forwards through the sequence a block saves what is carried into each
// packet of neighbouring positions: x, and for `poly` Ā p^b, which goes the same way. Then it goes backwards, tile by tile and
// packet by packet, carrying Ā p (and x^b): it computes the coefficients with their derivatives once, takes the packet's states
// forward from what was saved, and steps back. Sums over a channel's states are trees of shuffles; those over a block's
// channels, which B and C that vary take, trees of shuffles and then the warps in turn, one number for each block in the
// workspace. What A, D, Δ's bias and constant B and C take is summed up position by position within a tile, and over tiles in
// double. A second kernel (selective_scan_backward.cu) adds up what blocks and the batch's channels leave, in order.
// No sum depends on time, on the launch or on the position in the batch: results are the same to the last bit.
// Positions past the end have Δ = 0, u = 0 and e = 0, and add nothing.
// Deviations: none. Cotangents are carried as conjugates of gradients, so that no product needs one (spec.md §6).
// Expected cost per (batch, channel, n, l): derivatives.cuh's coefficients twice, once of them Ā and h alone; 12 (zoh) to 18 flops
// of recurrences and products; 10 instructions of sums over channels and states. Memory traffic: u and Δ twice, dout, z once;
// grad.u, grad.delta, grad.z once; what is saved, an eighth of dstate weights (complex: a quarter) for each position of a
// channel, written and read; one B and C of each block likewise.
#pragma once

#include "derivatives.cuh"
#include "launch_backward.cuh"
#include "selective_scan.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::BackwardParams;
using holdfast_launch::kThreads;

constexpr int kWarps = kThreads / 32;

// v scaled by s, plus w
HOLDFAST_DEVICE float scaled_add(float v, float s, float w) { return fused(v, s, w); }
HOLDFAST_DEVICE double scaled_add(double v, double s, double w) { return fused(v, s, w); }
template <class T>
HOLDFAST_DEVICE Complex<T> scaled_add(Complex<T> v, T s, Complex<T> w) {
  return {fused(v.re, s, w.re), fused(v.im, s, w.im)};
}

// By a weight, or by the real number that h is where it is Δ.
HOLDFAST_DEVICE float times(float a, float h) { return a * h; }
HOLDFAST_DEVICE double times(double a, double h) { return a * h; }
template <class T>
HOLDFAST_DEVICE Complex<T> times(Complex<T> a, T h) {
  return scaled(a, h);
}
template <class T>
HOLDFAST_DEVICE Complex<T> times(Complex<T> a, Complex<T> h) {
  return a * h;
}

// v where a condition holds, else 0.
HOLDFAST_DEVICE float chosen(bool condition, float v) { return condition ? v : 0.0f; }
HOLDFAST_DEVICE double chosen(bool condition, double v) { return condition ? v : 0.0; }
template <class T>
HOLDFAST_DEVICE Complex<T> chosen(bool condition, Complex<T> v) {
  return {chosen(condition, v.re), chosen(condition, v.im)};
}

// Gradients are the conjugates of cotangents.
HOLDFAST_DEVICE float conjugated(float a) { return a; }
HOLDFAST_DEVICE double conjugated(double a) { return a; }
template <class T>
HOLDFAST_DEVICE Complex<T> conjugated(Complex<T> a) {
  return {a.re, -a.im};
}

// The sigmoid, softplus' derivative: e^−|x| does not overflow.
HOLDFAST_DEVICE float sigmoid(float x) {
  const float e = expf(-fabsf(x)), below = 1.0f + e;
  return common_quotient(x > 0.0f ? 1.0f : e, below, common_reciprocal(below));
}
HOLDFAST_DEVICE double sigmoid(double x) {
  const double e = exp(-fabs(x));
  return (x > 0.0 ? 1.0 : e) / (1.0 + e);
}
// The gate's, σ(z)(1 + z σ(−z)).
template <class T>
HOLDFAST_DEVICE T gate_slope(T z) {
  const T s = sigmoid(z);
  return s * fused(z, T(1) - s, T(1));
}

// No load from shared memory moves ahead of it.
#if defined(__CUDACC__)
HOLDFAST_DEVICE void keep_order() { __syncwarp(); }
#else
HOLDFAST_DEVICE void keep_order() {}
#endif

template <class Stored, int kCount, class T>
HOLDFAST_DEVICE void store_items(Stored* p, int valid, bool wide, const T (&from)[kCount]) {
  Packet<Stored, kCount> packet;
  HOLDFAST_UNROLL
  for (int i = 0; i < kCount; ++i) rounded_store(from[i], packet.item[i]);
  store_packet(packet, p, valid, wide);
}

// What a block shares of one tile, as the forward scan's.
template <class W, class T, int kItems, bool kPowers>
struct BackwardTile {
  // What B meets: u, or Δu where h is Δ. e is what C and the states meet: the gradient of y.
  Row<T, kItems> delta[kChannels], input[kChannels], e[kChannels];
  StepRange<T> range[kChannels][kPackets + 1];  // of a packet's Δ; one for padding
  // Sums over the states: what u and Δ collect, and y itself.
  Row<T, kItems> by_input[kChannels], by_step[kChannels], y[kChannels];
  Row<W, kItems> b[kStates], c[kStates];
  // What each warp adds to B and C of the states and positions of a packet; two packets in turn.
  W parts[2][2][kWarps][kStates * kItems];
  // Of every lane's own states: they would take registers throughout.
  Powers<W> powers[kPowers ? kChannels : 1][kStates];
};

template <Method kMethod, class Input, bool kComplex, class Layout, class T>
struct BackwardScan {
  using Weight = WeightOf<kComplex, T>;
  using W = typename Weight::type;
  static constexpr int kWidth = Weight::kWidth;
  static constexpr int kItems = holdfast_launch::items_for(kWidth);
  static constexpr int kTile = kLanes * kItems;
  static constexpr bool kBidirectional = kMethod == Method::kPoly;
  // Positions that are read again together on the way back: as many as registers allow.
  static constexpr int kAgain = !kComplex && (kMethod == Method::kRk4 || kMethod == Method::kBilinear) ? 1 : 2;
  // States of a lane whose steps stand side by side in the code. Those that take double fill the cache of instructions one by one.
  static constexpr int kTogether = kComplex && (kSumsPhi<kMethod> || kMethod == Method::kRk4) ? 1 : kOwn;
  static constexpr bool kPowers = kSumsPhi<kMethod> && kHasCommonPath<W>;
  using SharedTile = BackwardTile<W, T, kItems, kPowers>;

  const BackwardParams& p;
  SharedTile& tile;
  int lane, slot;  // of the channel's lanes; of the block's channels
  int group;       // of (batch, group)
  int part;        // of the group's blocks
  int channel;
  int row;            // of (batch, channel)
  int dstate, packets;
  bool active;        // whether there is such a channel
  bool warp_is_idle;  // whether the whole warp has none

  HOLDFAST_DEVICE BackwardScan(const BackwardParams& params, SharedTile& tile_) : p(params), tile(tile_) {
    lane = threadIdx.x % kLanes;
    slot = threadIdx.x / kLanes;
    // Channel d reads group d / (dim / groups) (spec.md §3).
    const int groups = static_cast<int>(p.groups), members = static_cast<int>(p.dim) / groups;
    const int parts = (members - 1) / kChannels + 1;
    part = static_cast<int>(blockIdx.x) % parts;
    group = static_cast<int>(blockIdx.x) / parts;
    const int member = part * kChannels + slot;
    active = member < members;
    warp_is_idle = member - slot % kWarpChannels >= members;
    channel = group % groups * members + (active ? member : 0);
    row = group / groups * static_cast<int>(p.dim) + channel;
    dstate = static_cast<int>(p.dstate);
    packets = static_cast<int>((p.seqlen - 1) / kItems + 1);
  }

  template <class Stored>
  HOLDFAST_DEVICE Stored* sequence(void* to, const Positions& at) const {
    return static_cast<Stored*>(to) + row * p.seqlen + at.first;
  }
  HOLDFAST_DEVICE const Input* input(const void* from, const Positions& at) const {
    return static_cast<const Input*>(from) + row * p.seqlen + at.first;
  }
  // What is carried into a packet of state n: by the scan. By poly's reversed cotangents: so much behind it.
  HOLDFAST_DEVICE W* saved(int packet, int n) const {
    return static_cast<W*>(p.states) + (static_cast<long long>(row) * packets + packet) * dstate + n;
  }
  HOLDFAST_DEVICE long long other_direction() const { return p.batch * p.dim * packets * dstate; }
  // Index of state n of the channel in A and constant B and C, and of the channel of the batch in the last state.
  HOLDFAST_DEVICE W weight(const void* from, int n) const {
    return Weight::load(static_cast<const float*>(from) + (static_cast<long long>(channel) * dstate + n) * kWidth);
  }

  // ω: 2 for complex weights (spec.md §3), ½ for each of poly's directions.
  static constexpr HOLDFAST_DEVICE T factor() { return T(kComplex ? 2 : 1) * T(kBidirectional ? 0.5 : 1); }

  // Without a channel there is nothing but zeros, which add nothing to the sums of its warp.
  HOLDFAST_DEVICE void load_sequence(const Positions& at, T bias, bool with_gradient) const {
    const int valid = active ? at.valid : 0;
    const auto load = [&](const void* from) { return load_items<kItems>(input(from, at), valid, at.wide); };
    const auto stored_u = load(p.u), stored_delta = load(p.delta);
    Loaded<Input, kItems> stored_dout = {}, stored_z = {};
    if (with_gradient) {
      stored_dout = load(p.dout);
      if (Layout::has_gate()) stored_z = load(p.z);
    }
    Items<T, kItems> u, delta, e;
    widen(stored_u, u.item);
    widen(stored_delta, delta.item);
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) {
      delta.item[i] += bias;
      if (p.delta_softplus) delta.item[i] = softplus(delta.item[i]);
      if (i >= valid) delta.item[i] = T(0);
      if (kHeld<kMethod>) u.item[i] *= delta.item[i];
    }
    tile.input[slot].packet[lane] = u;
    tile.delta[slot].packet[lane] = delta;
    tile.range[slot][lane] = steps_of(delta.item);
    if (!with_gradient) return;
    widen(stored_dout, e.item);
    if (Layout::has_gate()) {
      T z[kItems];
      widen(stored_z, z);
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) e.item[i] *= gate(z[i]);
    }
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) e.item[i] *= factor();
    tile.e[slot].packet[lane] = e;
  }

  // Rows of variable B and C, of kStates states from `first` on: a packet of each for a thread.
  HOLDFAST_DEVICE void load_operands(int first, const Positions& at, bool with_c) const {
    static_assert(kStates == kChannels, "a row of each for the threads of a channel");
    const int n = first + slot, valid = n < dstate ? at.valid : 0;
    const auto load = [&](const void* from) {
      const Input* row_of_n = static_cast<const Input*>(from) + (group * p.dstate + n) * p.seqlen * kWidth;
      return load_row<kWidth, kItems>(row_of_n, at.first, valid, at.wide);
    };
    const auto keep = [&](const Loaded<Input, kWidth * kItems>& stored, Row<W, kItems>& to) {
      Items<W, kItems> items;
      widen(stored, items.item);
      to.packet[lane] = items;
    };
    Loaded<Input, kWidth * kItems> b = {}, c = {};
    if (Layout::variable_b()) b = load(p.b);
    if (Layout::variable_c() && with_c) c = load(p.c);
    if (Layout::variable_b()) keep(b, tile.b[slot]);
    if (Layout::variable_c() && with_c) keep(c, tile.c[slot]);
  }

  // The powers of A of a state of this lane.
  HOLDFAST_DEVICE void store_powers(W a, int r) const {
    if constexpr (kPowers) tile.powers[slot][r] = powers(a);
  }
  HOLDFAST_DEVICE Powers<W> powers_of(int r) const {
    if constexpr (kPowers) {
      return tile.powers[slot][r];
    } else {
      return {};
    }
  }

  // kCount neighbours of a row in shared memory, from a multiple of so many on.
  template <int kCount, class V>
  static HOLDFAST_DEVICE Packet<V, kCount> neighbours(const Row<V, kItems>& from, int packet, int part_of_it) {
    return reinterpret_cast<const Packet<V, kCount>*>(&from.packet[packet])[part_of_it];
  }
  // The same of a B or C, which may be a constant.
  template <int kCount>
  static HOLDFAST_DEVICE Packet<W, kCount> neighbours(bool variable, const Row<W, kItems>& from, int packet,
                                                      int part_of_it, W constant) {
    if (variable) return neighbours<kCount>(from, packet, part_of_it);
    Packet<W, kCount> items;
    HOLDFAST_UNROLL
    for (int i = 0; i < kCount; ++i) items.item[i] = constant;
    return items;
  }

  // What a lane knows of one of its states on the way forwards.
  struct Forward {
    W a, b, c, x, returned;  // b and c where they are constants; Ā p^b of the position before
  };

  HOLDFAST_DEVICE Forward forward(int n, int packet) const {
    const W none = real_as<W>(T(0));
    Forward own = {none, none, none, none, none};
    if (!active || n >= dstate) return own;
    own.a = weight(p.a, n);
    if (!Layout::variable_b()) own.b = weight(p.b, n);
    if (kBidirectional && !Layout::variable_c()) own.c = weight(p.c, n);
    if (packet > 0) {
      own.x = *saved(packet, n);
      if (kBidirectional) own.returned = saved(packet, n)[other_direction()];
    }
    return own;
  }

  HOLDFAST_DEVICE void save(const Forward& own, W* to) const {
    *to = own.x;
    if (kBidirectional) to[other_direction()] = own.returned;
  }

  // What B̄u is made of: h u.
  template <class D>
  static HOLDFAST_DEVICE auto h_times_u(const D& d, T input) {
    if constexpr (kHeld<kMethod>) {
      return input;
    } else {
      return scaled(d.h, input);
    }
  }

  HOLDFAST_DEVICE void step_forward(Forward& own, int packet, int r) const {
    const Items<T, kItems> delta = tile.delta[slot].packet[packet];
    Derivatives<kMethod, W> d[kItems];
    differentiate<kMethod>(delta.item, tile.range[slot][packet], own.a, powers_of(r), d);
    const Items<T, kItems> input = tile.input[slot].packet[packet];
    const Packet<W, kItems> b = neighbours<kItems>(Layout::variable_b(), tile.b[r], packet, 0, own.b);
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) {
      own.x = multiply_add(d[i].a_bar, own.x, times(b.item[i], h_times_u(d[i], input.item[i])));
    }
    if constexpr (kBidirectional) {
      const Items<T, kItems> e = tile.e[slot].packet[packet];
      const Packet<W, kItems> c = neighbours<kItems>(Layout::variable_c(), tile.c[r], packet, 0, own.c);
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) own.returned = d[i].a_bar * scaled_add(c.item[i], e.item[i], own.returned);
    }
  }

  // Saves what is carried into every packet. Positions past the end come after the last of them.
  HOLDFAST_DEVICE void go_forward(T bias) const {
    HOLDFAST_NO_UNROLL
    for (int before = 0; before < packets; before += kLanes) {
      const Positions at(static_cast<long long>(before + lane) * kItems, kItems, p.seqlen);
      load_sequence(at, bias, kBidirectional);
      const int count = packets - before < kLanes ? packets - before : kLanes;
      HOLDFAST_NO_UNROLL
      for (int first = 0; first < dstate; first += kStates) {
        load_operands(first, at, kBidirectional);
        __syncthreads();
        Forward own[kOwn];
        HOLDFAST_UNROLL
        for (int j = 0; j < kOwn; ++j) {
          own[j] = forward(first + lane + j * kLanes, before);
          store_powers(own[j].a, j * kLanes + lane);
        }
        // A lane's states lie kLanes apart.
        const int there = active ? (dstate - first - lane + kLanes - 1) / kLanes : 0;
        W* to = saved(before, first + lane);
        HOLDFAST_NO_UNROLL
        for (int packet = 0; packet < count; ++packet) {
          HOLDFAST_UNROLL_BY(kTogether)
          for (int j = 0; j < kOwn; ++j) {
            if (j >= there) continue;
            save(own[j], to + j * kLanes);
            step_forward(own[j], packet, j * kLanes + lane);
          }
          to += dstate;
        }
        HOLDFAST_UNROLL
        for (int j = 0; j < kOwn; ++j) {
          if (j < there && before + kLanes < packets) save(own[j], to + j * kLanes);
        }
        __syncthreads();
      }
    }
  }

  // What a lane knows of one of its states on the way back.
  struct Backward {
    W a, b, c;
    W returned, x;  // Ā p of the position after, and poly's reversed state there
    W da, db, dc;   // what this tile adds to A, and to constant B and C
  };

  HOLDFAST_DEVICE Backward backward(int n, int next) const {
    const W none = real_as<W>(T(0));
    Backward own = {none, none, none, none, none, none, none, none};
    if (!active || n >= dstate) return own;
    own.a = weight(p.a, n);
    if (!Layout::variable_b()) own.b = weight(p.b, n);
    if (!Layout::variable_c()) own.c = weight(p.c, n);
    if (next < packets) {
      own.returned = *saved(next, n);
      if (kBidirectional) own.x = saved(next, n)[other_direction()];
    } else if (p.dlast_state) {
      own.returned = conjugated(Weight::load(p.dlast_state + (static_cast<long long>(row) * dstate + n) * kWidth));
    }
    return own;
  }

  // Sums over a lane's states: what u and Δ collect, and y.
  struct Sums {
    T by_input[kItems], by_step[kItems], y[kItems];
  };

  // Coefficients, states and cotangents of one state at a few positions, from what was saved ahead of them. All lanes of a warp
  // come here: those without such a state have zeros for A, B and C. Positions past the end, from `valid` on, have zeros for Δ,
  // u and e: cotangents pass through them, and they add nothing.
  HOLDFAST_DEVICE void step_back(Backward& own, W carried, W other_carried, int packet, int valid, int r, Sums& sums,
                                 W (&db)[kItems], W (&dc)[kItems]) const {
    const Items<T, kItems> deltas = tile.delta[slot].packet[packet];
    Derivatives<kMethod, W> d[kItems];
    differentiate<kMethod>(deltas.item, tile.range[slot][packet], own.a, powers_of(r), d);
    // Behind each position x, and before it Ā p^b.
    W x[kItems], other[kItems + 1];
    other[0] = other_carried;
    {
      const Items<T, kItems> input = tile.input[slot].packet[packet], e = tile.e[slot].packet[packet];
      const Packet<W, kItems> b = neighbours<kItems>(Layout::variable_b(), tile.b[r], packet, 0, own.b);
      const Packet<W, kItems> c = neighbours<kItems>(Layout::variable_c(), tile.c[r], packet, 0, own.c);
      W last = carried;
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) {
        last = x[i] = multiply_add(d[i].a_bar, last, times(b.item[i], h_times_u(d[i], input.item[i])));
        if (kBidirectional) other[i + 1] = d[i].a_bar * scaled_add(c.item[i], e.item[i], other[i]);
      }
    }
    HOLDFAST_UNROLL
    for (int some = kItems / kAgain - 1; some >= 0; --some) {
      // Read once more, a few at a time: they would take registers from the beginning on.
      keep_order();
      const Packet<T, kAgain> input = neighbours<kAgain>(tile.input[slot], packet, some);
      const Packet<T, kAgain> e = neighbours<kAgain>(tile.e[slot], packet, some);
      const Packet<T, kAgain> delta = neighbours<kAgain>(tile.delta[slot], packet, some);
      const Packet<W, kAgain> b = neighbours<kAgain>(Layout::variable_b(), tile.b[r], packet, some, own.b);
      const Packet<W, kAgain> c = neighbours<kAgain>(Layout::variable_c(), tile.c[r], packet, some, own.c);
      HOLDFAST_UNROLL
      for (int k = kAgain - 1; k >= 0; --k) {
        const int i = some * kAgain + k;
        // A NaN of the last state has no part in what lies past the end.
        const W before = i == 0 ? carried : chosen(i < valid, x[i - 1]);
        W cotangent = scaled_add(c.item[k], e.item[k], own.returned), seen = x[i];
        own.returned = d[i].a_bar * cotangent;
        // What Ā's derivatives multiply, by the slope.
        W by_slope;
        if constexpr (kMethod == Method::kBilinear) {
          by_slope = d[i].slope * (cotangent * before);
        } else {
          by_slope = own.returned * before;
        }
        const auto h_u = h_times_u(d[i], input.item[k]);
        if constexpr (kBidirectional) {
          by_slope = multiply_add(other[i + 1], own.x, by_slope);
          cotangent = cotangent + scaled_add(c.item[k], e.item[k], other[i]);
          own.x = multiply_add(d[i].a_bar, own.x, times(b.item[k], h_u));
          seen = seen + own.x;
        }
        own.da = scaled_add(by_slope, delta.item[k], own.da);
        sums.by_step[i] = readout(own.a, by_slope, sums.by_step[i]);
        if constexpr (kHeld<kMethod>) {
          sums.by_input[i] = readout(cotangent, b.item[k], sums.by_input[i]);
        } else {
          const W q = cotangent * b.item[k], q_u = scaled(q, input.item[k]);
          sums.by_input[i] = readout(d[i].h, q, sums.by_input[i]);
          sums.by_step[i] = readout(d[i].h_by_delta, q_u, sums.by_step[i]);
          own.da = multiply_add(d[i].h_by_a, q_u, own.da);
        }
        if (Layout::has_gate()) sums.y[i] = readout(c.item[k], seen, sums.y[i]);
        db[i] = times(cotangent, h_u);
        dc[i] = scaled(seen, e.item[k]);
        if (!Layout::variable_b()) own.db = own.db + db[i];
        if (!Layout::variable_c()) own.dc = own.dc + dc[i];
      }
    }
  }

  // The share of B or C that the warp's channels have in one state, of the positions that are left with this lane.
  HOLDFAST_DEVICE void store_share(W (&share)[kItems], W (&parts)[kWarps][kStates * kItems], int r) const {
    sum_over_lanes<16, kLanes, kItems>(share, threadIdx.x);
    constexpr int kLeft = kItems / kWarpChannels;
    W* to = parts[slot / kWarpChannels] + r * kItems + slot % kWarpChannels * kLeft;
    HOLDFAST_UNROLL
    for (int i = 0; i < kLeft; ++i) to[i] = conjugated(share[i]);
  }

  // One number of what the block's channels add to B or C of a packet.
  static HOLDFAST_DEVICE T sum_over_warps(const W (&parts)[kWarps][kStates * kItems], int number) {
    T sum = reinterpret_cast<const T*>(parts[0])[number];
    HOLDFAST_UNROLL
    for (int warp = 1; warp < kWarps; ++warp) sum += reinterpret_cast<const T*>(parts[warp])[number];
    return sum;
  }

  // Warps without a channel add nothing.
  HOLDFAST_DEVICE void clear_parts() const {
    if (!warp_is_idle) return;
    for (int turn = 0; turn < 2; ++turn) {
      for (int i = threadIdx.x % 32; i < kStates * kItems; i += 32) {
        tile.parts[turn][0][slot / kWarpChannels][i] = tile.parts[turn][1][slot / kWarpChannels][i] = real_as<W>(T(0));
      }
    }
  }

  // Adds a tile's share to a sum over tiles, of which the last one is the first to be done.
  HOLDFAST_DEVICE static void add(double* sum, double share, bool is_first) { *sum = is_first ? share : *sum + share; }
  HOLDFAST_DEVICE void add_weight(void* sums, int n, W share, bool is_first) const {
    double* sum = static_cast<double*>(sums) + (static_cast<long long>(row) * dstate + n) * kWidth;
    const Complex<double> parts = to_complex_double(conjugated(share));
    add(sum, parts.re, is_first);
    if (kWidth == 2) add(sum + 1, parts.im, is_first);
  }
  HOLDFAST_DEVICE static void add_round(T& total, T sum, int first) { total = first == 0 ? sum : total + sum; }

  // Of one tile, whose first packet is `before`, from what is carried into its end.
  HOLDFAST_DEVICE void adjoin_tile(int before, const Positions& at) const {
    const int count = packets - before < kLanes ? packets - before : kLanes;
    const bool is_last = before + kLanes >= packets;
    const long long start = static_cast<long long>(before) * kItems;
    const int left = is_last ? static_cast<int>(p.seqlen - start) : kTile;
    // Which of the block's sums over channels is this thread's, of B and of C of a packet.
    constexpr int kNumbers = kItems * kWidth;
    static_assert(kStates * kNumbers == kThreads, "one number a thread");
    const int sum = threadIdx.x, sum_state = sum / kNumbers, sum_number = sum % kNumbers;
    int turn = 0;
    HOLDFAST_NO_UNROLL
    for (int first = 0; first < dstate; first += kStates) {
      load_operands(first, at, true);
      __syncthreads();
      Backward own[kOwn];
      HOLDFAST_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        own[j] = backward(first + lane + j * kLanes, before + kLanes);
        store_powers(own[j].a, j * kLanes + lane);
      }
      // A lane's states lie kLanes apart.
      const int there = active ? (dstate - first - lane + kLanes - 1) / kLanes : 0;
      const W* from = saved(before + count - 1, first + lane);
      const long long sum_row = (part * p.batch * p.groups + group) * dstate + first + sum_state;
      long long to = (sum_row * p.seqlen + start + (count - 1) * kItems) * kWidth + sum_number;
      // What is carried into a packet is on its way before the one behind it is done.
      W carried[kOwn], other[kOwn];
      const auto fetch = [&] {
        HOLDFAST_UNROLL
        for (int j = 0; j < kOwn; ++j) {
          carried[j] = other[j] = real_as<W>(T(0));
          if (j >= there) continue;
          carried[j] = from[j * kLanes];
          if (kBidirectional) other[j] = from[j * kLanes + other_direction()];
        }
      };
      fetch();
      HOLDFAST_NO_UNROLL
      for (int packet = count - 1; packet >= 0; --packet) {
        const int valid = left - packet * kItems < kItems ? left - packet * kItems : kItems;
        if (!warp_is_idle) {
          Sums sums;
          HOLDFAST_UNROLL
          for (int i = 0; i < kItems; ++i) sums.by_input[i] = sums.by_step[i] = sums.y[i] = T(0);
          HOLDFAST_UNROLL_BY(kTogether)
          for (int j = 0; j < kOwn; ++j) {
            const int r = j * kLanes + lane;
            W db[kItems], dc[kItems];
            step_back(own[j], carried[j], other[j], packet, valid, r, sums, db, dc);
            if (Layout::variable_b()) store_share(db, tile.parts[turn][0], r);
            if (Layout::variable_c()) store_share(dc, tile.parts[turn][1], r);
          }
          sum_over_lanes<kLanes / 2, 1, kItems>(sums.by_input, lane);
          from -= dstate;
          if (packet > 0) fetch();
          sum_over_lanes<kLanes / 2, 1, kItems>(sums.by_step, lane);
          if (Layout::has_gate()) sum_over_lanes<kLanes / 2, 1, kItems>(sums.y, lane);
          if (lane % (kLanes / kItems) == 0) {
            const int i = lane / (kLanes / kItems);
            add_round(tile.by_input[slot].packet[packet].item[i], sums.by_input[0], first);
            add_round(tile.by_step[slot].packet[packet].item[i], sums.by_step[0], first);
            if (Layout::has_gate()) add_round(tile.y[slot].packet[packet].item[i], sums.y[0], first);
          }
        }
        if (Layout::variable_b() || Layout::variable_c()) {
          __syncthreads();
          if (first + sum_state < dstate && sum_number < valid * kWidth) {
            if (Layout::variable_b()) {
              static_cast<T*>(p.b_sums)[to] = sum_over_warps(tile.parts[turn][0], sum);
            }
            if (Layout::variable_c()) {
              static_cast<T*>(p.c_sums)[to] = sum_over_warps(tile.parts[turn][1], sum);
            }
          }
          turn ^= 1;
        }
        to -= kNumbers;
      }
      HOLDFAST_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        if (j >= there) continue;
        const int n = first + lane + j * kLanes;
        W* carry = saved(before, n);
        *carry = own[j].returned;
        if (kBidirectional) carry[other_direction()] = own[j].x;
        add_weight(p.a_sums, n, own[j].da, is_last);
        if (!Layout::variable_b()) add_weight(p.b_sums, n, own[j].db, is_last);
        if (!Layout::variable_c()) add_weight(p.c_sums, n, own[j].dc, is_last);
      }
      __syncthreads();
    }
  }

  // The gradients of a lane's own positions of a tile, from the sums over states.
  HOLDFAST_DEVICE void store(const Positions& at, T bias, T skip) const {
    if (!active || at.valid == 0) return;
    // The last packet that is a lane's is the first of them to be done.
    const bool is_first = at.first + kTile >= p.seqlen;
    const long long number = static_cast<long long>(row) * kLanes + lane;
    const auto load = [&](const void* from) { return load_items<kItems>(input(from, at), at.valid, at.wide); };
    const Items<T, kItems> by_input = tile.by_input[slot].packet[lane];
    Items<T, kItems> u = tile.input[slot].packet[lane];
    if (kHeld<kMethod>) widen(load(p.u), u.item);
    {
      Items<T, kItems> ddelta = tile.by_step[slot].packet[lane];
      T total = T(0);
      if constexpr (kHeld<kMethod>) {
        HOLDFAST_UNROLL
        for (int i = 0; i < kItems; ++i) ddelta.item[i] = fused(u.item[i], by_input.item[i], ddelta.item[i]);
      }
      if (p.delta_softplus) {
        T raw[kItems];
        widen(load(p.delta), raw);
        HOLDFAST_UNROLL
        for (int i = 0; i < kItems; ++i) ddelta.item[i] *= sigmoid(raw[i] + bias);
      }
      store_items(sequence<Input>(p.grad_delta, at), at.valid, at.wide, ddelta.item);
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) total += chosen(i < at.valid, ddelta.item[i]);
      if (p.delta_bias) add(p.delta_bias_sums + number, total, is_first);
    }
    {
      const Items<T, kItems> delta = tile.delta[slot].packet[lane], e = tile.e[slot].packet[lane];
      T du[kItems], total = T(0);
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) {
        // Undone exactly: a power of two.
        const T ds = e.item[i] * (T(1) / factor());
        du[i] = by_input.item[i];
        if (kHeld<kMethod>) du[i] *= delta.item[i];
        if (p.d) du[i] = fused(skip, ds, du[i]);
        total = fused(u.item[i], ds, total);
      }
      store_items(sequence<Input>(p.grad_u, at), at.valid, at.wide, du);
      if (p.d) add(p.d_sums + number, total, is_first);
    }
    if (Layout::has_gate()) {
      const Items<T, kItems> y = tile.y[slot].packet[lane];
      const auto stored_z = load(p.z), stored_dout = load(p.dout);
      T z[kItems], dz[kItems];
      widen(stored_z, z);
      widen(stored_dout, dz);
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) {
        T s = y.item[i] * factor();
        if (p.d) s = fused(skip, u.item[i], s);
        dz[i] *= s * gate_slope(z[i]);
      }
      store_items(sequence<Input>(p.grad_z, at), at.valid, at.wide, dz);
    }
  }

  HOLDFAST_DEVICE void run() const {
    const T bias = p.delta_bias ? static_cast<T>(p.delta_bias[channel]) : T(0);
    const T skip = p.d ? static_cast<T>(p.d[channel]) : T(0);
    clear_parts();
    go_forward(bias);
    HOLDFAST_NO_UNROLL
    for (int before = (packets - 1) / kLanes * kLanes; before >= 0; before -= kLanes) {
      const Positions at(static_cast<long long>(before + lane) * kItems, kItems, p.seqlen);
      load_sequence(at, bias, true);
      adjoin_tile(before, at);
      store(at, bias, skip);
    }
    // Lanes that never had a position.
    if (active && lane >= packets) {
      const long long number = static_cast<long long>(row) * kLanes + lane;
      if (p.d) p.d_sums[number] = 0.0;
      if (p.delta_bias) p.delta_bias_sums[number] = 0.0;
    }
  }
};

// `count` numbers that lie `stride` apart, in order.
template <class Number>
HOLDFAST_DEVICE double sum_of(const Number* first, long long stride, long long count) {
  double sum = 0.0;
  for (long long i = 0; i < count; ++i) sum += static_cast<double>(first[i * stride]);
  return sum;
}

// What blocks and the channels of a batch leave of A, B, C, D and delta_bias, one number a thread.
template <class Input, class T>
struct GradientSums {
  const BackwardParams& p;
  long long i;  // of the numbers that are left

  // Whether the number is one of these; else it is one of what follows.
  HOLDFAST_DEVICE bool is_of(long long count) {
    if (i < count) return true;
    i -= count;
    return false;
  }
  HOLDFAST_DEVICE void over_batch(const double* sums, void* to, long long count) const {
    rounded_store(sum_of(sums + i, count, p.batch), static_cast<T*>(to)[i]);
  }
  HOLDFAST_DEVICE void over_batch_and_lanes(const double* sums, void* to) const {
    if (to == nullptr) return;
    double sum = 0.0;
    for (long long batch = 0; batch < p.batch; ++batch) sum += sum_of(sums + (batch * p.dim + i) * kLanes, 1, kLanes);
    rounded_store(sum, static_cast<T*>(to)[i]);
  }
  HOLDFAST_DEVICE void over_blocks(const void* sums, void* to, long long count) const {
    const long long members = p.dim / p.groups;
    if (p.is_dense) return rounded_store(sum_of(static_cast<const double*>(sums) + i, count, members), static_cast<Input*>(to)[i]);
    const long long parts = (members - 1) / kChannels + 1;
    const T sum = static_cast<T>(sum_of(static_cast<const T*>(sums) + i, count, parts));
    rounded_store(sum, static_cast<Input*>(to)[i]);
  }
  // Whether it was one of B, or of C.
  HOLDFAST_DEVICE bool operand(int variable, const void* sums, void* to) {
    const long long constant = p.dim * p.dstate * p.width;
    const long long count = variable ? p.batch * p.groups * p.dstate * p.seqlen * p.width : constant;
    if (!is_of(count)) return false;
    if (variable) {
      over_blocks(sums, to, count);
    } else {
      over_batch(static_cast<const double*>(sums), to, count);
    }
    return true;
  }
  HOLDFAST_DEVICE void run() {
    const long long weights = p.dim * p.dstate * p.width * (p.is_dense ? p.dstate : 1);
    if (is_of(weights)) return over_batch(p.a_sums, p.grad_a, weights);
    if (operand(p.variable_b, p.b_sums, p.grad_b) || operand(p.variable_c, p.c_sums, p.grad_c)) return;
    if (is_of(p.dim)) return over_batch_and_lanes(p.d_sums, p.grad_d);
    if (is_of(p.dim)) return over_batch_and_lanes(p.delta_bias_sums, p.grad_delta_bias);
  }
};

}  // namespace HOLDFAST_NAMESPACE
