// How the kernels of dense systems are launched: their parameters, and the one table of their threads and shared memory, shared by
// every host (the CPU build, and a CUDA driver).
//
// Plain C++ without device code, so that any host compiler takes it.
#pragma once

#include "launch.cuh"

namespace holdfast_launch {

// Ā and B̄ of many steps. Row-major; complex numbers are two neighbours, re then im. Fields, sizes and offsets are those of
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

// A thread has kTile × kTile entries of a matrix, and a block up to kDenseThreads threads, or as many as one matrix takes.
constexpr int kTile = 4;
constexpr int kDenseThreads = 128;
constexpr int kWarp = 32;
constexpr int kMostOfDense = 64;
// Columns of B that are taken with one e^z. Of more of them every so many have a block of their own.
constexpr int kPanel = 4;

// Kinds of methods, by their ids: the quotient, and the highest φ-function that is in B̄.
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
// Threads by tiles beside one another; 0 where the launch says how many.
HOLDFAST_EVERYWHERE constexpr int dense_most_threads(int side) { return dense_threads(side > 0 ? side * kTile : kMostOfDense); }
// Matrices of a block.
HOLDFAST_EVERYWHERE constexpr int dense_teams(int n) { return dense_threads(n) / dense_lanes(n); }

// Numbers of `size` bytes from one row to the next: 16 bytes more than the tiles have, so that neighbouring rows meet in no bank.
HOLDFAST_EVERYWHERE constexpr int dense_row(int n, int size) { return dense_side(n) * kTile + 16 / size; }
// Kernels of matrices: steps alone, scans with them, and gradients of these.
enum DenseUse : int { kSteps, kScans, kGradients };
// Panels of vectors that gradients are made of. Of the first ones a step takes a column each.
constexpr int kVectorPanels = 6;
static_assert(kVectorPanels >= 2 * highest_phi(4), "a step has two panels for each φ-function");
// Numbers that a matrix has in shared memory. The exponential: three matrices, and two panels for each φ-function or for rk4's polynomial.
// The quotient: a matrix, a panel, two columns, a row, and two numbers for each row. Scans: beside their step two states in turn, B and B̄.
HOLDFAST_EVERYWHERE constexpr int dense_numbers(int n, int size, int method, DenseUse use) {
  const int padded = dense_side(n) * kTile, matrices = is_quotient(method) ? 1 : 3;
  const int panels = is_quotient(method) ? 1 : method == 5 ? 2 : 2 * highest_phi(method);
  const int step = padded * (matrices * dense_row(n, size) + panels * kPanel + (is_quotient(method) ? 5 : 0));
  if (use == kSteps) return step;
  if (use == kScans) return step + padded * kPanel;
  return (is_quotient(method) ? step : 3 * padded * dense_row(n, size)) + kVectorPanels * padded * kPanel;
}
// Numbers that the threads of a matrix in several warps agree by.
constexpr int kAgreed = kMostOfDense * kMostOfDense / (kTile * kTile) / kWarp;

#if !defined(__CUDACC_RTC__)
constexpr long long dense_panels(long long m) { return (m + kPanel - 1) / kPanel; }
constexpr long long dense_blocks(long long count, int n, long long m) {
  return (count + dense_teams(n) - 1) / dense_teams(n) * dense_panels(m);
}
// Bytes of dynamic shared memory; `width` is 1 for real numbers, 2 for complex, of `element` bytes a part.
constexpr long long dense_shared(int n, int width, int element, int method, DenseUse use) {
  const int size = width * element;
  return (static_cast<long long>(dense_teams(n)) * dense_numbers(n, size, method, use) + kAgreed) * size;
}
#endif

}  // namespace holdfast_launch
