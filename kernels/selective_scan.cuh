// Forward selective scan: x_l = Ā_l x_{l−1} + B̄_l u_l, y_l = C_l x_l (spec.md §2, §3), eight lanes for each channel, or two.
//
// Formula: Δ = softplus?(delta + delta_bias); (Ā, B̄) by discretize.cuh; y = Σₙ C x, twice the real part for complex
// weights; out = (y + D u), times z·sigmoid(z) with a gate. `poly` scans in both directions with the same Ā_l, B̄_l,
// C_l at position l and averages before skip and gate; its last state is the forward one.
// How: a block has up to 16 channels of one group, or 64, and goes along the sequence in tiles of kTile positions.
//
//   poly, tiles from the last to the first:           the reversed scan, whose y waits in `workspace`, in the arithmetic type
//     scan_tile, keep_reversed
//   tiles from the first to the last:
//     load_sequence, load_operands                    u and Δ of the channels; B and C, which they share, of 16 states at a time
//     for packets of a few neighbouring positions:
//       step_through                                  for a lane's states, every eighth or every other one: Ā, B̄; x = Ā x + B̄ u; y += C x
//       sum_over_lanes                                y of the channel
//     store                                           out = (y + D u) gate(z)
//   last_state = x
//
// Positions past the end are left out. Up to 16 states stay in registers from tile to tile; more are carried in shared memory.
// Deviations: none. The recurrence is the specification's, operation by operation; the sum over states is a tree, the same one for
// any number of lanes, and so are all bits.
// Expected cost per (batch, channel, n, l): discretize.cuh's, one B̄u product, 3 flops of recurrence and output each, and half an
// instruction of loads; memory traffic is u, Δ, z, out once, variable B and C once for a block's channels.
#pragma once

#include "activation.cuh"
#include "hooks.cuh"
#include "lanes.cuh"
#include "step.cuh"
#include "tile.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::kChannels;
using holdfast_launch::kLanes;
using holdfast_launch::kOwn;
using holdfast_launch::kStates;
using holdfast_launch::kThreads;
using holdfast_launch::ScanParams;

// Channels of a warp.
constexpr int kWarpChannels = 32 / kLanes;

// Which operands vary along the sequence, and whether there is a gate: fixed when a kernel is compiled.
template <bool kVariableB, bool kVariableC, bool kHasGate>
struct Layout {
  static HOLDFAST_DEVICE constexpr bool variable_b() { return kVariableB; }
  static HOLDFAST_DEVICE constexpr bool variable_c() { return kVariableC; }
  static HOLDFAST_DEVICE constexpr bool has_gate() { return kHasGate; }
};

// The step of a state, from its coefficients. With zoh Δu serves all states. `kKnown`: it is plain.
template <Method kMethod, bool kKnown, class T, class W>
HOLDFAST_DEVICE Step<W> step_of(const Coefficients<W>& both, T delta, W b, T u) {
  if constexpr (kMethod == Method::kZoh) {
    const bool is_as_made = !Hooks::kChangeCoefficients || norm1(both.b_bar - scaled(b, delta)) == T(0);
    if (is_as_made && (kKnown || is_plain_input(delta, u))) return {both.a_bar, scaled(b, delta * u)};
  }
  return {both.a_bar, scaled(both.b_bar, u)};
}

// Where a block is: its channels, of a batch and one group, the first items of theirs and of variable B and C's rows, and its positions
// begin … end − 1. It lies in shared memory, and is read again for each tile: in registers it would take some from the steps.
struct Place {
  int batch, first_channel, channels;
  int begin, end;
  long long first_item, group_row;
};

// What a block shares of one tile. A thread loads and stores packets of its own, and the others see them between barriers.
template <class W, class T, int kItems, int kOfChannels>
struct Tile {
  Place place;
  T bias[kOfChannels], skip[kOfChannels];  // of Δ, and D; 0 where there is none
  Row<T, kItems> delta[kOfChannels], u[kOfChannels], y[kOfChannels];
  StepRange<T> range[kOfChannels][kPackets + 1];  // of a packet's Δ; one for padding
  Row<W, kItems> b[kStates], c[kStates];
};

