// A channel of a scan with a dense A, forward or backward, and the team of threads (dense.cuh) that goes along its sequence.
//
// Methods and storage types are chosen at run time, since steps (dense_step.cuh) take nearly all of the time.
#pragma once

#include "dense_step.cuh"
#include "selective_scan.cuh"

namespace HOLDFAST_NAMESPACE {

using holdfast_launch::ScanOperands;

// A number, or with complex weights two neighbours, from `at` on of what is stored as `input`; and back.
template <class Weight>
HOLDFAST_DEVICE typename Weight::type load_as(int input, const void* from, long long at) {
  if (input == 1) return Weight::load(static_cast<const Half*>(from) + at);
  if (input == 2) return Weight::load(static_cast<const Bfloat16*>(from) + at);
  return Weight::load(static_cast<const float*>(from) + at);
}
template <class T>
HOLDFAST_DEVICE void store_as(int input, T value, void* to, long long at) {
  if (input == 1) {
    rounded_store(value, static_cast<Half*>(to)[at]);
  } else if (input == 2) {
    rounded_store(value, static_cast<Bfloat16*>(to)[at]);
  } else {
    rounded_store(value, static_cast<float*>(to)[at]);
  }
}

HOLDFAST_DEVICE bool differ(float a, float b) { return !(a == b); }
HOLDFAST_DEVICE bool differ(double a, double b) { return !(a == b); }
template <class T>
HOLDFAST_DEVICE bool differ(Complex<T> a, Complex<T> b) {
  return differ(a.re, b.re) || differ(a.im, b.im);
}

template <bool kComplex, class T>
struct DenseChannel {
  using Real = WeightOf<false, T>;
  using Weight = WeightOf<kComplex, T>;
  using W = typename Weight::type;
  static constexpr int kWidth = Weight::kWidth;

  const ScanOperands& p;
  Team<kComplex, T, 0> team;
  // Places of (batch, dim) and of (batch, groups).
  long long row, group_row;
  int channel;

  HOLDFAST_DEVICE DenseChannel(const ScanOperands& params, holdfast_launch::DenseUse use, W* memory)
      : p(params), team(params.batch * params.dim, params.dstate, 1, params.method, use, memory), row(team.matrix) {
    channel = static_cast<int>(row % p.dim);
    group_row = row / p.dim * p.groups + channel / (p.dim / p.groups);
    team.matrix = channel;
  }

  HOLDFAST_DEVICE bool is_bidirectional() const { return static_cast<Method>(p.method) == Method::kPoly; }
  // ω of spec.md §6: 2 Re(Σ C x) for complex weights (§3), ½ of both directions for poly.
  HOLDFAST_DEVICE T factor() const { return T(kComplex ? 2 : 1) * (is_bidirectional() ? T(0.5) : T(1)); }

  // State r of B or C.
  HOLDFAST_DEVICE W operand(const void* from, int varies, int r, long long l) const {
    if (!varies) return load_as<Weight>(0, from, (static_cast<long long>(channel) * team.n + r) * kWidth);
    return load_as<Weight>(p.input, from, ((group_row * team.n + r) * p.seqlen + l) * kWidth);
  }
  // State r of one that each channel of the batch has.
  HOLDFAST_DEVICE W state(const float* from, int r) const {
    return from ? Weight::load(from + (row * team.n + r) * kWidth) : number<W>(0);
  }
  HOLDFAST_DEVICE void store_state(W value, float* to, int r) const { store_number(value, to + (row * team.n + r) * kWidth); }

  // A sequence's number at a position.
  HOLDFAST_DEVICE long long at(long long l) const { return row * p.seqlen + l; }
  HOLDFAST_DEVICE T item(const void* from, long long l) const { return load_as<Real>(p.input, from, at(l)); }
  // Δ ahead of softplus.
  HOLDFAST_DEVICE T raw_delta(long long l) const { return item(p.delta, l) + (p.delta_bias ? T(p.delta_bias[channel]) : T(0)); }
  HOLDFAST_DEVICE T step(long long l) const { return p.delta_softplus ? softplus(raw_delta(l)) : raw_delta(l); }

  // Calls each(r) for this thread's rows of a vector.
  template <class Each>
  HOLDFAST_DEVICE void over_rows(const Each& each) const {
    for (int r = team.id; r < team.n; r += team.lanes) each(r);
  }
};

}  // namespace HOLDFAST_NAMESPACE
