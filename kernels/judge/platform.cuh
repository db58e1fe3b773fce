// What differs between NVRTC and a C++17 compiler for the CPU. Shares nothing with ../platform.cuh: the judge has no code in
// common with the kernels that it judges.
//
// A channel is walked by eight lanes, of which lane j has the states j, j + 8, …: on a GPU eight neighbouring threads, on a
// CPU a loop. What is said to each lane stands in JUDGE_EACH_LANE, and what one says for all in JUDGE_LEADER. Between the two
// JUDGE_MEET makes what was written known to the others.
#pragma once

#if defined(__CUDACC__)
#define JUDGE_DEVICE __device__ __forceinline__
#define JUDGE_CONSTANT __constant__ const
#define JUDGE_UNROLL _Pragma("unroll")
#define JUDGE_NO_UNROLL _Pragma("unroll 1")
#define JUDGE_EACH_LANE(lane) if (const int lane = threadIdx.x % 8; true)
#define JUDGE_LEADER if (threadIdx.x % 8 == 0)
// All of a warp, so that its channels stay in step: none of its threads leaves before the others.
#define JUDGE_MEET __syncwarp()
#else
#include <cmath>
#include <cstring>
#define JUDGE_DEVICE inline
#define JUDGE_CONSTANT const
#define JUDGE_UNROLL
#define JUDGE_NO_UNROLL
#define JUDGE_EACH_LANE(lane) for (int lane = 0; lane < 8; ++lane)
#define JUDGE_LEADER
#define JUDGE_MEET static_cast<void>(0)
#endif

namespace holdfast_judge {

constexpr int kLanes = 8;

using Bits = unsigned long long;

#if defined(__CUDACC__)
JUDGE_DEVICE Bits bits_of(double x) { return static_cast<Bits>(__double_as_longlong(x)); }
JUDGE_DEVICE double from_bits(Bits bits) { return __longlong_as_double(static_cast<long long>(bits)); }
JUDGE_DEVICE float float_from_bits(unsigned bits) { return __uint_as_float(bits); }
JUDGE_DEVICE double root(double x) { return sqrt(x); }
JUDGE_DEVICE double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
template <typename Count>
JUDGE_DEVICE Count fetch_add(Count* count, Count more) {
  return atomicAdd(count, more);
}
#else
JUDGE_DEVICE Bits bits_of(double x) {
  Bits bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
JUDGE_DEVICE double from_bits(Bits bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
JUDGE_DEVICE float float_from_bits(unsigned bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
JUDGE_DEVICE double root(double x) { return std::sqrt(x); }
JUDGE_DEVICE double infinity() { return HUGE_VAL; }
// A launch's threads come one after the other.
template <typename Count>
JUDGE_DEVICE Count fetch_add(Count* count, Count more) {
  const Count before = *count;
  *count = before + more;
  return before;
}
#endif

// One value for each lane: a thread holds its own.
template <typename V>
struct PerLane {
#if defined(__CUDACC__)
  V value;
  JUDGE_DEVICE V& at(int) { return value; }
#else
  V values[kLanes];
  JUDGE_DEVICE V& at(int lane) { return values[lane]; }
#endif
};

}  // namespace holdfast_judge
