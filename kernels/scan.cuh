// Block-wide scan of the maps x → a x + b over the threads of a block, in either direction along the sequence.
//
// Formula: (a₁,b₁) then (a₂,b₂) is (a₂a₁, a₂b₁ + b₂) (Blelloch 1990, §1.4). Per thread serially (the caller), per
// warp by five shuffles (Hillis and Steele), warps through shared memory, chunks by a carried state.
// Deviation: the result's rounding differs from the sequential recurrence's: log₂(32) + warps more products of Ā.
// Cost per thread and state: 6 shuffle steps of 2 words (4 complex), one barrier, up to 16 products.
#pragma once

#include "complex.cuh"

namespace HOLDFAST_NAMESPACE {

constexpr int kWarp = 32;
constexpr int kMaxWarps = 16;
constexpr unsigned kAllLanes = 0xffffffffu;

// x → a x + b
template <class W>
struct Step {
  W a, b;
};

HOLDFAST_DEVICE float multiply_add(float a, float x, float b) { return fused(a, x, b); }
HOLDFAST_DEVICE double multiply_add(double a, double x, double b) { return fused(a, x, b); }
template <class T>
HOLDFAST_DEVICE Complex<T> multiply_add(Complex<T> a, Complex<T> x, Complex<T> b) {
  return {fused(-a.im, x.im, fused(a.re, x.re, b.re)), fused(a.im, x.re, fused(a.re, x.im, b.im))};
}

// `first`, then `second`.
template <class W>
HOLDFAST_DEVICE Step<W> then(Step<W> first, Step<W> second) {
  return {first.a * second.a, multiply_add(second.a, first.b, second.b)};
}

HOLDFAST_DEVICE void set_real(float& to, float x) { to = x; }
HOLDFAST_DEVICE void set_real(double& to, double x) { to = x; }
template <class T>
HOLDFAST_DEVICE void set_real(Complex<T>& to, T x) {
  to = {x, T(0)};
}
template <class W, class T>
HOLDFAST_DEVICE W real_as(T x) {
  W w;
  set_real(w, x);
  return w;
}

// From the lane `distance` earlier along the scan: lower lanes forward, higher ones in reverse.
template <bool kReverse, class T>
HOLDFAST_DEVICE T shuffled(T x, int distance) {
  return kReverse ? __shfl_down_sync(kAllLanes, x, distance) : __shfl_up_sync(kAllLanes, x, distance);
}
template <bool kReverse, class T>
HOLDFAST_DEVICE Complex<T> shuffled(Complex<T> x, int distance) {
  return {shuffled<kReverse>(x.re, distance), shuffled<kReverse>(x.im, distance)};
}

template <bool kReverse, class W>
HOLDFAST_DEVICE Step<W> shuffled_step(Step<W> x, int distance) {
#if defined(HOLDFAST_SHUFFLE_STRUCTS)
  return shuffled<kReverse>(x, distance);
#else
  return {shuffled<kReverse>(x.a, distance), shuffled<kReverse>(x.b, distance)};
#endif
}

// Shared between the warps of a block: two sets, used in turn, so that one barrier per scan suffices.
template <class W>
struct WarpTotals {
  Step<W> total[2][kMaxWarps];
};

// The state before this thread's own items, given the map of its items and the state before the whole block.
// `carry` is read after the barrier, so that its writer may be late. Every thread of the block must call this.
template <bool kReverse, class W>
HOLDFAST_DEVICE W block_scan(Step<W> own, const W* carry, WarpTotals<W>& shared, int turn) {
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int warps = blockDim.x / kWarp;
  const int rank = kReverse ? kWarp - 1 - lane : lane;
  Step<W> inclusive = own;
  HOLDFAST_UNROLL
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const Step<W> earlier = shuffled_step<kReverse>(inclusive, distance);
    if (rank >= distance) inclusive = then(earlier, inclusive);
  }
  const Step<W> before = shuffled_step<kReverse>(inclusive, 1);
  if (rank == kWarp - 1) shared.total[turn][warp] = inclusive;
  __syncthreads();
  W x = *carry;
  const int earlier_warps = kReverse ? warps - 1 - warp : warp;
  for (int i = 0; i < earlier_warps; ++i) {
    const Step<W> total = shared.total[turn][kReverse ? warps - 1 - i : i];
    x = multiply_add(total.a, x, total.b);
  }
  return rank == 0 ? x : multiply_add(before.a, x, before.b);
}

}  // namespace HOLDFAST_NAMESPACE
