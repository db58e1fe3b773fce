// Forward selective scan: x_l = Ā_l x_{l−1} + B̄_l u_l, y_l = C_l x_l (spec.md §2, §3), eight lanes for each channel.
//
// Formula: Δ = softplus?(delta + delta_bias); (Ā, B̄) by discretize.cuh; y = Σₙ C x, twice the real part for complex
// weights; out = (y + D u), times z·sigmoid(z) with a gate. `poly` scans in both directions with the same Ā_l, B̄_l,
// C_l at position l and averages before skip and gate; its last state is the forward one.
// How: a block has up to 16 channels of one group. It goes along the sequence in tiles of kTile positions. For each tile:
// load (u and Δ of every channel, a few neighbouring positions a thread; B and C of 16 states at a time, which the channels
// share), coefficients, recurrence, readout (a lane has every eighth state, and carries it in order through the tile), the sum
// over a channel's lanes, store. Positions past the end have Δ = 0, and
// are left out. `poly` runs the reversed scan first and keeps its sums in `workspace`, in the arithmetic type, never in the
// rounded output.
// Deviations: none. The recurrence is the specification's, operation by operation; the sum over states is a tree.
// Expected cost per (batch, channel, n, l): discretize.cuh's, one B̄u product, 3 flops of recurrence and output each, and
// half an instruction of loads; memory traffic is u, Δ, z, out once, variable B and C once for 16 channels.
#pragma once

#include "discretize.cuh"
#include "hooks.cuh"
#include "lanes.cuh"
#include "launch.cuh"
#include "step.cuh"
#include "storage.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::kChannels;
using holdfast_launch::kLanes;
using holdfast_launch::kOwn;
using holdfast_launch::kStates;
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

HOLDFAST_DEVICE float softplus(float x) { return x > 20.0f ? x : log1pf(expf(x)); }
HOLDFAST_DEVICE double softplus(double x) { return x > 40.0 ? x : log1p(exp(x)); }
HOLDFAST_DEVICE float gate(float z) { return z / (1.0f + expf(-z)); }
HOLDFAST_DEVICE double gate(double z) { return z / (1.0 + exp(-z)); }

// The step of a state, from its coefficients. Where the fast tier has ΔB in it, Δu serves all states.
template <Method kMethod, class T, class W>
HOLDFAST_DEVICE Step<W> step_of(const Coefficients<W>& both, T delta, W b, T u) {
  if constexpr (kFast && kMethod == Method::kZoh) {
    return {both.a_bar, scaled(b, delta * u)};
  } else {
    return {both.a_bar, scaled(both.b_bar, u)};
  }
}

// C x, real part
HOLDFAST_DEVICE float readout(float c, float x, float y) { return fused(c, x, y); }
HOLDFAST_DEVICE double readout(double c, double x, double y) { return fused(c, x, y); }
template <class T>
HOLDFAST_DEVICE T readout(Complex<T> c, Complex<T> x, T y) {
  return fused(-c.im, x.im, fused(c.re, x.re, y));
}

// kCount items from `p`, of which the first `valid` exist; the rest become 0. `wide`: aligned accesses.
template <class T, int kCount, class Stored>
HOLDFAST_DEVICE void load_items(const Stored* p, int valid, bool wide, T (&to)[kCount]) {
  if (wide && valid >= kCount) {
    const Packet<Stored, kCount> packet = *reinterpret_cast<const Packet<Stored, kCount>*>(p);
    HOLDFAST_UNROLL
    for (int i = 0; i < kCount; ++i) to[i] = static_cast<T>(widened_load(packet.item[i]));
  } else {
    HOLDFAST_UNROLL
    for (int i = 0; i < kCount; ++i) to[i] = i < valid ? static_cast<T>(widened_load(p[i])) : T(0);
  }
}

// One state's row of a variable B or C along the sequence.
template <int kWidth, class W, int kItems, class Stored>
HOLDFAST_DEVICE void load_row(const Stored* row, long long l, int valid, bool wide, W (&to)[kItems]) {
  if constexpr (kWidth == 1) {
    load_items(row + l, valid, wide, to);
  } else {
    decltype(W::re) parts[2 * kItems];
    load_items(row + 2 * l, 2 * valid, wide, parts);
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) to[i] = {parts[2 * i], parts[2 * i + 1]};
  }
}

// Neighbours in shared memory, read and written in accesses of 16 bytes.
template <class T, int kItems>
struct alignas(16) Items {
  T item[kItems];
};

// A row of a tile. The padding keeps lanes of neighbouring rows out of one another's banks.
template <class T, int kItems>
struct alignas(16) Row {
  Items<T, kItems> packet[kLanes];
  Items<float, 4> padding;
};