// Whether real scans of a method have kernels with few lanes, too (launch.cuh): where a state takes few operations.
template <Method kMethod>
constexpr bool kHasFewLanes = kMethod == Method::kZoh || kMethod == Method::kBilinear;

template <Method kMethod, class Input, bool kComplex, class Layout, class T, int kLanes, Pass kPass = Pass::kOutputs>
struct SelectiveScan {
  using Weight = WeightOf<kComplex, T>;
  using W = typename Weight::type;
  static constexpr int kWidth = Weight::kWidth;
  static constexpr int kChannels = holdfast_launch::channels_for(kLanes);
  static constexpr int kWarpChannels = 32 / kLanes;
  static constexpr int kOwn = kStates / kLanes;
  static constexpr int kItems = holdfast_launch::items_for(kWidth, kLanes);
  static constexpr int kTile = kPackets * kItems;
  // A thread's share of a tile's packets: of channels, and of states.
  static constexpr int kShare = kChannels * kPackets / kThreads;
  static_assert(kShare >= 1 && kStates * kPackets == kThreads, "a packet of a state for each thread");
  // Sums over a lane's states, one for each of eight lanes that it stands for: so that either number of lanes adds up in one order.
  static constexpr int kSums = holdfast_launch::kLanes / kLanes;
  using SharedTile = Tile<W, T, kItems, kChannels>;
  static constexpr bool kBidirectional = kMethod == Method::kPoly;
  static constexpr bool kHasOutputs = kPass == Pass::kOutputs;
  // Few lanes there are for up to kStates states alone.
  static constexpr bool kOnePass = kLanes != holdfast_launch::kLanes;

  const ScanParams& p;
  SharedTile& tile;
  W* states;  // [kChannels][state_row(dstate)] in shared memory

