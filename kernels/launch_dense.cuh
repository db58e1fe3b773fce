// How the kernels of dense systems are launched: their parameters, and the one table of their threads and shared memory, shared by
// every host (the CPU build, and a CUDA driver).
//
// Plain C++ without device code, so that any host compiler takes it.
#pragma once

#include "launch.cuh"

namespace holdfast_launch {

// Of Ā and B̄ of many steps. Row-major; complex numbers are two neighbours, re then im. Fields, sizes and offsets are those of
// src/kernel/cpu/params.rs, which the build compares.
struct DenseParams {
  const float* delta;  // (count)
  const float* a;      // (count, n, n)
  const float* b;      // (count, n, m)
  float* a_bar;        // (count, n, n)
  float* b_bar;        // (count, n, m)
  long long count, n, m;
  int method;  // the id of spec.md §2
};

// Of a selective scan with a dense A, likewise. Layouts are as in spec.md §3.
struct DenseScanParams {
  const void* u;
  const void* delta;
  const float* a;  // (dim, dstate, dstate)
  const void* b;
  const void* c;
  const float* d;              // or null
  const void* z;               // or null
  const float* delta_bias;     // or null
  const float* initial_state;  // or null, for 0
  void* out;
  float* last_state;
  void* workspace;  // (batch, dim, seqlen) of the arithmetic type, for poly
  long long batch, dim, dstate, seqlen, groups;
  int delta_softplus;
  int method;                  // the id of spec.md §2
  int input;                   // the storage type: 0 f32, 1 f16, 2 bf16
  int variable_b, variable_c;
};

// A thread has kTile × kTile entries of a matrix, and a block up to kDenseThreads threads, or as many as one matrix takes.
constexpr int kTile = 4;
constexpr int kDenseThreads = 128;
constexpr int kWarp = 32;
constexpr int kMostOfDense = 64;
// Columns of B that are taken with one e^z. Of more of them every so many have a block of their own.
constexpr int kPanel = 4;

// Of a method's id: the quotient, and the highest φ-function that is in B̄.
HOLDFAST_EVERYWHERE constexpr bool is_quotient(int method) { return method == 2; }
HOLDFAST_EVERYWHERE constexpr int highest_phi(int method) { return method == 4 ? 3 : method == 1 || method == 3 ? 2 : 0; }

// Tiles beside one another; threads of a matrix: a part of a warp, or whole warps.
HOLDFAST_EVERYWHERE constexpr int dense_side(int n) { return (n + kTile - 1) / kTile; }
HOLDFAST_EVERYWHERE constexpr int dense_lanes(int n) {
  const int needed = dense_side(n) * dense_side(n);
  if (needed > kWarp) return (needed + kWarp - 1) / kWarp * kWarp;
  int lanes = 1;
  while (lanes < needed) lanes *= 2;
  return lanes;
}
HOLDFAST_EVERYWHERE constexpr int dense_threads(int n) {
  const int lanes = dense_lanes(n);
  return lanes > kWarp ? lanes : lanes < kTile * kTile ? kWarp : kDenseThreads;
}
// Of so many tiles beside one another, or where the launch says, 0.
HOLDFAST_EVERYWHERE constexpr int dense_most_threads(int side) { return dense_threads(side > 0 ? side * kTile : kMostOfDense); }
// Matrices of a block.
HOLDFAST_EVERYWHERE constexpr int dense_teams(int n) { return dense_threads(n) / dense_lanes(n); }

// Numbers of `size` bytes from one row to the next: 16 bytes more than the tiles have, so that neighbouring rows meet in no bank.
HOLDFAST_EVERYWHERE constexpr int dense_row(int n, int size) { return dense_side(n) * kTile + 16 / size; }
// Numbers that a matrix has in shared memory. The exponential: three matrices, and two panels for each φ-function or for rk4's polynomial.
// The quotient: a matrix, a panel, two columns, a row, and two numbers for each row.
HOLDFAST_EVERYWHERE constexpr int dense_numbers(int n, int size, int method) {
  const int padded = dense_side(n) * kTile;
  if (is_quotient(method)) return padded * (dense_row(n, size) + kPanel + 5);
  const int panels = method == 5 ? 1 : highest_phi(method);
  return 3 * padded * dense_row(n, size) + 2 * panels * padded * kPanel;
}
// The same of a scan: beside its step it has two states in turn, B and B̄.
HOLDFAST_EVERYWHERE constexpr int dense_scan_numbers(int n, int size, int method) {
  return dense_numbers(n, size, method) + dense_side(n) * kTile * kPanel;
}
// Numbers that the threads of a matrix in several warps agree by.
constexpr int kAgreed = kMostOfDense * kMostOfDense / (kTile * kTile) / kWarp;

#if !defined(__CUDACC_RTC__)
constexpr long long dense_panels(long long m) { return (m + kPanel - 1) / kPanel; }
constexpr long long dense_blocks(long long count, int n, long long m) {
  return (count + dense_teams(n) - 1) / dense_teams(n) * dense_panels(m);
}
// Bytes of dynamic shared memory; `width` is 1 for real numbers, 2 for complex, of `element` bytes a part.
constexpr long long dense_bytes(int n, int size, int numbers) {
  return (static_cast<long long>(dense_teams(n)) * numbers + kAgreed) * size;
}
constexpr long long dense_shared(int n, int width, int element, int method) {
  return dense_bytes(n, width * element, dense_numbers(n, width * element, method));
}
constexpr long long dense_scan_shared(int n, int width, int element, int method) {
  return dense_bytes(n, width * element, dense_scan_numbers(n, width * element, method));
}
#endif

}  // namespace holdfast_launch