// What a block shares of one tile. A thread loads and stores packets of its own, and the others see them between barriers.
template <class W, class T, int kItems>
struct Tile {
  Row<T, kItems> delta[kChannels], u[kChannels], y[kChannels];
  StepRange<T> range[kChannels][kLanes];  // of a packet's Δ
  Row<W, kItems> b[kStates], c[kStates];
};

// Neighbouring positions: first … first + valid − 1, of at most `items`.
struct Positions {
  long long first;
  int valid;
  // Rows start at multiples of seqlen; the host aligns the buffers themselves to 16 bytes.
  bool wide;
  HOLDFAST_DEVICE Positions(long long at, int items, long long seqlen)
      : first(at),
        valid(seqlen - at < 0 ? 0 : seqlen - at < items ? static_cast<int>(seqlen - at) : items),
        wide(seqlen % items == 0) {}
  // Of those at which so many are left.
  HOLDFAST_DEVICE Positions(long long at, int items, int left, bool wide_)
      : first(at), valid(left < 0 ? 0 : left < items ? left : items), wide(wide_) {}
};

template <Method kMethod, class Input, bool kComplex, class Layout, class T>
struct SelectiveScan {
  using Weight = WeightOf<kComplex, T>;
  using W = typename Weight::type;
  static constexpr int kWidth = Weight::kWidth;
  static constexpr int kItems = holdfast_launch::items_for(kWidth);
  static constexpr int kTile = kLanes * kItems;
  using SharedTile = Tile<W, T, kItems>;
  static constexpr bool kBidirectional = kMethod == Method::kPoly;

  const ScanParams& p;
  SharedTile& tile;
  W* states;  // [kChannels][state_row(dstate)] in shared memory
  int lane, slot;  // of the channel's lanes; of the block's channels
  long long batch;
  int channel;
  bool active;        // whether there is such a channel
  bool warp_is_idle;  // whether the whole warp has none
  long long group_row;

  HOLDFAST_DEVICE SelectiveScan(const ScanParams& params, SharedTile& tile_, W* states_)
      : p(params), tile(tile_), states(states_) {
    lane = threadIdx.x % kLanes;
    slot = threadIdx.x / kLanes;
    // Channel d reads group d / (dim / groups) (spec.md §3).
    const int members = static_cast<int>(p.dim / p.groups);
    const int parts = (members - 1) / kChannels + 1;
    const unsigned part = blockIdx.x % parts;
    const long long row = blockIdx.x / parts;  // of (batch, group)
    const int member = static_cast<int>(part) * kChannels + slot;
    batch = row / p.groups;
    active = member < members;
    warp_is_idle = member - slot % kWarpChannels >= members;
    channel = static_cast<int>(row % p.groups) * members + (active ? member : 0);
    group_row = row * p.dstate;
  }

  // Index of (batch, channel, 0) in u, delta, z, out.
  HOLDFAST_DEVICE long long row() const { return (batch * p.dim + channel) * p.seqlen; }
  HOLDFAST_DEVICE const Input* input(const void* from, const Positions& at) const {
    return static_cast<const Input*>(from) + row() + at.first;
  }
  // y of the reversed scan, as (batch, dim, seqlen): every thread reads what it wrote itself.
  HOLDFAST_DEVICE T* workspace(const Positions& at) const { return static_cast<T*>(p.workspace) + row() + at.first; }
  HOLDFAST_DEVICE W* carried(int n) const { return states + slot * holdfast_launch::state_row(p.dstate) + n; }

  HOLDFAST_DEVICE W weight(const void* from, int n) const {
    return Weight::load(static_cast<const float*>(from) + (static_cast<long long>(channel) * p.dstate + n) * kWidth);
  }

