// Forward selective scan: x_l = Ā_l x_{l−1} + B̄_l u_l, y_l = C_l x_l (spec.md §2, §3), one block per (batch, channel).
//
// Formula: Δ = softplus?(delta + delta_bias); (Ā, B̄) by discretize.cuh; y = Σₙ C x, twice the real part for complex
// weights; out = (y + D u), times z·sigmoid(z) with a gate. `poly` scans in both directions with the same Ā_l, B̄_l,
// C_l at position l and averages before skip and gate; its last state is the forward one.
// How: chunks of blockDim.x · kItems positions; per state n a block scan (scan.cuh); the state before the next
// chunk is carried in shared memory. Positions past the end are the identity map. `poly` runs the reversed scan
// first and keeps its partial sums in `workspace`, f32, never in the rounded output.
// Deviations: none in the mathematics; the scan's association differs from the recurrence's (scan.cuh).
// Expected cost per (batch, channel, n, l): discretize.cuh's, one B̄u product, 3 flops of recurrence and output
// each, and a 1/kItems share of the block scan; memory traffic is u, Δ, z, out once and variable B, C per channel.
#pragma once

#include "discretize.cuh"
#include "hooks.cuh"
#include "launch.cuh"
#include "scan.cuh"
#include "storage.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::ScanParams;

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

// C x, real part
HOLDFAST_DEVICE float readout(float c, float x, float y) { return fused(c, x, y); }
HOLDFAST_DEVICE double readout(double c, double x, double y) { return fused(c, x, y); }
template <class T>
HOLDFAST_DEVICE T readout(Complex<T> c, Complex<T> x, T y) {
  return fused(-c.im, x.im, fused(c.re, x.re, y));
}

// kCount items from `p`, of which the first `valid` exist; the rest become 0. `wide`: one aligned access.
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

// One operand, B or C, for one channel: a constant per state, or a row along the sequence.
template <class Stored, class W, int kWidth, int kItems>
struct VariableOperand {
  const Stored* group;
  long long seqlen;
  HOLDFAST_DEVICE void load(int n, long long l, int valid, bool wide, W (&to)[kItems]) const {
    const Stored* row = group + n * seqlen * kWidth;
    if constexpr (kWidth == 1) {
      load_items(row + l, valid, wide, to);
    } else {
      decltype(W::re) parts[2 * kItems];
      load_items(row + 2 * l, 2 * valid, wide && sizeof(Stored) * 2 * kItems <= 16, parts);
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) to[i] = {parts[2 * i], parts[2 * i + 1]};
    }
  }
};

// Everything that one thread needs through the kernel.
template <class Input, class Weight, int kItems>
struct Block {
  using W = typename Weight::type;
  using T = typename ArithmeticOf<W>::type;
  T delta[kItems], u[kItems], y[kItems];
  // This thread's positions: first … first + valid − 1.
  long long first;
  int valid;
  bool wide;
  int turn = 0;  // of the block scans, through all chunks: which set of warp totals is next
};

template <Method kMethod, class Input, bool kComplex, class Layout, int kItems, class T>
struct SelectiveScan {
  using Weight = WeightOf<kComplex, T>;
  using W = typename Weight::type;
  using Items = Block<Input, Weight, kItems>;
  static constexpr int kWidth = Weight::kWidth;
  static constexpr bool kBidirectional = kMethod == Method::kPoly;
  // Complex poly would need more than the 128 registers that 512 threads leave each: it reads C and u again where it
  // needs them, rather than keep them across the discretization.
  static constexpr bool kFrugal = kBidirectional && kComplex;

  const ScanParams& p;
  W* states;  // [2][dstate] in shared memory
  WarpTotals<W>& totals;
  int channel;
  long long group_row;

  HOLDFAST_DEVICE SelectiveScan(const ScanParams& params, W* states_, WarpTotals<W>& totals_)
      : p(params), states(states_), totals(totals_) {
    const unsigned dim = static_cast<unsigned>(p.dim);
    const long long batch = blockIdx.x / dim;
    channel = static_cast<int>(blockIdx.x % dim);
    // Channel d reads group d / (dim / groups) (spec.md §3).
    group_row = (batch * p.groups + channel / (p.dim / p.groups)) * p.dstate;
  }

