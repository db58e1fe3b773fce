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

// Neighbouring positions that one thread takes.
constexpr int kItems = 4;

// The most threads that any row asks for: what registers are budgeted for.
constexpr int kMaxThreads = 512;

#if !defined(__CUDACC_RTC__)
struct Row {
  long long longest;  // sequence that this row serves
  int threads;
};

// A chunk is threads · kItems positions: up to 2048 the sequence is one chunk. 64 threads are the least from
// seqlen 129 on, so that the scan across warps is never idle there.
constexpr Row kTable[] = {
    {128, 32}, {256, 64}, {512, 128}, {1024, 256}, {2048, kMaxThreads}, {0x7fffffffffffffffLL, kMaxThreads},
};

constexpr int threads_for(long long seqlen) {
  for (const Row& row : kTable) {
    if (seqlen <= row.longest) return row.threads;
  }
  return kMaxThreads;
}

// Dynamic shared memory: the carried states, twice over. `width` is 1 for real weights, 2 for complex;
// `element` is the size of the arithmetic type.
constexpr long long shared_bytes(long long dstate, int width, int element) { return 2 * dstate * width * element; }
#endif

}  // namespace holdfast_launch
