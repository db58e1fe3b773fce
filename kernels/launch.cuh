// How kernels are launched: their parameters, and the one table of a selective scan's threads, shared by every host
// (the CPU build, and a CUDA driver).
//
// Plain C++ without device code, so that any host compiler takes it; of NVRTC it hides what only a host calls.
#pragma once

namespace holdfast_launch {

// Of a selective scan. Layouts as in spec.md §3; complex numbers are two neighbours, re then im. Fields, sizes and
// offsets are those of src/kernel/cpu/params.rs, which the build compares.
struct ScanParams {
  const void* u;
  const void* delta;
  const float* a;
  const void* b;
  const void* c;
  const float* d;           // or null
  const void* z;            // read by kernels with a gate only
  const float* delta_bias;  // or null
  void* out;
  void* last_state;  // arithmetic type
  void* workspace;   // (batch, dim, seqlen) of the arithmetic type, for poly
  long long batch, dim, dstate, seqlen, groups;
  int delta_softplus;
};

// Of element-wise coefficients. Arrays of n; complex numbers are two neighbours, re then im. a_bar and b_bar have the
// arithmetic type.
struct DiscretizeParams {
  const float* delta;
  const float* a;
  const float* b;
  void* a_bar;
  void* b_bar;
  long long n;
};

// A block's threads: kLanes for each of kChannels channels of one group. B and C come for kStates states at a time, of which
// a lane has kOwn.
constexpr int kLanes = 8;
constexpr int kChannels = 16;
constexpr int kThreads = kLanes * kChannels;
constexpr int kStates = 16;
constexpr int kOwn = kStates / kLanes;

// Neighbouring positions that a thread loads, steps through and stores at once; `width` is 1 for real weights, 2 for complex.
// A tile is kLanes times as long.
#if defined(__CUDACC__)
__host__ __device__
#endif
constexpr int items_for(int width) { return 8 / width; }

// Carried states of a channel, and as many unused that four channels' lanes meet in no bank.
#if defined(__CUDACC__)
__host__ __device__
#endif
constexpr long long state_row(long long dstate) { return (dstate + 15) / 16 * 16 + 8; }

#if !defined(__CUDACC_RTC__)
// Blocks that a group's channels take, and all that a selective scan takes. Groups are a divisor of dim.
constexpr long long blocks_of_group(long long dim, long long groups) { return (dim / groups + kChannels - 1) / kChannels; }
constexpr long long blocks_for(long long batch, long long dim, long long groups) {
  return batch * groups * blocks_of_group(dim, groups);
}

// The block that has a channel.
constexpr long long block_of(long long batch, long long channel, long long dim, long long groups) {
  const long long members = dim / groups;
  return (batch * groups + channel / members) * blocks_of_group(dim, groups) + channel % members / kChannels;
}

// Dynamic shared memory: the carried states. `element` is the size of the arithmetic type.
constexpr long long shared_bytes(long long dstate, int width, int element) {
  return kChannels * state_row(dstate) * width * element;
}
#endif

}  // namespace holdfast_launch