  // Index of (batch, channel, 0) in u, delta, z, out. Not kept: registers are scarce.
  HOLDFAST_DEVICE long long row() const { return static_cast<long long>(blockIdx.x) * p.seqlen; }

  HOLDFAST_DEVICE const Input* u_row(const Items& items) const {
    return static_cast<const Input*>(p.u) + row() + items.first;
  }
  HOLDFAST_DEVICE T u_at(const Items& items, int i) const {
    return kFrugal ? static_cast<T>(widened_load(u_row(items)[i])) : items.u[i];
  }

  HOLDFAST_DEVICE void load_operand(bool variable, const void* from, int n, const Items& items,
                                    W (&to)[kItems]) const {
    if (variable) {
      const Input* group = static_cast<const Input*>(from) + group_row * p.seqlen * kWidth;
      VariableOperand<Input, W, kWidth, kItems>{group, p.seqlen}.load(n, items.first, items.valid, items.wide, to);
    } else {
      const W w = Weight::load(static_cast<const float*>(from) + (static_cast<long long>(channel) * p.dstate + n) * kWidth);
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) to[i] = w;
    }
  }

  HOLDFAST_DEVICE void load_sequence(int chunk, T bias, Items& items) const {
    items.first = (static_cast<long long>(chunk) * blockDim.x + threadIdx.x) * kItems;
    const long long rest = p.seqlen - items.first;
    items.valid = rest < 0 ? 0 : rest < kItems ? static_cast<int>(rest) : kItems;
    // Rows start at multiples of seqlen; the host aligns the buffers themselves to 16 bytes.
    items.wide = p.seqlen % kItems == 0;
    const Input* delta = static_cast<const Input*>(p.delta) + row() + items.first;
    if constexpr (!kFrugal) load_items(u_row(items), items.valid, items.wide, items.u);
    load_items(delta, items.valid, items.wide, items.delta);
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) {
      items.delta[i] += bias;
      if (p.delta_softplus) items.delta[i] = softplus(items.delta[i]);
      items.y[i] = T(0);
    }
  }

  // Adds this chunk's y of one direction; the state before it is in states[parity], the one after in the other.
  template <bool kReverse>
  HOLDFAST_DEVICE void scan_chunk(Items& items, int parity) const {
    HOLDFAST_NO_UNROLL
    for (int n = 0; n < p.dstate; ++n) {
      const W a = Weight::load(p.a + (static_cast<long long>(channel) * p.dstate + n) * kWidth);
      W b[kItems], c[kItems];
      load_operand(Layout::variable_b(), p.b, n, items, b);
      if constexpr (!kFrugal) load_operand(Layout::variable_c(), p.c, n, items, c);
      Step<W> steps[kItems];
      Step<W> own = {real_as<W>(T(1)), real_as<W>(T(0))};
      HOLDFAST_UNROLL
      for (int j = 0; j < kItems; ++j) {
        const int i = kReverse ? kItems - 1 - j : j;
        if (i < items.valid) {
          Coefficients<W> k = discretize<kMethod>(items.delta[i], a, b[i]);
          Hooks::coefficients<kMethod>(items.delta[i], a, b[i], k);
          steps[i] = {k.a_bar, scaled(k.b_bar, u_at(items, i))};
          Hooks::step<kReverse>(*this, n, items, i, steps);
          own = j == 0 ? steps[i] : then(own, steps[i]);
        } else {
          steps[i] = {real_as<W>(T(1)), real_as<W>(T(0))};
        }
      }
      const W* carry = states + parity * p.dstate + n;
      W x = block_scan<kReverse>(own, carry, totals, items.turn);
      items.turn ^= 1;
      if constexpr (kFrugal) load_operand(Layout::variable_c(), p.c, n, items, c);
      Hooks::readout<kReverse>(*this, n, items, c);
      HOLDFAST_UNROLL
      for (int j = 0; j < kItems; ++j) {
        const int i = kReverse ? kItems - 1 - j : j;
        if (i < items.valid) {
          x = multiply_add(steps[i].a, x, steps[i].b);
          items.y[i] = readout(c[i], x, items.y[i]);
        }
      }
      const bool last = threadIdx.x == (kReverse ? 0 : blockDim.x - 1);
      if (last) states[(parity ^ 1) * p.dstate + n] = x;
    }
  }

  HOLDFAST_DEVICE void clear_states() const {
    for (int n = threadIdx.x; n < p.dstate; n += blockDim.x) states[n] = real_as<W>(T(0));
    __syncthreads();
  }

  // y of the reversed scan, as (batch, dim, seqlen): every thread reads what it wrote itself.
  HOLDFAST_DEVICE T* workspace(const Items& items) const { return static_cast<T*>(p.workspace) + row() + items.first; }

  HOLDFAST_DEVICE void store(const Items& items, T skip) const {
    Input* out = static_cast<Input*>(p.out) + row() + items.first;
    T z[kItems];
    if (Layout::has_gate()) {
      load_items(static_cast<const Input*>(p.z) + row() + items.first, items.valid, items.wide, z);
    }
    T u[kItems];
    if constexpr (kFrugal) {
      load_items(u_row(items), items.valid, items.wide, u);
    } else {
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) u[i] = items.u[i];
    }
    Packet<Input, kItems> packet;
    HOLDFAST_UNROLL
    for (int i = 0; i < kItems; ++i) {
      T result = p.d ? fused(skip, u[i], items.y[i]) : items.y[i];
      if (Layout::has_gate()) result *= gate(z[i]);
      Hooks::output(*this, items, i, z, result);
      rounded_store(result, packet.item[i]);
    }
    if (items.wide && items.valid == kItems) {
      *reinterpret_cast<Packet<Input, kItems>*>(out) = packet;
    } else {
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) {
        if (i < items.valid) out[i] = packet.item[i];
      }
    }
  }

  HOLDFAST_DEVICE void run() const {
    const long long span = static_cast<long long>(blockDim.x) * kItems;
    const int chunks = static_cast<int>((p.seqlen + span - 1) / span);
    // 2 Re(Σ C x) for complex weights (spec.md §3), ½ of both directions for poly.
    const T factor = T(kComplex ? 2 : 1) * T(kBidirectional ? 0.5 : 1);
    // A value takes one register through the chunks; the address that the compiler would keep, two.
    const T bias = p.delta_bias ? static_cast<T>(p.delta_bias[channel]) : T(0);
    Items items;
    if constexpr (kBidirectional) {
      clear_states();
      for (int chunk = chunks - 1; chunk >= 0; --chunk) {
        load_sequence(chunk, bias, items);
        scan_chunk<true>(items, (chunks - 1 - chunk) & 1);
        HOLDFAST_UNROLL
        for (int i = 0; i < kItems; ++i) {
          if (i < items.valid) workspace(items)[i] = items.y[i];
        }
      }
      __syncthreads();
    }
    clear_states();
    const T skip = p.d ? static_cast<T>(p.d[channel]) : T(0);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      load_sequence(chunk, bias, items);
      scan_chunk<false>(items, chunk & 1);
      HOLDFAST_UNROLL
      for (int i = 0; i < kItems; ++i) {
        if (kBidirectional && i < items.valid) items.y[i] += workspace(items)[i];
        items.y[i] *= factor;
      }
      store(items, skip);
    }
    __syncthreads();
    T* last_state = static_cast<T*>(p.last_state) + static_cast<long long>(blockIdx.x) * p.dstate * kWidth;
    const T* final_states = reinterpret_cast<const T*>(states + (chunks & 1) * p.dstate);
    for (long long i = threadIdx.x; i < p.dstate * kWidth; i += blockDim.x) {
      T value = final_states[i];
      Hooks::last_state(*this, i, value);
      last_state[i] = value;
    }
  }
};

}  // namespace HOLDFAST_NAMESPACE
