// Sums over the lanes of a warp.
//
// Formula: a tree, whose order the lanes' numbers give. Cost: for n values over m lanes about 3n instructions, where n >= m.
#pragma once

#include "complex.cuh"

namespace HOLDFAST_NAMESPACE {

HOLDFAST_DEVICE float shuffled_xor(float v, int distance) { return __shfl_xor_sync(0xffffffffu, v, distance); }
HOLDFAST_DEVICE double shuffled_xor(double v, int distance) { return __shfl_xor_sync(0xffffffffu, v, distance); }
template <class T>
HOLDFAST_DEVICE Complex<T> shuffled_xor(Complex<T> v, int distance) {
  return {shuffled_xor(v.re, distance), shuffled_xor(v.im, distance)};
}

// Sums of kCount values over the lanes that differ in the bits kFrom … kTo of their number, of which each keeps its share. With
// more values than lanes the first ones of `v` are what is left, else the first one alone, which several lanes then have.
// Templates, since what the counter of a loop indexes is kept in memory.
template <int kFrom, int kTo, int kCount, class V>
HOLDFAST_DEVICE void sum_over_lanes(V* v, int lane_of_warp) {
  constexpr int kLeft = kCount > 1 ? kCount / 2 : 1;
  if constexpr (kCount > 1) {
    const bool upper = (lane_of_warp & kFrom) != 0;
    HOLDFAST_UNROLL
    for (int i = 0; i < kLeft; ++i) {
      const V given = upper ? v[i] : v[i + kLeft];
      v[i] = (upper ? v[i + kLeft] : v[i]) + shuffled_xor(given, kFrom);
    }
  } else {
    v[0] = v[0] + shuffled_xor(v[0], kFrom);
  }
  if constexpr (kFrom > kTo) sum_over_lanes<kFrom / 2, kTo, kLeft>(v, lane_of_warp);
}

}  // namespace HOLDFAST_NAMESPACE
