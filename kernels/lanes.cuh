// Sums over the lanes of a warp.
//
// Formula: a tree, whose order the lanes' numbers give. Cost: for n values over m lanes about 3n instructions, where n >= m.
#pragma once

#include "complex.cuh"

namespace HOLDFAST_NAMESPACE {

HOLDFAST_DEVICE int shuffled_xor(int v, int distance) { return __shfl_xor_sync(0xffffffffu, v, distance); }
HOLDFAST_DEVICE float shuffled_xor(float v, int distance) { return __shfl_xor_sync(0xffffffffu, v, distance); }
HOLDFAST_DEVICE double shuffled_xor(double v, int distance) { return __shfl_xor_sync(0xffffffffu, v, distance); }
template <class T>
HOLDFAST_DEVICE Complex<T> shuffled_xor(Complex<T> v, int distance) {
  return {shuffled_xor(v.re, distance), shuffled_xor(v.im, distance)};
}

// Sums of kItems values over the lanes of a warp that differ in the bits kFrom … kTo of their number, of which each keeps its
// share. With more values than lanes the first ones of `v` are what is left, else the first one alone, which several lanes then
// have.
template <int kFrom, int kTo, int kItems, class V>
HOLDFAST_DEVICE void sum_over_lanes(V (&v)[kItems], int lane_of_warp) {
  HOLDFAST_UNROLL
  for (int distance = kFrom, count = kItems / 2; distance >= kTo; distance /= 2, count /= 2) {
    const bool upper = (lane_of_warp & distance) != 0;
    if (count == 0) v[0] = v[0] + shuffled_xor(v[0], distance);
    HOLDFAST_UNROLL
    for (int i = 0; i < count; ++i) {
      const V given = upper ? v[i] : v[i + count];
      v[i] = (upper ? v[i + count] : v[i]) + shuffled_xor(given, distance);
    }
  }
}

}  // namespace HOLDFAST_NAMESPACE