  HOLDFAST_DEVICE SelectiveScan(const ScanParams& params, SharedTile& tile_, W* states_, int channels, int chunk)
      : p(params), tile(tile_), states(states_) {
    if (threadIdx.x == 0) tile.place = place(channels, chunk);
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < kChannels) {
      const bool exists = static_cast<int>(threadIdx.x) < tile.place.channels;
      const int of = tile.place.first_channel + static_cast<int>(threadIdx.x);
      tile.bias[threadIdx.x] = exists && p.delta_bias ? static_cast<T>(p.delta_bias[of]) : T(0);
      tile.skip[threadIdx.x] = exists && p.d ? static_cast<T>(p.d[of]) : T(0);
    }
    __syncthreads();
  }

  // Of the channel's lanes; of the block's channels.
  static HOLDFAST_DEVICE int lane() { return static_cast<int>(threadIdx.x) % kLanes; }
  static HOLDFAST_DEVICE int slot() { return static_cast<int>(threadIdx.x) / kLanes; }

  // Of these channels, counted as block_of() in launch.cuh does, and this chunk.
  HOLDFAST_DEVICE Place place(int channels, int chunk) const {
    // Channel d reads group d / (dim / groups) (spec.md §3).
    const int groups = static_cast<int>(p.groups), members = static_cast<int>(p.dim) / groups;
    const int parts = (members - 1) / kChannels + 1;
    const int row = channels / parts;  // of (batch, group)
    const int first = channels % parts * kChannels;
    Place here;
    here.begin = static_cast<int>(chunk * p.chunk_len);
    here.end = static_cast<int>(chunk + 1 < p.chunks ? (chunk + 1) * p.chunk_len : p.seqlen);
    here.batch = row / groups;
    here.first_channel = row % groups * members + first;
    here.channels = members - first < kChannels ? members - first : kChannels;
    here.first_item = (here.batch * p.dim + here.first_channel) * p.seqlen;
    here.group_row = row * p.dstate;
    return here;
  }

  // Whether the lane's channel exists, and whether any of its warp does; the channel, or the first one in its stead.
  HOLDFAST_DEVICE bool is_active() const { return slot() < tile.place.channels; }
  HOLDFAST_DEVICE bool warp_is_idle() const { return slot() - slot() % kWarpChannels >= tile.place.channels; }
  HOLDFAST_DEVICE int channel() const { return tile.place.first_channel + (is_active() ? slot() : 0); }
  // Up to kStates a lane keeps its states from tile to tile.
  HOLDFAST_DEVICE bool are_kept() const { return kOnePass || p.dstate <= kStates; }
  HOLDFAST_DEVICE W* carried(int n) const { return states + slot() * holdfast_launch::state_row(p.dstate) + n; }

  HOLDFAST_DEVICE W weight(const void* from, int n) const {
    return Weight::load(static_cast<const float*>(from) + (static_cast<long long>(channel()) * p.dstate + n) * kWidth);
  }

  // The packets that a thread loads and stores: one of each kShareStride-th channel. Neighbours have those of one channel.
  static constexpr int kShareStride = kThreads / kPackets;
  struct Share {
    int slot, packet;
    Positions at;    // of these none where there is no such channel
    long long item;  // index of (batch, channel, first position)
  };
  HOLDFAST_DEVICE Share share(const Positions& at, int r) const {
    const int of = static_cast<int>(threadIdx.x) / kPackets + r * kShareStride;
    Share own = {of, static_cast<int>(threadIdx.x) % kPackets, at, 0};
    own.item = tile.place.first_item + of * p.seqlen + at.first;
    if (of >= tile.place.channels) own.at.valid = 0;
    return own;
  }
  HOLDFAST_DEVICE Positions positions(int start) const {
    return Positions(start + static_cast<int>(threadIdx.x) % kPackets * kItems, kItems, p.seqlen);
  }
  HOLDFAST_DEVICE const Input* input(const void* from, const Share& own) const { return static_cast<const Input*>(from) + own.item; }
  // y of the reversed scan, as (batch, dim, seqlen): every thread reads what it wrote itself.
  HOLDFAST_DEVICE T* workspace(const Share& own) const { return static_cast<T*>(p.workspace) + own.item; }

  // u, and Δ after bias and softplus: all of a thread's at once, so that one's loads fill another's waits.
  HOLDFAST_DEVICE void load_sequence(const Positions& at) const {
    Loaded<Input, kItems> u[kShare], delta[kShare];
    HOLDFAST_UNROLL
    for (int r = 0; r < kShare; ++r) {
      const Share own = share(at, r);
      u[r] = load_items<kItems>(input(p.u, own), own.at.valid, at.wide);
      delta[r] = load_items<kItems>(input(p.delta, own), own.at.valid, at.wide);
    }
    HOLDFAST_UNROLL
    for (int r = 0; r < kShare; ++r) finish_sequence(share(at, r), u[r], delta[r]);
  }
  HOLDFAST_DEVICE void finish_sequence(const Share& own, const Loaded<Input, kItems>& stored_u, const Loaded<Input, kItems>& stored_delta) const {
    Items<T, kItems> u, delta;
    widen(stored_u, u.item);
    widen(stored_delta, delta.item);
    const T bias = tile.bias[own.slot];
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) delta.item[i] += bias;
    if (p.delta_softplus) {
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) delta.item[i] = softplus(delta.item[i]);
    }
    if (own.at.valid < kItems) {
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) {
        if (i >= own.at.valid) delta.item[i] = T(0);
      }
    }
    tile.u[own.slot].packet[own.packet] = u;
    tile.delta[own.slot].packet[own.packet] = delta;
    if constexpr (kKnownByRange<kMethod, W>) tile.range[own.slot][own.packet] = range_of<kMethod>(delta.item, u.item);
  }

  // Variable B and C of kStates states from `first` on: a packet of each for a thread.
  struct Operands {
    Loaded<Input, kWidth * kItems> b, c;
  };
  HOLDFAST_DEVICE Operands load_operands(int first, const Positions& at) const {
    Operands own = {};
    const int n = first + static_cast<int>(threadIdx.x) / kPackets, valid = n < p.dstate ? at.valid : 0;
    const long long row = (tile.place.group_row + n) * p.seqlen * kWidth;
    const auto load = [&](const void* from) {
      return load_row<kWidth, kItems>(static_cast<const Input*>(from) + row, at.first, valid, at.wide);
    };
    if (Layout::variable_b()) own.b = load(p.b);
    if (kHasOutputs && Layout::variable_c()) own.c = load(p.c);
    return own;
  }
  HOLDFAST_DEVICE void keep_operands(const Operands& own) const {
    const int r = threadIdx.x / kPackets, packet = threadIdx.x % kPackets;
    const auto keep = [&](const Loaded<Input, kWidth * kItems>& stored, Row<W, kItems>& to) {
      Items<W, kItems> items;
      widen(stored, items.item);
      to.packet[packet] = items;
    };
    if (Layout::variable_b()) keep(own.b, tile.b[r]);
    if (kHasOutputs && Layout::variable_c()) keep(own.c, tile.c[r]);
  }

  // The first position of the block's last tile; before its first one where it has none.
  HOLDFAST_DEVICE int last_tile() const {
    return tile.place.begin + (tile.place.end - tile.place.begin + kTile - 1) / kTile * kTile - kTile;
  }

  // What a lane knows of one of its states.
  struct State {
    int n;
    bool exists;
    W a, x, b, c;  // b and c where they are constants
    W product;     // of Ā, for a chunk's step
    Inverses<W> of_a;
  };

  HOLDFAST_DEVICE State state(int n) const {
    const W none = real_as<W>(T(0));
    State own = {n, is_active() && n < p.dstate, none, none, none, none, none, {}};
    if (own.exists) {
      own.a = weight(p.a, n);
      if (!Layout::variable_b()) own.b = weight(p.b, n);
      if (kHasOutputs && !Layout::variable_c()) own.c = weight(p.c, n);
    }
    own.of_a = inverses(own.a);
    return own;
  }

  // A lane's states of kStates from one on, and what is asked of their A together.
  struct States {
    State own[kOwn];
    RateRange<kMethod, W> rates;
  };
  HOLDFAST_DEVICE void find_states(int first, States& states_) const {
    states_.rates = RateRange<kMethod, W>();
    HOLDFAST_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      State& own = states_.own[j];
      own = state(first + j * kLanes + lane());
      if constexpr (kKnownByRange<kMethod, W>) {
        if (own.exists) states_.rates.add(own.a);
      }
    }
  }

  // Coefficients, recurrence and readout of one state at a few positions: takes x on, and adds to y (a chunk's step has the product of
  // Ā in its place). `kAllThere`: of as many as there can be, whose elements are known to be common where kKnownByRange.
  template <bool kReverse, bool kAllThere>
  HOLDFAST_DEVICE void step_through(State& own, const Positions& at, int packet, int row, T (&y)[kItems]) const {
    const Items<T, kItems> delta = tile.delta[slot()].packet[packet];
    Items<W, kItems> b, c;
    if (Layout::variable_b()) b = tile.b[row].packet[packet];
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) {
      if (!Layout::variable_b()) b.item[i] = own.b;
    }
    Coefficients<W> both[kItems];
    constexpr bool kKnown = kAllThere && kKnownByRange<kMethod, W>;
    discretize<kMethod, kKnown>(delta.item, own.a, own.of_a, b.item, both);
    // What the coefficients do not need comes after them: it would take registers across their call for rare elements.
    const Items<T, kItems> u = tile.u[slot()].packet[packet];
    if (Layout::variable_c()) c = tile.c[row].packet[packet];
    Step<W> steps[kItems];
    HOLDFAST_UNROLL
    for (int m = 0; m < kItems; ++m) {
      const int i = kReverse ? kItems - 1 - m : m;
      if (!Layout::variable_c()) c.item[i] = own.c;
      if (own.exists) Hooks::coefficients<kMethod>(delta.item[i], own.a, b.item[i], both[i]);
      steps[i] = step_of<kMethod, kKnown>(both[i], delta.item[i], b.item[i], u.item[i]);
      if (own.exists && i < at.valid) Hooks::step<kReverse>(*this, own.n, at, i, steps);
    }
    if (kHasOutputs && own.exists) Hooks::readout<kReverse>(*this, own.n, at, c.item);
    // Positions past the end change no state.
    const auto advance = [&](int valid) {
      HOLDFAST_UNROLL
      for (int m = 0; m < kItems; ++m) {
        const int i = kReverse ? kItems - 1 - m : m;
        if (i >= valid) continue;
        own.x = multiply_add(steps[i].a, own.x, steps[i].b);
        if (kHasOutputs) {
          y[i] = readout(c.item[i], own.x, y[i]);
        } else {
          own.product = steps[i].a * own.product;
        }
      }
    };
    // A constant leaves no comparison.
    advance(kAllThere ? kItems : at.valid);
  }

  // y of the sums from kFirst on, every kStride-th: added up in the order of sum_over_lanes(), each pair as soon as it is known, so that
  // few are under way at once. All of a lane's states side by side, where all is there; lanes without a state step through zeros where
  // that is known by range.
  template <bool kReverse, int kFirst = 0, int kStride = 1>
  HOLDFAST_DEVICE void step_all(State (&own)[kOwn], const Positions& at, int packet, T (&y)[kItems]) const {
    if constexpr (kStride < kSums) {
      T other[kItems];
      step_all<kReverse, kFirst, 2 * kStride>(own, at, packet, y);
      step_all<kReverse, kFirst + kStride, 2 * kStride>(own, at, packet, other);
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) y[i] = y[i] + other[i];
    } else {
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) y[i] = T(0);
      HOLDFAST_UNROLL
      for (int j = kFirst; j < kOwn; j += kSums) {
        if (kKnownByRange<kMethod, W> || own[j].exists) {
          step_through<kReverse, true>(own[j], at, packet, j * kLanes + lane(), y);
        }
      }
    }
  }

  static HOLDFAST_DEVICE void add_zero(T (&y)[kItems]) {
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) y[i] = y[i] + T(0);
  }

  // One after another, where not all is there. What is known of a state is found again, so that it takes no registers elsewhere, and
  // x is copied, since what has an index leaves them.
  template <bool kReverse>
  HOLDFAST_DEVICE void step_each(int first, State (&own)[kOwn], const Positions& at, int packet, T (&y)[kItems]) const {
    W x[kOwn], product[kOwn];
    T sums[kSums][kItems] = {};
    HOLDFAST_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      x[j] = own[j].x;
      if (!kHasOutputs) product[j] = own[j].product;
    }
    HOLDFAST_NO_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      State one = state(first + j * kLanes + lane());
      if (!one.exists) {
        // step_all() adds zeros here: of a sum that is −0 they make a +0, which must not depend on the lanes.
        if constexpr (kKnownByRange<kMethod, W>) add_zero(sums[j % kSums]);
        continue;
      }
      one.x = x[j];
      if (!kHasOutputs) one.product = product[j];
      step_through<kReverse, false>(one, at, packet, j * kLanes + lane(), sums[j % kSums]);
      x[j] = one.x;
      if (!kHasOutputs) product[j] = one.product;
    }
    HOLDFAST_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      own[j].x = x[j];
      if (!kHasOutputs) own[j].product = product[j];
    }
    HOLDFAST_UNROLL
    for (int count = kSums / 2; count >= 1; count /= 2) {
      for (int m = 0; m < count; ++m) {
        for (int i = 0; i < kItems; ++i) sums[m][i] = sums[m][i] + sums[m + count][i];
      }
    }
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) y[i] = sums[0][i];
  }

  // Of which packets no position is missing, and all elements are known to be common, a bit each: then there is no branch between a
  // lane's states (but for rk4's root), and the steps of one fill the waits of another.
  HOLDFAST_DEVICE unsigned packets_all_there(const States& own, int left) const {
    unsigned all = 0;
    HOLDFAST_UNROLL
    for (int packet = 0; packet < kPackets; ++packet) {
      bool there = left >= (packet + 1) * kItems;
      if constexpr (kKnownByRange<kMethod, W>) there = there & all_are_common<kMethod>(tile.range[slot()][packet], own.rates);
      all |= (there ? 1u : 0u) << packet;
    }
    return all;
  }

  // y of one tile and direction, of kStates states.
  template <bool kReverse>
  HOLDFAST_DEVICE void scan_states(int first, int start, States& own) const {
    // The lanes of a warp sum together, those without a channel too.
    if (warp_is_idle()) return;
    const int rest = static_cast<int>(p.seqlen) - start, left = rest < kTile ? rest : kTile, packets = (left - 1) / kItems + 1;
    const unsigned all_there = packets_all_there(own, left);
    HOLDFAST_NO_UNROLL
    for (int k = 0; k < packets; ++k) {
      const int packet = kReverse ? packets - 1 - k : k;
      const Positions here(start + packet * kItems, kItems, left - packet * kItems, false);
      T y[kItems];
      if ((all_there >> packet & 1) != 0) {
        step_all<kReverse>(own.own, here, packet, y);
      } else {
        step_each<kReverse>(first, own.own, here, packet, y);
      }
      if (!kHasOutputs) continue;
      sum_over_lanes<kLanes / 2, 1, kItems>(y, lane());
      // What a lane has now: a few of the items, or one that others have, too.
      constexpr int kHeld = kItems > kLanes ? kItems / kLanes : 1;
      T* total = tile.y[slot()].packet[packet].item + lane() * kItems / kLanes;
      if (kItems >= kLanes || lane() % (kLanes / kItems) == 0) {
        HOLDFAST_UNROLL
        for (int i = 0; i < kHeld; ++i) total[i] = first == 0 ? y[i] : total[i] + y[i];
      }
    }
  }

  // y of one tile and direction, from the states before it.
  template <bool kReverse>
  HOLDFAST_DEVICE void scan_tile(int start, States& own) const {
    const Positions at = positions(start);
    const bool kept = are_kept();
    Operands operands = load_operands(0, at);
    load_sequence(at);
    HOLDFAST_NO_UNROLL
    for (int first = 0; first < (kOnePass ? 1 : p.dstate); first += kStates) {
      if (first != 0) operands = load_operands(first, at);
      keep_operands(operands);
      __syncthreads();
      if (!kept) {
        find_states(first, own);
        HOLDFAST_UNROLL
        for (int j = 0; j < kOwn; ++j) {
          if (own.own[j].exists) own.own[j].x = *carried(own.own[j].n);
        }
      }
      scan_states<kReverse>(first, start, own);
      if (!kept) {
        HOLDFAST_UNROLL
        for (int j = 0; j < kOwn; ++j) {
          if (own.own[j].exists) *carried(own.own[j].n) = own.own[j].x;
        }
      }
      __syncthreads();
    }
  }

  // y of the reversed scan, until store().
  HOLDFAST_DEVICE void keep_reversed(const Positions& every) const {
    HOLDFAST_UNROLL
    for (int r = 0; r < kShare; ++r) {
      const Share own = share(every, r);
      Packet<T, kItems> y;
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) y.item[i] = tile.y[own.slot].packet[own.packet].item[i];
      store_packet(y, workspace(own), own.at.valid, every.wide);
    }
  }

  HOLDFAST_DEVICE void store(const Positions& every) const {
    // 2 Re(Σ C x) for complex weights (spec.md §3), ½ of both directions for poly.
    const T factor = T(kComplex ? 2 : 1) * T(kBidirectional ? 0.5 : 1);
    HOLDFAST_NO_UNROLL
    for (int r = 0; r < kShare; ++r) {
      const Share own = share(every, r);
      const Positions& at = own.at;
      if (at.valid == 0) continue;
      const T skip = tile.skip[own.slot];
      const Items<T, kItems> u = tile.u[own.slot].packet[own.packet];
      Items<T, kItems> y = tile.y[own.slot].packet[own.packet];
      T z[kItems];
      if (Layout::has_gate()) widen(load_items<kItems>(input(p.z, own), at.valid, every.wide), z);
      Loaded<T, kItems> reversed = {};
      if (kBidirectional) reversed = load_items<kItems>(workspace(own), at.valid, every.wide);
      Packet<Input, kItems> packet;
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) {
        if (kBidirectional) y.item[i] += reversed.item(i);
        y.item[i] *= factor;
        T result = p.d ? fused(skip, u.item[i], y.item[i]) : y.item[i];
        if (Layout::has_gate()) result *= gate(z[i]);
        Hooks::output(*this, own, i, y.item[i], z, result);
        rounded_store(result, packet.item[i]);
      }
      store_packet(packet, static_cast<Input*>(p.out) + own.item, at.valid, every.wide);
    }
  }

  // The one step that all of state n's steps of a chunk are together.
  template <bool kReverse>
  HOLDFAST_DEVICE Step<W>& chunk_step(int chunk, int n) const {
    const long long row = (kReverse ? p.chunks : 0) + chunk;
    return static_cast<Step<W>*>(p.chunk_steps)[((row * p.batch + tile.place.batch) * p.dim + channel()) * p.dstate + n];
  }
  // State n after so many chunks, in the scan's direction.
  template <bool kReverse>
  HOLDFAST_DEVICE W state_after(int chunks, int n) const {
    W x = real_as<W>(T(0));
    for (int k = 0; k < chunks; ++k) {
      const Step<W> step = chunk_step<kReverse>(kReverse ? static_cast<int>(p.chunks) - 1 - k : k, n);
      x = multiply_add(step.a, x, step.b);
    }
    return x;
  }

  // The states before the block's positions.
  template <bool kReverse>
  HOLDFAST_DEVICE void enter(States& own) const {
    const int before = kReverse ? static_cast<int>((p.seqlen - tile.place.end + p.chunk_len - 1) / p.chunk_len)
                                : static_cast<int>(tile.place.begin / p.chunk_len);
    HOLDFAST_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      own.own[j].x = own.own[j].exists ? state_after<kReverse>(before, own.own[j].n) : real_as<W>(T(0));
    }
    if (are_kept() || !is_active()) return;
    for (int n = lane(); n < p.dstate; n += kLanes) *carried(n) = state_after<kReverse>(before, n);
  }

  // Where a product of Ā overflows, chunks tell nothing: then the first chunk's block takes the whole sequence, and the others nothing.
  // One that overflows leaves no finite state after it.
  HOLDFAST_DEVICE void find_positions() const {
    bool finite = true;
    if (is_active()) {
      for (int n = lane(); n < p.dstate; n += kLanes) {
        T sum = norm1(state_after<false>(p.chunks - 1, n));
        if (kBidirectional) sum += norm1(state_after<true>(p.chunks - 1, n));
        finite = finite && sum - sum == T(0);
      }
    }
    __syncthreads();
    if (!finite) tile.place.end = tile.place.begin == 0 ? static_cast<int>(p.seqlen) : tile.place.begin;
    __syncthreads();
  }

  HOLDFAST_DEVICE void run() const {
    if (p.chunks > 1) find_positions();
    States own;
    find_states(0, own);
    if constexpr (kBidirectional) {
      enter<true>(own);
      for (int start = last_tile(); start >= tile.place.begin; start -= kTile) {
        scan_tile<true>(start, own);
        keep_reversed(positions(start));
      }
    }
    enter<false>(own);
    for (int start = tile.place.begin; start < tile.place.end; start += kTile) {
      scan_tile<false>(start, own);
      store(positions(start));
    }
    if (tile.place.begin == tile.place.end || tile.place.end != p.seqlen) return;
    T* last_state = static_cast<T*>(p.last_state) + (tile.place.batch * p.dim + channel()) * p.dstate * kWidth;
    const auto keep = [&](int n, W x) {
      const T* parts = reinterpret_cast<const T*>(&x);
      HOLDFAST_UNROLL
      for (int i = 0; i < kWidth; ++i) {
        T value = parts[i];
        Hooks::last_state(*this, n * kWidth + i, value);
        last_state[n * kWidth + i] = value;
      }
    };
    if (are_kept()) {
      HOLDFAST_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        if (own.own[j].exists) keep(own.own[j].n, own.own[j].x);
      }
    } else if (is_active()) {
      for (int n = lane(); n < p.dstate; n += kLanes) keep(n, *carried(n));
    }
  }
};

}  // namespace HOLDFAST_NAMESPACE