  HOLDFAST_DEVICE void load_sequence(const Positions& at, T bias) const {
    if (!active) return;
    Items<T, kItems> u, delta;
    load_items(input(p.u, at), at.valid, at.wide, u.item);
    load_items(input(p.delta, at), at.valid, at.wide, delta.item);
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) {
      delta.item[i] += bias;
      if (p.delta_softplus) delta.item[i] = softplus(delta.item[i]);
      if (i >= at.valid) delta.item[i] = T(0);
    }
    tile.u[slot].packet[lane] = u;
    tile.delta[slot].packet[lane] = delta;
    if constexpr (kKnownByRange<kMethod, W>) {
      StepRange<T> range = range_of(delta.item);
      // An infinite u is no common one: times the B̄ = 0 of a state that does not exist it would be a NaN.
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) range.largest = fused(u.item[i], T(0), range.largest);
      tile.range[slot][lane] = range;
    }
  }

  // Rows of kStates states from `first` on.
  HOLDFAST_DEVICE void load_operand(const void* from, int first, const Positions& at,
                                    Row<W, kItems> (&to)[kStates]) const {
    HOLDFAST_UNROLL
    for (int r = slot; r < kStates; r += kChannels) {
      const int n = first + r;
      Items<W, kItems> items;
      load_row<kWidth>(static_cast<const Input*>(from) + (group_row + n) * p.seqlen * kWidth, at.first,
                       n < p.dstate ? at.valid : 0, at.wide, items.item);
      to[r].packet[lane] = items;
    }
  }

  // What a lane knows of one of its states.
  struct State {
    int n;
    bool exists;
    W a, x, b, c;  // b and c where they are constants
    Inverses<W> of_a;
  };

  HOLDFAST_DEVICE State state(int n) const {
    const W none = real_as<W>(T(0));
    State own = {n, active && n < p.dstate, none, none, none, none, {}};
    if (!own.exists) return own;
    own.a = weight(p.a, n);
    own.x = *carried(n);
    if (!Layout::variable_b()) own.b = weight(p.b, n);
    if (!Layout::variable_c()) own.c = weight(p.c, n);
    own.of_a = inverses(own.a);
    return own;
  }

  // Coefficients, recurrence and readout of one state at a few positions: takes x on, and adds to y. `kAllThere`: of as many as
  // there can be, whose elements are known to be common where kKnownByRange.
  template <bool kReverse, bool kAllThere>
  HOLDFAST_DEVICE void step_through(State& own, const Positions& at, int packet, int row, T (&y)[kItems]) const {
    const Items<T, kItems> delta = tile.delta[slot].packet[packet];
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
    const Items<T, kItems> u = tile.u[slot].packet[packet];
    if (Layout::variable_c()) c = tile.c[row].packet[packet];
    Step<W> steps[kItems];
    HOLDFAST_UNROLL
    for (int m = 0; m < kItems; ++m) {
      const int i = kReverse ? kItems - 1 - m : m;
      if (!Layout::variable_c()) c.item[i] = own.c;
      if (own.exists) Hooks::coefficients<kMethod>(delta.item[i], own.a, b.item[i], both[i]);
      steps[i] = step_of<kMethod>(both[i], delta.item[i], b.item[i], u.item[i]);
      if (own.exists && i < at.valid) Hooks::step<kReverse>(*this, own.n, at, i, steps);
    }
    if (own.exists) Hooks::readout<kReverse>(*this, own.n, at, c.item);
    // Positions past the end change no state.
    const auto advance = [&](int valid) {
      HOLDFAST_UNROLL
      for (int m = 0; m < kItems; ++m) {
        const int i = kReverse ? kItems - 1 - m : m;
        if (i >= valid) continue;
        own.x = multiply_add(steps[i].a, own.x, steps[i].b);
        y[i] = readout(c.item[i], own.x, y[i]);
      }
    };
    // A constant leaves no comparison.
    advance(kAllThere ? kItems : at.valid);
  }

  // The same of all of a lane's states.
  template <bool kReverse, bool kAllThere>
  HOLDFAST_DEVICE void step_all(State (&own)[kOwn], const Positions& at, int packet, T (&y)[kItems]) const {
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) y[i] = T(0);
    HOLDFAST_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      if ((kAllThere && kKnownByRange<kMethod, W>) || own[j].exists) {
        step_through<kReverse, kAllThere>(own[j], at, packet, j * kLanes + lane, y);
      }
    }
  }

  // Whether no position is missing from a packet, and all elements are known to be common: then there is no branch between a
  // lane's states (but for rk4's root), and the steps of one fill the waits of another. Lanes without a state step through zeros
  // where others of the channel have one.
  HOLDFAST_DEVICE bool all_there(bool all_states, const RateRange<kMethod, W>& rates, const Positions& at, int packet) const {
    bool all = at.valid == kItems && all_states;
    if constexpr (kKnownByRange<kMethod, W>) all = all && all_are_common<kMethod>(tile.range[slot][packet], rates);
    return all;
  }

  // y of one tile and direction, from the states before it.
  template <bool kReverse>
  HOLDFAST_DEVICE void scan_tile(long long start, const Positions& at) const {
    const int left = p.seqlen - start < kTile ? static_cast<int>(p.seqlen - start) : kTile;
    HOLDFAST_NO_UNROLL
    for (int first = 0; first < p.dstate; first += kStates) {
      if (Layout::variable_b()) load_operand(p.b, first, at, tile.b);
      if (Layout::variable_c()) load_operand(p.c, first, at, tile.c);
      __syncthreads();
      State own[kOwn];
      HOLDFAST_UNROLL
      for (int j = 0; j < kOwn; ++j) own[j] = state(first + j * kLanes + lane);
      const bool all_states = active && first + (kOwn - 1) * kLanes < p.dstate;
      RateRange<kMethod, W> rates;
      if constexpr (kKnownByRange<kMethod, W>) {
        HOLDFAST_UNROLL
        for (int j = 0; j < kOwn; ++j) {
          if (own[j].exists) rates.add(own[j].a);
        }
      }
      // The lanes of a warp sum together, those without a channel too.
      HOLDFAST_NO_UNROLL
      for (int k = 0; k < (warp_is_idle ? 0 : kLanes); ++k) {
        const int packet = kReverse ? kLanes - 1 - k : k;
        const Positions here(start + packet * kItems, kItems, left - packet * kItems, at.wide);
        if (here.valid == 0) continue;
        T y[kItems];
        if (all_there(all_states, rates, here, packet)) {
          step_all<kReverse, true>(own, here, packet, y);
        } else {
          step_all<kReverse, false>(own, here, packet, y);
        }
        sum_over_lanes<kLanes / 2, 1, kItems>(y, lane);
        T& total = tile.y[slot].packet[packet].item[lane / (kLanes / kItems)];
        if (lane % (kLanes / kItems) == 0) total = first == 0 ? y[0] : total + y[0];
      }
      HOLDFAST_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        if (own[j].exists) *carried(own[j].n) = own[j].x;
      }
      __syncthreads();
    }
  }

  HOLDFAST_DEVICE void store(const Positions& at, T skip, T factor) const {
    if (!active || at.valid == 0) return;
    const Items<T, kItems> u = tile.u[slot].packet[lane];
    Items<T, kItems> y = tile.y[slot].packet[lane];
    T z[kItems];
    if (Layout::has_gate()) load_items(input(p.z, at), at.valid, at.wide, z);
    Packet<Input, kItems> packet;
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) {
      if (kBidirectional && i < at.valid) y.item[i] += workspace(at)[i];
      y.item[i] *= factor;
      T result = p.d ? fused(skip, u.item[i], y.item[i]) : y.item[i];
      if (Layout::has_gate()) result *= gate(z[i]);
      Hooks::output(*this, at, i, y.item[i], z, result);
      rounded_store(result, packet.item[i]);
    }
    Input* out = static_cast<Input*>(p.out) + row() + at.first;
    if (at.wide && at.valid == kItems) {
      *reinterpret_cast<Packet<Input, kItems>*>(out) = packet;
    } else {
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) {
        if (i < at.valid) out[i] = packet.item[i];
      }
    }
  }

  HOLDFAST_DEVICE void clear_states() const {
    for (int n = lane; n < p.dstate; n += kLanes) *carried(n) = real_as<W>(T(0));
  }

  HOLDFAST_DEVICE void run() const {
    const long long tiles = (p.seqlen + kTile - 1) / kTile;
    // 2 Re(Σ C x) for complex weights (spec.md §3), ½ of both directions for poly.
    const T factor = T(kComplex ? 2 : 1) * T(kBidirectional ? 0.5 : 1);
    const T bias = p.delta_bias ? static_cast<T>(p.delta_bias[channel]) : T(0);
    const T skip = p.d ? static_cast<T>(p.d[channel]) : T(0);
    if constexpr (kBidirectional) {
      clear_states();
      for (long long i = tiles - 1; i >= 0; --i) {
        const Positions own(i * kTile + lane * kItems, kItems, p.seqlen);
        load_sequence(own, bias);
        scan_tile<true>(i * kTile, own);
        if (active) {
          HOLDFAST_UNROLL
          for (int m = 0; m < kItems; ++m) {
            if (m < own.valid) workspace(own)[m] = tile.y[slot].packet[lane].item[m];
          }
        }
      }
    }
    clear_states();
    for (long long i = 0; i < tiles; ++i) {
      const Positions own(i * kTile + lane * kItems, kItems, p.seqlen);
      load_sequence(own, bias);
      scan_tile<false>(i * kTile, own);
      store(own, skip, factor);
    }
    if (!active) return;
    T* last_state = static_cast<T*>(p.last_state) + (batch * p.dim + channel) * p.dstate * kWidth;
    const T* final_states = reinterpret_cast<const T*>(carried(0));
    for (long long i = lane; i < p.dstate * kWidth; i += kLanes) {
      T value = final_states[i];
      Hooks::last_state(*this, i, value);
      last_state[i] = value;
    }
  }
};

}  // namespace HOLDFAST_NAMESPACE
