// How the backward kernels are launched: their parameters, and the one table of their workspace, shared by every host (the CPU
// build, and a CUDA driver). Threads, channels and tiles of a block are the forward scan's (launch.cuh).
//
// Plain C++ without device code, so that any host compiler takes it; of NVRTC it hides what only a host calls.
#pragma once

#include "launch.cuh"

namespace holdfast_launch {

// Of a backward scan, and of the kernel that sums what its blocks leave. Layouts as in spec.md §3 and §6; complex numbers are two
// neighbours, re then im. Fields, sizes and offsets are those of src/kernel/cpu/params.rs, which the build compares.
struct BackwardParams {
  const void* u;
  const void* delta;
  const float* a;
  const void* b;
  const void* c;
  const float* d;            // or null
  const void* z;             // read by kernels with a gate only
  const float* delta_bias;   // or null
  const void* dout;          // input type
  const float* dlast_state;  // or null
  // Gradients, laid out and stored as what they are of; weights and sums of the arithmetic type.
  void* grad_u;
  void* grad_delta;
  void* grad_a;
  void* grad_b;
  void* grad_c;
  void* grad_d;           // or null
  void* grad_z;           // written by kernels with a gate only
  void* grad_delta_bias;  // or null
  // The parts of the workspace: see BackwardWorkspace.
  void* states;
  double* a_sums;
  void* b_sums;
  void* c_sums;
  double* d_sums;
  double* delta_bias_sums;
  long long batch, dim, dstate, seqlen, groups;
  int delta_softplus;
  int width;  // 1 for real weights, 2 for complex
  int variable_b, variable_c;
};

// Of element-wise derivatives: Ā, its slope by z, h = B̄/B, ∂h/∂Δ and ∂h/∂A. Arrays of n; complex numbers are two neighbours, re
// then im. Results have the arithmetic type.
struct DerivativeParams {
  const float* delta;
  const float* a;
  void* a_bar;
  void* slope;
  void* h;
  void* h_by_delta;
  void* h_by_a;
  long long n;
};

// Threads of a block of the kernel that sums, one for each number.
constexpr int kSumThreads = 256;

#if !defined(__CUDACC_RTC__)
// Where the parts of a backward scan's workspace begin, in bytes, and what it takes in all. `element` is the size of the
// arithmetic type.
struct BackwardWorkspace {
  // (directions, batch, dim, packets, dstate)·width: what is carried into each packet of neighbouring positions. Once a tile
  // is done, its first packet's carry the cotangents on.
  long long states;
  // (batch, dim, dstate)·width doubles: what a channel adds to the gradient of A.
  long long a_sums;
  // Constant: the same of B or C. Variable: (blocks of a group, batch, groups, dstate, seqlen)·width, what each block adds.
  long long b_sums, c_sums;
  // (batch, dim, kLanes) doubles: what each lane of a channel adds to the gradients of D and delta_bias.
  long long d_sums, delta_bias_sums;
  long long bytes;
};

struct BackwardShape {
  long long batch, dim, dstate, seqlen, groups;
  int width, directions, variable_b, variable_c, element;
};

constexpr BackwardWorkspace backward_workspace(const BackwardShape& s) {
  const long long packets = (s.seqlen - 1) / items_for(s.width) + 1, channels = s.batch * s.dim;
  const long long totals = channels * s.dstate * s.width * 8, lanes = channels * kLanes * 8;
  const long long parts = blocks_for(s.batch, s.dim, s.groups) * s.dstate * s.seqlen * s.width * s.element;
  BackwardWorkspace at = {};
  const long long sizes[] = {s.directions * channels * packets * s.dstate * s.width * s.element, totals,
                             s.variable_b ? parts : totals, s.variable_c ? parts : totals, lanes, lanes};
  long long* const starts[] = {&at.states, &at.a_sums, &at.b_sums, &at.c_sums, &at.d_sums, &at.delta_bias_sums};
  for (int i = 0; i < 6; ++i) {
    *starts[i] = at.bytes;
    // The widest access is 16 bytes.
    at.bytes += (sizes[i] + 15) / 16 * 16;
  }
  return at;
}

// Blocks of the kernel that sums: A, B, C, D, delta_bias, one number a thread.
constexpr long long sum_blocks(const BackwardShape& s) {
  const long long constant = s.dim * s.dstate * s.width, variable = s.batch * s.groups * s.dstate * s.seqlen * s.width;
  const long long all = constant + (s.variable_b ? variable : constant) + (s.variable_c ? variable : constant) + 2 * s.dim;
  return (all + kSumThreads - 1) / kSumThreads;
}
#endif

}  // namespace holdfast_launch
